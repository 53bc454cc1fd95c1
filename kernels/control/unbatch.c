/*
 * unbatch.c - Unbatch: each step waits for its rows, which one of them brings.
 *
 *     a step      waits by its id, until its rows come or its time is up
 *     an offer    rows that a step brought for others, by their ids, until they
 *                 are taken or the time of that step is up
 *
 * A step and its offers are one visit, with one alarm for both.  The visit
 * lives until the alarm has rung, which who takes the last thing of it hurries.
 * The yard outlives its resource by its visits: when a container lets go of
 * that, offers are dropped.
 */
#include "kernels/control/unbatch.h"

#include "kernels/control/batch_rows.h"
#include "kernels/core/runtime.h"
#include "kernels/core/summarize.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/base/id_map.h"
#include "common/thread/lock.h"
#include "common/thread/pool.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

/* Elements that a text shows of what should have been one. */
#define SHOWN 3
#define DROPPED_AT_ONCE 256

struct yard {
    int refs;             /* atomic: of the resource, and of each visit */
    struct tfd_lock lock; /* of what follows, and of its visits */
    struct tfd_id_map steps, offers; /* id -> visit, offer */
    struct visit *visits;            /* that have offers */
};

struct place {
    struct tfd_resource resource;
    struct yard *yard;
    int64_t timeout_us; /* of the node that was first */
};

struct offer {
    int64_t id;
    struct visit *visit;
    struct tfd_tensor rows;
    bool is_there; /* in the yard's map */
};

struct visit {
    struct tfd_alarm alarm;
    struct tfd_cancel cancel;
    struct tfd_job job; /* ends it when its time is up */
    struct tfd_pool *pool;
    struct yard *yard; /* counted */
    struct visit *next, *previous;
    struct tfd_kctx *k;  /* waits; NULL: it does not any more */
    struct place *place; /* counted, until the step has gone */
    int64_t id;
    int refs;             /* atomic: the step's, and the alarm's */
    bool is_set, is_late; /* the alarm; it has rung */
    bool is_linked;       /* among those that have offers */
    int64_t offers_left;  /* that are there */
    int64_t offer_count;
    struct tfd_kctx *given; /* whose k it was: a step that gets rows */
    struct tfd_tensor rows; /* which these are */
    struct visit *next_given;
    struct offer offer[];
};

/* ---- Yards --------------------------------------------------------------- */

static void unref_yard(struct yard *y)
{
    if (!tfd_refs_drop(&y->refs))
        return;
    tfd_id_map_deinit(&y->steps);
    tfd_id_map_deinit(&y->offers);
    tfd_lock_deinit(&y->lock);
    free(y);
}

static void place_free(struct tfd_resource *r)
{
    struct place *p = (struct place *)r;

    tfd_lock(&p->yard->lock);
    for (struct visit *v = p->yard->visits; v; v = v->next)
        if (!v->is_late)
            tfd_alarm_ring_now(&v->alarm);
    tfd_unlock(&p->yard->lock);
    unref_yard(p->yard);
    free(p);
}

static const struct tfd_resource_type place_type = {
    .name = "N10tensorflow15UnbatchResourceE",
    .what = "unbatcher",
    .free = place_free,
};

static enum tfd_code make_place(void *arg, struct tfd_resource **out,
                                struct tfd_status *st)
{
    const struct tfd_unbatch_choices *c = arg;
    struct place *p = calloc(1, sizeof(*p));

    if (p)
        p->yard = calloc(1, sizeof(*p->yard));
    if (!p || !p->yard) {
        free(p);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an unbatcher");
    }
    tfd_resource_init(&p->resource, &place_type);
    tfd_lock_init(&p->yard->lock, TFD_LOCK_RESOURCE);
    p->yard->refs = 1;
    p->timeout_us = c->timeout_us;
    *out = &p->resource;
    return TFD_OK;
}

/* ---- Visits -------------------------------------------------------------- */

static void unref_visit(struct visit *v)
{
    if (!tfd_refs_drop(&v->refs))
        return;
    for (int64_t i = 0; i < v->offer_count; i++)
        tfd_tensor_unref(&v->offer[i].rows);
    tfd_tensor_unref(&v->rows);
    unref_yard(v->yard);
    free(v);
}

