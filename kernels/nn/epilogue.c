/*
 * epilogue.c - see epilogue.h.
 *
 * A batch norm of inference is a factor and a shift per channel, computed once
 * a run:
 *
 *     y = (x - mean) * scale / sqrt(variance + epsilon) + offset
 *       = x * factor + (offset - mean * factor)
 */
#include "kernels/nn/epilogue.h"

#include "common/base/alloc.h"
#include "common/base/str.h"
#include "kernels/vector/vector_math.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIRST TFD_EPILOGUE_FIRST
#define STEPS_MAX 4

enum { SCALE = FIRST, OFFSET, MEAN, VARIANCE };

/* ---- Gelu, which is no op ------------------------------------------------ */

static inline float exact(float x)
{
    return 0.5f * x * (1 + erff(x * 0.70710678f));
}

static inline float approximate(float x)
{
    return 0.5f * x *
           (1 + tfd_vector_tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

#define GELU(name, T, to, from)                           \
    static inline T exact_##name(T x)                     \
    {                                                     \
        return from(exact(to(x)));                        \
    }                                                     \
    static inline T approximate_##name(T x)               \
    {                                                     \
        return from(approximate(to(x)));                  \
    }                                                     \
    TFD_UNARY_LOOP(gelu_exact_##name, T, T, exact_##name) \
    TFD_UNARY_LOOP(gelu_approximate_##name, T, T, approximate_##name)

GELU(FLOAT, float, (float), (float))
TFD_NARROW_DTYPES(GELU)

static tfd_range_fn *activation_loop(const struct tfd_prepare *p,
                                     const char *name, enum tfd_dtype dtype)
{
    if (strcmp(name, "GeluExact") == 0)
        return dtype == TFD_FLOAT  ? gelu_exact_FLOAT
               : dtype == TFD_HALF ? gelu_exact_HALF
                                   : gelu_exact_BFLOAT16;
    if (strcmp(name, "GeluApproximate") == 0)
        return dtype == TFD_FLOAT  ? gelu_approximate_FLOAT
               : dtype == TFD_HALF ? gelu_approximate_HALF
                                   : gelu_approximate_BFLOAT16;
    return p->loop(name, dtype);
}

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code fail_steps(const struct tfd_str *steps, int count,
                                struct tfd_status *st)
{
    char text[128];
    int at = 0;

    for (int i = 0; i < count && i < STEPS_MAX && at < (int)sizeof(text); i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s" TFD_STR_FMT,
                       i ? "," : "", TFD_STR_ARG(steps[i]));
    return tfd_fail(st, TFD_UNIMPLEMENTED, "Fusion is not implemented: [%s]",
                    at ? text : "");
}

/* What messages call the op: "Conv2D" for "_FusedConv2D". */
static const char *unfused_name(const struct tfd_node *n)
{
    const char *name = n->op->def->name;

    return strncmp(name, "_Fused", 6) == 0 ? name + 6 : name;
}

/* The operands of the first step: so many, and of the node's type. */
static enum tfd_code check_operands(const struct tfd_node *n, bool batch_norm,
                                    struct tfd_status *st)
{
    const int64_t want = batch_norm ? 4 : 1;
    int64_t have;

    TFD_TRY(tfd_node_int(n, "num_args", &have, st));
    if (have != want || n->in_count != FIRST + want)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT, "Fused %s with %s", unfused_name(n),
            batch_norm ? "FusedBatchNorm must have four extra arguments: "
                         "scale, offset, mean, variance."
                       : "BiasAdd must have one extra argument: bias or 4 "
                         "extra arguments: bias, side_input, "
                         "conv_input_scale and side_input_scale");
    return TFD_OK;
}

static const char *const activations[] = {
    [TFD_EPILOGUE_RELU] = "Relu",
    [TFD_EPILOGUE_RELU6] = "Relu6",
    [TFD_EPILOGUE_ELU] = "Elu",
    [TFD_EPILOGUE_LEAKY_RELU] = "LeakyRelu",
    [TFD_EPILOGUE_TANH] = "Tanh",
    [TFD_EPILOGUE_SIGMOID] = "Sigmoid",
    [TFD_EPILOGUE_GELU_EXACT] = "GeluExact",
    [TFD_EPILOGUE_GELU_APPROXIMATE] = "GeluApproximate",
};

static enum tfd_epilogue_activation activation_number(const char *name)
{
    int i = TFD_EPILOGUE_NONE + 1;

    while (strcmp(name, activations[i]) != 0)
        i++;
    return (enum tfd_epilogue_activation)i;
}

static enum tfd_code
find_activation(const struct tfd_prepare *p, const struct tfd_str *steps,
                int count, tfd_epilogue_names names, enum tfd_dtype dtype,
                struct tfd_epilogue *e, struct tfd_status *st)
{
    for (; *names; names++)
        if (tfd_str_is(steps[1], *names)) {
            e->which = activation_number(*names);
            e->activation = activation_loop(p, *names, dtype);
            return TFD_OK;
        }
    return fail_steps(steps, count, st);
}

enum tfd_code tfd_epilogue_prepare(const struct tfd_prepare *p,
                                   tfd_epilogue_names names, bool batch_norm,
                                   struct tfd_epilogue *e,
                                   struct tfd_status *st)
{
    const struct tfd_node *n = p->node;
    struct tfd_str steps[STEPS_MAX];
    enum tfd_dtype dtype;
    int count;

    TFD_TRY(tfd_node_type(n, "T", &dtype, st));
    TFD_TRY(tfd_node_float(n, "epsilon", &e->epsilon, st));
    TFD_TRY(tfd_node_float(n, "leakyrelu_alpha", &e->alpha, st));
    TFD_TRY(tfd_node_strs(n, "fused_ops", steps, STEPS_MAX, &count, st));
    if (count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Fused %s must have at least one fused op.",
                        unfused_name(n));
    e->add = p->loop("AddV2", dtype);
    e->mul = p->loop("Mul", dtype);
    e->batch_norm = batch_norm && tfd_str_is(steps[0], "FusedBatchNorm");
    if (count > 2 || (!e->batch_norm && !tfd_str_is(steps[0], "BiasAdd")))
        return fail_steps(steps, count, st);
    if (count == 2)
        TFD_TRY(find_activation(p, steps, count, names, dtype, e, st));
    return check_operands(n, e->batch_norm, st);
}

/* ---- Operands ------------------------------------------------------------ */

enum tfd_code tfd_epilogue_check(const struct tfd_epilogue *e,
                                 const struct tfd_kctx *k, int64_t channels,
                                 struct tfd_status *st)
{
    static const char *const norm_names[] = {
        "scale", "offset", "estimated_mean", "estimated_variance"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = FIRST; i < k->in_count; i++) {
        const struct tfd_shape *s = &k->in[i].shape;

        if (s->rank != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be 1-dimensional%s",
                            e->batch_norm ? norm_names[i - FIRST] : "bias",
                            tfd_shape_text(s, text));
        if (s->dim[0] != channels)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s has %lld numbers for the %lld channels of the "
                            "result",
                            e->batch_norm ? "A vector of the batch norm"
                                          : "The bias",
                            (long long)s->dim[0], (long long)channels);
    }
    return TFD_OK;
}

/* Factors, then shifts, of each channel. */
#define DEFINE_AFFINE(name, number, T)                                       \
    static void affine_##name(const struct tfd_epilogue *e,                  \
                              const struct tfd_kctx *k, int64_t n, void *to) \
    {                                                                        \
        const T *scale = tfd_tensor_data(&k->in[SCALE]);                     \
        const T *offset = tfd_tensor_data(&k->in[OFFSET]);                   \
        const T *mean = tfd_tensor_data(&k->in[MEAN]);                       \
        const T *variance = tfd_tensor_data(&k->in[VARIANCE]);               \
        T *factor = to, *shift = factor + n;                                 \
                                                                             \
        for (int64_t i = 0; i < n; i++) {                                    \
            factor[i] =                                                      \
                scale[i] / (T)sqrt((double)(variance[i] + (T)e->epsilon));   \
            shift[i] = offset[i] - mean[i] * factor[i];                      \
        }                                                                    \
    }

TFD_FLOAT_DTYPES(DEFINE_AFFINE)

static struct tfd_buffer *affine(const struct tfd_epilogue *e,
                                 const struct tfd_kctx *k, int64_t channels,
                                 struct tfd_status *st)
{
    struct tfd_buffer *b = NULL;
    const size_t item = tfd_dtype_size(k->out[0].dtype);

    if ((size_t)channels < SIZE_MAX / 4 / item)
        b = tfd_buffer_new((size_t)channels * 2 * item);
    if (!b)
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                       "OOM when allocating two numbers for each of %lld "
                       "channels",
                       (long long)channels);
    else if (k->out[0].dtype == TFD_DOUBLE)
        affine_DOUBLE(e, k, channels, b->data);
    else
        affine_FLOAT(e, k, channels, b->data);
    return b;
}

