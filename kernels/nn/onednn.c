/*
 * onednn.c - what graph optimizers make of other ops where TensorFlow has its
 * oneDNN kernels, as it has by default on x86:
 *
 *     _FusedDepthwiseConv2dNative  DepthwiseConv2dNative, BiasAdd[, activation]
 *     _FusedBatchNormEx            FusedBatchNormV3[, AddV2][, Relu]
 *     _MklSwish, _MklFusedMish     x * Sigmoid(x), x * Tanh(Softplus(x))
 *     _MklFusedBatchMatMulV2       BatchMatMulV2[, Mul][, AddV2]
 *
 * A master makes them before it sends parts of a graph to workers, whatever
 * these are; see also fused.c.
 */
#include "kernels/core/families.h"

#include "common/base/str.h"
#include "kernels/linalg/batch_matmul.h"
#include "kernels/nn/batch_norm.h"
#include "kernels/core/check.h"
#include "kernels/conv/depthwise.h"
#include "kernels/nn/fused.h"

/* ---- _FusedDepthwiseConv2dNative ----------------------------------------- */

/* Begins with the state that the convolution wants. */
struct depthwise {
    struct tfd_window window;
    struct tfd_epilogue epilogue;
};

static enum tfd_code depthwise_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    static const char *const activations[] = {
        "Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid", NULL};
    struct depthwise *d = state;

    TFD_TRY(tfd_depthwise_prepare(p, &d->window, st));
    return tfd_epilogue_prepare(p, activations, false, &d->epilogue, st);
}

static enum tfd_code depthwise_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct depthwise *d = k->state;
    struct tfd_depthwise size;
    struct tfd_shape y;

    if (d->window.channels_second)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Fused depthwise convolutions on a CPU are only in the "
                        "NHWC tensor format");
    TFD_TRY(tfd_depthwise_measure(&d->window, &k->in[0].shape, &k->in[1].shape,
                                  &size, &y, st));
    TFD_TRY(tfd_epilogue_check(&d->epilogue, k, y.dim[3], st));
    TFD_TRY(tfd_depthwise_compute(k, st));
    return tfd_epilogue_run(&d->epilogue, k, st);
}

/* ---- Loops over whole tensors -------------------------------------------- */

/* out = loop(a, b), in the order of the elements. */
static void run_loop(struct tfd_kctx *k, tfd_range_fn *loop, const void *a,
                     const void *b, void *y)
{
    struct tfd_row row = {.a = a, .b = b, .y = y, .a_step = 1, .b_step = 1};

    tfd_kctx_parallel(k, tfd_tensor_elements(&k->out[0]), 2, loop, &row);
}

/* ---- _FusedBatchNormEx --------------------------------------------------- */

#define SIDE TFD_FUSED_NORM_SIDE

struct batch_norm {
    struct tfd_batch_norm norm;
    bool relu;
    tfd_range_fn *add, *activation;
};

enum tfd_code tfd_fused_norm_prepare(const struct tfd_prepare *p, bool *relu,
                                     struct tfd_status *st)
{
    struct tfd_str mode;

    TFD_TRY(tfd_node_str(p->node, "activation_mode", &mode, st));
    *relu = tfd_str_is(mode, "Relu");
    if (!*relu && !tfd_str_is(mode, "Identity"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unsupported activation mode: " TFD_STR_FMT,
                        TFD_STR_ARG(mode));
    if (p->node->in_count > SIDE + 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "FusedBatchNorm accepts at most one side input, not %d",
                        (int)(p->node->in_count - SIDE));
    return TFD_OK;
}

enum tfd_code tfd_fused_norm_check(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    if (k->in_count > SIDE &&
        !tfd_shape_equal(&k->in[SIDE].shape, &k->in[0].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "side_input shape must be equal to input shape");
    return TFD_OK;
}

static enum tfd_code norm_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct batch_norm *b = state;
    enum tfd_dtype dtype;

    TFD_TRY(tfd_batch_norm_prepare(p, &b->norm, st));
    TFD_TRY(tfd_node_type(p->node, "T", &dtype, st));
    TFD_TRY(tfd_fused_norm_prepare(p, &b->relu, st));
    b->add = p->loop("AddV2", dtype);
    b->activation = p->loop("Relu", dtype);
    return TFD_OK;
}

static enum tfd_code norm_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct batch_norm *b = k->state;
    void *y;