/* Its step ends, which the caller has taken from it; rows are its visit's. */
static void finish_step(struct visit *v, struct tfd_kctx *k,
                        const struct tfd_status *st)
{
    (void)tfd_step_off_cancel(k->step, &v->cancel);
    if (st->code == TFD_OK) {
        k->out[0] = v->rows;
        v->rows = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    tfd_resource_unref(&v->place->resource);
    unref_visit(v);
    tfd_kctx_finish(k, st);
}

/* ---- Under the yard's lock ----------------------------------------------- */

static void link_visit(struct visit *v)
{
    v->is_linked = true;
    v->next = v->yard->visits;
    if (v->next)
        v->next->previous = v;
    v->yard->visits = v;
}

static void unlink_visit(struct visit *v)
{
    if (!v->is_linked)
        return;
    if (v->previous)
        v->previous->next = v->next;
    else
        v->yard->visits = v->next;
    if (v->next)
        v->next->previous = v->previous;
    v->is_linked = false;
}

/* A visit that nothing is left of ends. */
static void settle(struct visit *v)
{
    if (v->k || v->offers_left > 0)
        return;
    unlink_visit(v);
    if (v->is_set && !v->is_late)
        tfd_alarm_ring_now(&v->alarm);
}

static struct tfd_kctx *take_step(struct visit *v)
{
    struct tfd_kctx *k = v->k;

    if (k && tfd_id_map_get(&v->yard->steps, (uint64_t)v->id) == v)
        (void)tfd_id_map_remove(&v->yard->steps, (uint64_t)v->id);
    v->k = NULL;
    return k;
}

static void take_offer(struct offer *o, struct tfd_tensor *rows)
{
    (void)tfd_id_map_remove(&o->visit->yard->offers, (uint64_t)o->id);
    *rows = o->rows;
    o->rows = (struct tfd_tensor)TFD_TENSOR_INIT;
    o->is_there = false;
    o->visit->offers_left--;
    settle(o->visit);
}

/* ---- Ends of waiting ----------------------------------------------------- */

/* The offers that are left, a few at a time, as others want the lock. */
static void drop_offers(struct visit *v)
{
    for (int64_t i = 0; i < v->offer_count; i += DROPPED_AT_ONCE) {
        int64_t end = i + DROPPED_AT_ONCE;

        tfd_lock(&v->yard->lock);
        for (int64_t n = i; n < end && n < v->offer_count; n++) {
            struct offer *o = &v->offer[n];

            if (o->is_there)
                (void)tfd_id_map_remove(&v->yard->offers, (uint64_t)o->id);
            v->offers_left -= o->is_there;
            o->is_there = false;
        }
        tfd_unlock(&v->yard->lock);
    }
}

static void end_visit(struct tfd_job *job)
{
    struct visit *v = TFD_CONTAINER_OF(job, struct visit, job);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k;

    drop_offers(v);
    tfd_lock(&v->yard->lock);
    k = take_step(v);
    unlink_visit(v);
    tfd_unlock(&v->yard->lock);
    if (k) {
        tfd_fail(&st, TFD_DEADLINE_EXCEEDED,
                 "Batched data did not arrive within timeout window.");
        finish_step(v, k, &st);
    }
    unref_visit(v);
}

/* On the loop thread, which has no time for a million offers. */
static void time_is_up(struct tfd_alarm *a)
{
    struct visit *v = TFD_CONTAINER_OF(a, struct visit, alarm);

    tfd_lock(&v->yard->lock);
    v->is_late = true;
    tfd_unlock(&v->yard->lock);
    v->job.run = end_visit;
    if (v->pool && v->offer_count > DROPPED_AT_ONCE)
        tfd_pool_submit(v->pool, &v->job);
    else
        end_visit(&v->job);
}

/* What it brought for others stays until its time is up. */
static void visit_cancelled(struct tfd_cancel *c)
{
    struct visit *v = TFD_CONTAINER_OF(c, struct visit, cancel);
    struct yard *y = v->yard;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k;

    tfd_refs_add(&y->refs, 1);
    tfd_lock(&y->lock);
    k = take_step(v);
    if (k)
        settle(v);
    tfd_unlock(&y->lock);
    unref_yard(y);
    if (!k)
        return;
    tfd_fail(&st, TFD_CANCELLED, "Unbatching was cancelled");
    finish_step(v, k, &st);
}

/* ---- Inputs -------------------------------------------------------------- */

enum tfd_code tfd_unbatch_id(const struct tfd_kctx *k, int in,
                             const char *before, const char *behind,
                             int64_t *out, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];
    char shape[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes values;
    struct tfd_str text;

    if (t->shape.rank == 0) {
        *out = *(const int64_t *)tfd_tensor_data(t);
        return TFD_OK;
    }
    tfd_bytes_init(&values, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&values, t, SHOWN);
    text = tfd_bytes_view(&values);
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "%sTensor<type: int64 shape: %s values: " TFD_STR_FMT ">%s",
             before, tfd_shape_text(&t->shape, shape), TFD_STR_ARG(text),
             behind);
    tfd_bytes_deinit(&values);
    return TFD_INVALID_ARGUMENT;
}

