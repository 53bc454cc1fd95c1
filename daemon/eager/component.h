/*
 * component.h - RunComponentFunction: runs the part of a function that belongs
 * to this task.  The task that owns the whole function has cut it into parts,
 * and has registered this one here.
 *
 * Results stay here as handles, under the operation number that the owner
 * gives.  Where that number is -1 they are sent back in the answer instead.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_COMPONENT_H
#define TFD_DAEMON_EAGER_COMPONENT_H

#include "daemon/eager/eager_impl.h"

/* A tfd_handler_fn. */
void tfd_eager_run_component(void *self, struct tfd_call *call);

#endif
