/*
 * sparse_to_dense.c - SparseToDense: a tensor full of one value, but for the
 * elements that indices name.  Indices are a matrix, a vector for a vector, or
 * one number.
 */
#include "kernels/sparse/sparse_to_dense.h"

#include "common/thread/halt.h"
#include "kernels/layout/box.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/layout/rows.h"
#include "kernels/index/scatter.h"
#include "kernels/sparse/sparse.h"

#include <inttypes.h>

enum tfd_code tfd_sparse_to_dense_prepare(const struct tfd_prepare *p,
                                          void *state, struct tfd_status *st)
{
    return tfd_node_bool(p->node, "validate_indices", state, st);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_dense_inputs(const struct tfd_kctx *k, int64_t count,
                                        int64_t rank, struct tfd_status *st)
{
    const struct tfd_shape *dims = &k->in[1].shape, *values = &k->in[2].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (dims->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output_shape must be rank 1, got shape %s",
                        tfd_shape_text(dims, text));
    if (dims->dim[0] != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output_shape has incorrect number of elements: "
                        "%" PRId64 " should be: %" PRId64,
                        dims->dim[0], rank);
    if (values->rank != 0 && (values->rank != 1 || values->dim[0] != count))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sparse_values has incorrect shape %s, should be [] or "
                        "[%" PRId64 "]",
                        tfd_shape_text(values, text), count);
    if (k->in[3].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "default_value should be a scalar.");
    return TFD_OK;
}

/* Indices of 64 bits; `memory` where they were not. */
static enum tfd_code widen(const struct tfd_tensor *indices,
                           struct tfd_tensor *memory, const int64_t **out,
                           struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(indices);
    int64_t *to;

    *out = tfd_tensor_data(indices);
    if (indices->dtype == TFD_INT64)
        return TFD_OK;
    TFD_TRY(tfd_tensor_new(memory, TFD_INT64, &indices->shape, st));
    to = tfd_tensor_data(memory);
    for (int64_t i = 0; i < n; i++)
        to[i] = ((const int32_t *)tfd_tensor_data(indices))[i];
    *out = to;
    return TFD_OK;
}

/* ---- The kernel ---------------------------------------------------------- */

#define BLOCK 512 /* indices at a time */

/* Places of `n` indices from number i on, by the strides of the output. */
static void find_dense_places(const struct tfd_sparse *s, const int64_t *stride,
                              int64_t i, int64_t n, int64_t *place)
{
    const int64_t *index = s->index + i * s->rank;

    for (int64_t j = 0; j < n; j++, index += s->rank) {
        place[j] = 0;
        for (int d = 0; d < s->rank; d++)
            place[j] += index[d] * stride[d];
    }
}

/* Numbers, by loops of their width (rows.h). */
static enum tfd_code put_numbers(struct tfd_kctx *k, const struct tfd_sparse *s,
                                 const int64_t *stride, struct tfd_status *st)
{
    const struct tfd_tensor *values = &k->in[2];
    const char *from = tfd_tensor_data(values);
    size_t size = tfd_dtype_size(values->dtype), step = size;
    tfd_rows_fn *scatter = tfd_rows_scatter(size, TFD_INT64);
    tfd_complex128 one[BLOCK];
    int64_t place[BLOCK];

    if (values->shape.rank == 0) {
        TFD_TRY(tfd_elements_fill(values->dtype, one, from, BLOCK, st));
        from = (const char *)one;
        step = 0;
    }
    for (int64_t i = 0; i < s->count && !tfd_halted(); i += BLOCK) {
        int64_t n = s->count - i < BLOCK ? s->count - i : BLOCK;
        const int64_t *at = s->rank == 1 ? s->index + i : place;

        if (s->rank != 1)
            find_dense_places(s, stride, i, n, place);
        scatter(tfd_tensor_data(&k->out[0]), from + (size_t)i * step, size, at,
                n);
    }
    return TFD_OK;
}

/* One value everywhere. */
static enum tfd_code fill_output(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *y = &k->out[0], *value = &k->in[3];
    const int64_t size = (int64_t)tfd_dtype_size(y->dtype);
    struct tfd_box box;

    if (!tfd_dtype_is_pod(y->dtype))
        return tfd_elements_fill(y->dtype, tfd_tensor_data(y),
                                 tfd_tensor_data(value), tfd_tensor_elements(y),
                                 st);
    tfd_box_init(&box, (size_t)size);
    tfd_box_add(&box, tfd_tensor_elements(y), size, 0);
    tfd_box_copy(k, &box, tfd_tensor_data(y), tfd_tensor_data(value));
    return TFD_OK;
}

static enum tfd_code put_values(struct tfd_kctx *k, const struct tfd_sparse *s,
                                struct tfd_status *st)
{
    const struct tfd_tensor *values = &k->in[2];
    int64_t step = values->shape.rank > 0 ? 1 : 0;
    int64_t stride[TFD_RANK_MAX];

    tfd_element_strides(&k->out[0].shape, stride);
    if (tfd_dtype_is_pod(values->dtype))
        return put_numbers(k, s, stride, st);
    for (int64_t i = 0; i < s->count; i++) {
        int64_t at = 0;

        for (int d = 0; d < s->rank; d++)
            at += s->index[i * s->rank + d] * stride[d];
        TFD_TRY(tfd_elements_copy(
            values->dtype,
            tfd_element_at(tfd_tensor_data(&k->out[0]), values->dtype, at),
            tfd_element_of(tfd_tensor_data(values), values->dtype, i * step), 1,
            st));
    }
    return TFD_OK;
}

