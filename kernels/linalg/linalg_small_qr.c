/*
 * linalg_small_qr.c - Householder reflections of a matrix that has room in the
 * first cache, in rows of whole vectors; what is beside the matrix is zero and
 * stays so.
 *
 *     H = I - tau v v'   v is 1 in row c, 0 above it
 *     R = H(k-1) ... H(0) A,   Q = H(0) ... H(k-1) I
 *
 * A reflection makes of column c a multiple of the unit vector whose sign is
 * that opposite to the diagonal's, as LAPACK does; where nothing is below the
 * diagonal there is none (tau is 0).
 */
#include "kernels/linalg/linalg_small.h"

#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/vector/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define N TFD_LINALG_SMALL_MAX

/* Squares of numbers between these have sums that are normal doubles, and
 * their quotients are floats. */
#define LARGEST_float 1e30f
#define SMALLEST_float 1e-30f
#define LARGEST_double 1e140
#define SMALLEST_double 1e-120
/* A sum of squares below is lost beside any of those. */
#define SQUARE_MIN (DBL_MIN / DBL_EPSILON)

#define TFD_SMALL static inline __attribute__((always_inline))

typedef float lanes_float __attribute__((vector_size(64), may_alias));
typedef double lanes_double __attribute__((vector_size(64), may_alias));

