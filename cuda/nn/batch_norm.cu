/*
 * batch_norm.cu - FusedBatchNorm, V2, V3 and their gradients of
 * kernels/nn/batch_norm.c, whose formulas these are, where cuDNN does not do it
 * (dnn_norm.cuh).
 *
 * x is seen as [outer, channels, inner].  Two sums of each channel are taken in
 * one pass over x, in pieces; a kernel with a thread for each channel folds the
 * pieces in their order and makes of them the outputs by channel and the
 * coefficients of the second pass.  The sums are of distances from the
 * channel's first element (forward) or from the mean, in double, so that
 * nothing is lost where the mean is large and the variance is small.
 */
#include "cuda/lib/dnn_norm.cuh"
#include "cuda/device/forward.cuh"
#include "cuda/lib/norm_sums.cuh"

namespace
{

static struct view own_view(const struct tfd_kctx *k, const struct tfd_shape *x)
{
    const struct tfd_batch_norm *s = (const struct tfd_batch_norm *)k->state;

    return view_of(x, s->second ? 1 : x->rank - 1);
}

/* ---- Forward ------------------------------------------------------------- */

/* Inputs and outputs by channel; was: moving averages. */
struct channels {
    const float *scale, *was_mean, *was_variance;
    float *mean, *variance, *kept_mean, *kept_variance;
    float epsilon, factor;
};

static struct channels channels_of(const struct tfd_kctx *k)
{
    const struct tfd_batch_norm *s = (const struct tfd_batch_norm *)k->state;

    return {in_at<float>(k, 1),  in_at<float>(k, 3),  in_at<float>(k, 4),
            out_at<float>(k, 1), out_at<float>(k, 2), out_at<float>(k, 3),
            out_at<float>(k, 4), s->epsilon,          s->factor};
}

/* While training: from the sums of n elements that are distances from x. */
template <typename T>
__global__ void finish_training(struct channels h, const struct pair *part,
                                int64_t pieces, const T *x, struct view v,
                                float *a)
{
    double n = (double)(v.outer * v.inner);

    for (int64_t c = thread_index(); c < v.channels; c += thread_count()) {
        struct pair sum = total_of(part, c, v.channels, pieces);
        double away = sum.a / n, squares = sum.b - sum.a * away;
        double mean = (double)widen(x[c * v.inner]) + away;

        squares = squares < 0 ? 0 : squares;
        h.kept_mean[c] = (float)mean;
        h.kept_variance[c] = (float)(squares / n);
        h.mean[c] = moved(h.factor, h.was_mean, c, mean);
        h.variance[c] =
            moved(h.factor, h.was_variance, c, squares / (n > 1 ? n - 1 : 1));
        a[c] = h.scale[c] / sqrtf(h.kept_variance[c] + h.epsilon);
    }
}

/* Otherwise; the moving averages stay as they are. */
__global__ void finish_given(struct channels h, int64_t channels, float *a)
{
    for (int64_t c = thread_index(); c < channels; c += thread_count()) {
        h.mean[c] = h.was_mean[c];
        h.variance[c] = h.was_variance[c];
        h.kept_mean[c] = h.kept_variance[c] = 0;
        a[c] = h.scale[c] / sqrtf(h.variance[c] + h.epsilon);
    }
}

/* Of nothing there is no mean. */
__global__ void finish_nothing(struct channels h, int64_t channels)
{
    for (int64_t c = thread_index(); c < channels; c += thread_count()) {
        h.mean[c] = h.variance[c] = NAN;
        h.kept_mean[c] = h.kept_variance[c] = 0;
    }
}

/* The channels of elements i .. i + N: neighbours, or one. */
template <int N>
__device__ inline void load_channels(const struct view *v, const float *x,
                                     int64_t i, float *out)
{
    int64_t c = channel_of(v, i);

    if (v->inner == 1) {
        load_floats<N>(x + c, out);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        out[j] = x[c];
}

template <int N, typename T>
__global__ void normalise(const T *x, const float *mean, const float *a,
                          const float *offset, pack<T, N> *y, struct view v,
                          int64_t packs)
{
    for (int64_t i = thread_index(); i < packs; i += thread_count()) {
        float e[N], m[N], factor[N], begin[N];

        load_pack<N>(x + i * N, e);
        load_channels<N>(&v, mean, i * N, m);
        load_channels<N>(&v, a, i * N, factor);
        load_channels<N>(&v, offset, i * N, begin);
#pragma unroll
        for (int j = 0; j < N; j++)
            e[j] = (e[j] - m[j]) * factor[j] + begin[j];
        y[i] = narrow_all<N, T>(e);
    }
}

/* Whether N neighbours are of one channel, or of N that are packs. */
template <int N> static bool is_packed(const struct view *v)
{
    return (v->inner == 1 ? v->channels : v->inner) % N == 0;
}

template <typename T>
static void run_normalise(struct tfd_kctx *k, const float *mean, const float *a,
                          const struct view *v)
{
    const T *x = in_at<T>(k, 0);
    const float *offset = in_at<float>(k, 2);
    int64_t n = v->outer * v->channels * v->inner;
    constexpr int N = pack_size<T, T>();
    T *y = out_at<T>(k, 0);

    if (is_packed<N>(v) && is_aligned(x, y, y) && is_aligned(mean, a, offset))
        normalise<N, T><<<blocks_for(k, n / N), THREADS, 0, stream_of(k)>>>(
            x, mean, a, offset, (pack<T, N> *)y, *v, n / N);
    else
        normalise<1, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            x, mean, a, offset, (pack<T, 1> *)y, *v, n);
}

template <typename T>
static enum tfd_code run_forward(struct tfd_kctx *k, const struct view *v,
                                 struct tfd_status *st)
{
    const struct tfd_batch_norm *s = (const struct tfd_batch_norm *)k->state;
    struct channels h = channels_of(k);
    const T *x = in_at<T>(k, 0);
    struct work w = {};
    bool done;

