/*
 * session_idle.h - sessions that their clients have abandoned: the connection
 * is gone that they were last used over, no call has named them for
 * session_idle, and nothing of them runs.  They are closed, which frees what
 * they hold here and on the other workers.
 *
 * A session without a connection, as those of this process, is never abandoned.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_SESSION_IDLE_H
#define TFD_DAEMON_MASTER_SESSION_IDLE_H

#include "daemon/master/session/session.h"

/* Starts looking from time to time; nothing when session_idle is 0. */
void tfd_master_watch_idle(struct tfd_master *m);
void tfd_master_stop_watching(struct tfd_master *m);
/* It was used just now, over this connection (rpc/core/links.h); 0: as before.
 */
void tfd_session_use(struct tfd_session *s, uint64_t link);
/* Its client has no connection, and nothing of it runs. */
bool tfd_session_is_left(const struct tfd_session *s);
/* Nobody's any more. */
void tfd_session_leave(struct tfd_session *s);

#endif
