/*
 * tensor_array_core.c - see tensor_array.h.
 */
#include "kernels/core/check.h"
#include "kernels/core/kept.h"
#include "kernels/core/op_memory.h"
#include "kernels/list/tensor_array.h"
#include "kernels/list/variant_math.h"

#include "common/thread/halt.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arrays -------------------------------------------------------------- */

static void free_slots(struct tfd_tensor_array_slot *slots, int64_t last_used)
{
    for (int64_t i = last_used; i >= 0; i = slots[i].next)
        tfd_tensor_unref(&slots[i].value);
    free(slots);
}

/* Values are freed without the lock: with the last handle of another resource
 * that one goes, and takes locks of its own. */
static void array_empty(struct tfd_resource *r)
{
    struct tfd_tensor_array *a = (struct tfd_tensor_array *)r;
    struct tfd_tensor_array_slot *slots;
    int64_t last_used;

    tfd_lock(&a->lock);
    a->closed = true;
    slots = a->slots;
    last_used = a->last_used;
    a->slots = NULL;
    a->last_used = -1;
    a->count = a->capacity = 0;
    tfd_unlock(&a->lock);
    free_slots(slots, last_used);
}

static void array_free(struct tfd_resource *r)
{
    struct tfd_tensor_array *a = (struct tfd_tensor_array *)r;

    while (a->gradients) {
        struct tfd_tensor_array *next = a->gradients->next_gradient;

        tfd_resource_unref(&a->gradients->resource);
        a->gradients = next;
    }
    free_slots(a->slots, a->last_used);
    free(a->source);
    tfd_lock_deinit(&a->lock);
    free(a);
}

const struct tfd_resource_type tfd_tensor_array_type = {
    .name = "N10tensorflow11TensorArrayE",
    .what = "tensor array",
    .free = array_free,
    .empty = array_empty,
};

struct tfd_tensor_array *tfd_tensor_array_new(enum tfd_dtype dtype,
                                              struct tfd_str name,
                                              struct tfd_status *st)
{
    struct tfd_tensor_array *a = calloc(1, sizeof(*a));
    size_t n = name.size < sizeof(a->name) ? name.size : sizeof(a->name) - 1;

    if (!a) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a tensor array");
        return NULL;
    }
    tfd_resource_init(&a->resource, &tfd_tensor_array_type);
    tfd_lock_init(&a->lock, TFD_LOCK_RESOURCE);
    a->dtype = dtype;
    a->last_used = -1;
    a->element_shape.rank = TFD_RANK_UNKNOWN;
    memcpy(a->name, name.data, n);
    return a;
}

enum tfd_code tfd_tensor_array_find(struct tfd_kctx *k,
                                    struct tfd_tensor_array **out,
                                    struct tfd_status *st)
{
    struct tfd_tensor_array *a;
    struct tfd_resource *r;

    TFD_TRY(tfd_step_find(k, &tfd_tensor_array_type, &r, st));
    a = (struct tfd_tensor_array *)r;
    tfd_lock(&a->lock);
    *out = a;
    if (!a->closed)
        return TFD_OK;
    tfd_tensor_array_leave(a);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "TensorArray %s has already been closed.", a->name);
}

void tfd_tensor_array_leave(struct tfd_tensor_array *a)
{
    tfd_unlock(&a->lock);
    tfd_resource_unref(&a->resource);
}

/* Memory that calloc() has from the system is zero without being touched. */
static bool enlarge(struct tfd_tensor_array *a, int64_t capacity)
{
    struct tfd_tensor_array_slot *more =
        calloc((size_t)capacity, sizeof(*more));

    if (!more)
        return false;
    for (int64_t i = a->last_used; i >= 0; i = a->slots[i].next)
        more[i] = a->slots[i];
    free(a->slots);
    a->slots = more;
    a->capacity = capacity;
    return true;
}

struct tfd_tensor_array_slot *
tfd_tensor_array_slot_use(struct tfd_tensor_array *a, int64_t index)
{
    struct tfd_tensor_array_slot *slot = &a->slots[index];

    assert(index >= 0 && index < a->count);
    if (!slot->in_use) {
        slot->in_use = true;
        slot->next = a->last_used;
        a->last_used = index;
    }
    return slot;
}

enum tfd_code tfd_tensor_array_resize(struct tfd_tensor_array *a, int64_t count,
                                      struct tfd_status *st)
{
    int64_t capacity = a->capacity;

    if (count > TFD_VARIANT_TENSORS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "TensorArray %s of %lld tensors; the limit is %d",
                        a->name, (long long)count, TFD_VARIANT_TENSORS_MAX);
    if (count > capacity) {
        capacity = count > 2 * capacity ? count : 2 * capacity;
        if (!enlarge(a, capacity))
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for a tensor array of %lld",
                            (long long)count);
    }
    if (count > a->count)
        a->count = count;
    return TFD_OK;
}

/* ---- Writing ------------------------------------------------------------- */

static enum tfd_code add_to(const struct tfd_kctx *k,
                            struct tfd_tensor_array_slot *slot,
                            const struct tfd_tensor *value,
                            struct tfd_status *st)
{
    struct tfd_tensor sum;

