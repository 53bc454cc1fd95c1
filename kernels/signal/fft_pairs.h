/*
 * fft_pairs.h - pairs of elements between a line of halves and as many complex
 * numbers, for the template that fft_passes.h begins.
 *
 * Of 2 n real numbers, those at even places are real parts and the others
 * imaginary ones of n, whose transform z has that of both:
 *
 *     y[k] = (z[k] + z*[n - k]) / 2 - i exp(-pi i k / n) (z[k] - z*[n - k]) / 2
 *
 * Each result is rounded once: numbers of single precision are doubles between,
 * as these are more steps than a transform of the real numbers would have.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_PAIRS_H
#define TFD_KERNELS_SIGNAL_FFT_PAIRS_H

#include "kernels/signal/fft_moves.h"

/* Elements k and n - k of a line of halves, from those of n complex ones; w is
 * the root of k. */
INLINE void part_pair(struct tfd_complex *a, struct tfd_complex *b,
                      struct tfd_complex w)
{
    const double re = (a->re + b->re) * 0.5, im = (a->im - b->im) * 0.5;
    const double x = (a->im + b->im) * 0.5, y = (b->re - a->re) * 0.5;
    const double odd_re = x * w.re - y * w.im, odd_im = x * w.im + y * w.re;

    *a = (struct tfd_complex){re + odd_re, im + odd_im};
    *b = (struct tfd_complex){re - odd_re, odd_im - im};
}

/* And the other way: half of n complex elements. */
INLINE void join_pair(struct tfd_complex *a, struct tfd_complex *b,
                      struct tfd_complex w)
{
    const double re = a->re + b->re, im = a->im - b->im;
    const double x = a->re - b->re, y = a->im + b->im;
    const double odd_re = x * w.re + y * w.im, odd_im = y * w.re - x * w.im;

    *a = (struct tfd_complex){re - odd_im, im + odd_re};
    *b = (struct tfd_complex){re + odd_im, odd_re - im};
}

/* ---- LANES pairs --------------------------------------------------------- */

INLINE void part_doubles(struct cell *a, struct cell *b, struct cell w)
{
    const lanes half = SPREAD((number)0.5);
    const lanes re = (a->re + b->re) * half, im = (a->im - b->im) * half;
    const lanes x = (a->im + b->im) * half, y = (b->re - a->re) * half;
    const lanes odd_re = FUSED_MINUS(x, w.re, y * w.im);
    const lanes odd_im = FUSED(x, w.im, y * w.re);

    *a = (struct cell){re + odd_re, im + odd_im};
    *b = (struct cell){re - odd_re, odd_im - im};
}

INLINE void join_doubles(struct cell *a, struct cell *b, struct cell w)
{
    const lanes re = a->re + b->re, im = a->im - b->im;
    const lanes x = a->re - b->re, y = a->im + b->im;
    const lanes odd_re = FUSED(x, w.re, y * w.im);
    const lanes odd_im = FUSED_MINUS(y, w.re, x * w.im);

    *a = (struct cell){re - odd_im, im + odd_re};
    *b = (struct cell){re + odd_im, odd_re - im};
}

/* The roots of a lane each, or one for all. */
INLINE struct cell roots_of(const struct tfd_complex *w, bool each)
{
    struct cell c = {SPREAD((number)w->re), SPREAD((number)w->im)};

    if (each)
        load_elements((const number *)(const void *)w, &c);
    return c;
}

/* A loop that the compiler makes vectors of. */
#define PAIRS_WIDENED(pair)                                             \
    INLINE void pair##s_widened(struct cell *a, struct cell *b,         \
                                const struct tfd_complex *w, bool each) \
    {                                                                   \
        number a_re[LANES], a_im[LANES], b_re[LANES], b_im[LANES];      \
                                                                        \
        store_lanes(a->re, a_re);                                       \
        store_lanes(a->im, a_im);                                       \
        store_lanes(b->re, b_re);                                       \
        store_lanes(b->im, b_im);                                       \
        for (int i = 0; i < LANES; i++) {                               \
            struct tfd_complex x = {(double)a_re[i], (double)a_im[i]};  \
            struct tfd_complex y = {(double)b_re[i], (double)b_im[i]};  \
                                                                        \
            pair(&x, &y, w[each ? i : 0]);                              \
            a_re[i] = (number)x.re;                                     \
            a_im[i] = (number)x.im;                                     \
            b_re[i] = (number)y.re;                                     \
            b_im[i] = (number)y.im;                                     \
        }                                                               \
        *a = (struct cell){load_lanes(a_re), load_lanes(a_im)};         \
        *b = (struct cell){load_lanes(b_re), load_lanes(b_im)};         \
    }

PAIRS_WIDENED(part_pair)
PAIRS_WIDENED(join_pair)

INLINE void part_pairs(struct cell *a, struct cell *b,
                       const struct tfd_complex *w, bool each)
{
    if (sizeof(number) < sizeof(double))
        part_pairs_widened(a, b, w, each);
    else
        part_doubles(a, b, roots_of(w, each));
}

INLINE void join_pairs(struct cell *a, struct cell *b,
                       const struct tfd_complex *w, bool each)
{
    if (sizeof(number) < sizeof(double))
        join_pairs_widened(a, b, w, each);
    else
        join_doubles(a, b, roots_of(w, each));
}

#endif
