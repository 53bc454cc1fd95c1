/*
 * session_log.h - what the log tells of sessions and steps:
 *
 *     session_open        session client tasks devices
 *     session_not_opened  client code why
 *     session_closed      session client seconds steps failed why
 *     step_failed         session step op code error suppressed
 *     step_slow           session step plan name ms threshold_ms median_ms
 *                         suppressed
 *     step                session step plan ms code     --log_level=debug
 *
 * A client can make steps fail as fast as it likes, so step_failed and
 * step_slow are written so many times a second (common/base/log.h);
 * `suppressed` is how many were not since the line before.  Sessions of a
 * library's own process are nobody's news: they are told at DEBUG.
 *
 * A step is slow by itself (slow_step_us), or by the median of its plan
 * (slow_factor, and 10 ms at least).
 *
 * A step's number has 57 bits, more than readers of JSON take for a number, so
 * it is a string.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_SESSION_LOG_H
#define TFD_DAEMON_MASTER_SESSION_LOG_H

#include "daemon/master/session/plan.h"

void tfd_session_log_open(struct tfd_session *s);
void tfd_session_log_not_opened(const struct tfd_session *s,
                                const struct tfd_status *why);
void tfd_session_log_closed(const struct tfd_session *s);

/* A step that failed before it began. */
void tfd_session_log_unbegun(struct tfd_session *s,
                             const struct tfd_status *st);
/* Before it counts for the median of its plan. */
void tfd_session_log_step(const struct tfd_plan *p, int64_t step, uint64_t now,
                          uint64_t took_us, const struct tfd_status *st);

#endif
