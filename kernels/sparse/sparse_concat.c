/*
 * sparse_concat.c - SparseConcat: sparse tensors one after the other along a
 * dimension, in row-major order.
 *
 * All elements are put behind each other, with their places in the whole; they
 * are sorted then, unless they are in order as they stand, as along the first
 * dimension they are.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/sparse/sparse_order.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>

struct joining {
    const struct tfd_kctx *k;
    int parts;
    int axis, rank;
    int64_t dim[TFD_RANK_MAX]; /* of the whole */
    int64_t count;
};

static const struct tfd_tensor *indices_of(const struct joining *j, int i)
{
    return &j->k->in[i];
}

static const struct tfd_tensor *values_of(const struct joining *j, int i)
{
    return &j->k->in[j->parts + i];
}

static const struct tfd_tensor *dims_of(const struct joining *j, int i)
{
    return &j->k->in[2 * j->parts + i];
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_rank_of_all(const struct joining *j, int first,
                                       int rank, const char *what,
                                       struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < j->parts; i++) {
        const struct tfd_shape *s = &j->k->in[first + i].shape;

        if (s->rank != rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s but received shape %s at position %d",
                            what, tfd_shape_text(s, text), i);
    }
    return TFD_OK;
}

static enum tfd_code check_dense_size(const struct tfd_tensor *dims,
                                      struct tfd_status *st)
{
    struct tfd_shape shape;

    if (dims->shape.dim[0] > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a sparse tensor of rank %" PRId64 "; the limit is %d",
                        dims->shape.dim[0], TFD_RANK_MAX);
    if (tfd_shape_make(&shape, tfd_tensor_data(dims), (int)dims->shape.dim[0],
                       NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL,
                    "Encountered overflow from large input shape.");
}

static enum tfd_code read_axis(struct joining *j, struct tfd_status *st)
{
    int64_t axis;

    TFD_TRY(tfd_node_int(j->k->node, "concat_dim", &axis, st));
    TFD_TRY(check_dense_size(dims_of(j, 0), st));
    j->rank = (int)dims_of(j, 0)->shape.dim[0];
    if (axis < -j->rank || axis >= j->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Concat dimension must be in range [%d, %d), got "
                        "%" PRId64,
                        -j->rank, j->rank, axis);
    j->axis = (int)(axis < 0 ? axis + j->rank : axis);
    for (int d = 0; d < j->rank; d++)
        j->dim[d] = tfd_check_int_at(dims_of(j, 0), d);
    return TFD_OK;
}

/* Adds the dimension of part i to that of the whole. */
static enum tfd_code add_dims(struct joining *j, int i, struct tfd_status *st)
{
    const struct tfd_tensor *dims = dims_of(j, i);

    TFD_TRY(check_dense_size(dims, st));
    if (dims->shape.dim[0] != j->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Ranks of all input tensors must match: expected %d "
                        "but got %" PRId64 " at position %d",
                        j->rank, dims->shape.dim[0], i);
    for (int d = 0; d < j->rank; d++) {
        int64_t dim = tfd_check_int_at(dims, d);

        if (d != j->axis && dim != j->dim[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input shapes must match: expected %" PRId64
                            " for dimension %d but got %" PRId64
                            " at position %d",
                            j->dim[d], d, dim, i);
        if (d == j->axis && __builtin_add_overflow(j->dim[d], dim, &j->dim[d]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "dimension %d of the inputs adds up to more than "
                            "2**63 - 1",
                            d);
    }
    return TFD_OK;
}

static enum tfd_code check_part(const struct joining *j, int i,
                                struct tfd_status *st)
{
    const int64_t *indices = indices_of(j, i)->shape.dim;
    const int64_t values = values_of(j, i)->shape.dim[0];

    if (indices[0] != values)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices and values rows (indexing dimension) must "
                        "match. (indices = %" PRId64 ", values = %" PRId64 ")",
                        indices[0], values);
    if (indices[1] != j->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Order length must be SparseTensor rank.");
    return TFD_OK;
}

static enum tfd_code read_parts(struct joining *j, struct tfd_status *st)
{
    TFD_TRY(check_rank_of_all(j, 0, 2, "indices should be a matrix", st));
    TFD_TRY(check_rank_of_all(j, j->parts, 1, "values should be a vector", st));
    TFD_TRY(
        check_rank_of_all(j, 2 * j->parts, 1, "shapes should be a vector", st));
    TFD_TRY(read_axis(j, st));
    for (int i = 1; i < j->parts; i++)
        TFD_TRY(add_dims(j, i, st));
    for (int i = 0; i < j->parts; i++) {
        TFD_TRY(check_part(j, i, st));
        if (__builtin_add_overflow(j->count, values_of(j, i)->shape.dim[0],
                                   &j->count))
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "too many elements");
    }
    return TFD_OK;
}

/* ---- Joining ------------------------------------------------------------- */

static enum tfd_code put_sparse_part(const struct joining *j, int i,
                                     int64_t base, int64_t at,
                                     struct tfd_tensor *index,
                                     struct tfd_tensor *values,
                                     struct tfd_status *st)
{
    const struct tfd_tensor *v = values_of(j, i);
    const int64_t *from = tfd_tensor_data(indices_of(j, i));
    int64_t *to = tfd_tensor_data(index);

