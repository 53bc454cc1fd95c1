/*
 * quantized_layers.c - layers of networks on quantised numbers:
 *
 *     QuantizedRelu QuantizedRelu6 QuantizedBiasAdd QuantizedMatMul
 *
 * Sums and products are 32 bits wide, of a range that follows from the ranges
 * of what they are made of.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/quantized_shape.h"

static int64_t clamped_int(enum tfd_dtype t, float x, float low, float high)
{
    const struct tfd_quantized_limits l = tfd_quantized_limits(t);
    const int64_t v = tfd_quantized_int_of(t, x, low, high);

    return v < l.lowest ? l.lowest : v > l.highest ? l.highest : v;
}

static enum tfd_code check_scalars(const struct tfd_kctx *k, int first,
                                   const char *const *names, int count,
                                   struct tfd_status *st)
{
    for (int i = 0; i < count; i++)
        TFD_TRY(tfd_quantized_check_one(k, first + i, names[i], st));
    return TFD_OK;
}

/* ---- QuantizedRelu, QuantizedRelu6 --------------------------------------- */

struct relu {
    const void *x;
    void *y;
    int64_t low, high;
};

#define RELU(name, T)                                              \
    static void relu_##name(void *arg, int64_t begin, int64_t end) \
    {                                                              \
        const struct relu *j = arg;                                \
        const T *x = j->x, low = (T)j->low, high = (T)j->high;     \
        T *y = j->y;                                               \
                                                                   \
        for (int64_t i = begin; i < end; i++) {                    \
            const T most = x[i] > low ? x[i] : low;                \
                                                                   \
            y[i] = most < high ? most : high;                      \
        }                                                          \
    }
RELU(QUINT8, uint8_t)
RELU(QINT32, int32_t)

static enum tfd_code relu_to(struct tfd_kctx *k, float most,
                             struct tfd_status *st)
{
    static const char *const names[] = {"min_input", "max_input"};
    const enum tfd_dtype dtype = k->kernel->dtype;
    struct relu j;
    float low, high;

    TFD_TRY(check_scalars(k, 1, names, 2, st));
    low = tfd_quantized_scalar(k, 1);
    high = tfd_quantized_scalar(k, 2);
    j.low = clamped_int(dtype, 0, low, high);
    j.high = most > 0 ? clamped_int(dtype, most, low, high)
                      : tfd_quantized_limits(dtype).highest;
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    TFD_TRY(tfd_quantized_give(k, 1, low, st));
    TFD_TRY(tfd_quantized_give(k, 2, high, st));
    j.x = tfd_tensor_data(&k->in[0]);
    j.y = tfd_tensor_data(&k->out[0]);
    if (j.y)
        tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), 1,
                          k->kernel->range, &j);
    return TFD_OK;
}

static enum tfd_code relu(struct tfd_kctx *k, struct tfd_status *st)
{
    return relu_to(k, 0, st);
}

static enum tfd_code relu6(struct tfd_kctx *k, struct tfd_status *st)
{
    return relu_to(k, 6, st);
}

static enum tfd_code relu_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    enum tfd_dtype dtype;

    (void)state;
    TFD_TRY(tfd_node_type(p->node, "Tinput", &dtype, st));
    return tfd_quantized_check_type(p, "out_type", dtype, st);
}

/* ---- QuantizedBiasAdd ---------------------------------------------------- */

struct bias {
    const void *x, *bias;
    int32_t *y;
    struct tfd_quantized_to_float from, bias_from;
    struct tfd_quantized_to_int to;
    int32_t zero;
    int64_t channels;
};

#define BIAS(name, T)                                                          \
    static void bias_##name(void *arg, int64_t begin, int64_t end)             \
    {                                                                          \
        const struct bias *j = arg;                                            \
        const T *x = j->x, *bias = j->bias;                                    \
                                                                               \
        for (int64_t i = begin; i < end; i++) {                                \
            const float a = j->from.offset + (float)x[i] * j->from.scale;      \
            const float b = j->bias_from.offset +                              \
                            (float)bias[i % j->channels] * j->bias_from.scale; \
                                                                               \
            j->y[i] = (int32_t)((uint32_t)tfd_quantized_of(&j->to, a) +        \
                                (uint32_t)tfd_quantized_of(&j->to, b) +        \
                                (uint32_t)j->zero);                            \
        }                                                                      \
    }
BIAS(QUINT8, uint8_t)
BIAS(QINT8, int8_t)

static enum tfd_code check_biases(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    static const char *const names[] = {"min_input", "max_input", "min_bias",
                                        "max_bias"};
    const struct tfd_shape *x = &k->in[0].shape, *bias = &k->in[1].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_scalars(k, 2, names, 4, st));
    if (x->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor must be at least 2D: %s",
                        tfd_shape_text(x, text[0]));
    if (bias->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Biases must be 1D: %s",
                        tfd_shape_text(bias, text[0]));
    if (!bias->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must provide at least 1 bias");
    if (bias->dim[0] == x->dim[x->rank - 1])
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Must provide as many biases as the last dimension of the "
                    "input tensor: %s vs. %s",
                    tfd_shape_text(bias, text[0]), tfd_shape_text(x, text[1]));
}

