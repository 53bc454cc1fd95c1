/*
 * task_session_limits.h - how many sessions a worker has (config/limits.h), and
 * which go at a limit: those that were not used for longest, among those whose
 * masters have no open connection to here and of which nothing runs.
 *
 * Sessions of the master in this process stay; it has limits of its own.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_TASK_SESSION_LIMITS_H
#define TFD_DAEMON_WORKER_TASK_SESSION_LIMITS_H

#include "daemon/worker/service/worker_service.h"

/* Before one more is made. */
enum tfd_code tfd_worker_admit_session(struct tfd_worker_service *w,
                                       const struct tfd_worker_session *s,
                                       struct tfd_status *st) TFD_MUST_USE;
/* There are too many clusters that sessions have brought: those of abandoned
 * ones go.  False: there was none. */
bool tfd_worker_evict_clusters(struct tfd_worker_service *w);

#endif
