/*
 * conv.cu - Conv2D, Conv2DBackpropInput, Conv2DBackpropFilter of kernels/conv/conv.c
 * by cuDNN: see dnn.cuh.
 *
 * Images are given to cuDNN with their channels last where it has tensor cores
 * for that type, as in TensorFlow, and where it knows the convolution in that
 * layout; otherwise with their channels second.  A filter is transposed in any
 * case, since TensorFlow's has its output channels last.
 *
 * cuDNN pads both ends alike.  What one end has more (SAME of an even rest) is
 * zeros around a copy of x; the gradient by x is cut out of a larger one.
 * Copies that only change the order go through tiles (permute.cuh).
 */
#include "cuda/lib/box.cuh"
#include "cuda/device/forward.cuh"
#include "cuda/lib/permute.cuh"

extern "C" {
#include "kernels/core/check.h"
}

namespace
{

/* ---- Copies -------------------------------------------------------------- */

/* A contiguous tensor: sizes by meaning, which order puts outermost first. */
struct layout {
    int64_t size[4];
    int order[4];
};

/* Of images [batch, rows, columns, channels]. */
static const int last[] = {0, 1, 2, 3}, second[] = {0, 3, 1, 2};
/* Of filters [rows, columns, in, out]: TensorFlow's, and cuDNN's two. */
static const int filter[] = {0, 1, 2, 3}, filter_last[] = {3, 0, 1, 2},
                 filter_second[] = {3, 2, 0, 1};

static struct layout layout_of(int64_t a, int64_t b, int64_t c, int64_t d,
                               const int *order)
{
    return {{a, b, c, d}, {order[0], order[1], order[2], order[3]}};
}

static bool is_same(const struct layout *a, const struct layout *b)
{
    for (int i = 0; i < 4; i++)
        if (a->size[i] != b->size[i] || a->order[i] != b->order[i])
            return false;
    return true;
}

static int64_t elements_of(const struct layout *l)
{
    return l->size[0] * l->size[1] * l->size[2] * l->size[3];
}

/* before: where x begins in y, along each dimension. */
static struct box box_of(const struct layout *to, const struct layout *from,
                         const int64_t *before, size_t item)
{
    struct box b = {4, {}, item, elements_of(to)};
    int64_t step[4], next = 1;

    for (int i = 3; i >= 0; i--) {
        step[from->order[i]] = next;
        next *= from->size[from->order[i]];
    }
    for (int i = 0; i < 4; i++) {
        int d = to->order[i];

        b.axis[i] = {to->size[d], step[d], before[d], 1, from->size[d]};
    }
    return b;
}

/* Of the same sizes. */
static struct permutation order_of(const struct layout *to,
                                   const struct layout *from)
{
    int64_t dim[4];
    int perm[4];

    for (int i = 0; i < 4; i++) {
        dim[i] = from->size[from->order[i]];
        for (int j = 0; j < 4; j++)
            if (from->order[j] == to->order[i])
                perm[i] = j;
    }
    return permutation_of(4, dim, perm);
}

/* Elements are only moved, so their size is enough; zero is all bits 0. */
static enum tfd_code run_move(struct tfd_kctx *k, size_t item,
                              const struct layout *to, void *y,
                              const struct layout *from, const void *x,
                              const int64_t *before, struct tfd_status *st)
{
    alignas(ITEM_MAX) static const char zeros[ITEM_MAX] = {0};
    int64_t most = elements_of(to);

    if (!memcmp(to->size, from->size, sizeof(to->size)))
        return run_permutation(k, order_of(to, from), item, x, y, st);
    if (most < elements_of(from))
        most = elements_of(from);
    return run_place(k, x, y, most, zeros, box_of(to, from, before, item), st);
}

/* ---- Operands ------------------------------------------------------------ */

/* x, w or y: as TensorFlow has it, and as cuDNN is given it. */
struct operand {
    struct layout has, given;
    int64_t before[4];         /* where `has` begins in `given` */
    void *data;                /* TensorFlow's */
    struct tfd_buffer *buffer; /* the copy; NULL: data itself */
};

static void *given_at(const struct operand *o)
{
    return o->buffer ? o->buffer->data : o->data;
}

static enum tfd_code begin(struct tfd_kctx *k, struct operand *o, size_t item,
                           bool is_result, struct tfd_status *st)
{
    if (is_same(&o->has, &o->given))
        return TFD_OK;
    o->buffer =
        k->memory->make(k->memory, (size_t)elements_of(&o->given) * item, st);
    if (!o->buffer)
        return TFD_RESOURCE_EXHAUSTED;
    return is_result ? TFD_OK
                     : run_move(k, item, &o->given, o->buffer->data, &o->has,
                                o->data, o->before, st);
}

static enum tfd_code end(struct tfd_kctx *k, const struct operand *o,
                         size_t item, struct tfd_status *st)
{
    int64_t before[4];

    if (!o->buffer)
        return TFD_OK;
    for (int i = 0; i < 4; i++)
        before[i] = -o->before[i];
    return run_move(k, item, &o->has, o->data, &o->given, o->buffer->data,
                    before, st);
}

/* ---- As cuDNN wants it --------------------------------------------------- */

/* What is padded at both ends, and at one end beyond that. */
struct padding {
    int64_t both, before, after;
};

static struct padding padding_of(const struct tfd_window_side *s)
{
    int64_t extent = (s->size - 1) * s->dilation + 1;
    int64_t after = (s->out - 1) * s->stride + extent - s->in - s->before;
    struct padding p;

