/*
 * sparse_reduce.c - sums and maxima of a sparse tensor over some dimensions, as
 * a dense tensor or a sparse one: SparseReduceSum, SparseReduceMax and their
 * kin with "Sparse" at the end.
 *
 * Elements are put in the order of the dimensions that stay; those of one place
 * of the result lie side by side then, and are a segment.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/sparse/segment_loops.h"
#include "kernels/sparse/sparse_order.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <string.h>

struct reduce_state {
    enum tfd_segment_fold fold;
    bool keep_dims;
};

struct reducing {
    struct tfd_sparse s;
    bool gone[TFD_RANK_MAX];  /* by dimension: is reduced */
    int order[TFD_RANK_MAX];  /* dimensions: those that stay first */
    int stay;                 /* how many */
    struct tfd_tensor moved;  /* indices in that order of dimensions */
    struct tfd_tensor places; /* where each element is, sorted by `moved` */
    struct tfd_tensor ids;    /* segment of each, sorted */
    struct tfd_tensor values; /* sorted */
    struct tfd_tensor folded; /* by segment */
    struct tfd_tensor firsts; /* by segment: an element of it */
    int64_t segments;
};

static void reducing_deinit(struct reducing *r)
{
    tfd_tensor_unref(&r->moved);
    tfd_tensor_unref(&r->places);
    tfd_tensor_unref(&r->ids);
    tfd_tensor_unref(&r->values);
    tfd_tensor_unref(&r->folded);
    tfd_tensor_unref(&r->firsts);
}

static enum tfd_code reduce_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct reduce_state *s = state;

    s->fold = strstr(p->node->op->name.data, "Max") ? TFD_SEGMENT_MAX
                                                    : TFD_SEGMENT_SUM;
    return tfd_node_bool(p->node, "keep_dims", &s->keep_dims, st);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code read_axes(const struct tfd_kctx *k, struct reducing *r,
                               struct tfd_status *st)
{
    const struct tfd_shape *dims = &k->in[2].shape, *axes = &k->in[3].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (dims->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected input_shape to be a vector; got shape: %s",
                        tfd_shape_text(dims, text));
    if (axes->rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected reduction_axes to be a scalar or a vector; "
                        "got shape: %s",
                        tfd_shape_text(axes, text));
    for (int64_t i = 0; i < tfd_tensor_elements(&k->in[3]); i++) {
        int64_t axis = tfd_check_int_at(&k->in[3], i);

        if (axis < -dims->dim[0] || axis >= dims->dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid reduction dimension %" PRId64
                            ", for input with %" PRId64 " dimensions.",
                            axis, dims->dim[0]);
        axis = axis < 0 ? axis + dims->dim[0] : axis;
        if (axis < TFD_RANK_MAX)
            r->gone[axis] = true;
    }
    return TFD_OK;
}

static enum tfd_code fail_indices(const struct tfd_shape *s,
                                  struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices must be a matrix, but got: %s",
                    tfd_shape_text(s, text));
}

