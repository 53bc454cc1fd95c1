/*
 * depthwise_bfloat16.c - pixels of depthwise convolutions of bfloat16: see
 * depthwise_pixel.h.
 *
 * An instruction of AVX512_BF16 adds two products to each of 16 floats, so what
 * two taps meet is interleaved, and the filter likewise: 32 channels give two
 * registers of pairs, whose sums are put in order again when they are rounded.
 */
#include "kernels/conv/depthwise_pixel.h"

#include "kernels/vector/simd.h"

#include <assert.h>

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target(TFD_SIMD_AVX512 ",avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline))

#define CHANNELS TFD_DOT_CHANNELS
#define SIDE 3
#define NINE 9

/* Sums of the even and of the odd fours of CHANNELS. */
struct sums {
    __m512 low, high;
};

/* Of two taps, the second of which may be absent. */
struct pairs {
    __m512i low, high;
};

INLINE struct pairs interleave(const tfd_bfloat16 *a, const tfd_bfloat16 *b,
                               bool both, __mmask32 channels)
{
    const __m512i first = _mm512_maskz_loadu_epi16(channels, a);
    const __m512i second = _mm512_maskz_loadu_epi16(both ? channels : 0, b);

    return (struct pairs){_mm512_unpacklo_epi16(first, second),
                          _mm512_unpackhi_epi16(first, second)};
}

INLINE void round_sums(const struct sums *s, __mmask32 channels,
                       tfd_bfloat16 *y)
{
    const __m512i order = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
    const __m256i low = (__m256i)_mm512_cvtneps_pbh(s->low);
    const __m256i high = (__m256i)_mm512_cvtneps_pbh(s->high);

    _mm512_mask_storeu_epi16(
        y, channels,
        _mm512_permutex2var_epi64(_mm512_castsi256_si512(low), order,
                                  _mm512_castsi256_si512(high)));
}

/* Adds what one pair of taps meets in each of the pixels; x and w are at the
 * first channel. */
INLINE void add_pair(const struct tfd_taps *taps, int i, const bool both,
                     const tfd_bfloat16 *x, const tfd_bfloat16 *w, int64_t step,
                     const int pixels, __mmask32 channels, struct sums *s)
{
    const int j = both ? i + 1 : i;
    const tfd_bfloat16 *first = x + taps->x[i], *second = x + taps->x[j];
    const struct pairs by =
        interleave(w + taps->w[i], w + taps->w[j], both, channels);

#pragma GCC unroll 4
    for (int p = 0; p < pixels; p++) {
        const struct pairs of =
            interleave(first + p * step, second + p * step, both, channels);

        s[p].low =
            _mm512_dpbf16_ps(s[p].low, (__m512bh)of.low, (__m512bh)by.low);
        s[p].high =
            _mm512_dpbf16_ps(s[p].high, (__m512bh)of.high, (__m512bh)by.high);
    }
}

/* Channels from c on, those of the mask. */
INLINE void sum_taps(const struct tfd_depthwise *d, const struct tfd_taps *taps,
                     const tfd_bfloat16 *x, int64_t step, int64_t c,
                     const int pixels, __mmask32 channels, tfd_bfloat16 *y)
{
    const tfd_bfloat16 *w = (const tfd_bfloat16 *)d->w + c;
    const int64_t in = d->in;
    const int count = taps->count;
    struct sums s[TFD_TAPS_PIXELS];

#pragma GCC unroll 4
    for (int p = 0; p < pixels; p++)
        s[p] = (struct sums){_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (pixels == TFD_TAPS_PIXELS && count > 0)
        tfd_depthwise_fetch(x + c + tfd_taps_furthest(taps),
                            step * (int64_t)sizeof(*x), y + c,
                            in * (int64_t)sizeof(*y));
    for (int i = 0; i + 1 < count; i += 2)
        add_pair(taps, i, true, x + c, w, step, pixels, channels, s);
    if (count % 2)
        add_pair(taps, count - 1, false, x + c, w, step, pixels, channels, s);
#pragma GCC unroll 4
    for (int p = 0; p < pixels; p++)
        round_sums(&s[p], channels, y + p * in + c);
}

/* Where TFD_TAPS_PIXELS begin: the last ones may be summed again. */
static inline int64_t group_at(int64_t p, int64_t pixels)
{
    return p + TFD_TAPS_PIXELS <= pixels ? p : pixels - TFD_TAPS_PIXELS;
}

/* ---- Windows of three by three ------------------------------------------- */

/* The taps of a window, as they lie: rows of three, each step apart.  Pixels
 * share what they see of a row; the filter's pairs stay in registers. */
struct nine {
    const tfd_bfloat16 *row[SIDE]; /* the first of what the first pixel sees */
    int64_t step;                  /* of pixels, and of what a row has */
    __mmask32 channels;
    struct pairs by[NINE / 2 + 1];
};

#define SEEN (TFD_TAPS_PIXELS + SIDE - 1)

INLINE void load_seen(const struct nine *n, int row, int64_t at, __m512i *seen)
{
    const tfd_bfloat16 *from = n->row[row] + at;

#pragma GCC unroll 6
    for (int i = 0; i < SEEN; i++)
        seen[i] = _mm512_maskz_loadu_epi16(n->channels, from + i * n->step);
}

/* Adds what pixel q meets of two taps. */
INLINE void add_two(__m512i first, __m512i second, const struct pairs *by,
                    struct sums *s)
{
    s->low =
        _mm512_dpbf16_ps(s->low, (__m512bh)_mm512_unpacklo_epi16(first, second),
                         (__m512bh)by->low);
    s->high = _mm512_dpbf16_ps(s->high,
                               (__m512bh)_mm512_unpackhi_epi16(first, second),
                               (__m512bh)by->high);
}

/* Of TFD_TAPS_PIXELS; `back`: the taps of a row are met from its end on. */
INLINE void sum_nine(const struct nine *n, int64_t at, const bool back,
                     struct sums *s)
{
    const int j0 = back ? 2 : 0, j1 = 1, j2 = back ? 0 : 2;
    __m512i a[SEEN], b[SEEN];

#pragma GCC unroll 4
    for (int q = 0; q < TFD_TAPS_PIXELS; q++)
        s[q] = (struct sums){_mm512_setzero_ps(), _mm512_setzero_ps()};
    load_seen(n, 0, at, a);
#pragma GCC unroll 4
    for (int q = 0; q < TFD_TAPS_PIXELS; q++)
        add_two(a[q + j0], a[q + j1], &n->by[0], &s[q]);
    load_seen(n, 1, at, b);
#pragma GCC unroll 4
    for (int q = 0; q < TFD_TAPS_PIXELS; q++)
        add_two(a[q + j2], b[q + j0], &n->by[1], &s[q]);
#pragma GCC unroll 4
    for (int q = 0; q < TFD_TAPS_PIXELS; q++)
        add_two(b[q + j1], b[q + j2], &n->by[2], &s[q]);
    load_seen(n, 2, at, a);
#pragma GCC unroll 4
    for (int q = 0; q < TFD_TAPS_PIXELS; q++)
        add_two(a[q + j0], a[q + j1], &n->by[3], &s[q]);
#pragma GCC unroll 4
    for (int q = 0; q < TFD_TAPS_PIXELS; q++)
        add_two(a[q + j2], _mm512_setzero_si512(), &n->by[4], &s[q]);
}

INLINE void sum_nines(const struct nine *n, int64_t pixels, int64_t in,
                      const bool back, tfd_bfloat16 *y)
{
    for (int64_t p = 0; p < pixels; p += TFD_TAPS_PIXELS) {
        const int64_t at = group_at(p, pixels);
        struct sums s[TFD_TAPS_PIXELS];

        tfd_depthwise_fetch(n->row[back ? 0 : 2] + at * n->step,
                            n->step * (int64_t)sizeof(*y), y + at * in,
                            in * (int64_t)sizeof(*y));
        sum_nine(n, at * n->step, back, s);
#pragma GCC unroll 4
        for (int q = 0; q < TFD_TAPS_PIXELS; q++)
            round_sums(&s[q], n->channels, y + (at + q) * in);
    }
}

/* Whether the taps are three rows of three, that far apart. */
static bool are_nine(const struct tfd_taps *t, int64_t step)
{
    for (int i = 0; i < NINE; i += SIDE)
        if (t->count != NINE || t->x[i + 1] - t->x[i] != step ||
            t->x[i + 2] - t->x[i + 1] != step)
            return false;
    return true;
}

INLINE void dot_nine(const struct tfd_depthwise *d, const struct tfd_taps *taps,
                     const tfd_bfloat16 *x, int64_t step, int64_t c,
                     int64_t pixels, const bool back, __mmask32 channels,
                     tfd_bfloat16 *y)
{
    const tfd_bfloat16 *w = (const tfd_bfloat16 *)d->w + c;
    struct nine n = {.step = step, .channels = channels};

    for (int i = 0; i < SIDE; i++)
        n.row[i] = x + c + taps->x[SIDE * i + (back ? 2 : 0)];
    for (int i = 0; i + 1 < NINE; i += 2)
        n.by[i / 2] =
            interleave(w + taps->w[i], w + taps->w[i + 1], true, channels);
    n.by[NINE / 2] = interleave(w + taps->w[NINE - 1], w, false, channels);
    sum_nines(&n, pixels, d->in, back, y + c);
}

/* Channels from c on, of one pixel or several. */
INLINE void sum_pixels(const struct tfd_depthwise *d,
                       const struct tfd_taps *taps, const tfd_bfloat16 *x,
                       int64_t step, int64_t c, int64_t pixels,
                       __mmask32 channels, tfd_bfloat16 *y)
{
    if (pixels == 1)
        sum_taps(d, taps, x, step, c, 1, channels, y);
    else if (are_nine(taps, step))
        dot_nine(d, taps, x, step, c, pixels, false, channels, y);
    else if (are_nine(taps, -step))
        dot_nine(d, taps, x, step, c, pixels, true, channels, y);
    else
        for (int64_t p = 0; p < pixels; p += TFD_TAPS_PIXELS) {
            const int64_t at = group_at(p, pixels);

            sum_taps(d, taps, x + at * step, step, c, TFD_TAPS_PIXELS, channels,
                     y + at * d->in);
        }
}

TARGET void tfd_depthwise_dots(const struct tfd_depthwise *d,
                               const struct tfd_taps *taps,
                               const tfd_bfloat16 *x, int64_t step,
                               int64_t pixels, tfd_bfloat16 *y)
{
    const int64_t whole = d->in - d->in % CHANNELS;

    for (int64_t c = 0; c < whole; c += CHANNELS)
        sum_pixels(d, taps, x, step, c, pixels, UINT32_MAX, y);
    if (whole < d->in)
        sum_pixels(d, taps, x, step, whole, pixels,
                   (1u << d->in % CHANNELS) - 1, y);
}

/* ---- The gradient of the filter ------------------------------------------ */

INLINE void add_sums(const struct sums *s, int64_t channels, float *dw)
{
    const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    const __m512d low = _mm512_castps_pd(s->low);
    const __m512d high = _mm512_castps_pd(s->high);
    const __m512 one =
        _mm512_castpd_ps(_mm512_permutex2var_pd(low, first, high));
    const __m512 two =
        _mm512_castpd_ps(_mm512_permutex2var_pd(low, second, high));
    const uint32_t all =
        channels < CHANNELS ? (1u << channels) - 1 : UINT32_MAX;
    const __mmask16 left = (__mmask16)all, right = (__mmask16)(all >> 16);

    _mm512_mask_storeu_ps(dw, left,
                          _mm512_add_ps(_mm512_maskz_loadu_ps(left, dw), one));
    _mm512_mask_storeu_ps(
        dw + 16, right,
        _mm512_add_ps(_mm512_maskz_loadu_ps(right, dw + 16), two));
}

/* Two pixels at a time. */
INLINE void dot_rows(const struct tfd_dot_rows *r, int taps)
{
    const __mmask32 channels =
        r->channels < CHANNELS ? (1u << r->channels) - 1 : UINT32_MAX;
    struct sums s[3] = {{_mm512_setzero_ps(), _mm512_setzero_ps()}};

    for (int t = 1; t < taps; t++)
        s[t] = s[0];
    for (int64_t p = 0; p < r->pixels; p += 2) {
        const bool both = p + 1 < r->pixels;
        const tfd_bfloat16 *y = r->y + p * r->y_step;
        const struct pairs by =
            interleave(y, y + (both ? r->y_step : 0), both, channels);

#pragma GCC unroll 3
        for (int t = 0; t < taps; t++) {
            const tfd_bfloat16 *x = r->x[t] + p * r->x_step;
            const struct pairs of =
                interleave(x, x + (both ? r->x_step : 0), both, channels);

            s[t].low =
                _mm512_dpbf16_ps(s[t].low, (__m512bh)of.low, (__m512bh)by.low);
            s[t].high = _mm512_dpbf16_ps(s[t].high, (__m512bh)of.high,
                                         (__m512bh)by.high);
        }
    }
    for (int t = 0; t < taps; t++)
        add_sums(&s[t], r->channels, r->dw[t]);
}

TARGET void tfd_depthwise_dot_rows(const struct tfd_dot_rows *r, int taps)
{
    if (taps == 1)
        dot_rows(r, 1);
    else
        dot_rows(r, 3);
}

bool tfd_depthwise_has_bfloat16(const struct tfd_depthwise *d)
{
    return tfd_taps_fit(d) && __builtin_cpu_supports("avx512bf16") &&
           tfd_simd_has_avx512();
}

#else

void tfd_depthwise_dots(const struct tfd_depthwise *d,
                        const struct tfd_taps *taps, const tfd_bfloat16 *x,
                        int64_t step, int64_t pixels, tfd_bfloat16 *y)
{
    (void)d;
    (void)taps;
    (void)x;
    (void)step;
    (void)pixels;
    (void)y;
    assert(false);
}

void tfd_depthwise_dot_rows(const struct tfd_dot_rows *r, int taps)
{
    (void)r;
    (void)taps;
    assert(false);
}

bool tfd_depthwise_has_bfloat16(const struct tfd_depthwise *d)
{
    (void)d;
    return false;
}

#endif
