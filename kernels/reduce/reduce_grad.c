/*
 * reduce_grad.c - gradients of sums, products, means and extremes.
 *
 * All of them bring the gradient back to the shape of the input.  What that
 * takes depends on how much is known while building:
 *
 *     everything reduced, rank known    Reshape to ones, Tile by the shape
 *     shape and axes known              Reshape, Tile by constants
 *     rank and axes known               Reshape to shape * mask + ones,
 *                                       BroadcastTo the shape
 *     nothing                           the same with DynamicStitch, as
 *                                       TensorFlow does
 */
#include "kernels/reduce/reduce_grad.h"

#include "kernels/core/gradient.h"

/* What is known of a reduction. */
struct known {
    struct tfd_shape in; /* may be partial */
    bool axes;           /* reduced[] is valid */
    bool reduced[TFD_RANK_MAX];
    int reduced_count;
};

static bool keeps_dims(const struct tfd_grad *g)
{
    bool keep = false;

    return tfd_node_bool(g->node, "keep_dims", &keep, NULL) == TFD_OK && keep;
}

static struct known find_known(struct tfd_gradient *b)
{
    struct known k = {.in = TFD_SHAPE_UNKNOWN};
    int64_t axes[TFD_RANK_MAX];
    int count;

    (void)tfd_grad_shape(b->g, b->g->x[0], &k.in);
    if (k.in.rank < 0 ||
        !tfd_gradient_const_ints(b, b->g->x[1], axes, TFD_RANK_MAX, &count))
        return k;
    k.axes = true;
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + k.in.rank : axes[i];

        if (axis < 0 || axis >= k.in.rank) {
            k.axes = false; /* the op itself will fail */
            return k;
        }
        k.reduced_count += !k.reduced[axis];
        k.reduced[axis] = true;
    }
    return k;
}

/* The axes as a vector of int32 from 0, when they are not known. */
static struct tfd_edge find_axes(struct tfd_gradient *b, struct tfd_edge rank)
{
    const int32_t all = -1;
    struct tfd_edge axes = tfd_gradient_cast(b, b->g->x[1], TFD_INT32);

    axes = tfd_gradient_op2(b, "AddV2", axes, rank);
    axes = tfd_gradient_op2(b, "FloorMod", axes, rank);
    return tfd_gradient_op2(b, "Reshape", axes, tfd_gradient_ints(b, &all, 1));
}

/* ---- The shape with ones for what was reduced -----------------------------
 */

/* shape * mask + ones, where the mask is 0 for reduced axes. */
static struct tfd_edge masked_shape(struct tfd_gradient *b,
                                    const struct known *k,
                                    struct tfd_edge shape)
{
    int32_t mask[TFD_RANK_MAX], ones[TFD_RANK_MAX];
    struct tfd_edge masked;

    for (int i = 0; i < k->in.rank; i++) {
        mask[i] = !k->reduced[i];
        ones[i] = k->reduced[i];
    }
    masked = tfd_gradient_op2(b, "Mul", shape,
                              tfd_gradient_ints(b, mask, k->in.rank));
    return tfd_gradient_op2(b, "AddV2", masked,
                            tfd_gradient_ints(b, ones, k->in.rank));
}

/* DynamicStitch([range(rank), axes], [shape, ones]) */
static struct tfd_edge stitched_shape(struct tfd_gradient *b,
                                      struct tfd_edge shape)
{
    const int32_t zero = 0, one = 1;
    struct tfd_edge start = tfd_gradient_ints(b, &zero, -1);
    struct tfd_edge step = tfd_gradient_ints(b, &one, -1);
    struct tfd_edge rank = tfd_gradient_op1(b, "Size", shape);
    struct tfd_edge axes = find_axes(b, rank);
    struct tfd_edge in[4];

    in[0] = tfd_gradient_op3(b, "Range", start, rank, step);
    in[1] = axes;
    in[2] = shape;
    in[3] =
        tfd_gradient_op2(b, "Fill", tfd_gradient_op1(b, "Shape", axes), step);
    return tfd_gradient_op(b, "DynamicStitch", in, 4);
}

static struct tfd_edge kept_shape(struct tfd_gradient *b, const struct known *k,
                                  struct tfd_edge shape)
{
    return k->axes ? masked_shape(b, k, shape) : stitched_shape(b, shape);
}

/* ---- Sum ----------------------------------------------------------------- */

/* Reshape by constants, then Tile by constants. */
static struct tfd_edge tile_known(struct tfd_gradient *b, const struct known *k,
                                  struct tfd_edge grad)
{
    int32_t shape[TFD_RANK_MAX], times[TFD_RANK_MAX];

    for (int i = 0; i < k->in.rank; i++) {
        shape[i] = k->reduced[i] ? 1 : (int32_t)k->in.dim[i];
        times[i] = k->reduced[i] ? (int32_t)k->in.dim[i] : 1;
        /* An empty dimension that was kept stays empty. */
        if (!k->reduced[i] && k->in.dim[i] == 0)
            times[i] = 0;
    }
    grad = tfd_gradient_op2(b, "Reshape", grad,
                            tfd_gradient_ints(b, shape, k->in.rank));
    return tfd_gradient_op2(b, "Tile", grad,
                            tfd_gradient_ints(b, times, k->in.rank));
}

