/*
 * lrn.cu - LRN and LRNGrad of kernels/lrn.c: a thread for each element, which
 * sums over its neighbours; the gradient keeps the terms of its sum in memory
 * of the device, so that each is computed once.  half is computed in float.
 */
#include "cuda/divisor.cuh"

extern "C" {
#include "kernels/lrn.h"
}

namespace
{

/* Channels around that of element i which exist: [first, last), as elements. */
struct around {
    int64_t first, last;
};

__device__ inline struct around around_of(const struct tfd_lrn *s, int64_t i,
                                          const struct divisor *channels)
{
    int64_t row = i, c = take_rest(channels, &row);
    int64_t first = c > s->radius ? c - s->radius : 0;
    int64_t last = c + s->radius + 1;

    row *= channels->by;
    return {row + first, row + (last < channels->by ? last : channels->by)};
}

template <typename T>
__device__ inline float norm_of(const struct tfd_lrn *s, const T *x, int64_t i,
                                const struct divisor *channels)
{
    struct around a = around_of(s, i, channels);
    float sum = 0;

    for (int64_t j = a.first; j < a.last; j++)
        sum += widen(x[j]) * widen(x[j]);
    return s->bias + s->alpha * sum;
}

template <typename T>
__global__ void normalise(struct tfd_lrn s, const T *x, T *y, int64_t n,
                          struct divisor channels)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = narrow<T>(widen(x[i]) *
                         powf(norm_of(&s, x, i, &channels), -s.beta));
}

/* norm and dy * y / norm */
template <typename T>
__global__ void find_terms(struct tfd_lrn s, const T *dy, const T *x,
                           const T *y, float *norm, float *term, int64_t n,
                           struct divisor channels)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        norm[i] = norm_of(&s, x, i, &channels);
        term[i] = widen(dy[i]) * widen(y[i]) / norm[i];
    }
}

template <typename T>
__global__ void derive(struct tfd_lrn s, const T *dy, const T *x,
                       const float *norm, const float *term, T *dx, int64_t n,
                       struct divisor channels)
{
    const float factor = 2 * s.alpha * s.beta;

    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        struct around a = around_of(&s, i, &channels);
        float sum = 0;

        for (int64_t j = a.first; j < a.last; j++)
            sum += term[j];
        dx[i] = narrow<T>(widen(dy[i]) * powf(norm[i], -s.beta) -
                          factor * widen(x[i]) * sum);
    }
}

template <typename T>
static enum tfd_code lrn_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_lrn *s = (const struct tfd_lrn *)k->state;
    int64_t n = tfd_tensor_elements(&k->in[0]);

    TFD_TRY(tfd_lrn_check(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    if (n == 0)
        return TFD_OK;
    normalise<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        *s, in_at<T>(k, 0), out_at<T>(k, 0), n,
        divisor_of(k->in[0].shape.dim[3]));
    return launched(k, st);
}

template <typename T>
static enum tfd_code lrn_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_lrn *s = (const struct tfd_lrn *)k->state;
    int64_t n = tfd_tensor_elements(&k->in[0]);
    const T *dy = in_at<T>(k, 0), *x = in_at<T>(k, 1);
    struct divisor channels;
    struct tfd_buffer *b;
    float *norm;

    TFD_TRY(tfd_lrn_check(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    if (n == 0)
        return TFD_OK;
    channels = divisor_of(k->in[0].shape.dim[3]);
    b = k->memory->make(k->memory, (size_t)n * 2 * sizeof(float), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    norm = (float *)b->data;
    find_terms<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        *s, dy, x, in_at<T>(k, 2), norm, norm + n, n, channels);
    derive<T><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        *s, dy, x, norm, norm + n, out_at<T>(k, 0), n, channels);
    tfd_buffer_unref(b);
    return launched(k, st);
}

#define ROWS(name, T)                                                   \
    row("LRN", TFD_##name, lrn_gpu<T>, 0, tfd_lrn_prepare,              \
        sizeof(struct tfd_lrn)),                                        \
        row("LRNGrad", TFD_##name, lrn_grad_gpu<T>, 0, tfd_lrn_prepare, \
            sizeof(struct tfd_lrn)),

static const struct tfd_kernel kernels[] = {ROWS(FLOAT, float)
                                                ROWS(HALF, __half)};

} /* namespace */

CUDA_FAMILY_OF(lrn);
