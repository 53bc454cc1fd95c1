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

#if LANES > 2
#include <immintrin.h>
#endif

#define HALF (LANES / 2)

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
#if LANES == 8
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

INLINE lanes load_lanes(const double *x)
{
    lanes v;

    memcpy(&v, x, sizeof(v));
    return v;
}

INLINE void store_lanes(lanes v, double *y)
{
    memcpy(y, &v, sizeof(v));
}

typedef float narrow_lanes __attribute__((vector_size(4 * LANES)));
typedef float elements __attribute__((vector_size(8 * LANES)));

/* gcc 12 would convert halves of a vector, and put them together. */
INLINE lanes widen(narrow_lanes v)
{
#if LANES == 8
    return (lanes)_mm512_cvtps_pd((__m256)v);
#elif LANES == 4
    return (lanes)_mm256_cvtps_pd((__m128)v);
#else
    return __builtin_convertvector(v, lanes);
#endif
}

INLINE narrow_lanes narrow(lanes v)
{
#if LANES == 8
    return (narrow_lanes)_mm512_cvtpd_ps((__m512d)v);
#elif LANES == 4
    return (narrow_lanes)_mm256_cvtpd_ps((__m256d)v);
#else
    return __builtin_convertvector(v, narrow_lanes);
#endif
}

INLINE lanes load_as_double(const double *x)
{
    return load_lanes(x);
}

INLINE lanes load_as_float(const float *x)
{
    narrow_lanes v;

    memcpy(&v, x, sizeof(v));
    return widen(v);
}

INLINE void store_as_double(lanes v, double *y)
{
    store_lanes(v, y);
}

INLINE void store_as_float(lanes v, float *y)
{
    const narrow_lanes x = narrow(v);

    memcpy(y, &x, sizeof(x));
}

/* Real parts and others, to as many elements in a row. */
INLINE void store_elements_as_double(lanes re, lanes im, double *y)
{
    store_lanes(__builtin_shufflevector(re, im, LOWER), y);
    store_lanes(__builtin_shufflevector(re, im, UPPER), y + LANES);
}

INLINE void store_elements_as_float(lanes re, lanes im, float *y)
{
    const narrow_lanes a = narrow(re), b = narrow(im);
    const elements v = __builtin_shufflevector(a, b, LOWER, UPPER);

    memcpy(y, &v, sizeof(v));
}

INLINE void load_elements_as_double(const double *x, struct cell *c)
{
    const lanes a = load_lanes(x), b = load_lanes(x + LANES);

    c->re = __builtin_shufflevector(a, b, EVEN);
    c->im = __builtin_shufflevector(a, b, ODD);
}

INLINE void load_elements_as_float(const float *x, struct cell *c)
{
    const lanes a = load_as_float(x), b = load_as_float(x + LANES);

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

#define LOAD_LINES(T)                                                          \
    /* An element of each line, LANES of them in a row. */                     \
    INLINE void load_beside_##T(const T *x, int64_t step, int64_t count,       \
                                int flip, struct cell *c)                      \
    {                                                                          \
        for (int64_t j = 0; j < count; j++) {                                  \
            const lanes a = load_as_##T(x + 2 * j * step);                     \
            const lanes b = load_as_##T(x + 2 * j * step + LANES);             \
            lanes *to = &c[j].re;                                              \
                                                                               \
            to[flip] = __builtin_shufflevector(a, b, EVEN);                    \
            to[1 - flip] = __builtin_shufflevector(a, b, ODD);                 \
        }                                                                      \
    }                                                                          \
                                                                               \
    TARGET static void load_lines_##T(const struct tfd_fft_ends *e,            \
                                      int64_t count, int flip, struct cell *c) \
    {                                                                          \
        int64_t j = 0;                                                         \
                                                                               \
        if (e->beside) {                                                       \
            load_beside_##T(e->lane[0], e->step, count, flip, c);              \
            return;                                                            \
        }                                                                      \
        for (; e->step == 1 && j + HALF <= count; j += HALF) {                 \
            lanes a[LANES];                                                    \
                                                                               \
            for (int i = 0; i < LANES; i++)                                    \
                a[i] = load_as_##T((const T *)e->lane[i] + 2 * j);             \
            transpose(a);                                                      \
            for (int i = 0; i < HALF; i++) {                                   \
                lanes *to = &c[j + i].re;                                      \
                                                                               \
                to[flip] = a[2 * i];                                           \
                to[1 - flip] = a[2 * i + 1];                                   \
            }                                                                  \
        }                                                                      \
        for (; j < count; j++)                                                 \
            for (int i = 0; i < LANES; i++) {                                  \
                const T *x = (const T *)e->lane[i] + 2 * j * e->step;          \
                double *to = (double *)&c[j] + i;                              \
                                                                               \
                to[LANES * flip] = (double)x[0];                               \
                to[LANES * (1 - flip)] = (double)x[1];                         \
            }                                                                  \
    }