/* ---- The pass ------------------------------------------------------------ */

/* Elements that all steps see before the next ones come: they stay in the
 * first cache. */
#define BLOCK 4096
/* Elements of an operand that is repeated, so that a loop runs over several
 * short rows at once. */
#define REPEATED 1024
#define ITEM_MAX 8 /* bytes */

struct rows {
    const struct tfd_epilogue *e;
    char *y;
    const char *factor; /* NULL: none */
    const char *shift;
    size_t item;
    int64_t channels;
    int64_t repeats; /* rows that factor and shift hold; at least 1 */
};

static void each_row(tfd_range_fn *loop, const struct rows *r,
                     const char *operand, int64_t begin, int64_t end)
{
    for (int64_t i = begin, n; i < end; i += n) {
        char *at = r->y + (size_t)(i * r->channels) * r->item;
        struct tfd_row row = {
            .a = at, .b = operand, .y = at, .a_step = 1, .b_step = 1};

        n = end - i < r->repeats ? end - i : r->repeats;
        loop(&row, 0, n * r->channels);
    }
}

static void one_block(const struct rows *r, int64_t begin, int64_t end)
{
    char *at = r->y + (size_t)(begin * r->channels) * r->item;
    struct tfd_row row = {
        .a = at, .y = at, .a_step = 1, .b_step = 1, .alpha = r->e->alpha};

    if (r->factor)
        each_row(r->e->mul, r, r->factor, begin, end);
    each_row(r->e->add, r, r->shift, begin, end);
    if (r->e->activation)
        r->e->activation(&row, 0, (end - begin) * r->channels);
}