static enum tfd_code bias_add(struct tfd_kctx *k, struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->kernel->dtype;
    struct bias j = {.x = tfd_tensor_data(&k->in[0])};
    float limit[4], most;

    TFD_TRY(check_biases(k, st));
    for (int i = 0; i < 4; i++)
        limit[i] = tfd_quantized_scalar(k, 2 + i);
    most = tfd_quantized_max(
        limit[1],
        tfd_quantized_max(-limit[0], tfd_quantized_max(limit[3], -limit[2])));
    /* Room for sums of 17 bits more. */
    most *= (float)(1 << 17);
    j.from = tfd_quantized_to_float(dtype, limit[0], limit[1]);
    j.bias_from = tfd_quantized_to_float(dtype, limit[2], limit[3]);
    j.to = tfd_quantized_to_int(TFD_QINT32, -most, most);
    j.zero = (int32_t)clamped_int(TFD_QINT32, 0, -most, most);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_QINT32, &k->in[0].shape, st));
    TFD_TRY(tfd_quantized_give(k, 1, -most, st));
    TFD_TRY(tfd_quantized_give(k, 2, most, st));
    j.bias = tfd_tensor_data(&k->in[1]);
    j.channels = k->in[1].shape.dim[0];
    j.y = tfd_tensor_data(&k->out[0]);
    if (j.y)
        tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), 4,
                          k->kernel->range, &j);
    return TFD_OK;
}

static enum tfd_code bias_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    enum tfd_dtype dtype;

    (void)state;
    TFD_TRY(tfd_node_type(p->node, "T1", &dtype, st));
    TFD_TRY(tfd_quantized_check_type(p, "T2", dtype, st));
    return tfd_quantized_check_type(p, "out_type", TFD_QINT32, st);
}

/* ---- QuantizedMatMul ----------------------------------------------------- */

struct matmul_state {
    bool transpose_a, transpose_b;
};

struct product {
    const uint8_t *a, *b;
    int32_t *c;
    int64_t m, n, k, lda, ldb;
    int32_t zero_a, zero_b;
    const struct matmul_state *state;
};

#define LINES_BETWEEN_LOOKS 256

/* a[i, l] without its zero. */
static uint32_t left_at(const struct product *p, int64_t i, int64_t l)
{
    const int64_t at = p->state->transpose_a ? l * p->lda + i : i * p->lda + l;

    return (uint32_t)p->a[at] - (uint32_t)p->zero_a;
}

/* A row of c, whose b lies row by row. */
static void add_lines(const struct product *p, int64_t i, uint32_t *c)
{
    for (int64_t j = 0; j < p->n; j++)
        c[j] = 0;
    for (int64_t l = 0; l < p->k; l++) {
        const uint32_t a = left_at(p, i, l);
        const uint8_t *b = p->b + l * p->ldb;

        if (l % LINES_BETWEEN_LOOKS == 0 && tfd_halted())
            return;
        for (int64_t j = 0; j < p->n; j++)
            c[j] += a * ((uint32_t)b[j] - (uint32_t)p->zero_b);
    }
}

/* A row of c, whose b lies column by column. */
static void add_columns(const struct product *p, int64_t i, uint32_t *c)
{
    for (int64_t j = 0; j < p->n; j++) {
        const uint8_t *b = p->b + j * p->ldb;
        uint32_t sum = 0;

        if (j % LINES_BETWEEN_LOOKS == 0 && tfd_halted())
            return;
        for (int64_t l = 0; l < p->k; l++)
            sum += left_at(p, i, l) * ((uint32_t)b[l] - (uint32_t)p->zero_b);
        c[j] = sum;
    }
}

/* Rows of c; what does not fit 32 bits wraps. */
static void multiply_rows(void *arg, int64_t begin, int64_t end)
{
    const struct product *p = arg;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        uint32_t *c = (uint32_t *)p->c + i * p->n;

        if (p->state->transpose_b)
            add_columns(p, i, c);
        else
            add_lines(p, i, c);
    }
}

static enum tfd_code check_product(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    static const char *const names[] = {"min_a", "max_a", "min_b", "max_b"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 4; i++)
        if (k->in[2 + i].shape.rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be a scalar, but got shape%s", names[i],
                            tfd_shape_text(&k->in[2 + i].shape, text));
    for (int i = 0; i < 4; i += 2)
        if (!(tfd_quantized_scalar(k, 3 + i) > tfd_quantized_scalar(k, 2 + i)))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be larger than %s.", names[i + 1],
                            names[i]);
    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "In[%d] is not a matrix",
                            i);
    return TFD_OK;
}

/* Of one step of a quint8. */
static float step_of(const struct tfd_kctx *k, int low)
{
    return (tfd_quantized_scalar(k, low + 1) - tfd_quantized_scalar(k, low)) /
           255.0f;
}

