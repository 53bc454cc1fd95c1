/*
 * partial_ends.h - the feeds and fetches of a partial run: which there are,
 * which have been used, what may be fetched yet.  Only partial_run.c and
 * partial_ends.c include it.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_PARTIAL_ENDS_H
#define TFD_DAEMON_MASTER_PARTIAL_ENDS_H

#include "daemon/master/session/partial_run.h"
#include "daemon/master/session/session.h"

struct tfd_partial_call;

/* A feed or a fetch. */
struct tfd_partial_end {
    struct tfd_str name;
    struct tfd_edge edge;
    int32_t next; /* while walking: another feed of its node, and one */
    bool used;
};

struct tfd_partial_run {
    struct tfd_build gate; /* first; until its names are looked up */
    struct tfd_session *session;
    struct tfd_partial_run *next; /* of the session */
    int64_t handle;
    struct tfd_run_step run; /* the whole step */
    struct tfd_arena arena;  /* names and ends */
    struct tfd_partial_end *feeds, *fetches;
    struct tfd_map feed_at, fetch_at; /* by name */
    int feeds_left, fetches_left;     /* not yet used */
    struct tfd_partial_call *calls;   /* under way */
    struct tfd_status status;         /* of the step, once it has ended */
    struct tfd_status value_error;
    size_t fed_size; /* bytes of the values it was fed, until it ends */
    bool listed, started, ended;
    int busy; /* go_on() is left to whoever set it */
    tfd_partial_setup_fn *setup_done;
    void *setup_ctx;
};

/* The names into p->run, each fetch once. */
enum tfd_code tfd_partial_ends_copy(struct tfd_partial_run *p,
                                    const struct tfd_run_step *names,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Once the names are known to be good. */
enum tfd_code tfd_partial_ends_resolve(struct tfd_partial_run *p,
                                       struct tfd_status *st) TFD_MUST_USE;
/* What one call wants to feed and fetch. */
enum tfd_code tfd_partial_ends_check(const struct tfd_partial_run *p,
                                     const struct tfd_run_step *run,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Marks it as used; INTERNAL for a value of another type. */
enum tfd_code tfd_partial_ends_feed(struct tfd_partial_run *p,
                                    struct tfd_str name,
                                    const struct tfd_tensor *value,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_partial_ends_fetch(struct tfd_partial_run *p, struct tfd_str name);
bool tfd_partial_ends_complete(const struct tfd_partial_run *p);
/* "SEND;INCARNATION;RECV;NAME"; free it also after a failure. */
enum tfd_code tfd_partial_ends_key(const struct tfd_partial_run *p,
                                   struct tfd_str name, struct tfd_bytes *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
