/*
 * conv.c - convolutions of images, and their gradients:
 *
 *     Conv2D Conv2DBackpropInput Conv2DBackpropFilter
 *
 * Loops are those of conv_gemm.h, which has channels last and no narrow types:
 * other layouts and half types are converted before and after.
 *
 * float and bfloat16 take every combination of layout, groups and dilations, as
 * they do in a TensorFlow with oneDNN; the other types have the limits of its
 * plain kernels.
 */
#include "kernels/conv/conv.h"

#include "common/base/str.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"
#include "kernels/core/gradient.h"
#include "kernels/conv/conv_dnnl.h"
#include "kernels/conv/image.h"

/* ---- Attributes ---------------------------------------------------------- */

enum tfd_code tfd_conv_prepare(const struct tfd_prepare *p, void *state,
                               struct tfd_status *st)
{
    struct tfd_window *w = state;
    const bool filter = tfd_str_is(p->node->op->name, "Conv2DBackpropFilter");
    const enum tfd_code refusal =
        filter || tfd_str_starts(p->node->op->name, "Fused")
            ? TFD_INVALID_ARGUMENT
            : TFD_UNIMPLEMENTED;

    tfd_gemm_init();
    TFD_TRY(tfd_window_read(p->node, w, st));
    if (filter)
        w->backward = "Conv2DCustomBackpropFilter";
    else if (tfd_str_is(p->node->op->name, "Conv2DBackpropInput"))
        w->backward = "Conv2DCustomBackpropInput";
    if (w->stride[TFD_WINDOW_BATCH] != 1 || w->stride[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, refusal,
                        "Current implementation does not yet support strides "
                        "in the batch and depth dimensions.");
    if (w->dilation[TFD_WINDOW_BATCH] != 1 ||
        w->dilation[TFD_WINDOW_CHANNEL] != 1)
        return tfd_fail(st, refusal,
                        "Current implementation does not yet support dilations "
                        "in the batch and depth dimensions.");
    return TFD_OK;
}

static bool takes_all(enum tfd_dtype t)
{
    return t == TFD_FLOAT || t == TFD_BFLOAT16;
}

/* ---- Sizes --------------------------------------------------------------- */

static enum tfd_code check_conv_rank(const struct tfd_window *w,
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
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "convolution %s must be 4-dimensional: %s", what,
                    tfd_shape_text(s, text));
}

static int64_t dim(const struct tfd_window *w, const struct tfd_shape *s,
                   enum tfd_window_dim d)
{
    return s->dim[tfd_window_at(w, d)];
}

