/*
 * sparse_slice.c - parts of a sparse tensor: SparseSlice with its gradient, and
 * SparseSplit.
 *
 * Elements keep their order, whatever it is: a part is what lies inside of a
 * box, less the box's corner.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <string.h>

/* ---- A box --------------------------------------------------------------- */

struct box {
    int64_t start[TFD_RANK_MAX], size[TFD_RANK_MAX];
};

static inline bool box_has(const struct box *b, const int64_t *index, int rank)
{
    bool inside = true;

    for (int d = 0; d < rank; d++)
        inside &=
            (index[d] >= b->start[d]) &
            ((uint64_t)index[d] - (uint64_t)b->start[d] < (uint64_t)b->size[d]);
    return inside;
}

/* Which elements lie inside; how many there are, -1 where the step has ended.
 * Nothing is guessed: where the box ends differs from row to row.  Inlined with
 * a constant rank. */
__attribute__((always_inline)) static inline int64_t
inside_of(const struct tfd_sparse *s, int rank, const struct box *b,
          int64_t *order)
{
    int64_t n = 0;

    for (int64_t i = 0; i < s->count; i++) {
        if (tfd_sparse_stops(i))
            return -1;
        order[n] = i;
        n += box_has(b, s->index + i * rank, rank);
    }
    return n;
}

static enum tfd_code find_inside(const struct tfd_sparse *s,
                                 const struct box *b, int64_t *order,
                                 int64_t *count, struct tfd_status *st)
{
    *count = s->rank == 2 ? inside_of(s, 2, b, order)
                          : inside_of(s, s->rank, b, order);
    return *count < 0 ? tfd_halt_fail(st) : TFD_OK;
}

/* Indices count from the box's corner on. */
static void move_to_corner(int64_t *index, int64_t count, int rank,
                           const struct box *b)
{
    for (int64_t i = 0; i < count; i++, index += rank)
        for (int d = 0; d < rank; d++)
            index[d] = (int64_t)((uint64_t)index[d] - (uint64_t)b->start[d]);
}

/* Outputs `index` and `values`; order has room for all elements. */
static enum tfd_code put_box(struct tfd_kctx *k, const struct tfd_sparse *s,
                             const struct box *b, int64_t *order, int index,
                             int values, struct tfd_status *st)
{
    int64_t count = 0;

    TFD_TRY(find_inside(s, b, order, &count, st));
    TFD_TRY(tfd_sparse_pick(k, s, order, count, index, values, st));
    move_to_corner(tfd_tensor_data(&k->out[index]), count, s->rank, b);
    return TFD_OK;
}

/* ---- SparseSlice --------------------------------------------------------- */

static enum tfd_code check_box(const struct tfd_kctx *k, int in,
                               const char *name, int rank,
                               struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[in].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input %s should be a vector but received shape %s",
                        name, tfd_shape_text(s, text));
    if (s->dim[0] != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %s to be a vector of length %d but got "
                        "length %" PRId64,
                        name, rank, s->dim[0]);
    return TFD_OK;
}

/* The dimensions of what the box has of the tensor. */
static enum tfd_code read_box(const struct tfd_kctx *k,
                              const struct tfd_sparse *s, struct box *b,
                              int64_t *dim, struct tfd_status *st)
{
    for (int d = 0; d < s->rank; d++) {
        int64_t left;

        b->start[d] = tfd_check_int_at(&k->in[3], d);
        b->size[d] = tfd_check_int_at(&k->in[4], d);
        if (b->size[d] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected a non-negative size, got %" PRId64,
                            b->size[d]);
        if (__builtin_sub_overflow(s->dim[d], b->start[d], &left))
            left = INT64_MAX;
        left = left < 0 ? 0 : left;
        dim[d] = left < b->size[d] ? left : b->size[d];
    }
    return TFD_OK;
}

static enum tfd_code slice_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor order = TFD_TENSOR_INIT;
    int64_t dim[TFD_RANK_MAX];
    struct tfd_sparse s;
    struct box b;
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(check_box(k, 3, "start", s.rank, st));
    TFD_TRY(check_box(k, 4, "size", s.rank, st));
    TFD_TRY(tfd_sparse_check_dims(s.dim, s.rank, st));
    TFD_TRY(read_box(k, &s, &b, dim, st));
    TFD_TRY(tfd_sparse_put_dims(k, 2, dim, s.rank, st));
    TFD_TRY(tfd_sparse_numbers(&order, s.count, st));
    rc = put_box(k, &s, &b, tfd_tensor_data(&order), 0, 1, st);
    tfd_tensor_unref(&order);
    return rc;
}

