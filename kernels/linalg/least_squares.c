/*
 * least_squares.c - MatrixSolveLs: X that makes A X - B small, and of several
 * the smallest.
 *
 * The fast way is by normal equations, with r the regularizer, and Cholesky
 * factors of the Gramian:
 *
 *     rows >= columns    (A' A + r) X = A' B
 *     else               (A A' + r) Z = B,  X = A' Z
 *
 * The other way, which has no use for r, is LAPACK's GELSY, a complete
 * orthogonal factorisation; columns are taken for dependent where what they add
 * is below rounding.
 *
 * LAPACK reads columns: A as it lies is A transposed, and is transposed where
 * that matters.
 */
#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linalg_check.h"
#include "kernels/linalg/linalg_grad.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef float _Complex complex64;
typedef double _Complex complex128;

enum trouble { NONE, MEMORY, DEFICIENT };

struct least {
    int m, n, right; /* rows and columns of A, columns of B */
    bool fast;
    double regularizer;
    const void *a, *b;
    void *x;
    int trouble; /* enum trouble, atomic */
};

/* ---- Products in tiles --------------------------------------------------- */

#define TILE 4 /* rows and columns of a product, in registers */

#define TILES(p, T)                                                            \
    /* Adds a[k][i] * b[k][j] for k below count, in that order. */             \
    static inline __attribute__((always_inline)) void add_tile_##p(            \
        const T *a, int64_t a_step, const T *b, int64_t b_step, int64_t count, \
        T *y, int64_t y_step, int64_t rows, int64_t columns)                   \
    {                                                                          \
        T sum[TILE][TILE];                                                     \
                                                                               \
        for (int64_t i = 0; i < rows; i++)                                     \
            for (int64_t j = 0; j < columns; j++)                              \
                sum[i][j] = y[i * y_step + j];                                 \
        for (int64_t k = 0; k < count; k++, a += a_step, b += b_step)          \
            for (int64_t i = 0; i < rows; i++)                                 \
                for (int64_t j = 0; j < columns; j++)                          \
                    sum[i][j] += a[i] * b[j];                                  \
        for (int64_t i = 0; i < rows; i++)                                     \
            for (int64_t j = 0; j < columns; j++)                              \
                y[i * y_step + j] = sum[i][j];                                 \
    }                                                                          \
    /* y += a' b; with `upper` only what is not below the diagonal. */         \
    static void add_product_##p(const T *a, int64_t rows, const T *b,          \
                                int64_t columns, int64_t count, bool upper,    \
                                T *y)                                          \
    {                                                                          \
        for (int64_t i = 0; i < rows && !tfd_halted(); i += TILE)              \
            for (int64_t j = upper ? i : 0; j < columns; j += TILE) {          \
                const int64_t high = tfd_min(TILE, rows - i);                  \
                const int64_t wide = tfd_min(TILE, columns - j);               \
                T *to = y + i * columns + j;                                   \
                                                                               \
                if (high == TILE && wide == TILE)                              \
                    add_tile_##p(a + i, rows, b + j, columns, count, to,       \
                                 columns, TILE, TILE);                         \
                else                                                           \
                    add_tile_##p(a + i, rows, b + j, columns, count, to,       \
                                 columns, high, wide);                         \
            }                                                                  \
    }

TILES(s, float)
TILES(d, double)
#define add_product_c(a, rows, b, columns, count, upper, y) ((void)(b))
#define add_product_z(a, rows, b, columns, count, upper, y) ((void)(b))
/* Complex numbers are added one by one. */
#define TILED_s true
#define TILED_d true
#define TILED_c false
#define TILED_z false

/* Rows up to which a call of LAPACK takes longer than the arithmetic. */
#define FEW 32