/* TensorFlow's words, spelt as it does. */
static enum tfd_code check_channels(const struct tfd_window *w, int64_t in,
                                    const int64_t *filter,
                                    struct tfd_status *st)
{
    if (filter[2] <= 0 && w->backward)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: filter depth must be strictly greated than zero",
                        w->backward);
    if (filter[2] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter depth must be stricly positive, got %lld",
                        (long long)filter[2]);
    if (in % filter[2] && w->backward)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: input depth must be evenly divisible by filter "
                        "depth",
                        w->backward);
    if (in % filter[2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input depth must be evenly divisible by filter depth: "
                        "%lld vs %lld",
                        (long long)in, (long long)filter[2]);
    if (in == 0 || filter[3] % (in / filter[2]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output depth must be evenly divisible by number of "
                        "groups: %lld vs %lld",
                        (long long)filter[3], (long long)(in / filter[2]));
    return TFD_OK;
}

enum tfd_code tfd_conv_measure(const struct tfd_window *w,
                               const struct tfd_shape *x,
                               const struct tfd_shape *filter,
                               struct tfd_conv *c, struct tfd_shape *y,
                               struct tfd_status *st)
{
    int64_t out[TFD_WINDOW_DIMS];

    TFD_TRY(check_conv_rank(w, "input", x, st));
    TFD_TRY(check_conv_rank(w, "filter", filter, st));
    c->batch = dim(w, x, TFD_WINDOW_BATCH);
    c->in_channels = dim(w, x, TFD_WINDOW_CHANNEL);
    c->out_channels = filter->dim[3];
    TFD_TRY(check_channels(w, c->in_channels, filter->dim, st));
    c->groups = c->in_channels / filter->dim[2];
    TFD_TRY(tfd_window_side(w, TFD_WINDOW_ROW, dim(w, x, TFD_WINDOW_ROW),
                            filter->dim[0], &c->row, st));
    TFD_TRY(tfd_window_side(w, TFD_WINDOW_COLUMN, dim(w, x, TFD_WINDOW_COLUMN),
                            filter->dim[1], &c->column, st));
    out[tfd_window_at(w, TFD_WINDOW_BATCH)] = c->batch;
    out[tfd_window_at(w, TFD_WINDOW_ROW)] = c->row.out;
    out[tfd_window_at(w, TFD_WINDOW_COLUMN)] = c->column.out;
    out[tfd_window_at(w, TFD_WINDOW_CHANNEL)] = c->out_channels;
    return tfd_shape_make(y, out, TFD_WINDOW_DIMS, st);
}

/* ---- The work ------------------------------------------------------------ */

/* o: x, w and y, of which one is the result. */
enum tfd_code tfd_conv_check_filter(const struct tfd_shape *filter,
                                    const struct tfd_shape *y,
                                    struct tfd_status *st)
{
    if (tfd_shape_elements(filter) > 0 || tfd_shape_elements(y) == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "filter must not have zero elements (i.e. all dimensions "
                    "must be non-zero)");
}

static tfd_conv_fn *const loops[] = {[TFD_CONV_FORWARD] = tfd_conv_forward,
                                     [TFD_CONV_INPUT] = tfd_conv_input,
                                     [TFD_CONV_FILTER] = tfd_conv_filter};

static enum tfd_code convolve(struct tfd_kctx *k, struct tfd_conv *c,
                              struct tfd_image o[3], enum tfd_conv_kind kind,
                              struct tfd_status *st)
{
    enum tfd_code rc;

    if (tfd_conv_dnnl_narrow(k, kind, c, o))
        return TFD_OK;
    rc = tfd_image_begin(k, o, 3, st);
    if (rc == TFD_OK && !tfd_image_empty(o, 3)) {
        c->dtype = o[0].work.dtype;
        c->x = tfd_tensor_data(&o[0].work);
        c->w = tfd_tensor_data(&o[1].work);
        c->y = tfd_tensor_data(&o[2].work);
        rc = loops[kind](k, c, st);
    } else if (rc == TFD_OK) {
        tfd_image_zero(o, 3);
    }
    return tfd_image_end(k, o, 3, rc, st);
}

/* ---- Kernels ------------------------------------------------------------- */

static bool is_point(const struct tfd_window_side *s)
{
    return s->size == 1 && s->stride == 1 && s->in == s->out;
}

/* Of half, a window of one element is a product of matrices that need not be
 * widened as a whole. */
static bool is_product_of_half(const struct tfd_kctx *k,
                               const struct tfd_conv *c, struct tfd_gemm *g)
{
    const struct tfd_window *w = k->state;

    *g = (struct tfd_gemm){.dtype = TFD_HALF,
                           .m = c->batch * c->row.in * c->column.in,
                           .n = c->out_channels,
                           .k = c->in_channels,
                           .lda = c->in_channels,
                           .ldb = c->out_channels,
                           .ldc = c->out_channels};
    if (k->in[0].dtype != TFD_HALF || w->channels_second || c->groups != 1 ||
        !is_point(&c->row) || !is_point(&c->column) || g->n < 1 || g->k < 1)
        return false;
    g->a = tfd_tensor_data(&k->in[0]);
    g->b = tfd_tensor_data(&k->in[1]);
    g->c = tfd_tensor_data(&k->out[0]);
    return tfd_gemm_has_blocks(k, g);
}

enum tfd_code tfd_conv_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = k->state;
    const struct tfd_tensor *x = &k->in[0], *filter = &k->in[1];
    struct tfd_conv c = {0};
    struct tfd_gemm product;
    struct tfd_shape y;

    if (w->channels_second && !takes_all(x->dtype))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "The Conv2D op currently only supports the NHWC tensor "
                        "format on the CPU. The op was given the format: "
                        "NCHW");
    TFD_TRY(tfd_conv_measure(w, &x->shape, &filter->shape, &c, &y, st));
    TFD_TRY(tfd_conv_check_filter(&filter->shape, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &y, st));
    if (is_product_of_half(k, &c, &product))
        return tfd_gemm_blocks(k, &product, st);
    return convolve(
        k, &c,
        (struct tfd_image[]){tfd_image_operand(x, w->channels_second),
                             tfd_image_operand(filter, false),
                             tfd_image_result(0, w->channels_second)},
        TFD_CONV_FORWARD, st);
}