static enum tfd_code give_product(struct tfd_kctx *k, struct product *p,
                                  struct tfd_status *st)
{
    const float step = step_of(k, 2) * step_of(k, 4);
    struct tfd_shape out;

    TFD_TRY(tfd_shape_make(&out, (int64_t[]){p->m, p->n}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_QINT32, &out, st));
    TFD_TRY(tfd_quantized_give(k, 1, step * -2147483648.0f, st));
    TFD_TRY(tfd_quantized_give(k, 2, step * 2147483648.0f, st));
    p->c = tfd_tensor_data(&k->out[0]);
    return TFD_OK;
}

static enum tfd_code matmul(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct matmul_state *s = k->state;
    const int64_t *a = k->in[0].shape.dim, *b = k->in[1].shape.dim;
    char text[2][TFD_SHAPE_TEXT_MAX];
    struct product p = {.state = s};
    double cost;

    TFD_TRY(check_product(k, st));
    p.m = a[s->transpose_a];
    p.k = a[!s->transpose_a];
    p.n = b[!s->transpose_b];
    if (p.k != b[s->transpose_b])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                        tfd_shape_text(&k->in[0].shape, text[0]),
                        tfd_shape_text(&k->in[1].shape, text[1]));
    p.lda = a[1];
    p.ldb = b[1];
    p.a = tfd_tensor_data(&k->in[0]);
    p.b = tfd_tensor_data(&k->in[1]);
    p.zero_a = (int32_t)tfd_quantized_int_of(
        TFD_QUINT8, 0, tfd_quantized_scalar(k, 2), tfd_quantized_scalar(k, 3));
    p.zero_b = (int32_t)tfd_quantized_int_of(
        TFD_QUINT8, 0, tfd_quantized_scalar(k, 4), tfd_quantized_scalar(k, 5));
    TFD_TRY(give_product(k, &p, st));
    cost = (double)p.n * (double)p.k / 4 + 1;
    if (p.c)
        tfd_kctx_parallel(k, p.m, cost < 1e9 ? (int)cost : 1000000000,
                          multiply_rows, &p);
    return TFD_OK;
}

static enum tfd_code matmul_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct matmul_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "transpose_a", &s->transpose_a, st));
    TFD_TRY(tfd_node_bool(p->node, "transpose_b", &s->transpose_b, st));
    TFD_TRY(tfd_quantized_check_type(p, "T2", TFD_QUINT8, st));
    return tfd_quantized_check_type(p, "Toutput", TFD_QINT32, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define RELU_OP(name_)                                               \
    {                                                                \
        .name = name_,                                               \
        .inputs = "features: Tinput, min_features: float, "          \
                  "max_features: float",                             \
        .outputs = "activations: out_type, min_activations: float, " \
                   "max_activations: float",                         \
        .attrs = "Tinput: quantizedtype; "                           \
                 "out_type: quantizedtype = DT_QUINT8",              \
        .key = "Tinput", .shape = tfd_quantized_shape,               \
    }

static const struct tfd_opdef ops[] = {
    RELU_OP("QuantizedRelu"),
    RELU_OP("QuantizedRelu6"),
    {
        .name = "QuantizedBiasAdd",
        .inputs = "input: T1, bias: T2, min_input: float, max_input: float, "
                  "min_bias: float, max_bias: float",
        .outputs = "output: out_type, min_out: float, max_out: float",
        .attrs = "T1: quantizedtype; T2: quantizedtype; "
                 "out_type: quantizedtype",
        .key = "T1",
        .shape = tfd_quantized_shape,
    },
    {
        .name = "QuantizedMatMul",
        .inputs = "a: T1, b: T2, min_a: float, max_a: float, min_b: float, "
                  "max_b: float",
        .outputs = "out: Toutput, min_out: float, max_out: float",
        .attrs = "T1: quantizedtype; T2: quantizedtype; "
                 "Toutput: quantizedtype = DT_QINT32; "
                 "transpose_a: bool = false; transpose_b: bool = false; "
                 "Tactivation: quantizedtype = DT_QUINT8",
        .key = "T1",
        .shape = tfd_quantized_shape_matmul,
    },
};

#define RELU_ROWS(type)                                        \
    TFD_KERNEL("QuantizedRelu", type, relu, relu_##type,       \
               .prepare = relu_prepare),                       \
        TFD_KERNEL("QuantizedRelu6", type, relu6, relu_##type, \
                   .prepare = relu_prepare)

static const struct tfd_kernel kernels[] = {
    RELU_ROWS(QUINT8),
    RELU_ROWS(QINT32),
    TFD_KERNEL("QuantizedBiasAdd", QUINT8, bias_add, bias_QUINT8,
               .prepare = bias_prepare),
    TFD_KERNEL("QuantizedBiasAdd", QINT8, bias_add, bias_QINT8,
               .prepare = bias_prepare),
    TFD_KERNEL("QuantizedMatMul", QUINT8, matmul, .prepare = matmul_prepare,
               .state_size = sizeof(struct matmul_state)),
};

const struct tfd_family tfd_family_quantized_layers = {
    .name = "quantized_layers",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
