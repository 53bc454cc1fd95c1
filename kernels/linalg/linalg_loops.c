/*
 * linalg_loops.c - linalg_loops.h by way of LAPACK.
 *
 * LAPACK wants columns one after the other, so matrices are transposed on the
 * way in and out, but for Cholesky: its upper factor of the transposed matrix
 * is the transposed lower one.
 *
 * The functions of a type are made by one macro each, from the letter of LAPACK
 * (s, d, c, z), the type T and that of its real numbers R.
 */
#include "kernels/linalg/linalg_loops.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "kernels/vector/complex_math.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linalg_small.h"

#include <math.h>
#include <string.h>

void tfd_linalg_fail(struct tfd_linalg *l, enum tfd_linalg_failure why)
{
    TFD_STORE_RELAXED(&l->failed, (int)why);
}

static int smaller_int(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Room for `count` elements and some ints behind them; NULL is reported. */
static struct tfd_buffer *work_space(struct tfd_linalg *l, int64_t count,
                                     size_t size, int64_t ints)
{
    size_t bytes = (size_t)count * size + (size_t)ints * sizeof(int);
    struct tfd_buffer *b = tfd_buffer_new(bytes);

    if (!b)
        tfd_linalg_fail(l, TFD_LINALG_MEMORY);
    return b;
}

#define WORK_COLUMNS 64 /* LAPACK's blocks are no wider */

/* ---- Of one element ------------------------------------------------------ */

/* number: from a real one.  nothing: what stands where there is no result.
 * There is no complex NaN in TensorFlow's way of asking for one, so that is 0.
 */

#define ELEMENT_REAL(p, T)                       \
    static inline T number_##p(double x)         \
    {                                            \
        return (T)x;                             \
    }                                            \
    static inline T nothing_##p(void)            \
    {                                            \
        return (T)NAN;                           \
    }                                            \
    static inline T conj_##p(T x)                \
    {                                            \
        return x;                                \
    }                                            \
    static inline T magnitude_##p(T x)           \
    {                                            \
        return x < 0 ? -x : x;                   \
    }                                            \
    static inline T unit_##p(T x)                \
    {                                            \
        return x > 0 ? (T)1 : x < 0 ? (T)-1 : x; \
    }                                            \
    static inline T times_##p(T x, T y)          \
    {                                            \
        return x * y;                            \
    }

#define ELEMENT_COMPLEX(p, T, R, hypot_)                      \
    static inline T number_##p(double x)                      \
    {                                                         \
        return (T){(R)x, 0};                                  \
    }                                                         \
    static inline T nothing_##p(void)                         \
    {                                                         \
        return (T){0, 0};                                     \
    }                                                         \
    static inline T conj_##p(T x)                             \
    {                                                         \
        return T##_conj(x);                                   \
    }                                                         \
    static inline R magnitude_##p(T x)                        \
    {                                                         \
        return hypot_(x.re, x.im);                            \
    }                                                         \
    static inline T unit_##p(T x)                             \
    {                                                         \
        R size = magnitude_##p(x);                            \
                                                              \
        return size == 0 ? x : (T){x.re / size, x.im / size}; \
    }                                                         \
    static inline T times_##p(T x, T y)                       \
    {                                                         \
        return T##_mul(x, y);                                 \
    }

ELEMENT_REAL(s, float)
ELEMENT_REAL(d, double)
ELEMENT_COMPLEX(c, tfd_complex64, float, hypotf)
ELEMENT_COMPLEX(z, tfd_complex128, double, hypot)

/* ---- Copies -------------------------------------------------------------- */

#define COPIES(p, T, R, orgqr)                                         \
    /* y[j][i] = x[i][j]; rows and columns are those of x. */          \
    static void transpose_##p(const T *x, int rows, int columns, T *y) \
    {                                                                  \
        for (int64_t i = 0; i < rows; i++)                             \
            for (int64_t j = 0; j < columns; j++)                      \
                y[j * rows + i] = x[i * columns + j];                  \
    }                                                                  \
    static void conjugate_##p(T *x, int64_t n)                         \
    {                                                                  \
        for (int64_t i = 0; i < n; i++)                                \
            x[i] = conj_##p(x[i]);                                     \
    }                                                                  \
    static void identity_##p(T *x, int n)                              \
    {                                                                  \
        for (int64_t i = 0; i < (int64_t)n * n; i++)                   \
            x[i] = number_##p(i % (n + 1) == 0 ? 1 : 0);               \
    }                                                                  \
    static void fill_nothing_##p(T *x, int64_t n)                      \
    {                                                                  \
        for (int64_t i = 0; i < n; i++)                                \
            x[i] = nothing_##p();                                      \
    }

/* ---- QR ------------------------------------------------------------------ */

#define QR(p, T, R, orgqr)                                                     \
    /* R is above the diagonal of the factored columns. */                     \
    static void upper_##p(const T *a, int rows, int columns, int height, T *r) \
    {                                                                          \
        for (int64_t i = 0; i < height; i++)                                   \
            for (int64_t j = 0; j < columns; j++)                              \
                r[i * columns + j] = j < i ? number_##p(0) : a[j * rows + i];  \
    }                                                                          \
    static void qr_one_##p(struct tfd_linalg *l, const T *a, T *q, T *r)       \
    {                                                                          \
        const int m = l->rows, n = l->columns, k = smaller_int(m, n);          \
        const int wide = l->flag ? m : k, size = larger(n, wide);              \
        const int work_size = WORK_COLUMNS * larger(size, 1);                  \
        int info;                                                              \
        struct tfd_buffer *b =                                                 \
            work_space(l, (int64_t)m * size + k + work_size, sizeof(T), 0);    \
        T *columns = b ? b->data : NULL, *tau = columns + (int64_t)m * size;   \
        T *work = tau + k;                                                     \
                                                                               \
        if (!b)                                                                \
            return;                                                            \
        transpose_##p(a, m, n, columns);                                       \
        p##geqrf_(&m, &n, columns, &m, tau, work, &work_size, &info);          \
        upper_##p(columns, m, n, wide, r);                                     \
        p##orgqr(&m, &wide, &k, columns, &m, tau, work, &work_size, &info);    \
        transpose_##p(columns, wide, m, q);                                    \
        tfd_buffer_unref(b);                                                   \
    }                                                                          \
    static void qr_##p(void *arg, int64_t begin, int64_t end)                  \
    {                                                                          \
        struct tfd_linalg *l = arg;                                            \
        const int64_t m = l->rows, n = l->columns;                             \
        const int64_t k = l->flag ? m : smaller_int(l->rows, l->columns);      \
        const T *a = l->a;                                                     \
        T *q = l->out[0], *r = l->out[1];                                      \
                                                                               \
        for (int64_t i = begin; i < end; i++) {                                \
            const T *x = a + i * m * n;                                        \
            T *one = q + i * m * k, *upper = r + i * k * n;                    \
                                                                               \
            if (m == 0 || n == 0)                                              \
                identity_##p(one, k > 0 ? (int)m : 0);                         \
            else if (!tfd_linalg_small_qr_##T(l, x, one, upper))               \
                qr_one_##p(l, x, one, upper);                                  \
        }                                                                      \
    }

/* ---- Cholesky ------------------------------------------------------------ */

#define CHOLESKY(p, T, R, orgqr)                                    \
    static void cholesky_one_##p(int n, const T *a, T *y)           \
    {                                                               \
        int info;                                                   \
                                                                    \
        memcpy(y, a, sizeof(T) * (size_t)n * (size_t)n);            \
        p##potrf_("U", &n, y, &n, &info, 1);                        \
        for (int64_t i = 0; i < n; i++)                             \
            info |= !(magnitude_##p(y[i * n + i]) >= 0);            \
        for (int64_t i = 0; i < n; i++)                             \
            for (int64_t j = 0; j < n; j++)                         \
                if (j > i)                                          \
                    y[i * n + j] = number_##p(0);                   \
                else if (info != 0)                                 \
                    y[i * n + j] = nothing_##p();                   \
    }                                                               \
    static void cholesky_##p(void *arg, int64_t begin, int64_t end) \
    {                                                               \
        const struct tfd_linalg *l = arg;                           \
        const int64_t size = (int64_t)l->rows * l->rows;            \
        const T *a = l->a;                                          \
        T *y = l->out[0];                                           \
                                                                    \
        for (int64_t i = begin; i < end && size > 0; i++)           \
            cholesky_one_##p(l->rows, a + i * size, y + i * size);  \
    }

/* ---- LU ------------------------------------------------------------------ */

/* Of small matrices; false: there is none of this type. */
#define SMALL(p, T)                                              \
    static bool small_##p(void *arg, int64_t begin, int64_t end) \
    {                                                            \
        tfd_linalg_small_##T(arg, begin, end);                   \
        return true;                                             \
    }
#define NO_SMALL(p)                                              \
    static bool small_##p(void *arg, int64_t begin, int64_t end) \
    {                                                            \
        (void)arg;                                               \
        (void)begin;                                             \
        (void)end;                                               \
        return false;                                            \
    }

SMALL(s, float)
SMALL(d, double)
NO_SMALL(c)
NO_SMALL(z)

#define LU(p, T, R, orgqr)                                                     \
    /* Factors the columns; false when a pivot is no invertible number. */     \
    static bool factor_##p(T *columns, int n, int *pivots)                     \
    {                                                                          \
        bool invertible = true;                                                \
        int info;                                                              \
                                                                               \
        p##getrf_(&n, &n, columns, &n, pivots, &info);                         \
        for (int64_t i = 0; i < n; i++)                                        \
            invertible = invertible && magnitude_##p(columns[i * n + i]) > 0;  \
        return invertible;                                                     \
    }                                                                          \
    /* y: on entry the columns of the right side, then those of X. */          \
    static void solve_columns_##p(struct tfd_linalg *l, const T *a, T *y,      \
                                  int right)                                   \
    {                                                                          \
        const int n = l->rows;                                                 \
        const int64_t size = (int64_t)n * n;                                   \
        struct tfd_buffer *b = work_space(l, size, sizeof(T), n);              \
        T *columns = b ? b->data : NULL;                                       \
        int *pivots = (int *)(void *)(columns + size), info;                   \
                                                                               \
        if (!b)                                                                \
            return;                                                            \
        transpose_##p(a, n, n, columns);                                       \
        if (factor_##p(columns, n, pivots))                                    \
            p##getrs_(l->flag ? "C" : "N", &n, &right, columns, &n, pivots, y, \
                      &n, &info, 1);                                           \
        else                                                                   \
            tfd_linalg_fail(l, TFD_LINALG_SINGULAR);                           \
        tfd_buffer_unref(b);                                                   \
    }                                                                          \
    static void solve_one_##p(struct tfd_linalg *l, const T *a, const T *x,    \
                              T *y)                                            \
    {                                                                          \
        const int64_t size = (int64_t)l->rows * l->right;                      \
        struct tfd_buffer *b = work_space(l, size, sizeof(T), 0);              \
        T *columns = b ? b->data : NULL;                                       \
                                                                               \
        if (!b)                                                                \
            return;                                                            \
        if (x)                                                                 \
            transpose_##p(x, l->rows, l->right, columns);                      \
        else                                                                   \
            identity_##p(columns, l->rows);                                    \
        solve_columns_##p(l, a, columns, l->right);                            \
        transpose_##p(columns, l->right, l->rows, y);                          \
        tfd_buffer_unref(b);                                                   \
    }                                                                          \
    static void solve_##p(void *arg, int64_t begin, int64_t end)               \
    {                                                                          \
        struct tfd_linalg *l = arg;                                            \
        const int64_t n = l->rows, size = n * l->right;                        \
        const T *a = l->a, *x = l->b;                                          \
        T *y = l->out[0];                                                      \
                                                                               \
        if (n <= TFD_LINALG_SMALL_MAX && small_##p(arg, begin, end))           \
            return;                                                            \
                                                                               \
        for (int64_t i = begin; i < end && size > 0; i++)                      \
            solve_one_##p(l, a + i * n * n, x ? x + i * size : NULL,           \
                          y + i * size);                                       \
    }

#define DET(p, T, R, orgqr)                                                  \
    /* The factors of one matrix; the sign of their permutation. */          \
    static T *permuted_##p(struct tfd_linalg *l, const T *a,                 \
                           struct tfd_buffer *b, T *sign)                    \
    {                                                                        \
        const int n = l->rows;                                               \
        T *columns = b->data;                                                \
        int *pivots = (int *)(void *)(columns + (int64_t)n * n);             \
                                                                             \
        *sign = number_##p(1);                                               \
        if (tfd_linalg_small_factor_##T(n, a, columns, sign, pivots))        \
            return columns;                                                  \
        transpose_##p(a, n, n, columns);                                     \
        (void)factor_##p(columns, n, pivots);                                \
        for (int64_t i = 0; i < n; i++)                                      \
            if (pivots[i] != i + 1)                                          \
                *sign = times_##p(*sign, number_##p(-1));                    \
        return columns;                                                      \
    }                                                                        \
    static void det_##p(void *arg, int64_t begin, int64_t end)               \
    {                                                                        \
        struct tfd_linalg *l = arg;                                          \
        const int64_t n = l->rows, size = n * n;                             \
        struct tfd_buffer *b = work_space(l, size, sizeof(T), n);            \
        T *det = l->out[0];                                                  \
                                                                             \
        for (int64_t i = begin; b && i < end; i++) {                         \
            const T *lu =                                                    \
                n ? permuted_##p(l, (const T *)l->a + i * size, b, &det[i])  \
                  : NULL;                                                    \
                                                                             \
            if (n == 0)                                                      \
                det[i] = number_##p(1);                                      \
            for (int64_t j = 0; j < n; j++)                                  \
                det[i] = times_##p(det[i], lu[j * n + j]);                   \
        }                                                                    \
        tfd_buffer_unref(b);                                                 \
    }                                                                        \
    static void log_det_##p(void *arg, int64_t begin, int64_t end)           \
    {                                                                        \
        struct tfd_linalg *l = arg;                                          \
        const int64_t n = l->rows, size = n * n;                             \
        struct tfd_buffer *b = work_space(l, size, sizeof(T), n);            \
        T *sign = l->out[0], *log_size = l->out[1];                          \
                                                                             \
        for (int64_t i = begin; b && i < end; i++) {                         \
            const T *lu =                                                    \
                n ? permuted_##p(l, (const T *)l->a + i * size, b, &sign[i]) \
                  : NULL;                                                    \
            double sum = 0;                                                  \
                                                                             \
            if (n == 0)                                                      \
                sign[i] = number_##p(1);                                     \
            for (int64_t j = 0; j < n; j++) {                                \
                sign[i] = times_##p(sign[i], unit_##p(lu[j * n + j]));       \
                sum += log((double)magnitude_##p(lu[j * n + j]));            \
            }                                                                \
            log_size[i] = number_##p(sum);                                   \
        }                                                                    \
        tfd_buffer_unref(b);                                                 \
    }

/* ---- Eigenvalues --------------------------------------------------------- */

/* Both calls give `n` real values and leave the vectors in the columns. */
#define EIGEN_REAL(p, T)                                                       \
    static bool eigen_call_##p(struct tfd_linalg *l, T *columns, T *values)    \
    {                                                                          \
        const int n = l->rows, ints = 3 + 5 * n, size = 1 + 6 * n + 2 * n * n; \
        struct tfd_buffer *b = work_space(l, size, sizeof(T), ints);           \
        T *work = b ? b->data : NULL;                                          \
        int info = 1;                                                          \
                                                                               \
        if (!b)                                                                \
            return false;                                                      \
        p##syevd_(l->vectors ? "V" : "N", "L", &n, columns, &n, values, work,  \
                  &size, (int *)(void *)(work + size), &ints, &info, 1, 1);    \
        tfd_buffer_unref(b);                                                   \
        return info == 0;                                                      \
    }

#define EIGEN_COMPLEX(p, T, R)                                                \
    static bool eigen_call_##p(struct tfd_linalg *l, T *columns, R *values)   \
    {                                                                         \
        const int n = l->rows, ints = 3 + 5 * n, size = 2 * n + n * n;        \
        const int real_size = 1 + 5 * n + 2 * n * n;                          \
        struct tfd_buffer *b =                                                \
            work_space(l, (int64_t)size + real_size, sizeof(T), ints);        \
        T *work = b ? b->data : NULL, *more = work + size;                    \
        int info = 1;                                                         \
                                                                              \
        if (!b)                                                               \
            return false;                                                     \
        p##heevd_(l->vectors ? "V" : "N", "L", &n, columns, &n, values, work, \
                  &size, (R *)(void *)more, &real_size,                       \
                  (int *)(void *)(more + real_size), &ints, &info, 1, 1);     \
        tfd_buffer_unref(b);                                                  \
        return info == 0;                                                     \
    }

