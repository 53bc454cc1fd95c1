/*
 * fft_run.h - a group of lines from an array to an array, a lane each, for the
 * template that fft_passes.h begins.
 *
 * The inverse transform is the forward one with real and imaginary parts
 * swapped before and behind it.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_RUN_H
#define TFD_KERNELS_SIGNAL_FFT_RUN_H

/* Behind what it needs of vectors. */
#include "kernels/signal/fft_pairs.h"

#include "kernels/signal/fft_convolve.h"

INLINE struct cell conjugate(struct cell a)
{
    return (struct cell){a.re, -a.im};
}

/* As many lines of complex numbers stand for those of real ones. */
INLINE bool of_halves(const struct tfd_fft_group *g)
{
    return g->plan->length != g->length;
}

INLINE number scale_of(const struct tfd_fft_group *g)
{
    return g->inverse ? (number)(1.0 / (double)g->length) : 1;
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
        struct cell a = c[k], b = c[n - k];

        part_pairs(&a, &b, &p->halves[k], false);
        c[n - k] = b;
        c[k] = a;
    }
}

/* Swaps parts, too. */
TARGET static void join_halves(const struct tfd_fft_plan *p, struct cell *c)
{
    const int64_t n = p->length;
    const lanes first = c[0].re, last = c[n].re;

    c[0] = (struct cell){first - last, first + last};
    for (int64_t k = 1; k <= n / 2; k++) {
        struct cell a = c[k], b = c[n - k];

        join_pairs(&a, &b, &p->halves[k], false);
        c[n - k] = swapped(b);
        c[k] = swapped(a);
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

    if (g->from.kind == TFD_FFT_REAL && !of_halves(g))
        load_reals(&g->from, n, c);
    else
        load_lines(&g->from, n, flip, c);
    if (g->from.kind == TFD_FFT_HALF && of_halves(g))
        join_halves(g->plan, c);
    else if (g->from.kind == TFD_FFT_HALF)
        mirror_half(c, g->length);
}

TARGET static void store_group(const struct tfd_fft_group *g, struct cell *c)
{
    const int64_t n =
        g->to.kind == TFD_FFT_HALF ? g->length / 2 + 1 : g->plan->length;
    const number scale = scale_of(g);

    if (g->to.kind == TFD_FFT_HALF && of_halves(g))
        part_halves(g->plan, c);
    if (g->to.kind == TFD_FFT_REAL && !of_halves(g))
        store_reals(c, n, g->inverse, scale, &g->to, g->count);
    else
        store_lines(c, n, g->inverse, scale, &g->to, g->count);
}

/* Either array has room for one more than the length: the last of halves. */
TARGET static void run_lanes(const struct tfd_fft_group *g)
{
    struct cell *c = (struct cell *)g->memory;

    load_group(g, c);
    store_group(g, run_cells(g->plan, c, c + g->plan->length + 1));
}

#endif