    TFD_TRY(cuda_dnn_norm_forward(k, &done, st));
    if (done)
        return TFD_OK;
    TFD_TRY(make_work(k, v, &w, st));
    if (s->training) {
        sum_all(k, moments<T>{x}, nullptr, v, &w);
        finish_training<T>
            <<<blocks_for(k, v->channels), THREADS, 0, stream_of(k)>>>(
                h, w.part, w.pieces, x, *v, w.a);
    } else {
        finish_given<<<blocks_for(k, v->channels), THREADS, 0, stream_of(k)>>>(
            h, v->channels, w.a);
    }
    run_normalise<T>(k, s->training ? h.kept_mean : h.mean, w.a, v);
    tfd_buffer_unref(w.buffer);
    return launched(k, st);
}

static enum tfd_code clear(struct tfd_kctx *k, int out, struct tfd_status *st)
{
    if (!k->out[out].buffer)
        return TFD_OK;
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(out_at<void>(k, out), 0,
                             tfd_tensor_size(&k->out[out]), stream_of(k)),
        k->kernel->op, st);
}

template <typename T>
static enum tfd_code forward_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t channels;
    struct view v;

    TFD_TRY(tfd_batch_norm_forward(k, &channels, st));
    if (k->out_count == 6) /* cuDNN's; nothing here */
        TFD_TRY(clear(k, 5, st));
    if (channels == 0)
        return TFD_OK;
    v = own_view(k, &k->in[0].shape);
    if (k->out[0].buffer)
        return run_forward<T>(k, &v, st);
    finish_nothing<<<blocks_for(k, channels), THREADS, 0, stream_of(k)>>>(
        channels_of(k), channels);
    return launched(k, st);
}

} /* namespace */

enum tfd_code cuda_norm_forward(struct tfd_kctx *k, struct tfd_status *st)
{
    switch (k->in[0].dtype) {
    case TFD_HALF:
        return forward_gpu<__half>(k, st);
    case TFD_BFLOAT16:
        return forward_gpu<__nv_bfloat16>(k, st);
    default:
        return forward_gpu<float>(k, st);
    }
}

