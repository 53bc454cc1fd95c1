/*
 * long_reduce.c - reductions of long shapes, which see runs of dimensions that
 * are kept and runs that go.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"

/* Dimensions that are kept, or go, side by side; those of 1 are no matter. */
struct groups {
    int count;
    int64_t dim[TFD_RANK_LONG_MAX];
    bool goes[TFD_RANK_LONG_MAX];
};

static enum tfd_code mark(const struct tfd_kctx *k, const struct tfd_dims *d,
                          bool *goes, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[1]);

    for (int64_t i = 0; i < n; i++) {
        int64_t axis = tfd_check_int_at(&k->in[1], i);

        if (axis < -d->rank || axis >= d->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid reduction dimension (%lld for input with "
                            "%d dimension(s)",
                            (long long)axis, d->rank);
        axis = axis < 0 ? axis + d->rank : axis;
        if (goes[axis])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid reduction arguments: Axes contains "
                            "duplicate dimension: %lld",
                            (long long)axis);
        goes[axis] = true;
    }
    return TFD_OK;
}

static void group(const struct tfd_dims *d, const bool *goes, struct groups *g)
{
    g->count = 0;
    for (int i = 0; i < d->rank; i++) {
        if (d->at[i] == 1)
            continue;
        if (g->count > 0 && g->goes[g->count - 1] == goes[i]) {
            g->dim[g->count - 1] *= d->at[i];
            continue;
        }
        g->dim[g->count] = d->at[i];
        g->goes[g->count++] = goes[i];
    }
}

/* Group i is reduced and gone; its neighbours become one. */
static void drop_group(struct groups *g, int i)
{
    int gone = i > 0 && i + 1 < g->count ? 2 : 1;

    if (gone == 2)
        g->dim[i - 1] *= g->dim[i + 1];
    for (int j = i; j + gone < g->count; j++) {
        g->dim[j] = g->dim[j + gone];
        g->goes[j] = g->goes[j + gone];
    }
    g->count -= gone;
}

static int64_t product_of_group(const struct groups *g, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= g->dim[i];
    return n;
}

static enum tfd_code run_groups(struct tfd_long_view *v, const struct groups *g,
                                struct tfd_status *st)
{
    enum tfd_dtype dtype = v->k.in[1].dtype;
    struct tfd_small_ints room;
    int64_t axis[TFD_RANK_MAX];
    int count = 0;

    for (int i = 0; i < g->count; i++)
        if (g->goes[i])
            axis[count++] = i;
    tfd_long_see(v, 0, g->dim, g->count);
    v->k.in[1] = tfd_small_ints(&room, dtype, axis, count);
    return tfd_long_view_run(v, st);
}

/* Groups are too many for the kernel: one after the other, from the end. */
static enum tfd_code run_one_by_one(struct tfd_long_view *v, struct groups *g,
                                    struct tfd_status *st)
{
    struct tfd_tensor *out = v->k.out, done = v->k.in[0], next;
    const struct tfd_tensor axes = v->k.in[1];
    enum tfd_code rc = TFD_OK;
    bool own = false;

    for (int i = g->count - 1; i >= 0 && rc == TFD_OK; i--) {
        struct groups step = {3,
                              {product_of_group(g, 0, i), g->dim[i],
                               product_of_group(g, i + 1, g->count)},
                              {false, true, false}};

        if (!g->goes[i])
            continue;
        drop_group(g, i);
        next = (struct tfd_tensor)TFD_TENSOR_INIT;
        v->k.in[0] = done;
        v->k.in[1] = axes;
        v->k.out = &next;
        rc = run_groups(v, &step, st);
        if (own)
            tfd_tensor_unref(&done);
        done = next;
        own = true;
    }
    *out = done;
    return rc;
}

static enum tfd_code reduced_shape(const struct tfd_kctx *k,
                                   const struct tfd_dims *d, const bool *goes,
                                   struct tfd_shape *out, struct tfd_status *st)
{
    struct tfd_dims made = {.rank = 0};
    bool keep = false;

    TFD_TRY(tfd_node_bool(k->node, "keep_dims", &keep, st));
    for (int i = 0; i < d->rank; i++)
        if (!goes[i] || keep)
            TFD_TRY(tfd_dims_push(&made, goes[i] ? 1 : d->at[i], st));
    return tfd_dims_shape(&made, out, st);
}

enum tfd_code tfd_long_reduce(struct tfd_kctx *k,
                              const struct tfd_long_row *row,
                              struct tfd_status *st)
{
    bool goes[TFD_RANK_LONG_MAX] = {false};
    struct tfd_long_view v;
    struct tfd_shape shape;
    struct groups g;
    struct tfd_dims d;
    enum tfd_code rc;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(mark(k, &d, goes, st));
    TFD_TRY(reduced_shape(k, &d, goes, &shape, st));
    group(&d, goes, &g);
    TFD_TRY(tfd_long_view_init(&v, k, st));
    rc = g.count <= TFD_RANK_MAX ? run_groups(&v, &g, st)
                                 : run_one_by_one(&v, &g, st);
    tfd_long_view_deinit(&v);
    if (rc == TFD_OK)
        k->out[0].shape = shape;
    return rc;
}
