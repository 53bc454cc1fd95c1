/*
 * bias.c - one number per channel, added to every element of the channel:
 *
 *     BiasAdd BiasAddV1 BiasAddGrad
 *
 * The channel is the last dimension (NHWC) or the second (NCHW).  Either way
 * the tensor is seen as [outer, channels, inner], inner 1 for NHWC. BiasAddGrad
 * sums over outer and inner.
 */
#include "kernels/core/families.h"

#include "common/base/str.h"
#include "kernels/nn/bias.h"
#include "kernels/math/binary.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/gradient.h"
#include "kernels/reduce/reduce.h"

#include <string.h>

enum tfd_code tfd_bias_prepare(const struct tfd_prepare *p, void *state,
                               struct tfd_status *st)
{
    struct tfd_bias_state *s = state;
    struct tfd_str format;

    TFD_TRY(tfd_node_str(p->node, "data_format", &format, st));
    s->channels_second = tfd_str_is(format, "NCHW");
    return TFD_OK;
}

enum tfd_code tfd_bias_channel(const struct tfd_kctx *k, int *out,
                               struct tfd_status *st)
{
    const struct tfd_bias_state *s = k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor must be at least 2D: %s",
                        tfd_shape_text(x, text));
    *out = s && s->channels_second ? 1 : x->rank - 1;
    return TFD_OK;
}

enum tfd_code tfd_bias_check(const struct tfd_kctx *k, int channel,
                             struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *bias = &k->in[1].shape;
    char xt[TFD_SHAPE_TEXT_MAX], bt[TFD_SHAPE_TEXT_MAX];

    if (bias->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Biases must be 1D: %s",
                        tfd_shape_text(bias, bt));
    if (bias->dim[0] != x->dim[channel])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Must provide as many biases as the last dimension of "
                        "the input tensor: %s vs. %s",
                        tfd_shape_text(bias, bt), tfd_shape_text(x, xt));
    return TFD_OK;
}

/* [outer, channels, inner] */
static struct tfd_shape view_of(const struct tfd_shape *s, int channel)
{
    struct tfd_shape view = {3, {1, 1, 1}};

    for (int i = 0; i < s->rank; i++)
        view.dim[i < channel ? 0 : i == channel ? 1 : 2] *= s->dim[i];
    return view;
}

/* ---- BiasAdd ------------------------------------------------------------- */

struct rows {
    tfd_range_fn *add;
    const char *x, *bias;
    char *y;
    size_t item;
    int64_t channels, inner;
};

/* Of few channels: the biases of as many rows as fit, one after the other, so
 * that a loop has something to do. */
#define PATTERN_SIZE 2048

struct pattern {
    const struct rows *rows;
    int64_t elements; /* whole rows */
    _Alignas(16) char bias[PATTERN_SIZE];
};

static void make_pattern(struct pattern *p, const struct rows *rows)
{
    const size_t row = (size_t)rows->channels * rows->item;

    p->rows = rows;
    p->elements = (int64_t)(PATTERN_SIZE / row) * rows->channels;
    for (size_t at = 0; at + row <= PATTERN_SIZE; at += row)
        memcpy(p->bias + at, rows->bias, row);
}

static void add_patterns(void *arg, int64_t begin, int64_t end)
{
    const struct pattern *p = arg;
    const struct rows *rows = p->rows;

    for (int64_t i = begin; i < end; i += p->elements / rows->channels) {
        const size_t at = (size_t)(i * rows->channels) * rows->item;
        const int64_t left = (end - i) * rows->channels;
        struct tfd_row row = {.a = rows->x + at,
                              .b = p->bias,
                              .y = rows->y + at,
                              .a_step = 1,
                              .b_step = 1};

        rows->add(&row, 0, left < p->elements ? left : p->elements);
    }
}

