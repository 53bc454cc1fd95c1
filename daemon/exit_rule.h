/*
 * exit_rule.h - decides when a server stops by itself (--exit_when).
 *
 *     workers-exit   every worker and chief that came has left, and one came
 *     chief-exit     the chief has left
 *     idle:D         no session was open for D, since the first one
 *
 * A task has come once its master opened a session on our worker.  It has left
 * when it says tfd.Peer/Leaving, as a tfd does that stops cleanly, or when its
 * trainer has closed its session and opened none for 5 s.  A session that ends
 * in any other way is not an exit, since the trainer may be started again.
 *
 * A trainer that was killed leaves its session open on a master that lives on.
 * Such a session no longer counts once a later session of the same task has
 * been closed, unless steps still run in it.
 *
 * A worker that asks for variables before the chief has come closes its session
 * and comes back after Python's recovery_wait_secs of 30 s.  So until the chief
 * has come, the 5 s are a minute.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EXIT_RULE_H
#define TFD_DAEMON_EXIT_RULE_H

#include "config/flags.h"
#include "daemon/worker_api.h"
#include "rpc/core/service.h"

#define TFD_EXIT_SETTLE_US UINT64_C(5000000)
#define TFD_EXIT_UNLED_US UINT64_C(60000000)

struct tfd_exit_rule;

enum tfd_code tfd_exit_rule_new(struct tfd_loop *l,
                                const struct tfd_config *config,
                                struct tfd_service *service,
                                void (*stop)(void *ctx, const char *why),
                                void *ctx, struct tfd_exit_rule **out,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_exit_rule_free(struct tfd_exit_rule *r);
/* A task's master opened a session here.  Numbers grow; *stepped_us, when its
 * last step began, is read until ended() is called with the number. */
void tfd_exit_rule_opened(struct tfd_exit_rule *r, struct tfd_str task,
                          uint64_t number, const uint64_t *stepped_us);
/* Nothing for a number that was not opened. */
void tfd_exit_rule_ended(struct tfd_exit_rule *r, struct tfd_str task,
                         uint64_t number, enum tfd_session_end end);
/* Sessions are open, or none is: for idle. */
void tfd_exit_rule_busy(struct tfd_exit_rule *r, bool busy);

#endif
