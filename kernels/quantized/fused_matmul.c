/*
 * fused_matmul.c - products of a matrix of quint8 and one of qint8, and what
 * follows at once:
 *
 *     QuantizedMatMulWithBias                      as qint32
 *     QuantizedMatMulWithBiasAndRelu
 *     QuantizedMatMulWithBiasAndRequantize         as quint8 of a given range
 *     QuantizedMatMulWithBiasAndReluAndRequantize
 *     QuantizedMatMulWithBiasAndDequantize         as float
 *
 * TensorFlow has them in oneDNN alone, and results are the same bits: a sum of
 * 32 bits as a float, times the scales of both, plus the bias, over the
 * output's scale.  They have its ways, too: matrices are never transposed,
 * whatever the attributes say; input_quant_mode counts for the last op alone,
 * the others are MIN_FIRST; and a float bias has what the minimum of a comes to
 * added without a scale.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/quantized/fused_end.h"
#include "kernels/quantized/quantized_shape.h"

/* What an op does with its sums. */
struct fused_op {
    const char *name;
    enum tfd_dtype out;
    bool has_relu, has_range, has_mode;
};

static const struct fused_op fused_ops[] = {
    {"QuantizedMatMulWithBias", TFD_QINT32, false, false, false},
    {"QuantizedMatMulWithBiasAndRelu", TFD_QINT32, true, false, false},
    {"QuantizedMatMulWithBiasAndRequantize", TFD_QUINT8, false, true, false},
    {"QuantizedMatMulWithBiasAndReluAndRequantize", TFD_QUINT8, true, true,
     false},
    {"QuantizedMatMulWithBiasAndDequantize", TFD_FLOAT, false, true, true},
};

struct fused_state {
    const struct fused_op *op;
    bool is_scaled; /* input_quant_mode */
};

/* The inputs' ranges. */
struct fused_ranges {
    float min_a, max_a, min_b, max_b;
};

struct fused_job {
    const uint8_t *a;
    const int8_t *b;
    int64_t rows, depth, columns;
    struct tfd_fused_end end;
};

/* ---- Loops --------------------------------------------------------------- */

/* Sums wrap. */
static void add_block(const struct fused_job *j, int64_t row, int64_t first,
                      uint32_t *sum, int64_t n)
{
    const uint8_t *a = j->a + row * j->depth;
    const int8_t *b = j->b + first;

    for (int64_t c = 0; c < n; c++)
        sum[c] = 0;
    for (int64_t l = 0; l < j->depth; l++) {
        const int8_t *line = b + l * j->columns;

        if (l % TFD_FUSED_BLOCK == 0 && tfd_halted())
            return;
        for (int64_t c = 0; c < n; c++)
            sum[c] += (uint32_t)((int32_t)a[l] * (int32_t)line[c]);
    }
}

static void multiply_fused(void *arg, int64_t begin, int64_t end)
{
    const struct fused_job *j = arg;

    for (int64_t row = begin; row < end; row++)
        for (int64_t c = 0; c < j->columns && !tfd_halted();
             c += TFD_FUSED_BLOCK) {
            const int64_t left = j->columns - c;
            const int64_t n = left < TFD_FUSED_BLOCK ? left : TFD_FUSED_BLOCK;
            uint32_t sum[TFD_FUSED_BLOCK];

            add_block(j, row, c, sum, n);
            tfd_fused_finish(&j->end, row * j->columns + c, c,
                             (const int32_t *)sum, n);
        }
}

/* ---- Scales -------------------------------------------------------------- */

static float scale_of_a(const struct fused_ranges *r, bool is_scaled)
{
    return (float)((double)(is_scaled ? tfd_fused_widest(r->min_a, r->max_a)
                                      : r->max_a - r->min_a) /
                   255.0);
}

static float scale_of_b(const struct fused_ranges *r)
{
    return (float)((double)tfd_fused_widest(r->min_b, r->max_b) / 127.0);
}

/* What a qint32 bias is divided by. */
static float steps_of_bias(const struct fused_ranges *r, bool is_scaled)
{
    const float a = is_scaled ? r->max_a : r->max_a - r->min_a;

    return (float)((255.0 * 127.0) /
                   (double)(a * tfd_fused_widest(r->max_b, r->min_b)));
}

/* The bias as floats, of what the op adds to each column. */
static void fill_integer_bias(const int32_t *x, int64_t n,
                              const struct fused_ranges *r, bool is_scaled,
                              float *bias)
{
    const float steps = steps_of_bias(r, is_scaled), inverse = 1.0f / steps;

    for (int64_t c = 0; c < n; c++)
        bias[c] = is_scaled ? (float)x[c] * inverse : (float)x[c] / steps;
}

