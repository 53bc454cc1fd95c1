/*
 * tensor_list_rows.c - between lists and tensors that hold their elements along
 * the first dimension: stack, gather, scatter, split; tensor_list_concat.c
 * concatenates.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/list/tensor_list.h"
#include "kernels/list/tensor_list_grad.h"

#include "common/thread/halt.h"

#include <string.h>

/* ---- Lists to tensors ---------------------------------------------------- */

/* What element i of a result is: slot at[i] of the list, or slot i. */
struct picking {
    struct tfd_kctx *k;
    const struct tfd_variant *list;
    const int32_t *at; /* NULL: all in order */
    int64_t count;
    struct tfd_shape element;
    /* What is said of no elements, and of empty slots, of no known shape. */
    const char *none, *empty;
    struct tfd_status *st;
};

static int32_t slot_of(const struct picking *p, int64_t i)
{
    return p->at ? p->at[i] : (int32_t)i;
}

/* The shape that all say: the input, the list, the elements. */
static enum tfd_code find_shape(struct picking *p)
{
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(tfd_list_merge(&p->element, &p->list->element_shape, p->st));
    for (int64_t i = 0; i < p->count && !tfd_halted(); i++) {
        const struct tfd_tensor *t = &p->list->tensors[slot_of(p, i)];

        if (t->dtype != TFD_DTYPE_INVALID)
            TFD_TRY(tfd_list_merge(&p->element, &t->shape, p->st));
    }
    if (tfd_shape_elements(&p->element) >= 0)
        return TFD_OK;
    return tfd_fail(p->st, TFD_INVALID_ARGUMENT, "Tried to %s: %s",
                    p->count == 0 ? p->none : p->empty,
                    tfd_shape_text(&p->element, text));
}

static enum tfd_code pick(struct picking *p)
{
    enum tfd_dtype dtype = p->list->dtype;
    struct tfd_tensor *out = &p->k->out[0];
    struct tfd_shape shape;
    int64_t row;

    TFD_TRY(find_shape(p));
    TFD_TRY(tfd_list_rows_shape(&p->element, p->count, &shape, p->st));
    TFD_TRY(tfd_kctx_output(p->k, 0, dtype, &shape, p->st));
    row = tfd_shape_elements(&p->element);
    for (int64_t i = 0; i < p->count && row > 0 && !tfd_halted(); i++) {
        const struct tfd_tensor *t = &p->list->tensors[slot_of(p, i)];
        void *to = tfd_element_at(tfd_tensor_data(out), dtype, i * row);

        if (t->dtype == TFD_DTYPE_INVALID)
            TFD_TRY(tfd_op_memory_zero(p->k, dtype, to, row, p->st));
        else
            TFD_TRY(tfd_list_copy(p->k, t, to, row, p->st));
    }
    return TFD_OK;
}

enum tfd_code tfd_list_compute_stack(struct tfd_kctx *k, struct tfd_status *st)
{
    struct picking p = {
        .k = k,
        .none = "stack elements of an empty list with non-fully-defined "
                "element_shape",
        .empty = "stack list which only contains uninitialized tensors and has "
                 "a non-fully-defined element_shape",
        .st = st};
    struct tfd_variant *l;
    int64_t expected;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(
        tfd_list_check_type(k, l, (enum tfd_dtype)k->node->out_types[0], st));
    TFD_TRY(tfd_node_int(k->node, "num_elements", &expected, st));
    if (expected >= 0 && expected != l->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Operation expected a list with %lld elements but got "
                        "a list with %d elements.",
                        (long long)expected, l->count);
    TFD_TRY(tfd_list_shape(k, 1, &p.element, st));
    p.list = l;
    p.count = l->count;
    return pick(&p);
}

