/*
 * task_session_idle.h - sessions of masters elsewhere that may be over: the
 * master has died, or could not reach this worker when it closed them.
 *
 * A session that no call has named for session_idle, and of which nothing
 * runs, is asked for at its master.  One that the master does not know is
 * dropped; so is one whose master has not been reached for session_idle more.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_TASK_SESSION_IDLE_H
#define TFD_DAEMON_WORKER_TASK_SESSION_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct tfd_worker_service;

/* Nothing when session_idle is 0. */
void tfd_worker_watch_idle(struct tfd_worker_service *w);
void tfd_worker_stop_watching(struct tfd_worker_service *w);

#endif
