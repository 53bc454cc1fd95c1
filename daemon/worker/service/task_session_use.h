/*
 * task_session_use.h - finds the session that a call names, and remembers when
 * each was last named and over which connection its master calls.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_TASK_SESSION_USE_H
#define TFD_DAEMON_WORKER_TASK_SESSION_USE_H

#include "daemon/worker/service/worker_service.h"

/* "" is the default session.  ABORTED when there is none. */
enum tfd_code tfd_worker_find_session(struct tfd_worker_service *w,
                                      struct tfd_str handle,
                                      struct tfd_task_session **out,
                                      struct tfd_status *st) TFD_MUST_USE;
/* A call has just named it. */
void tfd_worker_session_used(struct tfd_worker_service *w,
                             struct tfd_task_session *s);

/* Its master calls over this connection (rpc/core/links.h) now; 0: over none.
 */
void tfd_worker_session_over(struct tfd_worker_service *w,
                             struct tfd_task_session *s, uint64_t link);
/* A step of it runs. */
bool tfd_worker_session_runs(const struct tfd_task_session *s);
/* Its master has no connection, and nothing of it runs. */
bool tfd_worker_session_is_left(const struct tfd_worker_service *w,
                                const struct tfd_task_session *s);

#endif