enum tfd_code tfd_list_compute_gather(struct tfd_kctx *k, struct tfd_status *st)
{
    struct picking p = {
        .k = k,
        .none = "gather 0-elements from a list with non-fully-defined shape",
        .empty = "gather uninitialized tensors from a list with "
                 "non-fully-defined element_shape",
        .st = st};
    struct tfd_variant *l;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(
        tfd_list_check_type(k, l, (enum tfd_dtype)k->node->out_types[0], st));
    TFD_TRY(tfd_list_shape(k, 2, &p.element, st));
    p.list = l;
    p.at = tfd_tensor_data(&k->in[1]);
    p.count = tfd_tensor_elements(&k->in[1]);
    for (int64_t i = 0; i < p.count; i++)
        if (p.at[i] < 0 || p.at[i] >= l->count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Index %d out o range; list only has %d elements.",
                            p.at[i], l->count);
    return pick(&p);
}

/* ---- Tensors to lists ---------------------------------------------------- */

static enum tfd_code check_rows(const struct tfd_kctx *k,
                                const struct tfd_shape *element,
                                struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[0];
    char own[TFD_SHAPE_TEXT_MAX], wanted[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape row;

    if (t->shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor must be at least a vector, but saw shape: %s",
                        tfd_shape_text(&t->shape, own));
    TFD_TRY(tfd_shape_make(&row, t->shape.dim + 1, t->shape.rank - 1, st));
    if (tfd_list_compatible(element, &row))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Specified a list with shape %s from a tensor with shape "
                    "%s",
                    tfd_shape_text(element, wanted), tfd_shape_text(&row, own));
}

static enum tfd_code set_row(const struct tfd_kctx *k, struct tfd_variant *l,
                             int32_t i, const struct tfd_tensor *t, int64_t row,
                             struct tfd_status *st)
{
    struct tfd_tensor item;

    TFD_TRY(tfd_list_rows(k, t, row, 1, false, &item, st));
    return tfd_variant_set(l, i, &item, st);
}

static enum tfd_code finish_list(struct tfd_kctx *k, struct tfd_variant *l,
                                 enum tfd_code rc, struct tfd_status *st)
{
    if (rc == TFD_OK)
        return tfd_list_output(k, 0, l, st);
    tfd_variant_unref(l);
    return rc;
}

static enum tfd_code from_tensor_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_variant *l;
    struct tfd_shape element;
    enum tfd_code rc;

    TFD_TRY(tfd_list_shape(k, 1, &element, st));
    TFD_TRY(check_rows(k, &element, st));
    l = tfd_variant_new(TFD_VARIANT_LIST, st);
    if (!l)
        return TFD_RESOURCE_EXHAUSTED;
    l->dtype = k->in[0].dtype;
    l->element_shape = element;
    rc = tfd_variant_resize(l, k->in[0].shape.dim[0], st);
    for (int32_t i = 0; rc == TFD_OK && i < l->count; i++)
        rc = set_row(k, l, i, &k->in[0], i, st);
    return finish_list(k, l, rc, st);
}

/* Row i of the tensor, which is a vector at least, becomes slot indices[i]; at
 * most `limit` slots, -1 for any number. */
static enum tfd_code scatter(struct tfd_kctx *k, struct tfd_variant *l,
                             const struct tfd_tensor *t,
                             const struct tfd_tensor *indices, int64_t limit,
                             struct tfd_status *st)
{
    const int32_t *at = tfd_tensor_data(indices);
    int64_t count = tfd_tensor_elements(indices), top = l->count;

    if (t->shape.dim[0] != count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid number of rows in input tensor. Expected: "
                        "%lld Actual: %lld",
                        (long long)count, (long long)t->shape.dim[0]);
    for (int64_t i = 0; i < count; i++) {
        if (at[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Indices in TensorListScatter must all be "
                            "non-negative.");
        if (limit >= 0 && at[i] >= limit)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "TensorListScatter: Trying to scatter at index %d "
                            "in list with size %lld",
                            at[i], (long long)limit);
        if (at[i] >= top)
            top = (int64_t)at[i] + 1;
    }
    TFD_TRY(tfd_variant_resize(l, top, st));
    for (int64_t i = 0; i < count; i++)
        TFD_TRY(set_row(k, l, at[i], t, i, st));
    return TFD_OK;
}

