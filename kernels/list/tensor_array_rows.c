/*
 * tensor_array_rows.c - between arrays and tensors that hold their elements
 * along the first dimension: gather, scatter, concatenate, split.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/list/tensor_array.h"
#include "kernels/list/tensor_array_grad.h"
#include "kernels/list/tensor_list.h"

#include <stdlib.h>

/* ---- Reading several ----------------------------------------------------- */

struct reading {
    struct tfd_kctx *k;
    struct tfd_tensor *elements;
    int64_t count, held; /* of `elements`; those beyond `held` are not touched,
                          * so that they take no memory */
    enum tfd_dtype dtype;
    struct tfd_shape element; /* as far as the node says it */
    struct tfd_status *st;
};

static void drop_reading(struct reading *r)
{
    for (int64_t i = 0; i < r->held; i++)
        tfd_tensor_unref(&r->elements[i]);
    free(r->elements);
}

/* at NULL: all in order. */
static enum tfd_code read_locked(struct reading *r, struct tfd_tensor_array *a,
                                 const int32_t *at)
{
    struct tfd_shape merged = r->element;

    r->dtype = a->dtype;
    TFD_TRY(tfd_shape_merge(&merged, &a->element_shape, r->st));
    if (!at)
        r->count = a->source && a->split_count ? a->split_count : a->count;
    if (r->k->node->out_types[0] != (int)a->dtype)
        return tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                        "TensorArray dtype is %s but Op requested dtype %s.",
                        tfd_dtype_name((int)a->dtype),
                        tfd_dtype_name(r->k->node->out_types[0]));
    r->elements = calloc((size_t)r->count + 1, sizeof(*r->elements));
    if (!r->elements)
        return tfd_fail(r->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to read %lld tensors", (long long)r->count);
    for (int64_t i = 0; i < r->count; i++) {
        r->held = i + 1; /* a read that fails may leave its element behind */
        TFD_TRY(tfd_tensor_array_read(r->k, a, at ? at[i] : i, &r->elements[i],
                                      r->st));
    }
    return TFD_OK;
}

static enum tfd_code read_all(struct reading *r, const int32_t *at)
{
    struct tfd_tensor_array *a;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_array_find(r->k, &a, r->st));
    rc = read_locked(r, a, at);
    tfd_tensor_array_leave(a);
    return rc;
}

static enum tfd_code no_shape(const struct reading *r)
{
    char text[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(r->st, TFD_UNIMPLEMENTED,
                    "TensorArray has size zero, but element shape %s is not "
                    "fully defined. Currently only static shapes are supported "
                    "when packing zero-size TensorArrays.",
                    tfd_shape_text(&r->element, text));
}

static enum tfd_code rows_shape(const struct tfd_shape *element, int64_t rows,
                                struct tfd_shape *out, struct tfd_status *st)
{
    int64_t dim[TFD_RANK_MAX + 1];

    dim[0] = rows;
    for (int i = 0; i < element->rank; i++)
        dim[i + 1] = element->dim[i];
    return tfd_shape_make(out, dim, element->rank + 1, st);
}

static enum tfd_code put_elements(struct reading *r)
{
    struct tfd_tensor *out = &r->k->out[0];
    int64_t at = 0;

    for (int64_t i = 0; i < r->count; i++) {
        int64_t n = tfd_tensor_elements(&r->elements[i]);

        if (n == 0)
            continue;
        TFD_TRY(tfd_op_memory_copy(
            r->k, r->dtype, tfd_element_at(tfd_tensor_data(out), r->dtype, at),
            tfd_tensor_data(&r->elements[i]), n, r->st));
        at += n;
    }
    return TFD_OK;
}

/* ---- Gather -------------------------------------------------------------- */

static enum tfd_code stack(struct reading *r)
{
    struct tfd_shape shape;
    char first[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (r->count > 0)
        r->element = r->elements[0].shape;
    else if (tfd_shape_elements(&r->element) < 0)
        return no_shape(r);
    for (int64_t i = 1; i < r->count; i++)
        if (!tfd_shape_equal(&r->elements[i].shape, &r->element))
            return tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                            "TensorArray has inconsistent shapes.  Index 0 has "
                            "shape: %s but index %lld has shape: %s",
                            tfd_shape_text(&r->element, first), (long long)i,
                            tfd_shape_text(&r->elements[i].shape, other));
    TFD_TRY(rows_shape(&r->element, r->count, &shape, r->st));
    TFD_TRY(tfd_kctx_output(r->k, 0, r->dtype, &shape, r->st));
    return put_elements(r);
}

static enum tfd_code gather(struct tfd_kctx *k, const int32_t *at,
                            int64_t count, struct tfd_status *st)
{
    struct reading r = {.k = k, .count = count, .st = st};
    enum tfd_code rc;

    TFD_TRY(tfd_node_shape(k->node, "element_shape", &r.element, st));
    rc = read_all(&r, at);
    if (rc == TFD_OK)
        rc = stack(&r);
    drop_reading(&r);
    return rc;
}

enum tfd_code tfd_tensor_array_compute_gather(struct tfd_kctx *k,
                                              struct tfd_status *st)
{
    static const int32_t none[1];
    const int32_t *at = tfd_tensor_data(&k->in[1]);