static struct tfd_edge tile_all(struct tfd_gradient *b, const struct known *k,
                                struct tfd_edge grad)
{
    int32_t ones[TFD_RANK_MAX];

    for (int i = 0; i < k->in.rank; i++)
        ones[i] = 1;
    grad = tfd_gradient_op2(b, "Reshape", grad,
                            tfd_gradient_ints(b, ones, k->in.rank));
    return tfd_gradient_op2(b, "Tile", grad, tfd_gradient_shape(b, b->g->x[0]));
}

static bool fits_int32(const struct tfd_shape *s)
{
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] < 0 || s->dim[i] > INT32_MAX)
            return false;
    return s->rank >= 0;
}

static struct tfd_edge spread_gradient(struct tfd_gradient *b)
{
    struct tfd_edge grad = b->g->dy[0], shape;
    struct known k = find_known(b);

    if (k.axes && k.reduced_count == k.in.rank)
        return tile_all(b, &k, grad);
    if (k.axes && fits_int32(&k.in))
        return tile_known(b, &k, grad);
    shape = tfd_gradient_shape(b, b->g->x[0]);
    if (!keeps_dims(b->g))
        grad = tfd_gradient_op2(b, "Reshape", grad, kept_shape(b, &k, shape));
    return tfd_gradient_op2(b, "BroadcastTo", grad, shape);
}

enum tfd_code tfd_reduce_sum_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = spread_gradient(&b);
    return b.code;
}

/* ---- Prod ---------------------------------------------------------------- */

/* The axes, as vectors over all of them: whether one is reduced, and where it
 * goes when the reduced ones come first; and the other way round. */
struct front {
    struct tfd_edge reduced, place, order;
};

static struct front known_front(struct tfd_gradient *b, const struct known *k)
{
    int32_t reduced[TFD_RANK_MAX], place[TFD_RANK_MAX], order[TFD_RANK_MAX];
    int32_t first = 0, other = k->reduced_count;
    int rank = k->in.rank;

    for (int32_t i = 0; i < rank; i++) {
        reduced[i] = k->reduced[i];
        place[i] = k->reduced[i] ? first++ : other++;
        order[place[i]] = i;
    }
    return (struct front){tfd_gradient_ints(b, reduced, rank),
                          tfd_gradient_ints(b, place, rank),
                          tfd_gradient_ints(b, order, rank)};
}

static struct tfd_edge count_before(struct tfd_gradient *b, struct tfd_edge x)
{
    static const char *const exclusive[] = {"exclusive", NULL};
    const int32_t zero = 0;
    const struct tfd_edge in[] = {x, tfd_gradient_ints(b, &zero, -1)};

    return tfd_gradient_op_flags(b, "Cumsum", in, 2, exclusive);
}

static struct tfd_edge others(struct tfd_gradient *b, struct tfd_edge reduced)
{
    const int32_t one = 1;

    return tfd_gradient_op2(b, "Sub", tfd_gradient_ints(b, &one, -1), reduced);
}

static struct front find_front(struct tfd_gradient *b, struct tfd_edge shape)
{
    const int32_t zero = 0, one = 1;
    struct tfd_edge rank = tfd_gradient_op1(b, "Size", shape);
    struct tfd_edge axes = find_axes(b, rank);
    struct tfd_edge in[4], other, place, count;
    struct front f;

    in[0] = tfd_gradient_op3(b, "Range", tfd_gradient_ints(b, &zero, -1), rank,
                             tfd_gradient_ints(b, &one, -1));
    in[1] = axes;
    in[2] = tfd_gradient_op1(b, "ZerosLike", shape);
    in[3] = tfd_gradient_op1(b, "OnesLike", axes);
    f.reduced = tfd_gradient_op(b, "DynamicStitch", in, 4);
    other = others(b, f.reduced);
    count =
        tfd_gradient_op2(b, "Sum", f.reduced, tfd_gradient_ints(b, &zero, 1));
    place = tfd_gradient_op2(b, "AddV2", count, count_before(b, other));
    place = tfd_gradient_op2(b, "Mul", other, place);
    f.place = tfd_gradient_op2(
        b, "AddV2", place,
        tfd_gradient_op2(b, "Mul", f.reduced, count_before(b, f.reduced)));
    f.order = tfd_gradient_op1(b, "InvertPermutation", f.place);
    return f;
}

/* The product of the dimensions that are picked, the others being 1. */
static struct tfd_edge pick(struct tfd_gradient *b, struct tfd_edge shape,
                            struct tfd_edge picked)
{
    const int32_t zero = 0;
    struct tfd_edge dims = tfd_gradient_op2(b, "Mul", shape, picked);

    dims = tfd_gradient_op2(b, "AddV2", dims, others(b, picked));
    return tfd_gradient_op2(b, "Prod", dims, tfd_gradient_ints(b, &zero, 1));
}

