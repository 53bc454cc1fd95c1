/*
 * deserialize_sparse.c - DeserializeSparse, DeserializeManySparse: rows of
 * three elements as one sparse tensor, whose first dimensions are those of the
 * rows.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/sparse/sparse.h"

#include "common/base/shape_long.h"
#include "common/base/variant.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

/* One of the sparse tensors. */
struct piece {
    struct tfd_tensor part[3]; /* indices, values, shape */
};

struct pieces {
    struct piece *at;
    int64_t count;
    int64_t rank;  /* of each */
    int64_t total; /* values of all */
    enum tfd_dtype dtype;
};

/* ---- Elements ------------------------------------------------------------ */

static enum tfd_code read_string(const struct tfd_tstring *from,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor_head head;

    if (tfd_tensor_proto_head(tfd_tstring_view(from), &head, NULL) != TFD_OK ||
        tfd_shape_is_long(&head.shape) || head.dtype == TFD_VARIANT ||
        head.dtype == TFD_RESOURCE)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not parse serialized proto");
    if (tfd_tensor_proto_decode(&head, NULL, out, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not construct tensor from proto");
    return TFD_OK;
}

static enum tfd_code read_variant(const struct tfd_variant *from, int64_t row,
                                  int part, struct tfd_tensor *out,
                                  struct tfd_status *st)
{
    static const char *const forms[] = {"matrix", "vector", "vector"};

    if (!from || from->kind != TFD_VARIANT_TENSOR || from->count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not get a tensor from serialized_sparse[%lld, "
                        "%d]",
                        (long long)row, part);
    if (part != 1 && from->tensors[0].dtype != TFD_INT64)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected serialized_sparse[%lld, %d] to be a %s of "
                        "DT_INT64 but received dtype %s",
                        (long long)row, part, forms[part],
                        tfd_dtype_name((int)from->tensors[0].dtype));
    *out = tfd_tensor_ref(&from->tensors[0]);
    return TFD_OK;
}

static enum tfd_code check_part(const struct tfd_tensor *t, int64_t row,
                                int part, struct tfd_status *st)
{
    static const char *const forms[] = {"an index matrix", "a values vector",
                                        "a shape vector"};
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != (part == 0 ? 2 : 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected serialized_sparse[%lld, %d] to represent %s "
                        "but received shape %s",
                        (long long)row, part, forms[part],
                        tfd_shape_text(&t->shape, text));
    return TFD_OK;
}

static enum tfd_code check_value_type(const struct tfd_tensor *values,
                                      int64_t row, enum tfd_dtype dtype,
                                      struct tfd_status *st)
{
    if (values->dtype == dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Requested SparseTensor of type %s but "
                    "SparseTensor[%lld].values.dtype() == %s",
                    tfd_dtype_name((int)dtype), (long long)row,
                    tfd_dtype_name((int)values->dtype));
}

static enum tfd_code check_index_type(const struct tfd_tensor *t, int64_t row,
                                      int part, struct tfd_status *st)
{
    if (t->dtype == TFD_INT64)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expected serialized_sparse[%lld, %d] to be of int64 but "
                    "received dtype %s",
                    (long long)row, part, tfd_dtype_name((int)t->dtype));
}

/* ---- Pieces -------------------------------------------------------------- */

static enum tfd_code check_piece(const struct piece *p, int64_t row,
                                 enum tfd_dtype dtype, struct tfd_status *st)
{
    const struct tfd_tensor *part = p->part;
    long long n = row;

    for (int i = 0; i < 3; i++)
        TFD_TRY(check_part(&part[i], row, i, st));
    TFD_TRY(check_value_type(&part[1], row, dtype, st));
    if (part[0].shape.dim[0] != part[1].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected row counts of SparseTensor[%lld].indices and "
                        "SparseTensor[%lld].values to match but they do not: "
                        "%lld vs. %lld",
                        n, n, (long long)part[0].shape.dim[0],
                        (long long)part[1].shape.dim[0]);
    if (part[0].shape.dim[1] != part[2].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected column counts of SparseTensor[%lld].indices "
                        "to match size of SparseTensor[%lld].shape but they do "
                        "not: %lld vs. %lld",
                        n, n, (long long)part[0].shape.dim[1],
                        (long long)part[2].shape.dim[0]);
    TFD_TRY(check_index_type(&part[0], row, 0, st));
    return check_index_type(&part[2], row, 2, st);
}

static enum tfd_code read_piece(const struct tfd_tensor *t, int64_t row,
                                struct pieces *p, struct tfd_status *st)
{
    struct piece *piece = &p->at[row];
    const void *data = tfd_tensor_data(t);
    int64_t rank;

    for (int i = 0; i < 3; i++) {
        int64_t at = 3 * row + i;

        TFD_TRY(t->dtype == TFD_STRING
                    ? read_string((const struct tfd_tstring *)data + at,
                                  &piece->part[i], st)
                    : read_variant(((struct tfd_variant *const *)data)[at], row,
                                   i, &piece->part[i], st));
    }
    TFD_TRY(check_piece(piece, row, p->dtype, st));
    rank = piece->part[2].shape.dim[0];
    if (row > 0 && rank != p->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Inconsistent shape across SparseTensors: rank prior "
                        "to SparseTensor[%lld] was: %lld but rank of "
                        "SparseTensor[%lld] is: %lld",
                        (long long)row, (long long)p->rank, (long long)row,
                        (long long)rank);
    p->rank = rank;
    p->total += piece->part[1].shape.dim[0];
    return TFD_OK;
}

static void drop_pieces(struct pieces *p)
{
    for (int64_t i = 0; p->at && i < p->count; i++)
        for (int n = 0; n < 3; n++)
            tfd_tensor_unref(&p->at[i].part[n]);
    free(p->at);
}

/* ---- One of them all ----------------------------------------------------- */

/* The place of row number `row` among the dimensions of rows. */
static void put_place(const struct tfd_shape *rows, int64_t row, int64_t *to)
{
    for (int d = rows->rank - 2; d >= 0; d--) {
        to[d] = row % rows->dim[d];
        row /= rows->dim[d];
    }
}

static void fill_indices(const struct tfd_kctx *k, const struct pieces *p,
                         int64_t *to)
{
    const struct tfd_shape *rows = &k->in[0].shape;
    int before = rows->rank - 1;

    for (int64_t row = 0; row < p->count; row++) {
        const struct tfd_tensor *part = p->at[row].part;
        const int64_t *from = tfd_tensor_data(&part[0]);

        for (int64_t i = 0; i < part[1].shape.dim[0]; i++) {
            put_place(rows, row, to);
            to += before;
            if (p->rank > 0)
                memcpy(to, from + i * p->rank, (size_t)p->rank * sizeof(*from));
            to += p->rank;
        }
    }
}

static void fill_shape(const struct tfd_kctx *k, const struct pieces *p,
                       int64_t *to)
{
    const struct tfd_shape *rows = &k->in[0].shape;

    for (int d = 0; d < rows->rank - 1; d++)
        *to++ = rows->dim[d];
    for (int64_t d = 0; d < p->rank; d++) {
        to[d] = INT64_MIN;
        for (int64_t row = 0; row < p->count; row++) {
            int64_t n =
                ((const int64_t *)tfd_tensor_data(&p->at[row].part[2]))[d];

            to[d] = n > to[d] ? n : to[d];
        }
    }
}

static enum tfd_code fill_values(const struct pieces *p, struct tfd_tensor *out,
                                 struct tfd_status *st)
{
    int64_t at = 0;

    for (int64_t row = 0; row < p->count; row++) {
        const struct tfd_tensor *values = &p->at[row].part[1];
        int64_t n = values->shape.dim[0];

        if (n > 0)
            TFD_TRY(tfd_elements_copy(
                p->dtype, tfd_element_at(tfd_tensor_data(out), p->dtype, at),
                tfd_tensor_data(values), n, st));
        at += n;
    }
    return TFD_OK;
}

static enum tfd_code join_pieces(struct tfd_kctx *k, const struct pieces *p,
                                 struct tfd_status *st)
{
    int64_t rank = k->in[0].shape.rank - 1 + p->rank;
    const int64_t dim[2] = {p->total, rank};
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, dim, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &shape, st));
    TFD_TRY(tfd_shape_make(&shape, dim, 1, st));
    TFD_TRY(tfd_kctx_output(k, 1, p->dtype, &shape, st));
    TFD_TRY(tfd_shape_make(&shape, dim + 1, 1, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_INT64, &shape, st));
    fill_indices(k, p, tfd_tensor_data(&k->out[0]));
    fill_shape(k, p, tfd_tensor_data(&k->out[2]));
    return fill_values(p, &k->out[1], st);
}

