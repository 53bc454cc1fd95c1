/*
 * steps_page.h - /steps: the last steps of this task's master, and those under
 * way, as JSON (daemon/master/record/step_ring.h has its fields).
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_STEPS_PAGE_H
#define TFD_DAEMON_STATUS_STEPS_PAGE_H

#include "rpc/core/service.h"

/* self: a struct tfd_view. */
int tfd_steps_page(void *self, struct tfd_page *p);

#endif