namespace
{

/* ---- Gradient ------------------------------------------------------------ */

/* Inputs and outputs by channel. */
struct slopes {
    const float *scale, *variance;
    float *dscale, *doffset;
    double epsilon, n; /* n: infinite where the moments were given */
};

__global__ void finish_gradient(struct slopes h, const struct pair *part,
                                int64_t pieces, int64_t channels, float *a,
                                float *b, float *c)
{
    for (int64_t i = thread_index(); i < channels; i += thread_count()) {
        struct pair sum = total_of(part, i, channels, pieces);
        double variance = (double)h.variance[i] + h.epsilon;

        h.dscale[i] = (float)(sum.b / sqrt(variance));
        h.doffset[i] = (float)sum.a;
        a[i] = (float)((double)h.scale[i] / sqrt(variance));
        b[i] = (float)(sum.a / h.n);
        c[i] = (float)(sum.b / h.n / variance);
    }
}

/* By channel. */
struct coefficients {
    const float *mean, *a, *b, *c;
};

/* dx = (dy - b - (x - mean) * c) * a */
template <int N, typename T>
__global__ void derive(const T *x, const T *dy, struct coefficients h,
                       pack<T, N> *dx, struct view v, int64_t packs)
{
    for (int64_t i = thread_index(); i < packs; i += thread_count()) {
        float e[N], slope[N], mean[N], a[N], b[N], c[N];

        load_pack<N>(x + i * N, e);
        load_pack<N>(dy + i * N, slope);
        load_channels<N>(&v, h.mean, i * N, mean);
        load_channels<N>(&v, h.a, i * N, a);
        load_channels<N>(&v, h.b, i * N, b);
        load_channels<N>(&v, h.c, i * N, c);
#pragma unroll
        for (int j = 0; j < N; j++)
            e[j] = (slope[j] - b[j] - (e[j] - mean[j]) * c[j]) * a[j];
        dx[i] = narrow_all<N, T>(e);
    }
}

template <typename T>
static void run_derive(struct tfd_kctx *k, const T *x, const T *dy,
                       const struct coefficients &h, const struct view *v)
{
    int64_t n = v->outer * v->channels * v->inner;
    constexpr int N = pack_size<T, T>();
    T *dx = out_at<T>(k, 0);

    if (is_packed<N>(v) && is_aligned(x, dy, dx) &&
        is_aligned(h.mean, h.a, h.b) && is_aligned(h.c, h.c, h.c))
        derive<N, T><<<blocks_for(k, n / N), THREADS, 0, stream_of(k)>>>(
            x, dy, h, (pack<T, N> *)dx, *v, n / N);
    else
        derive<1, T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            x, dy, h, (pack<T, 1> *)dx, *v, n);
}

template <typename T>
static enum tfd_code run_gradient(struct tfd_kctx *k, const struct view *v,
                                  struct tfd_status *st)
{
    const struct tfd_batch_norm *s = (const struct tfd_batch_norm *)k->state;
    const T *dy = in_at<T>(k, 0), *x = in_at<T>(k, 1);
    const float *mean = in_at<float>(k, 3);
    int64_t count = v->outer * v->inner;
    const struct slopes h = {
        in_at<float>(k, 2),  in_at<float>(k, 4),
        out_at<float>(k, 1), out_at<float>(k, 2),
        (double)s->epsilon,  s->training ? (double)count : (double)INFINITY};
    struct work w = {};
    bool done;

    TFD_TRY(cuda_dnn_norm_gradient(k, &done, st));
    if (done)
        return TFD_OK;
    TFD_TRY(make_work(k, v, &w, st));
    sum_all(k, gradients<T>{x, dy}, mean, v, &w);
    finish_gradient<<<blocks_for(k, v->channels), THREADS, 0, stream_of(k)>>>(
        h, w.part, w.pieces, v->channels, w.a, w.b, w.c);
    run_derive(k, x, dy, {mean, w.a, w.b, w.c}, v);
    tfd_buffer_unref(w.buffer);
    return launched(k, st);
}

template <typename T>
static enum tfd_code gradient_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t channels;
    struct view v;

    TFD_TRY(tfd_batch_norm_gradient(k, &channels, st));
    v = own_view(k, &k->in[1].shape);
    if (k->out[0].buffer)
        return run_gradient<T>(k, &v, st);
    TFD_TRY(clear(k, 1, st));
    return clear(k, 2, st);
}

/* ---- Table --------------------------------------------------------------- */

#define ROW(op, name, compute)                              \
    row(op, TFD_##name, compute, 0, tfd_batch_norm_prepare, \
        sizeof(struct cuda_norm_state))
#define ROWS(version, name, T)                              \
    ROW("FusedBatchNorm" version, name, cuda_norm_forward), \
        ROW("FusedBatchNormGrad" version, name, gradient_gpu<T>)

static const struct tfd_kernel kernels[] = {
    ROWS("", FLOAT, float),
    ROWS("V2", FLOAT, float),
    ROWS("V2", HALF, __half),
    ROWS("V2", BFLOAT16, __nv_bfloat16),
    ROWS("V3", FLOAT, float),
    ROWS("V3", HALF, __half),
    ROWS("V3", BFLOAT16, __nv_bfloat16),
};

} /* namespace */

CUDA_FAMILY_OF(batch_norm);
