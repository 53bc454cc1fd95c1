/*
 * batch_norm.cu - FusedBatchNorm, V2, V3 and their gradients of
 * kernels/batch_norm.c, whose formulas these are.
 *
 * x is seen as [outer, channels, inner].  Two sums of each channel are taken in
 * one pass over x, in pieces; a kernel with a thread for each channel folds the
 * pieces in their order and makes of them the outputs by channel and the
 * coefficients of the second pass.  The sums are of distances from the
 * channel's first element (forward) or from the mean, in double, so that
 * nothing is lost where the mean is large and the variance is small.
 */
#include "cuda/channels.cuh"
#include "cuda/fold.cuh"

extern "C" {
#include "kernels/batch_norm.h"
}

namespace
{

static struct view own_view(const struct tfd_kctx *k, const struct tfd_shape *x)
{
    const struct tfd_batch_norm *s = (const struct tfd_batch_norm *)k->state;

    return view_of(x, s->second ? 1 : x->rank - 1);
}

/* ---- Sums ---------------------------------------------------------------- */

struct pair {
    double a, b;
};

/* x and its square, as distances from the channel's first element. */
template <typename T> struct moments {
    const T *x;

    __device__ struct pair operator()(int64_t i, int64_t first, float) const
    {
        double v = (double)widen(x[i]) - (double)widen(x[first]);

        return {v, v * v};
    }
};

/* dy, and dy * (x - mean). */
template <typename T> struct gradients {
    const T *x, *dy;

    __device__ struct pair operator()(int64_t i, int64_t, float mean) const
    {
        double d = (double)widen(dy[i]);

        return {d, d * ((double)widen(x[i]) - (double)mean)};
    }
};

/* part[piece][channel].  Channels last: 32 of them for each block, whose 8 rows
 * of threads take every eighth row of the piece.  mean may be NULL. */
template <typename F>
__global__ void sum_last(F f, const float *mean, struct pair *part,
                         struct view v, int64_t piece)
{
    __shared__ double sums[2][8][33];
    int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    int64_t c = (int64_t)blockIdx.x * 32 + lane;
    int64_t first = blockIdx.y * piece;
    int64_t last = first + piece < v.outer ? first + piece : v.outer;
    float middle = mean && c < v.channels ? mean[c] : 0;
    struct pair sum = {0, 0};

    for (int64_t r = first + line; c < v.channels && r < last; r += 8) {
        struct pair p = f(r * v.channels + c, c, middle);

        sum.a += p.a;
        sum.b += p.b;
    }
    sums[0][line][lane] = sum.a;
    sums[1][line][lane] = sum.b;
    __syncthreads();
    if (line == 0 && c < v.channels) {
        for (int i = 1; i < 8; i++) {
            sum.a += sums[0][i][lane];
            sum.b += sums[1][i][lane];
        }
        part[blockIdx.y * v.channels + c] = sum;
    }
}

/* Channels second: a block for each of them and each piece. */
template <typename F>
__global__ void sum_second(F f, const float *mean, struct pair *part,
                           struct view v, int64_t piece)
{
    int64_t c = blockIdx.x, n = v.outer * v.inner;
    int64_t first = blockIdx.y * piece;
    int64_t last = first + piece < n ? first + piece : n;
    float middle = mean ? mean[c] : 0;
    struct pair sum = {0, 0};

    for (int64_t i = first + threadIdx.x; i < last; i += THREADS) {
        struct pair p = f(place_in(&v, c, i), c * v.inner, middle);

        sum.a += p.a;
        sum.b += p.b;
    }
    sum.a = fold_block(sum.a, plus(), false);
    sum.b = fold_block(sum.b, plus(), false);
    if (threadIdx.x == 0)
        part[blockIdx.y * v.channels + c] = sum;
}

__device__ inline struct pair total_of(const struct pair *part, int64_t c,
                                       int64_t channels, int64_t pieces)
{
    struct pair sum = {0, 0};

    for (int64_t i = 0; i < pieces; i++) {
        sum.a += part[i * channels + c].a;
        sum.b += part[i * channels + c].b;
    }
    return sum;
}

/* ---- Work memory --------------------------------------------------------- */

/* Elements of a piece for each of its threads, and pieces at most. */
#define EACH 32
#define PIECES_MAX 256

struct work {
    struct tfd_buffer *buffer;
    struct pair *part;
    int64_t pieces, piece;
    float *a, *b, *c; /* of each channel */
};

static enum tfd_code make_work(const struct tfd_kctx *k, const struct view *v,
                               struct work *w, struct tfd_status *st)
{
    int64_t rows = v->inner == 1 ? v->outer : v->outer * v->inner;
    int64_t least = EACH * (v->inner == 1 ? THREADS / 32 : THREADS);
    size_t sums, floats = 3 * (size_t)v->channels * sizeof(float);

