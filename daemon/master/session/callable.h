/*
 * callable.h - callables: signatures that a client names once and then runs by
 * number (MakeCallable).
 *
 * Making one compiles its plan, so that mistakes in it are found there and not
 * in the first step.
 *
 * Ownership: the session's, until released.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_CALLABLE_H
#define TFD_DAEMON_MASTER_CALLABLE_H

#include "daemon/master/session/run_options.h"

struct tfd_callable {
    int64_t handle;
    struct tfd_run_step names; /* feeds, fetches, targets, connections */
    struct tfd_run_options options;
    /* -- */
    struct tfd_session *session;
    struct tfd_callable *next;
    struct tfd_arena arena;
    void (*made)(void *ctx, const struct tfd_status *st, int64_t handle);
    void *ctx;
};

typedef void tfd_callable_made_fn(void *ctx, const struct tfd_status *st,
                                  int64_t handle);

/* names and options are borrowed for the call. */
void tfd_callable_make(struct tfd_session *s, const struct tfd_run_step *names,
                       const struct tfd_run_options *options,
                       tfd_callable_made_fn *done, void *ctx);
/* INVALID_ARGUMENT, differently for one that was released and one that never
 * was. */
enum tfd_code tfd_callable_find(struct tfd_session *s, int64_t handle,
                                const struct tfd_callable **out,
                                struct tfd_status *st) TFD_MUST_USE;
/* An unknown one is ignored. */
void tfd_callable_release(struct tfd_session *s, int64_t handle);
void tfd_callable_free_all(struct tfd_session *s);

#endif