enum tfd_code tfd_conv_run(struct tfd_kctx *k, struct tfd_conv *c,
                           const struct tfd_tensor *x,
                           const struct tfd_tensor *filter,
                           struct tfd_status *st)
{
    return convolve(k, c,
                    (struct tfd_image[]){tfd_image_operand(x, false),
                                         tfd_image_operand(filter, false),
                                         tfd_image_result(0, false)},
                    TFD_CONV_FORWARD, st);
}

/* What the plain kernels of TensorFlow refuse as soon as they are made. */
static enum tfd_code check_backward(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    const struct tfd_window *w = k->state;

    if (takes_all(k->in[2].dtype))
        return TFD_OK;
    if (w->channels_second)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%sOp only supports NHWC.",
                        w->backward);
    if (w->dilation[TFD_WINDOW_ROW] != 1 || w->dilation[TFD_WINDOW_COLUMN] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current CPU implementations do not yet support "
                        "dilation rates larger than 1.");
    return TFD_OK;
}

/* As many places as the window has on its way along one dimension. */
static enum tfd_code check_moves(const struct tfd_window *w,
                                 enum tfd_window_dim d,
                                 const struct tfd_window_side *side,
                                 const struct tfd_shape *have,
                                 struct tfd_status *st)
{
    const long long out = (long long)dim(w, have, d);

    if (out == side->out)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s: Size of out_backprop doesn't match computed: actual = "
                    "%lld, computed = %lld spatial_dim: %d input: %lld filter: "
                    "%lld output: %lld stride: %lld dilation: %lld",
                    w->backward, out, (long long)side->out, tfd_window_at(w, d),
                    (long long)side->in, (long long)side->size, out,
                    (long long)side->stride, (long long)side->dilation);
}

enum tfd_code tfd_conv_check_backprop(const struct tfd_kctx *k,
                                      const struct tfd_conv *c,
                                      const struct tfd_shape *want,
                                      struct tfd_status *st)
{
    const struct tfd_shape *have = &k->in[2].shape;
    const struct tfd_window *w = k->state;

    TFD_TRY(check_conv_rank(w, "out_backprop", have, st));
    if (have->dim[0] != want->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: input and out_backprop must have the same batch "
                        "size. Input batch: %lld, outbackprop batch: %lld, "
                        "batch_dim: 0",
                        w->backward, (long long)want->dim[0],
                        (long long)have->dim[0]);
    if (dim(w, have, TFD_WINDOW_CHANNEL) != dim(w, want, TFD_WINDOW_CHANNEL))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: filter and out_backprop must have the same "
                        "out_depth",
                        w->backward);
    TFD_TRY(check_moves(w, TFD_WINDOW_ROW, &c->row, have, st));
    return check_moves(w, TFD_WINDOW_COLUMN, &c->column, have, st);
}

enum tfd_code tfd_conv_input_sizes(const struct tfd_kctx *k,
                                   struct tfd_shape *x, struct tfd_status *st)
{
    const struct tfd_window *w = k->state;
    const struct tfd_shape *dy = &k->in[2].shape;
    struct tfd_shape two;