static enum tfd_code read_parts(const struct tfd_kctx *k, struct reducing *r,
                                struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[0].shape, *v = &k->in[1].shape,
                           *dims = &k->in[2].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    const int64_t *dim = tfd_tensor_data(&k->in[2]), rank = dims->dim[0];

    TFD_TRY(tfd_sparse_check_dims(dim, rank, st));
    if (i->rank == 0)
        return fail_indices(i, st);
    if (v->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "vals must be a vec, but got: %s",
                        tfd_shape_text(v, text));
    if (i->dim[0] != v->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices and values rows (indexing dimension) must "
                        "match. (indices = %" PRId64 ", values = %" PRId64 ")",
                        i->dim[0], v->dim[0]);
    if (i->rank != 2)
        return fail_indices(i, st);
    if (i->dim[1] != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Order length must be SparseTensor rank.");
    r->s = (struct tfd_sparse){tfd_tensor_data(&k->in[0]), dim, v->dim[0],
                               (int)rank, &k->in[1]};
    return TFD_OK;
}

static enum tfd_code read_inputs(const struct tfd_kctx *k, struct reducing *r,
                                 struct tfd_status *st)
{
    int n = 0;

    TFD_TRY(read_axes(k, r, st));
    TFD_TRY(read_parts(k, r, st));
    for (int d = 0; d < r->s.rank; d++)
        if (!r->gone[d])
            r->order[n++] = d;
    r->stay = n;
    for (int d = 0; d < r->s.rank; d++)
        if (r->gone[d])
            r->order[n++] = d;
    return TFD_OK;
}

/* ---- Segments ------------------------------------------------------------ */

static enum tfd_code move_indices(struct reducing *r, struct tfd_status *st)
{
    const int64_t dim[2] = {r->s.count, r->s.rank};
    const int64_t *from = r->s.index;
    struct tfd_shape matrix;
    int64_t *to;

    TFD_TRY(tfd_shape_make(&matrix, dim, 2, st));
    TFD_TRY(tfd_tensor_new(&r->moved, TFD_INT64, &matrix, st));
    to = tfd_tensor_data(&r->moved);
    for (int64_t i = 0; i < r->s.count; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        for (int d = 0; d < r->s.rank; d++)
            to[i * r->s.rank + d] = from[i * r->s.rank + r->order[d]];
    }
    return TFD_OK;
}

static enum tfd_code sort_moved(struct tfd_kctx *k, struct reducing *r,
                                struct tfd_status *st)
{
    struct tfd_sparse s = r->s;
    int64_t dim[TFD_RANK_MAX], *places;

    TFD_TRY(tfd_sparse_numbers(&r->places, s.count, st));
    places = tfd_tensor_data(&r->places);
    for (int d = 0; d < s.rank; d++)
        dim[d] = r->s.dim[r->order[d]];
    s.index = tfd_tensor_data(&r->moved);
    s.dim = dim;
    if (s.rank > 0 && !tfd_sparse_in_order(k, &s))
        return tfd_sparse_order(&s, places, st);
    for (int64_t i = 0; i < s.count; i++)
        places[i] = i;
    return TFD_OK;
}

/* Which elements belong together, and the first of each. */
static enum tfd_code find_segments(struct reducing *r, struct tfd_status *st)
{
    const int64_t *index, *places;
    int64_t *ids, *firsts, n = 0;

    TFD_TRY(tfd_sparse_numbers(&r->ids, r->s.count, st));
    TFD_TRY(tfd_sparse_numbers(&r->firsts, r->s.count, st));
    index = tfd_tensor_data(&r->moved);
    places = tfd_tensor_data(&r->places);
    ids = tfd_tensor_data(&r->ids);
    firsts = tfd_tensor_data(&r->firsts);
    for (int64_t i = 0; i < r->s.count; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (i == 0 ||
            (r->s.rank > 0 &&
             tfd_sparse_compare(index + places[i] * r->s.rank,
                                index + firsts[n - 1] * r->s.rank, r->stay)))
            firsts[n++] = places[i];
        ids[i] = n - 1;
    }
    r->segments = n;
    return TFD_OK;
}

static enum tfd_code fold_segments(struct tfd_kctx *k, struct reducing *r,
                                   struct tfd_status *st)
{
    const struct reduce_state *state = k->state;
    const struct tfd_shape all = {1, {r->s.count}}, some = {1, {r->segments}};
    enum tfd_dtype dtype = r->s.values->dtype;
    static const tfd_complex128 nothing;
    struct tfd_segments s = {.count = r->s.count,
                             .inner = 1,
                             .ids_type = TFD_INT64,
                             .dtype = dtype,
                             .empty = &nothing};

    TFD_TRY(tfd_tensor_new(&r->values, dtype, &all, st));
    TFD_TRY(tfd_tensor_new(&r->folded, dtype, &some, st));
    TFD_TRY(tfd_sparse_pick_values(
        dtype, tfd_tensor_data(&r->values), tfd_tensor_data(r->s.values),
        tfd_tensor_data(&r->places), r->s.count, st));
    s.ids = tfd_tensor_data(&r->ids);
    s.x = tfd_tensor_data(&r->values);
    s.y = tfd_tensor_data(&r->folded);
    return s.count ? tfd_segment_fold_sorted(k, state->fold, &s, st) : TFD_OK;
}

static enum tfd_code reduce_all(struct tfd_kctx *k, struct reducing *r,
                                struct tfd_status *st)
{
    TFD_TRY(move_indices(r, st));
    TFD_TRY(sort_moved(k, r, st));
    TFD_TRY(find_segments(r, st));
    return fold_segments(k, r, st);
}

/* ---- The result ---------------------------------------------------------- */

/* Its dimensions. */
static int reduced_dims(const struct tfd_kctx *k, const struct reducing *r,
                        int64_t *dim)
{
    const struct reduce_state *state = k->state;
    int rank = 0;

    for (int d = 0; d < r->s.rank; d++)
        if (!r->gone[d])
            dim[rank++] = r->s.dim[d];
        else if (state->keep_dims)
            dim[rank++] = 1;
    return rank;
}

static enum tfd_code put_dense(struct tfd_kctx *k, const struct reducing *r,
                               struct tfd_status *st)
{
    const int64_t *index = tfd_tensor_data(&r->moved),
                  *firsts = tfd_tensor_data(&r->firsts);
    const int64_t size = tfd_tensor_elements(&k->out[0]);
    const size_t bytes = tfd_dtype_size(k->out[0].dtype);

    for (int64_t i = 0; i < r->segments; i++) {
        uint64_t at = 0;

        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        for (int d = 0; d < r->stay; d++)
            at = at * (uint64_t)r->s.dim[r->order[d]] +
                 (uint64_t)index[firsts[i] * r->s.rank + d];
        if (at >= (uint64_t)size)
            return tfd_fail(st, TFD_INTERNAL,
                            "Obtained a write index of %" PRId64
                            " which is outside of bounds of [0, %" PRId64 ")",
                            (int64_t)at, size);
        memcpy((char *)tfd_tensor_data(&k->out[0]) + at * bytes,
               (const char *)tfd_tensor_data(&r->folded) + (size_t)i * bytes,
               bytes);
    }
    return TFD_OK;
}

static enum tfd_code dense_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct reducing r = {0};
    int64_t dim[TFD_RANK_MAX];
    struct tfd_shape shape;
    enum tfd_code rc;

    TFD_TRY(read_inputs(k, &r, st));
    TFD_TRY(tfd_shape_make(&shape, dim, reduced_dims(k, &r, dim), st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &shape, st));
    tfd_elements_clear(&k->out[0]);
    if (tfd_halted())
        return tfd_halt_fail(st);
    rc = reduce_all(k, &r, st);
    if (rc == TFD_OK)
        rc = put_dense(k, &r, st);
    reducing_deinit(&r);
    return rc;
}

