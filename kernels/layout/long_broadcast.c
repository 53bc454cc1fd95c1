/*
 * long_broadcast.c - ops on long shapes that are broadcast against each other.
 *
 * Neighbouring dimensions along which the same operands are repeated are one
 * to the kernel; those that are 1 in all operands are left out.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"

#include <string.h>

#define OPERANDS_MAX 3

struct groups {
    int count;
    int64_t dim[OPERANDS_MAX][TFD_RANK_LONG_MAX];
};

/* Dimension i of `rank` of an operand that is filled up with ones in front. */
static int64_t dim_of(const struct tfd_dims *d, int rank, int i)
{
    int at = i - (rank - d->rank);

    return at < 0 ? 1 : d->at[at];
}

static enum tfd_code fail_shapes(const struct tfd_dims *d, const char *before,
                                 const char *between, const char *behind,
                                 enum tfd_code code, struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape x, y;

    TFD_TRY(tfd_dims_shape(&d[0], &x, st));
    TFD_TRY(tfd_dims_shape(&d[1], &y, st));
    return tfd_fail(st, code, "%s%s%s%s%s", before, tfd_shape_text(&x, a),
                    between, tfd_shape_text(&y, b), behind);
}

/* What dimension i of the result is, and which operands are repeated along it
 * (bits). */
static enum tfd_code join_dims(const struct tfd_dims *d, int count, int rank,
                               int i, int64_t *out, unsigned *ones,
                               struct tfd_status *st)
{
    *out = 1;
    *ones = 0;
    for (int j = 0; j < count; j++) {
        int64_t n = dim_of(&d[j], rank, i);

        if (n != 1 && *out != 1 && n != *out)
            return fail_shapes(d, "Incompatible shapes: ", " vs. ", "",
                               TFD_INVALID_ARGUMENT, st);
        if (n != 1)
            *out = n;
        *ones |= (unsigned)(n == 1) << j;
    }
    return TFD_OK;
}

static void add_dim(struct groups *g, int count, int64_t dim, unsigned ones,
                    bool joins)
{
    g->count += !joins;
    for (int j = 0; j < count; j++) {
        int64_t *to = &g->dim[j][g->count - 1];
        int64_t n = ones >> j & 1 ? 1 : dim;

        *to = joins ? *to * n : n;
    }
}

/* The result's dimensions, and the groups of dimensions of all operands. */
static enum tfd_code group(const struct tfd_dims *d, int count,
                           struct tfd_dims *out, struct groups *g,
                           struct tfd_status *st)
{
    unsigned ones, last = UINT32_MAX;
    int rank = 0;

    for (int j = 0; j < count; j++)
        rank = d[j].rank > rank ? d[j].rank : rank;
    out->rank = 0;
    g->count = 0;
    for (int i = 0; i < rank; i++) {
        int64_t dim;

        TFD_TRY(join_dims(d, count, rank, i, &dim, &ones, st));
        TFD_TRY(tfd_dims_push(out, dim, st));
        if (dim == 1)
            continue;
        add_dim(g, count, dim, ones, ones == last);
        last = ones;
    }
    return TFD_OK;
}

static enum tfd_code too_many(const struct tfd_dims *d, struct tfd_status *st)
{
    return fail_shapes(d, "Broadcast between ", " and ",
                       " is not supported yet.", TFD_UNIMPLEMENTED, st);
}

/* Operand j as its groups, and its own last `inner` dimensions. */
static void see_operand(struct tfd_long_view *v, int j, const struct groups *g,
                        const struct tfd_dims *all, int inner)
{
    int64_t dim[TFD_RANK_MAX];

    memcpy(dim, g->dim[j], sizeof(*dim) * (size_t)g->count);
    memcpy(dim + g->count, all->at + all->rank - inner,
           sizeof(*dim) * (size_t)inner);
    tfd_long_see(v, j, dim, g->count + inner);
}