static void fill_float_bias(const struct fused_job *j, const float *x,
                            const struct fused_ranges *r, bool is_scaled,
                            float *bias)
{
    const float zero = 255.0f * r->min_a / (r->max_a - r->min_a);
    int64_t since = 0;

    for (int64_t c = 0; c < j->columns; c++) {
        uint32_t sum = 0;

        if (tfd_halted_after(j->depth, &since))
            return;
        for (int64_t l = 0; l < j->depth && !is_scaled; l++)
            sum += (uint32_t)(int32_t)j->b[l * j->columns + c];
        bias[c] = is_scaled ? x[c] : x[c] + (float)(int32_t)sum * zero;
    }
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_ranges(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    static const char *const names[] = {"min_a",
                                        "max_a",
                                        "min_b",
                                        "max_b",
                                        "min_freezed_output",
                                        "max_freezed_output"};

    for (int i = 3; i < k->in_count; i++)
        if (k->in[i].shape.rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "`%s` must be rank 0 but is rank %d", names[i - 3],
                            k->in[i].shape.rank);
    return TFD_OK;
}

/* Of TensorFlow's class; its words are oneDNN's. */
static enum tfd_code check_fused(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    const struct tfd_shape *bias = &k->in[2].shape;
    char text[3][TFD_SHAPE_TEXT_MAX];

    if (a->rank != 2 || b->rank != 2)
        return tfd_fail(st, TFD_ABORTED,
                        "a and b must be matrices, but got %s and %s",
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]));
    TFD_TRY(check_ranges(k, st));
    if (a->dim[1] != b->dim[0] || !b->dim[0] || !b->dim[1] || bias->rank != 1 ||
        bias->dim[0] != b->dim[1])
        return tfd_fail(st, TFD_ABORTED,
                        "a of shape %s, b of %s and bias of %s do not fit "
                        "together, or are empty",
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]),
                        tfd_shape_text(bias, text[2]));
    return TFD_OK;
}

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code give_ranges(struct tfd_kctx *k,
                                 const struct fused_ranges *r,
                                 struct tfd_status *st)
{
    const struct fused_state *s = k->state;
    const float step = tfd_fused_step(r->min_a, r->max_a, r->min_b, r->max_b);

    if (s->op->out == TFD_FLOAT)
        return TFD_OK;
    if (s->op->has_range) {
        TFD_TRY(tfd_quantized_give(k, 1, tfd_quantized_scalar(k, 7), st));
        return tfd_quantized_give(k, 2, tfd_quantized_scalar(k, 8), st);
    }
    TFD_TRY(tfd_quantized_give(k, 1, step * -2147483648.0f, st));
    return tfd_quantized_give(k, 2, step * 2147483648.0f, st);
}

/* One over a step of the output. */
static float inverse_of(const struct tfd_kctx *k, float scale)
{
    const struct fused_state *s = k->state;

    if (s->op->out == TFD_FLOAT)
        return 1;
    if (s->op->has_range)
        scale = (float)((double)tfd_fused_widest(tfd_quantized_scalar(k, 7),
                                                 tfd_quantized_scalar(k, 8)) /
                        255.0);
    return 1.0f / scale;
}

static void run_fused(struct tfd_kctx *k, const struct fused_ranges *r,
                      float *bias)
{
    const struct fused_state *s = k->state;
    const bool is_scaled = s->op->has_mode && s->is_scaled;
    const float scale = scale_of_a(r, is_scaled) * scale_of_b(r);
    struct fused_job j = {.a = tfd_tensor_data(&k->in[0]),
                          .b = tfd_tensor_data(&k->in[1]),
                          .rows = k->in[0].shape.dim[0],
                          .depth = k->in[0].shape.dim[1],
                          .columns = k->in[1].shape.dim[1],
                          .end = {.out = s->op->out,
                                  .has_relu = s->op->has_relu,
                                  .scale = &scale,
                                  .bias = bias,
                                  .inverse = inverse_of(k, scale),
                                  .y = tfd_tensor_data(&k->out[0])}};
    const double ns = (double)j.depth * (double)j.columns / 4 + 1;

    if (k->in[2].dtype == TFD_QINT32)
        fill_integer_bias(tfd_tensor_data(&k->in[2]), j.columns, r, is_scaled,
                          bias);
    else
        fill_float_bias(&j, tfd_tensor_data(&k->in[2]), r, is_scaled, bias);
    if (j.rows)
        tfd_kctx_parallel(k, j.rows, ns < 1e9 ? (int)ns : 1000000000,
                          multiply_fused, &j);
}

