/*
 * gather_grad.c - see gather_grad.h.
 *
 * With axis a and b batch dimensions the input is [batch][outer][dim][inner]
 * and dy [batch][outer][count][inner].  The sums are made by rows:
 *
 *     dy         [batch, outer, count, inner]
 *     transpose  [batch, count, outer, inner]
 *     reshape    [batch * count, outer, inner]
 *     sum        [batch * dim, outer, inner]      by index + dim * batch number
 *     reshape    [batch, dim, outer, inner]
 *     transpose  [batch, outer, dim, inner]
 *     reshape    the shape of the input
 *
 * Where axis is known to be 0, which is what embeddings are, only the sum is
 * left of it.
 */
#include "kernels/index/gather_grad.h"

#include "kernels/core/gradient.h"

/* The numbers above, as scalars or vectors of one element. */
struct sizes {
    struct tfd_edge batch, outer, count, dim, inner;
};

struct gather {
    struct tfd_edge shape; /* of the input, a vector */
    struct tfd_edge axis;  /* a vector of one element, not negative */
    struct tfd_edge dy, indices;
    int32_t batch_dims;
};

static struct tfd_edge number(struct tfd_gradient *b, int32_t value)
{
    return tfd_gradient_ints(b, &value, -1);
}

static struct tfd_edge vector(struct tfd_gradient *b, int32_t value)
{
    return tfd_gradient_ints(b, &value, 1);
}

/* The product of shape[begin : begin + size], as a vector of one element. */
static struct tfd_edge product_of_slice(struct tfd_gradient *b,
                                        struct tfd_edge shape,
                                        struct tfd_edge begin,
                                        struct tfd_edge size)
{
    static const char *const keep_dims[] = {"keep_dims", NULL};
    struct tfd_edge in[2];

    in[0] = tfd_gradient_op3(b, "Slice", shape, begin, size);
    in[1] = vector(b, 0);
    return tfd_gradient_op_flags(b, "Prod", in, 2, keep_dims);
}

static struct sizes find_sizes(struct tfd_gradient *b, const struct gather *g)
{
    struct tfd_edge zero = vector(b, 0), one = vector(b, 1);
    struct tfd_edge all = vector(b, -1), batch = vector(b, g->batch_dims);
    struct tfd_edge indices = tfd_gradient_op1(b, "Shape", g->indices);

    return (struct sizes){
        .batch = product_of_slice(b, g->shape, zero, batch),
        .outer = product_of_slice(b, g->shape, batch,
                                  tfd_gradient_op2(b, "Sub", g->axis, batch)),
        .count = product_of_slice(b, indices, batch, all),
        .dim = tfd_gradient_op3(b, "Slice", g->shape, g->axis, one),
        .inner = product_of_slice(
            b, g->shape, tfd_gradient_op2(b, "AddV2", g->axis, one), all),
    };
}

static struct tfd_edge reshape(struct tfd_gradient *b, struct tfd_edge x,
                               struct tfd_edge *dims, int count)
{
    struct tfd_edge in[5];

    for (int i = 0; i < count; i++)
        in[i] = dims[i];
    in[count] = number(b, 0);
    return tfd_gradient_op2(b, "Reshape", x,
                            tfd_gradient_op(b, "ConcatV2", in, count + 1));
}

/* [a, b, c, d] <-> [a, c, b, d] */
static struct tfd_edge swap(struct tfd_gradient *b, struct tfd_edge x)
{
    static const int32_t order[] = {0, 2, 1, 3};

    return tfd_gradient_op2(b, "Transpose", x, tfd_gradient_ints(b, order, 4));
}

/* index + dim * batch number, one after the other. */
static struct tfd_edge all_indices(struct tfd_gradient *b,
                                   const struct gather *g,
                                   const struct sizes *s)
{
    struct tfd_edge indices = g->indices, first, batch;

    if (g->batch_dims == 0)
        return tfd_gradient_op2(b, "Reshape", indices, vector(b, -1));
    indices = tfd_gradient_cast(b, indices, TFD_INT32);
    indices = reshape(b, indices, (struct tfd_edge[]){s->batch, s->count}, 2);
    batch = tfd_gradient_op1(b, "Squeeze", s->batch);
    first = tfd_gradient_op3(b, "Range", number(b, 0), batch, number(b, 1));
    first = tfd_gradient_op2(b, "Mul", first, s->dim);
    first = tfd_gradient_op2(b, "ExpandDims", first, number(b, 1));
    indices = tfd_gradient_op2(b, "AddV2", indices, first);
    return tfd_gradient_op2(b, "Reshape", indices, vector(b, -1));
}

