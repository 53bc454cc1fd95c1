/*
 * fft_convolve.h - lines whose lengths have large prime factors, for the
 * template that fft_passes.h begins; behind fft_moves.h, if there are lanes.
 *
 * Bluestein's: j k = (j^2 + k^2 - (k - j)^2) / 2 makes of the transform a
 * convolution with the chirp exp(pi i j^2 / n).  Rader's: where g^j are all
 * numbers below a prime but 0, so is y[g^-k] one of x[g^j].  The transform of
 * what is convolved with is in the plan, which is of double precision.  A
 * convolution's elements are a square of rows and columns, or nearly, of which
 * each is near the processor while it is transformed: columns there, rows there
 * and back, columns back.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_CONVOLVE_H
#define TFD_KERNELS_SIGNAL_FFT_CONVOLVE_H

#include "kernels/signal/fft_passes.h"

/* Elements of lines that are transformed, in place: cells, or complex floats of
 * as many lines side by side, which are as large as a vector of doubles. */
struct convolved {
    const struct tfd_fft_plan *p;
    void *x;
    bool floats;
    int flip; /* parts change places: of an inverse transform */
    number scale;
    struct cell *cells, *work;
    int64_t pitch;
};

#if LANES > 1
typedef float half_lanes __attribute__((vector_size(4 * LANES)));
typedef float elements __attribute__((vector_size(8 * LANES)));

INLINE void take_floats(const struct convolved *v, int64_t at, struct cell *to)
{
    lanes *part = &to->re;
    elements x;

    memcpy(&x, (const elements *)v->x + at, sizeof(x));
    part[v->flip] =
        __builtin_convertvector(__builtin_shufflevector(x, x, EVEN), lanes);
    part[1 - v->flip] =
        __builtin_convertvector(__builtin_shufflevector(x, x, ODD), lanes);
}

INLINE void put_floats(const struct convolved *v, const struct cell *from,
                       int64_t at)
{
    const lanes *part = &from->re;
    const half_lanes a =
        __builtin_convertvector(part[v->flip] * v->scale, half_lanes);
    const half_lanes b =
        __builtin_convertvector(part[1 - v->flip] * v->scale, half_lanes);
    const elements y = __builtin_shufflevector(a, b, LOWER, UPPER);

    memcpy((elements *)v->x + at, &y, sizeof(y));
}
#endif

INLINE void take(const struct convolved *v, int64_t at, struct cell *to)
{
#if LANES > 1
    if (v->floats) {
        take_floats(v, at, to);
        return;
    }
#endif
    *to = ((const struct cell *)v->x)[at];
}

INLINE void put(const struct convolved *v, const struct cell *from, int64_t at)
{
#if LANES > 1
    if (v->floats) {
        put_floats(v, from, at);
        return;
    }
#endif
    ((struct cell *)v->x)[at] = *from;
}

/* How many elements a column has that are there. */
INLINE int64_t column_length(const struct tfd_fft_plan *p, int64_t j,
                             int64_t step)
{
    const int64_t end = p->chirp ? p->length : p->inner->length;

    return (end - j + step - 1) / step;
}

INLINE void turn_column(struct cell *a, int64_t count, const struct root *w,
                        int64_t step)
{
    for (int64_t i = 0; i < count; i++)
        a[i] = turned(a[i], w[i * step]);
}

INLINE void take_column(const struct convolved *v, int64_t j, int64_t step)
{
    const struct tfd_fft_plan *p = v->p;
    const int64_t count = column_length(p, j, step);
    const struct root *chirp = p->chirp;
    struct cell *to = v->work;

    for (int64_t i = 0; i < count; i++)
        take(v, p->order_in[j + i * step], &to[i]);
    if (!chirp)
        return;
    turn_column(to, count, chirp + j, step);
    memset(to + count, 0,
           (size_t)(p->inner->down->length - count) * sizeof(*to));
}

INLINE void put_column(const struct convolved *v, struct cell *from, int64_t j,
                       int64_t step)
{
    const struct tfd_fft_plan *p = v->p;
    const int64_t count = column_length(p, j, step);
    const struct root *chirp = p->chirp;

    for (int64_t i = 0; i < count; i++)
        from[i] = swapped(from[i]);
    if (chirp)
        turn_column(from, count, chirp + j, step);
    for (int64_t i = 0; i < count; i++)
        put(v, &from[i], p->order_out[j + i * step]);
}

INLINE void transform_columns(const struct convolved *v)
{
    const struct tfd_fft_plan *m = v->p->inner, *down = m->down;
    const int64_t a = down->length, b = m->along->length;
    const struct root *twist = m->twists;

    for (int64_t j = 0; j < b; j++, twist += a) {
        const struct cell *y;

        take_column(v, j, b);
        y = run_passes(down, v->work, v->work + a);
        for (int64_t k = 0; k < a; k++)
            v->cells[k * v->pitch + j] = turned(y[k], twist[k]);
    }
}

/* To and fro: what lies in a row stays there.  The second transform is the
 * inverse: one of the swapped parts.  `first` is added to all of the result,
 * and becomes the sum of all with it. */
TARGET static void convolve_rows(const struct convolved *v, struct cell *first)
{
    const struct tfd_fft_plan *along = v->p->inner->along;
    const int64_t a = v->p->inner->down->length, b = along->length;
    const struct root *filter = v->p->filter_rows;

    for (int64_t k = 0; k < a; k++, filter += b) {
        struct cell *row = v->cells + k * v->pitch;
        struct cell *at = run_passes(along, row, v->work);
        const struct cell sum = plus(*first, at[0]);

        for (int64_t j = 0; j < b; j++)
            at[j] = swapped(turned(at[j], filter[j]));
        if (k == 0) {
            at[0] = plus(at[0], swapped(*first));
            *first = sum;
        }
        (void)run_passes(along, at, at == row ? v->work : row);
    }
}

INLINE void transform_back(const struct convolved *v)
{
    const struct tfd_fft_plan *m = v->p->inner, *down = m->down;
    const int64_t a = down->length, b = m->along->length;
    const struct root *twist = m->twists;

    for (int64_t j = 0; j < b; j++, twist += a) {
        for (int64_t k = 0; k < a; k++)
            v->work[k] = turned(v->cells[k * v->pitch + j], twist[k]);
        put_column(v, run_passes(down, v->work, v->work + a), j, b);
    }
}

/* Cells, work and pitch are set. */
TARGET static __attribute__((noinline)) void convolve(struct convolved *v,
                                                      struct cell *memory)
{
    const struct tfd_fft_plan *p = v->p, *m = p->inner;
    struct cell first;

    v->cells = memory;
    v->pitch = m->along->length | 1;
    v->work = memory + m->down->length * v->pitch;
    memset(&first, 0, sizeof(first));
    if (!p->chirp)
        take(v, 0, &first);
    transform_columns(v);
    convolve_rows(v, &first);
    transform_back(v);
    if (!p->chirp)
        put(v, &first, 0);
}

/* Any plan.  The result lies in x or in work. */
TARGET static struct cell *run_cells(const struct tfd_fft_plan *p,
                                     struct cell *x, struct cell *work)
{
    struct convolved v = {.p = p, .x = x};

    if (!p->inner || sizeof(number) < sizeof(double))
        return run_passes(p, x, work);
    convolve(&v, work);
    return x;
}

#endif
