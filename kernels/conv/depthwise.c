/*
 * depthwise.c - convolutions in which each channel has filters of its own:
 *
 *     DepthwiseConv2dNative, ...BackpropInput, ...BackpropFilter
 *
 * x is [batch, rows, columns, in], the filter [rows, columns, in, multiplier],
 * y [batch, rows, columns, in * multiplier].
 *
 * float and bfloat16 take both layouts, dilations and unequal strides, as in a
 * TensorFlow with oneDNN; the others have the limits of its plain kernels.
 */
#include "kernels/conv/depthwise.h"

#include "common/base/alloc.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/conv/image.h"
#include "kernels/vector/narrow.h"

#include <string.h>

/* ---- Sizes --------------------------------------------------------------- */

static bool takes_all(enum tfd_dtype t)
{
    return t == TFD_FLOAT || t == TFD_BFLOAT16;
}

enum tfd_code tfd_depthwise_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_window *w = state;

    TFD_TRY(tfd_window_read(p->node, w, st));
    if (tfd_str_is(p->node->op->name, "DepthwiseConv2dNativeBackpropInput"))
        w->backward = "DepthwiseConv2DBackpropInput";
    if (tfd_str_is(p->node->op->name, "DepthwiseConv2dNativeBackpropFilter"))
        w->backward = "DepthwiseConv2DBackpropFilter";
    if (w->stride[TFD_WINDOW_BATCH] != 1 || w->stride[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation does not yet support strides "
                        "in the batch and depth dimensions.");
    if (w->dilation[TFD_WINDOW_BATCH] != 1 ||
        w->dilation[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation does not yet support dilations "
                        "in the batch and depth dimensions.");
    return TFD_OK;
}

static enum tfd_code check_depthwise_type(const struct tfd_kctx *k,
                                          enum tfd_dtype t,
                                          struct tfd_status *st)
{
    const struct tfd_window *w = k->state;

    if (takes_all(t))
        return TFD_OK;
    if (w->stride[TFD_WINDOW_ROW] != w->stride[TFD_WINDOW_COLUMN])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation only supports equal length "
                        "strides in the row and column dimensions.");
    if (w->channels_second)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Depthwise convolution on CPU is only supported for "
                        "NHWC format");
    if (w->dilation[TFD_WINDOW_ROW] != 1 || w->dilation[TFD_WINDOW_COLUMN] != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Current kernel implementation does not support "
                        "dilations, received [1 %lld %lld 1]",
                        (long long)w->dilation[TFD_WINDOW_ROW],
                        (long long)w->dilation[TFD_WINDOW_COLUMN]);
    return TFD_OK;
}

static enum tfd_code check_depthwise_rank(const struct tfd_window *w,
                                          const char *what,
                                          const struct tfd_shape *s,
                                          struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (s->rank == 4)
        return TFD_OK;
    if (w->backward)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: %s must be 4-dimensional", w->backward, what);
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be 4-dimensional%s%s",
                    what, strcmp(what, "input") == 0 ? "" : ": ",
                    tfd_shape_text(s, text));
}

enum tfd_code tfd_depthwise_measure(const struct tfd_window *w,
                                    const struct tfd_shape *x,
                                    const struct tfd_shape *filter,
                                    struct tfd_depthwise *d,
                                    struct tfd_shape *y, struct tfd_status *st)
{
    int64_t channels;