static enum tfd_code fused(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct fused_state *s = k->state;
    struct tfd_tensor bias = TFD_TENSOR_INIT;
    struct fused_ranges r;
    struct tfd_shape y;

    TFD_TRY(check_fused(k, st));
    r = (struct fused_ranges){
        tfd_quantized_scalar(k, 3), tfd_quantized_scalar(k, 4),
        tfd_quantized_scalar(k, 5), tfd_quantized_scalar(k, 6)};
    TFD_TRY(tfd_shape_make(
        &y, (int64_t[]){k->in[0].shape.dim[0], k->in[1].shape.dim[1]}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, s->op->out, &y, st));
    TFD_TRY(give_ranges(k, &r, st));
    TFD_TRY(tfd_op_memory_new(k, TFD_FLOAT, &k->in[2].shape, &bias, st));
    run_fused(k, &r, tfd_tensor_data(&bias));
    tfd_tensor_unref(&bias);
    return TFD_OK;
}

static enum tfd_code fused_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct fused_state *s = state;
    struct tfd_str mode;

    for (size_t i = 0; i < TFD_COUNT(fused_ops); i++)
        if (tfd_str_is(p->node->op->name, fused_ops[i].name))
            s->op = &fused_ops[i];
    TFD_TRY(tfd_node_str(p->node, "input_quant_mode", &mode, st));
    s->is_scaled = tfd_str_is(mode, "SCALED");
    TFD_TRY(tfd_quantized_check_type(p, "T2", TFD_QINT8, st));
    return tfd_quantized_check_type(p, "Toutput", s->op->out, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define FACTORS(bias)                                                          \
    "a: T1, b: T2, bias: " bias ", min_a: float, max_a: float, min_b: float, " \
    "max_b: float"
#define GIVEN ", min_freezed_output: float, max_freezed_output: float"
#define RESULT "out: Toutput, min_out: float, max_out: float"
#define FACTOR_TYPES "T1: quantizedtype; T2: quantizedtype; "
#define TBIAS "Tbias: {float, qint32}; "
#define MODES                                                  \
    "; transpose_a: bool = false; transpose_b: bool = false; " \
    "input_quant_mode: {'MIN_FIRST', 'SCALED'} = 'MIN_FIRST'"
#define FUSED_OP(name_, inputs_, outputs_, types_)             \
    {                                                          \
        .name = name_, .inputs = inputs_, .outputs = outputs_, \
        .attrs = FACTOR_TYPES types_ MODES, .key = "T1",       \
        .shape = tfd_quantized_shape_matmul,                   \
    }

static const struct tfd_opdef ops[] = {
    FUSED_OP("QuantizedMatMulWithBias", FACTORS("Tbias"), RESULT,
             TBIAS "Toutput: quantizedtype = DT_QINT32"),
    FUSED_OP("QuantizedMatMulWithBiasAndRelu", FACTORS("float"), RESULT,
             "Toutput: quantizedtype = DT_QINT32"),
    FUSED_OP("QuantizedMatMulWithBiasAndRequantize", FACTORS("Tbias") GIVEN,
             RESULT, TBIAS "Toutput: quantizedtype = DT_QUINT8"),
    FUSED_OP("QuantizedMatMulWithBiasAndReluAndRequantize",
             FACTORS("Tbias") GIVEN, RESULT,
             TBIAS "Toutput: quantizedtype = DT_QUINT8"),
    FUSED_OP("QuantizedMatMulWithBiasAndDequantize", FACTORS("Tbias") GIVEN,
             "out: Toutput", TBIAS "Toutput: {float}"),
};

#define FUSED_ROW(name)                                       \
    TFD_KERNEL(name, QUINT8, fused, .prepare = fused_prepare, \
               .state_size = sizeof(struct fused_state))

static const struct tfd_kernel kernels[] = {
    FUSED_ROW("QuantizedMatMulWithBias"),
    FUSED_ROW("QuantizedMatMulWithBiasAndRelu"),
    FUSED_ROW("QuantizedMatMulWithBiasAndRequantize"),
    FUSED_ROW("QuantizedMatMulWithBiasAndReluAndRequantize"),
    FUSED_ROW("QuantizedMatMulWithBiasAndDequantize"),
};

const struct tfd_family tfd_family_fused_matmul = {
    .name = "fused_matmul",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
