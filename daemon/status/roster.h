/*
 * roster.h - the tasks of the cluster as this one sees them: each is asked for
 * its state (tfd.Peer/GetTaskState) over the connection that there is to it
 * anyway, when somebody wants to know, and not again before
 * TFD_STATUS_PEER_FRESH_MS have passed.
 *
 *     UP            it answered, or is another server that does not know the
 *                   question
 *     DRAINING      it answered that it stops
 *     SILENT        no answer within TFD_STATUS_PEER_WAIT_MS
 *     REFUSED       nobody listens there
 *     UNRESOLVED    its host's name has no address
 *     UNREACHABLE   any other failure
 *     ANOTHER       it answered that it is another task
 *     UNKNOWN       not asked yet
 *
 * Who asks waits for those that are asked, but not for one that was silent
 * before, so that a dead host does not slow every page down.  What a task says
 * is numbers and two short texts: it cannot grow here.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_ROSTER_H
#define TFD_DAEMON_STATUS_ROSTER_H

#include "daemon/status/task_state.h"

enum tfd_roster_state {
    TFD_ROSTER_UNKNOWN,
    TFD_ROSTER_UP,
    TFD_ROSTER_DRAINING,
    TFD_ROSTER_SILENT,
    TFD_ROSTER_REFUSED,
    TFD_ROSTER_UNRESOLVED,
    TFD_ROSTER_UNREACHABLE,
    TFD_ROSTER_ANOTHER,
};

struct tfd_roster;

struct tfd_roster_task {
    struct tfd_roster *roster;
    int peer; /* its number */
    enum tfd_roster_state state;
    bool asking, awaited;
    bool spoke;             /* `said` is there: of its last answer */
    uint64_t asked_us;      /* 0: never */
    uint64_t heard_us;      /* its last answer; 0: none */
    uint64_t changed_us;    /* `state` is so since */
    uint64_t round_trip_us; /* of the last answer */
    struct tfd_task_state said;
    char why[TFD_STATUS_TEXT_SIZE_MAX]; /* "": it is well */
};

/* Embedded by who waits. */
struct tfd_roster_waiter {
    void (*ready)(struct tfd_roster_waiter *w);
    struct tfd_roster_waiter *next;
};

enum tfd_code tfd_roster_new(const struct tfd_view *v, struct tfd_roster **out,
                             struct tfd_status *st) TFD_MUST_USE;
/* After the peers are freed; who still waits is forgotten. */
void tfd_roster_free(struct tfd_roster *r); /* NULL is allowed */

/* Asks whom it has not asked lately.  True: what it has is fresh now; else
 * w->ready() follows once, unless it is forgotten before.  True also beyond
 * TFD_STATUS_WAITING_MAX waiters. */
bool tfd_roster_refresh(struct tfd_roster *r, struct tfd_roster_waiter *w);
void tfd_roster_forget(struct tfd_roster *r, struct tfd_roster_waiter *w);

/* How often anything of what it tells has changed. */
uint64_t tfd_roster_answers(const struct tfd_roster *r);

/* Of task i of the cluster; its own is UP. */
const struct tfd_roster_task *tfd_roster_task(const struct tfd_roster *r,
                                              int i);
const char *tfd_roster_state_name(enum tfd_roster_state s);

#endif
