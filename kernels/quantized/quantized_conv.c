/*
 * quantized_conv.c - convolutions of quantised images:
 *
 *     QuantizedConv2D QuantizedConv2DPerChannel
 *     QuantizedConv2D[WithBias[[Signed]Sum]][AndRelu][AndRequantize]
 *
 * A table of forms says what each spelling has besides the convolution; there
 * is one kernel.  What has a filter of qint8 is TensorFlow's kernel by oneDNN,
 * with its quirks; QuantizedConv2D with one of quint8 is its plain kernel.
 *
 * TensorFlow ends its process for inputs that are not images, or ranges that
 * are not one number; those are INVALID_ARGUMENT here.
 */
#include "common/base/str.h"
#include "kernels/conv/conv.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/quantized/quantized_conv.h"
#include "kernels/quantized/quantized_shape.h"

/* ---- Forms --------------------------------------------------------------- */

struct conv_form {
    const char *op;
    bool bias, sum, relu, requantize;
};

static const struct conv_form forms[] = {
    {"QuantizedConv2D", false, false, false, false},
    {"QuantizedConv2DPerChannel", false, false, false, false},
    {"QuantizedConv2DAndRelu", false, false, true, false},
    {"QuantizedConv2DAndRequantize", false, false, false, true},
    {"QuantizedConv2DAndReluAndRequantize", false, false, true, true},
    {"QuantizedConv2DWithBias", true, false, false, false},
    {"QuantizedConv2DWithBiasAndRelu", true, false, true, false},
    {"QuantizedConv2DWithBiasAndRequantize", true, false, false, true},
    {"QuantizedConv2DWithBiasAndReluAndRequantize", true, false, true, true},
    {"QuantizedConv2DWithBiasSumAndRelu", true, true, true, false},
    {"QuantizedConv2DWithBiasSumAndReluAndRequantize", true, true, true, true},
    {"QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", true, true, true,
     true},
};

struct form_state {
    struct tfd_window window;
    const struct conv_form *form;
    bool plain;
    /* Where inputs are; the higher end of a range follows the lower one. */
    int min_input, min_filter, min_output, summand, min_summand;
};

static const struct conv_form *form_of(struct tfd_str op)
{
    for (size_t i = 0; i < TFD_COUNT(forms); i++)
        if (tfd_str_is(op, forms[i].op))
            return &forms[i];
    return NULL;
}

/* ---- Attributes ---------------------------------------------------------- */

/* A padding_list with a number in it stands for the padding. */
static enum tfd_code read_padding_list(const struct tfd_node *n,
                                       struct tfd_window *w,
                                       struct tfd_status *st)
{
    int64_t pad[2 * TFD_WINDOW_DIMS] = {0};
    struct tfd_str ignored;
    int count = 0;
    bool any = false;

    if (tfd_node_attr(n, "padding_list", &ignored))
        TFD_TRY(tfd_node_ints(n, "padding_list", pad, 2 * TFD_WINDOW_DIMS,
                              &count, st));
    if (count && count != 2 * TFD_WINDOW_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "explicit_paddings attribute must contain %d values, "
                        "but got: %d",
                        2 * TFD_WINDOW_DIMS, count);
    for (int i = 0; i < count; i++) {
        if (pad[i] < 0 || pad[i] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All elements of explicit_paddings must be "
                            "nonnegative");
        any = any || pad[i];
    }
    if (pad[0] || pad[1] || pad[6] || pad[7])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Nonzero explicit padding in the batch or depth "
                        "dimensions is not supported");
    for (int d = 0; any && d < TFD_WINDOW_DIMS; d++) {
        w->before[d] = pad[2 * d];
        w->after[d] = pad[2 * d + 1];
    }
    w->padding = any ? TFD_WINDOW_EXPLICIT : w->padding;
    return TFD_OK;
}

static enum tfd_code check_plain_window(const struct tfd_window *w,
                                        struct tfd_status *st)
{
    const int64_t *d = w->dilation;

