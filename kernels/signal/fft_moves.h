/*
 * fft_moves.h - lines of an array to cells and back, for fft_passes.h, whose
 * template it goes on with.
 *
 * Of rows, squares of numbers are transposed: a vector of LANES numbers holds
 * half as many elements of a line.  With `flip` a cell's parts change places.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_MOVES_H
#define TFD_KERNELS_SIGNAL_FFT_MOVES_H

#include "kernels/signal/fft_passes.h"

#define HALF (LANES / 2)
/* Bytes of a group; for shorter and longer lines the processor itself asks
 * memory early. */
#define AHEAD_MIN (4 << 10)
#define AHEAD_MAX (8 << 10)

/* ---- Vectors ------------------------------------------------------------- */

/* What two vectors have of each other they change. */
#define CROSS(i, k, low, high)                        \
    do {                                              \
        const lanes x_ = a[i], y_ = a[k];             \
        a[i] = __builtin_shufflevector(x_, y_, low);  \
        a[k] = __builtin_shufflevector(x_, y_, high); \
    } while (0)

/* EVEN, ODD: of two vectors of elements the real parts, and the others.
 * LOWER, UPPER: the way back. */
#if LANES == 16
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define BACK 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#define LOW8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define LOW4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31

/* A square of numbers: blocks of eight, of four, of two, and one by one. */
INLINE void transpose(lanes *a)
{
    for (int i = 0; i < 8; i++)
        CROSS(i, i + 8, LOW8, HIGH8);
    for (int i = 0; i < 16; i++)
        if (i % 8 < 4)
            CROSS(i, i + 4, LOW4, HIGH4);
    for (int i = 0; i < 16; i++)
        if (i % 4 < 2)
            CROSS(i, i + 2, LOW2, HIGH2);
    for (int i = 0; i < 16; i += 2)
        CROSS(i, i + 1, LOW1, HIGH1);
}

#elif LANES == 8
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#define LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER 4, 12, 5, 13, 6, 14, 7, 15
#define BACK 7, 6, 5, 4, 3, 2, 1, 0
#define LOW4 0, 1, 2, 3, 8, 9, 10, 11
#define HIGH4 4, 5, 6, 7, 12, 13, 14, 15
#define LOW2 0, 1, 8, 9, 4, 5, 12, 13
#define HIGH2 2, 3, 10, 11, 6, 7, 14, 15
#define LOW1 0, 8, 2, 10, 4, 12, 6, 14
#define HIGH1 1, 9, 3, 11, 5, 13, 7, 15

/* A square of numbers: blocks of four, of two, and one by one. */
INLINE void transpose(lanes *a)
{
    for (int i = 0; i < 4; i++)
        CROSS(i, i + 4, LOW4, HIGH4);
    for (int i = 0; i < 8; i += 4) {
        CROSS(i, i + 2, LOW2, HIGH2);
        CROSS(i + 1, i + 3, LOW2, HIGH2);
    }
    for (int i = 0; i < 8; i += 2)
        CROSS(i, i + 1, LOW1, HIGH1);
}

#elif LANES == 4
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define LOWER 0, 4, 1, 5
#define BACK 3, 2, 1, 0
#define UPPER 2, 6, 3, 7
#define LOW2 0, 1, 4, 5
#define HIGH2 2, 3, 6, 7
#define LOW1 0, 4, 2, 6
#define HIGH1 1, 5, 3, 7

INLINE void transpose(lanes *a)
{
    CROSS(0, 2, LOW2, HIGH2);
    CROSS(1, 3, LOW2, HIGH2);
    CROSS(0, 1, LOW1, HIGH1);
    CROSS(2, 3, LOW1, HIGH1);
}

#else
#define EVEN 0, 2
#define ODD 1, 3
#define LOWER 0, 2
#define BACK 1, 0
#define UPPER 1, 3

INLINE void transpose(lanes *a)
{
    CROSS(0, 1, EVEN, ODD);
}
#endif

INLINE lanes load_lanes(const number *x)
{
    lanes v;

    memcpy(&v, x, sizeof(v));
    return v;
}

INLINE void store_lanes(lanes v, number *y)
{
    memcpy(y, &v, sizeof(v));
}

/* Real parts and others, to as many elements in a row. */
INLINE void store_elements(lanes re, lanes im, number *y)
{
    store_lanes(__builtin_shufflevector(re, im, LOWER), y);
    store_lanes(__builtin_shufflevector(re, im, UPPER), y + LANES);
}

INLINE void load_elements(const number *x, struct cell *c)
{
    const lanes a = load_lanes(x), b = load_lanes(x + LANES);

    c->re = __builtin_shufflevector(a, b, EVEN);
    c->im = __builtin_shufflevector(a, b, ODD);
}

/* The last one first. */
INLINE struct cell backwards(struct cell a)
{
    return (struct cell){__builtin_shufflevector(a.re, a.re, BACK),
                         __builtin_shufflevector(a.im, a.im, BACK)};
}

/* ---- Complex elements of lines ------------------------------------------- */

