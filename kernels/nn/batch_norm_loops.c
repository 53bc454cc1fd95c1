/*
 * batch_norm_loops.c - sums are taken over CHUNK rows at a time and added in
 * double, so they are exact and the same with any number of threads.
 */
#include "kernels/nn/batch_norm_loops.h"

#include "common/base/alloc.h"
#include "kernels/layout/lines.h"
#include "kernels/vector/simd.h"

#include <string.h>

#define CHUNK 256 /* rows that are summed in float */

/* ---- Loops over rows of channels ----------------------------------------- */

#define STRIP 32     /* channels whose sums stay in registers */
#define FAR_STRIP 64 /* of which a row has whole lines */

#define INLINE static inline __attribute__((always_inline))

/* Sums of n channels from x, n constant or less than STRIP, and of squared
 * distances from their mean here, while the rows are in a cache. */
INLINE void sum_strip(const float *x, int64_t rows, int64_t step, int64_t n,
                      float *sum, float *squares)
{
    float all[STRIP] = {0}, mean[STRIP];

    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < n; c++)
            all[c] += x[row * step + c];
    for (int64_t c = 0; c < n; c++) {
        mean[c] = all[c] / (float)rows;
        sum[c] = all[c];
        all[c] = 0;
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < n; c++) {
            const float away = x[row * step + c] - mean[c];

            all[c] += away * away;
        }
    for (int64_t c = 0; c < n; c++)
        squares[c] = all[c];
}

static int64_t rows_of_chunk(const struct tfd_batch_norm_rows *r, int64_t chunk)
{
    const int64_t left = r->count - chunk * CHUNK;

    return left < CHUNK ? left : CHUNK;
}

TFD_SIMD_LOOP(sum_rows)
{
    const struct tfd_batch_norm_rows *r = arg;
    const int64_t n = r->channels;

    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t rows = rows_of_chunk(r, chunk);
        const float *x = r->x + chunk * CHUNK * n;
        float *sum = r->sums + chunk * 2 * n, *squares = sum + n;
        int64_t c = 0;

        for (; n - c >= STRIP; c += STRIP)
            sum_strip(x + c, rows, n, STRIP, sum + c, squares + c);
        if (c < n)
            sum_strip(x + c, rows, n, n - c, sum + c, squares + c);
    }
}
TFD_SIMD_CLONES(sum_rows)

/* Asks for rows of x and dy that come 8 KiB later, where both come from memory:
 * by themselves processors ask too late (Zen 5, 4,000,000 of each: sums 510 us
 * in place of 640, dx 820 in place of 930). */
INLINE void fetch_rows(const struct tfd_batch_norm_rows *r, int64_t row)
{
    const int64_t at = row * r->channels + 2048;
    const int64_t size = r->channels * (int64_t)sizeof(float);

    tfd_lines_fetch(r->x + at, size);
    tfd_lines_fetch(r->dy + at, size);
}

/* Sums of n channels, as above: of dy, and of dy * (x - mean). */
INLINE void sum_slopes(const float *x, const float *dy, const float *mean,
                       int64_t rows, int64_t step, int64_t n, float *sum,
                       float *product)
{
    float all[STRIP] = {0}, products[STRIP] = {0}, middle[STRIP];

    for (int64_t c = 0; c < n; c++)
        middle[c] = mean[c];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < n; c++) {
            const float slope = dy[row * step + c];

            all[c] += slope;
            products[c] += slope * (x[row * step + c] - middle[c]);
        }
    for (int64_t c = 0; c < n; c++) {
        sum[c] = all[c];
        product[c] = products[c];
    }
}

/* The same of all channels, row by row, as memory is read best. */
INLINE void sum_far_slopes(const struct tfd_batch_norm_rows *r, int64_t row,
                           int64_t last, float *restrict sum,
                           float *restrict product)
{
    const int64_t n = r->channels;
    const float *x = r->x + row * n, *dy = r->dy + row * n, *mean = r->mean;

    memset(sum, 0, (size_t)n * sizeof(*sum));
    memset(product, 0, (size_t)n * sizeof(*product));
    for (; row < last; row++, x += n, dy += n) {
        fetch_rows(r, row);
        for (int64_t c = 0; c < n; c++) {
            sum[c] += dy[c];
            product[c] += dy[c] * (x[c] - mean[c]);
        }
    }
}

TFD_SIMD_LOOP(sum_gradients)
{
    const struct tfd_batch_norm_rows *r = arg;
    const int64_t n = r->channels;

    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t row = chunk * CHUNK, rows = rows_of_chunk(r, chunk);
        const float *x = r->x + row * n, *dy = r->dy + row * n;
        float *sum = r->sums + chunk * 2 * n, *product = sum + n;
        int64_t c = r->far ? n : 0;

        if (r->far)
            sum_far_slopes(r, row, row + rows, sum, product);
        for (; n - c >= STRIP; c += STRIP)
            sum_slopes(x + c, dy + c, r->mean + c, rows, n, STRIP, sum + c,
                       product + c);
        if (c < n)
            sum_slopes(x + c, dy + c, r->mean + c, rows, n, n - c, sum + c,
                       product + c);
    }
}
TFD_SIMD_CLONES(sum_gradients)