    if (w->stride[TFD_WINDOW_ROW] != w->stride[TFD_WINDOW_COLUMN])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation only supports equal length "
                        "strides in the row and column dimensions.");
    if (d[TFD_WINDOW_ROW] != 1 || d[TFD_WINDOW_COLUMN] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation only supports dilated rate as "
                        "1 in the row and column dimensions.");
    return TFD_OK;
}

static enum tfd_code check_window(const struct form_state *s,
                                  struct tfd_status *st)
{
    const struct tfd_window *w = &s->window;

    if (s->plain)
        TFD_TRY(check_plain_window(w, st));
    if (w->stride[TFD_WINDOW_BATCH] != 1 || w->stride[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, s->plain ? TFD_INVALID_ARGUMENT : TFD_UNIMPLEMENTED,
                        "Current implementation does not yet support strides "
                        "in the batch and depth dimensions.");
    if (w->dilation[TFD_WINDOW_BATCH] != 1 ||
        w->dilation[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation does not yet support dilations "
                        "in the batch and depth dimensions.");
    return TFD_OK;
}

/* The types that are not the key. */
static enum tfd_code check_form_types(const struct tfd_prepare *p,
                                      const struct form_state *s,
                                      struct tfd_status *st)
{
    const bool is_signed =
        tfd_str_is(p->node->op->name,
                   "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize");
    const enum tfd_dtype requantized = s->form->relu ? TFD_QUINT8 : TFD_QINT8;

    if (!s->plain)
        TFD_TRY(tfd_quantized_check_type(p, "Tfilter", TFD_QINT8, st));
    if (s->form->sum && s->form->requantize)
        TFD_TRY(tfd_quantized_check_type(
            p, "Tsummand", is_signed ? TFD_QINT8 : TFD_QUINT8, st));
    return tfd_quantized_check_type(
        p, "out_type", s->form->requantize ? requantized : TFD_QINT32, st);
}

static enum tfd_code conv_form_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct form_state *s = state;
    enum tfd_dtype filter;

    s->form = form_of(p->node->op->name);
    TFD_TRY(tfd_node_type(p->node, "Tfilter", &filter, st));
    s->plain = s->form == &forms[0] && filter == TFD_QUINT8;
    s->min_input = s->form->bias ? 3 : 2;
    s->min_filter = s->min_input + 2;
    s->min_output = s->min_filter + 2;
    s->summand = s->min_output + (s->form->requantize ? 2 : 0);
    s->min_summand = s->summand + 1;
    TFD_TRY(tfd_window_read(p->node, &s->window, st));
    TFD_TRY(read_padding_list(p->node, &s->window, st));
    TFD_TRY(check_window(s, st));
    return check_form_types(p, s, st);
}

/* ---- Checks -------------------------------------------------------------- */

/* What must be one number is one. */
static enum tfd_code check_one_number(const struct tfd_kctx *k, int in,
                                      const char *name, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_tensor_elements(&k->in[in]) == 1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s must have one element, but its shape is %s", name,
                    tfd_shape_text(&k->in[in].shape, text));
}

static enum tfd_code check_filter_ranges(const struct tfd_kctx *k,
                                         int64_t channels,
                                         struct tfd_status *st)
{
    const struct form_state *s = k->state;
    const struct tfd_shape *low = &k->in[s->min_filter].shape;
    const struct tfd_shape *high = &k->in[s->min_filter + 1].shape;
    const int64_t count = tfd_shape_elements(low);

    if (!count || !tfd_shape_equal(low, high))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`min_ and max_filter` must have sameshape and contain "
                        "at least one element.");
    if (count != 1 && count != channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "min_filter must have one element or one for each of "
                        "%lld output channels, but has %lld",
                        (long long)channels, (long long)count);
    return TFD_OK;
}

static enum tfd_code check_output_ranges(const struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    static const char *const names[] = {
        "min_freezed_output", "max_freezed_output", "min_freezed_summand",
        "max_freezed_summand"};
    const struct form_state *s = k->state;

    if (!s->form->requantize)
        return TFD_OK;
    for (int i = 0; i < 2; i++)
        TFD_TRY(check_one_number(k, s->min_output + i, names[i], st));
    if (!s->form->sum)
        return TFD_OK;
    for (int i = 0; i < 2; i++)
        TFD_TRY(tfd_quantized_check_one(k, s->min_output + i, names[i], st));
    for (int i = 0; i < 2; i++)
        TFD_TRY(
            tfd_quantized_check_one(k, s->min_summand + i, names[2 + i], st));
    return TFD_OK;
}