#define STORE_LINES(T)                                                       \
    INLINE void store_beside_##T(const struct cell *c, int64_t count,        \
                                 int flip, double scale, T *y, int64_t step) \
    {                                                                        \
        for (int64_t j = 0; j < count; j++) {                                \
            const lanes *from = &c[j].re;                                    \
            const lanes a = from[flip] * scale, b = from[1 - flip] * scale;  \
                                                                             \
            store_elements_as_##T(a, b, y + 2 * j * step);                   \
        }                                                                    \
    }                                                                        \
                                                                             \
    INLINE int64_t store_rows_##T(const struct cell *c, int64_t count,       \
                                  int flip, double scale,                    \
                                  const struct tfd_fft_ends *e, int lines)   \
    {                                                                        \
        int64_t j = 0;                                                       \
                                                                             \
        for (; j + HALF <= count; j += HALF) {                               \
            lanes a[LANES];                                                  \
                                                                             \
            for (int i = 0; i < HALF; i++) {                                 \
                const lanes *from = &c[j + i].re;                            \
                                                                             \
                a[2 * i] = from[flip] * scale;                               \
                a[2 * i + 1] = from[1 - flip] * scale;                       \
            }                                                                \
            transpose(a);                                                    \
            for (int i = 0; i < LANES; i++)                                  \
                if (i < lines)                                               \
                    store_as_##T(a[i], (T *)e->lane[i] + 2 * j);             \
        }                                                                    \
        return j;                                                            \
    }                                                                        \
                                                                             \
    TARGET static void store_lines_##T(                                      \
        const struct cell *c, int64_t count, int flip, double scale,         \
        const struct tfd_fft_ends *e, int lines)                             \
    {                                                                        \
        int64_t j = 0;                                                       \
                                                                             \
        if (e->beside) {                                                     \
            store_beside_##T(c, count, flip, scale, e->lane[0], e->step);    \
            return;                                                          \
        }                                                                    \
        if (e->step == 1)                                                    \
            j = store_rows_##T(c, count, flip, scale, e, lines);             \
        for (; j < count; j++)                                               \
            for (int i = 0; i < lines; i++) {                                \
                T *y = (T *)e->lane[i] + 2 * j * e->step;                    \
                const double *from = (const double *)&c[j] + i;              \
                                                                             \
                y[0] = (T)(from[LANES * flip] * scale);                      \
                y[1] = (T)(from[LANES * (1 - flip)] * scale);                \
            }                                                                \
    }

LOAD_LINES(float)
LOAD_LINES(double)
STORE_LINES(float)
STORE_LINES(double)

/* ---- Real elements of lines ---------------------------------------------- */

#define MOVE_REALS(T)                                                    \
    TARGET static void load_reals_##T(const struct tfd_fft_ends *e,      \
                                      int64_t count, struct cell *c)     \
    {                                                                    \
        memset(c, 0, (size_t)count * sizeof(*c));                        \
        for (int64_t j = 0; j < count; j++)                              \
            for (int i = 0; i < LANES; i++)                              \
                ((double *)&c[j])[i] =                                   \
                    (double)((const T *)e->lane[i])[j * e->step];        \
    }                                                                    \
                                                                         \
    TARGET static void store_reals_##T(                                  \
        const struct cell *c, int64_t count, int flip, double scale,     \
        const struct tfd_fft_ends *e, int lines)                         \
    {                                                                    \
        for (int64_t j = 0; j < count; j++)                              \
            for (int i = 0; i < lines; i++) {                            \
                double part = ((const double *)&c[j])[LANES * flip + i]; \
                                                                         \
                ((T *)e->lane[i])[j * e->step] = (T)(part * scale);      \
            }                                                            \
    }

MOVE_REALS(float)
MOVE_REALS(double)

#endif
