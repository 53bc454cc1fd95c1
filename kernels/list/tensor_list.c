/*
 * tensor_list.c - lists of tensors: made, pushed, popped, read and written.
 *
 * A list that nobody else has is changed in place, so a loop that pushes costs
 * what the tensor costs.
 */
#include "kernels/list/tensor_list.h"
#include "kernels/list/tensor_list_grad.h"

#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/kept.h"
#include "kernels/core/op_memory.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"

#include <string.h>

/* ---- For the other files ------------------------------------------------- */

#define OPTIONAL_TEXT "Variant<type: tensorflow::data::Optional value: "

const char *tfd_list_other(const struct tfd_variant *v)
{
    if (!v)
        return "<empty>";
    if (v->object)
        return v->object->type->name;
    if (v->kind == TFD_VARIANT_MAP)
        return "Variant<type: tensorflow::TensorMap value: TensorMap>";
    if (v->kind == TFD_VARIANT_LIST)
        return "Variant<type: tensorflow::TensorList value: TensorList>";
    return v->has_value ? OPTIONAL_TEXT "OptionalVariant<...>>"
                        : OPTIONAL_TEXT "OptionalVariant<None>>";
}

enum tfd_code tfd_list_get(const struct tfd_kctx *k, int in,
                           struct tfd_variant **out, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input list must be a scalar saw: %s",
                        tfd_shape_text(&k->in[in].shape, text));
    *out = tfd_variant_of(&k->in[in]);
    if (*out && (*out)->kind == TFD_VARIANT_LIST)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input handle is not a list. Saw: '%s'",
                    tfd_list_other(*out));
}

enum tfd_code tfd_list_take(struct tfd_kctx *k, int in,
                            struct tfd_variant **out, struct tfd_status *st)
{
    struct tfd_variant *l;

    TFD_TRY(tfd_list_get(k, in, &l, st));
    *out = tfd_buffer_sole(k->in[in].buffer) && tfd_variant_sole(l)
               ? tfd_variant_ref(l)
               : tfd_variant_copy(l, st);
    return *out ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

enum tfd_code tfd_list_output(struct tfd_kctx *k, int out,
                              struct tfd_variant *take, struct tfd_status *st)
{
    return tfd_variant_tensor(take, &k->out[out], st);
}

enum tfd_code tfd_list_shape(const struct tfd_kctx *k, int in,
                             struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];

    if (t->shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at most rank 1 but is rank %d",
                        t->shape.rank);
    if (t->shape.rank != 0)
        return tfd_check_shape(k, in, true, out, st);
    *out = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    if (tfd_check_int_at(t, 0) == -1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "The only valid scalar shape tensor is the fully unknown "
                    "shape specified as -1.");
}

enum tfd_code tfd_list_check_type(const struct tfd_kctx *k,
                                  const struct tfd_variant *l,
                                  enum tfd_dtype dtype, struct tfd_status *st)
{
    (void)k;
    if (l->dtype == dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid data types; op elements %s but list elements %s",
                    tfd_dtype_name((int)dtype), tfd_dtype_name((int)l->dtype));
}

bool tfd_list_compatible(const struct tfd_shape *partial,
                         const struct tfd_shape *shape)
{
    struct tfd_shape merged = *partial;

    return tfd_shape_merge(&merged, shape, NULL) == TFD_OK;
}

enum tfd_code tfd_list_merge(struct tfd_shape *into,
                             const struct tfd_shape *with,
                             struct tfd_status *st)
{
    char own[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_merge(into, with, NULL) == TFD_OK)
        return TFD_OK;
    if (into->rank != with->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "PartialTensorShape: Incompatible ranks during merge: "
                        "%d vs. %d",
                        into->rank, with->rank);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "PartialTensorShape: Incompatible shapes during merge: %s "
                    "vs. %s",
                    tfd_shape_text(into, own), tfd_shape_text(with, other));
}

enum tfd_code tfd_list_copy(const struct tfd_kctx *k,
                            const struct tfd_tensor *t, void *to, int64_t count,
                            struct tfd_status *st)
{
    struct tfd_tensor now;
    enum tfd_code rc;

    if (!tfd_kept_is(t))
        return tfd_op_memory_copy(k, t->dtype, to, tfd_tensor_data(t), count,
                                  st);
    TFD_TRY(tfd_kept_look(t, &now, st));
    rc = tfd_op_memory_copy(k, t->dtype, to, tfd_tensor_data(&now), count, st);
    tfd_tensor_unref(&now);
    return rc;
}