    TFD_TRY(check_depthwise_rank(w, "input", x, st));
    TFD_TRY(check_depthwise_rank(w, "filter", filter, st));
    d->batch = x->dim[0];
    d->in = x->dim[tfd_window_at(w, TFD_WINDOW_CHANNEL)];
    d->multiplier = filter->dim[3];
    if (d->in != filter->dim[2] && w->backward)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: input and filter must have the same in_depth",
                        w->backward);
    if (d->in != filter->dim[2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input and filter must have the same depth: %lld vs "
                        "%lld",
                        (long long)d->in, (long long)filter->dim[2]);
    if (__builtin_mul_overflow(d->in, d->multiplier, &channels))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld channels times %lld are too many",
                        (long long)d->in, (long long)d->multiplier);
    TFD_TRY(tfd_window_side(w, TFD_WINDOW_ROW,
                            x->dim[tfd_window_at(w, TFD_WINDOW_ROW)],
                            filter->dim[0], &d->row, st));
    TFD_TRY(tfd_window_side(w, TFD_WINDOW_COLUMN,
                            x->dim[tfd_window_at(w, TFD_WINDOW_COLUMN)],
                            filter->dim[1], &d->column, st));
    *y = *x;
    y->dim[tfd_window_at(w, TFD_WINDOW_ROW)] = d->row.out;
    y->dim[tfd_window_at(w, TFD_WINDOW_COLUMN)] = d->column.out;
    y->dim[tfd_window_at(w, TFD_WINDOW_CHANNEL)] = channels;
    return tfd_shape_make(y, y->dim, y->rank, st);
}

/* ---- Kernels ------------------------------------------------------------- */

/* bfloat16 where the loops need no copies in float. */
static bool run_as_it_lies(struct tfd_kctx *k, struct tfd_depthwise *d,
                           const struct tfd_image o[3],
                           enum tfd_depthwise_loop loop)
{
    void **to[] = {&d->x, &d->w, &d->y};

    const bool filter = loop == TFD_DEPTHWISE_FILTER;
    const int64_t n = tfd_tensor_elements(&k->out[0]);
    struct tfd_buffer *sums = NULL;

    if (k->out[0].dtype != TFD_BFLOAT16 || !tfd_depthwise_has_bfloat16(d))
        return false;
    for (int i = 0; i < 3; i++) {
        const struct tfd_tensor *t = o[i].from ? o[i].from : &k->out[o[i].out];

        if (o[i].second || tfd_tensor_elements(t) == 0)
            return false;
        *to[i] = tfd_tensor_data(t);
    }
    if (filter) {
        sums = tfd_buffer_new((size_t)n * sizeof(float));
        if (!sums)
            return false;
        d->w = sums->data;
    }
    tfd_depthwise_run(k, d, loop, TFD_BFLOAT16);
    if (filter)
        tfd_narrow_round(TFD_BFLOAT16, d->w, tfd_tensor_data(&k->out[0]), n);
    tfd_buffer_unref(sums);
    return true;
}

/* o: x, w and y, of which one is the result. */
static enum tfd_code run_depthwise(struct tfd_kctx *k, struct tfd_depthwise *d,
                                   struct tfd_image o[3],
                                   enum tfd_depthwise_loop loop,
                                   struct tfd_status *st)
{
    enum tfd_code rc;

    if (run_as_it_lies(k, d, o, loop))
        return TFD_OK;
    rc = tfd_image_begin(k, o, 3, st);
    if (rc == TFD_OK && !tfd_image_empty(o, 3)) {
        d->x = tfd_tensor_data(&o[0].work);
        d->w = tfd_tensor_data(&o[1].work);
        d->y = tfd_tensor_data(&o[2].work);
        tfd_depthwise_run(k, d, loop, o[0].work.dtype);
    } else if (rc == TFD_OK) {
        tfd_image_zero(o, 3);
    }
    return tfd_image_end(k, o, 3, rc, st);
}

/* The kernels of oneDNN, which TensorFlow takes for all types but double. */
static enum tfd_code check_filter(const struct tfd_tensor *filter,
                                  struct tfd_status *st)
{
    if (filter->dtype != TFD_DOUBLE && tfd_tensor_elements(filter) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must not have zero elements (i.e. all "
                        "dimensions must be non-zero)");
    return TFD_OK;
}

enum tfd_code tfd_depthwise_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = k->state;
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_depthwise d;
    struct tfd_shape y;

