/*
 * accumulator_core.c - see accumulator_core.h.
 *
 * Takers wait in a list.  Under the lock who is served gets the whole sum moved
 * into its own place, so that dividing and finishing happen without the lock,
 * on the thread that brought the last gradient.
 */
#include "kernels/state/accumulator_core.h"

#include "common/base/container.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

struct tfd_taker {
    struct tfd_taker *next, *previous;
    struct tfd_cancel cancel;
    struct tfd_accumulator *accumulator;
    struct tfd_kctx *k;
    int64_t required;
    bool waiting, cancelled;
    struct tfd_accumulated taken;
};

/* ---- Accumulators -------------------------------------------------------- */

void tfd_accumulated_clear(struct tfd_accumulated *s)
{
    s->count = 0;
    tfd_tensor_unref(&s->values);
    tfd_tensor_unref(&s->indices);
    tfd_tensor_unref(&s->counts);
}

static void accumulator_free(struct tfd_resource *r)
{
    struct tfd_accumulator *a = (struct tfd_accumulator *)r;

    assert(!a->first);
    tfd_accumulated_clear(&a->sum);
    tfd_lock_deinit(&a->lock);
    free(a);
}

const struct tfd_resource_type tfd_accumulator_type = {
    .name = "N10tensorflow26ConditionalAccumulatorBaseE",
    .what = "accumulator",
    .free = accumulator_free,
};

enum tfd_code tfd_accumulator_make(void *arg, struct tfd_resource **out,
                                   struct tfd_status *st)
{
    struct tfd_accumulator *a = calloc(1, sizeof(*a));

    if (!a)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an accumulator");
    tfd_resource_init(&a->resource, &tfd_accumulator_type);
    tfd_lock_init(&a->lock, TFD_LOCK_RESOURCE);
    a->spec = *(const struct tfd_accumulator_spec *)arg;
    *out = &a->resource;
    return TFD_OK;
}

int64_t tfd_accumulator_count(struct tfd_accumulator *a)
{
    int64_t count;

    tfd_lock(&a->lock);
    count = a->sum.count;
    tfd_unlock(&a->lock);
    return count;
}

void tfd_accumulator_set_step(struct tfd_accumulator *a, int64_t step)
{
    tfd_lock(&a->lock);
    a->step = step;
    tfd_unlock(&a->lock);
}

/* ---- Takers -------------------------------------------------------------- */

static void append_taker(struct tfd_accumulator *a, struct tfd_taker *t)
{
    t->waiting = true;
    t->previous = a->last;
    if (a->last)
        a->last->next = t;
    else
        a->first = t;
    a->last = t;
}

static void leave_queue(struct tfd_accumulator *a, struct tfd_taker *t)
{
    if (t->previous)
        t->previous->next = t->next;
    else
        a->first = t->next;
    if (t->next)
        t->next->previous = t->previous;
    else
        a->last = t->previous;
    t->next = t->previous = NULL;
    t->waiting = false;
}

/* The first taker, if it can be served, and out of the list.  The sum is empty
 * then, so there is never a second. */
static struct tfd_taker *serve(struct tfd_accumulator *a)
{
    struct tfd_taker *t = a->first;

    if (!t || a->sum.count < t->required)
        return NULL;
    leave_queue(a, t);
    t->taken = a->sum;
    a->sum = (struct tfd_accumulated){.count = 0};
    a->step++;
    return t;
}

static void finish_taker(struct tfd_taker *t)
{
    struct tfd_accumulator *a = t->accumulator;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k = t->k;

    (void)tfd_step_off_cancel(k->step, &t->cancel);
    if (t->cancelled)
        tfd_fail(&st, TFD_CANCELLED, "TakeGrad operation was cancelled");
    else
        (void)!a->spec.kind->hand_out(a, &t->taken, k, &st);
    tfd_accumulated_clear(&t->taken);
    tfd_resource_unref(&a->resource);
    free(t);
    tfd_kctx_finish(k, &st);
}

/* The step of the taker has been cancelled, or has failed.  Who comes next may
 * need fewer gradients. */
static void taker_cancelled(struct tfd_cancel *c)
{
    struct tfd_taker *t = TFD_CONTAINER_OF(c, struct tfd_taker, cancel);
    struct tfd_accumulator *a = t->accumulator;
    struct tfd_taker *next = NULL;
    bool waited;

    tfd_resource_ref(&a->resource);
    tfd_lock(&a->lock);
    waited = t->waiting;
    if (waited) {
        leave_queue(a, t);
        t->cancelled = true;
        next = serve(a);
    }
    tfd_unlock(&a->lock);
    if (waited)
        finish_taker(t);
    if (next)
        finish_taker(next);
    tfd_resource_unref(&a->resource);
}

void tfd_accumulator_take(struct tfd_accumulator *take_a, struct tfd_kctx *k,
                          int64_t required)
{
    struct tfd_taker *t = calloc(1, sizeof(*t)), *served = NULL;
    struct tfd_status st = TFD_STATUS_INIT;

    if (!t) {
        tfd_resource_unref(&take_a->resource);
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory to take a gradient");
        tfd_kctx_finish(k, &st);
        return;
    }
    t->cancel.fn = taker_cancelled;
    t->accumulator = take_a;
    t->k = k;
    t->required = required;

    tfd_lock(&take_a->lock);
    if (tfd_step_on_cancel(k->step, &t->cancel)) {
        append_taker(take_a, t);
        served = serve(take_a);
    } else {
        t->cancelled = true;
        served = t;
    }
    tfd_unlock(&take_a->lock);
    if (served)
        finish_taker(served);
}

/* ---- Gradients ----------------------------------------------------------- */

enum tfd_code tfd_accumulator_apply(struct tfd_accumulator *a,
                                    struct tfd_kctx *k, int64_t step,
                                    struct tfd_status *st)
{
    struct tfd_taker *served = NULL;
    enum tfd_code rc = TFD_OK;

    tfd_lock(&a->lock);
    if (step >= a->step) {
        rc = a->spec.kind->check(a, k, st);
        if (rc == TFD_OK)
            rc = a->spec.kind->add(a, k, st);
        if (rc == TFD_OK) {
            a->sum.count++;
            served = serve(a);
        }
    }
    tfd_unlock(&a->lock);
    if (served)
        finish_taker(served);
    return rc;
}