/* y = (x - mean) * a + b */
TFD_SIMD_LOOP(normalise)
{
    const struct tfd_batch_norm_rows *r = arg;
    const int64_t n = r->channels;

    for (int64_t row = begin; row < end; row++) {
        const float *x = r->x + row * n;
        float *y = r->y + row * n;

        for (int64_t c = 0; c < n; c++)
            y[c] = (x[c] - r->mean[c]) * r->a[c] + r->b[c];
    }
}
TFD_SIMD_CLONES(normalise)

/* dx = (dy - b - (x - mean) * c) * a */
INLINE void derive_row(const struct tfd_batch_norm_rows *r, int64_t row,
                       float *restrict dx)
{
    const int64_t n = r->channels;
    const float *x = r->x + row * n, *dy = r->dy + row * n;

    for (int64_t c = 0; c < n; c++)
        dx[c] = (dy[c] - r->b[c] - (x[c] - r->mean[c]) * r->c[c]) * r->a[c];
}

TFD_SIMD_LOOP(derive)
{
    const struct tfd_batch_norm_rows *r = arg;

    for (int64_t row = begin; !r->far && row < end; row++)
        derive_row(r, row, r->y + row * r->channels);
    for (int64_t row = begin; r->far && row < end; row++) {
        fetch_rows(r, row);
        derive_row(r, row, r->y + row * r->channels);
    }
}
TFD_SIMD_CLONES(derive)

/* ---- Sums ---------------------------------------------------------------- */

static int64_t chunks_of(const struct tfd_batch_norm_rows *r)
{
    return (r->count + CHUNK - 1) / CHUNK;
}

static int cost_of_channels(const struct tfd_batch_norm_rows *r, int64_t count)
{
    int64_t ns = r->channels * count / 4;

    return ns < 1 ? 1 : ns > 1000000000 ? 1000000000 : (int)ns;
}

double tfd_batch_norm_total(const struct tfd_batch_norm_rows *r, int which,
                            int64_t channel)
{
    const float *at = r->sums + which * r->channels + channel;
    double sum = 0;

    for (int64_t i = chunks_of(r); i > 0; i--, at += 2 * r->channels)
        sum += (double)*at;
    return sum;
}

double tfd_batch_norm_squares(const struct tfd_batch_norm_rows *r,
                              int64_t channel, double mean)
{
    const float *sum = r->sums + channel, *squares = sum + r->channels;
    double total = 0;

    for (int64_t i = 0; i < chunks_of(r); i++) {
        const int64_t rows = rows_of_chunk(r, i), at = i * 2 * r->channels;
        const double here = (double)(sum[at] / (float)rows);
        const double left = (double)sum[at] - (double)rows * here;
        const double away = here - mean;

        total += (double)squares[at] + away * (2 * left + (double)rows * away);
    }
    return total;
}

enum tfd_code tfd_batch_norm_scratch(struct tfd_batch_norm_rows *r,
                                     struct tfd_buffer **b, float **abc,
                                     struct tfd_status *st)
{
    int64_t floats = (3 + 2 * chunks_of(r)) * r->channels;

    *b = tfd_buffer_new((size_t)floats * sizeof(float));
    if (!*b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld floats for sums of channels",
                        (long long)floats);
    *abc = (*b)->data;
    r->sums = *abc + 3 * r->channels;
    return TFD_OK;
}

/* ---- Runs ---------------------------------------------------------------- */

void tfd_batch_norm_sum(struct tfd_kctx *k, struct tfd_batch_norm_rows *r)
{
    tfd_kctx_parallel(k, chunks_of(r), cost_of_channels(r, CHUNK), sum_rows, r);
}

void tfd_batch_norm_sum_gradients(struct tfd_kctx *k,
                                  struct tfd_batch_norm_rows *r)
{
    const int64_t size = r->count * r->channels * (int64_t)sizeof(float);

    r->far = r->channels >= FAR_STRIP && tfd_lines_worth(size, 2 * size);
    tfd_kctx_parallel(k, chunks_of(r), cost_of_channels(r, CHUNK),
                      sum_gradients, r);
}

void tfd_batch_norm_normalise(struct tfd_kctx *k, struct tfd_batch_norm_rows *r)
{
    tfd_kctx_parallel(k, r->count, cost_of_channels(r, 1), normalise, r);
}

void tfd_batch_norm_derive(struct tfd_kctx *k, struct tfd_batch_norm_rows *r)
{
    tfd_kctx_parallel(k, r->count, cost_of_channels(r, 1), derive, r);
}