static enum tfd_code spread_dims(struct tfd_kctx *k,
                                 const struct tfd_dims *lead, int groups,
                                 struct tfd_status *st)
{
    struct tfd_dims got, out = *lead;

    tfd_dims_of(&got, &k->out[0].shape);
    TFD_TRY(tfd_dims_add(&out, &got, groups, got.rank, st));
    return tfd_dims_shape(&out, &k->out[0].shape, st);
}

static enum tfd_code run_long_broadcast(struct tfd_kctx *k,
                                        const struct groups *g,
                                        const struct tfd_dims *all, int inner,
                                        struct tfd_status *st)
{
    struct tfd_long_view v;
    enum tfd_code rc;

    TFD_TRY(tfd_long_view_init(&v, k, st));
    for (int j = 0; j < k->in_count; j++)
        see_operand(&v, j, g, &all[j], inner);
    rc = tfd_long_view_run(&v, st);
    tfd_long_view_deinit(&v);
    return rc;
}

enum tfd_code tfd_long_broadcast(struct tfd_kctx *k,
                                 const struct tfd_long_row *row,
                                 struct tfd_status *st)
{
    struct tfd_dims all[OPERANDS_MAX], d[OPERANDS_MAX], out;
    struct groups g;

    if (k->in_count > OPERANDS_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "%s of %d tensors", row->op,
                        k->in_count);
    for (int j = 0; j < k->in_count; j++) {
        tfd_dims_of(&all[j], &k->in[j].shape);
        if (all[j].rank < row->arg)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "In[%d] ndims must be >= %d: %d", j, row->arg,
                            all[j].rank);
        d[j] = all[j];
        d[j].rank -= row->arg;
    }
    TFD_TRY(group(d, k->in_count, &out, &g, st));
    if (g.count + row->arg > TFD_RANK_MAX)
        return too_many(d, st);
    TFD_TRY(run_long_broadcast(k, &g, all, row->arg, st));
    return spread_dims(k, &out, g.count, st);
}

/* ---- BroadcastTo --------------------------------------------------------- */

static enum tfd_code read_target(const struct tfd_kctx *k, struct tfd_dims *d,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];
    struct tfd_shape made;

    d->rank = 0;
    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape must be a vector, but has %d dimensions",
                        t->shape.rank);
    for (int64_t i = 0; i < t->shape.dim[0]; i++)
        if (tfd_dims_push(d, tfd_check_int_at(t, i), NULL) != TFD_OK)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "Too many dimensions");
    return tfd_dims_shape(d, &made, st);
}

enum tfd_code tfd_long_broadcast_to(struct tfd_kctx *k,
                                    const struct tfd_long_row *row,
                                    struct tfd_status *st)
{
    struct tfd_small_ints room;
    struct tfd_dims d[2], out;
    struct tfd_shape shape;
    struct tfd_long_view v;
    struct groups g;
    enum tfd_code rc;

    (void)row;
    tfd_dims_of(&d[0], &k->in[0].shape);
    TFD_TRY(read_target(k, &d[1], st));
    TFD_TRY(group(d, 2, &out, &g, st));
    if (out.rank != d[1].rank || !tfd_dims_equal(&out, &d[1], 0, out.rank))
        return fail_shapes(d, "Incompatible shapes: ", " vs. ", "",
                           TFD_INVALID_ARGUMENT, st);
    if (g.count > TFD_RANK_MAX)
        return too_many(d, st);
    TFD_TRY(tfd_dims_shape(&out, &shape, st));
    TFD_TRY(tfd_long_view_init(&v, k, st));
    tfd_long_see(&v, 0, g.dim[0], g.count);
    v.k.in[1] = tfd_small_ints(&room, k->in[1].dtype, g.dim[1], g.count);
    rc = tfd_long_view_run(&v, st);
    if (rc == TFD_OK)
        k->out[0].shape = shape;
    tfd_long_view_deinit(&v);
    return rc;
}
