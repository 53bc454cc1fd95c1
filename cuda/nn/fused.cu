/*
 * fused.cu - _FusedMatMul and _FusedConv2D of kernels/nn/fused.c,
 * _FusedBatchNormEx of kernels/nn/onednn.c: the kernels of forward.cuh, then one
 * pass over the result, which is rounded once.
 *
 * A bias is a shift of each channel; a batch norm of inference is a factor,
 * too, which a small kernel makes of its four operands (kernels/nn/epilogue.c has
 * the formula).  Where channels are last and a multiple of a pack of 16 bytes,
 * those of a pack are loaded as one.
 *
 * TensorFlow's GPU kernels have fewer steps, and no batch norm: whoever asks
 * for more than those gets what a CPU gives.
 */
#include "cuda/lib/channels.cuh"
#include "cuda/device/forward.cuh"

extern "C" {
#include "kernels/nn/fused.h"
}

namespace
{

/* ---- The last step ------------------------------------------------------- */

struct activation {
    int which; /* enum tfd_epilogue_activation */
    float alpha;

    template <typename W> __device__ W operator()(W x) const
    {
        switch (which) {
        case TFD_EPILOGUE_RELU:
            return x < 0 ? W(0) : x;
        case TFD_EPILOGUE_RELU6:
            return x < 0 ? W(0) : x > 6 ? W(6) : x;
        case TFD_EPILOGUE_ELU:
            return x < 0 ? expm1(x) : x;
        case TFD_EPILOGUE_LEAKY_RELU:
            return (x > x * alpha) != (alpha >= 1) ? x : x * alpha;
        case TFD_EPILOGUE_TANH:
            return tanh(x);
        case TFD_EPILOGUE_SIGMOID:
            return 1 / (1 + exp(-x));
        case TFD_EPILOGUE_GELU_EXACT:
            return x / 2 * (1 + erf(x * W(0.7071067811865476)));
        case TFD_EPILOGUE_GELU_APPROXIMATE:
            return x / 2 *
                   (1 + tanh(W(0.7978845608028654) *
                             (x + W(0.044715) * x * x * x)));
        default:
            return x;
        }
    }
};

/* ---- Bias or batch norm -------------------------------------------------- */

/* By channel; factor may be NULL. */
template <typename S> struct affine {
    const S *factor, *shift;
};

/* Channels last; those of a pack are neighbours.  by: packs of a row. */
template <int N, typename T, typename S>
__global__ void finish_packs(struct activation f, struct affine<S> h,
                             pack<T, N> *y, int64_t packs, struct divisor by)
{
    const pack<S, N> *shift = (const pack<S, N> *)h.shift;
    const pack<S, N> *factor = (const pack<S, N> *)h.factor;

    for (int64_t i = thread_index(); i < packs; i += thread_count()) {
        int64_t row = i, c = take_rest(&by, &row);
        pack<S, N> b = shift[c], a = factor ? factor[c] : b;
        pack<T, N> p = y[i];

#pragma unroll
        for (int j = 0; j < N; j++) {
            wide<T> x = widen(p.v[j]);

            x = factor ? x * widen(a.v[j]) : x;
            p.v[j] = narrow<T>(f(x + widen(b.v[j])));
        }
        y[i] = p;
    }
}

template <typename T, typename S>
__device__ inline T finish_one(struct activation f, struct affine<S> h, T y,
                               int64_t c)
{
    wide<T> x = widen(y);

    x = h.factor ? x * widen(h.factor[c]) : x;
    return narrow<T>(f(x + widen(h.shift[c])));
}

template <int N, typename T, typename S>
__global__ void finish_spots(struct activation f, struct affine<S> h, T *y,
                             int64_t n, struct view v)
{
    for (int64_t i = thread_index(); i < n / N; i += thread_count()) {
        pack<T, N> p = ((const pack<T, N> *)y)[i];
        struct spot s = spot_of(&v, i * N);

#pragma unroll
        for (int j = 0; j < N; j++) {
            p.v[j] = finish_one(f, h, p.v[j], s.channel);
            spot_next(&v, &s);
        }
        ((pack<T, N> *)y)[i] = p;
    }
    for (int64_t i = n / N * N + thread_index(); i < n; i += thread_count())
        y[i] = finish_one(f, h, y[i], channel_of(&v, i));
}

/* channel: the dimension.  An output begins at a multiple of 16 bytes. */
template <typename T, typename S>
static enum tfd_code finish(struct tfd_kctx *k, const struct tfd_epilogue *e,
                            struct affine<S> h, int channel,
                            struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const struct activation f = {e->which, e->alpha};
    int64_t n = tfd_tensor_elements(&k->out[0]);
    struct view v = view_of(&k->out[0].shape, channel);
    unsigned blocks = blocks_for(k, (n + N - 1) / N);
    T *y = out_at<T>(k, 0);

    if (v.inner == 1 && v.channels % N == 0 && is_aligned(h.shift, y, y))
        finish_packs<N><<<blocks, THREADS, 0, stream_of(k)>>>(
            f, h, (pack<T, N> *)y, n / N, divisor_of(v.channels / N));
    else
        finish_spots<N><<<blocks, THREADS, 0, stream_of(k)>>>(f, h, y, n, v);
    return launched(k, st);
}

/* scale, offset, mean, variance: inputs */
template <typename T, typename W>
__global__ void fold_norm(const T *scale, const T *offset, const T *mean,
                          const T *variance, W epsilon, W *factor, W *shift,
                          int64_t channels)
{
    for (int64_t c = thread_index(); c < channels; c += thread_count()) {
        W a = widen(scale[c]) / sqrt(widen(variance[c]) + epsilon);

        factor[c] = a;
        shift[c] = widen(offset[c]) - widen(mean[c]) * a;
    }
}

template <typename T>
static enum tfd_code run_norm(struct tfd_kctx *k, const struct tfd_epilogue *e,
                              int channel, struct tfd_status *st)
{
    using W = wide<T>;
    const int first = TFD_EPILOGUE_FIRST;
    int64_t channels = k->out[0].shape.dim[channel];
    struct tfd_buffer *b =
        k->memory->make(k->memory, 2 * (size_t)channels * sizeof(W), st);
    struct affine<W> h;
    enum tfd_code code;

    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    h = {(const W *)b->data, (const W *)b->data + channels};
    fold_norm<T, W><<<blocks_for(k, channels), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, first), in_at<T>(k, first + 1), in_at<T>(k, first + 2),
        in_at<T>(k, first + 3), (W)e->epsilon, (W *)b->data,
        (W *)b->data + channels, channels);
    code = finish<T, W>(k, e, h, channel, st);
    /* What gets the memory next is enqueued behind. */
    tfd_buffer_unref(b);
    return code;
}