static enum tfd_code check_rows(const struct tfd_tensor *t,
                                struct tfd_status *st)
{
    const struct tfd_shape *s = &t->shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Serialized sparse should have non-zero rank %s",
                        tfd_shape_text(s, text));
    if (s->dim[s->rank - 1] != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Serialized sparse should have 3 as the last dimension "
                        "%s",
                        tfd_shape_text(s, text));
    if (tfd_tensor_elements(t) > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Serialized sparse should have at least 1 serialized "
                    "tensor, but has a zero dimension %s",
                    tfd_shape_text(s, text));
}

static enum tfd_code deserialize_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct pieces p = {.at = NULL};
    enum tfd_code rc = TFD_OK;

    TFD_TRY(check_rows(&k->in[0], st));
    TFD_TRY(tfd_node_type(k->node, "dtype", &p.dtype, st));
    p.count = tfd_tensor_elements(&k->in[0]) / 3;
    p.at = calloc((size_t)p.count, sizeof(*p.at));
    if (!p.at)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %lld sparse tensors",
                        (long long)p.count);
    for (int64_t row = 0; rc == TFD_OK && row < p.count; row++)
        rc = read_piece(&k->in[0], row, &p, st);
    if (rc == TFD_OK)
        rc = join_pieces(k, &p, st);
    drop_pieces(&p);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define SPARSE_OUTPUTS                              \
    "sparse_indices: int64, sparse_values: dtype, " \
    "sparse_shape: int64"

static const struct tfd_opdef ops[] = {
    {
        .name = "DeserializeSparse",
        .inputs = "serialized_sparse: Tserialized",
        .outputs = SPARSE_OUTPUTS,
        .attrs = "dtype: type; Tserialized: {string, variant} = DT_STRING",
        .key = "dtype",
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DeserializeManySparse",
        .inputs = "serialized_sparse: string",
        .outputs = SPARSE_OUTPUTS,
        .attrs = "dtype: type",
        .key = "dtype",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DeserializeSparse", deserialize_compute),
    TFD_KERNEL_ANY("DeserializeManySparse", deserialize_compute),
};

const struct tfd_family tfd_family_deserialize_sparse = {
    .name = "deserialize_sparse",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
