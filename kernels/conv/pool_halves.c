/*
 * pool_halves.c - loops of pool_loops.h for half and bfloat16 as they lie, in
 * registers of AVX-512 and with the conversion of AVX512_BF16.
 *
 * An element of dx sums, in float, what all its windows give it, row by row of
 * dy and from the left to the right, as the loops of floats do.
 */
#include "kernels/conv/pool_taps.h"

#include "kernels/vector/simd.h"

#include <float.h>
#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>

enum { LANES = 16 };

#define TARGET __attribute__((target(TFD_SIMD_AVX512 ",avx512bf16")))
#define LANE_INLINE TARGET static inline __attribute__((always_inline))

/* Of n lanes; the others are not touched. */
LANE_INLINE __m512 load_lanes(const uint16_t *x, __mmask16 lanes, bool half)
{
    const __m256i bits = _mm256_maskz_loadu_epi16(lanes, x);

    if (half)
        return _mm512_cvtph_ps(bits);
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

LANE_INLINE __mmask16 lanes_of(int64_t n)
{
    return (__mmask16)(n < LANES ? (1u << n) - 1 : UINT16_MAX);
}

LANE_INLINE __m256i round_lanes(__m512 v, bool half)
{
    return half ? _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)
                : (__m256i)_mm512_cvtneps_pbh(v);
}

/* ---- Maxima and means ---------------------------------------------------- */

/* What is larger is exact in both types; it is at least the lowest number. */
LANE_INLINE void max_run(const void *from, const struct taps *taps, int64_t n,
                         void *to, bool half)
{
    const uint16_t *x = from;

    for (int64_t c = 0; c < n; c += LANES) {
        const __mmask16 lanes = lanes_of(n - c);
        __m512 best = _mm512_set1_ps(half ? -65504 : -0x1.fep127f);

        for (int i = 0; i < taps->count; i++) /* a NaN is not larger */
            best = _mm512_max_ps(load_lanes(x + taps->at[i] + c, lanes, half),
                                 best);
        _mm256_mask_storeu_epi16((uint16_t *)to + c, lanes,
                                 round_lanes(best, half));
    }
}

LANE_INLINE void mean_run(const void *from, const struct taps *taps, int64_t n,
                          void *to, bool half)
{
    const int count = taps->count;
    const bool exact = (count & (count - 1)) == 0; /* a product, too */
    const __m512 by = _mm512_set1_ps(exact ? 1 / (float)count : (float)count);
    const uint16_t *x = from;

    for (int64_t c = 0; c < n; c += LANES) {
        const __mmask16 lanes = lanes_of(n - c);
        __m512 sum = _mm512_setzero_ps();

        for (int i = 0; i < count; i++)
            sum = _mm512_add_ps(sum,
                                load_lanes(x + taps->at[i] + c, lanes, half));
        sum = exact ? _mm512_mul_ps(sum, by) : _mm512_div_ps(sum, by);
        _mm256_mask_storeu_epi16((uint16_t *)to + c, lanes,
                                 round_lanes(sum, half));
    }
}

/* ---- Pairs ---------------------------------------------------------------
 *
 * A vector of 32 of bfloat16 is two of floats, of the elements at odd places
 * and of those at even ones, without a shuffle.
 */

#define PAIR_LANES 32

struct pair {
    __m512 odd, even;
};

LANE_INLINE struct pair load_pair(const uint16_t *x, __mmask32 lanes)
{
    const __m512i bits = _mm512_maskz_loadu_epi16(lanes, x);
    const __m512i odd = _mm512_set1_epi32(-0x10000);
    struct pair p = {(__m512)_mm512_and_si512(bits, odd),
                     (__m512)_mm512_slli_epi32(bits, 16)};

    return p;
}

LANE_INLINE __mmask32 pair_lanes_of(int64_t n)
{
    return n < PAIR_LANES ? (1u << n) - 1 : UINT32_MAX;
}

/* Of numbers that are of bfloat16. */
LANE_INLINE __m512i join_pair(struct pair p)
{
    return _mm512_or_si512((__m512i)p.odd,
                           _mm512_srli_epi32((__m512i)p.even, 16));
}

LANE_INLINE __m512i round_pair(struct pair p)
{
    static const uint16_t places[PAIR_LANES] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};

    return _mm512_permutexvar_epi16(
        _mm512_loadu_si512(places),
        (__m512i)_mm512_cvtne2ps_pbh(p.odd, p.even));
}