    if (value->dtype == TFD_VARIANT)
        TFD_TRY(tfd_variant_add(k, &slot->value, value, &sum, st));
    else
        TFD_TRY(tfd_op_memory_add(k, &slot->value, value, &sum, st));
    tfd_tensor_unref(&slot->value);
    slot->value = sum;
    return TFD_OK;
}

static enum tfd_code check_write(struct tfd_tensor_array *a, int64_t index,
                                 const struct tfd_tensor *value,
                                 struct tfd_status *st)
{
    char own[TFD_SHAPE_TEXT_MAX], array[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape = a->element_shape;

    if (index < 0 || (index >= a->count && !a->dynamic))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorArray %s: Tried to write to index %lld but "
                        "array is not resizeable and size is: %lld",
                        a->name, (long long)index, (long long)a->count);
    if (value->dtype != a->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorArray %s: Could not write to TensorArray index "
                        "%lld because the value dtype is %s but TensorArray "
                        "dtype is %s.",
                        a->name, (long long)index,
                        tfd_dtype_name((int)value->dtype),
                        tfd_dtype_name((int)a->dtype));
    if (tfd_shape_merge(&shape, &value->shape, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorArray %s: Could not write to TensorArray index "
                        "%lld because the value shape is %s which is "
                        "incompatible with the TensorArray's inferred element "
                        "shape: %s (consider setting infer_shape=False).",
                        a->name, (long long)index,
                        tfd_shape_text(&value->shape, own),
                        tfd_shape_text(&a->element_shape, array));
    return TFD_OK;
}

enum tfd_code tfd_tensor_array_write(const struct tfd_kctx *k,
                                     struct tfd_tensor_array *a, int64_t index,
                                     const struct tfd_tensor *value,
                                     struct tfd_status *st)
{
    struct tfd_tensor_array_slot *slot;

    TFD_TRY(check_write(a, index, value, st));
    if (index >= a->count)
        TFD_TRY(tfd_tensor_array_resize(a, index + 1, st));
    slot = tfd_tensor_array_slot_use(a, index);
    if (slot->read || (slot->written && !a->adds))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorArray %s: Could not write to TensorArray index "
                        "%lld because it has already been %s.",
                        a->name, (long long)index,
                        slot->read ? "read" : "written to");
    if (slot->value.dtype != TFD_DTYPE_INVALID)
        return add_to(k, slot, value, st);
    if (a->identical)
        a->element_shape = value->shape;
    slot->value = tfd_tensor_ref(value);
    slot->shape = value->shape;
    slot->written = true;
    return TFD_OK;
}

/* ---- Reading ------------------------------------------------------------- */

static enum tfd_code unwritten(const struct tfd_kctx *k,
                               const struct tfd_tensor_array *a, int64_t index,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_tensor_array_slot *slot = &a->slots[index];
    struct tfd_shape shape = slot->written ? slot->shape : a->element_shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_elements(&shape) < 0)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "TensorArray %s: Could not read from TensorArray index %lld.  "
            "Furthermore, the element shape is not fully defined: %s.  It is "
            "possible you are working with a resizeable TensorArray and "
            "stop_gradients is not allowing the gradients to be written.  If "
            "you set the full element_shape property on the forward "
            "TensorArray, the proper all-zeros tensor will be returned instead "
            "of incurring this error.",
            a->name, (long long)index, tfd_shape_text(&shape, text));
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    return tfd_op_memory_zeros(k, a->dtype, &shape, out, st);
}

enum tfd_code tfd_tensor_array_read_held(const struct tfd_kctx *k,
                                         struct tfd_tensor_array *a,
                                         int64_t index, struct tfd_tensor *out,
                                         struct tfd_status *st)
{
    struct tfd_tensor_array_slot *slot;

    if (index < 0 || index >= a->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorArray %s: Tried to read from index %lld but "
                        "array size is: %lld",
                        a->name, (long long)index, (long long)a->count);
    if (tfd_halted())
        return tfd_halt_fail(st);
    slot = tfd_tensor_array_slot_use(a, index);
    if (slot->cleared)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorArray %s: Could not read index %lld twice "
                        "because it was cleared after a previous read (perhaps "
                        "try setting clear_after_read = false?).",
                        a->name, (long long)index);
    if (slot->value.dtype == TFD_DTYPE_INVALID)
        TFD_TRY(unwritten(k, a, index, out, st));
    else
        *out = tfd_tensor_ref(&slot->value);
    slot->read = true;
    if (a->clear_after_read) {
        tfd_tensor_unref(&slot->value);
        slot->cleared = true;
    }
    return TFD_OK;
}

enum tfd_code tfd_tensor_array_read(const struct tfd_kctx *k,
                                    struct tfd_tensor_array *a, int64_t index,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st)
{
    TFD_TRY(tfd_tensor_array_read_held(k, a, index, out, st));
    return tfd_kept_take(out, st);
}

enum tfd_code tfd_tensor_array_flow(struct tfd_kctx *k, int in, int out,
                                    struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    if (in >= 0) {
        tfd_kctx_output_alias(k, in, out, &k->in[in].shape);
        return TFD_OK;
    }
    return tfd_op_memory_zeros(k, TFD_FLOAT, &scalar, &k->out[out], st);
}
