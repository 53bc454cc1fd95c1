/*
 * step_watch.h - somebody who has the next steps of a task's clients traced:
 * which steps those are, and what came of them.  Whoever begins steps, sessions
 * and the contexts of TensorFlow 2, asks by daemon/worker_api.h.
 *
 *     start --> tracer.wants: steps that begin are taken, until they suffice
 *           --> the steps that were taken end
 *           --> done() once, also when it is stopped before
 *
 * A step that its client has traced is traced once, into the client's trace;
 * one that is not has a trace of the watch's, which its client never sees.
 * What is kept is bounded (config/limits.h): a step that begins while too many
 * are taken runs as it would, and is counted.  When nobody watches, a step
 * reads one flag as it begins and one pointer as it ends.
 *
 * Ownership: a taken step belongs to the watch from its begin to its end, which
 * comes also when the watch has been stopped.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_STEP_WATCH_H
#define TFD_DAEMON_MASTER_STEP_WATCH_H

#include "daemon/worker_api.h"

struct tfd_step_watch {
    struct tfd_tracer tracer; /* first: what those who begin steps ask */
    bool active;
    char session[TFD_SESSION_HANDLE_MAX]; /* "": of all */
    uint64_t number;                      /* of watches, so far */
    int64_t asked, begun, kept;           /* steps */
    int64_t passed;                       /* ran untraced */
    int under_way;          /* taken steps, of earlier watches too */
    bool full;              /* a step did not fit in */
    struct tfd_bytes steps; /* of those that ended: TracedSteps.step */
    const char *why;        /* fewer than asked for; NULL: not so */
    /* It is over: steps, passed and why are read now, and gone then. */
    void (*done)(struct tfd_step_watch *w);
    void *ctx;
};

void tfd_step_watch_init(struct tfd_step_watch *w);

/* The next `asked` steps, of this session or ("") of all.  The watch must not
 * be active; done() follows, never before this returns. */
void tfd_step_watch_start(struct tfd_step_watch *w, int64_t asked,
                          struct tfd_str session,
                          void (*done)(struct tfd_step_watch *w), void *ctx);
/* done() is called with what there is.  why: a text that stays.  Nothing when
 * it is not active. */
void tfd_step_watch_stop(struct tfd_step_watch *w, const char *why);
/* Without done(). */
void tfd_step_watch_drop(struct tfd_step_watch *w);
/* A session has closed: no step of it will come. */
void tfd_step_watch_closed(struct tfd_step_watch *w, const char *session);

#endif
