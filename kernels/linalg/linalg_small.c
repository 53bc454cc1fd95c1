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
#define LANES_SIZE 32 /* bytes of a vector */
#define LANES(T) ((int)(LANES_SIZE / sizeof(T)))
/* Elements from a row to the next, whole vectors. */
#define STRIDE(T, n) (((n) + LANES(T) - 1) & ~(LANES(T) - 1))

#define SMALL(T, abs_)                                                         \
    TFD_SMALL void subtract_##T(T *x, T factor, const T *y, int n)             \
    {                                                                          \
        for (int i = 0; i < n; i++)                                            \
            x[i] -= factor * y[i];                                             \
    }                                                                          \
    TFD_SMALL void swap_##T(T *x, T *y, int n)                                 \
    {                                                                          \
        for (int i = 0; i < n; i++) {                                          \
            const T t = x[i];                                                  \
                                                                               \
            x[i] = y[i];                                                       \
            y[i] = t;                                                          \
        }                                                                      \
    }                                                                          \
    typedef T lanes_##T __attribute__((vector_size(LANES_SIZE),                \
                                       aligned(sizeof(T)), may_alias));        \
    /* Columns from c on; y has nothing before them, so that all are vectors.  \
     */                                                                        \
    TFD_SMALL void reduce_##T(T *x, T factor, const T *y, int c, int stride)   \
    {                                                                          \
        for (int j = c & ~(LANES(T) - 1); j < stride; j += LANES(T))           \
            *(lanes_##T *)(void *)(x + j) -=                                   \
                factor * *(const lanes_##T *)(const void *)(y + j);            \
    }                                                                          \
    /* Columns after c of a row, nothing before them. */                       \
    TFD_SMALL void copy_rest_##T(const T *x, int c, int stride, T *y)          \
    {                                                                          \
        for (int j = 0; j < stride; j++)                                       \
            y[j] = j > c ? x[j] : 0;                                           \
    }                                                                          \
    /* The row from c on whose column c is the largest. */                     \
    TFD_SMALL int pivot_##T(const T *a, int n, int stride, int c)              \
    {                                                                          \
        int best = c;                                                          \
        T most = abs_(a[c * stride + c]);                                      \
                                                                               \
        for (int i = c + 1; i < n; i++) {                                      \
            const T size = abs_(a[i * stride + c]);                            \
                                                                               \
            best = size > most ? i : best;                                     \
            most = size > most ? size : most;                                  \
        }                                                                      \
        return best;                                                           \
    }                                                                          \
    /* a becomes an upper triangle whose diagonal is inverted.  False: it has  \
     * no inverse. */                                                          \
    TFD_SMALL bool eliminate_##T(T *a, int n, int stride, T *x, int k)         \
    {                                                                          \
        T rest[N];                                                             \
                                                                               \
        for (int c = 0; c < n; c++) {                                          \
            const int p = pivot_##T(a, n, stride, c);                          \
            T *row = a + c * stride, *right = x + (int64_t)c * k;              \
                                                                               \
            if (!(abs_(a[p * stride + c]) > 0))                                \
                return false;                                                  \
            if (p != c) {                                                      \
                swap_##T(a + p * stride, row, stride);                         \
                swap_##T(x + (int64_t)p * k, right, k);                        \
            }                                                                  \
            row[c] = 1 / row[c];                                               \
            copy_rest_##T(row, c, stride, rest);                               \
            for (int i = c + 1; i < n; i++) {                                  \
                const T factor = a[i * stride + c] * row[c];                   \
                                                                               \
                reduce_##T(a + i * stride, factor, rest, c + 1, stride);       \
                subtract_##T(x + (int64_t)i * k, factor, right, k);            \
            }                                                                  \
        }                                                                      \
        return true;                                                           \
    }                                                                          \
    TFD_SMALL void substitute_##T(const T *a, int n, int stride, T *x, int k)  \
    {                                                                          \
        for (int i = n - 1; i >= 0; i--) {                                     \
            T *right = x + (int64_t)i * k;                                     \
                                                                               \
            for (int j = i + 1; j < n; j++)                                    \
                subtract_##T(right, a[i * stride + j], x + (int64_t)j * k, k); \
            for (int j = 0; j < k; j++)                                        \
                right[j] *= a[i * stride + i];                                 \
        }                                                                      \
    }                                                                          \
    /* Rows and columns of a lie `row` and `column` apart; y is padded. */     \
    TFD_SMALL void load_##T(const T *a, int n, int row, int column, T *y)      \
    {                                                                          \
        const int stride = STRIDE(T, n);                                       \
                                                                               \
        for (int i = 0; i < n; i++)                                            \
            for (int j = 0; j < stride; j++)                                   \
                y[i * stride + j] = j < n ? a[i * row + j * column] : 0;       \
    }                                                                          \
    TFD_SMALL bool solve_##T(const struct tfd_linalg *l, const T *a,           \
                             const T *b, T *x)                                 \
    {                                                                          \
        const int n = l->rows, k = l->right, stride = STRIDE(T, n);            \
        T own[N * N];                                                          \
                                                                               \
        load_##T(a, n, l->flag ? 1 : n, l->flag ? n : 1, own);                 \
        if (b)                                                                 \
            memcpy(x, b, sizeof(T) * (size_t)n * (size_t)k);                   \
        else                                                                   \
            for (int i = 0; i < n * n; i++)                                    \
                x[i] = i % (n + 1) == 0;                                       \
        if (!eliminate_##T(own, n, stride, x, k))                              \
            return false;                                                      \
        substitute_##T(own, n, stride, x, k);                                  \
        return true;                                                           \
    }                                                                          \
    TFD_SIMD_LOOP(small_##T)                                                   \
    {                                                                          \
        struct tfd_linalg *l = arg;                                            \
        const int64_t n = l->rows, size = n * l->right;                        \
        const T *a = l->a, *b = l->b;                                          \
        T *x = l->out[0];                                                      \
                                                                               \
        for (int64_t i = begin; i < end && size > 0 && !tfd_halted(); i++)     \
            if (!solve_##T(l, a + i * n * n, b ? b + i * size : NULL,          \
                           x + i * size)) {                                    \
                tfd_linalg_fail(l, TFD_LINALG_SINGULAR);                       \
                return;                                                        \
            }                                                                  \
    }                                                                          \
    TFD_SIMD_CLONES(small_##T)                                                 \
                                                                               \
    struct factor_##T {                                                        \
        const T *a;                                                            \
        T *y, *sign;                                                           \
        int *rows;                                                             \
        bool done;                                                             \
    };                                                                         \
    /* Of `end` rows. */                                                       \
    TFD_SIMD_LOOP(factor_##T)                                                  \
    {                                                                          \
        struct factor_##T *f = arg;                                            \
        const int n = (int)end, stride = STRIDE(T, n);                         \
        T own[N * N], rest[N], sign = *f->sign;                                \
                                                                               \
        load_##T(f->a, n, n, 1, own);                                          \
        for (int c = (int)begin; c < n; c++) {                                 \
            const int p = pivot_##T(own, n, stride, c), number = f->rows[p];   \
            T *row = own + c * stride;                                         \
                                                                               \
            if (!(abs_(own[p * stride + c]) > 0))                              \
                return;                                                        \
            if (p != c) {                                                      \
                swap_##T(own + p * stride, row, stride);                       \
                sign = -sign;                                                  \
                f->rows[p] = f->rows[c];                                       \
                f->rows[c] = number;                                           \
            }                                                                  \
            copy_rest_##T(row, c, stride, rest);                               \
            for (int i = c + 1; i < n; i++)                                    \
                own[i * stride + c] /= row[c];                                 \
            for (int i = c + 1; i < n; i++)                                    \
                reduce_##T(own + i * stride, own[i * stride + c], rest, c + 1, \
                           stride);                                            \
        }                                                                      \
        for (int i = 0; i < n; i++)                                            \
            memcpy(f->y + i * n, own + i * stride, sizeof(T) * (size_t)n);     \
        *f->sign = sign;                                                       \
        f->done = true;                                                        \
    }                                                                          \
    TFD_SIMD_AVX2_ONLY(factor_##T)                                             \
    bool tfd_linalg_small_factor_##T(int n, const T *a, T *y, T *sign,         \
                                     int *rows)                                \
    {                                                                          \
        struct factor_##T f = {a, y, sign, rows, false};                       \
                                                                               \
        for (int i = 0; i < n && n <= N; i++)                                  \
            rows[i] = i;                                                       \
        if (n <= N && TFD_SIMD_HAS_AVX2())                                     \
            factor_##T##_lanes(&f, 0, n);                                      \
        return f.done;                                                         \
    }                                                                          \
                                                                               \
    void tfd_linalg_small_##T(void *arg, int64_t begin, int64_t end)           \
    {                                                                          \
        small_##T(arg, begin, end);                                            \
    }

#define TFD_SMALL static inline __attribute__((always_inline))

SMALL(float, fabsf)
SMALL(double, fabs)

/* With L the lower triangle l, and t the lower triangle of L' grad, its
 * diagonal halved, y is the mean of L'^-1 t L^-1 and its transpose.  A division
 * from the right is one from the left of what is transposed. */
#define SMALL_GRAD(T)                                                         \
    TFD_SMALL void lower_##T(const T *a, int n, int row, int stride, T *y)    \
    {                                                                         \
        for (int i = 0; i < n; i++)                                           \
            for (int j = 0; j < stride; j++)                                  \
                y[i * stride + j] = j <= i ? a[i * row + j] : 0;              \
    }                                                                         \
    /* x = L' x */                                                            \
    TFD_SMALL void times_##T(const T *l, int n, int stride, T *x)             \
    {                                                                         \
        for (int i = 0; i < n; i++) {                                         \
            T *row = x + i * stride;                                          \
                                                                              \
            for (int j = 0; j < stride; j++)                                  \
                row[j] *= l[i * n + i];                                       \
            for (int k = i + 1; k < n; k++)                                   \
                reduce_##T(row, -l[k * n + i], x + k * stride, 0, stride);    \
        }                                                                     \
    }                                                                         \
    /* x = L'^-1 x */                                                         \
    TFD_SMALL void divided_##T(const T *l, int n, int stride, T *x)           \
    {                                                                         \
        for (int i = n - 1; i >= 0; i--) {                                    \
            T *row = x + i * stride;                                          \
                                                                              \
            for (int j = 0; j < n; j++)                                       \
                row[j] /= l[i * n + i];                                       \
            for (int k = 0; k < i; k++)                                       \
                reduce_##T(x + k * stride, l[i * n + k], row, 0, stride);     \
        }                                                                     \
    }                                                                         \
    struct grad_##T {                                                         \
        const T *l, *grad;                                                    \
        T *y;                                                                 \
    };                                                                        \
    /* Of `end` rows. */                                                      \
    TFD_SIMD_LOOP(grad_##T)                                                   \
    {                                                                         \
        const struct grad_##T *g = arg;                                       \
        const int n = (int)end, stride = STRIDE(T, n);                        \
        T x[N * N], turned[N * N];                                            \
                                                                              \
        lower_##T(g->grad, n, n, stride, x);                                  \
        times_##T(g->l, n, stride, x);                                        \
        for (int i = (int)begin; i < n; i++)                                  \
            x[i * stride + i] /= 2;                                           \
        lower_##T(x, n, stride, stride, x);                                   \
        divided_##T(g->l, n, stride, x);                                      \
        for (int i = 0; i < n; i++)                                           \
            for (int j = 0; j < stride; j++)                                  \
                turned[i * stride + j] = j < n ? x[j * stride + i] : 0;       \
        divided_##T(g->l, n, stride, turned);                                 \
        for (int i = 0; i < n; i++)                                           \
            for (int j = 0; j < n; j++)                                       \
                g->y[i * n + j] =                                             \
                    (turned[i * stride + j] + turned[j * stride + i]) / 2;    \
    }                                                                         \
    TFD_SIMD_AVX2_ONLY(grad_##T)                                              \
    bool tfd_linalg_small_cholesky_grad_##T(int n, const T *l, const T *grad, \
                                            T *y)                             \
    {                                                                         \
        struct grad_##T g = {l, grad, y};                                     \
                                                                              \
        if (n > N || !TFD_SIMD_HAS_AVX2())                                    \
            return false;                                                     \
        grad_##T##_lanes(&g, 0, n);                                           \
        return true;                                                          \
    }

SMALL_GRAD(float)
SMALL_GRAD(double)
