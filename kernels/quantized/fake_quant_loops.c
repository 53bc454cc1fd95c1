/*
 * fake_quant_loops.c - see fake_quant_loops.h.
 */
#include "kernels/quantized/fake_quant_loops.h"

#include "common/base/alloc.h"
#include "kernels/reduce/reduce.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

#include <math.h>
#include <string.h>

#define LANES 64
#define BLOCK 8192
#define COST_MAX 100000000

/* Of tfd_kctx_parallel(). */
static int cost_of_numbers(int64_t numbers)
{
    return numbers < COST_MAX ? (int)numbers / 2 + 1 : COST_MAX;
}

TFD_VECTOR float clamp(float x, float low, float high)
{
    const float least = high < x ? high : x;

    return least < low ? low : least;
}

/* ---- Steps --------------------------------------------------------------- */

TFD_SIMD_LOOP(quantize)
{
    const struct tfd_fake_job *j = arg;
    const struct tfd_fake_range n = *j->one;

    if (n.none)
        for (int64_t i = begin; i < end; i++)
            j->y[i] = 0;
    else if (j->divides)
        for (int64_t i = begin; i < end; i++)
            j->y[i] = floorf((clamp(j->x[i], n.low, n.high) - n.low) / n.scale -
                             n.zero + 0.5f) *
                      n.scale;
    else
        for (int64_t i = begin; i < end; i++)
            j->y[i] =
                floorf((clamp(j->x[i], n.low, n.high) - n.low) * n.inverse -
                       n.zero + 0.5f) *
                n.scale;
}
TFD_SIMD_CLONES(quantize)

/* Ranges are never where x and y are. */
TFD_SIMD_LOOP(quantize_rows)
{
    const struct tfd_fake_job *j = arg;
    const struct tfd_fake_ranges *r = j->ranges;
    const float *restrict low = r->low, *restrict high = r->high;
    const float *restrict scale = r->scale, *restrict inverse = r->inverse;
    const float *restrict zero = r->zero;
    const int32_t *restrict none = r->none;
    const int64_t channels = r->channels;

    for (int64_t i = begin; i < end; i++) {
        const float *x = j->x + i * channels;
        float *y = j->y + i * channels;

        for (int64_t c = 0; c < channels; c++) {
            const float in = clamp(x[c], low[c], high[c]) - low[c];
            const float v = floorf(in * inverse[c] - zero[c] + 0.5f) * scale[c];

            y[c] = none[c] ? 0 : v;
        }
    }
}
TFD_SIMD_CLONES_WIDE(quantize_rows)

void tfd_fake_quantize(struct tfd_kctx *k, struct tfd_fake_job *j)
{
    if (j->ranges)
        tfd_kctx_parallel(k, j->n / j->ranges->channels,
                          cost_of_numbers(2 * j->ranges->channels),
                          quantize_rows, j);
    else
        tfd_kctx_parallel_bytes(k, j->n, 8, quantize, j);
}

/* ---- Gradients ----------------------------------------------------------- */

/* What an element is multiplied with. */
TFD_VECTOR float inside(float x, float low, float high)
{
    return ((x >= low) & (x <= high)) ? 1 : 0;
}

TFD_VECTOR float below(float x, float low, float high)
{
    (void)high;
    return x < low ? 1 : 0;
}

TFD_VECTOR float above(float x, float low, float high)
{
    (void)low;
    return x > high ? 1 : 0;
}

TFD_SIMD_LOOP(back)
{
    const struct tfd_fake_job *j = arg;
    const float *x = j->x, *dy = j->dy;
    const float low = j->one->low, high = j->one->high;
    float *y = j->y;

    if (j->one->none)
        memmove(y + begin, dy + begin, (size_t)(end - begin) * sizeof(*y));
    else
        for (int64_t i = begin; i < end; i++)
            y[i] = dy[i] * inside(x[i], low, high);
}
TFD_SIMD_CLONES(back)

void tfd_fake_back(struct tfd_kctx *k, struct tfd_fake_job *j)
{
    tfd_kctx_parallel_bytes(k, j->n, 12, back, j);
}

struct sums {
    const struct tfd_fake_job *j;
    double *blocks; /* [blocks, 2] */
};

/* Numbers [from, to) in lanes, and what of them is below and above. */
TFD_VECTOR void sum_lanes(const struct tfd_fake_job *j, int64_t from,
                          int64_t to, double *sum)
{
    const float *x = j->x, *dy = j->dy;
    const float low = j->one->low, high = j->one->high;
    float under[LANES] = {0}, over[LANES] = {0};
    float *y = j->y;
    int64_t i = from;

    for (; i + LANES <= to; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const float v = x[i + l], d = dy[i + l];

            y[i + l] = d * inside(v, low, high);
            under[l] += d * below(v, low, high);
            over[l] += d * above(v, low, high);
        }
    for (; i < to; i++) {
        const float v = x[i], d = dy[i];

        y[i] = d * inside(v, low, high);
        under[i % LANES] += d * below(v, low, high);
        over[i % LANES] += d * above(v, low, high);
    }
    for (int l = 0; l < LANES; l++) {
        sum[0] += (double)under[l];
        sum[1] += (double)over[l];
    }
}