enum tfd_code tfd_list_element(const struct tfd_kctx *k,
                               const struct tfd_variant *l, int32_t i,
                               const struct tfd_shape *wanted,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape shape = *wanted;
    char text[TFD_SHAPE_TEXT_MAX];
    bool known;

    if (l->tensors[i].dtype != TFD_DTYPE_INVALID) {
        return tfd_kept_look(&l->tensors[i], out, st);
    }
    TFD_TRY(tfd_list_merge(&shape, &l->element_shape, st));
    known = tfd_shape_elements(&shape) >= 0;
    for (int32_t j = 0; j < l->count && !known; j++)
        if (l->tensors[j].dtype != TFD_DTYPE_INVALID)
            TFD_TRY(tfd_list_merge(&shape, &l->tensors[j].shape, st));
    if (tfd_shape_elements(&shape) < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to read an uninitialized tensor but "
                        "element_shape is not fully defined: %s and no list "
                        "element is set.",
                        tfd_shape_text(&shape, text));
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    return tfd_op_memory_zeros(k, l->dtype, &shape, out, st);
}

enum tfd_code tfd_list_rows_shape(const struct tfd_shape *element, int64_t rows,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    int64_t dim[TFD_RANK_MAX + 1];

    dim[0] = rows;
    for (int i = 0; i < element->rank; i++)
        dim[i + 1] = element->dim[i];
    return tfd_shape_make(out, dim, element->rank + 1, st);
}

enum tfd_code tfd_list_rows(const struct tfd_kctx *k,
                            const struct tfd_tensor *t, int64_t first,
                            int64_t count, bool keep_dim,
                            struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape shape = t->shape;
    int64_t row;

    if (tfd_halted())
        return tfd_halt_fail(st);
    shape.dim[0] = 1;
    row = tfd_shape_elements(&shape);
    shape.dim[0] = count;
    if (!keep_dim) {
        shape.rank--;
        memmove(shape.dim, shape.dim + 1,
                sizeof(shape.dim[0]) * (size_t)shape.rank);
    }
    TFD_TRY(tfd_op_memory_new(k, t->dtype, &shape, out, st));
    if (row * count == 0)
        return TFD_OK;
    return tfd_op_memory_copy(
        k, t->dtype, tfd_tensor_data(out),
        tfd_element_of(tfd_tensor_data(t), t->dtype, row * first), row * count,
        st);
}

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code new_list(struct tfd_kctx *k, int64_t count,
                              struct tfd_variant **out, struct tfd_status *st)
{
    struct tfd_variant *l = tfd_variant_new(TFD_VARIANT_LIST, st);
    enum tfd_code rc;

    if (!l)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_node_type(k->node, "element_dtype", &l->dtype, st);
    if (rc == TFD_OK)
        rc = tfd_list_shape(k, 0, &l->element_shape, st);
    if (rc == TFD_OK)
        rc = tfd_variant_resize(l, count, st);
    if (rc == TFD_OK)
        *out = l;
    else
        tfd_variant_unref(l);
    return rc;
}

static enum tfd_code empty_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *l;
    int64_t max;

    TFD_TRY(tfd_check_int(k, 1, &max, st));
    TFD_TRY(new_list(k, 0, &l, st));
    l->max_elements = max < 0 ? -1 : (int32_t)max;
    return tfd_list_output(k, 0, l, st);
}

static enum tfd_code reserve_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *l;
    int64_t count;

    TFD_TRY(tfd_check_int(k, 1, &count, st));
    if (count < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The num_elements to reserve must be a non negative "
                        "number, but got %lld",
                        (long long)count);
    TFD_TRY(new_list(k, count, &l, st));
    return tfd_list_output(k, 0, l, st);
}

/* ---- Ends ---------------------------------------------------------------- */

