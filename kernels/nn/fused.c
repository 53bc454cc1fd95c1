/*
 * fused.c - ops that graph optimizers make of others, for a CPU:
 *
 *     _FusedMatMul          MatMul, BiasAdd[, an activation]
 *     _FusedConv2D          Conv2D, BiasAdd or FusedBatchNorm[, an activation]
 *     _UnaryOpsComposition  functions of one number, one after the other
 *     Snapshot              Identity, for an input that may change afterwards
 *
 * No client makes them.  TensorFlow's master does, with its default config, of
 * parts of a graph that are given to one device; so they come to a worker
 * beside a real master.  Masters of 1.15 and of 2.x define _FusedConv2D
 * differently: those of 2.x have the types of its operands in a list, TArgs,
 * which on a CPU holds T alone, and operands on the host, which only quantised
 * types have.
 *
 * What they compute is what the ops they are made of compute: the products of
 * matmul.c and conv.c, then epilogue.h.
 */
#include "kernels/core/families.h"

#include "common/base/str.h"
#include "kernels/core/check.h"
#include "kernels/nn/fused.h"
#include "kernels/linalg/gemm.h"
#include "kernels/core/outputs.h"
#include "kernels/layout/runs.h"

/* ---- _FusedMatMul -------------------------------------------------------- */

enum tfd_code tfd_fused_matmul_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    static const char *const activations[] = {
        "Relu",      "Relu6",           "Elu", "LeakyRelu", "Tanh", "Sigmoid",
        "GeluExact", "GeluApproximate", NULL};
    struct tfd_fused_matmul *m = state;

    tfd_gemm_init();
    TFD_TRY(tfd_matmul_prepare(p, &m->product, st));
    return tfd_epilogue_prepare(p, activations, false, &m->epilogue, st);
}

enum tfd_code tfd_fused_matmul_check(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    const struct tfd_fused_matmul *m = k->state;
    struct tfd_matmul_sizes size;
    struct tfd_shape shape;

    TFD_TRY(tfd_matmul_sizes(k, &size, &shape, st));
    return tfd_epilogue_check(&m->epilogue, k, size.n, st);
}

static enum tfd_code matmul_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_fused_matmul *m = k->state;

    TFD_TRY(tfd_fused_matmul_check(k, st));
    TFD_TRY(tfd_matmul_compute(k, st));
    return tfd_fused_matmul_is_zero(k) ? TFD_OK
                                       : tfd_epilogue_run(&m->epilogue, k, st);
}

/* ---- _FusedConv2D -------------------------------------------------------- */

/* Begins with the state that the convolution wants. */
struct conv {
    struct tfd_window window;
    struct tfd_epilogue epilogue;
};

enum tfd_code tfd_fused_conv_prepare(const struct tfd_prepare *p,
                                     struct tfd_epilogue *e,
                                     struct tfd_status *st)
{
    static const char *const activations[] = {"Relu", "Relu6", "Elu",
                                              "LeakyRelu", NULL};

    return tfd_epilogue_prepare(p, activations, true, e, st);
}

enum tfd_code tfd_fused_conv_check(const struct tfd_kctx *k,
                                   const struct tfd_window *w,
                                   const struct tfd_epilogue *e,
                                   int64_t *groups, struct tfd_status *st)
{
    struct tfd_conv size = {0};
    struct tfd_shape y;

    TFD_TRY(
        tfd_conv_measure(w, &k->in[0].shape, &k->in[1].shape, &size, &y, st));
    *groups = size.groups;
    return tfd_epilogue_check(e, k, size.out_channels, st);
}

static enum tfd_code conv_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct conv *c = state;

    TFD_TRY(tfd_conv_prepare(p, &c->window, st));
    return tfd_fused_conv_prepare(p, &c->epilogue, st);
}

/* What Conv2D does and the fused kernels of a CPU do not. */
static enum tfd_code check_layout(const struct conv *c, int64_t groups,
                                  struct tfd_status *st)
{
    if (c->window.channels_second)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Fused conv implementation only supports NHWC tensor "
                        "format for now.");
    if (groups != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Fused conv implementation does not support grouped "
                        "convolutions for now.");
    return TFD_OK;
}

static enum tfd_code conv_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct conv *c = k->state;
    int64_t groups;

    TFD_TRY(tfd_fused_conv_check(k, &c->window, &c->epilogue, &groups, st));
    TFD_TRY(check_layout(c, groups, st));
    TFD_TRY(tfd_conv_compute(k, st));
    return tfd_epilogue_run(&c->epilogue, k, st);
}

/* ---- _UnaryOpsComposition ------------------------------------------------ */

#define STEPS_MAX 64

struct composition {
    tfd_range_fn *loop[STEPS_MAX];
    int count;
};

/* TensorFlow has the last ones only where floats are native. */
static const char *const functions[] = {
    "Abs",   "Ceil", "Cos",        "Elu",  "Exp",   "Expm1",   "Floor",
    "Inv",   "Log",  "Log1p",      "Neg",  "Relu",  "Relu6",   "Round",
    "Rsqrt", "Selu", "Reciprocal", "Sqrt", "Sin",   "Sigmoid", "Square",
    "Tanh",  "Acos", "Acosh",      "Asin", "Asinh", "Atan",    "Atanh",
    "Cosh",  "Rint", "Sinh",       "Tan",
};
#define OF_HALF 22 /* the first of them */