static enum tfd_code fill_dense(struct tfd_kctx *k, struct tfd_sparse *s,
                                struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    s->dim = k->out[0].shape.dim;
    if (*(const bool *)k->state)
        TFD_TRY(tfd_sparse_check_order(s, st));
    else if (tfd_sparse_check_bounds(s, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Indices are not valid (out of bounds).  Shape: %s",
                        tfd_shape_text(&k->out[0].shape, text));
    TFD_TRY(fill_output(k, st));
    return put_values(k, s, st);
}

/* ---- Numbers in a vector ------------------------------------------------- */

#define RISES(I)                                     \
    static bool rises_##I(const I *index, int64_t n) \
    {                                                \
        bool falls = false;                          \
                                                     \
        for (int64_t i = 1; i < n; i++)              \
            falls |= index[i] <= index[i - 1];       \
        return !falls;                               \
    }

RISES(int32_t)
RISES(int64_t)

/* Whether indices are one number each, of elements that are numbers too, and
 * there is nothing wrong with them: then they are taken as they are. */
static bool is_good_vector(const struct tfd_kctx *k)
{
    const struct tfd_tensor *indices = &k->in[0], *y = &k->out[0];
    const int64_t n = tfd_tensor_elements(indices);

    if (y->shape.rank != 1 || k->in[2].shape.rank != 1 ||
        !tfd_dtype_is_pod(y->dtype) ||
        tfd_rows_bad(tfd_tensor_data(indices), indices->dtype, n,
                     y->shape.dim[0]) < n)
        return false;
    return !*(const bool *)k->state ||
           (indices->dtype == TFD_INT32
                ? rises_int32_t(tfd_tensor_data(indices), n)
                : rises_int64_t(tfd_tensor_data(indices), n));
}

static enum tfd_code fill_vector(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *values = &k->in[2];
    const struct tfd_scatter s = {.to = tfd_tensor_data(&k->out[0]),
                                  .by = tfd_tensor_data(values),
                                  .count = tfd_tensor_elements(values),
                                  .inner = 1,
                                  .limit = k->out[0].shape.dim[0]};

    TFD_TRY(fill_output(k, st));
    tfd_scatter_move(k, &s, tfd_dtype_size(values->dtype),
                     tfd_tensor_data(&k->in[0]), k->in[0].dtype);
    return TFD_OK;
}

enum tfd_code tfd_sparse_to_dense_output(struct tfd_kctx *k, int64_t *count,
                                         int *rank, struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[0].shape;
    int64_t columns = indices->rank > 1 ? indices->dim[1] : 1;
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;

    if (indices->rank > 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sparse_indices should be a scalar, vector, or "
                        "matrix, got shape %s",
                        tfd_shape_text(indices, text));
    *count = indices->rank > 0 ? indices->dim[0] : 1;
    TFD_TRY(check_dense_inputs(k, *count, columns, st));
    TFD_TRY(tfd_check_shape(k, 1, false, &shape, st));
    *rank = shape.rank;
    return tfd_kctx_output(k, 0, k->in[2].dtype, &shape, st);
}

static enum tfd_code compute_dense(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor memory = TFD_TENSOR_INIT;
    struct tfd_sparse s = {.count = 0};
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_to_dense_output(k, &s.count, &s.rank, st));
    if (is_good_vector(k))
        return fill_vector(k, st);
    rc = widen(&k->in[0], &memory, &s.index, st);
    if (rc == TFD_OK)
        rc = fill_dense(k, &s, st);
    tfd_tensor_unref(&memory);
    return rc;
}

/* ---- Gradient, shape ----------------------------------------------------- */

static struct tfd_edge sum_all(struct tfd_gradient *b, struct tfd_edge x)
{
    static const int32_t zero = 0;
    struct tfd_edge one = tfd_gradient_ints(b, &(int32_t){1}, -1);
    struct tfd_edge from = tfd_gradient_ints(b, &zero, -1);
    struct tfd_edge axes =
        tfd_gradient_op3(b, "Range", from, tfd_gradient_op1(b, "Rank", x), one);

    return tfd_gradient_op2(b, "Sum", x, axes);
}

/* The default value's is what no index names. */
static enum tfd_code sparse_to_dense_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[2] = tfd_gradient_op2(&b, "GatherNd", g->dy[0], g->x[0]);
    g->dx[3] = tfd_gradient_op2(&b, "Sub", sum_all(&b, g->dy[0]),
                                sum_all(&b, g->dx[2]));
    return b.code;
}

static enum tfd_code shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->value && s->value[1])
        return tfd_check_shape_value(s->value[1], false, &s->out[0], st);
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseToDense",
        .inputs = "sparse_indices: Tindices, output_shape: Tindices, "
                  "sparse_values: T, default_value: T",
        .outputs = "dense: T",
        .attrs = "validate_indices: bool = true; T: type; "
                 "Tindices: {int32, int64}",
        .shape = shape,
        .grad = sparse_to_dense_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseToDense", compute_dense,
                   .prepare = tfd_sparse_to_dense_prepare,
                   .state_size = sizeof(bool)),
};

const struct tfd_family tfd_family_sparse_to_dense = {
    .name = "sparse_to_dense",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
