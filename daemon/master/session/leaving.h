/*
 * leaving.h - gives clients the time to save before a task of their session
 * stops.
 *
 * A client that keeps checkpoints says so when it opens its session
 * (ConfigProto.saves_before_tasks_leave: libtfd's trainer, on the chief).  When
 * a task is about to stop, such sessions are marked; the answer to each of
 * their steps says so, and the client saves and closes the session.
 *
 * Other clients cannot be told.  But a step of theirs may be under way, such as
 * a save of Python's of which this task has already done its part; if the task
 * went away now, the other tasks would fail the step.  So such steps may end
 * first.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_LEAVING_H
#define TFD_DAEMON_MASTER_LEAVING_H

#include <stdbool.h>
#include <stdint.h>

struct tfd_master;
struct tfd_worker;

#define TFD_LEAVES_OWN (-1)

/* Somebody who waits for the marked sessions, and for the steps; embedded. */
struct tfd_leaving {
    void (*saved)(struct tfd_leaving *l); /* may free it */
    /* -- the master's -- */
    struct tfd_leaving *next;
    const struct tfd_worker *worker; /* NULL: no steps are waited for */
    uint64_t last;                   /* number of a step */
};

/* Marks them.  saved() is called once they are closed and the steps that run
 * now with a part on this peer have ended, before this returns if there are
 * none.  TFD_LEAVES_OWN: it is this task that stops, whose local clients know,
 * and whose drain waits for steps anyway. */
void tfd_master_task_leaves(struct tfd_master *m, int peer,
                            struct tfd_leaving *l);
/* It is not called any more. */
void tfd_master_leaving_forget(struct tfd_master *m, struct tfd_leaving *l);
/* A session is gone, or a step. */
void tfd_master_leaving_check(struct tfd_master *m);
/* A marked session was last used over this connection. */
bool tfd_master_leaving_link(const struct tfd_master *m, uint64_t link);

#endif