    TFD_TRY(tfd_check_shape(k, 0, false, x, st));
    if (x->rank == TFD_WINDOW_DIMS)
        return TFD_OK;
    if (x->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Conv2DBackpropInput requires input_sizes to contain 4 "
                        "values or 2 values, but got: %d",
                        x->rank);
    two = *x;
    TFD_TRY(check_conv_rank(w, "filter", &k->in[1].shape, st));
    TFD_TRY(check_conv_rank(w, "out_backprop", dy, st));
    x->rank = TFD_WINDOW_DIMS;
    x->dim[tfd_window_at(w, TFD_WINDOW_BATCH)] = dim(w, dy, TFD_WINDOW_BATCH);
    x->dim[tfd_window_at(w, TFD_WINDOW_ROW)] = two.dim[0];
    x->dim[tfd_window_at(w, TFD_WINDOW_COLUMN)] = two.dim[1];
    x->dim[tfd_window_at(w, TFD_WINDOW_CHANNEL)] = k->in[1].shape.dim[2];
    return tfd_shape_make(x, x->dim, TFD_WINDOW_DIMS, st);
}

static enum tfd_code input_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = k->state;
    const struct tfd_tensor *filter = &k->in[1], *dy = &k->in[2];
    struct tfd_conv c = {0};
    struct tfd_shape x, y;

    TFD_TRY(tfd_conv_input_sizes(k, &x, st));
    TFD_TRY(check_backward(k, st));
    TFD_TRY(tfd_conv_measure(w, &x, &filter->shape, &c, &y, st));
    TFD_TRY(tfd_conv_check_backprop(k, &c, &y, st));
    if (c.groups != 1 && !takes_all(dy->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Gradients for grouped convolutions are not supported "
                        "on CPU. Please file a feature request if you run into "
                        "this issue. Computed input depth %lld doesn't match "
                        "filter input depth %lld",
                        (long long)c.in_channels,
                        (long long)filter->shape.dim[2]);
    TFD_TRY(tfd_kctx_output(k, 0, dy->dtype, &x, st));
    return convolve(
        k, &c,
        (struct tfd_image[]){tfd_image_result(0, w->channels_second),
                             tfd_image_operand(filter, false),
                             tfd_image_operand(dy, w->channels_second)},
        TFD_CONV_INPUT, st);
}

static enum tfd_code filter_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = k->state;
    const struct tfd_tensor *x = &k->in[0], *dy = &k->in[2];
    struct tfd_conv c = {0};
    struct tfd_shape filter, y;

    TFD_TRY(tfd_check_shape(k, 1, false, &filter, st));
    TFD_TRY(check_backward(k, st));
    TFD_TRY(tfd_conv_measure(w, &x->shape, &filter, &c, &y, st));
    TFD_TRY(tfd_conv_check_backprop(k, &c, &y, st));
    if (c.groups != 1 && !takes_all(dy->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter_size does not have enough elements, requested "
                        "%lld, got %lld",
                        (long long)(tfd_shape_elements(&filter) * c.groups),
                        (long long)tfd_shape_elements(&filter));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &filter, st));
    return convolve(
        k, &c,
        (struct tfd_image[]){tfd_image_operand(x, w->channels_second),
                             tfd_image_result(0, false),
                             tfd_image_operand(dy, w->channels_second)},
        TFD_CONV_FILTER, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static const struct tfd_shape any = {
    4, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

enum tfd_code tfd_conv_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape x = any, filter = any, y = any;
    struct tfd_window w;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_window_read(s->node, &w, st));
    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&filter, &s->in[1], st));
    y.dim[0] = x.dim[0];
    y.dim[tfd_window_at(&w, TFD_WINDOW_CHANNEL)] = filter.dim[3];
    TFD_TRY(tfd_window_out(&w, TFD_WINDOW_ROW, dim(&w, &x, TFD_WINDOW_ROW),
                           filter.dim[0],
                           &y.dim[tfd_window_at(&w, TFD_WINDOW_ROW)], st));
    TFD_TRY(tfd_window_out(&w, TFD_WINDOW_COLUMN,
                           dim(&w, &x, TFD_WINDOW_COLUMN), filter.dim[1],
                           &y.dim[tfd_window_at(&w, TFD_WINDOW_COLUMN)], st));
    s->out[0] = y;
    return TFD_OK;
}

/* What a vector of sizes says, where it is known and has all. */
static enum tfd_code sizes_shape(struct tfd_shape_ctx *s, int arg,
                                 struct tfd_status *st)
{
    struct tfd_shape sizes;