static enum tfd_code put_sparse(struct tfd_kctx *k, const struct reducing *r,
                                const int64_t *dim, int rank,
                                struct tfd_status *st)
{
    const struct tfd_shape matrix = {2, {r->segments, rank}};
    const int64_t *firsts = tfd_tensor_data(&r->firsts);
    int64_t *to;

    TFD_TRY(tfd_sparse_put_dims(k, 2, dim, rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &matrix, st));
    TFD_TRY(tfd_kctx_output(k, 1, r->folded.dtype, &r->folded.shape, st));
    to = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < r->segments; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        for (int d = 0; d < r->s.rank; d++)
            if (!r->gone[d])
                *to++ = r->s.index[firsts[i] * r->s.rank + d];
            else if (rank == r->s.rank)
                *to++ = 0;
    }
    if (r->segments > 0)
        memcpy(tfd_tensor_data(&k->out[1]), tfd_tensor_data(&r->folded),
               (size_t)r->segments * tfd_dtype_size(r->folded.dtype));
    return TFD_OK;
}

static enum tfd_code sparse_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct reducing r = {0};
    int64_t dim[TFD_RANK_MAX];
    int rank;
    enum tfd_code rc;

    TFD_TRY(read_inputs(k, &r, st));
    rank = reduced_dims(k, &r, dim);
    rc = reduce_all(k, &r, st);
    if (rc == TFD_OK)
        rc = put_sparse(k, &r, dim, rank, st);
    reducing_deinit(&r);
    return rc;
}