    TFD_TRY(check_filter(&k->in[1], st));
    TFD_TRY(check_depthwise_type(k, x->dtype, st));
    TFD_TRY(tfd_depthwise_measure(w, &x->shape, &k->in[1].shape, &d, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &y, st));
    return run_depthwise(
        k, &d,
        (struct tfd_image[]){tfd_image_operand(x, w->channels_second),
                             tfd_image_operand(&k->in[1], false),
                             tfd_image_result(0, w->channels_second)},
        TFD_DEPTHWISE_FORWARD, st);
}

enum tfd_code tfd_depthwise_check_backprop(const struct tfd_kctx *k,
                                           const struct tfd_shape *want,
                                           struct tfd_status *st)
{
    static const struct {
        enum tfd_window_dim dim;
        const char *wrong;
    } rules[] = {
        {TFD_WINDOW_BATCH,
         "input and out_backprop must have the same batch size"},
        {TFD_WINDOW_ROW, "Number of rows of out_backprop doesn't match"},
        {TFD_WINDOW_COLUMN, "Number of cols of out_backprop doesn't match"},
        {TFD_WINDOW_CHANNEL,
         "depth_multiplier * in_depth not equal to out_depth"},
    };
    const struct tfd_window *w = k->state;
    const struct tfd_shape *have = &k->in[2].shape;

    TFD_TRY(check_depthwise_rank(w, "out_backprop", have, st));
    for (size_t i = 0; i < TFD_COUNT(rules); i++) {
        const int at = tfd_window_at(w, rules[i].dim);

        if (have->dim[at] == want->dim[at])
            continue;
        if (rules[i].dim == TFD_WINDOW_BATCH ||
            rules[i].dim == TFD_WINDOW_CHANNEL)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s: %s", w->backward,
                            rules[i].wrong);
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: %s computed: actual = %lld, computed = %lld",
                        w->backward, rules[i].wrong, (long long)have->dim[at],
                        (long long)want->dim[at]);
    }
    return TFD_OK;
}

static enum tfd_code read_sizes(const struct tfd_kctx *k, int in,
                                const char *what, struct tfd_shape *out,
                                struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Conv2DBackprop%s: %s input must be 1-dim, not %d",
                        in == 0 ? "Input" : "Filter", what, t->shape.rank);
    for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
        if (tfd_check_int_at(t, i) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Dimension %lld of %s must be >= 0", (long long)i,
                            what);
    return tfd_check_shape(k, in, false, out, st);
}

static enum tfd_code input_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = k->state;
    const struct tfd_tensor *dy = &k->in[2];
    struct tfd_shape x, y;
    struct tfd_depthwise d;

    TFD_TRY(check_depthwise_type(k, dy->dtype, st));
    TFD_TRY(read_sizes(k, 0, "input_sizes", &x, st));
    TFD_TRY(tfd_depthwise_measure(w, &x, &k->in[1].shape, &d, &y, st));
    TFD_TRY(tfd_depthwise_check_backprop(k, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, dy->dtype, &x, st));
    return run_depthwise(
        k, &d,
        (struct tfd_image[]){tfd_image_result(0, w->channels_second),
                             tfd_image_operand(&k->in[1], false),
                             tfd_image_operand(dy, w->channels_second)},
        TFD_DEPTHWISE_INPUT, st);
}

static enum tfd_code filter_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = k->state;
    const struct tfd_tensor *x = &k->in[0], *dy = &k->in[2];
    struct tfd_shape filter, y;
    struct tfd_depthwise d;

    TFD_TRY(check_depthwise_type(k, x->dtype, st));
    TFD_TRY(read_sizes(k, 1, "filter_sizes", &filter, st));
    TFD_TRY(tfd_depthwise_measure(w, &x->shape, &filter, &d, &y, st));
    TFD_TRY(tfd_depthwise_check_backprop(k, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &filter, st));
    return run_depthwise(
        k, &d,
        (struct tfd_image[]){tfd_image_operand(x, w->channels_second),
                             tfd_image_result(0, false),
                             tfd_image_operand(dy, w->channels_second)},
        TFD_DEPTHWISE_FILTER, st);
}

/* ---- Shapes -------------------------------------------------------------- */