template <typename T>
static enum tfd_code run_bias(struct tfd_kctx *k, const struct tfd_epilogue *e,
                              int channel, struct tfd_status *st)
{
    return finish<T, T>(k, e, {nullptr, in_at<T>(k, TFD_EPILOGUE_FIRST)},
                        channel, st);
}

/* ---- _FusedMatMul -------------------------------------------------------- */

template <typename T>
static enum tfd_code matmul_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_fused_matmul *m =
        (const struct tfd_fused_matmul *)k->state;

    TFD_TRY(tfd_fused_matmul_check(k, st));
    TFD_TRY(cuda_matmul_compute(k, st));
    if (!k->out[0].buffer || tfd_fused_matmul_is_zero(k))
        return TFD_OK;
    return run_bias<T>(k, &m->epilogue, 1, st);
}

/* ---- _FusedConv2D -------------------------------------------------------- */

struct conv {
    struct cuda_conv_state conv; /* first */
    struct tfd_epilogue epilogue;
};

static enum tfd_code conv_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct conv *c = (struct conv *)state;

    TFD_TRY(tfd_conv_prepare(p, &c->conv, st));
    return tfd_fused_conv_prepare(p, &c->epilogue, st);
}

template <typename T>
static enum tfd_code conv_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct conv *c = (const struct conv *)k->state;
    const struct tfd_window *w = &c->conv.window;
    const struct tfd_epilogue *e = &c->epilogue;
    int channel = w->channels_second ? 1 : 3;
    int64_t groups;

    TFD_TRY(tfd_fused_conv_check(k, w, e, &groups, st));
    TFD_TRY(cuda_conv_forward(k, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return e->batch_norm ? run_norm<T>(k, e, channel, st)
                         : run_bias<T>(k, e, channel, st);
}

/* ---- _FusedBatchNormEx --------------------------------------------------- */

struct norm {
    struct cuda_norm_state norm; /* first */
    bool relu;
};

/* A NaN stays one. */
template <bool RELU> struct add_side {
    template <typename T> __device__ T operator()(T p, T q) const
    {
        wide<T> x = widen(p) + widen(q);

        return narrow<T>(RELU && x < 0 ? wide<T>(0) : x);
    }
};

struct only_relu {
    template <typename T> __device__ T operator()(T x) const
    {
        return widen(x) < 0 ? narrow<T>(0) : x;
    }
};

static enum tfd_code norm_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct norm *n = (struct norm *)state;

    TFD_TRY(tfd_batch_norm_prepare(p, &n->norm, st));
    return tfd_fused_norm_prepare(p, &n->relu, st);
}

template <typename T>
static enum tfd_code norm_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct norm *s = (const struct norm *)k->state;
    int64_t n = tfd_tensor_elements(&k->in[0]);
    const T *side;
    T *y;

    TFD_TRY(tfd_fused_norm_check(k, st));
    TFD_TRY(cuda_norm_forward(k, st));
    y = out_at<T>(k, 0);
    if (k->in_count <= TFD_FUSED_NORM_SIDE)
        return s->relu ? run_one(k, only_relu(), (const T *)y, y, n, st)
                       : TFD_OK;
    side = in_at<T>(k, TFD_FUSED_NORM_SIDE);
    return s->relu
               ? run_two(k, add_side<true>(), (const T *)y, side, y, n, st)
               : run_two(k, add_side<false>(), (const T *)y, side, y, n, st);
}

/* ---- Table --------------------------------------------------------------- */

#define MATMUL(name, T)                               \
    row("_FusedMatMul", TFD_##name, matmul_gpu<T>, 0, \
        tfd_fused_matmul_prepare, sizeof(struct tfd_fused_matmul))
#define CONV(name, T)                                             \
    row("_FusedConv2D", TFD_##name, conv_gpu<T>, 0, conv_prepare, \
        sizeof(struct conv))
#define NORM(name, T)                                                  \
    row("_FusedBatchNormEx", TFD_##name, norm_gpu<T>, 0, norm_prepare, \
        sizeof(struct norm))

static const struct tfd_kernel kernels[] = {
    MATMUL(FLOAT, float), MATMUL(HALF, __half), MATMUL(BFLOAT16, __nv_bfloat16),
    CONV(FLOAT, float),   CONV(HALF, __half),   CONV(DOUBLE, double),
    NORM(FLOAT, float),   NORM(HALF, __half),   NORM(BFLOAT16, __nv_bfloat16),
};

} /* namespace */

CUDA_FAMILY_OF(fused);
