/*
 * fused_depthwise.c - convolutions of quint8 by qint8, each channel by its own
 * filters, and what follows at once:
 *
 *     QuantizedDepthwiseConv2D                              as qint32
 *     QuantizedDepthwiseConv2DWithBias
 *     QuantizedDepthwiseConv2DWithBiasAndRelu
 *     QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize  as quint8 of a
 *                                                           given range
 *
 * TensorFlow has them in oneDNN alone, and results are the same bits.  Ranges
 * of the filter are one for all or one for each channel of the output; what
 * lies outside the input is 0.  padding_list, where it is given, stands for
 * padding. An output without batches has the shape that it would have with
 * some, where TensorFlow's has the input's.
 */
#include "common/thread/halt.h"
#include "kernels/conv/window.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/quantized/fused_end.h"
#include "kernels/quantized/quantized_shape.h"

/* What an op does with its sums. */
struct depthwise_op {
    const char *name;
    enum tfd_dtype out;
    bool has_bias, has_relu, has_range;
};

static const struct depthwise_op depthwise_ops[] = {
    {"QuantizedDepthwiseConv2D", TFD_QINT32, false, false, false},
    {"QuantizedDepthwiseConv2DWithBias", TFD_QINT32, true, false, false},
    {"QuantizedDepthwiseConv2DWithBiasAndRelu", TFD_QINT32, true, true, false},
    {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", TFD_QUINT8, true,
     true, true},
};

struct depthwise_state {
    const struct depthwise_op *op;
    struct tfd_window window;
};

struct depthwise_job {
    const uint8_t *x;
    const int8_t *filter;
    struct tfd_window_side row, column;
    int64_t batches, in, channels; /* of the input, of the output */
    int64_t multiplier;
    struct tfd_fused_end end;
};

/* ---- Loops --------------------------------------------------------------- */

/* The output's element of a channel, where windows begin. */
struct pixel {
    int64_t batch, row, column;
};

/* One element of the filter, for channels from `first` on. */
static void add_tap(const struct depthwise_job *j, const uint8_t *x,
                    const int8_t *filter, int64_t first, uint32_t *sum,
                    int64_t n)
{
    if (j->multiplier == 1)
        for (int64_t c = 0; c < n; c++)
            sum[c] += (uint32_t)((int32_t)x[first + c] * (int32_t)filter[c]);
    else
        for (int64_t c = 0; c < n; c++)
            sum[c] += (uint32_t)((int32_t)x[(first + c) / j->multiplier] *
                                 (int32_t)filter[c]);
}

/* Sums wrap. */
static void add_pixel(const struct depthwise_job *j, const struct pixel *p,
                      int64_t first, uint32_t *sum, int64_t n)
{
    int64_t top, bottom, left, right;

    tfd_window_inside(&j->row, p->row, &top, &bottom);
    tfd_window_inside(&j->column, p->column, &left, &right);
    for (int64_t c = 0; c < n; c++)
        sum[c] = 0;
    for (int64_t r = top; r < bottom && !tfd_halted(); r++)
        for (int64_t c = left; c < right; c++) {
            const int64_t y =
                p->row * j->row.stride + r * j->row.dilation - j->row.before;
            const int64_t x = p->column * j->column.stride +
                              c * j->column.dilation - j->column.before;

            add_tap(j,
                    j->x +
                        ((p->batch * j->row.in + y) * j->column.in + x) * j->in,
                    j->filter + (r * j->column.size + c) * j->channels + first,
                    first, sum, n);
        }
}

/* Rows of pixels. */
static void convolve_depthwise(void *arg, int64_t begin, int64_t end)
{
    const struct depthwise_job *j = arg;

    for (int64_t i = begin; i < end; i++)
        for (int64_t x = 0; x < j->column.out && !tfd_halted(); x++) {
            const struct pixel p = {i / j->row.out, i % j->row.out, x};
            const int64_t at = (i * j->column.out + x) * j->channels;

            for (int64_t c = 0; c < j->channels; c += TFD_FUSED_BLOCK) {
                const int64_t left = j->channels - c;
                const int64_t n =
                    left < TFD_FUSED_BLOCK ? left : TFD_FUSED_BLOCK;
                uint32_t sum[TFD_FUSED_BLOCK];

                add_pixel(j, &p, c, sum, n);
                tfd_fused_finish(&j->end, at + c, c, (const int32_t *)sum, n);
            }
        }
}

/* ---- Ranges -------------------------------------------------------------- */

/* Inputs, by what they are. */
enum { MIN_INPUT, MAX_INPUT, MIN_FILTER, MAX_FILTER, MIN_OUTPUT, MAX_OUTPUT };