static enum tfd_code check_item(const struct tfd_kctx *k,
                                const struct tfd_variant *l,
                                const struct tfd_tensor *item, const char *what,
                                struct tfd_status *st)
{
    char own[TFD_SHAPE_TEXT_MAX], list[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(tfd_list_check_type(k, l, item->dtype, st));
    if (tfd_list_compatible(&l->element_shape, &item->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s: %s list shape: %s", what,
                    tfd_shape_text(&item->shape, own),
                    tfd_shape_text(&l->element_shape, list));
}

static enum tfd_code push_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *l;
    struct tfd_tensor item;
    enum tfd_code rc;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(check_item(k, l, &k->in[1],
                       "Tried to append a tensor with incompatible shape to a "
                       "list. Op element shape",
                       st));
    if (l->max_elements >= 0 && l->count >= l->max_elements)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tried to push item into a full list list size: %d "
                        "max_num_elements: %d",
                        l->count, l->max_elements);
    TFD_TRY(tfd_list_take(k, 0, &l, st));
    rc = tfd_kept_put(k, 1, &item, st);
    if (rc == TFD_OK)
        rc = tfd_variant_set(l, l->count, &item, st);
    if (rc == TFD_OK)
        return tfd_list_output(k, 0, l, st);
    tfd_variant_unref(l);
    return rc;
}

static enum tfd_code give_element(struct tfd_kctx *k,
                                  const struct tfd_variant *l, int32_t i,
                                  const struct tfd_shape *wanted, int out,
                                  struct tfd_status *st)
{
    return tfd_kept_is(&l->tensors[i])
               ? tfd_kept_give(k, out, &l->tensors[i], st)
               : tfd_list_element(k, l, i, wanted, &k->out[out], st);
}

enum tfd_code tfd_list_compute_pop(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *l;
    struct tfd_shape wanted;
    enum tfd_code rc;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(
        tfd_list_check_type(k, l, (enum tfd_dtype)k->node->out_types[1], st));
    if (l->count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to pop from an empty list.");
    TFD_TRY(tfd_list_shape(k, 1, &wanted, st));
    TFD_TRY(give_element(k, l, l->count - 1, &wanted, 1, st));
    TFD_TRY(tfd_list_take(k, 0, &l, st));
    rc = tfd_variant_resize(l, (int64_t)l->count - 1, st);
    if (rc == TFD_OK)
        return tfd_list_output(k, 0, l, st);
    tfd_variant_unref(l);
    return rc;
}

/* ---- Slots --------------------------------------------------------------- */

enum tfd_code tfd_list_compute_get(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *l;
    struct tfd_shape wanted;
    int64_t index;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(
        tfd_list_check_type(k, l, (enum tfd_dtype)k->node->out_types[0], st));
    TFD_TRY(tfd_check_int(k, 1, &index, st));
    if (index < 0 || index >= l->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to access element %lld in a list with %d "
                        "elements.",
                        (long long)index, l->count);
    TFD_TRY(tfd_list_shape(k, 2, &wanted, st));
    return give_element(k, l, (int32_t)index, &wanted, 0, st);
}

static enum tfd_code check_index(const struct tfd_kctx *k,
                                 const struct tfd_variant *l, int64_t *index,
                                 struct tfd_status *st)
{
    bool resize;

    TFD_TRY(tfd_check_int(k, 1, index, st));
    TFD_TRY(
        tfd_node_bool(k->node, "resize_if_index_out_of_bounds", &resize, st));
    if (*index >= 0 && (*index < l->count || resize))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Trying to modify element %lld in a list with %d "
                    "elements.",
                    (long long)*index, l->count);
}

static enum tfd_code set_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    struct tfd_variant *l;
    struct tfd_tensor item;
    int64_t index;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(check_index(k, l, &index, st));
    TFD_TRY(check_item(k, l, &k->in[2],
                       "Tried to set a tensor with incompatible shape at a "
                       "list index. Item element shape",
                       st));
    TFD_TRY(tfd_list_take(k, 0, &l, st));
    if (index >= l->count)
        rc = tfd_variant_resize(l, index + 1, st);
    if (rc == TFD_OK) {
        rc = tfd_kept_put(k, 2, &item, st);
        if (rc == TFD_OK)
            rc = tfd_variant_set(l, (int32_t)index, &item, st);
    }
    if (rc == TFD_OK)
        return tfd_list_output(k, 0, l, st);
    tfd_variant_unref(l);
    return rc;
}

static enum tfd_code resize_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *l;
    enum tfd_code rc;
    int64_t size;

    TFD_TRY(tfd_check_int(k, 1, &size, st));
    if (size < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorListSlice expects size to be non-negative. Got: "
                        "%lld",
                        (long long)size);
    TFD_TRY(tfd_list_take(k, 0, &l, st));
    rc = tfd_variant_resize(l, size, st);
    if (rc == TFD_OK)
        return tfd_list_output(k, 0, l, st);
    tfd_variant_unref(l);
    return rc;
}

