/*
 * convolve_volume.c - convolutions of volumes, and their gradients:
 *
 *     Conv3D Conv3DBackpropInput[V2] Conv3DBackpropFilter[V2]
 *
 * and Conv (conv_any.h), which is of images, too.
 *
 * Loops are those of conv_volume.h, which has channels last and no narrow
 * types: other layouts and half types are converted before and after.  The old
 * gradients have a tensor of the shape that the new ones have as numbers.
 *
 * float and bfloat16 take every layout and dilation, as in a TensorFlow with
 * oneDNN; the other types have the limits of its plain kernels.
 */
#include "kernels/conv/conv_dnnl.h"
#include "kernels/conv/conv_volume.h"

#include "kernels/conv/conv_any.h"
#include "kernels/conv/image.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/linalg/gemm.h"

#include <string.h>

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_convolution(const struct tfd_node *n,
                                      struct tfd_volume *v,
                                      struct tfd_status *st)
{
    static const struct tfd_volume_attr stride = {
        "strides", "Sliding window strides", "Stride must be > 0, but got "};
    static const struct tfd_volume_attr dilation = {
        "dilations", "Dilation rates", "Dilation rate must be >= 1, but got "};

    TFD_TRY(tfd_volume_read(n, v, st));
    TFD_TRY(tfd_volume_numbers(n, &dilation, v, v->dilation, st));
    return tfd_volume_numbers(n, &stride, v, v->stride, st);
}

static enum tfd_code prepare_convolution(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    struct tfd_volume *v = state;

    tfd_gemm_init();
    TFD_TRY(read_convolution(p->node, v, st));
    if (v->dilation[TFD_VOLUME_BATCH] != 1 ||
        v->dilation[TFD_VOLUME_CHANNEL] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation does not yet support dilation "
                        "rates in the batch and depth dimensions.");
    if (v->stride[TFD_VOLUME_BATCH] != 1 || v->stride[TFD_VOLUME_CHANNEL] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation does not yet support strides "
                        "in the batch and depth dimensions.");
    return TFD_OK;
}

static bool takes_every(enum tfd_dtype t)
{
    return t == TFD_FLOAT || t == TFD_BFLOAT16;
}

static bool is_dilated(const struct tfd_volume *v)
{
    return v->dilation[TFD_VOLUME_PLANE] != 1 ||
           v->dilation[TFD_VOLUME_ROW] != 1 ||
           v->dilation[TFD_VOLUME_COLUMN] != 1;
}

/* ---- Sizes --------------------------------------------------------------- */

static int64_t volume_dim(const struct tfd_volume *v, const struct tfd_shape *s,
                          enum tfd_volume_dim d)
{
    return s->dim[tfd_volume_at(v, d)];
}

/* All sizes from those of x and of the filter; and the shape of y. */
static enum tfd_code
measure_convolution(const struct tfd_volume *v, const struct tfd_shape *x,
                    const struct tfd_shape *filter, struct tfd_conv_volume *c,
                    struct tfd_shape *y, struct tfd_status *st)
{
    struct tfd_window_side *sides[] = {&c->plane, &c->row, &c->column};
    int64_t out[TFD_VOLUME_DIMS];

    c->batch = volume_dim(v, x, TFD_VOLUME_BATCH);
    c->in_channels = volume_dim(v, x, TFD_VOLUME_CHANNEL);
    c->out_channels = filter->dim[4];
    for (int i = 0; i < 3; i++) {
        enum tfd_volume_dim d = (enum tfd_volume_dim)(TFD_VOLUME_PLANE + i);

        TFD_TRY(tfd_volume_side(v, d, volume_dim(v, x, d), filter->dim[i],
                                sides[i], st));
        out[tfd_volume_at(v, d)] = sides[i]->out;
    }
    out[tfd_volume_at(v, TFD_VOLUME_BATCH)] = c->batch;
    out[tfd_volume_at(v, TFD_VOLUME_CHANNEL)] = c->out_channels;
    return tfd_shape_make(y, out, TFD_VOLUME_DIMS, st);
}