#define SMALL_QR(T, abs_)                                                      \
    struct qr_##T {                                                            \
        _Alignas(64) T x[N][N];                                                \
        T v[N][N]; /* of each reflection */                                    \
        T tau[N];                                                              \
        int rows, columns;                                                     \
    };                                                                         \
                                                                               \
    /* False: another method is to take it. */                                 \
    TFD_SMALL bool read_##T(struct qr_##T *h, const T *a)                      \
    {                                                                          \
        const int m = h->rows, n = h->columns;                                 \
        T most = 0;                                                            \
        bool numbers = true;                                                   \
                                                                               \
        for (int i = 0; i < m * n; i++) {                                      \
            most = abs_(a[i]) > most ? abs_(a[i]) : most;                      \
            numbers &= abs_(a[i]) <= LARGEST_##T;                              \
        }                                                                      \
        memset(h->x, 0, sizeof(h->x[0]) * (size_t)m);                          \
        for (int i = 0; i < m; i++)                                            \
            memcpy(h->x[i], a + i * n, sizeof(T) * (size_t)n);                 \
        return numbers && most >= SMALLEST_##T;                                \
    }                                                                          \
    /* The reflection of column c; its diagonal becomes the column's length.   \
     */                                                                        \
    TFD_SMALL void reflect_##T(struct qr_##T *h, int c)                        \
    {                                                                          \
        const T first = h->x[c][c];                                            \
        double square = 0, length;                                             \
        T *v = h->v[c];                                                        \
                                                                               \
        for (int i = c + 1; i < h->rows; i++)                                  \
            square += (double)h->x[i][c] * (double)h->x[i][c];                 \
        length = sqrt((double)first * (double)first + square);                 \
        length = first < 0 ? length : -length;                                 \
        h->tau[c] = 0;                                                         \
        if (!(square >= SQUARE_MIN))                                           \
            return;                                                            \
        h->tau[c] = (T)((length - (double)first) / length);                    \
        v[c] = 1;                                                              \
        for (int i = c + 1; i < h->rows; i++)                                  \
            v[i] = (T)((double)h->x[i][c] / ((double)first - length));         \
    }                                                                          \
    /* H(c) times columns [from, to) of x, from and to whole vectors. */       \
    TFD_SMALL void apply_##T(struct qr_##T *h, int c, int from, int to)        \
    {                                                                          \
        const int step = (int)(sizeof(lanes_##T) / sizeof(T));                 \
        const T *v = h->v[c];                                                  \
                                                                               \
        for (int j = from; j < to; j += step) {                                \
            lanes_##T sum = {0}, other = {0};                                  \
            int i = c;                                                         \
                                                                               \
            for (; i + 1 < h->rows; i += 2) {                                  \
                sum += v[i] * *(const lanes_##T *)&h->x[i][j];                 \
                other += v[i + 1] * *(const lanes_##T *)&h->x[i + 1][j];       \
            }                                                                  \
            if (i < h->rows)                                                   \
                sum += v[i] * *(const lanes_##T *)&h->x[i][j];                 \
            sum = (sum + other) * h->tau[c];                                   \
            for (i = c; i < h->rows; i++)                                      \
                *(lanes_##T *)&h->x[i][j] -= v[i] * sum;                       \
        }                                                                      \
    }                                                                          \
    TFD_SMALL int whole_##T(int columns)                                       \
    {                                                                          \
        const int step = (int)(sizeof(lanes_##T) / sizeof(T));                 \
                                                                               \
        return (columns + step - 1) / step * step;                             \
    }                                                                          \
    TFD_SMALL void write_r_##T(const struct qr_##T *h, int height, T *r)       \
    {                                                                          \
        const int n = h->columns;                                              \
                                                                               \
        for (int i = 0; i < height; i++)                                       \
            for (int j = 0; j < n; j++)                                        \
                r[i * n + j] = j < i ? 0 : h->x[i][j];                         \
    }                                                                          \
    TFD_SMALL void write_q_##T(struct qr_##T *h, int steps, int width, T *q)   \
    {                                                                          \
        const int m = h->rows;                                                 \
                                                                               \
        memset(h->x, 0, sizeof(h->x[0]) * (size_t)m);                          \
        for (int i = 0; i < m; i++)                                            \
            h->x[i][i] = 1;                                                    \
        for (int c = steps - 1; c >= 0; c--)                                   \
            if (h->tau[c] != 0)                                                \
                apply_##T(h, c, c - c % whole_##T(1), whole_##T(width));       \
        for (int i = 0; i < m; i++)                                            \
            memcpy(q + i * width, h->x[i], sizeof(T) * (size_t)width);         \
    }                                                                          \
                                                                               \
    struct matrix_##T {                                                        \
        const struct tfd_linalg *l;                                            \
        const T *a;                                                            \
        T *q, *r;                                                              \
        bool done;                                                             \
    };                                                                         \
    TFD_SIMD_LOOP(one_##T)                                                     \
    {                                                                          \
        struct matrix_##T *s = arg;                                            \
        const int m = s->l->rows, n = s->l->columns,                           \
                  steps = (int)tfd_min(m, n);                                  \
        const int width = s->l->flag ? m : steps;                              \
        struct qr_##T h;                                                       \
                                                                               \
        (void)begin;                                                           \
        (void)end;                                                             \
        h.rows = m;                                                            \
        h.columns = n;                                                         \
        s->done = read_##T(&h, s->a);                                          \
        if (!s->done)                                                          \
            return;                                                            \
        for (int c = 0; c < steps; c++) {                                      \
            reflect_##T(&h, c);                                                \
            if (h.tau[c] != 0)                                                 \
                apply_##T(&h, c, c - c % whole_##T(1), whole_##T(n));          \
        }                                                                      \
        write_r_##T(&h, width, s->r);                                          \
        write_q_##T(&h, steps, width, s->q);                                   \
    }                                                                          \
    TFD_SIMD_CLONES_WIDE(one_##T)                                              \
                                                                               \
    bool tfd_linalg_small_qr_##T(const struct tfd_linalg *l, const T *a, T *q, \
                                 T *r)                                         \
    {                                                                          \
        struct matrix_##T s = {l, a, q, r, false};                             \
                                                                               \
        if (l->rows <= N && l->columns <= N)                                   \
            one_##T(&s, 0, 1);                                                 \
        return s.done;                                                         \
    }

SMALL_QR(float, fabsf)
SMALL_QR(double, fabs)