#define FEW_ROWS(p, T)                                                       \
    /* Cholesky's factor, from and to the lower triangle of columns; false:  \
     * there is none. */                                                     \
    static bool factor_few_##p(T *g, int64_t n)                              \
    {                                                                        \
        for (int64_t j = 0; j < n; j++) {                                    \
            T *own = g + j * n;                                              \
                                                                             \
            if (!(own[j] > 0))                                               \
                return false;                                                \
            own[j] = (T)sqrt((double)own[j]);                                \
            for (int64_t i = j + 1; i < n; i++)                              \
                own[i] /= own[j];                                            \
            for (int64_t k = j + 1; k < n; k++)                              \
                for (int64_t i = k; i < n; i++)                              \
                    g[k * n + i] -= own[k] * own[i];                         \
        }                                                                    \
        return true;                                                         \
    }                                                                        \
    static void subtract_few_##p(T *y, T factor, const T *x, int64_t count)  \
    {                                                                        \
        for (int64_t i = 0; i < count; i++)                                  \
            y[i] -= factor * x[i];                                           \
    }                                                                        \
    /* Rows of y, down by the factor and up by its adjoint. */               \
    static void solve_few_##p(const T *g, int64_t n, T *y, int64_t right)    \
    {                                                                        \
        for (int64_t j = 0; j < n; j++) {                                    \
            for (int64_t i = 0; i < right; i++)                              \
                y[j * right + i] /= g[j * n + j];                            \
            for (int64_t i = j + 1; i < n; i++)                              \
                subtract_few_##p(y + i * right, g[j * n + i], y + j * right, \
                                 right);                                     \
        }                                                                    \
        for (int64_t j = n - 1; j >= 0; j--) {                               \
            for (int64_t i = j + 1; i < n; i++)                              \
                subtract_few_##p(y + j * right, g[j * n + i], y + i * right, \
                                 right);                                     \
            for (int64_t i = 0; i < right; i++)                              \
                y[j * right + i] /= g[j * n + j];                            \
        }                                                                    \
    }

FEW_ROWS(s, float)
FEW_ROWS(d, double)
#define factor_few_c(g, n) false
#define factor_few_z(g, n) false
#define solve_few_c(g, n, y, right) (void)0
#define solve_few_z(g, n, y, right) (void)0

/* ---- Normal equations ---------------------------------------------------- */

/* Rows that are turned together. */
#define TURNED_ROWS 16