    return gather(k, at ? at : none, tfd_tensor_elements(&k->in[1]), st);
}

/* All elements, in order. */
static enum tfd_code pack_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return gather(k, NULL, 0, st);
}

/* ---- Concat -------------------------------------------------------------- */

static enum tfd_code put_lengths(struct reading *r, int64_t *rows)
{
    const struct tfd_shape shape = {1, {r->count}};
    int64_t *lengths;

    *rows = 0;
    TFD_TRY(tfd_kctx_output(r->k, 1, TFD_INT64, &shape, r->st));
    lengths = tfd_tensor_data(&r->k->out[1]);
    for (int64_t i = 0; i < r->count; i++) {
        if (r->elements[i].shape.rank < 1)
            return tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                            "Concat saw a scalar shape at index %lld but "
                            "requires at least vectors.  Did you mean to call "
                            "pack?",
                            (long long)i);
        lengths[i] = r->elements[i].shape.dim[0];
        *rows += lengths[i];
    }
    return TFD_OK;
}

static struct tfd_shape tail_of(const struct tfd_shape *s)
{
    struct tfd_shape tail = {s->rank - 1, {0}};

    for (int i = 0; i < tail.rank; i++)
        tail.dim[i] = s->dim[i + 1];
    return tail;
}

static enum tfd_code concat(struct reading *r)
{
    struct tfd_shape shape, own;
    int64_t rows;

    TFD_TRY(put_lengths(r, &rows));
    if (r->count > 0)
        r->element = tail_of(&r->elements[0].shape);
    else if (tfd_shape_elements(&r->element) < 0)
        return no_shape(r);
    for (int64_t i = 1; i < r->count; i++) {
        own = tail_of(&r->elements[i].shape);
        if (!tfd_shape_equal(&own, &r->element))
            return tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                            "TensorArray has inconsistent shapes at index %lld "
                            "behind the first dimension",
                            (long long)i);
    }
    TFD_TRY(rows_shape(&r->element, rows, &shape, r->st));
    TFD_TRY(tfd_kctx_output(r->k, 0, r->dtype, &shape, r->st));
    return put_elements(r);
}

/* The attribute says what is behind the first dimension only. */
enum tfd_code tfd_tensor_array_compute_concat(struct tfd_kctx *k,
                                              struct tfd_status *st)
{
    struct reading r = {.k = k, .element = TFD_SHAPE_UNKNOWN, .st = st};
    enum tfd_code rc = read_all(&r, NULL);

    if (rc == TFD_OK)
        rc = tfd_node_shape(k->node, "element_shape_except0", &r.element, st);
    if (rc == TFD_OK)
        rc = concat(&r);
    drop_reading(&r);
    return rc;
}

/* ---- Writing several ----------------------------------------------------- */

static enum tfd_code write_rows(const struct tfd_kctx *k,
                                struct tfd_tensor_array *a, int64_t index,
                                const struct tfd_tensor *t, int64_t first,
                                int64_t count, bool keep_dim,
                                struct tfd_status *st)
{
    struct tfd_tensor rows;
    enum tfd_code rc;

    TFD_TRY(tfd_list_rows(k, t, first, count, keep_dim, &rows, st));
    rc = tfd_tensor_array_write(k, a, index, &rows, st);
    tfd_tensor_unref(&rows);
    return rc;
}

enum tfd_code tfd_tensor_array_compute_scatter(struct tfd_kctx *k,
                                               struct tfd_status *st)
{
    const int32_t *at = tfd_tensor_data(&k->in[1]);
    int64_t count = tfd_tensor_elements(&k->in[1]);
    const struct tfd_tensor *value = &k->in[2];
    struct tfd_tensor_array *a;
    enum tfd_code rc = TFD_OK;

    if (value->shape.rank < 1 || value->shape.dim[0] != count)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Expected len(indices) == values.shape[0], but saw: "
            "%lld vs. %lld",
            (long long)count,
            (long long)(value->shape.rank < 1 ? 0 : value->shape.dim[0]));
    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    for (int64_t i = 0; rc == TFD_OK && i < count; i++)
        rc = write_rows(k, a, at[i], value, i, 1, false, st);
    tfd_tensor_array_leave(a);
    return rc == TFD_OK ? tfd_tensor_array_flow(k, 3, 0, st) : rc;
}

/* A row for each of the elements there are; more of them where it may grow. */
static enum tfd_code unpack(const struct tfd_kctx *k,
                            struct tfd_tensor_array *a, struct tfd_status *st)
{
    const struct tfd_tensor *value = &k->in[1];
    int64_t count = value->shape.dim[0];

    if (count != a->count && !(a->dynamic && count > a->count))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input value must have first dimension equal to the "
                        "array size (%lld vs. %lld)",
                        (long long)count, (long long)a->count);
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(write_rows(k, a, i, value, i, 1, false, st));
    if (!a->source)
        a->split_count = a->count;
    return TFD_OK;
}

