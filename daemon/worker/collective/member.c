/*
 * member.c - one member's part in a collective, from its kernel's start to the
 * kernel's end: see kernels/core/collective_member.h.
 */
#include "daemon/worker/collective/collectives.h"

#include "common/base/clock.h"
#include "common/base/container.h"
#include "daemon/worker/run/runner.h"
#include "daemon/worker/state/device.h"

#include <stdlib.h>

/* ---- Life ---------------------------------------------------------------- */

static void unref(struct tfd_collective *c)
{
    int refs;

    tfd_lock(&c->lock);
    refs = --c->refs;
    tfd_unlock(&c->lock);
    if (refs > 0)
        return;
    tfd_cond_deinit(&c->changed);
    tfd_lock_deinit(&c->lock);
    free(c->task);
    free(c->member);
    free(c);
}

/* In TensorFlow's words, whose collectives cannot be used after it. */
static void tell_abort(struct tfd_kctx *k, const struct tfd_status *st)
{
    struct tfd_status told = TFD_STATUS_INIT;

    tfd_fail(&told, st->code,
             "Collective ops is aborted by: %s\nThe error could be from a "
             "previous operation. Restart your program to reset.",
             st->text);
    tfd_kctx_finish(k, &told);
}

void tfd_collective_end(struct tfd_collective *c, const struct tfd_status *st)
{
    struct tfd_kctx *k = c->k;

    tfd_step_off_cancel(k->step, &c->cancel);
    unref(c);
    if (!st || st->code == TFD_OK)
        tfd_kctx_finish(k, NULL);
    else if (st->code == TFD_CANCELLED || st->code == TFD_DEADLINE_EXCEEDED)
        tfd_kctx_finish(k, st);
    else
        tell_abort(k, st);
}

static void run_job(struct tfd_job *job)
{
    struct tfd_collective *c =
        TFD_CONTAINER_OF(job, struct tfd_collective, job);
    struct tfd_status st = TFD_STATUS_INIT;
    bool failed = c->run(c, &st) != TFD_OK;

    (void)!tfd_collective_settle(c, failed, &st);
    tfd_collective_end(c, &st);
}

/* ---- Cancelling ---------------------------------------------------------- */

static void cancel_posted(struct tfd_post *p)
{
    struct tfd_collective *c =
        TFD_CONTAINER_OF(p, struct tfd_collective, cancel_post);

    if (c->joining)
        tfd_collective_join_cancel(c);
    unref(c);
}

/* Any thread. */
static void step_failed(struct tfd_cancel *cancel)
{
    struct tfd_collective *c =
        TFD_CONTAINER_OF(cancel, struct tfd_collective, cancel);

    tfd_lock(&c->lock);
    c->refs++;
    c->cancelled = true;
    tfd_cond_broadcast(&c->changed);
    tfd_unlock(&c->lock);
    tfd_loop_post(c->all->loop, &c->cancel_post);
}

/* ---- The beginning ------------------------------------------------------- */

static void join_posted(struct tfd_post *p)
{
    tfd_collective_join(TFD_CONTAINER_OF(p, struct tfd_collective, join));
}

/* Steps of TensorFlow 2's functions, whose numbers each runtime makes itself,
 * share one number among the members. */
static int64_t shared_step(const struct tfd_kctx *k)
{
    int64_t id = tfd_step_id(k->step);

    return id < 0 ? 0 : id;
}

static struct tfd_collective *new_member(struct tfd_kctx *k,
                                         const struct tfd_collective_spec *spec)
{
    const struct tfd_iter *place =
        TFD_CONTAINER_OF(k, struct tfd_async, k)->item->it;
    struct tfd_collective *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->all = k->rt->collectives;
    c->k = k;
    c->spec = *spec;
    c->step = shared_step(k);
    c->frame = tfd_while_frame_id(place);
    c->iteration = (uint64_t)place->number;
    c->source = -1;
    c->refs = 1;
    if (spec->timeout_s > 0)
        c->deadline_us =
            tfd_clock_now_us() + (int64_t)((double)spec->timeout_s * 1e6);
    c->join.run = join_posted;
    c->job.run = run_job;
    c->cancel.fn = step_failed;
    c->cancel_post.run = cancel_posted;
    tfd_lock_init(&c->lock, TFD_LOCK_RESOURCE);
    tfd_cond_init(&c->changed);
    return c;
}

void tfd_collective_start(struct tfd_kctx *k,
                          const struct tfd_collective_spec *spec,
                          tfd_collective_run_fn *run)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective *c = new_member(k, spec);

    if (!c) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a collective");
        tfd_kctx_finish(k, &st);
        return;
    }
    c->run = run;
    if (tfd_step_on_cancel(k->step, &c->cancel)) {
        tfd_loop_post(c->all->loop, &c->join);
        return;
    }
    unref(c);
    tfd_fail(&st, TFD_CANCELLED, "Operation was cancelled");
    tfd_kctx_finish(k, &st);
}

/* ---- What kernels ask ---------------------------------------------------- */

struct tfd_kctx *tfd_collective_kctx(struct tfd_collective *c)
{
    return c->k;
}

const struct tfd_collective_spec *
tfd_collective_spec_of(const struct tfd_collective *c)
{
    return &c->spec;
}

int tfd_collective_rank(const struct tfd_collective *c)
{
    return c->rank;
}

int tfd_collective_source(const struct tfd_collective *c)
{
    return c->source;
}

int tfd_collective_task(const struct tfd_collective *c, int rank)
{
    return c->task[rank];
}

const struct tfd_device_attributes *
tfd_collective_device(const struct tfd_kctx *k)
{
    return &k->rt->row->attributes;
}
