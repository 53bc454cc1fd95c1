/*
 * assign.c - writing variables of either kind: Assign, AssignAdd, AssignSub and
 * the same on resources.
 *
 * Both kinds are the same struct tfd_variable (variable.c), so every update has
 * one kernel for both: tfd_kctx_variable() finds the variable behind either
 * kind of input.  Values are never changed while others can see them
 * (variable.h), so Assign adopts its input.
 */
#include "common/base/alloc.h"
#include "common/base/shape_long.h"
#include "kernels/math/binary.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/kept.h"
#include "kernels/layout/long_shape.h"
#include "kernels/state/training.h"
#include "kernels/state/variable.h"

#include <stdlib.h>
#include <string.h>

/* ---- Assign -------------------------------------------------------------- */

static enum tfd_code assign_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_node_bool(p->node, "validate_shape", state, st);
}

static enum tfd_code check_assign(struct tfd_variable *v,
                                  const struct tfd_tensor *value,
                                  struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape declared;

    tfd_lock(&v->lock);
    declared = v->initialized ? v->value.shape : v->shape;
    tfd_unlock(&v->lock);
    if (tfd_shape_merge(&declared, &value->shape, NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Assign requires shapes of both tensors to match. lhs "
                    "shape= %s rhs shape= %s",
                    tfd_shape_text(&declared, want),
                    tfd_shape_text(&value->shape, have));
}

/* Of a small part of something larger, which would be kept for as long as the
 * variable has it, a copy takes the place. */
static enum tfd_code own_value(struct tfd_tensor *value, struct tfd_status *st)
{
    struct tfd_tensor part = *value;

    if (!part.buffer || !tfd_dtype_is_pod(part.dtype) ||
        !tfd_buffer_is_small_slice(part.buffer))
        return TFD_OK;
    TFD_TRY(tfd_tensor_new(value, part.dtype, &part.shape, st));
    memcpy(tfd_tensor_data(value), tfd_tensor_data(&part),
           tfd_tensor_size(&part));
    tfd_tensor_unref(&part);
    return TFD_OK;
}

/* Kernels ask a variable's declared shape, without its lock, whether its value
 * may be long. */
static enum tfd_code check_adopted(const struct tfd_variable *v,
                                   const struct tfd_tensor *value,
                                   struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_is_long(&value->shape) || tfd_shape_is_long(&v->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "A value of shape %s for variable %s, which was "
                    "declared with shape %s; a value of over %d dimensions "
                    "wants a declared shape of as many",
                    tfd_shape_text(&value->shape, have), v->name,
                    tfd_shape_text(&v->shape, want), TFD_RANK_MAX);
}

static enum tfd_code adopt(struct tfd_variable *v,
                           struct tfd_tensor *take_value, struct tfd_status *st)
{
    enum tfd_code rc = check_adopted(v, take_value, st);

    if (rc == TFD_OK)
        rc = own_value(take_value, st);
    if (rc == TFD_OK)
        tfd_variable_set(v, take_value);
    else
        tfd_tensor_unref(take_value);
    return rc;
}

static enum tfd_code assign_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variable *v = k->ref[0];
    struct tfd_tensor value;

    if (*(const bool *)k->state)
        TFD_TRY(check_assign(v, &k->in[1], st));
    value = tfd_tensor_ref(&k->in[1]);
    TFD_TRY(adopt(v, &value, st));
    tfd_resource_ref(&v->resource);
    k->ref_out[0] = v;
    return TFD_OK;
}

static enum tfd_code wrong_type(const struct tfd_variable *v,
                                const struct tfd_tensor *value,
                                struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Trying to assign variable with wrong dtype. Expected %s "
                    "got %s",
                    tfd_dtype_name((int)v->dtype),
                    tfd_dtype_name((int)value->dtype));
}

/* The shape that a handle declares binds nobody; that of the first value does
 * bind those who ask for it. */