#define EIGEN(p, T, R, orgqr)                                                \
    static bool is_finite_##p(const T *x, int64_t n)                         \
    {                                                                        \
        for (int64_t i = 0; i < n; i++)                                      \
            if (!(magnitude_##p(x[i]) < (R)INFINITY))                        \
                return false;                                                \
        return true;                                                         \
    }                                                                        \
    static void eigen_one_##p(struct tfd_linalg *l, const T *a, T *values,   \
                              T *vectors)                                    \
    {                                                                        \
        const int n = l->rows;                                               \
        const int64_t size = (int64_t)n * n;                                 \
        struct tfd_buffer *b = work_space(l, size + n, sizeof(T), 0);        \
        T *columns = b ? b->data : NULL;                                     \
        R *w = (R *)(void *)(columns + size);                                \
                                                                             \
        if (!b)                                                              \
            return;                                                          \
        transpose_##p(a, n, n, columns);                                     \
        if (!is_finite_##p(columns, size) || !eigen_call_##p(l, columns, w)) \
            tfd_linalg_fail(l, TFD_LINALG_NOT_CONVERGED);                    \
        for (int i = 0; i < n; i++)                                          \
            values[i] = number_##p((double)w[i]);                            \
        if (l->vectors)                                                      \
            transpose_##p(columns, n, n, vectors);                           \
        tfd_buffer_unref(b);                                                 \
    }                                                                        \
    static void eigen_##p(void *arg, int64_t begin, int64_t end)             \
    {                                                                        \
        struct tfd_linalg *l = arg;                                          \
        const int64_t n = l->rows, vectors = l->vectors ? n * n : 0;         \
        const T *a = l->a;                                                   \
        T *e = l->out[0], *v = l->out[1];                                    \
                                                                             \
        for (int64_t i = begin; i < end && n > 0; i++)                       \
            eigen_one_##p(l, a + i * n * n, e + i * n, v + i * vectors);     \
    }

/* ---- Singular values ----------------------------------------------------- */

static const char *svd_job(const struct tfd_linalg *l)
{
    return !l->vectors ? "N" : l->flag ? "A" : "S";
}

#define SVD_REAL(p, T)                                                         \
    static bool svd_call_##p(struct tfd_linalg *l, T *columns, T *s, T *u,     \
                             int height, T *v)                                 \
    {                                                                          \
        const int m = l->rows, n = l->columns, k = smaller_int(m, n);          \
        const int size = 4 * k * k + WORK_COLUMNS * larger(m, n),              \
                  ints = 8 * k;                                                \
        struct tfd_buffer *b = work_space(l, size, sizeof(T), ints);           \
        T *work = b ? b->data : NULL;                                          \
        int info = 1;                                                          \
                                                                               \
        if (!b)                                                                \
            return false;                                                      \
        p##gesdd_(svd_job(l), &m, &n, columns, &m, s, u, &m, v, &height, work, \
                  &size, (int *)(void *)(work + size), &info, 1);              \
        tfd_buffer_unref(b);                                                   \
        return info == 0;                                                      \
    }

