/*
 * variable.c - variables as references (Variable, VariableV2) and as resources
 * (VarHandleOp, ReadVariableOp, ...); assign.c writes them.
 *
 * Both kinds live in the same containers and are the same struct tfd_variable,
 * and tfd_kctx_variable() finds the one behind either kind of input.
 *
 * Values are never changed while others can see them (variable.h), so reading
 * costs a reference.
 */
#include "kernels/core/check.h"

#include "common/base/atomic.h"
#include "common/base/shape_long.h"
#include "kernels/core/families.h"
#include "kernels/core/kept.h"
#include "kernels/core/step_handle.h"
#include "kernels/state/variable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Finding and making -------------------------------------------------- */

/* What a VariableV2 node or a VarHandleOp node stands for. */
struct owner {
    struct tfd_str container, name; /* the graph's */
    struct tfd_variable_spec spec;
    struct tfd_lock lock;
    struct tfd_variable *variable; /* guarded; VariableV2 */
    struct tfd_handle *handle;     /* VarHandleOp */
};

static enum tfd_code owner_attrs(const struct tfd_prepare *p, struct owner *o,
                                 struct tfd_status *st)
{
    tfd_lock_init(&o->lock, TFD_LOCK_CONTAINER);
    TFD_TRY(tfd_node_str(p->node, "container", &o->container, st));
    TFD_TRY(tfd_node_str(p->node, "shared_name", &o->name, st));
    TFD_TRY(tfd_node_type(p->node, "dtype", &o->spec.dtype, st));
    return tfd_node_shape_any(p->node, "shape", &o->spec.shape, st);
}

static enum tfd_code ref_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct owner *o = state;

    TFD_TRY(owner_attrs(p, o, st));
    if (o->name.size == 0)
        o->name = p->node->name;
    o->spec.name = p->node->name;
    o->spec.type = &tfd_variable_ref_type;
    return TFD_OK;
}

static void owner_release(void *state)
{
    struct owner *o = state;

    if (o->variable)
        tfd_resource_unref(&o->variable->resource);
    if (o->handle)
        tfd_handle_unref(o->handle);
    tfd_lock_deinit(&o->lock);
}

/* The variable, counted for the caller.  Its container may have let go of the
 * one we know (Reset): then there is a new one under the same name. */
static enum tfd_code current(struct tfd_kctx *k, struct owner *o,
                             struct tfd_variable **out, struct tfd_status *st)
{
    struct tfd_resource *found, *old = NULL;

    tfd_lock(&o->lock);
    if (o->variable && !TFD_LOAD_ACQUIRE(&o->variable->resource.removed)) {
        *out = o->variable;
        tfd_resource_ref(&o->variable->resource);
        tfd_unlock(&o->lock);
        return TFD_OK;
    }
    tfd_unlock(&o->lock);
    TFD_TRY(tfd_rt_find_or_make(k->rt, o->container, o->name,
                                &tfd_variable_ref_type, tfd_variable_make,
                                &o->spec, &found, st));
    tfd_lock(&o->lock);
    if (o->variable)
        old = &o->variable->resource;
    o->variable = (struct tfd_variable *)tfd_resource_ref(found);
    tfd_unlock(&o->lock);
    if (old)
        tfd_resource_unref(old);
    *out = (struct tfd_variable *)found;
    return TFD_OK;
}

static enum tfd_code ref_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct owner *o = k->state;
    struct tfd_variable *v;

    TFD_TRY(current(k, o, &v, st));
    if (v->dtype != o->spec.dtype) {
        tfd_resource_unref(&v->resource);
        return tfd_fail(st, TFD_INTERNAL,
                        "Output 0 of type %s does not match declared output "
                        "type %s for node {{node " TFD_STR_FMT "}}",
                        tfd_dtype_name((int)v->dtype + TFD_REF),
                        tfd_dtype_name((int)o->spec.dtype + TFD_REF),
                        TFD_STR_ARG(k->node->name));
    }
    k->ref_out[0] = v;
    return TFD_OK;
}