/* Rows along the channels, or rows inside one channel. */
static void add_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *rows = arg;
    const bool last = rows->inner == 1;
    const int64_t n = last ? rows->channels : rows->inner;

    for (int64_t i = begin; i < end; i++) {
        const size_t at = (size_t)(i * n) * rows->item;
        const size_t channel =
            last ? 0 : (size_t)(i % rows->channels) * rows->item;
        struct tfd_row row = {.a = rows->x + at,
                              .b = rows->bias + channel,
                              .y = rows->y + at,
                              .a_step = 1,
                              .b_step = last};

        rows->add(&row, 0, n);
    }
}

/* Nanoseconds of a row.  Types of 2 bytes are unpacked and packed again. */
static int cost_of_bias(const struct rows *rows, int64_t n)
{
    int64_t some = n < 1000000 ? n : 1000000;

    return (int)(rows->item == 2 ? 2 * some : some / 8) + 5;
}

static void add_bias(struct tfd_kctx *k, struct rows *rows, int64_t elements)
{
    const int64_t n = rows->inner == 1 ? rows->channels : rows->inner;
    struct pattern pattern;

    if (rows->inner > 1 || n * (int64_t)rows->item > PATTERN_SIZE / 4) {
        tfd_kctx_parallel(k, elements / n, cost_of_bias(rows, n), add_rows,
                          rows);
        return;
    }
    make_pattern(&pattern, rows);
    tfd_kctx_parallel(k, elements / n, cost_of_bias(rows, n) - 4, add_patterns,
                      &pattern);
}

static enum tfd_code bias_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;
    struct rows rows = {.add = tfd_binary_add_loop(k->in[0].dtype)};
    struct tfd_shape view;
    int channel;

    TFD_TRY(tfd_bias_channel(k, &channel, st));
    TFD_TRY(tfd_bias_check(k, channel, st));
    view = view_of(&shape, channel);
    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, k->in[0].dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    rows.x = k->in[0].buffer->data;
    rows.bias = k->in[1].buffer->data;
    rows.y = k->out[0].buffer->data;
    rows.item = tfd_dtype_size(k->in[0].dtype);
    rows.channels = view.dim[1];
    rows.inner = view.dim[2];
    add_bias(k, &rows, tfd_shape_elements(&shape));
    return TFD_OK;
}

/* ---- BiasAddGrad --------------------------------------------------------- */

static enum tfd_code bias_grad_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    static const bool reduced[TFD_RANK_MAX] = {true, false, true};
    const struct tfd_tensor *in = &k->in[0];
    struct tfd_shape view, channels = {.rank = 1};
    int channel;

    TFD_TRY(tfd_bias_channel(k, &channel, st));
    view = view_of(&in->shape, channel);
    channels.dim[0] = view.dim[1];
    TFD_TRY(tfd_kctx_output(k, 0, in->dtype, &channels, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (!in->buffer)
        tfd_elements_clear(&k->out[0]);
    else
        tfd_reduce_view(k, tfd_reduce_sum(in->dtype), &view, reduced,
                        tfd_dtype_size(in->dtype), in->buffer->data,
                        k->out[0].buffer->data);
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code is_second(const struct tfd_shape_ctx *s, bool *second,
                               struct tfd_status *st)
{
    struct tfd_str format = TFD_STR("NHWC"), value;

    if (s->node && tfd_node_attr(s->node, "data_format", &value))
        TFD_TRY(tfd_node_str(s->node, "data_format", &format, st));
    *second = tfd_str_is(format, "NCHW");
    return TFD_OK;
}

static enum tfd_code check_bias_rank(const struct tfd_shape *s,
                                     struct tfd_status *st)
{
    if (s->rank != TFD_RANK_UNKNOWN && s->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 2 but is rank %d",
                        s->rank);
    return TFD_OK;
}

static enum tfd_code bias_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape out = s->in[0], bias = {1, {TFD_DIM_UNKNOWN}};
    struct tfd_shape channel = {1, {TFD_DIM_UNKNOWN}};
    bool second;
    int at;

    TFD_TRY(is_second(s, &second, st));
    TFD_TRY(check_bias_rank(&out, st));
    TFD_TRY(tfd_shape_merge(&bias, &s->in[1], st));
    if (out.rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    at = second ? 1 : out.rank - 1;
    channel.dim[0] = out.dim[at];
    TFD_TRY(tfd_shape_merge(&channel, &bias, st));
    out.dim[at] = channel.dim[0];
    s->out[0] = out;
    return TFD_OK;
}

static enum tfd_code bias_grad_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    const struct tfd_shape *in = &s->in[0];
    bool second;

    TFD_TRY(is_second(s, &second, st));
    TFD_TRY(check_bias_rank(in, st));
    s->out[0] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    if (in->rank != TFD_RANK_UNKNOWN)
        s->out[0].dim[0] = in->dim[second ? 1 : in->rank - 1];
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code bias_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = g->dy[0];
    g->dx[1] =
        tfd_gradient_op_like(&b, "BiasAddGrad", &g->dy[0], 1, "data_format");
    return b.code;
}

/* Sums over all but the last dimension. */
static enum tfd_code bias_v1_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const int32_t zero = 0, one = 1;
    struct tfd_edge start = tfd_gradient_ints(&b, &zero, -1);
    struct tfd_edge step = tfd_gradient_ints(&b, &one, -1);
    struct tfd_edge rank = tfd_gradient_op1(&b, "Rank", g->dy[0]);
    struct tfd_edge axes;

    rank = tfd_gradient_op2(&b, "Sub", rank, step);
    axes = tfd_gradient_op3(&b, "Range", start, rank, step);
    g->dx[0] = g->dy[0];
    g->dx[1] = tfd_gradient_op2(&b, "Sum", g->dy[0], axes);
    return b.code;
}

