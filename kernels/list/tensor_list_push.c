/*
 * tensor_list_push.c - TensorListPushBackBatch: a row for each of several
 * lists.
 */
#include "kernels/list/tensor_list.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"

static enum tfd_code check_list(const struct tfd_kctx *k,
                                const struct tfd_variant *l, int64_t i,
                                const struct tfd_shape *row,
                                struct tfd_status *st)
{
    char own[TFD_SHAPE_TEXT_MAX], list[TFD_SHAPE_TEXT_MAX];

    if (!l || l->kind != TFD_VARIANT_LIST)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input handle at index %lld is not a list. Saw: '%s'",
                        (long long)i, tfd_list_other(l));
    if (!tfd_list_compatible(&l->element_shape, row))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tried to append a tensor with incompatible shape to a "
                        "list at index %lld. Op element shape: %s list shape: "
                        "%s",
                        (long long)i, tfd_shape_text(row, own),
                        tfd_shape_text(&l->element_shape, list));
    if (l->dtype == k->in[1].dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid data type at index %lld; op elements %s but list "
                    "elements %s",
                    (long long)i, tfd_dtype_name((int)k->in[1].dtype),
                    tfd_dtype_name((int)l->dtype));
}

/* A list like l, with row i of input 1 at its end. */
static enum tfd_code push_row(const struct tfd_kctx *k, struct tfd_variant *l,
                              int64_t i, bool own, struct tfd_variant **out,
                              struct tfd_status *st)
{
    struct tfd_variant *longer;
    struct tfd_tensor row;
    enum tfd_code rc;

    TFD_TRY(tfd_list_rows(k, &k->in[1], i, 1, false, &row, st));
    longer = own && tfd_variant_sole(l) ? tfd_variant_ref(l)
                                        : tfd_variant_copy(l, st);
    if (!longer) {
        tfd_tensor_unref(&row);
        return TFD_RESOURCE_EXHAUSTED;
    }
    rc = tfd_variant_set(longer, longer->count, &row, st);
    if (rc == TFD_OK)
        *out = longer;
    else
        tfd_variant_unref(longer);
    return rc;
}

static enum tfd_code check_row_each(const struct tfd_kctx *k,
                                    struct tfd_shape *row,
                                    struct tfd_status *st)
{
    const struct tfd_shape *lists = &k->in[0].shape, *rows = &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (rows->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected tensor to be at least a vector, but saw "
                        "shape: []");
    if (lists->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected input_handles to be a vector, but saw shape: "
                        "%s",
                        tfd_shape_text(lists, text));
    if (rows->dim[0] != lists->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected tensor.shape[0] == input_handles.size, but "
                        "saw %lld vs. %lld",
                        (long long)rows->dim[0], (long long)lists->dim[0]);
    *row = *rows;
    row->rank--;
    for (int i = 0; i < row->rank; i++)
        row->dim[i] = rows->dim[i + 1];
    return TFD_OK;
}

static enum tfd_code push_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    bool own = k->in[0].buffer && tfd_buffer_sole(k->in[0].buffer);
    struct tfd_variant *const *from = tfd_tensor_data(&k->in[0]);
    struct tfd_variant **to;
    struct tfd_shape row;

    TFD_TRY(check_row_each(k, &row, st));
    for (int64_t i = 0; i < k->in[0].shape.dim[0]; i++)
        TFD_TRY(check_list(k, from[i], i, &row, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_VARIANT, &k->in[0].shape, st));
    to = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < k->in[0].shape.dim[0]; i++)
        TFD_TRY(push_row(k, from[i], i, own, &to[i], st));
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "TensorListPushBackBatch",
        .inputs = "input_handles: variant, tensor: element_dtype",
        .outputs = "output_handles: variant",
        .attrs = "element_dtype: type",
        .key = "element_dtype",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("TensorListPushBackBatch", push_compute),
};

const struct tfd_family tfd_family_tensor_list_push = {
    .name = "tensor_list_push",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