/* ---- Handles ------------------------------------------------------------- */

static enum tfd_code handle_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct owner *o = state;
    struct tfd_str container;

    TFD_TRY(owner_attrs(p, o, st));
    container =
        o->container.size ? o->container : tfd_str_of(tfd_rt_container(p->rt));
    o->handle =
        tfd_handle_new(tfd_str_of(tfd_rt_device(p->rt)), container, o->name,
                       tfd_str_of(tfd_variable_type.name), 0, st);
    if (!o->handle)
        return st ? st->code : TFD_RESOURCE_EXHAUSTED;
    o->handle->dtype = o->spec.dtype;
    o->handle->shape = o->spec.shape;
    return TFD_OK;
}

/* Not a name but TensorFlow's word for none: each run makes a variable, which
 * lives as long as a handle to it. */
#define ANONYMOUS "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

static enum tfd_code make_anonymous(struct tfd_kctx *k, const struct owner *o,
                                    struct tfd_status *st)
{
    struct tfd_variable_spec spec = o->spec;
    struct tfd_resource *made;
    struct tfd_handle *handle;
    char name[48];

    snprintf(name, sizeof(name), "_AnonymousVar%" PRIu64, tfd_rt_unique(k->rt));
    spec.name = tfd_str_of(name);
    spec.type = &tfd_variable_type;
    TFD_TRY(tfd_variable_make(&spec, &made, st));
    TFD_TRY(tfd_step_resource(k, 0, spec.name, made, st));
    handle = *(struct tfd_handle **)tfd_tensor_data(&k->out[0]);
    handle->dtype = spec.dtype;
    handle->shape = spec.shape;
    handle->owns = true;
    return TFD_OK;
}

static enum tfd_code handle_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct owner *o = k->state;

    if (tfd_str_is(o->name, ANONYMOUS))
        return make_anonymous(k, o, st);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st));
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) =
        tfd_handle_ref(o->handle);
    return TFD_OK;
}

/* A read of a variable that is not there: TensorFlow's text, which monitored
 * sessions look for. */
static enum tfd_code not_initialized(const struct tfd_kctx *k,
                                     const struct tfd_status *why,
                                     struct tfd_status *st)
{
    const struct tfd_handle *h = tfd_kctx_handle(k, 0);
    struct tfd_str name = h ? h->name : TFD_STR_EMPTY;
    struct tfd_str container = h ? h->container : TFD_STR_EMPTY;

    if (why->code != TFD_NOT_FOUND && why->code != TFD_FAILED_PRECONDITION)
        return tfd_status_copy(st, why);
    return tfd_fail(
        st, TFD_FAILED_PRECONDITION,
        "Could not find variable " TFD_STR_FMT
        ". This could mean that the variable has been deleted. In TF1, it can "
        "also mean the variable is uninitialized. Debug info: "
        "container=" TFD_STR_FMT ", status error message=%s",
        TFD_STR_ARG(name), TFD_STR_ARG(container), why->text);
}

static enum tfd_code read_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor value = TFD_TENSOR_INIT;
    struct tfd_status why; /* kilobytes, of which most are never looked at */
    struct tfd_variable *v;
    enum tfd_code rc;

    tfd_status_clear(&why);
    if (tfd_kctx_variable(k, 0, &v, &why) != TFD_OK)
        return not_initialized(k, &why, st);
    rc = tfd_variable_read_held(v, &value, &why);
    tfd_resource_unref(&v->resource);
    if (rc != TFD_OK)
        return not_initialized(k, &why, st);
    if ((int)value.dtype == k->node->out_types[0])
        rc = tfd_kept_give(k, 0, &value, st);
    else
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Trying to read variable with wrong dtype. Expected %s "
                      "got %s",
                      tfd_dtype_name(k->node->out_types[0]),
                      tfd_dtype_name((int)value.dtype));
    tfd_tensor_unref(&value);
    return rc;
}

