/*
 * unbatch_grad.c - UnbatchGrad: gradients of the steps of one batch joined in
 * the step that had the batch; the others get none.
 *
 *     given      gradients that steps have brought, by their ids
 *     gatherer   the step with the batch, which waits until all are given
 *     wanted     ids that a gatherer misses
 *
 * TensorFlow waits for ever for a gradient that never comes; here a step that
 * is cancelled leaves.
 */
#include "kernels/control/unbatch.h"

#include "kernels/control/batch_rows.h"
#include "kernels/core/runtime.h"

#include "common/base/container.h"
#include "common/base/id_map.h"
#include "common/thread/lock.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

struct meeting {
    struct tfd_resource resource;
    struct tfd_lock lock;            /* of what follows */
    struct tfd_id_map given, wanted; /* id -> tensor, gatherer */
};

struct gatherer {
    struct tfd_cancel cancel;
    struct meeting *meeting; /* counted */
    struct tfd_kctx *k;      /* NULL: it does not wait any more; the lock's */
    int64_t id;
    int64_t missing; /* ids; the lock's */
    int64_t count;   /* rows of its index */
    struct tfd_tensor part[];
};

/* ---- Meetings ------------------------------------------------------------ */

static void drop_given(struct tfd_tensor *t)
{
    if (t)
        tfd_tensor_unref(t);
    free(t);
}

static void meeting_free(struct tfd_resource *r)
{
    struct meeting *m = (struct meeting *)r;
    struct tfd_tensor *t;
    size_t at = 0;

    while ((t = tfd_id_map_next(&m->given, &at)) != NULL)
        drop_given(t);
    tfd_id_map_deinit(&m->given);
    tfd_id_map_deinit(&m->wanted);
    tfd_lock_deinit(&m->lock);
    free(m);
}

static const struct tfd_resource_type meeting_type = {
    .name = "N10tensorflow19UnbatchGradResourceE",
    .what = "gradients of an unbatcher",
    .free = meeting_free,
};

static enum tfd_code make_meeting(void *arg, struct tfd_resource **out,
                                  struct tfd_status *st)
{
    struct meeting *m = calloc(1, sizeof(*m));

    (void)arg;
    if (!m)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for gradients");
    tfd_resource_init(&m->resource, &meeting_type);
    tfd_lock_init(&m->lock, TFD_LOCK_RESOURCE);
    *out = &m->resource;
    return TFD_OK;
}

/* ---- Under the meeting's lock -------------------------------------------- */

static enum tfd_code give(struct meeting *m, uint64_t id,
                          const struct tfd_tensor *grad, struct tfd_status *st)
{
    struct tfd_tensor *t;

    if (tfd_id_map_get(&m->given, id))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Two runs with the same batch key.");
    if (m->given.count + m->wanted.count >= TFD_UNBATCH_WAITING_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%zu gradients are given and %zu are wanted; the limit "
                        "for both is %d",
                        m->given.count, m->wanted.count,
                        TFD_UNBATCH_WAITING_MAX);
    t = malloc(sizeof(*t));
    if (t)
        *t = tfd_tensor_ref(grad);
    if (t && tfd_id_map_put(&m->given, id, t))
        return TFD_OK;
    drop_given(t);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a gradient");
}

static const int64_t *index_of(const struct gatherer *g)
{
    return tfd_tensor_data(&g->k->in[1]);
}

static void forget_wanted(struct gatherer *g)
{
    const int64_t *index = index_of(g);

    for (int64_t i = 0; i < g->count; i++)
        if (tfd_id_map_get(&g->meeting->wanted, (uint64_t)index[3 * i]) == g)
            (void)tfd_id_map_remove(&g->meeting->wanted,
                                    (uint64_t)index[3 * i]);
    g->missing = 0;
}

static enum tfd_code want(struct gatherer *g, uint64_t id,
                          struct tfd_status *st)
{
    struct meeting *m = g->meeting;
    const struct gatherer *other = tfd_id_map_get(&m->wanted, id);

    if (other == g || tfd_id_map_get(&m->given, id))
        return TFD_OK;
    if (other)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Missing tensor wanted by more than one batch.");
    if (!tfd_id_map_put(&m->wanted, id, g))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    g->missing++;
    return TFD_OK;
}

static enum tfd_code want_all(struct gatherer *g, struct tfd_status *st)
{
    const int64_t *index = index_of(g);
    enum tfd_code rc = TFD_OK;

    for (int64_t i = 0; rc == TFD_OK && i < g->count; i++)
        rc = want(g, (uint64_t)index[3 * i], st);
    if (rc != TFD_OK)
        forget_wanted(g);
    return rc;
}