    w->pieces = (rows + least - 1) / least;
    w->pieces = w->pieces < PIECES_MAX ? w->pieces : PIECES_MAX;
    w->piece = (rows + w->pieces - 1) / w->pieces;
    sums = (size_t)(w->pieces * v->channels) * sizeof(struct pair);
    w->buffer = k->memory->make(k->memory, sums + floats, st);
    if (!w->buffer)
        return TFD_RESOURCE_EXHAUSTED;
    w->part = (struct pair *)w->buffer->data;
    w->a = (float *)((char *)w->buffer->data + sums);
    w->b = w->a + v->channels;
    w->c = w->b + v->channels;
    return TFD_OK;
}

template <typename F>
static void sum_all(struct tfd_kctx *k, F f, const float *mean,
                    const struct view *v, const struct work *w)
{
    int64_t blocks = v->inner == 1 ? (v->channels + 31) / 32 : v->channels;
    dim3 grid((unsigned)blocks, (unsigned)w->pieces);

    if (v->inner == 1)
        sum_last<F><<<grid, THREADS, 0, stream_of(k)>>>(f, mean, w->part, *v,
                                                        w->piece);
    else
        sum_second<F><<<grid, THREADS, 0, stream_of(k)>>>(f, mean, w->part, *v,
                                                          w->piece);
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

__device__ inline float moved(float factor, const float *was, int64_t c,
                              double is)
{
    return factor == 1.0f ? (float)is
                          : (1 - factor) * was[c] + factor * (float)is;
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

template <typename T>
__global__ void normalise(const T *x, const float *mean, const float *a,
                          const float *offset, T *y, struct view v, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t c = channel_of(&v, i);

        y[i] = narrow<T>((widen(x[i]) - mean[c]) * a[c] + offset[c]);
    }
}

template <typename T>
static enum tfd_code run_forward(struct tfd_kctx *k, const struct view *v,
                                 struct tfd_status *st)
{
    const struct tfd_batch_norm *s = (const struct tfd_batch_norm *)k->state;
    struct channels h = channels_of(k);
    const T *x = in_at<T>(k, 0);
    int64_t n = v->outer * v->channels * v->inner;
    struct work w = {};

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
    normalise<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        x, s->training ? h.kept_mean : h.mean, w.a, in_at<float>(k, 2),
        out_at<T>(k, 0), *v, n);
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

/* dx = (dy - b - (x - mean) * c) * a */
template <typename T>
__global__ void derive(const T *x, const T *dy, const float *mean,
                       const float *a, const float *b, const float *c, T *dx,
                       struct view v, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t h = channel_of(&v, i);

        dx[i] = narrow<T>(
            (widen(dy[i]) - b[h] - (widen(x[i]) - mean[h]) * c[h]) * a[h]);
    }
}

template <typename T>
static enum tfd_code run_gradient(struct tfd_kctx *k, const struct view *v,
                                  struct tfd_status *st)
{
    const struct tfd_batch_norm *s = (const struct tfd_batch_norm *)k->state;
    const T *dy = in_at<T>(k, 0), *x = in_at<T>(k, 1);
    const float *mean = in_at<float>(k, 3);
    int64_t count = v->outer * v->inner;
    int64_t n = count * v->channels;
    const struct slopes h = {
        in_at<float>(k, 2),  in_at<float>(k, 4),
        out_at<float>(k, 1), out_at<float>(k, 2),
        (double)s->epsilon,  s->training ? (double)count : (double)INFINITY};
    struct work w = {};

    TFD_TRY(make_work(k, v, &w, st));
    sum_all(k, gradients<T>{x, dy}, mean, v, &w);
    finish_gradient<<<blocks_for(k, v->channels), THREADS, 0, stream_of(k)>>>(
        h, w.part, w.pieces, v->channels, w.a, w.b, w.c);
    derive<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        x, dy, mean, w.a, w.b, w.c, out_at<T>(k, 0), *v, n);
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
        sizeof(struct tfd_batch_norm))
#define ROWS(version, name, T)                           \
    ROW("FusedBatchNorm" version, name, forward_gpu<T>), \
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
