/*
 * approx_topk.c - ApproxTopK: what it says beyond TopK.
 *
 * A CPU finds the exact values, as in TensorFlow; recall_target and the size
 * that stands in for the input's are advice to a TPU, which alone can look for
 * the smallest ones or along another dimension than the last.
 */
#include "kernels/core/check.h"
#include "kernels/core/gradient.h"
#include "kernels/reduce/topk.h"

enum tfd_code tfd_approx_topk_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    int64_t dimension;
    bool largest;

    TFD_TRY(tfd_node_int(p->node, "reduction_dimension", &dimension, st));
    TFD_TRY(tfd_node_bool(p->node, "is_max_k", &largest, st));
    if (dimension != -1 || !largest)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support Op 'ApproxTopK' "
                        "with reduction_dimension=%lld, is_max_k=%s: a CPU has "
                        "one for -1 and true",
                        (long long)dimension, largest ? "true" : "false");
    return tfd_topk_prepare(p, state, st);
}

/* The dimension that is reduced, counted from the first. */
static enum tfd_code reduced_dim(const struct tfd_node *n, int rank, int *out,
                                 struct tfd_status *st)
{
    int64_t at;

    TFD_TRY(tfd_node_int(n, "reduction_dimension", &at, st));
    if (at < -rank || at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid reduction dimension: %lld. Must be within the "
                        "range of [%d, %d]",
                        (long long)at, -rank, rank - 1);
    *out = (int)(at < 0 ? at + rank : at);
    return TFD_OK;
}

/* How many values a TPU gives that does not aggregate is not said. */
enum tfd_code tfd_approx_topk_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    struct tfd_shape out = s->in[0];
    bool whole;
    int64_t k;
    float recall;
    int at = 0;

    if (out.rank == TFD_RANK_UNKNOWN || !s->node)
        return TFD_OK;
    if (out.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank %d",
                        out.rank);
    TFD_TRY(tfd_node_int(s->node, "k", &k, st));
    TFD_TRY(tfd_node_float(s->node, "recall_target", &recall, st));
    TFD_TRY(tfd_node_bool(s->node, "aggregate_to_topk", &whole, st));
    TFD_TRY(reduced_dim(s->node, out.rank, &at, st));
    if (out.dim[at] >= 0 && out.dim[at] < k)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must have last dimension >= k = %lld but was "
                        "%lld",
                        (long long)k, (long long)out.dim[at]);
    if (!(recall > 0 && recall <= 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid recall target: %g. Valid value range in : [0, "
                        "1.0].",
                        (double)recall);
    out.dim[at] = whole ? k : TFD_DIM_UNKNOWN;
    s->out[0] = s->out[1] = out;
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

static struct tfd_edge shape_edge(struct tfd_gradient *b,
                                  const struct tfd_shape *s)
{
    int32_t dims[TFD_RANK_MAX];

    for (int d = 0; d < s->rank; d++)
        dims[d] = (int32_t)s->dim[d];
    return tfd_gradient_ints(b, dims, s->rank);
}

/* Where each value is along dimension d: [..., 1] of the indices' shape. */
static struct tfd_edge places_along(struct tfd_gradient *b, int d, int reduced,
                                    const struct tfd_shape *lifted)
{
    static const int32_t zero = 0, one = 1;
    struct tfd_shape row = *lifted;
    int32_t length = (int32_t)lifted->dim[d];

    if (d == reduced)
        return tfd_gradient_op2(b, "Reshape", b->g->y[1],
                                shape_edge(b, lifted));
    for (int i = 0; i < row.rank; i++)
        row.dim[i] = i == d ? length : 1;
    return tfd_gradient_op2(
        b, "BroadcastTo",
        tfd_gradient_op2(b, "Reshape",
                         tfd_gradient_op3(b, "Range",
                                          tfd_gradient_ints(b, &zero, -1),
                                          tfd_gradient_ints(b, &length, -1),
                                          tfd_gradient_ints(b, &one, -1)),
                         shape_edge(b, &row)),
        shape_edge(b, lifted));
}

static enum tfd_code known_shapes(const struct tfd_grad *g, struct tfd_shape *x,
                                  struct tfd_shape *index,
                                  struct tfd_status *st)
{
    if (!tfd_grad_shape(g, g->x[0], x) || !tfd_grad_shape(g, g->y[1], index) ||
        index->rank >= TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "the gradient of ApproxTopK (" TFD_STR_FMT
                        ") needs shapes that are known, of fewer than %d "
                        "dimensions",
                        TFD_STR_ARG(g->node->name), TFD_RANK_MAX);
    for (int d = 0; d < x->rank; d++)
        if (x->dim[d] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "the gradient of ApproxTopK counts to %d, and "
                            "dimension %d is %lld",
                            INT32_MAX, d, (long long)x->dim[d]);
    return TFD_OK;
}

/* Each value's gradient to the place that it came from; the rest is zero. */
enum tfd_code tfd_approx_topk_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    static const int32_t all = -1;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge parts[TFD_RANK_MAX + 1], places, flat;
    struct tfd_shape x, lifted;
    int32_t rows[2], last;
    int reduced = 0;

    TFD_TRY(known_shapes(g, &x, &lifted, st));
    TFD_TRY(reduced_dim(g->node, lifted.rank, &reduced, st));
    rows[0] = -1;
    rows[1] = last = lifted.rank;
    lifted.dim[lifted.rank++] = 1;
    for (int d = 0; d < last; d++)
        parts[d] = places_along(&b, d, reduced, &lifted);
    parts[last] = tfd_gradient_ints(&b, &last, -1);
    places =
        last == 1 ? parts[0] : tfd_gradient_op(&b, "ConcatV2", parts, last + 1);
    places =
        tfd_gradient_op2(&b, "Reshape", places, tfd_gradient_ints(&b, rows, 2));
    flat = tfd_gradient_op2(&b, "Reshape", g->dy[0],
                            tfd_gradient_ints(&b, &all, 1));
    g->dx[0] =
        tfd_gradient_op3(&b, "ScatterNd", places, flat, shape_edge(&b, &x));
    return b.code;
}