LANE_INLINE void max_pairs(const uint16_t *x, const int64_t *at, int count,
                           int64_t n, uint16_t *y)
{
    const __m512 lowest = _mm512_set1_ps(-0x1.fep127f);

    for (int64_t c = 0; c < n; c += PAIR_LANES) {
        const __mmask32 lanes = pair_lanes_of(n - c);
        struct pair best = {lowest, lowest};

        for (int i = 0; i < count; i++) {
            const struct pair v = load_pair(x + at[i] + c, lanes);

            best.odd = _mm512_max_ps(v.odd, best.odd);
            best.even = _mm512_max_ps(v.even, best.even);
        }
        _mm512_mask_storeu_epi16(y + c, lanes, join_pair(best));
    }
}

LANE_INLINE void mean_pairs(const uint16_t *x, const int64_t *at, int count,
                            int64_t n, uint16_t *y)
{
    const bool exact = (count & (count - 1)) == 0; /* a product, too */
    const __m512 by = _mm512_set1_ps(exact ? 1 / (float)count : (float)count);

    for (int64_t c = 0; c < n; c += PAIR_LANES) {
        const __mmask32 lanes = pair_lanes_of(n - c);
        struct pair sum = {_mm512_setzero_ps(), _mm512_setzero_ps()};

        for (int i = 0; i < count; i++) {
            const struct pair v = load_pair(x + at[i] + c, lanes);

            sum.odd = _mm512_add_ps(sum.odd, v.odd);
            sum.even = _mm512_add_ps(sum.even, v.even);
        }
        sum.odd =
            exact ? _mm512_mul_ps(sum.odd, by) : _mm512_div_ps(sum.odd, by);
        sum.even =
            exact ? _mm512_mul_ps(sum.even, by) : _mm512_div_ps(sum.even, by);
        _mm512_mask_storeu_epi16(y + c, lanes, round_pair(sum));
    }
}

/* Four taps, as most windows have, are known when this is compiled. */
#define PAIR_RUN(name)                                                  \
    LANE_INLINE void name##_run_bfloat16(                               \
        const void *from, const struct taps *taps, int64_t n, void *to) \
    {                                                                   \
        if (taps->count == 4)                                           \
            name##_pairs(from, taps->at, 4, n, to);                     \
        else                                                            \
            name##_pairs(from, taps->at, taps->count, n, to);           \
    }

PAIR_RUN(max)
PAIR_RUN(mean)

#define RUNS(name, half)                                                       \
    LANE_INLINE void max_run_##name(const void *from, const struct taps *taps, \
                                    int64_t n, void *to)                       \
    {                                                                          \
        max_run(from, taps, n, to, half);                                      \
    }                                                                          \
    LANE_INLINE void mean_run_##name(                                          \
        const void *from, const struct taps *taps, int64_t n, void *to)        \
    {                                                                          \
        mean_run(from, taps, n, to, half);                                     \
    }

RUNS(half, true)

/* Rows of y. */
INLINE void pool_rows(const struct tfd_pooling_window *p, int64_t begin,
                      int64_t end, neighbours *run)
{
    const int64_t image = p->row.in * p->column.in * p->channels;
    const int64_t size = sizeof(uint16_t);

    for (int64_t row = begin; row < end && !tfd_halted(); row++)
        make_row(p, (const uint16_t *)p->in + row / p->row.out * image,
                 row % p->row.out,
                 (uint16_t *)p->out + row * p->column.out * p->channels, size,
                 run);
}

#define POOL_ROWS(name, run)                                       \
    TARGET static void name(void *arg, int64_t begin, int64_t end) \
    {                                                              \
        pool_rows(arg, begin, end, run);                           \
    }

POOL_ROWS(max_rows_half, max_run_half)
POOL_ROWS(max_rows_bfloat16, max_run_bfloat16)
POOL_ROWS(mean_rows_half, mean_run_half)
POOL_ROWS(mean_rows_bfloat16, mean_run_bfloat16)

/* ---- Gradients of means -------------------------------------------------- */

/* What an element of dx gets: so much of elements of dy. */
struct parts {
    bool half;
    int count;
    int64_t at[TAPS_MAX];
    float part[TAPS_MAX];
};

/* Of `same` pixels of dx, which all get the same. */
TARGET static void add_parts(const uint16_t *dy, const struct parts *parts,
                             int64_t n, int64_t same, uint16_t *dx)
{
    for (int64_t c = 0; c < n; c += LANES) {
        const __mmask16 lanes = lanes_of(n - c);
        __m512 sum = _mm512_setzero_ps();
        __m256i rounded;

        for (int i = 0; i < parts->count; i++)
            sum = _mm512_add_ps(sum,
                                _mm512_mul_ps(load_lanes(dy + parts->at[i] + c,
                                                         lanes, parts->half),
                                              _mm512_set1_ps(parts->part[i])));
        rounded = round_lanes(sum, parts->half);
        for (int64_t i = 0; i < same; i++)
            _mm256_mask_storeu_epi16(dx + i * n + c, lanes, rounded);
    }
}

