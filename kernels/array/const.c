/*
 * const.c - values that come from the graph or the client, and ops that pass
 * their inputs on.
 *
 *     Const                   the tensor in attribute `value`
 *     Placeholder[V2]         must be fed; running one is the user's mistake
 *     PlaceholderWithDefault  its input, unless it is fed
 *     Identity, IdentityN, StopGradient, PreventGradient   their inputs
 *     GuaranteeConst          the same: a promise that nothing here needs
 *     FakeParam               memory of a shape, which nobody reads
 *     DeviceIndex             which of some kinds of device a CPU is
 *     IsTensorFloat32Enabled  true, as where nobody turned it off
 *     NoOp                    nothing: control edges meet here
 *
 * None of them copies: outputs share the buffer of the constant or the input.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"

/* ---- Const --------------------------------------------------------------- */

struct constant {
    struct tfd_tensor value;
};

static enum tfd_code const_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct constant *c = state;
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(p->node, "dtype", &dtype, st));
    TFD_TRY(tfd_node_tensor(p->node, "value", &c->value, st));
    if (c->value.dtype == dtype)
        return TFD_OK;
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "Type mismatch between value (%s) and dtype (%s)",
             tfd_dtype_name((int)c->value.dtype), tfd_dtype_name((int)dtype));
    tfd_tensor_unref(&c->value);
    return TFD_INVALID_ARGUMENT;
}

static void const_release(void *state)
{
    struct constant *c = state;

    tfd_tensor_unref(&c->value);
}

static enum tfd_code const_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct constant *c = k->state;

    (void)st;
    k->out[0] = tfd_tensor_ref(&c->value);
    return TFD_OK;
}

/* Only the head of the value is read: the graph may hold a large one. */
static enum tfd_code const_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return tfd_node_tensor_shape(s->node, "value", &s->out[0], st);
}

/* ---- Placeholder --------------------------------------------------------- */

static enum tfd_code placeholder_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = TFD_SHAPE_UNKNOWN;
    enum tfd_dtype dtype = TFD_DTYPE_INVALID;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(tfd_node_type(k->node, "dtype", &dtype, st));
    TFD_TRY(tfd_node_shape_any(k->node, "shape", &shape, st));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "You must feed a value for placeholder tensor '" TFD_STR_FMT
                    "' with dtype %s%s%s",
                    TFD_STR_ARG(k->node->name), tfd_dtype_name((int)dtype),
                    shape.rank > 0 ? " and shape " : "",
                    shape.rank > 0 ? tfd_shape_text(&shape, text) : "");
}

static enum tfd_code attr_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return tfd_node_shape_any(s->node, "shape", &s->out[0], st);
}

/* What may be fed must fit the attribute; what the input says is only known
 * of the default. */
static enum tfd_code default_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape both;

    TFD_TRY(attr_shape(s, st));
    both = s->out[0];
    return tfd_shape_merge(&both, &s->in[0], st);
}

/* ---- Ops that pass their inputs on --------------------------------------- */

static enum tfd_code noop_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    (void)st;
    return TFD_OK;
}

static enum tfd_code identity_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < k->in_count; i++)
        tfd_kctx_output_alias(k, i, i, &k->in[i].shape);
    return TFD_OK;
}

static enum tfd_code each_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->in_count; i++)
        s->out[i] = s->in[i];
    return TFD_OK;
}

static enum tfd_code identity_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    (void)st;
    for (int32_t i = 0; i < g->node->in_count; i++)
        g->dx[i] = g->dy[i];
    return TFD_OK;
}

static enum tfd_code prevented_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_str message = TFD_STR_EMPTY;

    TFD_TRY(tfd_node_str(g->node, "message", &message, st));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Gradient explicitly disabled. Reason: " TFD_STR_FMT,
                    TFD_STR_ARG(message));
}

/* ---- Answers of the place ------------------------------------------------ */

static const struct tfd_shape scalar_shape = {0, {0}};

