/*
 * shape_fn.c - shape functions that many ops share.
 */
#include "kernels/core/check.h"

enum tfd_code tfd_shape_same(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape all = TFD_SHAPE_UNKNOWN;

    for (int i = 0; i < s->in_count; i++)
        TFD_TRY(tfd_shape_merge(&all, &s->in[i], st));
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = all;
    return TFD_OK;
}

enum tfd_code tfd_shape_like_first(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count && s->in_count; i++)
        s->out[i] = s->in[0];
    return TFD_OK;
}

enum tfd_code tfd_shape_scalar(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){.rank = 0};
    return TFD_OK;
}

enum tfd_code tfd_shape_none(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)s;
    (void)st;
    return TFD_OK;
}

/* ---- Broadcasting -------------------------------------------------------- */

/* Dimension i of a shape that is filled up with ones in front. */
static int64_t dim_of(const struct tfd_shape *s, int rank, int i)
{
    int at = i - (rank - s->rank);

    return at < 0 ? 1 : s->dim[at];
}

/* An unknown dimension may turn out to be 1, so only one over 1 decides. */
static enum tfd_code broadcast_dim(int64_t a, int64_t b, int64_t *out,
                                   struct tfd_status *st)
{
    bool known = a != TFD_DIM_UNKNOWN && b != TFD_DIM_UNKNOWN;

    if (known && a != b && a != 1 && b != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions must be equal, but are %lld and %lld",
                        (long long)a, (long long)b);
    if (known)
        *out = a == 1 ? b : a;
    else if (a > 1 || b > 1)
        *out = a > 1 ? a : b;
    else
        *out = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

enum tfd_code tfd_shape_broadcast2(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const struct tfd_shape *a = &s->in[0], *b = &s->in[1];
    int rank = a->rank > b->rank ? a->rank : b->rank;
    struct tfd_shape out = {.rank = rank};

    if (a->rank == TFD_RANK_UNKNOWN || b->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    for (int i = 0; i < rank; i++)
        TFD_TRY(broadcast_dim(dim_of(a, rank, i), dim_of(b, rank, i),
                              &out.dim[i], st));
    s->out[0] = out;
    return TFD_OK;
}
