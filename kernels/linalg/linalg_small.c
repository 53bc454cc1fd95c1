/*
 * linalg_small.c - Gaussian elimination with partial pivoting, of the matrix
 * and of the right side's rows at once; then back substitution.  Each step
 * subtracts a row from another, in vectors.
 */
#include "kernels/linalg/linalg_small.h"

#include "common/thread/halt.h"
#include "kernels/vector/simd.h"

#include <math.h>
#include <string.h>

#define N TFD_LINALG_SMALL_MAX

#define SMALL(T, abs_)                                                        \
    TFD_SMALL void subtract_##T(T *x, T factor, const T *y, int n)            \
    {                                                                         \
        for (int i = 0; i < n; i++)                                           \
            x[i] -= factor * y[i];                                            \
    }                                                                         \
    TFD_SMALL void swap_##T(T *x, T *y, int n)                                \
    {                                                                         \
        for (int i = 0; i < n; i++) {                                         \
            const T t = x[i];                                                 \
                                                                              \
            x[i] = y[i];                                                      \
            y[i] = t;                                                         \
        }                                                                     \
    }                                                                         \
    /* The row from c on whose column c is the largest. */                    \
    TFD_SMALL int pivot_##T(const T *a, int n, int c)                         \
    {                                                                         \
        int best = c;                                                         \
                                                                              \
        for (int i = c + 1; i < n; i++)                                       \
            if (abs_(a[i * n + c]) > abs_(a[best * n + c]))                   \
                best = i;                                                     \
        return best;                                                          \
    }                                                                         \
    /* a becomes an upper triangle whose diagonal is inverted.  False: it has \
     * no inverse. */                                                         \
    TFD_SMALL bool eliminate_##T(T *a, int n, T *x, int k)                    \
    {                                                                         \
        for (int c = 0; c < n; c++) {                                         \
            const int p = pivot_##T(a, n, c);                                 \
            T *row = a + c * n, *right = x + (int64_t)c * k;                  \
                                                                              \
            if (!(abs_(a[p * n + c]) > 0))                                    \
                return false;                                                 \
            if (p != c) {                                                     \
                swap_##T(a + p * n, row, n);                                  \
                swap_##T(x + (int64_t)p * k, right, k);                       \
            }                                                                 \
            row[c] = 1 / row[c];                                              \
            for (int i = c + 1; i < n; i++) {                                 \
                const T factor = a[i * n + c] * row[c];                       \
                                                                              \
                subtract_##T(a + i * n + c + 1, factor, row + c + 1,          \
                             n - c - 1);                                      \
                subtract_##T(x + (int64_t)i * k, factor, right, k);           \
            }                                                                 \
        }                                                                     \
        return true;                                                          \
    }                                                                         \
    TFD_SMALL void substitute_##T(const T *a, int n, T *x, int k)             \
    {                                                                         \
        for (int i = n - 1; i >= 0; i--) {                                    \
            T *right = x + (int64_t)i * k;                                    \
                                                                              \
            for (int j = i + 1; j < n; j++)                                   \
                subtract_##T(right, a[i * n + j], x + (int64_t)j * k, k);     \
            for (int j = 0; j < k; j++)                                       \
                right[j] *= a[i * n + i];                                     \
        }                                                                     \
    }                                                                         \
    TFD_SMALL bool solve_##T(const struct tfd_linalg *l, const T *a,          \
                             const T *b, T *x)                                \
    {                                                                         \
        const int n = l->rows, k = l->right;                                  \
        T own[N * N];                                                         \
                                                                              \
        for (int i = 0; i < n; i++)                                           \
            for (int j = 0; j < n; j++)                                       \
                own[i * n + j] = l->flag ? a[j * n + i] : a[i * n + j];       \
        if (b)                                                                \
            memcpy(x, b, sizeof(T) * (size_t)n * (size_t)k);                  \
        else                                                                  \
            for (int i = 0; i < n * n; i++)                                   \
                x[i] = i % (n + 1) == 0;                                      \
        if (!eliminate_##T(own, n, x, k))                                     \
            return false;                                                     \
        substitute_##T(own, n, x, k);                                         \
        return true;                                                          \
    }                                                                         \
    TFD_SIMD_LOOP(small_##T)                                                  \
    {                                                                         \
        struct tfd_linalg *l = arg;                                           \
        const int64_t n = l->rows, size = n * l->right;                       \
        const T *a = l->a, *b = l->b;                                         \
        T *x = l->out[0];                                                     \
                                                                              \
        for (int64_t i = begin; i < end && size > 0 && !tfd_halted(); i++)    \
            if (!solve_##T(l, a + i * n * n, b ? b + i * size : NULL,         \
                           x + i * size)) {                                   \
                tfd_linalg_fail(l, TFD_LINALG_SINGULAR);                      \
                return;                                                       \
            }                                                                 \
    }                                                                         \
    TFD_SIMD_CLONES(small_##T)                                                \
                                                                              \
    struct factor_##T {                                                       \
        int n;                                                                \
        T *a, *sign;                                                          \
        bool done;                                                            \
    };                                                                        \
    TFD_SIMD_LOOP(factor_##T)                                                 \
    {                                                                         \
        struct factor_##T *f = arg;                                           \
        const int n = f->n;                                                   \
        T *a = f->a;                                                          \
                                                                              \
        (void)begin;                                                          \
        (void)end;                                                            \
        for (int c = 0; c < n; c++) {                                         \
            const int p = pivot_##T(a, n, c);                                 \
            T *row = a + c * n;                                               \
                                                                              \
            if (!(abs_(a[p * n + c]) > 0))                                    \
                return;                                                       \
            if (p != c) {                                                     \
                swap_##T(a + p * n, row, n);                                  \
                *f->sign = -*f->sign;                                         \
            }                                                                 \
            for (int i = c + 1; i < n; i++)                                   \
                subtract_##T(a + i * n + c + 1, a[i * n + c] / row[c],        \
                             row + c + 1, n - c - 1);                         \
        }                                                                     \
        f->done = true;                                                       \
    }                                                                         \
    TFD_SIMD_CLONES(factor_##T)                                               \
    bool tfd_linalg_small_factor_##T(int n, const T *a, T *y, T *sign)        \
    {                                                                         \
        T turned = *sign;                                                     \
        struct factor_##T f = {n, y, &turned, false};                         \
                                                                              \
        if (n > N)                                                            \
            return false;                                                     \
        memcpy(y, a, sizeof(T) * (size_t)n * (size_t)n);                      \
        factor_##T(&f, 0, n);                                                 \
        *sign = f.done ? turned : *sign;                                      \
        return f.done;                                                        \
    }                                                                         \
                                                                              \
    void tfd_linalg_small_##T(void *arg, int64_t begin, int64_t end)          \
    {                                                                         \
        small_##T(arg, begin, end);                                           \
    }

#define TFD_SMALL static inline __attribute__((always_inline))

SMALL(float, fabsf)
SMALL(double, fabs)
