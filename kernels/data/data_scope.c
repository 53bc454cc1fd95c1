/*
 * data_scope.c - see data_scope.h.
 */
#include "kernels/data/data_scope.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/container.h"

#include <stdlib.h>

struct tfd_data_task tfd_data_task_of(struct tfd_rt *rt)
{
    struct tfd_data_task t = {tfd_rt_crew(rt), tfd_rt_pool(rt),
                              tfd_rt_files(rt)};

    return t;
}

struct tfd_data_scope *tfd_data_scope_new(const struct tfd_data_task *task,
                                          struct tfd_status *st)
{
    struct tfd_data_scope *s = calloc(1, sizeof(*s));

    if (!s) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an iterator");
        return NULL;
    }
    s->refs = 1;
    s->task = *task;
    tfd_lock_init(&s->lock, TFD_LOCK_RESOURCE);
    tfd_cond_init(&s->changed);
    return s;
}

struct tfd_data_scope *tfd_data_scope_ref(struct tfd_data_scope *s)
{
    tfd_refs_add(&s->refs, 1);
    return s;
}

void tfd_data_scope_unref(struct tfd_data_scope *s)
{
    if (!s || !tfd_refs_drop(&s->refs))
        return;
    tfd_cond_deinit(&s->changed);
    tfd_lock_deinit(&s->lock);
    free(s);
}

/* ---- Cancelling ---------------------------------------------------------- */

static void set_cancelled(struct tfd_data_scope *s, bool cancelled)
{
    tfd_lock(&s->lock);
    s->cancelled = cancelled;
    tfd_cond_broadcast(&s->changed);
    tfd_unlock(&s->lock);
}

void tfd_data_scope_cancel(struct tfd_data_scope *s)
{
    set_cancelled(s, true);
}

void tfd_data_scope_resume(struct tfd_data_scope *s)
{
    set_cancelled(s, false);
}

enum tfd_code tfd_data_scope_check(struct tfd_data_scope *s,
                                   struct tfd_status *st)
{
    bool cancelled;

    tfd_lock(&s->lock);
    cancelled = s->cancelled;
    tfd_unlock(&s->lock);
    if (!cancelled)
        return TFD_OK;
    return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
}

enum tfd_code tfd_data_scope_pause(struct tfd_data_scope *s, int64_t us,
                                   struct tfd_status *st)
{
    int64_t now = tfd_clock_now_us();
    int64_t until = us > INT64_MAX - now ? INT64_MAX : now + us;
    bool in_time = true;

    tfd_lock(&s->lock);
    while (in_time && !s->cancelled)
        in_time = tfd_cond_wait_until(&s->changed, &s->lock, until);
    tfd_unlock(&s->lock);
    return tfd_data_scope_check(s, st);
}

/* ---- Calls --------------------------------------------------------------- */

struct waiting_call {
    struct tfd_function_call call;
    struct tfd_data_scope *scope;
    bool over; /* the scope's lock's */
    struct tfd_status st;
};

static void call_done(struct tfd_function_call *c, const struct tfd_status *st)
{
    struct waiting_call *w = TFD_CONTAINER_OF(c, struct waiting_call, call);

    tfd_lock(&w->scope->lock);
    w->over = true;
    tfd_status_copy(&w->st, st);
    tfd_cond_broadcast(&w->scope->changed);
    tfd_unlock(&w->scope->lock);
}

enum tfd_code tfd_data_scope_call(struct tfd_data_scope *s,
                                  struct tfd_rt_function *f,
                                  struct tfd_tensor *in, struct tfd_tensor *out,
                                  struct tfd_status *st)
{
    struct waiting_call w = {
        .call = {.function = f, .in = in, .out = out, .done = call_done},
        .scope = s,
    };
    bool told = false;

    if (tfd_function_run_here(&w.call, &w.st)) {
        tfd_status_copy(st, &w.st);
        return w.st.code;
    }
    tfd_function_run(&w.call);
    tfd_lock(&s->lock);
    while (!w.over) {
        if (s->cancelled && !told) {
            told = true;
            tfd_function_cancel(&w.call);
        }
        tfd_cond_wait(&s->changed, &s->lock);
    }
    tfd_unlock(&s->lock);
    tfd_status_copy(st, &w.st);
    return w.st.code;
}