/* ---- The gradient of the sum --------------------------------------------- */

/* The shape with ones for what was reduced, as int64. */
static struct tfd_edge kept_shape(struct tfd_gradient *b, struct tfd_edge shape,
                                  struct tfd_edge axes)
{
    const int32_t zero = 0, one = 1;
    struct tfd_edge rank = tfd_gradient_op1(b, "Size", shape), in[4];

    axes = tfd_gradient_op2(b, "FloorMod",
                            tfd_gradient_op2(b, "AddV2", axes, rank), rank);
    in[0] = tfd_gradient_op3(b, "Range", tfd_gradient_ints(b, &zero, -1), rank,
                             tfd_gradient_ints(b, &one, -1));
    in[1] = axes;
    in[2] = shape;
    in[3] = tfd_gradient_op2(b, "Fill", tfd_gradient_op1(b, "Shape", axes),
                             tfd_gradient_scalar(b, shape, 1));
    return tfd_gradient_op(b, "DynamicStitch", in, 4);
}

static enum tfd_code sum_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge kept = kept_shape(&b, g->x[2], g->x[3]);
    struct tfd_edge dy = tfd_gradient_op2(&b, "Reshape", g->dy[0], kept);
    struct tfd_edge scale = tfd_gradient_op2(&b, "FloorDiv", g->x[2], kept);

    g->dx[1] = tfd_gradient_op2(
        &b, "GatherNd", dy, tfd_gradient_op2(&b, "FloorDiv", g->x[0], scale));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define INPUTS                                                    \
    "input_indices: int64, input_values: T, input_shape: int64, " \
    "reduction_axes: int32"
#define SPARSE "output_indices: int64, output_values: T, output_shape: int64"

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseReduceSum",
        .inputs = INPUTS,
        .outputs = "output: T",
        .attrs = "keep_dims: bool = false; T: numbertype",
        .grad = sum_gradient,
    },
    {
        .name = "SparseReduceMax",
        .inputs = INPUTS,
        .outputs = "output: T",
        .attrs = "keep_dims: bool = false; T: realnumbertype",
    },
    {
        .name = "SparseReduceSumSparse",
        .inputs = INPUTS,
        .outputs = SPARSE,
        .attrs = "keep_dims: bool = false; T: numbertype",
    },
    {
        .name = "SparseReduceMaxSparse",
        .inputs = INPUTS,
        .outputs = SPARSE,
        .attrs = "keep_dims: bool = false; T: realnumbertype",
    },
};

#define REDUCE(op, name, compute_)                            \
    TFD_KERNEL(op, name, compute_, .prepare = reduce_prepare, \
               .state_size = sizeof(struct reduce_state))
#define SUM(name, number, T)                        \
    REDUCE("SparseReduceSum", name, dense_compute), \
        REDUCE("SparseReduceSumSparse", name, sparse_compute),
#define MAX(name, number, T)                        \
    REDUCE("SparseReduceMax", name, dense_compute), \
        REDUCE("SparseReduceMaxSparse", name, sparse_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(SUM) TFD_HALF_DTYPES(SUM) TFD_COMPLEX_DTYPES(SUM)
        TFD_REAL_DTYPES(MAX) TFD_HALF_DTYPES(MAX)};

const struct tfd_family tfd_family_sparse_reduce = {
    .name = "sparse_reduce",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