/* Ranges, biases and summands are right for y. */
static enum tfd_code check_fused(const struct tfd_kctx *k,
                                 const struct tfd_shape *y,
                                 struct tfd_status *st)
{
    static const char *const names[] = {"min_input", "max_input"};
    const struct form_state *s = k->state;

    for (int i = 0; i < 2; i++)
        TFD_TRY(check_one_number(k, s->min_input + i, names[i], st));
    TFD_TRY(check_filter_ranges(k, y->dim[3], st));
    TFD_TRY(check_output_ranges(k, st));
    if (s->form->bias && tfd_tensor_elements(&k->in[2]) != y->dim[3])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "bias must have an element for each of %lld output "
                        "channels, but has %lld",
                        (long long)y->dim[3],
                        (long long)tfd_tensor_elements(&k->in[2]));
    if (s->form->sum)
        return tfd_window_check_shape("summand", &k->in[s->summand].shape, y,
                                      st);
    return TFD_OK;
}

static enum tfd_code check_images(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    static const char *const names[] = {"input", "filter"};
    const struct form_state *s = k->state;
    char text[TFD_SHAPE_TEXT_MAX];

    if (!s->plain && !tfd_tensor_elements(&k->in[1]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must not have zero elements (i.e. all "
                        "dimensions must be non-zero)");
    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 4 && s->plain)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be rank 4 but is rank %d", names[i],
                            k->in[i].shape.rank);
        else if (k->in[i].shape.rank != 4)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be 4-dimensional: %s", names[i],
                            tfd_shape_text(&k->in[i].shape, text));
    return TFD_OK;
}