static tfd_conv_volume_fn *const loops[] = {
    [TFD_CONV_FORWARD] = tfd_conv_volume_forward,
    [TFD_CONV_INPUT] = tfd_conv_volume_input,
    [TFD_CONV_FILTER] = tfd_conv_volume_filter};

/* o: x, w and y, of which one is the result. */
static enum tfd_code convolve_volume(struct tfd_kctx *k,
                                     struct tfd_conv_volume *c,
                                     struct tfd_image o[3],
                                     enum tfd_conv_kind kind,
                                     struct tfd_status *st)
{
    const struct tfd_conv sizes = tfd_conv_volume_sizes(c);
    enum tfd_code rc;

    if (tfd_conv_dnnl_narrow(k, kind, &sizes, o))
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

/* ---- Forward ------------------------------------------------------------- */

static enum tfd_code check_filter(const struct tfd_volume *v,
                                  const struct tfd_shape *x,
                                  const struct tfd_shape *filter,
                                  struct tfd_status *st)
{
    int64_t in;

    if (x->rank != TFD_VOLUME_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 5-dimensional");
    if (filter->rank != TFD_VOLUME_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must be 5-dimensional");
    in = volume_dim(v, x, TFD_VOLUME_CHANNEL);
    if (filter->dim[3] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter_depth must be non-zero");
    if (in % filter->dim[3])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input depth must be evenly divisible by filter depth: "
                        "%lld vs %lld",
                        (long long)in, (long long)filter->dim[3]);
    if (tfd_shape_elements(filter) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must not have zero elements (i.e. all "
                        "dimensions must be non-zero)");
    return TFD_OK;
}

/* What TensorFlow's kernels refuse where there is something to compute. */
static enum tfd_code check_plain(const struct tfd_volume *v,
                                 const struct tfd_kctx *k, int64_t in,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *filter = &k->in[1];

    if (v->channels_second && !takes_every(filter->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "CPU implementation of Conv3D currently only supports "
                        "the NHWC tensor format.");
    if (is_dilated(v) && !takes_every(filter->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "CPU implementation of Conv3D currently only supports "
                        "dilated rates of 1.");
    if (in != filter->shape.dim[3])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of channels in filter (%lld) must match last "
                        "dimension of input (%lld)",
                        (long long)filter->shape.dim[3], (long long)in);
    return TFD_OK;
}

static enum tfd_code convolution_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct tfd_volume *v = k->state;
    const struct tfd_tensor *x = &k->in[0], *filter = &k->in[1];
    struct tfd_conv_volume c = {0};
    struct tfd_shape y;

    TFD_TRY(check_filter(v, &x->shape, &filter->shape, st));
    TFD_TRY(measure_convolution(v, &x->shape, &filter->shape, &c, &y, st));
    if (tfd_shape_elements(&y) > 0)
        TFD_TRY(check_plain(v, k, c.in_channels, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &y, st));
    return convolve_volume(
        k, &c,
        (struct tfd_image[]){tfd_image_operand(x, v->channels_second),
                             tfd_image_operand(filter, false),
                             tfd_image_result(0, v->channels_second)},
        TFD_CONV_FORWARD, st);
}

/* ---- Gradients' checks --------------------------------------------------- */

/* How errors name a gradient. */
static const char *class_of_gradient(const struct tfd_kctx *k)
{
    return strstr(k->kernel->op, "Input") ? "Conv3DBackpropInputOp"
                                          : "Conv3DBackpropFilterOp";
}

/* What the plain kernels of TensorFlow refuse as soon as they are made. */
static enum tfd_code check_plain_gradient(const struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    const struct tfd_volume *v = k->state;

    if (takes_every(k->in[2].dtype))
        return TFD_OK;
    if (v->channels_second)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%sV2 only supports NDHWC on the CPU.",
                        class_of_gradient(k));
    if (is_dilated(v))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current CPU implementation does not yet support "
                        "dilation rates larger than 1.");
    return TFD_OK;
}

static enum tfd_code check_five(const char *what, const struct tfd_shape *s,
                                struct tfd_status *st)
{
    if (s->rank == TFD_VOLUME_DIMS)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s tensor must have 5 dimensions", what);
}

static enum tfd_code check_same_channels(const char *what, int64_t channels,
                                         int64_t filter, struct tfd_status *st)
{
    if (channels == filter)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s and filter_sizes must have the same number of "
                    "channels. Got %lld for %s and %lld for filter_sizes",
                    what, (long long)channels, what, (long long)filter);
}

static enum tfd_code check_gradient_shapes(const struct tfd_kctx *k,
                                           const struct tfd_shape *x,
                                           const struct tfd_shape *filter,
                                           struct tfd_status *st)
{
    const struct tfd_volume *v = k->state;
    const struct tfd_shape *dy = &k->in[2].shape;

