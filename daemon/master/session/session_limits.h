/*
 * session_limits.h - how many sessions a master has (config/limits.h), and who
 * makes room at a limit: the sessions that were not used for longest, among
 * those whose clients have no open connection and of which nothing runs.  A
 * trainer that crashes again and again leaves such ones.
 *
 * A peer is what rpc/conn/origin.h says; sessions of this process count for
 * all, and for no peer.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_SESSION_LIMITS_H
#define TFD_DAEMON_MASTER_SESSION_LIMITS_H

#include "daemon/master/session/session.h"

/* When its creation begins: may its peer have one more? */
enum tfd_code tfd_session_admit(const struct tfd_session *s,
                                struct tfd_status *st) TFD_MUST_USE;
/* Before one more is listed. */
enum tfd_code tfd_master_make_room(struct tfd_master *m,
                                   struct tfd_status *st) TFD_MUST_USE;
/* There are too many clusters that sessions have brought: those of abandoned
 * ones go.  False: there was none. */
bool tfd_master_evict_clusters(struct tfd_master *m);

#endif
