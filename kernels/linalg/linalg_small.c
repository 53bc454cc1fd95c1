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
    /* Rows and columns of a lie `row` and `column` apart; y is padded. */     \
    TFD_SMALL void load_##T(const T *a, int n, int row, int column, T *y)      \
    {                                                                          \
        const int stride = STRIDE(T, n);                                       \
                                                                               \
        for (int i = 0; i < n; i++)                                            \
            for (int j = 0; j < stride; j++)                                   \
                y[i * stride + j] = j < n ? a[i * row + j * column] : 0;       \
    }                                                                          \
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
    }

#define TFD_SMALL static inline __attribute__((always_inline))

SMALL(float, fabsf)
SMALL(double, fabs)

/* Elements of a matrix and its right side, or of so many of its columns. */
#define ROOM (4 * N * N)
/* Rows from which on longer vectors pay. */
#define WIDE_ROWS 9

/* The vector at x. */
#define AT(name, x) (*(name##_lanes *)(uintptr_t)(x))

/* Systems, in vectors of `bytes`.  A row of the matrix has its row of the right
 * side behind it, each of whole vectors. */
#define SOLVE(T, abs_, name, bytes)                                          \
    typedef T name##_lanes                                                   \
        __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));  \
    enum { name##_step = (int)((bytes) / sizeof(T)) };                       \
                                                                             \
    TFD_SMALL int name##_whole(int n)                                        \
    {                                                                        \
        return (n + name##_step - 1) & ~(name##_step - 1);                   \
    }                                                                        \
    /* y: n elements and zeros. */                                           \
    TFD_SMALL void name##_load(const T *x, int n, T *y)                      \
    {                                                                        \
        int j = 0;                                                           \
                                                                             \
        for (; j + name##_step <= n; j += name##_step)                       \
            AT(name, y + j) = AT(name, x + j);                               \
        for (const int stop = name##_whole(n); j < stop; j++)                \
            y[j] = j < n ? x[j] : 0;                                         \
    }                                                                        \
    TFD_SMALL void name##_store(const T *x, int n, T *y)                     \
    {                                                                        \
        int j = 0;                                                           \
                                                                             \
        for (; j + name##_step <= n; j += name##_step)                       \
            AT(name, y + j) = AT(name, x + j);                               \
        for (; j < n; j++)                                                   \
            y[j] = x[j];                                                     \
    }                                                                        \
    TFD_SMALL void name##_swap(T *x, T *y, int n)                            \
    {                                                                        \
        for (int j = 0; j < n; j += name##_step) {                           \
            const name##_lanes t = AT(name, x + j);                          \
                                                                             \
            AT(name, x + j) = AT(name, y + j);                               \
            AT(name, y + j) = t;                                             \
        }                                                                    \
    }                                                                        \
    /* The matrix becomes an upper triangle, and `inverse` that of its       \
     * diagonal; columns left of what is needed are not kept up.  False: it  \
     * has no inverse. */                                                    \
    TFD_SMALL bool name##_eliminate(T *a, int n, int stride, T *inverse)     \
    {                                                                        \
        for (int c = 0; c < n; c++) {                                        \
            const int p = pivot_##T(a, n, stride, c);                        \
            T *row = a + c * stride, factor[N];                              \
                                                                             \
            if (!(abs_(a[p * stride + c]) > 0))                              \
                return false;                                                \
            inverse[c] = 1 / a[p * stride + c];                              \
            if (p != c)                                                      \
                name##_swap(a + p * stride, row, stride);                    \
            for (int i = c + 1; i < n; i++)                                  \
                factor[i] = a[i * stride + c] * inverse[c];                  \
            for (int j = (c + 1) & ~(name##_step - 1); j < stride;           \
                 j += name##_step) {                                         \
                const name##_lanes y = AT(name, row + j);                    \
                                                                             \
                for (int i = c + 1; i < n; i++) {                            \
                    T *x = a + i * stride + j;                               \
                                                                             \
                    AT(name, x) = AT(name, x) - factor[i] * y;               \
                }                                                            \
            }                                                                \
        }                                                                    \
        return true;                                                         \
    }                                                                        \
    /* The right side begins at column `right`. */                           \
    TFD_SMALL void name##_substitute(T *a, int n, int right, int stride,     \
                                     const T *inverse)                       \
    {                                                                        \
        for (int i = n - 1; i >= 0; i--)                                     \
            for (int v = right; v < stride; v += name##_step) {              \
                name##_lanes x = AT(name, a + i * stride + v);               \
                                                                             \
                for (int j = i + 1; j < n; j++)                              \
                    x -= a[i * stride + j] * AT(name, a + j * stride + v);   \
                AT(name, a + i * stride + v) = x * inverse[i];               \
            }                                                                \
    }                                                                        \
    /* Columns [from, to) of the right side. */                              \
    TFD_SMALL bool name##_columns(const struct tfd_linalg *l, const T *a,    \
                                  const T *b, T *x, int from, int to)        \
    {                                                                        \
        const int n = l->rows, k = l->right, right = name##_whole(n);        \
        const int stride = right + name##_whole(to - from);                  \
        T own[ROOM], inverse[N];                                             \
                                                                             \
        for (int i = 0; i < n; i++) {                                        \
            T *row = own + i * stride;                                       \
                                                                             \
            if (l->flag)                                                     \
                for (int j = 0; j < right; j++)                              \
                    row[j] = j < n ? a[j * n + i] : 0;                       \
            else                                                             \
                name##_load(a + i * n, n, row);                              \
            if (b)                                                           \
                name##_load(b + (int64_t)i * k + from, to - from,            \
                            row + right);                                    \
            else                                                             \
                for (int j = right; j < stride; j++)                         \
                    row[j] = j - right == i;                                 \
        }                                                                    \
        if (!name##_eliminate(own, n, stride, inverse))                      \
            return false;                                                    \
        name##_substitute(own, n, right, stride, inverse);                   \
        for (int i = 0; i < n; i++)                                          \
            name##_store(own + i * stride + right, to - from,                \
                         x + (int64_t)i * k + from);                         \
        return true;                                                         \
    }                                                                        \
    TFD_SIMD_LOOP(name)                                                      \
    {                                                                        \
        struct tfd_linalg *l = arg;                                          \
        const int n = l->rows, k = l->right;                                 \
        const int most =                                                     \
            n ? (ROOM / n - name##_whole(n)) & ~(name##_step - 1) : 1;       \
        const T *a = l->a, *b = l->b;                                        \
        T *x = l->out[0];                                                    \
                                                                             \
        for (int64_t i = begin; i < end && n > 0 && !tfd_halted(); i++)      \
            for (int from = 0; from < k; from += most)                       \
                if (!name##_columns(l, a + i * n * n,                        \
                                    b ? b + i * n * k : NULL, x + i * n * k, \
                                    from,                                    \
                                    k - from < most ? k : from + most)) {    \
                    tfd_linalg_fail(l, TFD_LINALG_SINGULAR);                 \
                    return;                                                  \
                }                                                            \
    }

SOLVE(float, fabsf, solve_float, 32)
SOLVE(double, fabs, solve_double, 32)
TFD_SIMD_CLONES(solve_float)
TFD_SIMD_CLONES(solve_double)

#if defined(__x86_64__)
SOLVE(float, fabsf, solve_wide_float, 64)
SOLVE(double, fabs, solve_wide_double, 64)
TFD_SIMD_COPY(solve_wide_float, , TFD_SIMD_AVX512)
TFD_SIMD_COPY(solve_wide_double, , TFD_SIMD_AVX512)
#else
#define solve_wide_float solve_float
#define solve_wide_double solve_double
#endif

void tfd_linalg_small_float(void *arg, int64_t begin, int64_t end)
{
    if (((struct tfd_linalg *)arg)->rows >= WIDE_ROWS && tfd_simd_has_avx512())
        solve_wide_float(arg, begin, end);
    else
        solve_float(arg, begin, end);
}

void tfd_linalg_small_double(void *arg, int64_t begin, int64_t end)
{
    if (((struct tfd_linalg *)arg)->rows >= WIDE_ROWS && tfd_simd_has_avx512())
        solve_wide_double(arg, begin, end);
    else
        solve_double(arg, begin, end);
}

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
