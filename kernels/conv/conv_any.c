/*
 * conv_any.c - see conv_any.h.
 *
 * The batch dimensions are seen as one.  What TensorFlow's kernel of the op
 * does not have is refused in its words: groups, channels first, dilations of
 * volumes; explicit paddings of volumes end its process.
 */
#include "kernels/conv/conv_any.h"

#include "common/base/str.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv_volume.h"
#include "kernels/conv/image.h"
#include "kernels/linalg/gemm.h"

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_any(const struct tfd_node *n, struct tfd_conv_any *s,
                              struct tfd_status *st)
{
    struct tfd_str text;

    TFD_TRY(tfd_node_str(n, "padding", &text, st));
    s->same = tfd_str_is(text, "SAME");
    s->paddings_given = tfd_str_is(text, "EXPLICIT");
    TFD_TRY(tfd_node_str(n, "data_format", &text, st));
    s->channels_first = tfd_str_is(text, "CHANNELS_FIRST");
    TFD_TRY(tfd_node_int(n, "batch_dims", &s->batch_dims, st));
    TFD_TRY(tfd_node_ints(n, "strides", s->stride, TFD_CONV_ANY_NUMBERS,
                          &s->stride_count, st));
    TFD_TRY(tfd_node_ints(n, "dilations", s->dilation, TFD_CONV_ANY_NUMBERS,
                          &s->dilation_count, st));
    return tfd_node_ints(n, "explicit_paddings", s->padding,
                         TFD_CONV_ANY_NUMBERS, &s->padding_count, st);
}

enum tfd_code tfd_conv_any_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    int64_t groups;

    tfd_gemm_init();
    TFD_TRY(tfd_node_int(p->node, "groups", &groups, st));
    if (groups != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Grouped/Depthwise Convolutions are not supported "
                        "yet.");
    return read_any(p->node, state, st);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_strides(const struct tfd_conv_any *s, int rank,
                                   struct tfd_status *st)
{
    const int channel = s->channels_first ? 1 : rank - 1;

    if (s->stride_count != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sliding window strides field must specify %d "
                        "dimensions",
                        rank);
    if (s->stride[0] != 1 || s->stride[channel] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation does not support strides in "
                        "the batch and depth dimensions.");
    for (int i = 1; i < rank; i++)
        if (s->stride[i] < 1 || s->stride[i] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Spatial strides should be larger than 0.");
    return TFD_OK;
}

static enum tfd_code check_dilations(const struct tfd_conv_any *s, int rank,
                                     struct tfd_status *st)
{
    const int channel = s->channels_first ? 1 : rank - 1;

    if (s->dilation_count == 0)
        return TFD_OK;
    if (s->dilation_count != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dilation rates field must specify%ddimensions", rank);
    if (s->dilation[0] != 1 || s->dilation[channel] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Current implementation does not support dilations in "
                        "the batch and depth dimensions.");
    for (int i = 1; i < rank; i++)
        if (s->dilation[i] < 1 || s->dilation[i] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Dilated rates should be larger than 0.");
    return TFD_OK;
}

static enum tfd_code check_paddings(const struct tfd_conv_any *s, int rank,
                                    struct tfd_status *st)
{
    if (!s->paddings_given && s->padding_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "explicit_paddings attribute must be empty if the "
                        "padding attribute is not EXPLICIT");
    if (s->paddings_given && s->padding_count != 2 * rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "explicit_paddings attribute must contain %d values, "
                        "but got: %d",
                        2 * rank, s->padding_count);
    if (s->paddings_given && rank == TFD_VOLUME_DIMS)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "explicit paddings of volumes are not supported");
    for (int i = 0; i < s->padding_count; i++)
        if (s->padding[i] < 0 || s->padding[i] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All elements of explicit_paddings must be "
                            "nonnegative");
    if (s->paddings_given &&
        (s->padding[0] || s->padding[1] || s->padding[2 * rank - 2] ||
         s->padding[2 * rank - 1]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Nonzero explicit padding in the batch or depth "
                        "dimensions is not supported");
    return TFD_OK;
}

/* What TensorFlow's kernels for CPUs do not have. */
static enum tfd_code check_any_layout(const struct tfd_conv_any *s, int rank,
                                      struct tfd_status *st)
{
    if (s->channels_first && rank == TFD_WINDOW_DIMS)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "The Conv2D op currently only supports the NHWC tensor "
                        "format on the CPU. The op was given the format: NCHW");
    if (s->channels_first)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "CPU implementation of Conv3D currently only supports "
                        "the NHWC tensor format.");
    for (int i = 1; rank == TFD_VOLUME_DIMS && i < s->dilation_count; i++)
        if (s->dilation[i] != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "CPU implementation of Conv3D currently only "
                            "supports dilated rates of 1.");
    return TFD_OK;
}

static enum tfd_code check_any_filter(const struct tfd_conv_any *s,
                                      const struct tfd_shape *x,
                                      const struct tfd_shape *filter,
                                      struct tfd_status *st)
{
    const int64_t in = x->dim[s->channels_first ? 1 : x->rank - 1];