/* What is not known of the shape is nothing: no element, no dimension. */
static enum tfd_code fake_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = TFD_SHAPE_UNKNOWN;

    TFD_TRY(tfd_node_shape_any(k->node, "shape", &shape, st));
    if (shape.rank == TFD_RANK_UNKNOWN)
        shape.rank = 0;
    for (int d = 0; d < shape.rank && d < TFD_RANK_MAX; d++)
        if (shape.dim[d] < 0)
            shape.dim[d] = 0;
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &shape,
                            st));
    tfd_elements_clear(&k->out[0]);
    return TFD_OK;
}

#define DEVICE_NAMES_MAX 64

/* The number of names where none is it. */
static enum tfd_code device_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_str names[DEVICE_NAMES_MAX];
    int count = 0, at = 0;

    TFD_TRY(tfd_node_strs(k->node, "device_names", names, DEVICE_NAMES_MAX,
                          &count, st));
    while (at < count && !tfd_str_is(names[at], "CPU"))
        at++;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar_shape, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = at;
    return TFD_OK;
}

static enum tfd_code float32_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar_shape, st));
    *(tfd_bool *)tfd_tensor_data(&k->out[0]) = true;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Const",
        .outputs = "output: dtype",
        .attrs = "value: tensor; dtype: type",
        .key = "dtype",
        .shape = const_shape,
        .flags = TFD_OP_CONST | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "Placeholder",
        .outputs = "output: dtype",
        .attrs = "dtype: type; shape: shape = { unknown_rank: true }",
        .key = "dtype",
        .shape = attr_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "PlaceholderV2",
        .outputs = "output: dtype",
        .attrs = "dtype: type; shape: shape",
        .key = "dtype",
        .shape = attr_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "PlaceholderWithDefault",
        .inputs = "input: dtype",
        .outputs = "output: dtype",
        .attrs = "dtype: type; shape: shape",
        .key = "dtype",
        .shape = default_shape,
        .grad = identity_gradient,
    },
    {
        .name = "Identity",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: type",
        .shape = each_shape,
        .grad = identity_gradient,
        .flags = TFD_OP_IDENTITY,
    },
    {
        .name = "IdentityN",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: list(type) >= 1",
        .shape = each_shape,
        .grad = identity_gradient,
        .flags = TFD_OP_IDENTITY,
    },
    {
        .name = "StopGradient",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: type",
        .shape = each_shape,
        .flags = TFD_OP_IDENTITY | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "PreventGradient",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: type; message: string = ''",
        .shape = each_shape,
        .grad = prevented_gradient,
        .flags = TFD_OP_IDENTITY,
    },
    {
        .name = "GuaranteeConst",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: type",
        .shape = each_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "FakeParam",
        .outputs = "output: dtype",
        .attrs = "dtype: type; shape: shape",
        .key = "dtype",
        .shape = attr_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DeviceIndex",
        .outputs = "index: int32",
        .attrs = "device_names: list(string)",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "IsTensorFloat32Enabled",
        .outputs = "enabled: bool",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "NoOp",
        .shape = tfd_shape_none,
        .flags = TFD_OP_NOOP | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Const", const_cpu, .prepare = const_prepare,
                   .release = const_release,
                   .state_size = sizeof(struct constant)),
    TFD_KERNEL_ANY("Placeholder", placeholder_cpu),
    TFD_KERNEL_ANY("PlaceholderV2", placeholder_cpu),
    TFD_KERNEL_ANY("PlaceholderWithDefault", identity_cpu),
    TFD_KERNEL_ANY("Identity", identity_cpu),
    TFD_KERNEL_ANY("IdentityN", identity_cpu, .flags = TFD_KERNEL_BY_TYPE),
    TFD_KERNEL_ANY("StopGradient", identity_cpu),
    TFD_KERNEL_ANY("PreventGradient", identity_cpu),
    TFD_KERNEL_ANY("GuaranteeConst", identity_cpu),
    TFD_KERNEL_ANY("FakeParam", fake_cpu),
    TFD_KERNEL_ANY("DeviceIndex", device_cpu),
    TFD_KERNEL_ANY("IsTensorFloat32Enabled", float32_cpu),
    TFD_KERNEL_ANY("NoOp", noop_cpu),
};

const struct tfd_family tfd_family_const = {
    .name = "const",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
