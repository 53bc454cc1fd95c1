/*
 * sparse_cwise.c - what an op of two elements makes of a sparse tensor's values
 * and what a dense one has in their places: SparseDenseCwiseAdd, -Mul, -Div.
 *
 * The dense tensor is broadcast to the sparse one's shape, never the other way
 * round.  Its elements are picked, and the loop of AddV2, Mul or Div does the
 * rest.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <string.h>

/* What TensorFlow's kernel has loops for. */
#define DENSE_RANK_MAX 5

static enum tfd_code cwise_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    tfd_range_fn **loop = state;
    const char *op = p->node->op->name.data + strlen("SparseDenseCwise");
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(p->node, "T", &dtype, st));
    *loop = p->loop(strcmp(op, "Add") == 0 ? "AddV2" : op, dtype);
    if (!*loop)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "no loop of %s for type %s", op,
                        tfd_dtype_name((int)dtype));
    return TFD_OK;
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_cwise_parts(const struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[0].shape, *v = &k->in[1].shape,
                           *s = &k->in[2].shape;
    char one[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(tfd_sparse_check_ranks(k, st));
    if (v->dim[0] != i->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The first dimension of values and indices should "
                        "match. (%" PRId64 " vs. %" PRId64 ")",
                        v->dim[0], i->dim[0]);
    if (s->dim[0] != i->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of dimensions must match second dimension of "
                        "indices. Got %" PRId64
                        " dimensions, indices shape: %s",
                        s->dim[0], tfd_shape_text(i, one));
    if (s->dim[0] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The shape argument requires at least one element.");
    return TFD_OK;
}

/* The step in the dense tensor for each dimension of the sparse one. */
static enum tfd_code find_steps(const struct tfd_sparse *s,
                                const struct tfd_tensor *dense, int64_t *step,
                                struct tfd_status *st)
{
    const int more = s->rank - dense->shape.rank;
    int64_t inner = 1;
    struct tfd_shape shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    bool fits = more >= 0;

    TFD_TRY(tfd_sparse_check_dims(s->dim, s->rank, st));
    TFD_TRY(tfd_shape_make(&shape, s->dim, s->rank, st));
    for (int d = s->rank - 1; d >= 0; d--) {
        const int64_t dim = fits && d >= more ? dense->shape.dim[d - more] : 1;

        fits &= dim == 1 || dim == s->dim[d];
        step[d] = dim == 1 ? 0 : inner;
        inner *= dim;
    }
    if (!fits)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "SparseDenseBinaryOpShared broadcasts dense to sparse "
                        "only; got incompatible shapes: %s vs. %s",
                        tfd_shape_text(&shape, one),
                        tfd_shape_text(&dense->shape, other));
    if (s->rank > DENSE_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only tensors with ranks between 1 and 5 are currently "
                        "supported.  Tensor rank: %d",
                        s->rank);
    return TFD_OK;
}

/* The place of each element; how many there are before one that is outside, or
 * -1 where the step has ended.  Inlined with a constant rank. */
__attribute__((always_inline)) static inline int64_t
places_of(const struct tfd_sparse *s, int rank, const int64_t *step,
          int64_t *place)
{
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t *index = s->index + i * rank;
        int64_t at = 0;

        if (tfd_sparse_stops(i))
            return -1;
        if (!tfd_sparse_is_inside(index, s->dim, rank))
            return i;
        for (int d = 0; d < rank; d++)
            at += index[d] * step[d];
        place[i] = at;
    }
    return s->count;
}

static enum tfd_code find_places(const struct tfd_sparse *s,
                                 const int64_t *step, int64_t *place,
                                 struct tfd_status *st)
{
    const int64_t found = s->rank == 2 ? places_of(s, 2, step, place)
                                       : places_of(s, s->rank, step, place);

    if (found < 0)
        return tfd_halt_fail(st);
    if (found < s->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Provided indices are out-of-bounds w.r.t. dense "
                        "side with broadcasted shape");
    return TFD_OK;
}

/* ---- Computing ----------------------------------------------------------- */

static enum tfd_code run_loop(struct tfd_kctx *k,
                              const struct tfd_tensor *dense,
                              struct tfd_status *st)
{
    tfd_range_fn *const *loop = k->state;
    int failed = 0;
    struct tfd_row row = {.a = tfd_tensor_data(&k->in[1]),
                          .b = tfd_tensor_data(dense),
                          .a_step = 1,
                          .b_step = 1,
                          .failed = &failed};

    TFD_TRY(tfd_kctx_output(k, 0, dense->dtype, &dense->shape, st));
    row.y = tfd_tensor_data(&k->out[0]);
    if (dense->shape.dim[0] > 0)
        tfd_elementwise_streams(k, dense->dtype, 3, dense->shape.dim[0], *loop,
                                &row);
    if (failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Integer division by zero");
    return TFD_OK;
}

static enum tfd_code pick_dense(struct tfd_kctx *k, const struct tfd_sparse *s,
                                struct tfd_tensor *places,
                                struct tfd_tensor *picked,
                                struct tfd_status *st)
{
    const struct tfd_tensor *dense = &k->in[3];
    const struct tfd_shape vector = {1, {s->count}};
    int64_t step[TFD_RANK_MAX];