/* An element of each line, LANES of them in a row. */
INLINE void load_beside(const number *x, int64_t step, int64_t count, int flip,
                        struct cell *c)
{
    for (int64_t j = 0; j < count; j++) {
        const lanes a = load_lanes(x + 2 * j * step);
        const lanes b = load_lanes(x + 2 * j * step + LANES);
        lanes *to = &c[j].re;

        to[flip] = __builtin_shufflevector(a, b, EVEN);
        to[1 - flip] = __builtin_shufflevector(a, b, ODD);
    }
}

/* How far behind a line of the group that of the next one lies, where lines are
 * short and follow each other: as many streams as there are lanes, of a few
 * vectors each, the processor does not foresee, and would wait for memory. */
INLINE int64_t next_group(const struct tfd_fft_ends *e)
{
    const int64_t ahead =
        LANES * ((const char *)e->lane[1] - (const char *)e->lane[0]);

    return ahead >= AHEAD_MIN && ahead <= AHEAD_MAX ? ahead : 0;
}

/* Elements from j on of the next group's lines. */
INLINE void ask_ahead(const struct tfd_fft_ends *e, int64_t j, int64_t ahead,
                      int write)
{
    for (int i = 0; ahead != 0 && i < LANES; i++) {
        const number *x = (const number *)e->lane[i] + 2 * j;

        if (write)
            __builtin_prefetch((const char *)x + ahead, 1);
        else
            __builtin_prefetch((const char *)x + ahead, 0);
    }
}

TARGET static void load_lines(const struct tfd_fft_ends *e, int64_t count,
                              int flip, struct cell *c)
{
    const int64_t ahead = next_group(e);
    int64_t j = 0;

    if (e->beside) {
        load_beside(e->lane[0], e->step, count, flip, c);
        return;
    }
    for (; e->step == 1 && j + HALF <= count; j += HALF) {
        lanes a[LANES];

        for (int i = 0; i < LANES; i++)
            a[i] = load_lanes((const number *)e->lane[i] + 2 * j);
        ask_ahead(e, j, ahead, 0);
        transpose(a);
        for (int i = 0; i < HALF; i++) {
            lanes *to = &c[j + i].re;

            to[flip] = a[2 * i];
            to[1 - flip] = a[2 * i + 1];
        }
    }
    for (; j < count; j++)
        for (int i = 0; i < LANES; i++) {
            const number *x = (const number *)e->lane[i] + 2 * j * e->step;
            number *to = (number *)&c[j] + i;

            to[LANES * flip] = x[0];
            to[LANES * (1 - flip)] = x[1];
        }
}

INLINE void store_beside(const struct cell *c, int64_t count, int flip,
                         number scale, number *y, int64_t step)
{
    for (int64_t j = 0; j < count; j++) {
        const lanes *from = &c[j].re;
        const lanes a = from[flip] * scale, b = from[1 - flip] * scale;

        store_elements(a, b, y + 2 * j * step);
    }
}

INLINE int64_t store_rows(const struct cell *c, int64_t count, int flip,
                          number scale, const struct tfd_fft_ends *e, int lines)
{
    const int64_t ahead = next_group(e);
    int64_t j = 0;

    for (; j + HALF <= count; j += HALF) {
        lanes a[LANES];

        for (int i = 0; i < HALF; i++) {
            const lanes *from = &c[j + i].re;

            a[2 * i] = from[flip] * scale;
            a[2 * i + 1] = from[1 - flip] * scale;
        }
        transpose(a);
        for (int i = 0; i < LANES; i++)
            if (i < lines)
                store_lanes(a[i], (number *)e->lane[i] + 2 * j);
        ask_ahead(e, j, ahead, 1);
    }
    return j;
}

TARGET static void store_lines(const struct cell *c, int64_t count, int flip,
                               number scale, const struct tfd_fft_ends *e,
                               int lines)
{
    int64_t j = 0;

    if (e->beside) {
        store_beside(c, count, flip, scale, e->lane[0], e->step);
        return;
    }
    if (e->step == 1)
        j = store_rows(c, count, flip, scale, e, lines);
    for (; j < count; j++)
        for (int i = 0; i < lines; i++) {
            number *y = (number *)e->lane[i] + 2 * j * e->step;
            const number *from = (const number *)&c[j] + i;

            y[0] = (from[LANES * flip] * scale);
            y[1] = (from[LANES * (1 - flip)] * scale);
        }
}

/* ---- Real elements of lines ---------------------------------------------- */

TARGET static void load_reals(const struct tfd_fft_ends *e, int64_t count,
                              struct cell *c)
{
    memset(c, 0, (size_t)count * sizeof(*c));
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < LANES; i++)
            ((number *)&c[j])[i] = ((const number *)e->lane[i])[j * e->step];
}

TARGET static void store_reals(const struct cell *c, int64_t count, int flip,
                               number scale, const struct tfd_fft_ends *e,
                               int lines)
{
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < lines; i++) {
            number part = ((const number *)&c[j])[LANES * flip + i];

            ((number *)e->lane[i])[j * e->step] = (part * scale);
        }
}

#endif