static const struct tfd_tensor *range_input(const struct tfd_kctx *k, int which)
{
    const struct depthwise_state *s = k->state;

    return &k->in[2 + s->op->has_bias + which];
}

static const float *range_of(const struct tfd_kctx *k, int which)
{
    return tfd_tensor_data(range_input(k, which));
}

static enum tfd_code check_depthwise_ranges(const struct tfd_kctx *k,
                                            int64_t channels,
                                            struct tfd_status *st)
{
    static const char *const names[] = {
        "min_input",  "max_input",          "min_filter",
        "max_filter", "min_freezed_output", "max_freezed_output"};
    const struct depthwise_state *s = k->state;
    const struct tfd_tensor *low = range_input(k, MIN_FILTER);
    const int64_t count = tfd_tensor_elements(low);

    if (!count ||
        !tfd_shape_equal(&low->shape, &range_input(k, MAX_FILTER)->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`min_ and max_filter` must have sameshape and contain "
                        "at least one element.");
    if (count != 1 && count != channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`min_ and max_filter` must have one element or %lld, "
                        "as the output has channels, but have %lld",
                        (long long)channels, (long long)count);
    for (int i = 0; i < (s->op->has_range ? 6 : 2); i++)
        if (i != MIN_FILTER && i != MAX_FILTER &&
            tfd_tensor_elements(range_input(k, i)) != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "`%s` must have one element, but has %lld",
                            names[i],
                            (long long)tfd_tensor_elements(range_input(k, i)));
    return TFD_OK;
}

static enum tfd_code give_depthwise_ranges(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    const struct depthwise_state *s = k->state;
    const struct tfd_tensor *low = range_input(k, MIN_FILTER);
    const float *high = range_of(k, MAX_FILTER);
    float *y[2];

    if (s->op->has_range) {
        TFD_TRY(tfd_quantized_give(k, 1, *range_of(k, MIN_OUTPUT), st));
        return tfd_quantized_give(k, 2, *range_of(k, MAX_OUTPUT), st);
    }
    for (int i = 0; i < 2; i++) {
        const struct tfd_shape each = {low->shape.rank ? 1 : 0,
                                       {tfd_tensor_elements(low)}};

        TFD_TRY(tfd_kctx_output(k, 1 + i, TFD_FLOAT, &each, st));
        y[i] = tfd_tensor_data(&k->out[1 + i]);
    }
    for (int64_t c = 0; c < tfd_tensor_elements(low); c++) {
        const float step =
            tfd_fused_step(*range_of(k, MIN_INPUT), *range_of(k, MAX_INPUT),
                           range_of(k, MIN_FILTER)[c], high[c]);

        y[0][c] = step * -2147483648.0f;
        y[1][c] = step * 2147483648.0f;
    }
    return TFD_OK;
}

static float input_width(const struct tfd_kctx *k)
{
    return tfd_fused_widest(*range_of(k, MIN_INPUT), *range_of(k, MAX_INPUT));
}

/* Scales of the sums, and those of the output that follow from them. */
static void fill_scales(const struct tfd_kctx *k, float *scale, float *out)
{
    const struct depthwise_state *s = k->state;
    const float *low = range_of(k, MIN_FILTER), *high = range_of(k, MAX_FILTER);
    const float of_input = input_width(k) / 255.0f;
    float least = low[0], most = high[0];

    for (int64_t c = 0; c < tfd_tensor_elements(range_input(k, MIN_FILTER));
         c++) {
        scale[c] = of_input *
                   (float)((double)tfd_fused_widest(low[c], high[c]) / 127.0);
        least = low[c] < least ? low[c] : least;
        most = high[c] > most ? high[c] : most;
    }
    *out =
        s->op->has_range
            ? tfd_fused_widest(*range_of(k, MIN_OUTPUT),
                               *range_of(k, MAX_OUTPUT)) /
                  255.0f
            : (float)((double)tfd_fused_widest(least, most) / 127.0) * of_input;
}

/* A qint32 bias is of the steps of the sums. */
static void fill_bias(const struct tfd_kctx *k, int64_t channels, float *bias)
{
    const float *low = range_of(k, MIN_FILTER), *high = range_of(k, MAX_FILTER);
    const bool each = tfd_tensor_elements(range_input(k, MIN_FILTER)) != 1;
    const int32_t *x = tfd_tensor_data(&k->in[2]);

    for (int64_t c = 0; c < channels; c++) {
        const float of_filter =
            tfd_fused_widest(high[each ? c : 0], low[each ? c : 0]);
        const float steps = 255.0f * 127.0f / (input_width(k) * of_filter);

        bias[c] = (float)x[c] * (1.0f / steps);
    }
}

/* ---- Shapes -------------------------------------------------------------- */

/* Errors that oneDNN raises in TensorFlow keep their class. */
static enum tfd_code check_depthwise(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *f = &k->in[1].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (x->rank != 4 || f->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input and filter must be 4-dimensional: %s vs. %s",
                        tfd_shape_text(x, text[0]), tfd_shape_text(f, text[1]));
    if (!tfd_shape_elements(f))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must not have zero elements (i.e. all "
                        "dimensions must be non-zero)");
    if (x->dim[3] % f->dim[2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input depth must be evenly divisible by filter depth: "
                        "%lld vs %lld",
                        (long long)x->dim[3], (long long)f->dim[2]);
    if (x->dim[3] != f->dim[2])
        return tfd_fail(st, TFD_ABORTED,
                        "input of shape %s has not as many channels as filter "
                        "of shape %s",
                        tfd_shape_text(x, text[0]), tfd_shape_text(f, text[1]));
    return TFD_OK;
}

static enum tfd_code place_depthwise(const struct tfd_kctx *k,
                                     struct depthwise_job *j,
                                     struct tfd_shape *y, struct tfd_status *st)
{
    const struct depthwise_state *s = k->state;
    const int64_t *x = k->in[0].shape.dim, *f = k->in[1].shape.dim;

    TFD_TRY(check_depthwise(k, st));
    TFD_TRY(
        tfd_window_side(&s->window, TFD_WINDOW_ROW, x[1], f[0], &j->row, st));
    TFD_TRY(tfd_window_side(&s->window, TFD_WINDOW_COLUMN, x[2], f[1],
                            &j->column, st));
    j->batches = x[0];
    j->in = x[3];
    j->multiplier = f[3];
    j->channels = f[2] * f[3];
    TFD_TRY(check_depthwise_ranges(k, j->channels, st));
    if (s->op->has_bias && tfd_tensor_elements(&k->in[2]) != j->channels)
        return tfd_fail(st, TFD_ABORTED,
                        "bias has %lld elements, but the output has %lld "
                        "channels",
                        (long long)tfd_tensor_elements(&k->in[2]),
                        (long long)j->channels);
    return tfd_shape_make(
        y, (int64_t[]){x[0], j->row.out, j->column.out, j->channels}, 4, st);
}

/* ---- Kernel -------------------------------------------------------------- */

/* kept: scales and a bias of the channels. */
static void run_depthwise(struct tfd_kctx *k, struct depthwise_job *j,
                          float *kept)
{
    const struct depthwise_state *s = k->state;
    const double ns = (double)j->column.out * (double)j->channels *
                          (double)(j->row.size * j->column.size) +
                      1;
    float out;

    fill_scales(k, kept, &out);
    j->end = (struct tfd_fused_end){
        .out = s->op->out,
        .has_relu = s->op->has_relu,
        .scale = kept,
        .by_channel = tfd_tensor_elements(range_input(k, MIN_FILTER)) != 1,
        .inverse = 1.0f / out,
        .y = tfd_tensor_data(&k->out[0])};
    if (s->op->has_bias && k->in[2].dtype == TFD_QINT32) {
        fill_bias(k, j->channels, kept + j->channels);
        j->end.bias = kept + j->channels;
    } else if (s->op->has_bias) {
        j->end.bias = tfd_tensor_data(&k->in[2]);
    }
    j->x = tfd_tensor_data(&k->in[0]);
    j->filter = tfd_tensor_data(&k->in[1]);
    tfd_kctx_parallel(k, j->batches * j->row.out,
                      ns < 1e9 ? (int)ns : 1000000000, convolve_depthwise, j);
}

static enum tfd_code fused_depthwise(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct depthwise_state *s = k->state;
    struct tfd_tensor kept = TFD_TENSOR_INIT;
    struct depthwise_job j = {0};
    struct tfd_shape y, two;

    TFD_TRY(place_depthwise(k, &j, &y, st));
    TFD_TRY(tfd_shape_make(&two, (int64_t[]){2, j.channels}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, s->op->out, &y, st));
    TFD_TRY(give_depthwise_ranges(k, st));
    if (!tfd_shape_elements(&y))
        return TFD_OK;
    TFD_TRY(tfd_op_memory_new(k, TFD_FLOAT, &two, &kept, st));
    run_depthwise(k, &j, tfd_tensor_data(&kept));
    tfd_tensor_unref(&kept);
    return TFD_OK;
}

/* ---- Attributes ---------------------------------------------------------- */

/* Before and after each dimension of the input. */
static enum tfd_code read_padding_list(const struct tfd_node *n,
                                       struct tfd_window *w,
                                       struct tfd_status *st)
{
    int64_t at[2 * TFD_WINDOW_DIMS];
    int count;

    TFD_TRY(
        tfd_node_ints(n, "padding_list", at, 2 * TFD_WINDOW_DIMS, &count, st));
    if (!count)
        return TFD_OK;
    if (count != 2 * TFD_WINDOW_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "padding_list must have %d numbers, but has %d",
                        2 * TFD_WINDOW_DIMS, count);
    w->padding = TFD_WINDOW_EXPLICIT;
    for (int d = TFD_WINDOW_ROW; d <= TFD_WINDOW_COLUMN; d++) {
        w->before[d] = at[2 * d];
        w->after[d] = at[2 * d + 1];
        if (at[2 * d] < 0 || at[2 * d + 1] < 0 || at[2 * d] > INT32_MAX ||
            at[2 * d + 1] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "padding_list must have numbers between 0 and %d, "
                            "but has %lld and %lld",
                            INT32_MAX, (long long)at[2 * d],
                            (long long)at[2 * d + 1]);
    }
    return TFD_OK;
}

static enum tfd_code check_depthwise_window(const struct tfd_window *w,
                                            struct tfd_status *st)
{
    static const char text[] =
        "Current implementation does not yet support %s in the batch and depth "
        "dimensions.";

    if (w->stride[TFD_WINDOW_BATCH] != 1 || w->stride[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED, text, "strides");
    if (w->dilation[TFD_WINDOW_BATCH] != 1 ||
        w->dilation[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, text, "dilations");
    return TFD_OK;
}

static enum tfd_code depthwise_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct depthwise_state *s = state;

    for (size_t i = 0; i < TFD_COUNT(depthwise_ops); i++)
        if (tfd_str_is(p->node->op->name, depthwise_ops[i].name))
            s->op = &depthwise_ops[i];
    TFD_TRY(tfd_window_read(p->node, &s->window, st));
    TFD_TRY(check_depthwise_window(&s->window, st));
    if (s->op->has_relu)
        TFD_TRY(read_padding_list(p->node, &s->window, st));
    TFD_TRY(tfd_quantized_check_type(p, "Tfilter", TFD_QINT8, st));
    return tfd_quantized_check_type(p, "out_type", s->op->out, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define IMAGES "input: Tinput, filter: Tfilter, "
#define RANGES \
    "min_input: float, max_input: float, min_filter: float, max_filter: float"
#define GIVEN ", min_freezed_output: float, max_freezed_output: float"
#define IMAGE_TYPES "Tinput: quantizedtype; Tfilter: quantizedtype; "
#define WINDOWS                                          \
    "; strides: list(int); padding: {'SAME', 'VALID'}; " \
    "dilations: list(int) = [1, 1, 1, 1]"
#define LIST "; padding_list: list(int) = []"
#define DEPTHWISE_OP(name_, inputs_, types_, list_)                          \
    {                                                                        \
        .name = name_, .inputs = inputs_,                                    \
        .outputs = "output: out_type, min_output: float, max_output: float", \
        .attrs = IMAGE_TYPES types_ WINDOWS list_, .key = "Tinput",          \
        .shape = tfd_quantized_shape_depthwise,                              \
    }

static const struct tfd_opdef ops[] = {
    DEPTHWISE_OP("QuantizedDepthwiseConv2D", IMAGES RANGES,
                 "out_type: quantizedtype = DT_QINT32", ""),
    DEPTHWISE_OP("QuantizedDepthwiseConv2DWithBias",
                 IMAGES "bias: float, " RANGES,
                 "out_type: quantizedtype = DT_QINT32", ""),
    DEPTHWISE_OP("QuantizedDepthwiseConv2DWithBiasAndRelu",
                 IMAGES "bias: float, " RANGES,
                 "out_type: quantizedtype = DT_QINT32", LIST),
    DEPTHWISE_OP("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
                 IMAGES "bias: Tbias, " RANGES GIVEN,
                 "Tbias: {float, qint32}; "
                 "out_type: quantizedtype = DT_QUINT8",
                 LIST),
};

#define DEPTHWISE_ROW(name)                                                 \
    TFD_KERNEL(name, QUINT8, fused_depthwise, .prepare = depthwise_prepare, \
               .state_size = sizeof(struct depthwise_state))

static const struct tfd_kernel kernels[] = {
    DEPTHWISE_ROW("QuantizedDepthwiseConv2D"),
    DEPTHWISE_ROW("QuantizedDepthwiseConv2DWithBias"),
    DEPTHWISE_ROW("QuantizedDepthwiseConv2DWithBiasAndRelu"),
    DEPTHWISE_ROW("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize"),
};

const struct tfd_family tfd_family_fused_depthwise = {
    .name = "fused_depthwise",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
