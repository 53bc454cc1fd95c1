/*
 * component.h - RunComponentFunction: one run of a part of a function that its
 * owner has cut and registered here.  Results stay here under the owner's
 * operation, by the numbers that the owner gives; of an operation -1 they are
 * the answer.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_COMPONENT_H
#define TFD_DAEMON_EAGER_COMPONENT_H

#include "daemon/eager/eager_impl.h"

/* A tfd_handler_fn. */
void tfd_eager_run_component(void *self, struct tfd_call *call);

#endif