    if (v->shape.dim[0] == 0)
        return TFD_OK;
    to += at * j->rank;
    for (int64_t n = 0; n < v->shape.dim[0] * j->rank; n++)
        to[n] = (int64_t)((uint64_t)from[n] +
                          (n % j->rank == j->axis ? (uint64_t)base : 0));
    return tfd_elements_copy(
        v->dtype, tfd_element_at(tfd_tensor_data(values), v->dtype, at),
        tfd_tensor_data(v), v->shape.dim[0], st);
}

static enum tfd_code put_sparse_parts(const struct joining *j,
                                      struct tfd_tensor *index,
                                      struct tfd_tensor *values,
                                      struct tfd_status *st)
{
    const int64_t dim[2] = {j->count, j->rank};
    struct tfd_shape matrix, vector;
    int64_t base = 0, at = 0;

    TFD_TRY(tfd_shape_make(&matrix, dim, 2, st));
    TFD_TRY(tfd_shape_make(&vector, dim, 1, st));
    TFD_TRY(tfd_tensor_new(index, TFD_INT64, &matrix, st));
    TFD_TRY(tfd_tensor_new(values, values_of(j, 0)->dtype, &vector, st));
    for (int i = 0; i < j->parts; i++) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(put_sparse_part(j, i, base, at, index, values, st));
        at += values_of(j, i)->shape.dim[0];
        base += tfd_check_int_at(dims_of(j, i), j->axis);
    }
    return TFD_OK;
}

static enum tfd_code put_sorted(struct tfd_kctx *k, const struct tfd_sparse *s,
                                struct tfd_status *st)
{
    struct tfd_tensor order = TFD_TENSOR_INIT;
    enum tfd_code rc = tfd_sparse_numbers(&order, s->count, st);

    if (rc == TFD_OK)
        rc = tfd_sparse_order(s, tfd_tensor_data(&order), st);
    if (rc == TFD_OK)
        rc = tfd_sparse_pick(k, s, tfd_tensor_data(&order), s->count, 0, 1, st);
    tfd_tensor_unref(&order);
    return rc;
}

static enum tfd_code concat_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor index = TFD_TENSOR_INIT, values = TFD_TENSOR_INIT;
    struct joining j = {.k = k, .parts = k->in_count / 3};
    struct tfd_sparse s;
    enum tfd_code rc;

    TFD_TRY(read_parts(&j, st));
    TFD_TRY(tfd_sparse_put_dims(k, 2, j.dim, j.rank, st));
    rc = put_sparse_parts(&j, &index, &values, st);
    if (rc == TFD_OK) {
        s = (struct tfd_sparse){tfd_tensor_data(&index), j.dim, j.count, j.rank,
                                &values};
        if (!tfd_sparse_in_order(k, &s)) {
            rc = put_sorted(k, &s, st);
        } else {
            k->out[0] = index;
            k->out[1] = values;
            return TFD_OK;
        }
    }
    tfd_tensor_unref(&index);
    tfd_tensor_unref(&values);
    return rc;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseConcat",
        .inputs = "indices: N * int64, values: N * T, shapes: N * int64",
        .outputs = "output_indices: int64, output_values: T, "
                   "output_shape: int64",
        .attrs = "concat_dim: int; N: int >= 2; T: type",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseConcat", concat_compute),
};

const struct tfd_family tfd_family_sparse_concat = {
    .name = "sparse_concat",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