static struct tfd_edge sum_rows(struct tfd_gradient *b, const struct gather *g)
{
    struct sizes s = find_sizes(b, g);
    struct tfd_edge rows = tfd_gradient_op2(b, "Mul", s.batch, s.count);
    struct tfd_edge segments = tfd_gradient_op2(b, "Mul", s.batch, s.dim);
    struct tfd_edge y = g->dy;

    y = reshape(b, y, (struct tfd_edge[]){s.batch, s.outer, s.count, s.inner},
                4);
    y = reshape(b, swap(b, y), (struct tfd_edge[]){rows, s.outer, s.inner}, 3);
    y = tfd_gradient_op3(b, "UnsortedSegmentSum", y, all_indices(b, g, &s),
                         tfd_gradient_op1(b, "Squeeze", segments));
    y = reshape(b, y, (struct tfd_edge[]){s.batch, s.dim, s.outer, s.inner}, 4);
    return tfd_gradient_op2(b, "Reshape", swap(b, y), g->shape);
}

/* axis and batch_dims are 0. */
static struct tfd_edge sum_first(struct tfd_gradient *b, const struct gather *g)
{
    struct tfd_edge zero = vector(b, 0), one = vector(b, 1);
    struct tfd_edge size = tfd_gradient_op1(b, "Size", g->indices);
    struct tfd_edge row =
        tfd_gradient_op3(b, "Slice", g->shape, one, vector(b, -1));
    struct tfd_edge dim = tfd_gradient_op3(b, "Slice", g->shape, zero, one);
    struct tfd_edge count = tfd_gradient_op2(b, "Reshape", size, one);
    struct tfd_edge y = reshape(b, g->dy, (struct tfd_edge[]){count, row}, 2);

    return tfd_gradient_op3(
        b, "UnsortedSegmentSum", y,
        tfd_gradient_op2(b, "Reshape", g->indices, vector(b, -1)),
        tfd_gradient_op1(b, "Squeeze", dim));
}

static enum tfd_code read_batch_dims(struct tfd_gradient *b, struct gather *g)
{
    struct tfd_shape indices;
    int64_t dims;

    TFD_TRY(tfd_node_int(b->g->node, "batch_dims", &dims, b->st));
    (void)tfd_grad_shape(b->g, g->indices, &indices);
    if (dims < 0 && indices.rank < 0)
        return tfd_fail(b->st, TFD_UNIMPLEMENTED,
                        "batch_dims is %lld and the rank of indices is not "
                        "known",
                        (long long)dims);
    g->batch_dims = (int32_t)(dims < 0 ? dims + indices.rank : dims);
    return TFD_OK;
}

enum tfd_code tfd_gather_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct gather at = {.dy = g->dy[0], .indices = g->x[1]};
    struct tfd_edge axis;
    int64_t known;
    int count;

    TFD_TRY(read_batch_dims(&b, &at));
    at.shape = tfd_gradient_shape(&b, g->x[0]);
    if (at.batch_dims == 0 &&
        tfd_gradient_const_ints(&b, g->x[2], &known, 1, &count) && count == 1 &&
        known == 0) {
        g->dx[0] = sum_first(&b, &at);
        return b.code;
    }
    axis = tfd_gradient_cast(&b, g->x[2], TFD_INT32);
    axis = tfd_gradient_op2(&b, "FloorMod", axis,
                            tfd_gradient_op1(&b, "Size", at.shape));
    at.axis = tfd_gradient_op2(&b, "Reshape", axis, vector(&b, 1));
    g->dx[0] = sum_rows(&b, &at);
    return b.code;
}

enum tfd_code tfd_gather_first_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct gather at = {.dy = g->dy[0], .indices = g->x[1]};

    at.shape = tfd_gradient_shape(&b, g->x[0]);
    g->dx[0] = sum_first(&b, &at);
    return b.code;
}

enum tfd_code tfd_gather_resource_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct gather at = {.dy = g->dy[0], .indices = g->x[1]};

    TFD_TRY(read_batch_dims(&b, &at));
    at.shape = tfd_gradient_op1(&b, "VariableShape", g->x[0]);
    if (at.batch_dims == 0) {
        g->dx[0] = sum_first(&b, &at);
        return b.code;
    }
    at.axis = vector(&b, at.batch_dims);
    g->dx[0] = sum_rows(&b, &at);
    return b.code;
}