static enum tfd_code unpack_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor_array *a;
    enum tfd_code rc;

    if (k->in[1].shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input value for unpack must be at least a vector but "
                        "received shape: []");
    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    rc = unpack(k, a, st);
    tfd_tensor_array_leave(a);
    return rc == TFD_OK ? tfd_tensor_array_flow(k, 2, 0, st) : rc;
}

static enum tfd_code check_lengths(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *value = &k->in[1];
    int64_t left = value->shape.rank > 0 ? value->shape.dim[0] : -1;

    if (left < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected value to be at least a vector, but received "
                        "shape: []");
    for (int64_t i = 0; i < tfd_tensor_elements(&k->in[2]); i++) {
        int64_t length = tfd_check_int_at(&k->in[2], i);

        if (length < 0 || length > left)
            left = -1;
        if (left < 0)
            break;
        left -= length;
    }
    return left == 0 ? TFD_OK
                     : tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Expected sum of lengths to be equal to "
                                "values.shape[0], which is %lld",
                                (long long)value->shape.dim[0]);
}

enum tfd_code tfd_tensor_array_compute_split(struct tfd_kctx *k,
                                             struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(&k->in[2]), at = 0;
    struct tfd_tensor_array *a;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(check_lengths(k, st));
    TFD_TRY(tfd_tensor_array_find(k, &a, st));
    if (count != a->count && !a->dynamic)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "TensorArray's size is not equal to the size of lengths "
                      "(%lld vs. %lld), and the TensorArray is not marked as "
                      "dynamically resizeable",
                      (long long)a->count, (long long)count);
    for (int64_t i = 0; rc == TFD_OK && i < count; i++) {
        int64_t length = tfd_check_int_at(&k->in[2], i);

        rc = write_rows(k, a, i, &k->in[1], at, length, true, st);
        at += length;
    }
    if (rc == TFD_OK && !a->source)
        a->split_count = a->count;
    tfd_tensor_array_leave(a);
    return rc == TFD_OK ? tfd_tensor_array_flow(k, 3, 0, st) : rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define SHAPE "dtype: type; element_shape: shape = { unknown_rank: true }"

static const struct tfd_opdef ops[] = {
    TFD_TENSOR_ARRAY_USERS(
        "TensorArrayGather", ", indices: int32, flow_in: float",
        .outputs = "value: dtype", .attrs = SHAPE, .checks = "indices: vector",
        .key = "dtype", .grad = tfd_tensor_array_gather_gradient),
    TFD_TENSOR_ARRAY_USERS(
        "TensorArrayScatter", ", indices: int32, value: T, flow_in: float",
        .outputs = "flow_out: float", .attrs = "T: type",
        .checks = "indices: vector", .shape = tfd_shape_scalar,
        .grad = tfd_tensor_array_scatter_gradient),
    TFD_TENSOR_ARRAY_USERS(
        "TensorArrayConcat", ", flow_in: float",
        .outputs = "value: dtype, lengths: int64",
        .attrs = "dtype: type; "
                 "element_shape_except0: shape = { unknown_rank: true }",
        .key = "dtype", .grad = tfd_tensor_array_concat_gradient),
    TFD_TENSOR_ARRAY_USERS(
        "TensorArraySplit", ", value: T, lengths: int64, flow_in: float",
        .outputs = "flow_out: float", .attrs = "T: type",
        .checks = "lengths: vector", .shape = tfd_shape_scalar,
        .grad = tfd_tensor_array_split_gradient),
    {
        .name = "TensorArrayPack",
        .inputs = "handle: Ref(string), flow_in: float",
        .outputs = "value: dtype",
        .attrs = SHAPE,
        .key = "dtype",
        .grad = tfd_tensor_array_pack_gradient,
        .flags = TFD_OP_STEP_STATE,
    },
    {
        .name = "TensorArrayUnpack",
        .inputs = "handle: Ref(string), value: T, flow_in: float",
        .outputs = "flow_out: float",
        .attrs = "T: type",
        .shape = tfd_shape_scalar,
        .grad = tfd_tensor_array_unpack_gradient,
        .flags = TFD_OP_STEP_STATE,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_TENSOR_ARRAY_KERNELS("TensorArrayGather",
                             tfd_tensor_array_compute_gather),
    TFD_TENSOR_ARRAY_KERNELS("TensorArrayScatter",
                             tfd_tensor_array_compute_scatter),
    TFD_TENSOR_ARRAY_KERNELS("TensorArrayConcat",
                             tfd_tensor_array_compute_concat),
    TFD_TENSOR_ARRAY_KERNELS("TensorArraySplit",
                             tfd_tensor_array_compute_split),
    TFD_KERNEL_ANY("TensorArrayPack", pack_compute),
    TFD_KERNEL_ANY("TensorArrayUnpack", unpack_compute),
};

const struct tfd_family tfd_family_tensor_array_rows = {
    .name = "tensor_array_rows",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