/* TensorFlow ends its process where the index is no matrix. */
static enum tfd_code check_index(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *data = &k->in[0].shape, *index = &k->in[1].shape;
    int64_t rows = data->rank > 0 ? data->dim[0] : 0;

    if (index->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Wrong shape for index tensor. Expected 2 dimensions; "
                        "Got: %d.",
                        index->rank);
    if (index->dim[0] > rows && data->rank > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Wrong shape for index tensor. Expected 0th dimension "
                        "size to be no greater than %" PRId64 "; Got: %" PRId64
                        ".",
                        rows, index->dim[0]);
    if (index->dim[1] != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Wrong shape for index tensor. Expected 1st dimension "
                        "size to be 3 ; Got: %" PRId64 ".",
                        index->dim[1]);
    if (tfd_tensor_elements(&k->in[1]) != 3 * index->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Wrong shape for index tensor. Expected %" PRId64
                        " elements; Got: %" PRId64 ".",
                        3 * index->dim[0], tfd_tensor_elements(&k->in[1]));
    if (index->dim[0] > 0 && data->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Batched tensor has no dimension whose rows are some "
                        "step's");
    if (index->dim[0] > TFD_UNBATCH_WAITING_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a batch of %" PRId64 " steps; the limit is %d",
                        index->dim[0], TFD_UNBATCH_WAITING_MAX);
    return TFD_OK;
}

/* Only how many rows are each step's is asked, as TensorFlow does. */
static enum tfd_code check_index_sizes(const struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const int64_t *index = tfd_tensor_data(&k->in[1]);
    int64_t left = k->in[0].shape.rank > 0 ? k->in[0].shape.dim[0] : 0, rows;

    for (int64_t i = 0; i < k->in[1].shape.dim[0]; i++, index += 3) {
        if (__builtin_sub_overflow(index[2], index[1], &rows) || rows < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Row %" PRId64 " of the index tensor is of rows "
                            "from %" PRId64 " to %" PRId64,
                            i, index[1], index[2]);
        if (rows > left)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Sum of split sizes must not exceed dim0-size of "
                            "input tensor");
        left -= rows;
    }
    return TFD_OK;
}

static enum tfd_code cut_offers(struct visit *v, struct tfd_status *st)
{
    const int64_t *index = tfd_tensor_data(&v->k->in[1]);
    struct tfd_batch_rows rows = {&v->k->in[0], 0, 0};

    TFD_TRY(check_index_sizes(v->k, st));
    for (int64_t i = 0; i < v->offer_count; i++, index += 3) {
        struct offer *o = &v->offer[i];

        o->id = index[0];
        o->visit = v;
        rows.count = index[2] - index[1];
        TFD_TRY(tfd_batch_cut(&o->rows, &rows, st));
        rows.first += rows.count;
    }
    return TFD_OK;
}

/* ---- Meeting; the yard's lock is held ------------------------------------ */

static enum tfd_code check_place(const struct yard *y, const struct visit *v,
                                 struct tfd_status *st)
{
    if (tfd_id_map_get(&y->steps, (uint64_t)v->id))
        return tfd_fail(st, TFD_ALREADY_EXISTS,
                        "Multiple session runs with the same batch key.");
    if (y->steps.count + y->offers.count + (size_t)v->offer_count <
        TFD_UNBATCH_WAITING_MAX)
        return TFD_OK;
    return tfd_fail(
        st, TFD_RESOURCE_EXHAUSTED,
        "%zu steps and %zu tensors wait for each other, and %" PRId64
        " tensors come; the limit is %d",
        y->steps.count, y->offers.count, v->offer_count,
        TFD_UNBATCH_WAITING_MAX);
}

/* The step of v waits, with its alarm. */
static enum tfd_code begin_waiting(struct visit *v, struct tfd_status *st)
{
    TFD_TRY(check_place(v->yard, v, st));
    if (!tfd_id_map_put(&v->yard->steps, (uint64_t)v->id, v))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a step");
    v->alarm.fn = time_is_up;
    TFD_TRY(tfd_rt_alarm(v->k->rt, &v->alarm, v->place->timeout_us, st));
    v->is_set = true;
    tfd_refs_add(&v->refs, 1);
    if (!tfd_step_on_cancel(v->k->step, &v->cancel))
        return tfd_fail(st, TFD_CANCELLED, "Unbatching was cancelled");
    return TFD_OK;
}

/* Another step's visit may end with that; v itself has more to place. */
static void give(struct visit *to, const struct visit *v, struct visit ***given)
{
    to->given = take_step(to);
    if (to != v)
        settle(to);
    **given = to;
    *given = &to->next_given;
}