    after = after > 0 ? after : 0;
    p.both = s->before < after ? s->before : after;
    p.before = s->before - p.both;
    p.after = after - p.both;
    return p;
}

static enum tfd_code check_sizes(const struct tfd_conv *c,
                                 struct tfd_status *st)
{
    const struct tfd_window_side *sides[] = {&c->row, &c->column};
    int64_t largest = c->batch;

    largest = largest > c->in_channels ? largest : c->in_channels;
    largest = largest > c->out_channels ? largest : c->out_channels;
    for (int i = 0; i < 2; i++) {
        int64_t end = (sides[i]->out - 1) * sides[i]->stride +
                      (sides[i]->size - 1) * sides[i]->dilation + 1;

        largest = largest > sides[i]->in ? largest : sides[i]->in;
        largest = largest > end ? largest : end;
    }
    if (largest > INT32_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a convolution with a dimension of %lld is too large "
                        "for cuDNN",
                        (long long)largest);
    return TFD_OK;
}

static void set_side(struct cuda_dnn_conv *out, int i,
                     const struct tfd_window_side *s)
{
    struct padding p = padding_of(s);

    out->in[i] = (int)(s->in + p.before + p.after);
    out->out[i] = (int)s->out;
    out->size[i] = (int)s->size;
    out->pad[i] = (int)p.both;
    out->stride[i] = (int)s->stride;
    out->dilation[i] = (int)s->dilation;
}

static struct cuda_dnn_conv conv_of(const struct tfd_conv *c, int kind)
{
    struct cuda_dnn_conv out = {};

    out.kind = kind;
    out.dtype = (int)c->dtype;
    out.batch = (int)c->batch;
    out.in_channels = (int)c->in_channels;
    out.out_channels = (int)c->out_channels;
    out.groups = (int)c->groups;
    set_side(&out, 0, &c->row);
    set_side(&out, 1, &c->column);
    return out;
}

/* Since when there are tensor cores for a type. */
static bool has_cores(const struct tfd_kctx *k, enum tfd_dtype dtype)
{
    int major = tfd_cuda_device_of(k->memory)->properties.major;

    return dtype == TFD_HALF ? major >= 7 : dtype != TFD_DOUBLE && major >= 8;
}

static enum tfd_code choose(struct tfd_kctx *k, const struct tfd_conv *c,
                            int kind, struct cuda_dnn_plan *p,
                            struct tfd_status *st)
{
    struct cuda_conv_state *s = (struct cuda_conv_state *)k->state;
    struct cuda_dnn_conv conv = conv_of(c, kind);