/* By each element: the product of the elements before it and of those behind
 * it, so that a 0 does no harm. */
static struct tfd_edge without_each(struct tfd_gradient *b,
                                    const struct front *f,
                                    struct tfd_edge shape)
{
    static const char *const forth[] = {"exclusive", NULL};
    static const char *const back[] = {"exclusive", "reverse", NULL};
    const int32_t zero = 0;
    struct tfd_edge x = tfd_gradient_op2(b, "Transpose", b->g->x[0], f->order);
    struct tfd_edge front = tfd_gradient_op1(b, "Shape", x), in[2], y;

    y = tfd_gradient_op2(b, "Pack", pick(b, shape, f->reduced),
                         pick(b, shape, others(b, f->reduced)));
    in[0] = tfd_gradient_op2(b, "Reshape", x, y);
    in[1] = tfd_gradient_ints(b, &zero, -1);
    y = tfd_gradient_op_flags(b, "Cumprod", in, 2, forth);
    y = tfd_gradient_op2(b, "Mul", y,
                         tfd_gradient_op_flags(b, "Cumprod", in, 2, back));
    y = tfd_gradient_op2(b, "Reshape", y, front);
    return tfd_gradient_conj(b, tfd_gradient_op2(b, "Transpose", y, f->place));
}

enum tfd_code tfd_reduce_product_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge grad = spread_gradient(&b);
    struct tfd_edge shape = tfd_gradient_shape(&b, g->x[0]);
    struct known k = find_known(&b);
    struct front f = k.axes ? known_front(&b, &k) : find_front(&b, shape);

    g->dx[0] = tfd_gradient_op2(&b, "Mul", grad, without_each(&b, &f, shape));
    return b.code;
}

/* ---- Mean ---------------------------------------------------------------- */

/* How many elements went into each output, as a scalar of the type of grad. */
static struct tfd_edge count_elements(struct tfd_gradient *b,
                                      struct tfd_edge grad)
{
    struct tfd_shape in, out;
    struct tfd_edge count, shape, axes, zero;
    const int32_t none = 0;

    if (tfd_grad_shape(b->g, b->g->x[0], &in) &&
        tfd_grad_shape(b->g, b->g->y[0], &out)) {
        int64_t outputs = tfd_shape_elements(&out);

        return tfd_gradient_scalar(
            b, grad,
            (double)(tfd_shape_elements(&in) / (outputs ? outputs : 1)));
    }
    shape = tfd_gradient_op1(b, "Shape", b->g->x[0]);
    axes = find_axes(b, tfd_gradient_op1(b, "Size", shape));
    zero = tfd_gradient_ints(b, &none, -1);
    count = tfd_gradient_op3(b, "GatherV2", shape, axes, zero);
    count = tfd_gradient_op2(b, "Prod", count, tfd_gradient_ints(b, &none, 1));
    return tfd_gradient_cast(b, count, tfd_gradient_dtype(b, grad));
}

enum tfd_code tfd_reduce_mean_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge sum = spread_gradient(&b);

    if (b.code == TFD_OK)
        g->dx[0] =
            tfd_gradient_op2(&b, "RealDiv", sum, count_elements(&b, sum));
    return b.code;
}

/* ---- EuclideanNorm ------------------------------------------------------- */

enum tfd_code tfd_reduce_norm_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = g->y[0], grad = g->dy[0], kept;
    struct known k = find_known(&b);

    if (!keeps_dims(g)) {
        kept = kept_shape(&b, &k, tfd_gradient_shape(&b, g->x[0]));
        y = tfd_gradient_op2(&b, "Reshape", y, kept);
        grad = tfd_gradient_op2(&b, "Reshape", grad, kept);
    }
    y = tfd_gradient_op2(&b, "RealDiv", y, grad);
    g->dx[0] = tfd_gradient_op2(&b, "RealDiv", g->x[0], y);
    return b.code;
}

/* ---- Max, Min ------------------------------------------------------------ */

/* Elements that are the extreme share its gradient equally. */
enum tfd_code tfd_reduce_order_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge y = g->y[0], grad = g->dy[0], kept, taken, in[2];
    struct known k = find_known(&b);

    if (keeps_dims(g)) {
        kept = tfd_gradient_op1(&b, "Shape", y);
    } else {
        kept = kept_shape(&b, &k, tfd_gradient_shape(&b, g->x[0]));
        y = tfd_gradient_op2(&b, "Reshape", y, kept);
        grad = tfd_gradient_op2(&b, "Reshape", grad, kept);
    }
    taken = tfd_gradient_op2(&b, "Equal", y, g->x[0]);
    if (b.code == TFD_OK)
        taken = tfd_gradient_cast(&b, taken, tfd_gradient_dtype(&b, grad));
    in[0] = taken;
    in[1] = g->x[1];
    y = tfd_gradient_op(&b, "Sum", in, 2);
    y = tfd_gradient_op2(&b, "Reshape", y, kept);
    y = tfd_gradient_op2(&b, "RealDiv", taken, y);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", y, grad);
    return b.code;
}