#define NORMAL(p, T, L, R, conj_, real_, EPSILON)                              \
    /* Blocks of rows, so that what is written lies together, too. */          \
    static void turn_##p(const T *x, int64_t rows, int64_t columns, T *y)      \
    {                                                                          \
        for (int64_t first = 0; first < rows && !tfd_halted();                 \
             first += TURNED_ROWS) {                                           \
            const int64_t last = tfd_min(first + TURNED_ROWS, rows);           \
                                                                               \
            for (int64_t j = 0; j < columns; j++)                              \
                for (int64_t i = first; i < last; i++)                         \
                    y[j * rows + i] = x[i * columns + j];                      \
        }                                                                      \
    }                                                                          \
    /* Columns of the Gramian of what is smaller, its lower triangle.  Its     \
     * vectors are the rows of A, or of A turned. */                           \
    static void gramian_##p(const struct least *l, const T *a, T *g,           \
                            T *turned)                                         \
    {                                                                          \
        const bool tall = l->m >= l->n;                                        \
        const int64_t size = tall ? l->n : l->m, count = tall ? l->m : l->n;   \
                                                                               \
        if (tall != TILED_##p)                                                 \
            turn_##p(a, l->m, l->n, turned);                                   \
        if (TILED_##p) {                                                       \
            const T *x = tall ? a : turned;                                    \
                                                                               \
            tfd_halt_clear(g, sizeof(T) * (size_t)(size * size));              \
            for (int64_t j = 0; j < size; j++)                                 \
                g[j * size + j] = (R)l->regularizer;                           \
            add_product_##p(x, size, x, size, count, true, g);                 \
            return;                                                            \
        }                                                                      \
        for (int64_t j = 0; j < size; j++)                                     \
            for (int64_t i = j; i < size && !tfd_halted(); i++) {              \
                const T *x = (tall ? turned : a) + i * count;                  \
                const T *y = (tall ? turned : a) + j * count;                  \
                T sum = i == j ? (R)l->regularizer : 0;                        \
                                                                               \
                for (int64_t k = 0; k < count; k++)                            \
                    sum += tall ? conj_(x[k]) * y[k] : x[k] * conj_(y[k]);     \
                g[j * size + i] = sum;                                         \
            }                                                                  \
    }                                                                          \
    /* y = A' x; both row by row. */                                           \
    static void apply_adjoint_##p(const struct least *l, const T *a,           \
                                  const T *x, T *y)                            \
    {                                                                          \
        const int64_t right = l->right;                                        \
                                                                               \
        tfd_halt_clear(y, sizeof(T) * (size_t)l->n * (size_t)right);           \
        if (TILED_##p) {                                                       \
            add_product_##p(a, l->n, x, right, l->m, false, y);                \
            return;                                                            \
        }                                                                      \
        for (int64_t k = 0; k < l->m && !tfd_halted(); k++)                    \
            for (int64_t i = 0; i < l->n; i++)                                 \
                for (int64_t j = 0; j < right; j++)                            \
                    y[i * right + j] +=                                        \
                        conj_(a[k * l->n + i]) * x[k * right + j];             \
    }                                                                          \
    /* Rows of y become those of G^-1 y; false: G is not positive. */          \
    static bool solve_gramian_##p(const struct least *l, T *g, int size, T *y, \
                                  T *columns)                                  \
    {                                                                          \
        int info;                                                              \
                                                                               \
        if (tfd_halted())                                                      \
            return true;                                                       \
        if (TILED_##p && size <= FEW) {                                        \
            if (!factor_few_##p(g, size))                                      \
                return false;                                                  \
            solve_few_##p(g, size, y, l->right);                               \
            return true;                                                       \
        }                                                                      \
        p##potrf_("L", &size, (L *)(void *)g, &size, &info, 1);                \
        for (int64_t i = 0; i < size && info == 0; i++)                        \
            info = !(real_(g[i * size + i]) > 0);                              \
        if (info != 0)                                                         \
            return false;                                                      \
        turn_##p(y, size, l->right, columns);                                  \
        if (tfd_halted())                                                      \
            return true;                                                       \
        p##potrs_("L", &size, &l->right, (L *)(void *)g, &size,                \
                  (L *)(void *)columns, &size, &info, 1);                      \
        turn_##p(columns, l->right, size, y);                                  \
        return true;                                                           \
    }                                                                          \
    static bool normal_##p(const struct least *l, const T *a, const T *b,      \
                           T *x, T *room)                                      \
    {                                                                          \
        const int size = l->m < l->n ? l->m : l->n;                            \
        const int64_t wide = (int64_t)l->m * l->right;                         \
        T *turned = room + (int64_t)size * size;                               \
        T *z = turned + (int64_t)l->m * l->n, *columns = z + wide;             \
                                                                               \
        gramian_##p(l, a, room, turned);                                       \
        if (l->m >= l->n) {                                                    \
            apply_adjoint_##p(l, a, b, x);                                     \
            return solve_gramian_##p(l, room, size, x, columns);               \
        }                                                                      \
        memcpy(z, b, sizeof(T) * (size_t)wide);                                \
        if (!solve_gramian_##p(l, room, size, z, columns))                     \
            return false;                                                      \
        apply_adjoint_##p(l, a, z, x);                                         \
        return true;                                                           \
    }

/* ---- Orthogonal factors -------------------------------------------------- */

/* Elements of LAPACK's work space. */
#define WORK_SIZE(l) (8 * ((l)->m + (l)->n) + 2 * (l)->right + 64)

#define ORTHOGONAL(p, T, L, R, conj_, real_, EPSILON)                         \
    static bool orthogonal_##p(const struct least *l, const T *a, const T *b, \
                               T *x, T *room)                                 \
    {                                                                         \
        const int high = l->m > l->n ? l->m : l->n, size = WORK_SIZE(l);      \
        const R limit = EPSILON * (R)tfd_min(l->m, l->n);                     \
        T *columns = room, *y = columns + (int64_t)l->m * l->n;               \
        T *work = y + (int64_t)high * l->right;                               \
        int *pivots = (int *)(void *)(work + size + 2 * l->n), rank, info;    \
                                                                              \
        turn_##p(a, l->m, l->n, columns);                                     \
        memset(pivots, 0, sizeof(int) * (size_t)l->n);                        \
        for (int64_t j = 0; j < l->right && !tfd_halted(); j++)               \
            for (int64_t i = 0; i < high; i++)                                \
                y[j * high + i] = i < l->m ? b[i * l->right + j] : 0;         \
        if (tfd_halted())                                                     \
            return true;                                                      \
        p##gelsy_(&l->m, &l->n, &l->right, (L *)(void *)columns, &l->m,       \
                  (L *)(void *)y, &high, pivots, &limit, &rank,               \
                  (L *)(void *)work, &size,                                   \
                  REAL_WORK_##p(work + size) & info);                         \
        for (int64_t i = 0; i < l->n; i++)                                    \
            for (int64_t j = 0; j < l->right; j++)                            \
                x[i * l->right + j] = y[j * high + i];                        \
        return true;                                                          \
    }                                                                         \
    static void least_##p(void *arg, int64_t begin, int64_t end)              \
    {                                                                         \
        struct least *l = arg;                                                \
        const int64_t a_size = (int64_t)l->m * l->n;                          \
        const int64_t b_size = (int64_t)l->m * l->right;                      \
        const int64_t x_size = (int64_t)l->n * l->right;                      \
        struct tfd_buffer *room = tfd_buffer_new(                             \
            sizeof(T) * (size_t)(2 * a_size + 2 * b_size + x_size +           \
                                 WORK_SIZE(l) + 4 * l->n));                   \
        bool fine = true;                                                     \
                                                                              \
        if (!room) {                                                          \
            TFD_STORE_RELAXED(&l->trouble, MEMORY);                           \
            return;                                                           \
        }                                                                     \
        for (int64_t i = begin; i < end && fine && !tfd_halted(); i++) {      \
            const T *a = (const T *)l->a + i * a_size;                        \
            const T *b = (const T *)l->b + i * b_size;                        \
            T *x = (T *)l->x + i * x_size;                                    \
                                                                              \
            fine = l->fast ? normal_##p(l, a, b, x, room->data)               \
                           : orthogonal_##p(l, a, b, x, room->data);          \
        }                                                                     \
        tfd_buffer_unref(room);                                               \
        if (!fine)                                                            \
            TFD_STORE_RELAXED(&l->trouble, DEFICIENT);                        \
    }

