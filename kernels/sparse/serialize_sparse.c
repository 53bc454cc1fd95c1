/*
 * serialize_sparse.c - SerializeSparse, SerializeManySparse: a sparse tensor as
 * three elements, of strings (TensorProtos) or of variants.
 *
 *     indices, values, shape  ->  [indices] [values] [shape]
 *
 * The second makes a row of three for each index of the first dimension.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/sparse/sparse.h"

#include "common/base/variant.h"
#include "config/limits.h"

#include <string.h>

static enum tfd_code check_forms(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    static const char *const forms[] = {"indices should be a matrix",
                                        "values should be a vector",
                                        "shape should be a vector"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 3; i++)
        if (k->in[i].shape.rank != (i == 0 ? 2 : 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s but received shape %s", forms[i],
                            tfd_shape_text(&k->in[i].shape, text));
    return TFD_OK;
}

/* ---- One element --------------------------------------------------------- */

static enum tfd_code put_string(const struct tfd_tensor *t,
                                struct tfd_tstring *to, struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, TFD_DATA_RECORD_SIZE_MAX);
    tfd_tensor_proto_encode(&b, t, NULL);
    rc = tfd_bytes_ok(&b, "a serialized tensor", st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(to, tfd_bytes_view(&b), st);
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code put_part(struct tfd_kctx *k, int64_t at,
                              const struct tfd_tensor *t, struct tfd_status *st)
{
    void *data = tfd_tensor_data(&k->out[0]);

    if (k->out[0].dtype == TFD_STRING)
        return put_string(t, (struct tfd_tstring *)data + at, st);
    return tfd_variant_holding(TFD_VARIANT_TENSOR, t, 1,
                               (struct tfd_variant **)data + at, st);
}

static enum tfd_code make_output(struct tfd_kctx *k, const int64_t *dim,
                                 int rank, struct tfd_status *st)
{
    struct tfd_shape shape;
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(k->node, "out_type", &dtype, st));
    TFD_TRY(tfd_shape_make(&shape, dim, rank, st));
    return tfd_kctx_output(k, 0, dtype, &shape, st);
}

/* ---- The whole ----------------------------------------------------------- */

static enum tfd_code whole_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const int64_t dim = 3;

    TFD_TRY(check_forms(k, st));
    TFD_TRY(make_output(k, &dim, 1, st));
    for (int i = 0; i < 3; i++)
        TFD_TRY(put_part(k, i, &k->in[i], st));
    return TFD_OK;
}

/* ---- Row by row ---------------------------------------------------------- */

static enum tfd_code check_many(const struct tfd_kctx *k, struct tfd_status *st)
{
    long long rank = k->in[2].shape.dim[0];
    long long indices = k->in[0].shape.dim[0], values = k->in[1].shape.dim[0];

    if (rank <= 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Rank of input SparseTensor should be > 1, but saw "
                        "rank: %lld",
                        rank);
    if (indices != values)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices and values rows (indexing dimension) must "
                        "match. (indices = %lld, values = %lld)",
                        indices, values);
    return TFD_OK;
}

/* The entries [first, last) without their first index. */
static enum tfd_code make_row(const struct tfd_sparse *s, int64_t first,
                              int64_t last, struct tfd_tensor part[3],
                              struct tfd_status *st)
{
    const int64_t dim[2] = {last - first, s->rank - 1};
    enum tfd_dtype dtype = s->values->dtype;
    struct tfd_shape matrix, vector;
    int64_t *to;

    TFD_TRY(tfd_shape_make(&matrix, dim, 2, st));
    TFD_TRY(tfd_shape_make(&vector, dim, 1, st));
    TFD_TRY(tfd_tensor_new(&part[0], TFD_INT64, &matrix, st));
    TFD_TRY(tfd_tensor_new(&part[1], dtype, &vector, st));
    to = tfd_tensor_data(&part[0]);
    for (int64_t i = first; i < last; i++, to += dim[1])
        memcpy(to, s->index + i * s->rank + 1,
               (size_t)dim[1] * sizeof(int64_t));
    if (first == last)
        return TFD_OK;
    return tfd_elements_copy(
        dtype, tfd_tensor_data(&part[1]),
        tfd_element_of(tfd_tensor_data(s->values), dtype, first), last - first,
        st);
}

static enum tfd_code make_row_shape(const struct tfd_sparse *s,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st)
{
    const int64_t dim = s->rank - 1;
    struct tfd_shape shape;

    TFD_TRY(tfd_shape_make(&shape, &dim, 1, st));
    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &shape, st));
    memcpy(tfd_tensor_data(out), s->dim + 1, (size_t)dim * sizeof(int64_t));
    return TFD_OK;
}

static enum tfd_code put_row(struct tfd_kctx *k, const struct tfd_sparse *s,
                             int64_t row, int64_t first, int64_t last,
                             const struct tfd_tensor *shape,
                             struct tfd_status *st)
{
    struct tfd_tensor part[3] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT, *shape};
    enum tfd_code rc = make_row(s, first, last, part, st);

    for (int i = 0; rc == TFD_OK && i < 3; i++)
        rc = put_part(k, 3 * row + i, &part[i], st);
    tfd_tensor_unref(&part[0]);
    tfd_tensor_unref(&part[1]);
    return rc;
}

static enum tfd_code put_rows(struct tfd_kctx *k, const struct tfd_sparse *s,
                              const struct tfd_tensor *shape,
                              struct tfd_status *st)
{
    int64_t first = 0, last;

    for (int64_t row = 0; row < s->dim[0]; row++, first = last) {
        for (last = first; last < s->count && s->index[last * s->rank] == row;)
            last++;
        TFD_TRY(put_row(k, s, row, first, last, shape, st));
    }
    return TFD_OK;
}

static enum tfd_code many_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor shape = TFD_TENSOR_INIT;
    struct tfd_sparse s;
    int64_t dim[2] = {0, 3};
    enum tfd_code rc;

    TFD_TRY(check_forms(k, st));
    TFD_TRY(check_many(k, st));
    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(tfd_sparse_check_order(&s, st));
    dim[0] = s.dim[0];
    TFD_TRY(make_output(k, dim, 2, st));
    rc = make_row_shape(&s, &shape, st);
    if (rc == TFD_OK)
        rc = put_rows(k, &s, &shape, st);
    tfd_tensor_unref(&shape);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define SERIALIZE(name_)                                             \
    {                                                                \
        .name = name_,                                               \
        .inputs = "sparse_indices: int64, sparse_values: T, "        \
                  "sparse_shape: int64",                             \
        .outputs = "serialized_sparse: out_type",                    \
        .attrs = "T: type; out_type: {string, variant} = DT_STRING", \
        .flags = TFD_OP_NO_GRADIENT,                                 \
    }

static const struct tfd_opdef ops[] = {
    SERIALIZE("SerializeSparse"),
    SERIALIZE("SerializeManySparse"),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SerializeSparse", whole_compute),
    TFD_KERNEL_ANY("SerializeManySparse", many_compute),
};

const struct tfd_family tfd_family_serialize_sparse = {
    .name = "serialize_sparse",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
