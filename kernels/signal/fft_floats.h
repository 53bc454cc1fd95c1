/*
 * fft_floats.h - lines of floats that are convolved in double precision; behind
 * the template that fft_rows.h ends, for that precision.
 *
 * An element is as large as a double: those of LANES lines are moved and
 * transposed as a vector of these, and become a cell where the convolution
 * takes them.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_FLOATS_H
#define TFD_KERNELS_SIGNAL_FFT_FLOATS_H

#include "kernels/signal/fft_rows.h"

/* Where LANES elements begin that lie in a row in their lines; the last ones:
 * some once more. */
INLINE bool next_square(const struct tfd_fft_ends *e, int64_t count,
                        int64_t *next, int64_t *begin)
{
    if (e->step != 1 || count < LANES || *next >= count)
        return false;
    *begin = *next + LANES <= count ? *next : count - LANES;
    *next += LANES;
    return true;
}

TARGET static void load_floats(const struct tfd_fft_ends *e, int64_t count,
                               lanes *x)
{
    int64_t j, next = 0;

    while (next_square(e, count, &next, &j)) {
        for (int i = 0; i < LANES; i++)
            x[j + i] = load_lanes((const number *)e->lane[i] + j);
        transpose(x + j);
    }
    for (int i = 0; next == 0 && i < LANES; i++)
        tfd_fft_lanes_move(e->lane[i], e->step, count, (number *)x + i, LANES);
}

TARGET static void store_floats(const lanes *x, int64_t count,
                                const struct tfd_fft_ends *e, int lines)
{
    int64_t j, next = 0;

    while (next_square(e, count, &next, &j)) {
        lanes a[LANES];

        memcpy(a, x + j, sizeof(a));
        transpose(a);
        for (int i = 0; i < LANES; i++)
            if (i < lines)
                store_lanes(a[i], (number *)e->lane[i] + j);
    }
    for (int i = 0; next == 0 && i < lines; i++)
        tfd_fft_lanes_move((const number *)x + i, LANES, count, e->lane[i],
                           e->step);
}

TARGET static void run_floats(const struct tfd_fft_group *g)
{
    const int64_t n = g->length;
    lanes *x = g->memory;
    struct convolved v = {.p = g->plan,
                          .x = x,
                          .floats = true,
                          .flip = g->inverse,
                          .scale = scale_of(g)};

    load_floats(&g->from, n, x);
    convolve(&v, (struct cell *)g->memory + n);
    store_floats(x, n, &g->to, g->count);
}

#endif