    TFD_TRY(find_steps(s, dense, step, st));
    TFD_TRY(tfd_sparse_numbers(places, s->count, st));
    TFD_TRY(tfd_tensor_new(picked, dense->dtype, &vector, st));
    TFD_TRY(find_places(s, step, tfd_tensor_data(places), st));
    return tfd_sparse_pick_values(dense->dtype, tfd_tensor_data(picked),
                                  tfd_tensor_data(dense),
                                  tfd_tensor_data(places), s->count, st);
}

static enum tfd_code cwise_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor places = TFD_TENSOR_INIT, picked = TFD_TENSOR_INIT;
    struct tfd_sparse s;
    enum tfd_code rc;

    TFD_TRY(check_cwise_parts(k, st));
    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    rc = pick_dense(k, &s, &places, &picked, st);
    if (rc == TFD_OK)
        rc = run_loop(k, &picked, st);
    tfd_tensor_unref(&places);
    tfd_tensor_unref(&picked);
    return rc;
}

/* ---- Gradients of Mul and Div -------------------------------------------- */

static struct tfd_edge joined(struct tfd_gradient *b, struct tfd_edge x,
                              struct tfd_edge y)
{
    const int32_t zero = 0;

    return tfd_gradient_op3(b, "ConcatV2", x, y,
                            tfd_gradient_ints(b, &zero, -1));
}

/* The places in the dense tensor, which is repeated: scaled by how often, and
 * without the dimensions that it lacks. */
static struct tfd_edge dense_places(struct tfd_gradient *b,
                                    struct tfd_edge dense_shape)
{
    const int32_t zero = 0, all[2] = {-1, -1};
    const struct tfd_edge *x = b->g->x;
    struct tfd_edge more = tfd_gradient_op2(
        b, "ExpandDims",
        tfd_gradient_op2(b, "Sub", tfd_gradient_op1(b, "Size", x[2]),
                         tfd_gradient_op1(b, "Size", dense_shape)),
        tfd_gradient_ints(b, &zero, -1));
    struct tfd_edge ones = tfd_gradient_op2(
        b, "Fill", more, tfd_gradient_scalar(b, dense_shape, 1));
    struct tfd_edge scale =
        tfd_gradient_op2(b, "FloorDiv", x[2], joined(b, ones, dense_shape));

    return tfd_gradient_op3(b, "Slice",
                            tfd_gradient_op2(b, "FloorDiv", x[0], scale),
                            joined(b, tfd_gradient_ints(b, &zero, 1), more),
                            tfd_gradient_ints(b, all, 2));
}

/* by_x, by_y: the slopes; of y it is summed, since its elements repeat. */
static enum tfd_code cwise_gradient(struct tfd_grad *g, bool divides,
                                    struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge shape = tfd_gradient_cast(
        &b, tfd_gradient_op1(&b, "Shape", g->x[3]), TFD_INT64);
    struct tfd_edge in[4], y, slope = g->x[1];

    in[0] = dense_places(&b, shape);
    y = tfd_gradient_op2(&b, "GatherNd", g->x[3], in[0]);
    g->dx[1] = tfd_gradient_op2(&b, divides ? "RealDiv" : "Mul", g->dy[0], y);
    if (divides)
        slope = tfd_gradient_op2(&b, "RealDiv",
                                 tfd_gradient_op1(&b, "Neg", g->x[1]),
                                 tfd_gradient_op1(&b, "Square", y));
    in[1] = tfd_gradient_op2(&b, "Mul", g->dy[0], slope);
    in[2] = shape;
    in[3] = tfd_gradient_op1(&b, "ZerosLike", g->x[3]);
    g->dx[3] = tfd_gradient_op(&b, "SparseTensorDenseAdd", in, 4);
    return b.code;
}

static enum tfd_code mul_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return cwise_gradient(g, false, st);
}

static enum tfd_code div_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return cwise_gradient(g, true, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, grad_)                                                 \
    {                                                                    \
        .name = name_,                                                   \
        .inputs = "sp_indices: int64, sp_values: T, sp_shape: int64, "   \
                  "dense: T",                                            \
        .outputs = "output: T", .attrs = "T: numbertype", .grad = grad_, \
    }

static const struct tfd_opdef ops[] = {
    OP("SparseDenseCwiseAdd", NULL),
    OP("SparseDenseCwiseMul", mul_gradient),
    OP("SparseDenseCwiseDiv", div_gradient),
};

#define ROW(op, name_)                                             \
    TFD_KERNEL(op, name_, cwise_compute, .prepare = cwise_prepare, \
               .state_size = sizeof(tfd_range_fn *))
#define ROWS(name, number, T)                                           \
    ROW("SparseDenseCwiseAdd", name), ROW("SparseDenseCwiseMul", name), \
        ROW("SparseDenseCwiseDiv", name),

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(ROWS)
                                                TFD_HALF_DTYPES(ROWS)};

const struct tfd_family tfd_family_sparse_cwise = {
    .name = "sparse_cwise",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
