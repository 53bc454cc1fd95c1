/*
 * leaving.h - sessions that save before a task of theirs stops.
 *
 * A client that keeps checkpoints says so when it opens its session
 * (ConfigProto.saves_before_tasks_leave: libtfd's trainer, on the chief).  When
 * a task is about to stop, such sessions are marked; each step they run says
 * so, and they save and close the session.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_LEAVING_H
#define TFD_DAEMON_MASTER_LEAVING_H

#include <stdbool.h>
#include <stdint.h>

struct tfd_master;

/* Somebody who waits for the marked sessions; embedded. */
struct tfd_leaving {
    void (*saved)(struct tfd_leaving *l); /* may free it */
    struct tfd_leaving *next;             /* the master's */
};

/* Marks them.  saved() is called once they are closed, before this returns if
 * there are none.  own: it is this task that stops, whose local clients know.
 */
void tfd_master_task_leaves(struct tfd_master *m, bool own,
                            struct tfd_leaving *l);
/* It is not called any more. */
void tfd_master_leaving_forget(struct tfd_master *m, struct tfd_leaving *l);
/* A session is gone. */
void tfd_master_leaving_check(struct tfd_master *m);
/* A marked session was last used over this connection. */
bool tfd_master_leaving_link(const struct tfd_master *m, uint64_t link);

#endif