/* ---- Asking -------------------------------------------------------------- */

static enum tfd_code length_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_variant *l;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = l->count;
    return TFD_OK;
}

static void put_dim(struct tfd_tensor *t, int i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

static enum tfd_code shape_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_dtype dtype = (enum tfd_dtype)k->node->out_types[0];
    struct tfd_variant *l;
    struct tfd_shape shape;
    int rank;

    TFD_TRY(tfd_list_get(k, 0, &l, st));
    rank = l->element_shape.rank;
    shape = (struct tfd_shape){rank < 0 ? 0 : 1, {rank < 0 ? 0 : rank}};
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &shape, st));
    if (rank < 0)
        put_dim(&k->out[0], 0, -1);
    for (int i = 0; i < rank; i++)
        put_dim(&k->out[0], i, l->element_shape.dim[i]);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define ELEMENT "element_dtype: type"
#define SHAPED ELEMENT "; shape_type: {int32, int64}"

static const struct tfd_opdef ops[] = {
    {
        .name = "EmptyTensorList",
        .inputs = "element_shape: shape_type, max_num_elements: int32",
        .outputs = "handle: variant",
        .attrs = SHAPED,
        .key = "element_dtype",
        .checks = "max_num_elements: scalar",
        .shape = tfd_shape_scalar,
    },
    {
        .name = "TensorListReserve",
        .inputs = "element_shape: shape_type, num_elements: int32",
        .outputs = "handle: variant",
        .attrs = SHAPED,
        .key = "element_dtype",
        .checks = "num_elements: scalar",
        .shape = tfd_shape_scalar,
    },
    {
        .name = "TensorListPushBack",
        .inputs = "input_handle: variant, tensor: element_dtype",
        .outputs = "output_handle: variant",
        .attrs = ELEMENT,
        .key = "element_dtype",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_push_gradient,
    },
    {
        .name = "TensorListPopBack",
        .inputs = "input_handle: variant, element_shape: int32",
        .outputs = "output_handle: variant, tensor: element_dtype",
        .attrs = ELEMENT,
        .key = "element_dtype",
        .grad = tfd_list_pop_gradient,
    },
    {
        .name = "TensorListGetItem",
        .inputs = "input_handle: variant, index: int32, element_shape: Tshape",
        .outputs = "item: element_dtype",
        .attrs = ELEMENT "; Tshape: {int32, int64} = DT_INT32",
        .key = "element_dtype",
        .checks = "index: scalar",
        .grad = tfd_list_get_gradient,
    },
    {
        .name = "TensorListSetItem",
        .inputs = "input_handle: variant, index: int32, item: element_dtype",
        .outputs = "output_handle: variant",
        .attrs = ELEMENT "; resize_if_index_out_of_bounds: bool = false",
        .key = "element_dtype",
        .checks = "index: scalar",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_set_gradient,
    },
    {
        .name = "TensorListResize",
        .inputs = "input_handle: variant, size: int32",
        .outputs = "output_handle: variant",
        .checks = "size: scalar",
        .shape = tfd_shape_scalar,
        .grad = tfd_list_resize_gradient,
    },
    {
        .name = "TensorListLength",
        .inputs = "input_handle: variant",
        .outputs = "length: int32",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "TensorListElementShape",
        .inputs = "input_handle: variant",
        .outputs = "element_shape: shape_type",
        .attrs = "shape_type: {int32, int64}",
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "TensorListConcatLists",
        .inputs = "input_a: variant, input_b: variant",
        .outputs = "output: variant",
        .attrs = ELEMENT,
        .key = "element_dtype",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("EmptyTensorList", empty_compute),
    TFD_KERNEL_ANY("TensorListReserve", reserve_compute),
    TFD_KERNEL_ANY("TensorListPushBack", push_compute),
    TFD_KERNEL_ANY("TensorListPopBack", tfd_list_compute_pop),
    TFD_KERNEL_ANY("TensorListGetItem", tfd_list_compute_get),
    TFD_KERNEL_ANY("TensorListSetItem", set_compute),
    TFD_KERNEL_ANY("TensorListResize", resize_compute),
    TFD_KERNEL_ANY("TensorListLength", length_compute),
    TFD_KERNEL_ANY("TensorListElementShape", shape_compute),
    TFD_KERNEL_ANY("TensorListConcatLists", tfd_list_compute_join),
};

const struct tfd_family tfd_family_tensor_list = {
    .name = "tensor_list",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