#define SVD_COMPLEX(p, T, R)                                                   \
    static bool svd_call_##p(struct tfd_linalg *l, T *columns, R *s, T *u,     \
                             int height, T *v)                                 \
    {                                                                          \
        const int m = l->rows, n = l->columns, k = smaller_int(m, n);          \
        const int size = 2 * k * k + WORK_COLUMNS * larger(m, n),              \
                  ints = 8 * k;                                                \
        const int64_t reals =                                                  \
            (int64_t)k * (5 * (int64_t)k + 5 + 2 * (int64_t)larger(m, n));     \
        struct tfd_buffer *b = work_space(l, size + reals, sizeof(T), ints);   \
        T *work = b ? b->data : NULL, *more = work + size;                     \
        int info = 1;                                                          \
                                                                               \
        if (!b)                                                                \
            return false;                                                      \
        p##gesdd_(svd_job(l), &m, &n, columns, &m, s, u, &m, v, &height, work, \
                  &size, (R *)(void *)more, (int *)(void *)(more + reals),     \
                  &info, 1);                                                   \
        tfd_buffer_unref(b);                                                   \
        return info == 0;                                                      \
    }

#define SVD(p, T, R, orgqr)                                                    \
    /* V comes as the rows of its adjoint, which column by column are those    \
     * of its conjugate. */                                                    \
    static void svd_store_##p(const struct tfd_linalg *l, const T *u,          \
                              int wide, const T *v, int height, T *u_out,      \
                              T *v_out)                                        \
    {                                                                          \
        if (!l->vectors)                                                       \
            return;                                                            \
        transpose_##p(u, wide, l->rows, u_out);                                \
        memcpy(v_out, v, sizeof(T) * (size_t)height * (size_t)l->columns);     \
        conjugate_##p(v_out, (int64_t)height * l->columns);                    \
    }                                                                          \
    static void svd_one_##p(struct tfd_linalg *l, const T *a, T *s, T *u_out,  \
                            T *v_out)                                          \
    {                                                                          \
        const int m = l->rows, n = l->columns, k = smaller_int(m, n);          \
        const int wide = l->flag ? m : k, height = l->flag ? n : k;            \
        const int64_t size = (int64_t)m * n, u_size = (int64_t)m * wide;       \
        const int64_t v_size = (int64_t)height * n;                            \
        struct tfd_buffer *b =                                                 \
            work_space(l, size + u_size + v_size + k, sizeof(T), 0);           \
        T *columns = b ? b->data : NULL, *u = columns + size, *v = u + u_size; \
        R *values = (R *)(void *)(v + v_size);                                 \
                                                                               \
        if (!b)                                                                \
            return;                                                            \
        transpose_##p(a, m, n, columns);                                       \
        if (!is_finite_##p(columns, size)) {                                   \
            for (int i = 0; i < k; i++)                                        \
                values[i] = (R)NAN;                                            \
            fill_nothing_##p(u, u_size);                                       \
            fill_nothing_##p(v, v_size);                                       \
        } else if (!svd_call_##p(l, columns, values, u, height, v)) {          \
            tfd_linalg_fail(l, TFD_LINALG_NOT_CONVERGED);                      \
        }                                                                      \
        for (int i = 0; i < k; i++)                                            \
            s[i] = values[i] == values[i] ? number_##p((double)values[i])      \
                                          : nothing_##p();                     \
        svd_store_##p(l, u, wide, v, height, u_out, v_out);                    \
        tfd_buffer_unref(b);                                                   \
    }                                                                          \
    static void svd_##p(void *arg, int64_t begin, int64_t end)                 \
    {                                                                          \
        struct tfd_linalg *l = arg;                                            \
        const int64_t m = l->rows, n = l->columns;                             \
        const int64_t k = smaller_int(l->rows, l->columns);                    \
        const int64_t wide = l->flag ? m : k, height = l->flag ? n : k;        \
        const int64_t u_size = l->vectors ? m * wide : 0;                      \
        const int64_t v_size = l->vectors ? n * height : 0;                    \
        const T *a = l->a;                                                     \
        T *s = l->out[0], *u = l->out[1], *v = l->out[2];                      \
                                                                               \
        for (int64_t i = begin; i < end; i++)                                  \
            if (k > 0) {                                                       \
                svd_one_##p(l, a + i * m * n, s + i * k, u + i * u_size,       \
                            v + i * v_size);                                   \
            } else if (u_size + v_size > 0) {                                  \
                identity_##p(u_size ? u + i *u_size : v + i * v_size,          \
                             (int)(m + n));                                    \
            }                                                                  \
    }

