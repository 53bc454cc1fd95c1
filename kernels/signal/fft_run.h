/*
 * fft_run.h - a group of lines from an array to an array, a lane each, for the
 * template that fft_passes.h begins.
 *
 * The inverse transform is the forward one with real and imaginary parts
 * swapped before and behind it.  Of 2 n real numbers, those at even places are
 * real parts and the others imaginary ones of n, whose transform z has that of
 * both:
 *
 *     y[k] = (z[k] + z*[n - k]) / 2 - i exp(-pi i k / n) (z[k] - z*[n - k]) / 2
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_RUN_H
#define TFD_KERNELS_SIGNAL_FFT_RUN_H

#include "kernels/signal/fft_moves.h"

INLINE struct cell conjugate(struct cell a)
{
    return (struct cell){a.re, -a.im};
}

INLINE struct cell halved(struct cell a)
{
    return (struct cell){a.re * 0.5, a.im * 0.5};
}

/* As many lines of complex numbers stand for those of real ones. */
INLINE bool of_halves(const struct tfd_fft_group *g)
{
    return g->plan->length != g->length;
}

INLINE double scale_of(const struct tfd_fft_group *g)
{
    return g->inverse ? 1.0 / (double)g->length : 1.0;
}

/* ---- LANES lines --------------------------------------------------------- */

TARGET static void part_halves(const struct tfd_fft_plan *p, struct cell *c)
{
    const int64_t n = p->length;
    const struct cell first = c[0];
    const lanes none = {0};

    c[0] = (struct cell){first.re + first.im, none};
    c[n] = (struct cell){first.re - first.im, none};
    for (int64_t k = 1; k <= n / 2; k++) {
        const struct cell a = c[k], b = conjugate(c[n - k]);
        const struct cell even = halved(plus(a, b));
        const struct cell odd =
            turned(quarter(halved(minus(a, b))), p->halves[k]);

        c[k] = plus(even, odd);
        c[n - k] = conjugate(minus(even, odd));
    }
}

/* Swaps parts, too. */
TARGET static void join_halves(const struct tfd_fft_plan *p, struct cell *c)
{
    const int64_t n = p->length;
    const lanes first = c[0].re, last = c[n].re;

    c[0] = (struct cell){first - last, first + last};
    for (int64_t k = 1; k <= n / 2; k++) {
        const struct tfd_complex w = {p->halves[k].re, -p->halves[k].im};
        const struct cell a = c[k], b = conjugate(c[n - k]);
        const struct cell even = plus(a, b), odd = turned(minus(a, b), w);

        c[k] = swapped(plus_turned(even, odd));
        c[n - k] = swapped(conjugate(minus_turned(even, odd)));
    }
}

/* Of an odd length: all of the line, with swapped parts. */
TARGET static void mirror_half(struct cell *c, int64_t length)
{
    const lanes none = {0};

    c[0] = (struct cell){none, c[0].re};
    for (int64_t j = 1; j <= length / 2; j++) {
        const struct cell a = c[j];

        c[j] = swapped(a);
        c[length - j] = swapped(conjugate(a));
    }
}

TARGET static void load_group(const struct tfd_fft_group *g, struct cell *c)
{
    const int64_t n =
        g->from.kind == TFD_FFT_HALF ? g->length / 2 + 1 : g->plan->length;
    const int flip = g->inverse && g->from.kind == TFD_FFT_COMPLEX;

    if (g->from.kind == TFD_FFT_REAL && !of_halves(g)) {
        if (g->is_double)
            load_reals_double(&g->from, n, c);
        else
            load_reals_float(&g->from, n, c);
    } else if (g->is_double) {
        load_lines_double(&g->from, n, flip, c);
    } else {
        load_lines_float(&g->from, n, flip, c);
    }
    if (g->from.kind == TFD_FFT_HALF && of_halves(g))
        join_halves(g->plan, c);
    else if (g->from.kind == TFD_FFT_HALF)
        mirror_half(c, g->length);
}

TARGET static void store_group(const struct tfd_fft_group *g, struct cell *c)
{
    const int64_t n =
        g->to.kind == TFD_FFT_HALF ? g->length / 2 + 1 : g->plan->length;
    const double scale = scale_of(g);

    if (g->to.kind == TFD_FFT_HALF && of_halves(g))
        part_halves(g->plan, c);
    if (g->to.kind == TFD_FFT_REAL && !of_halves(g)) {
        if (g->is_double)
            store_reals_double(c, n, g->inverse, scale, &g->to, g->count);
        else
            store_reals_float(c, n, g->inverse, scale, &g->to, g->count);
    } else if (g->is_double) {
        store_lines_double(c, n, g->inverse, scale, &g->to, g->count);
    } else {
        store_lines_float(c, n, g->inverse, scale, &g->to, g->count);
    }
}

/* Either array has room for one more than the length: the last of halves. */
TARGET static void run_lanes(const struct tfd_fft_group *g)
{
    struct cell *c = (struct cell *)g->memory;

    load_group(g, c);
    store_group(g, run_cells(g->plan, c, c + g->plan->length + 1));
}

#endif