    TFD_TRY(tfd_fused_norm_check(k, st));
    TFD_TRY(tfd_batch_norm_compute(k, st));
    y = tfd_tensor_data(&k->out[0]);
    if (!y)
        return TFD_OK;
    if (k->in_count > SIDE)
        run_loop(k, b->add, y, tfd_tensor_data(&k->in[SIDE]), y);
    if (b->relu)
        run_loop(k, b->activation, y, NULL, y);
    return TFD_OK;
}

/* ---- _MklSwish, _MklFusedMish -------------------------------------------- */

/* x times functions of x, one after the other. */
struct gate {
    tfd_range_fn *function[2]; /* NULL: none */
    tfd_range_fn *mul;
};

static enum tfd_code gate_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    const bool mish = tfd_str_is(p->node->op->name, "_MklFusedMish");
    struct gate *g = state;
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(p->node, "T", &dtype, st));
    g->function[0] = p->loop(mish ? "Softplus" : "Sigmoid", dtype);
    g->function[1] = mish ? p->loop("Tanh", dtype) : NULL;
    g->mul = p->loop("Mul", dtype);
    return TFD_OK;
}

static enum tfd_code gate_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct gate *g = k->state;
    const void *x = tfd_tensor_data(&k->in[0]);
    void *y;

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    y = tfd_tensor_data(&k->out[0]);
    if (!y)
        return TFD_OK;
    run_loop(k, g->function[0], x, NULL, y);
    if (g->function[1])
        run_loop(k, g->function[1], y, NULL, y);
    run_loop(k, g->mul, x, y, y);
    return TFD_OK;
}

/* ---- _MklFusedBatchMatMulV2 ---------------------------------------------- */

#define FIRST 2 /* the input that the operands begin with */
#define STEPS_MAX 2

/* Begins with the state that the products want. */
struct products {
    struct tfd_batch_matmul product;
    tfd_range_fn *loop[STEPS_MAX]; /* one for each operand */
};

static enum tfd_code products_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct products *s = state;
    struct tfd_str steps[STEPS_MAX];
    enum tfd_dtype dtype;
    int count;

    TFD_TRY(tfd_batch_matmul_prepare(p, &s->product, st));
    TFD_TRY(tfd_node_type(p->node, "T", &dtype, st));
    TFD_TRY(tfd_node_strs(p->node, "fused_ops", steps, STEPS_MAX, &count, st));
    if (count != p->node->in_count - FIRST)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "_MklFusedBatchMatMulV2 has %d fused ops and %d "
                        "operands of them",
                        count, (int)p->node->in_count - FIRST);
    for (int i = 0; i < count; i++) {
        const bool mul = tfd_str_is(steps[i], "Mul");

        if (!mul && !tfd_str_is(steps[i], "Add"))
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "Fusion is not implemented: " TFD_STR_FMT,
                            TFD_STR_ARG(steps[i]));
        s->loop[i] = p->loop(mul ? "Mul" : "AddV2", dtype);
    }
    return TFD_OK;
}

/* Output 0 = loop(output 0, operand), in place where that is free. */
static enum tfd_code apply_loop(struct tfd_kctx *k, tfd_range_fn *loop,
                                const struct tfd_tensor *operand,
                                struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, TFD_COST_MEMORY, NULL,
                                      loop};
    struct tfd_tensor in[] = {k->out[0], *operand};
    struct tfd_tensor out = {0};
    struct tfd_kctx two = *k;

    two.in = in;
    two.in_count = 2;
    two.out = &out;
    two.ref = NULL;
    TFD_TRY(tfd_elementwise_binary(&two, &e, st));
    tfd_tensor_unref(&k->out[0]);
    k->out[0] = out;
    return TFD_OK;
}