/* Of the plain kernel, before any sizes are computed. */
static enum tfd_code check_plain(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    static const char *const names[] = {"min_input", "max_input", "min_filter",
                                        "max_filter"};
    const int64_t *x = k->in[0].shape.dim, *w = k->in[1].shape.dim;

    for (int i = 0; i < 4; i++)
        if (k->in[2 + i].shape.rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be rank 0 but is rank %d", names[i],
                            k->in[2 + i].shape.rank);
    if (x[3] != w[2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input and filter must have the same depth: %lld vs "
                        "%lld",
                        (long long)x[3], (long long)w[2]);
    if (!tfd_tensor_elements(&k->in[0]) || !tfd_tensor_elements(&k->in[1]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input and filter must not be empty");
    return TFD_OK;
}

/* ---- Kernel -------------------------------------------------------------- */

/* What fused outputs need by channel. */
static void fill_scales(const struct tfd_kctx *k, float *scale, float *bias,
                        int64_t channels)
{
    const struct form_state *s = k->state;
    const float *low = tfd_tensor_data(&k->in[s->min_filter]);
    const float *high = tfd_tensor_data(&k->in[s->min_filter + 1]);
    const bool one = tfd_tensor_elements(&k->in[s->min_filter]) == 1;
    const float x_low = tfd_quantized_scalar(k, s->min_input);
    const float x_high = tfd_quantized_scalar(k, s->min_input + 1);
    const float x_most = tfd_quantized_max(fabsf(x_low), fabsf(x_high));
    const float step = tfd_quantized_conv_step(k->in[0].dtype, x_low, x_high);
    const float limit =
        k->in[0].dtype == TFD_QUINT8 ? 255.0f * 127.0f : 127.0f * 127.0f;

    for (int64_t c = 0; c < channels; c++) {
        const int64_t at = one ? 0 : c;
        const float most = tfd_quantized_max(fabsf(low[at]), fabsf(high[at]));

        scale[c] = step * tfd_quantized_conv_step(TFD_QINT8, low[at], high[at]);
        if (s->form->bias && k->in[2].dtype == TFD_QINT32)
            bias[c] = (float)((const int32_t *)tfd_tensor_data(&k->in[2]))[c] /
                      (limit / (x_most * most));
        else if (s->form->bias)
            bias[c] = ((const float *)tfd_tensor_data(&k->in[2]))[c];
    }
}

/* Of all channels together, for sums that stay sums. */
static float step_of_sums(const struct tfd_kctx *k)
{
    const struct form_state *s = k->state;
    const float *low = tfd_tensor_data(&k->in[s->min_filter]);
    const float *high = tfd_tensor_data(&k->in[s->min_filter + 1]);
    float lowest = low[0], highest = high[0];

    for (int64_t i = 1; i < tfd_tensor_elements(&k->in[s->min_filter]); i++) {
        lowest = tfd_quantized_min(low[i], lowest);
        highest = tfd_quantized_max(highest, high[i]);
    }
    return tfd_quantized_conv_step(TFD_QINT8, lowest, highest) *
           tfd_quantized_conv_step(k->in[0].dtype,
                                   tfd_quantized_scalar(k, s->min_input),
                                   tfd_quantized_scalar(k, s->min_input + 1));
}

static struct tfd_quantized_conv_finish finish_of(const struct tfd_kctx *k)
{
    const struct form_state *s = k->state;
    struct tfd_quantized_conv_finish f = {.dtype = k->out[0].dtype,
                                          .relu = s->form->relu};

    f.inverse = 1.0f / step_of_sums(k);
    f.highest = 2147483520.0f;
    if (s->form->requantize) {
        f.inverse = 1.0f / tfd_quantized_conv_step(
                               f.dtype, tfd_quantized_scalar(k, s->min_output),
                               tfd_quantized_scalar(k, s->min_output + 1));
        f.highest = f.dtype == TFD_QUINT8 ? 255 : 127;
    }
    if (!s->form->sum)
        return f;
    f.summand = tfd_tensor_data(&k->in[s->summand]);
    f.summand_dtype = k->in[s->summand].dtype;
    if (!s->form->requantize)
        return f;
    f.summand_scale = tfd_quantized_conv_step(
        f.summand_dtype, tfd_quantized_scalar(k, s->min_summand),
        tfd_quantized_scalar(k, s->min_summand + 1));
    /* The output is the summand's memory there, of its type. */
    if (f.summand_dtype == TFD_QINT8)
        f.highest = 127;
    return f;
}

static enum tfd_code run_fused(struct tfd_kctx *k, struct tfd_quantized_conv *c,
                               struct tfd_status *st)
{
    const struct form_state *s = k->state;
    const int64_t channels = c->sizes.out_channels;
    struct tfd_quantized_conv_finish f = finish_of(k);
    struct tfd_tensor kept = TFD_TENSOR_INIT;
    struct tfd_shape shape;
    enum tfd_code rc;
    float *scale;

    TFD_TRY(tfd_shape_make(&shape, (int64_t[]){2, channels}, 2, st));
    TFD_TRY(tfd_op_memory_new(k, TFD_FLOAT, &shape, &kept, st));
    scale = tfd_tensor_data(&kept);
    fill_scales(k, scale, scale + channels, channels);
    f.scale = scale;
    f.bias = s->form->bias ? scale + channels : NULL;
    c->finish = &f;
    c->w_signed = true;
    c->x_signed = k->in[0].dtype == TFD_QINT8;
    rc = tfd_quantized_conv_run(k, c, st);
    tfd_tensor_unref(&kept);
    return rc;
}

/* Windows of the plain kernel lie around the middle, whatever the padding; and
 * where no byte stands for 0, what lies outside is another number. */
static enum tfd_code run_plain(struct tfd_kctx *k, struct tfd_quantized_conv *c,
                               struct tfd_status *st)
{
    struct tfd_window_side *sides[] = {&c->sizes.row, &c->sizes.column};

    for (int i = 0; i < 2; i++)
        sides[i]->before = ((sides[i]->out - 1) * sides[i]->stride +
                            sides[i]->size - sides[i]->in) /
                           2;
    c->x_zero = (int32_t)tfd_quantized_int_of(
        TFD_QUINT8, 0, tfd_quantized_scalar(k, 2), tfd_quantized_scalar(k, 3));
    c->w_zero = (int32_t)tfd_quantized_int_of(
        TFD_QUINT8, 0, tfd_quantized_scalar(k, 4), tfd_quantized_scalar(k, 5));
    c->outside = c->x_zero < 0 ? 0 : (c->x_zero & 255) - c->x_zero;
    return tfd_quantized_conv_run(k, c, st);
}

/* Outputs 1 and 2: the range of sums, as many as the filter has. */
static enum tfd_code give_sum_range(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct form_state *s = k->state;
    const struct tfd_tensor *low = &k->in[s->min_filter];
    const float *from = tfd_tensor_data(low);
    const float *to = tfd_tensor_data(&k->in[s->min_filter + 1]);
    const float level = tfd_quantized_conv_level(
        k->in[0].dtype, tfd_quantized_scalar(k, s->min_input),
        tfd_quantized_scalar(k, s->min_input + 1));
    const enum tfd_dtype filter = s->plain ? TFD_QUINT8 : TFD_QINT8;
    float *ends[2];

    for (int i = 0; i < 2; i++) {
        TFD_TRY(tfd_kctx_output(k, 1 + i, TFD_FLOAT, &low->shape, st));
        ends[i] = tfd_tensor_data(&k->out[1 + i]);
    }
    for (int64_t c = 0; c < tfd_tensor_elements(low); c++) {
        const float step =
            level * tfd_quantized_conv_level(filter, from[c], to[c]);

        ends[0][c] = step * -2147483648.0f;
        ends[1][c] = step * 2147483648.0f;
    }
    return TFD_OK;
}

static enum tfd_code give_range(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct form_state *s = k->state;

    if (!s->form->requantize)
        return give_sum_range(k, st);
    for (int i = 0; i < 2; i++)
        TFD_TRY(tfd_quantized_give(
            k, 1 + i, tfd_quantized_scalar(k, s->min_output + i), st));
    return TFD_OK;
}

static enum tfd_dtype output_type(const struct conv_form *f)
{
    return !f->requantize ? TFD_QINT32 : f->relu ? TFD_QUINT8 : TFD_QINT8;
}

static enum tfd_code quantized_conv(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct form_state *s = k->state;
    struct tfd_quantized_conv c = {0};
    struct tfd_shape y;

    TFD_TRY(check_images(k, st));
    if (s->plain)
        TFD_TRY(check_plain(k, st));
    TFD_TRY(tfd_conv_measure(&s->window, &k->in[0].shape, &k->in[1].shape,
                             &c.sizes, &y, st));
    if (!s->plain)
        TFD_TRY(check_fused(k, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, output_type(s->form), &y, st));
    TFD_TRY(give_range(k, st));
    if (!tfd_shape_elements(&y))
        return TFD_OK;
    c.depth = k->in[1].shape.dim[2];
    c.sizes.x = tfd_tensor_data(&k->in[0]);
    c.sizes.w = tfd_tensor_data(&k->in[1]);
    c.sizes.y = tfd_tensor_data(&k->out[0]);
    return s->plain ? run_plain(k, &c, st) : run_fused(k, &c, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code quantized_conv_shape(struct tfd_shape_ctx *s,
                                          struct tfd_status *st)
{
    struct tfd_shape y = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape x = y, w = y;
    struct tfd_window window;

    if (!s->node)
        return TFD_OK;
    tfd_quantized_shape_ends(s);
    TFD_TRY(tfd_window_read(s->node, &window, st));
    TFD_TRY(read_padding_list(s->node, &window, st));
    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&w, &s->in[1], st));
    y.dim[0] = x.dim[0];
    y.dim[3] = w.dim[3];
    TFD_TRY(tfd_window_out(&window, TFD_WINDOW_ROW, x.dim[1], w.dim[0],
                           &y.dim[1], st));
    TFD_TRY(tfd_window_out(&window, TFD_WINDOW_COLUMN, x.dim[2], w.dim[1],
                           &y.dim[2], st));
    s->out[0] = y;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define IMAGES "input: Tinput, filter: Tfilter, "
#define RANGES                                                \
    "min_input: float, max_input: float, min_filter: float, " \
    "max_filter: float"
#define FROZEN ", min_freezed_output: float, max_freezed_output: float"
#define SUMMAND ", summand: Tsummand, min_summand: float, max_summand: float"
#define TYPES "Tinput: quantizedtype; Tfilter: quantizedtype; "
#define TBIAS "Tbias: {float, qint32}; "
#define TSUMMAND "Tsummand: quantizedtype; "
#define OUT(type) "out_type: quantizedtype = DT_" type "; "
#define WINDOW                                         \
    "strides: list(int); padding: {'SAME', 'VALID'}; " \
    "dilations: list(int) = [1, 1, 1, 1]"
#define PADDED WINDOW "; padding_list: list(int) = []"

#define QUANTIZED_CONV(op, inputs_, attrs_)                              \
    {                                                                    \
        .name = "QuantizedConv2D" op, .inputs = IMAGES inputs_,          \
        .outputs = "output: out_type, min_output: float, "               \
                   "max_output: float",                                  \
        .attrs = attrs_, .key = "Tinput", .shape = quantized_conv_shape, \
    }

static const struct tfd_opdef ops[] = {
    QUANTIZED_CONV("", RANGES, TYPES OUT("QINT32") WINDOW),
    QUANTIZED_CONV("PerChannel", RANGES, TYPES OUT("QINT32") WINDOW),
    QUANTIZED_CONV("AndRelu", RANGES, TYPES OUT("QINT32") PADDED),
    QUANTIZED_CONV("AndRequantize", RANGES FROZEN, TYPES OUT("QINT8") PADDED),
    QUANTIZED_CONV("AndReluAndRequantize", RANGES FROZEN,
                   TYPES OUT("QUINT8") PADDED),
    QUANTIZED_CONV("WithBias", "bias: float, " RANGES,
                   TYPES OUT("QINT32") PADDED),
    QUANTIZED_CONV("WithBiasAndRelu", "bias: float, " RANGES,
                   TYPES OUT("QINT32") PADDED),
    QUANTIZED_CONV("WithBiasAndRequantize", "bias: Tbias, " RANGES FROZEN,
                   TYPES TBIAS OUT("QINT8") PADDED),
    QUANTIZED_CONV("WithBiasAndReluAndRequantize",
                   "bias: Tbias, " RANGES FROZEN,
                   TYPES TBIAS OUT("QUINT8") PADDED),
    QUANTIZED_CONV("WithBiasSumAndRelu",
                   "bias: float, " RANGES ", summand: float",
                   TYPES OUT("QINT32") PADDED),
    QUANTIZED_CONV("WithBiasSumAndReluAndRequantize",
                   "bias: Tbias, " RANGES FROZEN SUMMAND,
                   TYPES TBIAS TSUMMAND OUT("QUINT8") PADDED),
    QUANTIZED_CONV("WithBiasSignedSumAndReluAndRequantize",
                   "bias: Tbias, " RANGES FROZEN SUMMAND,
                   TYPES TBIAS TSUMMAND OUT("QUINT8") PADDED),
};

#define CONV_ROW(op, type)                                 \
    TFD_KERNEL("QuantizedConv2D" op, type, quantized_conv, \
               .prepare = conv_form_prepare,               \
               .state_size = sizeof(struct form_state))
#define CONV_ROWS(op) CONV_ROW(op, QUINT8), CONV_ROW(op, QINT8)

static const struct tfd_kernel kernels[] = {
    CONV_ROW("", QUINT8),
    CONV_ROW("PerChannel", QUINT8),
    CONV_ROW("AndRelu", QUINT8),
    CONV_ROW("AndRequantize", QUINT8),
    CONV_ROW("AndReluAndRequantize", QUINT8),
    CONV_ROWS("WithBias"),
    CONV_ROWS("WithBiasAndRelu"),
    CONV_ROWS("WithBiasAndRequantize"),
    CONV_ROWS("WithBiasAndReluAndRequantize"),
    CONV_ROW("WithBiasSumAndRelu", QUINT8),
    CONV_ROW("WithBiasSumAndReluAndRequantize", QUINT8),
    CONV_ROW("WithBiasSignedSumAndReluAndRequantize", QUINT8),
};

const struct tfd_family tfd_family_quantized_conv = {
    .name = "quantized_conv",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