    TFD_TRY(check_five("input", x, st));
    TFD_TRY(check_five("filter_sizes", filter, st));
    TFD_TRY(check_five("out_backprop", dy, st));
    TFD_TRY(check_same_channels("input", volume_dim(v, x, TFD_VOLUME_CHANNEL),
                                filter->dim[3], st));
    TFD_TRY(check_same_channels("out_backprop",
                                volume_dim(v, dy, TFD_VOLUME_CHANNEL),
                                filter->dim[4], st));
    if (filter->dim[3] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: filter depth must be strictly greated than zero",
                        class_of_gradient(k));
    if (x->dim[0] != dy->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s: input and out_backprop must have the same batch "
                        "size. Input batch: %lld, outbackprop batch: %lld, "
                        "batch_dim: 0",
                        class_of_gradient(k), (long long)x->dim[0],
                        (long long)dy->dim[0]);
    return TFD_OK;
}

/* As many places as the window has on its way along each dimension. */
static enum tfd_code check_places(const struct tfd_kctx *k,
                                  const struct tfd_conv_volume *c,
                                  struct tfd_status *st)
{
    const struct tfd_window_side *sides[] = {&c->plane, &c->row, &c->column};
    const struct tfd_volume *v = k->state;

    for (int i = 0; i < 3; i++) {
        enum tfd_volume_dim d = (enum tfd_volume_dim)(TFD_VOLUME_PLANE + i);
        const long long out = (long long)volume_dim(v, &k->in[2].shape, d);
        const struct tfd_window_side *s = sides[i];

        if (out != s->out)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "%s: Size of out_backprop doesn't match computed: actual = "
                "%lld, computed = %lld spatial_dim: %d input: %lld filter: "
                "%lld output: %lld stride: %lld dilation: %lld",
                class_of_gradient(k), out, (long long)s->out,
                tfd_volume_at(v, d), (long long)s->in, (long long)s->size, out,
                (long long)s->stride, (long long)s->dilation);
    }
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* The shape that input `in` is of, or says. */
static enum tfd_code shape_from(const struct tfd_kctx *k, int in,
                                struct tfd_shape *out, struct tfd_status *st)
{
    if (strstr(k->kernel->op, "V2"))
        return tfd_check_shape(k, in, false, out, st);
    *out = k->in[in].shape;
    return TFD_OK;
}

static enum tfd_code begin_gradient(const struct tfd_kctx *k,
                                    const struct tfd_shape *x,
                                    const struct tfd_shape *filter,
                                    struct tfd_conv_volume *c,
                                    struct tfd_status *st)
{
    struct tfd_shape y;

    TFD_TRY(check_gradient_shapes(k, x, filter, st));
    TFD_TRY(measure_convolution(k->state, x, filter, c, &y, st));
    return check_places(k, c, st);
}

static enum tfd_code volume_input_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    const struct tfd_volume *v = k->state;
    const struct tfd_tensor *filter = &k->in[1], *dy = &k->in[2];
    struct tfd_conv_volume c = {0};
    struct tfd_shape x;