/* Nothing is missing; an id that the index has twice is not given twice. */
static enum tfd_code gather(struct gatherer *g, struct tfd_status *st)
{
    const int64_t *index = index_of(g);

    for (int64_t i = 0; i < g->count; i++) {
        struct tfd_tensor *t =
            tfd_id_map_remove(&g->meeting->given, (uint64_t)index[3 * i]);

        if (!t)
            return tfd_fail(st, TFD_INTERNAL,
                            "bad bookkeeping of available tensors.");
        g->part[i] = *t;
        free(t);
    }
    return TFD_OK;
}

/* Who waits for this id may have all of its gradients now, and is returned. */
static struct gatherer *tell_wanted(struct meeting *m, uint64_t id)
{
    struct gatherer *g = tfd_id_map_remove(&m->wanted, id);

    return g && --g->missing == 0 ? g : NULL;
}

/* ---- Ends ---------------------------------------------------------------- */

static void free_gatherer(struct gatherer *g)
{
    for (int64_t i = 0; i < g->count; i++)
        tfd_tensor_unref(&g->part[i]);
    tfd_resource_unref(&g->meeting->resource);
    free(g);
}

static enum tfd_code join_parts(const struct gatherer *g,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_batch_rows *rows =
        calloc((size_t)g->count, sizeof(struct tfd_batch_rows));
    int64_t count = 0;
    enum tfd_code rc = TFD_OK;

    if (!rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    for (int64_t i = 0; rc == TFD_OK && i < g->count; i++) {
        const struct tfd_shape *s = &g->part[i].shape;

        if (s->rank == 0 || s->dim[0] > INT64_MAX - count)
            rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "A gradient that is joined with others has rows; got "
                          "rank %d",
                          s->rank);
        else
            rows[i] = (struct tfd_batch_rows){&g->part[i], 0, s->dim[0]};
        count += rows[i].count;
    }
    if (rc == TFD_OK)
        rc = tfd_batch_join(out, rows, g->count, count, st);
    free(rows);
    return rc;
}

/* The gatherer has gone from its meeting; k was its own. */
static void finish_gatherer(struct gatherer *g, struct tfd_kctx *k,
                            enum tfd_code rc, struct tfd_status *st)
{
    (void)tfd_step_off_cancel(k->step, &g->cancel);
    if (rc == TFD_OK)
        (void)!join_parts(g, &k->out[0], st);
    free_gatherer(g);
    tfd_kctx_finish(k, st);
}

/* Its own gradient goes with it, unless somebody has taken it. */
static void gatherer_cancelled(struct tfd_cancel *c)
{
    struct gatherer *g = TFD_CONTAINER_OF(c, struct gatherer, cancel);
    struct meeting *m = g->meeting;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor *own = NULL;
    struct tfd_kctx *k;

    tfd_resource_ref(&m->resource);
    tfd_lock(&m->lock);
    k = g->k;
    if (k) {
        forget_wanted(g);
        own = tfd_id_map_remove(&m->given, (uint64_t)g->id);
        g->k = NULL;
    }
    tfd_unlock(&m->lock);
    drop_given(own);
    if (k)
        finish_gatherer(
            g, k, tfd_fail(&st, TFD_CANCELLED, "Unbatching was cancelled"),
            &st);
    tfd_resource_unref(&m->resource);
}

/* ---- The node ------------------------------------------------------------ */

static enum tfd_code check_index(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *index = &k->in[1];
    int64_t rows = index->shape.rank > 0 ? index->shape.dim[0] : 0;
    int64_t elements = tfd_tensor_elements(index);

    if (elements == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_index is empty while the tensor isn't.");
    if (elements % 3 != 0 || elements / 3 != rows)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_index should contain %" PRId64
                        " elements. Received %" PRId64,
                        rows > INT64_MAX / 3 ? INT64_MAX : rows * 3, elements);
    if (rows > TFD_UNBATCH_WAITING_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a batch of %" PRId64 " steps; the limit is %d", rows,
                        TFD_UNBATCH_WAITING_MAX);
    return TFD_OK;
}

static enum tfd_code new_gatherer(struct tfd_kctx *k, struct meeting *m,
                                  int64_t id, struct gatherer **out,
                                  struct tfd_status *st)
{
    int64_t count;
    struct gatherer *g;