static enum tfd_code put_shape(struct tfd_kctx *k,
                               const struct tfd_tensor *value,
                               struct tfd_status *st)
{
    struct tfd_shape shape = {1, {value->shape.rank}};
    bool wide = k->node->out_types[0] == TFD_INT64;
    int64_t dim[TFD_RANK_LONG_MAX];

    TFD_TRY(tfd_kctx_output(k, 0, wide ? TFD_INT64 : TFD_INT32, &shape, st));
    tfd_shape_dims(&value->shape, dim);
    for (int i = 0; i < value->shape.rank; i++) {
        if (wide)
            ((int64_t *)tfd_tensor_data(&k->out[0]))[i] = dim[i];
        else
            ((int32_t *)tfd_tensor_data(&k->out[0]))[i] = (int32_t)dim[i];
    }
    return TFD_OK;
}

static enum tfd_code shape_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_with_value(k, put_shape, st);
}

static enum tfd_code destroy_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_handle *h = tfd_kctx_handle(k, 0);

    if (!h)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "DestroyResourceOp needs a scalar resource handle");
    return tfd_rt_destroy(k->rt, h->container, h->name, *(const bool *)k->state,
                          st);
}

/* Reads are snapshots anyway: a hint about copies asks for nothing more than
 * that the variable is there. */
static enum tfd_code no_copy_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_variable *v;

    if (tfd_kctx_variable(k, 0, &v, &why) != TFD_OK)
        return not_initialized(k, &why, st);
    tfd_resource_unref(&v->resource);
    return TFD_OK;
}

static enum tfd_code destroy_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    return tfd_node_bool(p->node, "ignore_lookup_error", state, st);
}

/* ---- Initialized? -------------------------------------------------------- */

static enum tfd_code put_bool(struct tfd_kctx *k, bool value,
                              struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    *(tfd_bool *)tfd_tensor_data(&k->out[0]) = value;
    return TFD_OK;
}

static enum tfd_code initialized_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_variable *v;
    struct tfd_status why;
    bool initialized;

    tfd_status_clear(&why);
    if (tfd_kctx_variable(k, 0, &v, &why) != TFD_OK) {
        if (why.code != TFD_NOT_FOUND)
            return tfd_status_copy(st, &why);
        return put_bool(k, false, st);
    }
    tfd_lock(&v->lock);
    initialized = v->initialized;
    tfd_unlock(&v->lock);
    tfd_resource_unref(&v->resource);
    return put_bool(k, initialized, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code attr_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return s->node ? tfd_node_shape_any(s->node, "shape", &s->out[0], st)
                   : TFD_OK;
}

/* What Variable says of a scalar is that nothing is known. */
static enum tfd_code old_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    TFD_TRY(attr_shape(s, st));
    if (s->out[0].rank == 0)
        s->out[0].rank = TFD_RANK_UNKNOWN;
    return TFD_OK;
}

/* ---- RefIdentity --------------------------------------------------------- */

static enum tfd_code ref_identity_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    return tfd_kctx_variable(k, 0, &k->ref_out[0], st);
}

/* ---- RefSelect ----------------------------------------------------------- */

static enum tfd_code select_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const int count = k->in_count - 1;
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t at;

    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Index must be a scalar, but it has shape %s",
                        tfd_shape_text(&k->in[0].shape, text));
    TFD_TRY(tfd_check_int(k, 0, &at, st));
    if (at < 0 || at >= count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Index must be in the range [0, %d) but got %lld",
                        count, (long long)at);
    return tfd_kctx_variable(k, 1 + (int)at, &k->ref_out[0], st);
}

/* ---- Gradients ----------------------------------------------------------- */