    TFD_TRY(check_plain_gradient(k, st));
    TFD_TRY(shape_from(k, 0, &x, st));
    TFD_TRY(begin_gradient(k, &x, &filter->shape, &c, st));
    TFD_TRY(tfd_kctx_output(k, 0, dy->dtype, &x, st));
    return convolve_volume(
        k, &c,
        (struct tfd_image[]){tfd_image_result(0, v->channels_second),
                             tfd_image_operand(filter, false),
                             tfd_image_operand(dy, v->channels_second)},
        TFD_CONV_INPUT, st);
}

static enum tfd_code volume_filter_compute(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    const struct tfd_volume *v = k->state;
    const struct tfd_tensor *x = &k->in[0], *dy = &k->in[2];
    struct tfd_conv_volume c = {0};
    struct tfd_shape filter;

    TFD_TRY(check_plain_gradient(k, st));
    TFD_TRY(shape_from(k, 1, &filter, st));
    TFD_TRY(begin_gradient(k, &x->shape, &filter, &c, st));
    TFD_TRY(tfd_kctx_output(k, 0, dy->dtype, &filter, st));
    return convolve_volume(
        k, &c,
        (struct tfd_image[]){tfd_image_operand(x, v->channels_second),
                             tfd_image_result(0, false),
                             tfd_image_operand(dy, v->channels_second)},
        TFD_CONV_FILTER, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code convolution_shape(struct tfd_shape_ctx *s,
                                       struct tfd_status *st)
{
    struct tfd_shape x = tfd_volume_unknown(), filter = x, y = x;
    struct tfd_volume v;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(read_convolution(s->node, &v, st));
    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&filter, &s->in[1], st));
    for (int i = 0; i < 3; i++) {
        enum tfd_volume_dim d = (enum tfd_volume_dim)(TFD_VOLUME_PLANE + i);

        TFD_TRY(tfd_volume_out(&v, d, volume_dim(&v, &x, d), filter.dim[i],
                               &y.dim[tfd_volume_at(&v, d)], st));
    }
    y.dim[0] = x.dim[0];
    y.dim[tfd_volume_at(&v, TFD_VOLUME_CHANNEL)] = filter.dim[4];
    s->out[0] = y;
    return TFD_OK;
}

/* What input `arg` says where it is known: V2; or the shape that it has. */
static enum tfd_code said_shape(struct tfd_shape_ctx *s, int arg,
                                struct tfd_status *st)
{
    struct tfd_shape sizes;

    s->out[0] = tfd_volume_unknown();
    if (!s->value || !s->value[arg] ||
        tfd_tensor_elements(s->value[arg]) != TFD_VOLUME_DIMS)
        return TFD_OK;
    TFD_TRY(tfd_check_shape_value(s->value[arg], true, &sizes, st));
    return tfd_shape_merge(&s->out[0], &sizes, st);
}

static enum tfd_code volume_input_shape(struct tfd_shape_ctx *s,
                                        struct tfd_status *st)
{
    return said_shape(s, 0, st);
}

static enum tfd_code volume_filter_shape(struct tfd_shape_ctx *s,
                                         struct tfd_status *st)
{
    return said_shape(s, 1, st);
}

static enum tfd_code like_second(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[1];
    return TFD_OK;
}

/* ---- Derivatives --------------------------------------------------------- */

static const char *const attributes[] = {"strides", "padding", "data_format",
                                         "dilations", NULL};

static struct tfd_edge same_windows(struct tfd_gradient *b, const char *op,
                                    struct tfd_edge x, struct tfd_edge y,
                                    const struct tfd_edge *z)
{
    const struct tfd_edge in[] = {x, y, z ? *z : y};
    struct tfd_edge out;

    tfd_gradient_copying(b, op, in, z ? 3 : 2, attributes, &out, 1);
    return out;
}

static enum tfd_code convolution_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] =
        same_windows(&b, "Conv3DBackpropInputV2",
                     tfd_gradient_shape(&b, g->x[0]), g->x[1], &g->dy[0]);
    g->dx[1] = same_windows(&b, "Conv3DBackpropFilterV2", g->x[0],
                            tfd_gradient_shape(&b, g->x[1]), &g->dy[0]);
    return b.code;
}