/* Elements of window i along a side that exist. */
static inline int64_t length_of(const struct tfd_window_side *s, int64_t i)
{
    const int64_t at = i * s->stride - s->before, end = at + s->size;

    return (end < s->in ? end : s->in) - (at > 0 ? at : 0);
}

/* Windows [first, last) along a side that its elements lie in, one after the
 * other: of the next one. */
static inline void move_windows(const struct tfd_window_side *s, int64_t at,
                                int64_t *first, int64_t *last)
{
    while (*last < s->out && *last * s->stride - s->before <= at)
        ++*last;
    while (*first < *last && *first * s->stride - s->before + s->size <= at)
        ++*first;
}

static void list_parts(const struct tfd_pooling_window *p, int64_t top,
                       int64_t bottom, int64_t first, int64_t last,
                       struct parts *parts)
{
    parts->count = 0;
    for (int64_t a = top; a < bottom; a++)
        for (int64_t b = first; b < last; b++) {
            parts->at[parts->count] = (a * p->column.out + b) * p->channels;
            parts->part[parts->count++] =
                1 / (float)(length_of(&p->row, a) * length_of(&p->column, b));
        }
}

/* Of windows [top, bottom). */
static void mean_grad_row(const struct tfd_pooling_window *p, int64_t top,
                          int64_t bottom, bool half, const uint16_t *dy,
                          uint16_t *dx)
{
    const int64_t n = p->channels, end = p->column.in;
    int64_t next_first = 0, next_last = 0;
    struct parts parts;

    parts.half = half;
    move_windows(&p->column, 0, &next_first, &next_last);
    for (int64_t c = 0; c < end;) {
        const int64_t first = next_first, last = next_last, begin = c;

        while (++c < end) {
            move_windows(&p->column, c, &next_first, &next_last);
            if (next_first != first || next_last != last)
                break;
        }
        list_parts(p, top, bottom, first, last, &parts);
        add_parts(dy, &parts, n, c - begin, dx + begin * n);
    }
}

/* Rows of dx; one in the same windows as that before it is the same. */
static void mean_grad_rows(const struct tfd_pooling_window *p, int64_t begin,
                           int64_t end, bool half)
{
    const int64_t out = p->row.out * p->column.out * p->channels;
    const int64_t row = p->column.in * p->channels;
    int64_t top = 0, bottom = 0, before = 0, after = 0;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        uint16_t *dx = (uint16_t *)p->out + i * row;

        tfd_window_over(&p->row, i % p->row.in, &top, &bottom);
        if (i > begin && i % p->row.in != 0 && top == before && bottom == after)
            memcpy(dx, dx - row, (size_t)row * sizeof(*dx));
        else
            mean_grad_row(p, top, bottom, half,
                          (const uint16_t *)p->in + i / p->row.in * out, dx);
        before = top;
        after = bottom;
    }
}

static void mean_grad_rows_half(void *arg, int64_t begin, int64_t end)
{
    mean_grad_rows(arg, begin, end, true);
}

static void mean_grad_rows_bfloat16(void *arg, int64_t begin, int64_t end)
{
    mean_grad_rows(arg, begin, end, false);
}

tfd_range_fn *tfd_pool_halves(enum tfd_pool_loop loop, enum tfd_dtype dtype,
                              const struct tfd_pooling_window *p)
{
    static tfd_range_fn *const loops[TFD_POOL_LOOPS][2] = {
        [TFD_POOL_MAX] = {max_rows_half, max_rows_bfloat16},
        [TFD_POOL_MEAN] = {mean_rows_half, mean_rows_bfloat16},
        [TFD_POOL_MEAN_GRAD] = {mean_grad_rows_half, mean_grad_rows_bfloat16}};

    if ((dtype != TFD_HALF && dtype != TFD_BFLOAT16) || !is_listed(p) ||
        !__builtin_cpu_supports("avx512bf16") || !tfd_simd_has_avx512())
        return NULL;
    return loops[loop][dtype == TFD_BFLOAT16];
}

#else

tfd_range_fn *tfd_pool_halves(enum tfd_pool_loop loop, enum tfd_dtype dtype,
                              const struct tfd_pooling_window *p)
{
    (void)loop;
    (void)dtype;
    (void)p;
    return NULL;
}

#endif
