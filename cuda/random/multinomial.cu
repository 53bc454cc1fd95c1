/*
 * multinomial.cu - Multinomial, StatelessMultinomial of kernels/random/multinomial.c.
 *
 * A block sums up a row, in the CPU's order, so that equal sums stay equal and
 * no class without probability is drawn; then each thread draws a sample.
 */
#include "cuda/lib/fold.cuh"

#include <math.h>
#include <string.h>

extern "C" {
#include "kernels/random/multinomial.h"
}

namespace
{

/* Logits that are not finite count for nothing. */
template <typename T>
__global__ void sum_rows(const T *logits, double *sums, int64_t rows,
                         int64_t classes)
{
    __shared__ double part[THREADS];

    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const T *row = logits + r * classes;
        double largest = -INFINITY, total = 0;

        for (int64_t i = threadIdx.x; i < classes; i += THREADS) {
            double x = (double)widen(row[i]);

            if (isfinite(x) && x > largest)
                largest = x;
        }
        largest = fold_block(largest, larger(), true);
        for (int64_t at = 0; at < classes; at += THREADS) {
            int64_t i = at + threadIdx.x;
            double x = i < classes ? (double)widen(row[i]) : -INFINITY;

            part[threadIdx.x] = isfinite(x) ? exp(x - largest) : 0;
            __syncthreads();
            for (int j = 0; threadIdx.x == 0 && j < THREADS; j++)
                part[j] = total += part[j];
            __syncthreads();
            if (i < classes)
                sums[r * classes + i] = part[threadIdx.x];
        }
    }
}

template <typename Y>
__global__ void draw_samples(struct tfd_multinomial m, const double *sums, Y *y,
                             int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        const double *row = sums + i / m.samples * m.classes;
        struct tfd_philox g = m.generator;
        uint32_t x[4];
        double u;

        tfd_philox_skip(&g, (uint64_t)i / 2);
        tfd_philox_next(&g, x);
        u = i % 2 ? tfd_random_double_of(x[2], x[3])
                  : tfd_random_double_of(x[0], x[1]);
        y[i] = (Y)tfd_multinomial_find(row, m.classes, u * row[m.classes - 1]);
    }
}

template <typename Y>
static void draw(struct tfd_kctx *k, const struct tfd_multinomial *m,
                 const double *sums)
{
    int64_t n = tfd_tensor_elements(&k->out[0]);

    draw_samples<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        *m, sums, out_at<Y>(k, 0), n);
}

template <typename T>
static enum tfd_code multinomial_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t logits = tfd_tensor_elements(&k->in[0]);
    struct tfd_multinomial m = {};
    struct tfd_buffer *b;
    double *sums;

    TFD_TRY(tfd_multinomial_begin(k, &m, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    /* Of elements that lie in memory. */
    b = k->memory->make(k->memory, (size_t)logits * sizeof(double), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    sums = (double *)b->data;
    sum_rows<<<blocks_for(k, logits / m.classes * THREADS), THREADS, 0,
               stream_of(k)>>>(in_at<T>(k, 0), sums, logits / m.classes,
                               m.classes);
    if (k->out[0].dtype == TFD_INT32)
        draw<int32_t>(k, &m, sums);
    else
        draw<int64_t>(k, &m, sums);
    tfd_buffer_unref(b); /* what gets it next is enqueued behind */
    return launched(k, st);
}

static constexpr struct tfd_kernel shared(struct tfd_kernel k)
{
    k.flags = TFD_KERNEL_SHARED;
    return k;
}

#define ROWS(name, T)                                                         \
    shared(row("Multinomial", TFD_##name, multinomial_gpu<T>, HOST_ARG(1),    \
               tfd_random_stream_prepare, sizeof(struct tfd_philox_source))), \
        row("StatelessMultinomial", TFD_##name, multinomial_gpu<T>,           \
            HOST_ARG(1) | HOST_ARG(2)),

static const struct tfd_kernel kernels[] = {
    ROWS(FLOAT, float) ROWS(DOUBLE, double) ROWS(HALF, __half)};

} /* namespace */

CUDA_FAMILY_OF(multinomial);