/* The gradient of a channel goes to all that was summed into it.  For NCHW it
 * is given a dimension of 1 for each that follows the channel. */
static enum tfd_code bias_grad_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_shape in = TFD_SHAPE_UNKNOWN;
    struct tfd_edge dy = g->dy[0];
    int32_t shape[TFD_RANK_MAX];
    struct tfd_str format;

    TFD_TRY(tfd_node_str(g->node, "data_format", &format, st));
    if (tfd_str_is(format, "NCHW")) {
        (void)tfd_grad_shape(g, g->x[0], &in);
        if (in.rank < 2)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "The gradient of BiasAddGrad in NCHW needs the "
                            "rank of its input");
        for (int i = 0; i < in.rank; i++)
            shape[i] = i == 0 ? -1 : 1;
        dy = tfd_gradient_op2(&b, "Reshape", dy,
                              tfd_gradient_ints(&b, shape, in.rank - 1));
    }
    g->dx[0] = tfd_gradient_op2(&b, "BroadcastTo", dy,
                                tfd_gradient_shape(&b, g->x[0]));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define FORMAT "; data_format: {'NHWC', 'NCHW'} = 'NHWC'"

static const struct tfd_opdef ops[] = {
    {
        .name = "BiasAdd",
        .inputs = "value: T, bias: T",
        .outputs = "output: T",
        .attrs = "T: numbertype" FORMAT,
        .shape = bias_shape,
        .grad = bias_gradient,
    },
    {
        .name = "BiasAddV1",
        .inputs = "value: T, bias: T",
        .outputs = "output: T",
        .attrs = "T: numbertype",
        .shape = bias_shape,
        .grad = bias_v1_gradient,
    },
    {
        .name = "BiasAddGrad",
        .inputs = "out_backprop: T",
        .outputs = "output: T",
        .attrs = "T: numbertype" FORMAT,
        .shape = bias_grad_shape,
        .grad = bias_grad_gradient,
    },
};

#define STATE \
    .prepare = tfd_bias_prepare, .state_size = sizeof(struct tfd_bias_state)
#define KERNELS(name, number, T)                               \
    TFD_KERNEL("BiasAdd", name, bias_cpu, STATE),              \
        TFD_KERNEL("BiasAddGrad", name, bias_grad_cpu, STATE), \
        TFD_KERNEL("BiasAddV1", name, bias_cpu),

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(
    KERNELS) TFD_HALF_DTYPES(KERNELS) TFD_COMPLEX_DTYPES(KERNELS)};

const struct tfd_family tfd_family_bias = {
    .name = "bias",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