static enum tfd_code scatter_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape element;
    struct tfd_variant *l;
    int64_t size = -1;
    enum tfd_code rc;

    TFD_TRY(tfd_list_shape(k, 2, &element, st));
    TFD_TRY(check_rows(k, &element, st));
    if (k->in_count > 3)
        TFD_TRY(tfd_check_int(k, 3, &size, st));
    if (size < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorListScatter expects num_elements >= -1, found: "
                        "%lld",
                        (long long)size);
    l = tfd_variant_new(TFD_VARIANT_LIST, st);
    if (!l)
        return TFD_RESOURCE_EXHAUSTED;
    l->dtype = k->in[0].dtype;
    l->element_shape = element;
    rc = tfd_variant_resize(l, size < 0 ? 0 : size, st);
    if (rc == TFD_OK)
        rc = scatter(k, l, &k->in[0], &k->in[1], size, st);
    return finish_list(k, l, rc, st);
}

static enum tfd_code scatter_into_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_variant *l;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    if (l->dtype != k->in[1].dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid data types; input tensor type: %s list "
                        "element_type: %s",
                        tfd_dtype_name((int)k->in[1].dtype),
                        tfd_dtype_name((int)l->dtype));
    if (k->in[2].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected indices to be a vector, but received shape: "
                        "%s",
                        tfd_shape_text(&k->in[2].shape, text));
    if (k->in[1].shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor must be at least a vector, but saw shape: %s",
                        tfd_shape_text(&k->in[1].shape, text));
    if (k->in[2].shape.dim[0] != k->in[1].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected len(indices) == tensor.shape[0], but saw: "
                        "%lld vs. %lld",
                        (long long)k->in[2].shape.dim[0],
                        (long long)k->in[1].shape.dim[0]);
    TFD_TRY(tfd_list_take(k, 0, &l, st));
    return finish_list(k, l, scatter(k, l, &k->in[1], &k->in[2], -1, st), st);
}

/* Lengths are not negative and together the rows. */
static enum tfd_code check_lengths(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(&k->in[2]), used = 0;
    int64_t rows = k->in[0].shape.dim[0];

    for (int64_t i = 0; i < count; i++) {
        int64_t length = tfd_check_int_at(&k->in[2], i);

        if (length < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid value in lengths: %lld",
                            (long long)length);
        if (length > rows - used)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Attempting to slice [%lld, %lld] from tensor with "
                            "length %lld",
                            (long long)used,
                            (long long)((uint64_t)used + (uint64_t)length),
                            (long long)rows);
        used += length;
    }
    return used == rows ? TFD_OK
                        : tfd_fail(st, TFD_INVALID_ARGUMENT,
                                   "Unused values in tensor. Length of tensor: "
                                   "%lld Values used: %lld",
                                   (long long)rows, (long long)used);
}

/* The tensor has rows of the shape that the parts are to have, whose number of
 * rows is that of `lengths`. */
static enum tfd_code check_split(const struct tfd_kctx *k,
                                 const struct tfd_shape *element,
                                 struct tfd_status *st)
{
    const struct tfd_shape *t = &k->in[0].shape, *lengths = &k->in[2].shape;
    char own[TFD_SHAPE_TEXT_MAX], wanted[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape part = *element;

    if (element->rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorListSplit requires element_shape to be at least "
                        "of rank 1, but saw: %s",
                        tfd_shape_text(element, wanted));
    if (t->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor must be at least a vector, but saw shape: %s",
                        tfd_shape_text(t, own));
    if (lengths->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected lengths to be a vector, received shape: %s",
                        tfd_shape_text(lengths, own));
    if (part.rank > 0)
        part.dim[0] = TFD_DIM_UNKNOWN;
    if (tfd_list_compatible(&part, t))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "tensor shape %s is not compatible with element_shape %s",
                    tfd_shape_text(t, own), tfd_shape_text(element, wanted));
}