    s->out[0] = any;
    if (!s->value || !s->value[arg] ||
        tfd_tensor_elements(s->value[arg]) != TFD_WINDOW_DIMS)
        return TFD_OK;
    TFD_TRY(tfd_check_shape_value(s->value[arg], true, &sizes, st));
    return tfd_shape_merge(&s->out[0], &sizes, st);
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

static const char *const attributes[] = {
    "strides",     "use_cudnn_on_gpu", "padding", "explicit_paddings",
    "data_format", "dilations",        NULL};

static struct tfd_edge same(struct tfd_gradient *b, const char *op,
                            const struct tfd_edge *in, int in_count)
{
    struct tfd_edge out;

    tfd_gradient_copying(b, op, in, in_count, attributes, &out, 1);
    return out;
}

static enum tfd_code forward_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x[] = {tfd_gradient_shape(&b, g->x[0]), g->x[1], g->dy[0]};
    struct tfd_edge w[] = {g->x[0], tfd_gradient_shape(&b, g->x[1]), g->dy[0]};

    g->dx[0] = same(&b, "Conv2DBackpropInput", x, 3);
    g->dx[1] = same(&b, "Conv2DBackpropFilter", w, 3);
    return b.code;
}

static enum tfd_code input_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge w[] = {g->dy[0], tfd_gradient_shape(&b, g->x[1]), g->x[2]};
    struct tfd_edge y[] = {g->dy[0], g->x[1]};

    g->dx[1] = same(&b, "Conv2DBackpropFilter", w, 3);
    g->dx[2] = same(&b, "Conv2D", y, 2);
    return b.code;
}

static enum tfd_code filter_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x[] = {tfd_gradient_shape(&b, g->x[0]), g->dy[0], g->x[2]};
    struct tfd_edge y[] = {g->x[0], g->dy[0]};

    g->dx[0] = same(&b, "Conv2DBackpropInput", x, 3);
    g->dx[2] = same(&b, "Conv2D", y, 2);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS                                             \
    "strides: list(int); use_cudnn_on_gpu: bool = true; " \
    "padding: {'SAME', 'VALID', 'EXPLICIT'}; "            \
    "explicit_paddings: list(int) = []; "                 \
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'; "            \
    "dilations: list(int) = [1, 1, 1, 1]"

static const struct tfd_opdef ops[] = {
    {
        .name = "Conv2D",
        .inputs = "input: T, filter: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double, int32}; " ATTRS,
        .shape = tfd_conv_shape,
        .grad = forward_gradient,
    },
    {
        .name = "Conv2DBackpropInput",
        .inputs = "input_sizes: int32, filter: T, out_backprop: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double, int32}; " ATTRS,
        .checks = "input_sizes: vector 'Conv2DBackpropInput: input_sizes "
                  "input must be 1-dim, not %d'",
        .shape = input_shape,
        .grad = input_gradient,
    },
    {
        .name = "Conv2DBackpropFilter",
        .inputs = "input: T, filter_sizes: int32, out_backprop: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double}; " ATTRS,
        .checks = "filter_sizes: vector 'Conv2DCustomBackpropFilter: "
                  "filter_sizes input must be 1-dim, not %d'",
        .shape = filter_shape,
        .grad = filter_gradient,
    },
};

#define ROW(op, name, compute)                                 \
    TFD_KERNEL(op, name, compute, .prepare = tfd_conv_prepare, \
               .state_size = sizeof(struct tfd_window),        \
               .flags = TFD_KERNEL_HEAVY)
#define ROWS(name, number, T)                            \
    ROW("Conv2D", name, tfd_conv_compute),               \
        ROW("Conv2DBackpropInput", name, input_compute), \
        ROW("Conv2DBackpropFilter", name, filter_compute),

static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(ROWS) TFD_HALF_DTYPES(ROWS)
        ROW("Conv2D", INT32, tfd_conv_compute),
    ROW("Conv2DBackpropInput", INT32, input_compute),
};

const struct tfd_family tfd_family_conv = {
    .name = "conv",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