    conv.channels_last = !s->window.channels_second && has_cores(k, c->dtype);
    TFD_TRY(cuda_dnn_plan(k, &conv, &s->plans, p, st));
    if (p->count || !conv.channels_last)
        return TFD_OK;
    conv.channels_last = false;
    return cuda_dnn_plan(k, &conv, &s->plans, p, st);
}

/* o: x, w, y */
static void set_operands(const struct tfd_window *w, const struct tfd_conv *c,
                         const struct cuda_dnn_conv *conv, struct operand *o)
{
    const int *has = w->channels_second ? second : last;
    const int *given = conv->channels_last ? last : second;
    int64_t in = c->in_channels / c->groups;

    o[0].has =
        layout_of(c->batch, c->row.in, c->column.in, c->in_channels, has);
    o[0].given =
        layout_of(c->batch, conv->in[0], conv->in[1], c->in_channels, given);
    o[0].before[1] = padding_of(&c->row).before;
    o[0].before[2] = padding_of(&c->column).before;
    o[1].has =
        layout_of(c->row.size, c->column.size, in, c->out_channels, filter);
    o[1].given = layout_of(c->row.size, c->column.size, in, c->out_channels,
                           conv->channels_last ? filter_last : filter_second);
    o[2].has =
        layout_of(c->batch, c->row.out, c->column.out, c->out_channels, has);
    o[2].given =
        layout_of(c->batch, c->row.out, c->column.out, c->out_channels, given);
    o[0].data = c->x;
    o[1].data = c->w;
    o[2].data = c->y;
}

/* Copies are given back at once: what gets their memory next is enqueued
 * behind. */
static enum tfd_code convolve(struct tfd_kctx *k, const struct tfd_conv *c,
                              int kind, struct tfd_status *st)
{
    static const int results[] = {2, 0, 1}; /* by kind: of x, w, y */
    const size_t item = tfd_dtype_size(c->dtype);
    struct operand o[3] = {};
    struct cuda_dnn_plan plan;
    enum tfd_code code = TFD_OK;

    TFD_TRY(check_sizes(c, st));
    TFD_TRY(choose(k, c, kind, &plan, st));
    set_operands((const struct tfd_window *)k->state, c, &plan.conv, o);
    for (int i = 0; i < 3 && code == TFD_OK; i++)
        code = begin(k, &o[i], item, i == results[kind], st);
    if (code == TFD_OK)
        code = cuda_dnn_run(k, &plan, given_at(&o[0]), given_at(&o[1]),
                            given_at(&o[2]), st);
    if (code == TFD_OK)
        code = end(k, &o[results[kind]], item, st);
    for (int i = 0; i < 3; i++)
        if (o[i].buffer)
            tfd_buffer_unref(o[i].buffer);
    return code;
}

/* ---- Kernels ------------------------------------------------------------- */

/* One of the operands has no elements: a sum of nothing. */
static enum tfd_code zero_result(struct tfd_kctx *k, struct tfd_status *st)
{
    if (!k->out[0].buffer)
        return TFD_OK;
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(out_at<void>(k, 0), 0, tfd_tensor_size(&k->out[0]),
                             stream_of(k)),
        k->kernel->op, st);
}

static enum tfd_code run_conv(struct tfd_kctx *k, struct tfd_conv *c, int kind,
                         const struct tfd_tensor *x, const struct tfd_tensor *w,
                         const struct tfd_tensor *y, struct tfd_status *st)
{
    if (!x->buffer || !w->buffer || !y->buffer)
        return zero_result(k, st);
    c->dtype = k->out[0].dtype;
    c->x = tfd_tensor_data(x);
    c->w = tfd_tensor_data(w);
    c->y = tfd_tensor_data(y);
    return convolve(k, c, kind, st);
}

} /* namespace */

enum tfd_code cuda_conv_forward(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    struct tfd_conv c = {};
    struct tfd_shape y;

    TFD_TRY(tfd_conv_measure(w, &k->in[0].shape, &k->in[1].shape, &c, &y, st));
    TFD_TRY(tfd_conv_check_filter(&k->in[1].shape, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &y, st));
    return run_conv(k, &c, CUDA_DNN_FORWARD, &k->in[0], &k->in[1], &k->out[0], st);
}

namespace
{

static enum tfd_code input_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    struct tfd_conv c = {};
    struct tfd_shape x, y;

    TFD_TRY(tfd_conv_input_sizes(k, &x, st));
    TFD_TRY(tfd_conv_measure(w, &x, &k->in[1].shape, &c, &y, st));
    TFD_TRY(tfd_conv_check_backprop(k, &c, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[2].dtype, &x, st));
    return run_conv(k, &c, CUDA_DNN_INPUT, &k->out[0], &k->in[1], &k->in[2], st);
}

static enum tfd_code filter_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_window *w = (const struct tfd_window *)k->state;
    struct tfd_shape shape, y;
    struct tfd_conv c = {};

    TFD_TRY(tfd_check_shape(k, 1, false, &shape, st));
    TFD_TRY(tfd_conv_measure(w, &k->in[0].shape, &shape, &c, &y, st));
    TFD_TRY(tfd_conv_check_backprop(k, &c, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    return run_conv(k, &c, CUDA_DNN_FILTER, &k->in[0], &k->out[0], &k->in[2], st);
}

#define ROW(op, name, compute, host)                     \
    row(op, TFD_##name, compute, host, tfd_conv_prepare, \
        sizeof(struct cuda_conv_state))
#define ROWS(name, T)                                             \
    ROW("Conv2D", name, cuda_conv_forward, 0),                    \
        ROW("Conv2DBackpropInput", name, input_gpu, HOST_ARG(0)), \
        ROW("Conv2DBackpropFilter", name, filter_gpu, HOST_ARG(1)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(conv);