/* Rows whose step waits are given, others wait for theirs. */
static enum tfd_code place_offers(struct visit *v, struct visit ***given,
                                  struct tfd_status *st)
{
    struct yard *y = v->yard;

    for (int64_t i = 0; i < v->offer_count; i++) {
        struct offer *o = &v->offer[i];
        struct visit *to = tfd_id_map_get(&y->steps, (uint64_t)o->id);

        if (to) {
            to->rows = o->rows;
            o->rows = (struct tfd_tensor)TFD_TENSOR_INIT;
            give(to, v, given);
            continue;
        }
        if (tfd_id_map_get(&y->offers, (uint64_t)o->id))
            return tfd_fail(st, TFD_ALREADY_EXISTS,
                            "Multiple tensors returned for same batch key.");
        if (!tfd_id_map_put(&y->offers, (uint64_t)o->id, o))
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for rows");
        o->is_there = true;
        v->offers_left++;
    }
    return TFD_OK;
}

/* Where the step's rows are there before it, what it brings is not looked at,
 * as in TensorFlow. */
static enum tfd_code meet(struct visit *v, struct visit ***given,
                          struct tfd_status *st)
{
    struct offer *own = tfd_id_map_get(&v->yard->offers, (uint64_t)v->id);
    enum tfd_code rc;

    if (own) {
        take_offer(own, &v->rows);
        give(v, v, given);
        return TFD_OK;
    }
    rc = begin_waiting(v, st);
    if (rc == TFD_OK)
        rc = place_offers(v, given, st);
    if (v->offers_left > 0)
        link_visit(v);
    return rc;
}

/* ---- The node ------------------------------------------------------------ */

static void begin_visit(struct visit *v)
{
    struct visit *given = NULL, **last = &given;
    struct tfd_status st = TFD_STATUS_INIT, good = TFD_STATUS_INIT;
    struct tfd_kctx *failed = NULL;
    struct yard *y = v->yard;

    tfd_refs_add(&y->refs, 1);
    tfd_lock(&y->lock);
    if (meet(v, &last, &st) != TFD_OK && v->k)
        failed = take_step(v);
    settle(v);
    *last = NULL;
    tfd_unlock(&y->lock);
    unref_yard(y);
    if (failed)
        finish_step(v, failed, &st);
    while (given) {
        struct visit *to = given;

        given = to->next_given;
        finish_step(to, to->given, to == v ? &st : &good);
    }
}

static enum tfd_code new_visit(struct tfd_kctx *k, struct place *p, int64_t id,
                               struct visit **out, struct tfd_status *st)
{
    int64_t offers = k->in[1].shape.dim[0];
    struct visit *v =
        calloc(1, sizeof(*v) + (size_t)offers * sizeof(struct offer));
    enum tfd_code rc;

    if (!v)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a step");
    v->refs = 1;
    v->k = k;
    v->id = id;
    v->cancel.fn = visit_cancelled;
    v->pool = tfd_rt_pool(k->rt);
    v->offer_count = offers;
    v->place = p;
    v->yard = p->yard;
    tfd_refs_add(&v->yard->refs, 1);
    rc = cut_offers(v, st);
    if (rc == TFD_OK)
        *out = v;
    else
        unref_visit(v);
    return rc;
}

void tfd_unbatch_start(struct tfd_kctx *k)
{
    struct tfd_unbatch_choices *c = k->state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r = NULL;
    struct visit *v = NULL;
    int64_t id;
    enum tfd_code rc = tfd_rt_find_or_make(k->rt, c->container, c->name,
                                           &place_type, make_place, c, &r, &st);

    if (rc == TFD_OK)
        rc = check_index(k, &st);
    if (rc == TFD_OK)
        rc = tfd_unbatch_id(k, 2, "Input id should be scalar; Got: ", ".", &id,
                            &st);
    if (rc == TFD_OK)
        rc = new_visit(k, (struct place *)r, id, &v, &st);
    if (rc == TFD_OK) {
        begin_visit(v); /* which has the place now */
        return;
    }
    tfd_resource_unref(r);
    tfd_kctx_finish(k, &st);
}

enum tfd_code tfd_unbatch_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct tfd_unbatch_choices *c = state;

    TFD_TRY(tfd_unbatch_grad_prepare(p, state, st));
    TFD_TRY(tfd_node_int(p->node, "timeout_micros", &c->timeout_us, st));
    if (c->timeout_us == (int32_t)c->timeout_us)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Attr timeout_micros has value %" PRId64
                    " out of range for an int32",
                    c->timeout_us);
}

enum tfd_code tfd_unbatch_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape y = s->in[0];

    if (y.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Out of range dim_index 0 for shape with 0 dimensions");
    if (y.rank > 0)
        y.dim[0] = -1;
    s->out[0] = y;
    return TFD_OK;
}
