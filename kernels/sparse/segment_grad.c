/*
 * segment_grad.c - see segment.h.
 *
 * The gradient of a segment goes to each of its rows; a row of no segment
 * (a negative id) has none.
 */
#include "kernels/sparse/segment.h"

#include "kernels/core/gradient.h"

static struct tfd_edge gather_segments(struct tfd_gradient *b,
                                       struct tfd_edge x, struct tfd_edge ids)
{
    static const int32_t axis = 0;

    return tfd_gradient_op3(b, "GatherV2", x, ids,
                            tfd_gradient_ints(b, &axis, -1));
}

/* Segments are summed as the forward node's were. */
static struct tfd_edge segment_op(struct tfd_gradient *b, const char *op,
                                  struct tfd_edge x)
{
    bool sorted = b->g->node->in_count == 2;
    struct tfd_edge in[3] = {x, b->g->x[1],
                             sorted ? TFD_EDGE_NONE : b->g->x[2]};

    return tfd_gradient_op(b, sorted ? op + sizeof("Unsorted") - 1 : op, in,
                           sorted ? 2 : 3);
}

#define SUM "UnsortedSegmentSum"
#define PROD "UnsortedSegmentProd"

/* ---- Sorted -------------------------------------------------------------- */

enum tfd_code tfd_segment_sum_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = gather_segments(&b, g->dy[0], g->x[1]);
    return b.code;
}

/* Ones in the shape of a row's number: [rows, 1, 1, ...]. */
static struct tfd_edge ones_by_row(struct tfd_gradient *b, struct tfd_edge x,
                                   struct tfd_edge ids)
{
    static const int32_t one = 1, zero = 0;
    struct tfd_edge rank = tfd_gradient_op1(b, "Rank", x);
    struct tfd_edge tail = tfd_gradient_op2(
        b, "Fill",
        tfd_gradient_op2(
            b, "ExpandDims",
            tfd_gradient_op2(b, "Sub", rank, tfd_gradient_ints(b, &one, -1)),
            tfd_gradient_ints(b, &zero, -1)),
        tfd_gradient_ints(b, &one, -1));
    struct tfd_edge shape =
        tfd_gradient_op3(b, "ConcatV2", tfd_gradient_shape(b, ids), tail,
                         tfd_gradient_ints(b, &zero, -1));

    return tfd_gradient_op2(b, "Fill", shape, tfd_gradient_scalar(b, x, 1));
}

enum tfd_code tfd_segment_mean_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge counts =
        segment_op(&b, SUM, ones_by_row(&b, g->x[0], g->x[1]));

    g->dx[0] = gather_segments(
        &b, tfd_gradient_op2(&b, "RealDiv", g->dy[0], counts), g->x[1]);
    return b.code;
}

/* Those that are the largest share what there is. */
enum tfd_code tfd_segment_extreme_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    enum tfd_dtype dtype = tfd_gradient_dtype(&b, g->dy[0]);
    struct tfd_edge chosen = tfd_gradient_op2(
        &b, "Equal", g->x[0], gather_segments(&b, g->y[0], g->x[1]));
    struct tfd_edge count =
        segment_op(&b, SUM, tfd_gradient_cast(&b, chosen, dtype));
    struct tfd_edge share = tfd_gradient_op2(&b, "RealDiv", g->dy[0], count);

    g->dx[0] = tfd_gradient_op3(&b, "SelectV2", chosen,
                                gather_segments(&b, share, g->x[1]),
                                tfd_gradient_op1(&b, "ZerosLike", g->x[0]));
    return b.code;
}

/* ---- Unsorted ------------------------------------------------------------ */

static struct tfd_edge clipped(struct tfd_gradient *b)
{
    struct tfd_edge ids = b->g->x[1];

    return tfd_gradient_op2(b, "Maximum", ids,
                            tfd_gradient_op1(b, "ZerosLike", ids));
}