static const char *repeat(const struct rows *r, const char *operand, char *to)
{
    const size_t size = (size_t)r->channels * r->item;

    for (int64_t i = 0; operand && i < r->repeats; i++)
        memcpy(to + (size_t)i * size, operand, size);
    return operand ? to : NULL;
}

static void run_blocks(const struct rows *r, int64_t begin, int64_t end)
{
    const int64_t size = r->channels < BLOCK ? BLOCK / r->channels : 1;

    for (int64_t i = begin; i < end; i += size)
        one_block(r, i, end - i < size ? end : i + size);
}

static void all_blocks(void *arg, int64_t begin, int64_t end)
{
    char factor[REPEATED * ITEM_MAX], shift[REPEATED * ITEM_MAX];
    struct rows r = *(const struct rows *)arg;
    const int64_t most = REPEATED / r.channels;

    r.repeats = most < end - begin ? most : end - begin;
    if (r.repeats > 1) {
        r.factor = repeat(&r, r.factor, factor);
        r.shift = repeat(&r, r.shift, shift);
    } else {
        r.repeats = 1;
    }
    run_blocks(&r, begin, end);
}

#define ROW_COST_MAX 1000000 /* nanoseconds */

enum tfd_code tfd_epilogue_run(const struct tfd_epilogue *e, struct tfd_kctx *k,
                               struct tfd_status *st)
{
    const struct tfd_shape *shape = &k->out[0].shape;
    const int64_t channels = shape->dim[shape->rank - 1];
    struct rows r = {.e = e,
                     .y = tfd_tensor_data(&k->out[0]),
                     .shift = tfd_tensor_data(&k->in[FIRST]),
                     .item = tfd_dtype_size(k->out[0].dtype),
                     .channels = channels};
    struct tfd_buffer *work = NULL;

    if (!r.y)
        return TFD_OK;
    if (e->batch_norm) {
        work = affine(e, k, channels, st);
        if (!work)
            return st->code;
        r.factor = work->data;
        r.shift = r.factor + (size_t)channels * r.item;
    }
    tfd_kctx_parallel(k, tfd_shape_elements(shape) / channels,
                      channels < ROW_COST_MAX / 4 ? (int)channels * 3 + 5
                                                  : ROW_COST_MAX,
                      all_blocks, &r);
    tfd_buffer_unref(work);
    return TFD_OK;
}