/* Reading: the gradient of the value is that of the variable. */
static enum tfd_code read_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    (void)st;
    g->dx[0] = g->dy[0];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define VARIABLE(name_, shape_)                                        \
    {                                                                  \
        .name = name_, .inputs = "", .outputs = "ref: Ref(dtype)",     \
        .attrs = "shape: shape; dtype: type; container: string = ''; " \
                 "shared_name: string = ''",                           \
        .key = "dtype", .shape = shape_,                               \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                 \
    }

static const struct tfd_opdef ops[] = {
    VARIABLE("Variable", old_shape),
    VARIABLE("VariableV2", attr_shape),
    {
        .name = "RefIdentity",
        .inputs = "input: Ref(T)",
        .outputs = "output: Ref(T)",
        .attrs = "T: type",
        .shape = tfd_shape_like_first,
        .grad = read_gradient,
        .flags = TFD_OP_UNINITIALIZED_OK,
    },
    {
        .name = "RefSelect",
        .inputs = "index: int32, inputs: Ref(N * T)",
        .outputs = "output: Ref(T)",
        .attrs = "T: type; N: int >= 1",
        .flags = TFD_OP_UNINITIALIZED_OK,
    },
    {
        .name = "IsVariableInitialized",
        .inputs = "ref: Ref(dtype)",
        .outputs = "is_initialized: bool",
        .attrs = "dtype: type",
        .key = "dtype",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_UNINITIALIZED_OK | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "VarHandleOp",
        .inputs = "",
        .outputs = "resource: resource",
        .attrs = "container: string = ''; shared_name: string = ''; "
                 "debug_name: string = ''; dtype: type; shape: shape; "
                 "allowed_devices: list(string) = []",
        .key = "dtype",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ReadVariableOp",
        .inputs = "resource: resource",
        .outputs = "value: dtype",
        .attrs = "dtype: type",
        .checks = "resource: scalar",
        .key = "dtype",
        .grad = read_gradient,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "VariableShape",
        .inputs = "input: resource",
        .outputs = "output: out_type",
        .attrs = "out_type: {int32, int64} = DT_INT32",
        .checks = "input: scalar",
        .key = "out_type",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "VarIsInitializedOp",
        .inputs = "resource: resource",
        .outputs = "is_initialized: bool",
        .attrs = "",
        .checks = "resource: scalar",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DisableCopyOnRead",
        .inputs = "resource: resource",
        .outputs = "",
        .attrs = "",
        .checks = "resource: scalar",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DestroyResourceOp",
        .inputs = "resource: resource",
        .outputs = "",
        .attrs = "ignore_lookup_error: bool = true",
        .checks = "resource: scalar",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Variable", ref_compute, .prepare = ref_prepare,
                   .release = owner_release,
                   .state_size = sizeof(struct owner)),
    TFD_KERNEL_ANY("RefIdentity", ref_identity_compute),
    TFD_KERNEL_ANY("RefSelect", select_compute),
    TFD_KERNEL_ANY("VariableV2", ref_compute, .prepare = ref_prepare,
                   .release = owner_release,
                   .state_size = sizeof(struct owner)),
    TFD_KERNEL_ANY("IsVariableInitialized", initialized_compute),
    TFD_KERNEL_ANY("VarHandleOp", handle_compute, .prepare = handle_prepare,
                   .release = owner_release,
                   .state_size = sizeof(struct owner)),
    TFD_KERNEL_ANY("ReadVariableOp", read_compute),
    TFD_KERNEL_ANY("VariableShape", shape_compute),
    TFD_KERNEL_ANY("VarIsInitializedOp", initialized_compute),
    TFD_KERNEL_ANY("DisableCopyOnRead", no_copy_compute),
    TFD_KERNEL_ANY("DestroyResourceOp", destroy_compute,
                   .prepare = destroy_prepare, .state_size = sizeof(bool)),
};

const struct tfd_family tfd_family_variable = {
    .name = "variable",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