/* Whether a row has a segment, in a shape that broadcasts to `rows`. */
static struct tfd_edge has_segment(struct tfd_gradient *b, struct tfd_edge rows)
{
    static const int32_t one = 1, zero = 0;
    struct tfd_edge ids = b->g->x[1];
    struct tfd_edge is = tfd_gradient_op2(
        b, "GreaterEqual", ids, tfd_gradient_op1(b, "ZerosLike", ids));
    struct tfd_edge more =
        tfd_gradient_op2(b, "Sub", tfd_gradient_op1(b, "Rank", rows),
                         tfd_gradient_op1(b, "Rank", is));
    struct tfd_edge tail =
        tfd_gradient_op2(b, "Fill",
                         tfd_gradient_op2(b, "ExpandDims", more,
                                          tfd_gradient_ints(b, &zero, -1)),
                         tfd_gradient_ints(b, &one, -1));
    struct tfd_edge shape =
        tfd_gradient_op3(b, "ConcatV2", tfd_gradient_shape(b, is), tail,
                         tfd_gradient_ints(b, &zero, -1));

    return tfd_gradient_op2(b, "Reshape", is, shape);
}

/* Rows of x by id; zero for those without a segment. */
static struct tfd_edge gather_positive(struct tfd_gradient *b,
                                       struct tfd_edge x)
{
    struct tfd_edge rows = gather_segments(b, x, clipped(b));

    return tfd_gradient_op3(b, "SelectV2", has_segment(b, rows), rows,
                            tfd_gradient_op1(b, "ZerosLike", rows));
}

enum tfd_code tfd_segment_unsorted_sum_gradient(struct tfd_grad *g,
                                                struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = gather_positive(&b, g->dy[0]);
    return b.code;
}

enum tfd_code tfd_segment_unsorted_extreme_gradient(struct tfd_grad *g,
                                                    struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    enum tfd_dtype dtype = tfd_gradient_dtype(&b, g->dy[0]);
    struct tfd_edge rows = gather_positive(&b, g->y[0]);
    struct tfd_edge chosen = tfd_gradient_op2(
        &b, "LogicalAnd", tfd_gradient_op2(&b, "Equal", g->x[0], rows),
        has_segment(&b, rows));
    struct tfd_edge count =
        segment_op(&b, SUM, tfd_gradient_cast(&b, chosen, dtype));
    struct tfd_edge share = tfd_gradient_op2(&b, "RealDiv", g->dy[0], count);

    g->dx[0] =
        tfd_gradient_op3(&b, "SelectV2", chosen, gather_positive(&b, share),
                         tfd_gradient_op1(&b, "ZerosLike", rows));
    return b.code;
}

/* ---- Products ------------------------------------------------------------ */

/* A segment with one zero passes its gradient to that row alone, with two to
 * none. */
static struct tfd_edge without_zeros(struct tfd_gradient *b,
                                     struct tfd_edge is_zero)
{
    static const int32_t one = 1;
    struct tfd_edge dy = b->g->dy[0];
    struct tfd_edge zeros =
        segment_op(b, SUM, tfd_gradient_cast(b, is_zero, TFD_INT32));

    return tfd_gradient_op3(
        b, "SelectV2",
        tfd_gradient_op2(b, "Greater", zeros, tfd_gradient_ints(b, &one, -1)),
        tfd_gradient_op1(b, "ZerosLike", dy), dy);
}

enum tfd_code tfd_segment_prod_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    bool sorted = g->node->in_count == 2;
    struct tfd_edge x = g->x[0], ids = sorted ? g->x[1] : clipped(&b);
    struct tfd_edge is_zero =
        tfd_gradient_op2(&b, "Equal", x, tfd_gradient_scalar(&b, x, 0));
    struct tfd_edge dy = without_zeros(&b, is_zero);
    struct tfd_edge others =
        segment_op(&b, PROD,
                   tfd_gradient_op3(&b, "SelectV2", is_zero,
                                    tfd_gradient_op1(&b, "OnesLike", x), x));
    struct tfd_edge partial = tfd_gradient_op3(
        &b, "SelectV2", is_zero, gather_segments(&b, others, ids),
        tfd_gradient_op2(&b, "RealDiv", gather_segments(&b, g->y[0], ids), x));

    g->dx[0] = tfd_gradient_op2(&b, "Mul",
                                sorted ? gather_segments(&b, dy, ids)
                                       : gather_positive(&b, dy),
                                partial);
    return b.code;
}