static tfd_range_fn *function_loop(const struct tfd_prepare *p,
                                   struct tfd_str name, enum tfd_dtype dtype)
{
    const int count = dtype == TFD_HALF ? OF_HALF : TFD_COUNT(functions);

    for (int i = 0; i < count; i++)
        if (tfd_str_is(name, functions[i]))
            return p->loop(functions[i], dtype);
    return NULL;
}

static enum tfd_code unary_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct composition *c = state;
    struct tfd_str names[STEPS_MAX];
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(p->node, "T", &dtype, st));
    TFD_TRY(
        tfd_node_strs(p->node, "op_names", names, STEPS_MAX, &c->count, st));
    if (c->count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unary op composition must have at least one op");
    for (int i = 0; i < c->count; i++) {
        c->loop[i] = function_loop(p, names[i], dtype);
        if (!c->loop[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Do not have a compute function registered for "
                            "op: " TFD_STR_FMT,
                            TFD_STR_ARG(names[i]));
    }
    return TFD_OK;
}

struct numbers {
    const struct composition *c;
    const char *x;
    char *y;
    size_t item;
};

#define BLOCK 2048 /* elements: they stay in the first cache */

static void compose(void *arg, int64_t begin, int64_t end)
{
    const struct numbers *n = arg;

    for (int64_t i = begin; i < end; i += BLOCK) {
        const size_t at = (size_t)i * n->item;
        struct tfd_row row = {.a = n->x + at, .y = n->y + at, .a_step = 1};

        for (int f = 0; f < n->c->count; f++, row.a = row.y)
            n->c->loop[f](&row, 0, end - i < BLOCK ? end - i : BLOCK);
    }
}

static enum tfd_code unary_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct numbers n = {.c = k->state, .item = tfd_dtype_size(k->in[0].dtype)};

    n.x = tfd_tensor_data(&k->in[0]);
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    n.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), n.c->count * 4,
                      compose, &n);
    return TFD_OK;
}

/* ---- Snapshot ------------------------------------------------------------ */

/* The value of a variable has another reader, the variable: it is copied. */
static enum tfd_code snapshot_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[0]);

    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    if (n == 0 || k->out[0].buffer == k->in[0].buffer)
        return TFD_OK;
    return tfd_runs_copy(k, 0, n, 0, &k->in[0], n, 0, n, 1, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define FUSED                                            \
    "num_args: int >= 0; fused_ops: list(string) = []; " \
    "epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2; "

static const struct tfd_opdef ops[] = {
    {
        .name = "_FusedMatMul",
        .inputs = "a: T, b: T, args: num_args * T",
        .outputs = "product: T",
        .attrs = FUSED "T: {bfloat16, half, float}; "
                       "transpose_a: bool = false; transpose_b: bool = false",
        .shape = tfd_matmul_shape,
    },
    {
        .name = "_FusedConv2D",
        .inputs = "input: T, filter: T, args: num_args * T, "
                  "host_args: num_host_args * float",
        .outputs = "output: T",
        .attrs = FUSED "T: {half, float, double, int8, qint8}; "
                       "TArgs: list(type) = []; num_host_args: int >= 0 = 0; "
                       "strides: list(int); "
                       "padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                       "explicit_paddings: list(int) = []; "
                       "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = "
                       "'NHWC'; "
                       "filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = "
                       "'HWIO'; "
                       "dilations: list(int) = [1, 1, 1, 1]; "
                       "use_cudnn_on_gpu: bool = true",
        .shape = tfd_conv_shape,
    },
    {
        .name = "_UnaryOpsComposition",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = "T: {float, half, double}; op_names: list(string)",
        .shape = tfd_shape_like_first,
    },
    {
        .name = "Snapshot",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "T: type",
        .shape = tfd_shape_like_first,
    },
};

#define MATMUL(name)                                          \
    TFD_KERNEL("_FusedMatMul", name, matmul_compute,          \
               .prepare = tfd_fused_matmul_prepare,           \
               .state_size = sizeof(struct tfd_fused_matmul), \
               .flags = TFD_KERNEL_HEAVY)
#define CONV(name)                                                          \
    TFD_KERNEL("_FusedConv2D", name, conv_compute, .prepare = conv_prepare, \
               .state_size = sizeof(struct conv), .flags = TFD_KERNEL_HEAVY)
#define UNARY(name)                                         \
    TFD_KERNEL("_UnaryOpsComposition", name, unary_compute, \
               .prepare = unary_prepare,                    \
               .state_size = sizeof(struct composition))

#define SNAPSHOT(name, number, T) \
    TFD_KERNEL("Snapshot", name, snapshot_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(SNAPSHOT) TFD_HALF_DTYPES(SNAPSHOT)
        TFD_COMPLEX_DTYPES(SNAPSHOT)
            TFD_KERNEL("Snapshot", BOOL, snapshot_compute),
    MATMUL(FLOAT),
    MATMUL(HALF),
    MATMUL(BFLOAT16),
    CONV(FLOAT),
    CONV(DOUBLE),
    UNARY(FLOAT),
    UNARY(HALF),
    UNARY(DOUBLE),
};

const struct tfd_family tfd_family_fused = {
    .name = "fused",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