static enum tfd_code slice_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[4] = {g->dy[1], g->x[0], g->x[3], g->y[0]};

    if (g->dy[1].node >= 0)
        g->dx[1] = tfd_gradient_op(&b, "SparseSliceGrad", in, 4);
    return b.code;
}

/* ---- SparseSliceGrad ----------------------------------------------------- */

static enum tfd_code check_grad_ranks(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    const struct tfd_shape *dy = &k->in[0].shape, *in = &k->in[1].shape,
                           *start = &k->in[2].shape, *out = &k->in[3].shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (dy->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input backprop_val_grad should be a vector but "
                        "received shape: %s",
                        tfd_shape_text(dy, one));
    if (in->rank != 2 || out->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input and output indices should be matrices but "
                        "received shapes: %s and %s",
                        tfd_shape_text(in, one), tfd_shape_text(out, other));
    if (in->dim[1] != out->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The input and output should have the same ndims: got: "
                        "%" PRId64 " and %" PRId64,
                        in->dim[1], out->dim[1]);
    if (start->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The input_start should be a vector but received shape "
                        "%s",
                        tfd_shape_text(start, one));
    return TFD_OK;
}

static enum tfd_code check_grad_sizes(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    const int64_t dy = k->in[0].shape.dim[0], in = k->in[1].shape.dim[0],
                  rank = k->in[1].shape.dim[1], out = k->in[3].shape.dim[0],
                  start = k->in[2].shape.dim[0];

    if (out > in)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "# rows of output_indices should be not greater than "
                        "of input_indices, got %" PRId64 " and %" PRId64,
                        out, in);
    if (dy != out)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "# elements of backprop_val_grad and # rows of "
                        "output_indices should match (#nnz of sum): got "
                        "%" PRId64 " and %" PRId64,
                        dy, out);
    if (start != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected input_start to be a vector of length "
                        "%" PRId64 " but got length %" PRId64,
                        rank, start);
    return TFD_OK;
}

static bool is_moved(const int64_t *in, const int64_t *out,
                     const int64_t *start, int64_t rank)
{
    for (int64_t d = 0; d < rank; d++)
        if ((uint64_t)in[d] != (uint64_t)out[d] + (uint64_t)start[d])
            return false;
    return true;
}

/* Both have their elements in one order. */
static enum tfd_code grad_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *dy = &k->in[0];
    const int64_t *in = tfd_tensor_data(&k->in[1]),
                  *start = tfd_tensor_data(&k->in[2]),
                  *out = tfd_tensor_data(&k->in[3]);
    int64_t count, rank, used = 0;
    struct tfd_shape vector = {1, {0}};

    TFD_TRY(check_grad_ranks(k, st));
    TFD_TRY(check_grad_sizes(k, st));
    count = k->in[1].shape.dim[0];
    rank = k->in[1].shape.dim[1];
    vector.dim[0] = count;
    TFD_TRY(tfd_kctx_output(k, 0, dy->dtype, &vector, st));
    tfd_elements_clear(&k->out[0]);
    for (int64_t i = 0; i < count && used < dy->shape.dim[0]; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (!is_moved(in + i * rank, out + used * rank, start, rank))
            continue;
        memcpy(tfd_element_at(tfd_tensor_data(&k->out[0]), dy->dtype, i),
               tfd_element_of(tfd_tensor_data(dy), dy->dtype, used++),
               tfd_dtype_size(dy->dtype));
    }
    if (used < dy->shape.dim[0])
        return tfd_fail(st, TFD_INTERNAL,
                        "Elements of backprop_val_grad aren't all propagated. "
                        "Num elements:%" PRId64 ", used: %" PRId64,
                        dy->shape.dim[0], used);
    return TFD_OK;
}

/* ---- SparseSplit --------------------------------------------------------- */