    TFD_TRY(check_index(k, st));
    count = tfd_tensor_elements(&k->in[1]) / 3;
    g = calloc(1, sizeof(*g) + (size_t)count * sizeof(struct tfd_tensor));
    if (!g)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a batch");
    g->meeting = m;
    tfd_resource_ref(&m->resource);
    g->k = k;
    g->id = id;
    g->count = count;
    g->cancel.fn = gatherer_cancelled;
    *out = g;
    return TFD_OK;
}

static enum tfd_code give_nothing(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = k->in[2].shape;

    if (shape.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "A gradient has rows; got a scalar");
    shape.dim[0] = 0;
    return tfd_kctx_output(k, 0, k->in[2].dtype, &shape, st);
}

/* What is to be done once no lock is held. */
struct ends {
    struct gatherer *own, *other; /* that have all their gradients */
    enum tfd_code own_rc, other_rc;
    struct tfd_status own_st, other_st;
};

static struct gatherer *take_ready(struct gatherer *g, enum tfd_code *rc,
                                   struct tfd_status *st)
{
    *rc = gather(g, st);
    return g;
}

/* Under the lock.  g waits on where own stays NULL and nothing fails. */
static enum tfd_code meet(struct meeting *m, struct gatherer *g,
                          struct tfd_kctx *k, int64_t id, struct ends *e,
                          struct tfd_status *st)
{
    struct gatherer *other;

    TFD_TRY(give(m, (uint64_t)id, &k->in[2], st));
    if (g) {
        if (want_all(g, st) != TFD_OK ||
            (g->missing > 0 && !tfd_step_on_cancel(k->step, &g->cancel))) {
            forget_wanted(g);
            drop_given(tfd_id_map_remove(&m->given, (uint64_t)id));
            return st->code != TFD_OK ? st->code
                                      : tfd_fail(st, TFD_CANCELLED,
                                                 "Unbatching was cancelled");
        }
        if (g->missing == 0) {
            e->own = take_ready(g, &e->own_rc, &e->own_st);
            return TFD_OK;
        }
    }
    other = tell_wanted(m, (uint64_t)id);
    if (other)
        e->other = take_ready(other, &e->other_rc, &e->other_st);
    return TFD_OK;
}

static void begin_gathering(struct meeting *m, struct gatherer *g,
                            struct tfd_kctx *k, int64_t id)
{
    struct ends e = {.own_st = TFD_STATUS_INIT, .other_st = TFD_STATUS_INIT};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *own = NULL, *other = NULL;
    enum tfd_code rc;

    tfd_lock(&m->lock);
    rc = meet(m, g, k, id, &e, &st);
    if (g && (rc != TFD_OK || e.own)) {
        own = g->k;
        g->k = NULL;
    }
    if (e.other) {
        other = e.other->k;
        e.other->k = NULL;
    }
    tfd_unlock(&m->lock);
    if (own)
        finish_gatherer(g, own, rc == TFD_OK ? e.own_rc : rc,
                        rc == TFD_OK ? &e.own_st : &st);
    else if (!g)
        tfd_kctx_finish(k, &st);
    if (other)
        finish_gatherer(e.other, other, e.other_rc, &e.other_st);
}

void tfd_unbatch_grad_start(struct tfd_kctx *k)
{
    const struct tfd_unbatch_choices *c = k->state;
    bool has_batch = tfd_tensor_elements(&k->in[0]) > 0;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r = NULL;
    struct gatherer *g = NULL;
    int64_t id;
    enum tfd_code rc =
        tfd_rt_find_or_make(k->rt, c->container, c->name, &meeting_type,
                            make_meeting, NULL, &r, &st);

    if (rc == TFD_OK)
        rc = tfd_unbatch_id(k, 3, "Expected `id` to be scalar. Received ", "",
                            &id, &st);
    if (rc == TFD_OK && !has_batch)
        rc = give_nothing(k, &st);
    else if (rc == TFD_OK)
        rc = new_gatherer(k, (struct meeting *)r, id, &g, &st);
    if (rc == TFD_OK)
        begin_gathering((struct meeting *)r, g, k, id);
    else
        tfd_kctx_finish(k, &st);
    tfd_resource_unref(r);
}

enum tfd_code tfd_unbatch_grad_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct tfd_unbatch_choices *c = state;

    TFD_TRY(tfd_node_str(p->node, "container", &c->container, st));
    TFD_TRY(tfd_node_str(p->node, "shared_name", &c->name, st));
    if (c->name.size == 0)
        c->name = p->node->name;
    return TFD_OK;
}

/* TensorFlow tells the rank alone. */
enum tfd_code tfd_unbatch_grad_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    struct tfd_shape y = s->in[2];

    (void)st;
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = -1;
    s->out[0] = y;
    return TFD_OK;
}