#define ITSELF(x) (x)
#define REAL_WORK_s(x)
#define REAL_WORK_d(x)
#define REAL_WORK_c(x) (float *)(x),
#define REAL_WORK_z(x) (double *)(x),

#define TYPES(X)                                                      \
    X(s, float, float, float, ITSELF, ITSELF, FLT_EPSILON)            \
    X(d, double, double, double, ITSELF, ITSELF, DBL_EPSILON)         \
    X(c, complex64, tfd_complex64, float, conjf, crealf, FLT_EPSILON) \
    X(z, complex128, tfd_complex128, double, conj, creal, DBL_EPSILON)

TYPES(NORMAL)
TYPES(ORTHOGONAL)

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code check_regularizer(const struct tfd_kctx *k,
                                       struct least *l, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[2].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "l2_regularizer must be scalar, got shape %s",
                        tfd_shape_text(&k->in[2].shape, text));
    l->regularizer = *(const double *)tfd_tensor_data(&k->in[2]);
    if (!(l->regularizer >= 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "l2_regularizer must be >= 0.");
    return TFD_OK;
}

static enum tfd_code check_trouble(const struct least *l, struct tfd_status *st)
{
    if (l->trouble == MEMORY)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when solving %d equations of %d unknowns", l->m,
                        l->n);
    if (l->trouble == DEFICIENT)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input matrix was rank deficient or ill-conditioned. "
                        "Try setting fast=False or provide %s l2_regularizer > "
                        "0.",
                        l->m >= l->n ? "a larger" : "an");
    return TFD_OK;
}