/* ---- Table --------------------------------------------------------------- */

/* The letter, the type, that of its real numbers, and what makes Q. */
#define TYPES(X)                       \
    X(s, float, float, orgqr_)         \
    X(d, double, double, orgqr_)       \
    X(c, tfd_complex64, float, ungqr_) \
    X(z, tfd_complex128, double, ungqr_)

EIGEN_REAL(s, float)
EIGEN_REAL(d, double)
EIGEN_COMPLEX(c, tfd_complex64, float)
EIGEN_COMPLEX(z, tfd_complex128, double)
SVD_REAL(s, float)
SVD_REAL(d, double)
SVD_COMPLEX(c, tfd_complex64, float)
SVD_COMPLEX(z, tfd_complex128, double)
TYPES(COPIES)
TYPES(QR)
TYPES(CHOLESKY)
TYPES(LU)
TYPES(DET)
TYPES(EIGEN)
TYPES(SVD)

tfd_range_fn *tfd_linalg_loop(enum tfd_linalg_op op, enum tfd_dtype dtype)
{
#define LOOPS(p)                                                          \
    {                                                                     \
        qr_##p, cholesky_##p, solve_##p, solve_##p, det_##p, log_det_##p, \
            eigen_##p, svd_##p                                            \
    }
    static tfd_range_fn *const loops[TFD_DTYPE_END][TFD_LINALG_COUNT] = {
        [TFD_FLOAT] = LOOPS(s),
        [TFD_DOUBLE] = LOOPS(d),
        [TFD_COMPLEX64] = LOOPS(c),
        [TFD_COMPLEX128] = LOOPS(z),
    };

    return loops[dtype][op];
}