/* Blocks. */
TFD_SIMD_LOOP(back_one)
{
    const struct sums *s = arg;

    for (int64_t b = begin; b < end; b++) {
        const int64_t from = b * BLOCK;
        const int64_t to = s->j->n - from < BLOCK ? s->j->n : from + BLOCK;
        double sum[2] = {0, 0};

        sum_lanes(s->j, from, to, sum);
        s->blocks[2 * b] = sum[0];
        s->blocks[2 * b + 1] = sum[1];
    }
}
TFD_SIMD_CLONES_WIDE(back_one)

/* What a row's numbers are multiplied with: limits are never where x and y are.
 */
#define BACK_ROWS(name, factor, of_none)                               \
    TFD_SIMD_LOOP(name)                                                \
    {                                                                  \
        const struct tfd_fake_job *j = arg;                            \
        const int64_t channels = j->ranges->channels;                  \
        const float *restrict low = j->ranges->low;                    \
        const float *restrict high = j->ranges->high;                  \
        const int32_t *restrict none = j->ranges->none;                \
                                                                       \
        for (int64_t i = begin; i < end; i++) {                        \
            const float *x = j->x + i * channels;                      \
            const float *dy = j->dy + i * channels;                    \
            float *y = j->y + i * channels;                            \
                                                                       \
            for (int64_t c = 0; c < channels; c++) {                   \
                const float v = dy[c] * factor(x[c], low[c], high[c]); \
                                                                       \
                y[c] = none[c] ? (of_none) : v;                        \
            }                                                          \
        }                                                              \
    }                                                                  \
    TFD_SIMD_CLONES_WIDE(name)
BACK_ROWS(inside_rows, inside, dy[c])
BACK_ROWS(below_rows, below, 0)
BACK_ROWS(above_rows, above, 0)

static int64_t blocks_of(int64_t n, int64_t size)
{
    return n / size + (n % size != 0);
}

static enum tfd_code new_sums(int64_t numbers, size_t size,
                              struct tfd_buffer **out, struct tfd_status *st)
{
    *out = tfd_buffer_new((size_t)numbers * size);
    return *out ? TFD_OK
                : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "OOM when allocating %lld sums", (long long)numbers);
}

static enum tfd_code sum_one(struct tfd_kctx *k, const struct tfd_fake_job *j,
                             float *low, float *high, struct tfd_status *st)
{
    const int64_t blocks = blocks_of(j->n, BLOCK);
    struct sums s = {.j = j};
    double sum[2] = {0, 0};
    struct tfd_buffer *room;

    TFD_TRY(new_sums(2 * blocks, sizeof(double), &room, st));
    s.blocks = room->data;
    tfd_kctx_parallel(k, blocks, cost_of_numbers(BLOCK), back_one, &s);
    for (int64_t b = 0; b < 2 * blocks; b++)
        sum[b % 2] += s.blocks[b];
    tfd_buffer_unref(room);
    *low = (float)sum[0];
    *high = (float)sum[1];
    return TFD_OK;
}

/* Of each channel, by way of all numbers that go to a limit. */
static enum tfd_code sum_rows(struct tfd_kctx *k, const struct tfd_fake_job *j,
                              float *low, float *high, struct tfd_status *st)
{
    static tfd_range_fn *const loops[] = {below_rows, above_rows};
    static const bool reduced[TFD_RANK_MAX] = {true};
    const int64_t channels = j->ranges->channels, rows = j->n / channels;
    const struct tfd_shape view = {2, {rows, channels}};
    float *const out[] = {low, high};
    struct tfd_fake_job part = *j;
    struct tfd_buffer *room;

    tfd_kctx_parallel(k, rows, cost_of_numbers(channels), inside_rows, &part);
    TFD_TRY(new_sums(j->n, sizeof(float), &room, st));
    part.y = room->data;
    for (int i = 0; i < 2; i++) {
        tfd_kctx_parallel(k, rows, cost_of_numbers(channels), loops[i], &part);
        tfd_reduce_view(k, tfd_reduce_sum(TFD_FLOAT), &view, reduced,
                        sizeof(float), part.y, out[i]);
    }
    tfd_buffer_unref(room);
    return TFD_OK;
}

enum tfd_code tfd_fake_back_sums(struct tfd_kctx *k, struct tfd_fake_job *j,
                                 float *low, float *high, struct tfd_status *st)
{
    if (j->ranges)
        return sum_rows(k, j, low, high, st);
    if (!j->one->none)
        return sum_one(k, j, low, high, st);
    tfd_fake_back(k, j);
    *low = *high = 0;
    return TFD_OK;
}