static enum tfd_code split_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *l;
    enum tfd_code rc = TFD_OK;
    int64_t at = 0, count = tfd_tensor_elements(&k->in[2]);
    struct tfd_shape element;

    TFD_TRY(tfd_list_shape(k, 1, &element, st));
    TFD_TRY(check_split(k, &element, st));
    TFD_TRY(check_lengths(k, st));
    l = tfd_variant_new(TFD_VARIANT_LIST, st);
    if (!l)
        return TFD_RESOURCE_EXHAUSTED;
    l->dtype = k->in[0].dtype;
    l->element_shape = element;
    for (int64_t i = 0; rc == TFD_OK && i < count; i++) {
        int64_t length = tfd_check_int_at(&k->in[2], i);
        struct tfd_tensor item;

        rc = tfd_list_rows(k, &k->in[0], at, length, true, &item, st);
        if (rc == TFD_OK)
            rc = tfd_variant_set(l, (int32_t)i, &item, st);
        at += length;
    }
    return finish_list(k, l, rc, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define ELEMENT "element_dtype: type"
#define SHAPED ELEMENT "; shape_type: {int32, int64}"

static const struct tfd_opdef ops[] = {
    {
        .name = "TensorListStack",
        .inputs = "input_handle: variant, element_shape: int32",
        .outputs = "tensor: element_dtype",
        .attrs = ELEMENT "; num_elements: int = -1",
        .key = "element_dtype",
        .grad = tfd_list_stack_gradient,
    },
    {
        .name = "TensorListGather",
        .inputs = "input_handle: variant, indices: int32, element_shape: int32",
        .outputs = "values: element_dtype",
        .attrs = ELEMENT,
        .key = "element_dtype",
        .grad = tfd_list_gather_gradient,
    },
    {
        .name = "TensorListConcat",
        .inputs = "input_handle: variant",
        .outputs = "tensor: element_dtype, lengths: int64",
        .attrs = ELEMENT "; element_shape: shape = { unknown_rank: true }",
        .key = "element_dtype",
        .grad = tfd_list_concat_gradient,
    },
    {
        .name = "TensorListConcatV2",
        .inputs = "input_handle: variant, element_shape: shape_type, "
                  "leading_dims: int64",
        .outputs = "tensor: element_dtype, lengths: int64",
        .attrs = SHAPED,
        .key = "element_dtype",
        .grad = tfd_list_concat_gradient,
    },
    {
        .name = "TensorListFromTensor",
        .inputs = "tensor: element_dtype, element_shape: shape_type",
        .outputs = "output_handle: variant",
        .attrs = SHAPED,
        .key = "element_dtype",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_from_gradient,
    },
    {
        .name = "TensorListScatter",
        .inputs = "tensor: element_dtype, indices: int32, element_shape: "
                  "shape_type",
        .outputs = "output_handle: variant",
        .attrs = SHAPED,
        .key = "element_dtype",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_scatter_gradient,
    },
    {
        .name = "TensorListScatterV2",
        .inputs = "tensor: element_dtype, indices: int32, element_shape: "
                  "shape_type, num_elements: int32",
        .outputs = "output_handle: variant",
        .attrs = SHAPED,
        .key = "element_dtype",
        .checks = "num_elements: scalar",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_scatter_gradient,
    },
    {
        .name = "TensorListScatterIntoExistingList",
        .inputs = "input_handle: variant, tensor: element_dtype, indices: "
                  "int32",
        .outputs = "output_handle: variant",
        .attrs = ELEMENT,
        .key = "element_dtype",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_scatter_into_gradient,
    },
    {
        .name = "TensorListSplit",
        .inputs = "tensor: element_dtype, element_shape: shape_type, lengths: "
                  "int64",
        .outputs = "output_handle: variant",
        .attrs = SHAPED,
        .key = "element_dtype",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_split_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("TensorListStack", tfd_list_compute_stack),
    TFD_KERNEL_ANY("TensorListGather", tfd_list_compute_gather),
    TFD_KERNEL_ANY("TensorListConcat", tfd_list_compute_concat),
    TFD_KERNEL_ANY("TensorListConcatV2", tfd_list_compute_concat),
    TFD_KERNEL_ANY("TensorListFromTensor", from_tensor_compute),
    TFD_KERNEL_ANY("TensorListScatter", scatter_compute),
    TFD_KERNEL_ANY("TensorListScatterV2", scatter_compute),
    TFD_KERNEL_ANY("TensorListScatterIntoExistingList", scatter_into_compute),
    TFD_KERNEL_ANY("TensorListSplit", split_compute),
};

const struct tfd_family tfd_family_tensor_list_rows = {
    .name = "tensor_list_rows",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
