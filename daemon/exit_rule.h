/*
 * exit_rule.h - when a server stops by itself (--exit_when).
 *
 * A tfd that stops cleanly says tfd.Peer/Leaving to every peer it is connected
 * to.  A task counts as having come once it opened a session on our worker or
 * said Leaving; one that died is waited for, because it may come back.
 *
 *     workers-exit   every worker and chief that came has left, and one came
 *     chief-exit     the chief has left
 *     idle:D         no session was open for D
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EXIT_RULE_H
#define TFD_DAEMON_EXIT_RULE_H

#include "config/flags.h"
#include "rpc/service.h"

struct tfd_exit_rule;

enum tfd_code tfd_exit_rule_new(struct tfd_loop *l,
                                const struct tfd_config *config,
                                struct tfd_service *service,
                                void (*stop)(void *ctx, const char *why),
                                void *ctx, struct tfd_exit_rule **out,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_exit_rule_free(struct tfd_exit_rule *r);
/* A task's master opened a session here. */
void tfd_exit_rule_came(struct tfd_exit_rule *r, struct tfd_str task);
/* Sessions are open, or none is: for idle. */
void tfd_exit_rule_busy(struct tfd_exit_rule *r, bool busy);

#endif