static enum tfd_code least_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static tfd_range_fn *const loops[TFD_DTYPE_END] = {
        [TFD_FLOAT] = least_s,
        [TFD_DOUBLE] = least_d,
        [TFD_COMPLEX64] = least_c,
        [TFD_COMPLEX128] = least_z,
    };
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    struct least l = {.fast = *(const bool *)k->state};
    struct tfd_shape out;
    double ns;

    TFD_TRY(tfd_linalg_check_system(k, false, st));
    l.m = (int)a->dim[a->rank - 2];
    l.n = (int)a->dim[a->rank - 1];
    l.right = (int)b->dim[b->rank - 1];
    out = tfd_linalg_batch_of(a, l.n, l.right);
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    if (tfd_linalg_matrices(a) == 0)
        return TFD_OK;
    TFD_TRY(check_regularizer(k, &l, st));
    if (l.m == 0 || tfd_shape_elements(&out) == 0) {
        memset(tfd_tensor_data(&k->out[0]), 0,
               tfd_dtype_size(k->in[0].dtype) *
                   (size_t)tfd_shape_elements(&out));
        return TFD_OK;
    }
    l.a = tfd_tensor_data(&k->in[0]);
    l.b = tfd_tensor_data(&k->in[1]);
    l.x = tfd_tensor_data(&k->out[0]);
    ns = 1000 + (double)l.m * l.n * (double)(tfd_min(l.m, l.n) + l.right);
    tfd_kctx_parallel(k, tfd_linalg_matrices(a),
                      ns < INT32_MAX ? (int)ns : INT32_MAX,
                      loops[k->in[0].dtype], &l);
    return check_trouble(&l, st);
}

static enum tfd_code least_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    tfd_gemm_init();
    return tfd_node_bool(p->node, "fast", state, st);
}

static enum tfd_code least_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *a = &s->in[0], *b = &s->in[1];

    (void)st;
    if (a->rank < 2 || b->rank < 2)
        return TFD_OK;
    s->out[0] = tfd_linalg_batch_of(b, -1, -1);
    s->out[0].dim[s->out[0].rank++] = a->dim[a->rank - 1];
    s->out[0].dim[s->out[0].rank++] = b->dim[b->rank - 1];
    return TFD_OK;
}

#define OP(name_, types, grad_)                                               \
    {                                                                         \
        .name = name_, .inputs = "matrix: T, rhs: T, l2_regularizer: double", \
        .outputs = "output: T", .attrs = "T: " types "; fast: bool = true",   \
        .key = "T", .shape = least_shape, .grad = grad_,                      \
    }

static const struct tfd_opdef ops[] = {
    OP("MatrixSolveLs", "{double, float, half, complex64, complex128}",
       tfd_linalg_least_gradient),
    OP("BatchMatrixSolveLs", "{double, float}", NULL),
};

#define KERNEL(op, type)                                          \
    TFD_KERNEL(op, type, least_compute, .prepare = least_prepare, \
               .state_size = sizeof(bool), .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    KERNEL("MatrixSolveLs", FLOAT),      KERNEL("MatrixSolveLs", DOUBLE),
    KERNEL("MatrixSolveLs", COMPLEX64),  KERNEL("MatrixSolveLs", COMPLEX128),
    KERNEL("BatchMatrixSolveLs", FLOAT), KERNEL("BatchMatrixSolveLs", DOUBLE),
};

const struct tfd_family tfd_family_least_squares = {
    .name = "least_squares",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