static enum tfd_code check_same_shape(struct tfd_variable *v,
                                      const struct tfd_tensor *value,
                                      struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape old;
    bool initialized;

    tfd_lock(&v->lock);
    initialized = v->initialized;
    old = v->value.shape;
    tfd_unlock(&v->lock);
    if (!initialized || tfd_shape_equal(&old, &value->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Trying to assign to variable with tensor with wrong "
                    "shape. Expected %s got %s",
                    tfd_shape_text(&old, want),
                    tfd_shape_text(&value->shape, have));
}

/* Makes the variable if the handle's is not there yet. */
static enum tfd_code assign_handle_compute(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    const struct tfd_handle *h = tfd_kctx_handle(k, 0);
    struct tfd_variable_spec spec;
    struct tfd_tensor value;
    struct tfd_status why; /* kilobytes, of which most are never looked at */
    struct tfd_resource *r;
    struct tfd_variable *v;
    enum tfd_code rc = TFD_OK;

    tfd_status_clear(&why);
    if (tfd_kctx_variable(k, 0, &v, &why) != TFD_OK) {
        if (why.code != TFD_NOT_FOUND || !h)
            return tfd_status_copy(st, &why);
        spec = (struct tfd_variable_spec){&tfd_variable_type, h->name,
                                          k->in[1].dtype, h->shape};
        TFD_TRY(tfd_rt_find_or_make(k->rt, h->container, h->name,
                                    &tfd_variable_type, tfd_variable_make,
                                    &spec, &r, st));
        v = (struct tfd_variable *)r;
    }
    if (v->dtype != k->in[1].dtype)
        rc = wrong_type(v, &k->in[1], st);
    else if (*(const bool *)k->state)
        rc = check_same_shape(v, &k->in[1], st);
    if (rc == TFD_OK) /* which may hold a reference variable's memory */
        rc = tfd_kept_put(k, 1, &value, st);
    if (rc == TFD_OK)
        rc = adopt(v, &value, st);
    tfd_resource_unref(&v->resource);
    return rc;
}

/* ---- AssignAdd, AssignSub ------------------------------------------------ */

static enum tfd_code update_locked(struct tfd_kctx *k, struct tfd_variable *v,
                                   tfd_range_fn *loop, struct tfd_status *st)
{
    const struct tfd_tensor *by = &k->in[1];
    struct tfd_row row = {.a_step = 1, .b_step = 1};

    /* A copy for somebody else's type would be in vain. */
    if (v->dtype == by->dtype)
        TFD_TRY(tfd_variable_writable(v, st));
    TFD_TRY(tfd_training_check_update(k, v, st));
    row.a = row.y = tfd_tensor_data(&v->value);
    row.b = tfd_tensor_data(by);
    tfd_elementwise_updates(k, by->dtype, 1, tfd_tensor_elements(by), loop,
                            &row);
    return TFD_OK;
}

/* Wraps on overflow, as AddV2 and Sub do. */
static enum tfd_code add_locked(struct tfd_kctx *k, struct tfd_variable *v,
                                struct tfd_status *st)
{
    return update_locked(k, v, tfd_binary_add_loop(k->kernel->dtype), st);
}

static enum tfd_code sub_locked(struct tfd_kctx *k, struct tfd_variable *v,
                                struct tfd_status *st)
{
    return update_locked(k, v, tfd_binary_sub_loop(k->kernel->dtype), st);
}

static enum tfd_code add_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_change_variable(k, add_locked, st);
}

static enum tfd_code sub_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_change_variable(k, sub_locked, st);
}

/* ---- Shapes -----------------------------------------------------------------
 */

static enum tfd_code assign_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    bool validate = false;

    if (s->node)
        TFD_TRY(tfd_node_bool(s->node, "validate_shape", &validate, st));
    s->out[0] = s->in[1];
    return validate ? tfd_shape_merge(&s->out[0], &s->in[0], st) : TFD_OK;
}

static enum tfd_code update_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    s->out[0] = s->in[0];
    return tfd_shape_merge(&s->out[0], &s->in[1], st);
}

/* ---- Tables -------------------------------------------------------------- */

#define UPDATE_ATTRS "T: numbertype; use_locking: bool = false"

static const struct tfd_opdef ops[] = {
    {
        .name = "Assign",
        .inputs = "ref: Ref(T), value: T",
        .outputs = "output_ref: Ref(T)",
        .attrs = "T: type; validate_shape: bool = true; "
                 "use_locking: bool = true",
        .shape = assign_shape,
        .flags = TFD_OP_UNINITIALIZED_OK | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AssignVariableOp",
        .inputs = "resource: resource, value: dtype",
        .outputs = "",
        .attrs = "dtype: type; validate_shape: bool = false",
        .checks = "resource: scalar",
        .key = "dtype",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AssignAdd",
        .inputs = "ref: Ref(T), value: T",
        .outputs = "output_ref: Ref(T)",
        .attrs = UPDATE_ATTRS,
        .shape = update_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AssignSub",
        .inputs = "ref: Ref(T), value: T",
        .outputs = "output_ref: Ref(T)",
        .attrs = UPDATE_ATTRS,
        .shape = update_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AssignAddVariableOp",
        .inputs = "resource: resource, value: dtype",
        .outputs = "",
        .attrs = "dtype: type",
        .checks = "resource: scalar",
        .key = "dtype",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "AssignSubVariableOp",
        .inputs = "resource: resource, value: dtype",
        .outputs = "",
        .attrs = "dtype: type",
        .checks = "resource: scalar",
        .key = "dtype",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define UPDATE(name, number, T)                               \
    TFD_KERNEL("AssignAdd", name, add_compute),               \
        TFD_KERNEL("AssignSub", name, sub_compute),           \
        TFD_KERNEL("AssignAddVariableOp", name, add_compute), \
        TFD_KERNEL("AssignSubVariableOp", name, sub_compute),

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Assign", assign_compute, .prepare = assign_prepare,
                   .state_size = sizeof(bool)),
    TFD_KERNEL_ANY("AssignVariableOp", assign_handle_compute,
                   .prepare = assign_prepare, .state_size = sizeof(bool)),
    TFD_INT_DTYPES(UPDATE) TFD_FLOAT_DTYPES(UPDATE) TFD_HALF_DTYPES(UPDATE)
        TFD_COMPLEX_DTYPES(UPDATE)};

const struct tfd_family tfd_family_assign = {
    .name = "assign",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