static enum tfd_code volume_input_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[1] = same_windows(&b, "Conv3DBackpropFilterV2", g->dy[0],
                            tfd_gradient_shape(&b, g->x[1]), &g->x[2]);
    g->dx[2] = same_windows(&b, "Conv3D", g->dy[0], g->x[1], NULL);
    return b.code;
}

static enum tfd_code volume_filter_gradient(struct tfd_grad *g,
                                            struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] =
        same_windows(&b, "Conv3DBackpropInputV2",
                     tfd_gradient_shape(&b, g->x[0]), g->dy[0], &g->x[2]);
    g->dx[2] = same_windows(&b, "Conv3D", g->x[0], g->dy[0], NULL);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define WINDOW "strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
#define DILATIONS "dilations: list(int) = [1, 1, 1, 1, 1]"
#define ATTRS                                     \
    "T: {half, bfloat16, float, double}; " WINDOW \
    "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; " DILATIONS
#define OLD_ATTRS "T: {half, float, double}; " WINDOW DILATIONS

static const struct tfd_opdef ops[] = {
    {
        .name = "Conv3D",
        .inputs = "input: T, filter: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = convolution_shape,
        .grad = convolution_gradient,
    },
    {
        .name = "Conv3DBackpropInput",
        .inputs = "input: T, filter: T, out_backprop: T",
        .outputs = "output: T",
        .attrs = OLD_ATTRS,
        .shape = tfd_shape_like_first,
    },
    {
        .name = "Conv3DBackpropInputV2",
        .inputs = "input_sizes: Tshape, filter: T, out_backprop: T",
        .outputs = "output: T",
        .attrs = ATTRS "; Tshape: {int32, int64} = DT_INT32",
        .shape = volume_input_shape,
        .grad = volume_input_gradient,
    },
    {
        .name = "Conv3DBackpropFilter",
        .inputs = "input: T, filter: T, out_backprop: T",
        .outputs = "output: T",
        .attrs = OLD_ATTRS,
        .shape = like_second,
    },
    {
        .name = "Conv3DBackpropFilterV2",
        .inputs = "input: T, filter_sizes: int32, out_backprop: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .checks = "filter_sizes: vector 'filter_sizes shape must be rank 1 "
                  "but is rank %d'",
        .shape = volume_filter_shape,
        .grad = volume_filter_gradient,
    },
    {
        .name = "Conv",
        .inputs = "input: T, filter: T",
        .outputs = "output: T",
        .attrs = "T: {half, bfloat16, float, double, int32}; "
                 "strides: list(int); "
                 "padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                 "explicit_paddings: list(int) = []; "
                 "data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = "
                 "'CHANNELS_LAST'; dilations: list(int) = []; "
                 "batch_dims: int = 1; groups: int = 1",
        .shape = tfd_conv_any_shape,
    },
};

#define ROW(op, name, compute)                                    \
    TFD_KERNEL(op, name, compute, .prepare = prepare_convolution, \
               .state_size = sizeof(struct tfd_volume),           \
               .flags = TFD_KERNEL_HEAVY),
#define ANY(name)                                                            \
    TFD_KERNEL(                                                              \
        "Conv", name, tfd_conv_any_compute, .prepare = tfd_conv_any_prepare, \
        .state_size = sizeof(struct tfd_conv_any), .flags = TFD_KERNEL_HEAVY),
#define ROWS(name, number, T)                                  \
    ROW("Conv3D", name, convolution_compute)                   \
    ROW("Conv3DBackpropInputV2", name, volume_input_compute)   \
    ROW("Conv3DBackpropFilterV2", name, volume_filter_compute) \
    ANY(name)
#define OLD_ROWS(name)                                     \
    ROW("Conv3DBackpropInput", name, volume_input_compute) \
    ROW("Conv3DBackpropFilter", name, volume_filter_compute)

static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(ROWS) TFD_HALF_DTYPES(ROWS) OLD_ROWS(FLOAT)
        OLD_ROWS(DOUBLE) OLD_ROWS(HALF) ANY(INT32)};

const struct tfd_family tfd_family_convolve_volume = {
    .name = "convolve_volume",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