static enum tfd_code check_split_ranks(const struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input axis should be a scalar but received shape %s",
                        tfd_shape_text(&k->in[0].shape, text));
    if (k->in[1].shape.rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input indices should be a matrix but received shape "
                        "%s",
                        tfd_shape_text(&k->in[1].shape, text));
    /* TensorFlow names the shape of the indices here. */
    if (k->in[2].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input values should be a vector but received shape "
                        "%s",
                        tfd_shape_text(&k->in[1].shape, text));
    if (k->in[3].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape should be a vector but received shape %s",
                        tfd_shape_text(&k->in[3].shape, text));
    return TFD_OK;
}

static enum tfd_code read_split(const struct tfd_kctx *k, int ways, int *axis,
                                struct tfd_status *st)
{
    const int64_t rank = k->in[3].shape.dim[0];
    int64_t at, size;

    TFD_TRY(tfd_check_int(k, 0, &at, st));
    if (at < -rank || at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input axis should be in range [%" PRId64 ", %" PRId64
                        "), got %" PRId64,
                        -rank, rank, at);
    at = at < 0 ? at + rank : at;
    size = tfd_check_int_at(&k->in[3], at);
    if (ways < 1 || ways > size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input num_split should be between 1 and the splitting "
                        "dimension size (%" PRId64 "), got %d",
                        size, ways);
    *axis = (int)at;
    return TFD_OK;
}

/* The first parts have one more where the dimension is no multiple. */
static enum tfd_code put_parts(struct tfd_kctx *k, const struct tfd_sparse *s,
                               int axis, int ways, int64_t *order,
                               struct tfd_status *st)
{
    const int64_t small = s->dim[axis] / ways, more = s->dim[axis] % ways;
    struct box b = {{0}, {0}};

    for (int d = 0; d < s->rank; d++)
        b.size[d] = s->dim[d];
    for (int i = 0; i < ways; i++) {
        b.size[axis] = small + (i < more);
        TFD_TRY(put_box(k, s, &b, order, i, ways + i, st));
        TFD_TRY(tfd_sparse_put_dims(k, 2 * ways + i, b.size, s->rank, st));
        b.start[axis] += b.size[axis];
    }
    return TFD_OK;
}

static enum tfd_code sparse_split_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    struct tfd_tensor order = TFD_TENSOR_INIT;
    struct tfd_sparse s;
    int ways = k->out_count / 3, axis = 0;
    enum tfd_code rc;

    TFD_TRY(check_split_ranks(k, st));
    TFD_TRY(read_split(k, ways, &axis, st));
    TFD_TRY(tfd_sparse_read(k, 1, &s, st));
    TFD_TRY(tfd_sparse_check_tuples(&s, st));
    TFD_TRY(tfd_sparse_check_dims(s.dim, s.rank, st));
    TFD_TRY(tfd_sparse_numbers(&order, s.count, st));
    rc = put_parts(k, &s, axis, ways, tfd_tensor_data(&order), st);
    tfd_tensor_unref(&order);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseSlice",
        .inputs = "indices: int64, values: T, shape: int64, start: int64, "
                  "size: int64",
        .outputs = "output_indices: int64, output_values: T, "
                   "output_shape: int64",
        .attrs = "T: type",
        .grad = slice_gradient,
    },
    {
        .name = "SparseSliceGrad",
        .inputs = "backprop_val_grad: T, input_indices: int64, "
                  "input_start: int64, output_indices: int64",
        .outputs = "val_grad: T",
        .attrs = "T: numbertype",
    },
    {
        .name = "SparseSplit",
        .inputs = "split_dim: int64, indices: int64, values: T, shape: int64",
        .outputs = "output_indices: num_split * int64, "
                   "output_values: num_split * T, "
                   "output_shape: num_split * int64",
        .attrs = "num_split: int >= 1; T: type",
    },
};

#define GRAD(name, number, T) TFD_KERNEL("SparseSliceGrad", name, grad_compute),

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseSlice", slice_compute),
    TFD_KERNEL_ANY("SparseSplit", sparse_split_compute),
    TFD_REAL_DTYPES(GRAD) TFD_HALF_DTYPES(GRAD) TFD_COMPLEX_DTYPES(GRAD)};

const struct tfd_family tfd_family_sparse_slice = {
    .name = "sparse_slice",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