static enum tfd_code products_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct products *s = k->state;

    TFD_TRY(tfd_batch_matmul_compute(k, st));
    for (int i = FIRST; i < k->in_count; i++)
        TFD_TRY(apply_loop(k, s->loop[i - FIRST], &k->in[i], st));
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "_FusedDepthwiseConv2dNative",
        .inputs = "input: T, filter: T, args: num_args * T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double}; num_args: int >= 0; "
                 "strides: list(int); padding: {'SAME', 'VALID'}; "
                 "data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                 "dilations: list(int) = [1, 1, 1, 1]; "
                 "fused_ops: list(string) = []; epsilon: float = 0.0001; "
                 "leakyrelu_alpha: float = 0.2",
        .shape = tfd_depthwise_shape,
    },
    {
        .name = "_FusedBatchNormEx",
        .inputs = "x: T, scale: U, offset: U, mean: U, variance: U, "
                  "side_input: num_side_inputs * T",
        .outputs = "y: T, batch_mean: U, batch_variance: U, "
                   "reserve_space_1: U, reserve_space_2: U, "
                   "reserve_space_3: U",
        .attrs = "T: {half, float, bfloat16}; U: {float}; "
                 "epsilon: float = 0.0001; "
                 "exponential_avg_factor: float = 1.0; "
                 "num_side_inputs: int >= 0 = 0; "
                 "activation_mode: string = 'Identity'; "
                 "data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                 "is_training: bool = true",
        .shape = tfd_batch_norm_shape,
    },
    {
        .name = "_MklSwish",
        .inputs = "features: T",
        .outputs = "activations: T",
        .attrs = "T: {float, bfloat16, half} = DT_FLOAT",
        .shape = tfd_shape_like_first,
    },
    {
        .name = "_MklFusedMish",
        .inputs = "features: T",
        .outputs = "activations: T",
        .attrs = "T: {bfloat16, float, half}",
        .shape = tfd_shape_like_first,
    },
    {
        .name = "_MklFusedBatchMatMulV2",
        .inputs = "x: T, y: T, args: num_args * T",
        .outputs = "output: T",
        .attrs = "T: {bfloat16, float, half}; adj_x: bool = false; "
                 "adj_y: bool = false; num_args: int >= 0; "
                 "fused_ops: list(string) = []; epsilon: float = 0.0001; "
                 "leakyrelu_alpha: float = 0.2",
    },
};

#define ROWS(name)                                                           \
    TFD_KERNEL("_FusedDepthwiseConv2dNative", name, depthwise_compute,       \
               .prepare = depthwise_prepare,                                 \
               .state_size = sizeof(struct depthwise),                       \
               .flags = TFD_KERNEL_HEAVY),                                   \
        TFD_KERNEL("_FusedBatchNormEx", name, norm_compute,                  \
                   .prepare = norm_prepare,                                  \
                   .state_size = sizeof(struct batch_norm)),                 \
        TFD_KERNEL("_MklSwish", name, gate_compute, .prepare = gate_prepare, \
                   .state_size = sizeof(struct gate)),                       \
        TFD_KERNEL("_MklFusedMish", name, gate_compute,                      \
                   .prepare = gate_prepare,                                  \
                   .state_size = sizeof(struct gate)),                       \
        TFD_KERNEL("_MklFusedBatchMatMulV2", name, products_compute,         \
                   .prepare = products_prepare,                              \
                   .state_size = sizeof(struct products),                    \
                   .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {ROWS(FLOAT), ROWS(HALF),
                                            ROWS(BFLOAT16)};

const struct tfd_family tfd_family_onednn = {
    .name = "onednn",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