enum tfd_code tfd_depthwise_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_window w;
    struct tfd_depthwise d;

    if (!s->node || tfd_shape_elements(&s->in[0]) < 0 ||
        tfd_shape_elements(&s->in[1]) < 0)
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    return tfd_depthwise_measure(&w, &s->in[0], &s->in[1], &d, &s->out[0], st);
}

static enum tfd_code sizes_shape(struct tfd_shape_ctx *s, int arg,
                                 struct tfd_status *st)
{
    if (!s->value || !s->value[arg])
        return TFD_OK;
    return tfd_check_shape_value(s->value[arg], true, &s->out[0], st);
}

static enum tfd_code input_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return sizes_shape(s, 0, st);
}

static enum tfd_code filter_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    return sizes_shape(s, 1, st);
}

/* ---- Gradients ----------------------------------------------------------- */

#define OP "DepthwiseConv2dNative"

static struct tfd_edge same(struct tfd_gradient *b, const char *op,
                            const struct tfd_edge *in, int in_count)
{
    static const char *const names[] = {"strides",           "padding",
                                        "explicit_paddings", "data_format",
                                        "dilations",         NULL};
    struct tfd_edge out;

    tfd_gradient_copying(b, op, in, in_count, names, &out, 1);
    return out;
}

static enum tfd_code forward_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x[] = {tfd_gradient_shape(&b, g->x[0]), g->x[1], g->dy[0]};
    struct tfd_edge w[] = {g->x[0], tfd_gradient_shape(&b, g->x[1]), g->dy[0]};

    g->dx[0] = same(&b, OP "BackpropInput", x, 3);
    g->dx[1] = same(&b, OP "BackpropFilter", w, 3);
    return b.code;
}

static enum tfd_code input_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge w[] = {g->dy[0], tfd_gradient_shape(&b, g->x[1]), g->x[2]};
    struct tfd_edge y[] = {g->dy[0], g->x[1]};

    g->dx[1] = same(&b, OP "BackpropFilter", w, 3);
    g->dx[2] = same(&b, OP, y, 2);
    return b.code;
}

static enum tfd_code filter_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x[] = {tfd_gradient_shape(&b, g->x[0]), g->dy[0], g->x[2]};
    struct tfd_edge y[] = {g->x[0], g->dy[0]};

    g->dx[0] = same(&b, OP "BackpropInput", x, 3);
    g->dx[2] = same(&b, OP, y, 2);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS                                                  \
    "T: {half, bfloat16, float, double}; strides: list(int); " \
    "padding: {'SAME', 'VALID', 'EXPLICIT'}; "                 \
    "explicit_paddings: list(int) = []; "                      \
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'; "                 \
    "dilations: list(int) = [1, 1, 1, 1]"

static const struct tfd_opdef ops[] = {
    {
        .name = OP,
        .inputs = "input: T, filter: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = tfd_depthwise_shape,
        .grad = forward_gradient,
    },
    {
        .name = OP "BackpropInput",
        .inputs = "input_sizes: int32, filter: T, out_backprop: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .checks = "input_sizes: vector",
        .shape = input_shape,
        .grad = input_gradient,
    },
    {
        .name = OP "BackpropFilter",
        .inputs = "input: T, filter_sizes: int32, out_backprop: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .checks = "filter_sizes: vector",
        .shape = filter_shape,
        .grad = filter_gradient,
    },
};

#define ROW(op, name, compute)                                      \
    TFD_KERNEL(op, name, compute, .prepare = tfd_depthwise_prepare, \
               .state_size = sizeof(struct tfd_window)),
#define ROWS(name, number, T)                    \
    ROW(OP, name, tfd_depthwise_compute)         \
    ROW(OP "BackpropInput", name, input_compute) \
    ROW(OP "BackpropFilter", name, filter_compute)

static const struct tfd_kernel kernels[] = {TFD_FLOAT_DTYPES(ROWS)
                                                TFD_HALF_DTYPES(ROWS)};

const struct tfd_family tfd_family_depthwise = {
    .name = "depthwise",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