    if (filter->rank != x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must be %d-dimensional, but has %d dimensions",
                        x->rank, filter->rank);
    if (in != filter->dim[filter->rank - 2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input depth must be equal to filter depth: %lld vs "
                        "%lld",
                        (long long)in,
                        (long long)filter->dim[filter->rank - 2]);
    if (tfd_shape_elements(filter) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filter must not have zero elements (i.e. all "
                        "dimensions must be non-zero)");
    return TFD_OK;
}

/* x with its batch dimensions as one; that is one more where there is none. */
static enum tfd_code collapse(const struct tfd_conv_any *s,
                              const struct tfd_shape *x, struct tfd_shape *out,
                              struct tfd_status *st)
{
    const int64_t sides = (int64_t)x->rank - 1 - s->batch_dims;
    int64_t dim[TFD_CONV_ANY_DIMS] = {1};

    if (sides != 2 && sides != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The input must have 2 or 3 spatial dimensions but "
                        "got %lld",
                        (long long)sides);
    if (s->batch_dims < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_dims must not be negative, but is %lld",
                        (long long)s->batch_dims);
    for (int64_t i = 0; i < s->batch_dims; i++)
        if (__builtin_mul_overflow(dim[0], x->dim[i], &dim[0]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "The batch dimensions are too large together");
    for (int64_t i = 0; i <= sides; i++)
        dim[1 + i] = x->dim[s->batch_dims + i];
    return tfd_shape_make(out, dim, (int)sides + 2, st);
}

/* ---- Images -------------------------------------------------------------- */

static struct tfd_window window_of_any(const struct tfd_conv_any *s)
{
    struct tfd_window w = {.padding = s->same             ? TFD_WINDOW_SAME
                                      : s->paddings_given ? TFD_WINDOW_EXPLICIT
                                                          : TFD_WINDOW_VALID};

    for (int i = 0; i < TFD_WINDOW_DIMS; i++) {
        w.stride[i] = s->stride[i];
        w.dilation[i] = s->dilation_count ? s->dilation[i] : 1;
        w.size[i] = 1;
        w.before[i] = s->paddings_given ? s->padding[2 * i] : 0;
        w.after[i] = s->paddings_given ? s->padding[2 * i + 1] : 0;
    }
    return w;
}

static enum tfd_code convolve_images(struct tfd_kctx *k, struct tfd_image o[3],
                                     struct tfd_conv *c, struct tfd_status *st)
{
    c->dtype = o[0].work.dtype;
    c->x = tfd_tensor_data(&o[0].work);
    c->w = tfd_tensor_data(&o[1].work);
    c->y = tfd_tensor_data(&o[2].work);
    return tfd_conv_forward(k, c, st);
}

/* ---- Volumes ------------------------------------------------------------- */

static enum tfd_code measure_volumes(const struct tfd_conv_any *s,
                                     const struct tfd_shape *x,
                                     const struct tfd_shape *filter,
                                     struct tfd_conv_volume *c,
                                     struct tfd_shape *y, struct tfd_status *st)
{
    struct tfd_window_side *sides[] = {&c->plane, &c->row, &c->column};
    struct tfd_volume v = {.padding =
                               s->same ? TFD_WINDOW_SAME : TFD_WINDOW_VALID};

    *y = *x;
    c->batch = x->dim[0];
    c->in_channels = x->dim[4];
    c->out_channels = y->dim[4] = filter->dim[4];
    for (int i = 0; i < 3; i++) {
        v.stride[1 + i] = s->stride[1 + i];
        v.dilation[1 + i] = 1;
        TFD_TRY(tfd_volume_side(&v, (enum tfd_volume_dim)(1 + i), x->dim[1 + i],
                                filter->dim[i], sides[i], st));
        y->dim[1 + i] = sides[i]->out;
    }
    return tfd_shape_make(y, y->dim, y->rank, st);
}

static enum tfd_code convolve_volumes(struct tfd_kctx *k, struct tfd_image o[3],
                                      struct tfd_conv_volume *c,
                                      struct tfd_status *st)
{
    c->dtype = o[0].work.dtype;
    c->x = tfd_tensor_data(&o[0].work);
    c->w = tfd_tensor_data(&o[1].work);
    c->y = tfd_tensor_data(&o[2].work);
    return tfd_conv_volume_forward(k, c, st);
}

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code check_any(const struct tfd_kctx *k,
                               const struct tfd_shape *x, struct tfd_status *st)
{
    const struct tfd_conv_any *s = k->state;

    TFD_TRY(check_strides(s, x->rank, st));
    TFD_TRY(check_dilations(s, x->rank, st));
    TFD_TRY(check_paddings(s, x->rank, st));
    TFD_TRY(check_any_filter(s, x, &k->in[1].shape, st));
    return check_any_layout(s, x->rank, st);
}

/* The output: y with the batch dimensions of input 0. */
static enum tfd_code make_any_output(struct tfd_kctx *k,
                                     const struct tfd_shape *y,
                                     struct tfd_status *st)
{
    struct tfd_shape out = k->in[0].shape;

    for (int i = 1; i < y->rank; i++)
        out.dim[out.rank - y->rank + i] = y->dim[i];
    return tfd_kctx_output(k, 0, k->in[0].dtype, &out, st);
}

enum tfd_code tfd_conv_any_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window w = window_of_any(k->state);
    const struct tfd_shape *filter = &k->in[1].shape;
    struct tfd_image o[] = {tfd_image_operand(&k->in[0], false),
                            tfd_image_operand(&k->in[1], false),
                            tfd_image_result(0, false)};
    struct tfd_conv_volume v = {0};
    struct tfd_conv c = {0};
    struct tfd_shape x, y;
    enum tfd_code rc;

    TFD_TRY(collapse(k->state, &k->in[0].shape, &x, st));
    TFD_TRY(check_any(k, &x, st));
    if (x.rank == TFD_WINDOW_DIMS)
        TFD_TRY(tfd_conv_measure(&w, &x, filter, &c, &y, st));
    else
        TFD_TRY(measure_volumes(k->state, &x, filter, &v, &y, st));
    TFD_TRY(make_any_output(k, &y, st));
    rc = tfd_image_begin(k, o, 3, st);
    if (rc == TFD_OK && tfd_image_empty(o, 3))
        tfd_image_zero(o, 3);
    else if (rc == TFD_OK)
        rc = x.rank == TFD_WINDOW_DIMS ? convolve_images(k, o, &c, st)
                                       : convolve_volumes(k, o, &v, st);
    return tfd_image_end(k, o, 3, rc, st);
}

/* ---- Shape --------------------------------------------------------------- */

/* The batch dimensions and the channels; what windows leave of the sides is
 * known when the op runs. */
enum tfd_code tfd_conv_any_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_conv_any a;
    struct tfd_shape *y = &s->out[0];
    int channel;

    if (!s->node || s->in[0].rank < 3)
        return TFD_OK;
    TFD_TRY(read_any(s->node, &a, st));
    *y = s->in[0];
    if (a.batch_dims < 0 || a.batch_dims > y->rank - 1)
        return TFD_OK;
    channel = a.channels_first ? (int)a.batch_dims : y->rank - 1;
    for (int i = (int)a.batch_dims; i < y->rank; i++)
        y->dim[i] = TFD_DIM_UNKNOWN;
    if (s->in[1].rank > 1)
        y->dim[channel] = s->in[1].dim[s->in[1].rank - 1];
    return TFD_OK;
}
