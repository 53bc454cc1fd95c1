/*
 * session_create.h - a session that is being created, as session_create.c and
 * session_ask.c see it; nobody else includes this.
 *
 * Whoever waits for an answer holds a reference.  When the creation is over its
 * session is NULL.
 *
 * Threads: loop thread, but for the work of a build (build.h).
 */
#ifndef TFD_DAEMON_MASTER_SESSION_CREATE_H
#define TFD_DAEMON_MASTER_SESSION_CREATE_H

#include "daemon/master/session/session.h"

/* What one worker answered to GetStatus. */
struct tfd_create_answer {
    struct tfd_create *create;
    int worker;
    bool asked; /* and not yet answered */
    bool known;
    struct tfd_status status; /* of the last answer that was a failure */
    struct tfd_device_attributes *devices;
    int count;
};

struct tfd_create {
    struct tfd_build build; /* first; of its graph, then of the places */
    bool building;
    struct tfd_str graph_def; /* the caller's */
    int refs; /* calls to workers, and the creation itself until it is over */
    struct tfd_session *session; /* NULL: it is over */
    tfd_session_done_fn *done;   /* NULL: told already */
    void *ctx;
    struct tfd_create_answer *answers;
    int answer_count;
    int missing; /* answers not known */
    int pending; /* CreateWorkerSession calls not answered */
    bool asking; /* calls are being made: what follows waits for their end */
    bool making; /* the workers make their sessions */
    uint64_t start_us, reported_us;
    struct tfd_timer timer; /* asks again */
    struct tfd_status status;
    struct tfd_status built;            /* what a build says */
    struct tfd_worker_session spec;     /* workers borrow it */
    struct tfd_create *next, *previous; /* in the master */
};

void tfd_create_unref(struct tfd_create *c);
/* Goes on when something has become known, or failed: c->status says so. */
void tfd_create_proceed(struct tfd_create *c);

/* ---- session_ask.c ------------------------------------------------------- */

/* The workers of the session, each with an answer that is missing. */
enum tfd_code tfd_create_choose(struct tfd_create *c) TFD_MUST_USE;
/* Asks for what is missing, and again until peer_wait is over; proceeds with
 * each answer. */
void tfd_create_ask(struct tfd_create *c);
void tfd_create_ask_again(struct tfd_timer *t); /* of c->timer */
/* Nobody wants to know any more; s is the session, which c may have lost. */
void tfd_create_stop_asking(struct tfd_create *c, const struct tfd_session *s);
/* The answers, all known, become the session's devices. */
enum tfd_code tfd_create_collect(struct tfd_create *c) TFD_MUST_USE;

#endif
