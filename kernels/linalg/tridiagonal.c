/*
 * tridiagonal.c - matrices that have elements on three diagonals only:
 *
 *     TridiagonalMatMul TridiagonalSolve
 *
 * Row i has sub[i], main[i] and super[i] in columns i - 1, i and i + 1; those
 * outside of the matrix, sub[0] and super[n - 1], are never read.
 *
 * A solution goes down the rows, taking out what is below the diagonal, and up
 * again.  With pivoting a row may change places with the next one, so that the
 * triangle has a second diagonal above:
 *
 *     u[i]: diagonal, what is right of it, what is right of that
 *
 * A matrix without an inverse gives no numbers (for complex ones zeros, as what
 * TensorFlow takes for one that is none), unless `perturb_singular` moves small
 * pivots away from zero as LAPACK's LAGTS does, in steps that double.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/linalg/linalg_check.h"
#include "kernels/vector/simd.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef float _Complex complex64;
typedef double _Complex complex128;

struct tridiagonal {
    int64_t n, right; /* rows of X and its columns */
    bool pivoting, perturb;
    int64_t step; /* from the diagonals of a matrix to those of the next */
    const void *super, *main, *sub, *x;
    void *y;
};

/* ---- Products ------------------------------------------------------------ */

/* Rows of X between the first and the last, of one matrix. */
struct inner_rows {
    const void *super, *main, *sub, *x;
    void *y;
    int64_t right;
};

#define PART 8 /* columns of a row, computed side by side */

#define MULTIPLY(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)            \
    static inline __attribute__((always_inline)) void multiply_part_##p(      \
        T *y, const T *above, const T *x, const T *below, const T *factor,    \
        int64_t count)                                                        \
    {                                                                         \
        T sum[PART];                                                          \
                                                                              \
        for (int64_t j = 0; j < count; j++)                                   \
            sum[j] = factor[1] * x[j] + factor[0] * above[j] +                \
                     factor[2] * below[j];                                    \
        for (int64_t j = 0; j < count; j++)                                   \
            y[j] = sum[j];                                                    \
    }                                                                         \
    TFD_SIMD_LOOP(multiply_inner_##p)                                         \
    {                                                                         \
        const struct inner_rows *r = arg;                                     \
        const T *super = r->super, *main = r->main, *sub = r->sub, *x = r->x; \
        const int64_t right = r->right;                                       \
        T *y = r->y;                                                          \
                                                                              \
        for (int64_t i = begin; i < end; i++) {                               \
            const T factor[] = {sub[i], main[i], super[i]};                   \
            const T *at = x + i * right;                                      \
            T *to = y + i * right;                                            \
            int64_t j = 0;                                                    \
                                                                              \
            for (; j + PART <= right; j += PART)                              \
                multiply_part_##p(to + j, at + j - right, at + j,             \
                                  at + j + right, factor, PART);              \
            for (; j < right; j++)                                            \
                multiply_part_##p(to + j, at + j - right, at + j,             \
                                  at + j + right, factor, 1);                 \
        }                                                                     \
    }                                                                         \
    TFD_SIMD_CLONES(multiply_inner_##p)                                       \
    /* The first row or the last. */                                          \
    static void multiply_edge_##p(const struct tridiagonal *t, int64_t i,     \
                                  T own, const T *x, const T *other, T by,    \
                                  T *y)                                       \
    {                                                                         \
        const int64_t right = t->right;                                       \
                                                                              \
        for (int64_t j = 0; j < right; j++)                                   \
            y[i * right + j] = other ? own * x[i * right + j] + by * other[j] \
                                     : own * x[i * right + j];                \
    }                                                                         \
    static void multiply_one_##p(const struct tridiagonal *t, const T *super, \
                                 const T *main, const T *sub, const T *x,     \
                                 T *y)                                        \
    {                                                                         \
        const int64_t last = t->n - 1, right = t->right;                      \
        struct inner_rows r = {super, main, sub, x, y, right};                \
                                                                              \
        if (last < 0)                                                         \
            return;                                                           \
        multiply_edge_##p(t, 0, main[0], x, last > 0 ? x + right : NULL,      \
                          super[0], y);                                       \
        multiply_inner_##p(&r, 1, last);                                      \
        if (last > 0)                                                         \
            multiply_edge_##p(t, last, main[last], x, x + (last - 1) * right, \
                              sub[last], y);                                  \
    }                                                                         \
    static void multiply_##p(void *arg, int64_t begin, int64_t end)           \
    {                                                                         \
        const struct tridiagonal *t = arg;                                    \
        const int64_t n = t->n, size = t->n * t->right;                       \
        const T *super = t->super, *main = t->main, *sub = t->sub;            \
        const T *x = t->x;                                                    \
        T *y = t->y;                                                          \
                                                                              \
        for (int64_t i = begin; i < end && !tfd_halted(); i++)                \
            multiply_one_##p(t, super + i * n, main + i * n, sub + i * n,     \
                             x + i * size, y + i * size);                     \
    }

/* ---- Solutions ----------------------------------------------------------- */

#define ROWS(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)           \
    struct solve_##p {                                                   \
        int64_t n, right;                                                \
        bool perturb;                                                    \
        const T *super, *main, *sub, *b;                                 \
        T *x, (*u)[3];                                                   \
        R largest; /* of u */                                            \
    };                                                                   \
    static void copy_row_##p(const struct solve_##p *s, int64_t i)       \
    {                                                                    \
        memcpy(s->x + i * s->right, s->b + i * s->right,                 \
               sizeof(T) * (size_t)s->right);                            \
    }                                                                    \
    /* y = x - factor * z */                                             \
    static void subtract_row_##p(T *y, const T *x, T factor, const T *z, \
                                 int64_t count)                          \
    {                                                                    \
        for (int64_t j = 0; j < count; j++)                              \
            y[j] = x[j] - factor * z[j];                                 \
    }                                                                    \
    static void divide_row_##p(T *x, T by, int64_t count)                \
    {                                                                    \
        for (int64_t j = 0; j < count; j++)                              \
            x[j] /= by;                                                  \
    }

#define THOMAS(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)     \
    /* Without pivoting; false: a pivot is zero. */                  \
    static bool thomas_##p(const struct solve_##p *s)                \
    {                                                                \
        const int64_t n = s->n, right = s->right;                    \
                                                                     \
        for (int64_t i = 0; i < n; i++) {                            \
            T *x = s->x + i * right, pivot = s->main[i];             \
                                                                     \
            copy_row_##p(s, i);                                      \
            if (i > 0) {                                             \
                pivot -= s->sub[i] * s->u[i - 1][1];                 \
                subtract_row_##p(x, x, s->sub[i], x - right, right); \
            }                                                        \
            if (pivot == 0)                                          \
                return false;                                        \
            s->u[i][1] = i < n - 1 ? s->super[i] / pivot : 0;        \
            divide_row_##p(x, pivot, right);                         \
        }                                                            \
        for (int64_t i = n - 2; i >= 0; i--) {                       \
            T *x = s->x + i * right;                                 \
                                                                     \
            subtract_row_##p(x, x, s->u[i][1], x + right, right);    \
        }                                                            \
        return true;                                                 \
    }

#define ELIMINATE(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)            \
    /* Row i stays where it is, and takes the next one's first element. */     \
    static void keep_row_##p(struct solve_##p *s, int64_t i, T factor)         \
    {                                                                          \
        const int64_t right = s->right;                                        \
        T *x = s->x + i * right;                                               \
                                                                               \
        s->u[i + 1][0] = s->main[i + 1] - factor * s->u[i][1];                 \
        s->u[i + 1][1] = i + 2 < s->n ? s->super[i + 1] : 0;                   \
        s->u[i][2] = 0;                                                        \
        subtract_row_##p(x + right, s->b + (i + 1) * right, factor, x, right); \
    }                                                                          \
    static void swap_rows_##p(struct solve_##p *s, int64_t i)                  \
    {                                                                          \
        const T factor = s->u[i][0] / s->sub[i + 1];                           \
        const T above = i + 2 < s->n ? s->super[i + 1] : 0;                    \
        const int64_t right = s->right;                                        \
        T *x = s->x + i * right;                                               \
                                                                               \
        s->u[i + 1][0] = s->u[i][1] - factor * s->main[i + 1];                 \
        s->u[i + 1][1] = -factor * above;                                      \
        s->u[i][0] = s->sub[i + 1];                                            \
        s->u[i][1] = s->main[i + 1];                                           \
        s->u[i][2] = above;                                                    \
        subtract_row_##p(x + right, x, factor, s->b + (i + 1) * right, right); \
        memcpy(x, s->b + (i + 1) * right, sizeof(T) * (size_t)right);          \
    }                                                                          \
    /* The pivot is the larger element; false: both are zero. */               \
    static bool eliminate_##p(struct solve_##p *s)                             \
    {                                                                          \
        for (int64_t i = 0; i < s->n - 1; i++)                                 \
            if (!(abs_(s->u[i][0]) >= abs_(s->sub[i + 1])))                    \
                swap_rows_##p(s, i);                                           \
            else if (s->u[i][0] == 0)                                          \
                return false;                                                  \
            else                                                               \
                keep_row_##p(s, i, s->sub[i + 1] / s->u[i][0]);                \
        return s->u[s->n - 1][0] != 0;                                         \
    }                                                                          \
    /* The pivot is the larger part of its row. */                             \
    static void eliminate_singular_##p(struct solve_##p *s)                    \
    {                                                                          \
        const int64_t n = s->n;                                                \
        R size = abs_(s->u[0][0]) + abs_(s->u[0][1]);                          \
                                                                               \
        s->largest = fmax##p(abs_(s->u[0][0]), abs_(s->u[0][1]));              \
        for (int64_t i = 0; i < n - 1; i++) {                                  \
            const T sub = s->sub[i + 1];                                       \
            const R next = abs_(sub) + abs_(s->main[i + 1]) +                  \
                           (i < n - 2 ? abs_(s->super[i + 1]) : 0);            \
            const R own = s->u[i][0] == 0 ? 0 : abs_(s->u[i][0]) / size;       \
                                                                               \
            if (sub == 0 || abs_(sub) / next <= own) {                         \
                keep_row_##p(s, i, sub == 0 ? 0 : sub / s->u[i][0]);           \
                size = next;                                                   \
            } else {                                                           \
                swap_rows_##p(s, i);                                           \
            }                                                                  \
            for (int j = 0; j < 3 && i < n - 2; j++)                           \
                s->largest = fmax##p(s->largest, abs_(s->u[i][j]));            \
        }                                                                      \
        s->largest = fmax##p(s->largest, abs_(s->u[n - 1][0]));                \
    }

#define PERTURB(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)           \
    /* A pivot by which row x can be divided; x may be scaled with it. */   \
    static T perturb_##p(const struct solve_##p *s, T pivot, R by, T *x)    \
    {                                                                       \
        R most = 0;                                                         \
                                                                            \
        by = copysign##p(fmax##p(by, SMALLEST), real_(pivot));              \
        for (int64_t j = 0; j < s->right; j++)                              \
            most = fmax##p(most, abs_(x[j]));                               \
        while (abs_(pivot) < 1) {                                           \
            const R size = abs_(pivot);                                     \
                                                                            \
            if (size >= SMALLEST && !(most > size / SMALLEST))              \
                break;                                                      \
            if (size < SMALLEST && size > 0 && !(most * SMALLEST > size)) { \
                divide_row_##p(x, SMALLEST, s->right);                      \
                return pivot / SMALLEST;                                    \
            }                                                               \
            pivot += by;                                                    \
            by *= 2;                                                        \
        }                                                                   \
        return pivot;                                                       \
    }

#define SUBSTITUTE(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)      \
    static void substitute_##p(const struct solve_##p *s)                 \
    {                                                                     \
        const int64_t n = s->n, right = s->right;                         \
                                                                          \
        for (int64_t i = n - 1; i >= 0; i--) {                            \
            T *x = s->x + i * right, pivot = s->u[i][0];                  \
                                                                          \
            if (i < n - 1)                                                \
                subtract_row_##p(x, x, s->u[i][1], x + right, right);     \
            if (i < n - 2)                                                \
                subtract_row_##p(x, x, s->u[i][2], x + 2 * right, right); \
            if (s->perturb)                                               \
                pivot = perturb_##p(s, pivot, EPSILON * s->largest, x);   \
            divide_row_##p(x, pivot, right);                              \
        }                                                                 \
    }

#define SOLVE(p, T, R, abs_, real_, SMALLEST, EPSILON, nothing)                \
    static bool solve_one_##p(const struct tridiagonal *t,                     \
                              struct solve_##p *s)                             \
    {                                                                          \
        if (!t->pivoting)                                                      \
            return thomas_##p(s);                                              \
        s->u[0][0] = s->main[0];                                               \
        s->u[0][1] = s->n > 1 ? s->super[0] : 0;                               \
        s->u[0][2] = 0;                                                        \
        copy_row_##p(s, 0);                                                    \
        if (s->perturb)                                                        \
            eliminate_singular_##p(s);                                         \
        else if (!eliminate_##p(s))                                            \
            return false;                                                      \
        substitute_##p(s);                                                     \
        return true;                                                           \
    }                                                                          \
    static enum tfd_code solve_##p(void *arg, int64_t begin, int64_t end,      \
                                   struct tfd_status *st)                      \
    {                                                                          \
        const struct tridiagonal *t = arg;                                     \
        const int64_t size = t->n * t->right;                                  \
        struct tfd_buffer *room = tfd_buffer_new(sizeof(T[3]) * (size_t)t->n); \
                                                                               \
        if (!room)                                                             \
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,                        \
                            "OOM when solving %lld equations",                 \
                            (long long)t->n);                                  \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {               \
            struct solve_##p s = {                                             \
                .n = t->n,                                                     \
                .right = t->right,                                             \
                .perturb = t->perturb,                                         \
                .super = (const T *)t->super + i * t->step,                    \
                .main = (const T *)t->main + i * t->step,                      \
                .sub = (const T *)t->sub + i * t->step,                        \
                .b = (const T *)t->x + i * size,                               \
                .x = (T *)t->y + i * size,                                     \
                .u = room->data,                                               \
            };                                                                 \
                                                                               \
            if (!solve_one_##p(t, &s))                                         \
                for (int64_t j = 0; j < size; j++)                             \
                    s.x[j] = (nothing);                                        \
        }                                                                      \
        tfd_buffer_unref(room);                                                \
        return TFD_OK;                                                         \
    }

#define fmaxs fmaxf
#define fmaxd fmax
#define fmaxc fmaxf
#define fmaxz fmax
#define copysigns copysignf
#define copysignd copysign
#define copysignc copysignf
#define copysignz copysign
#define ITSELF(x) (x)

/* The letter, the type, that of its real numbers, magnitude, real part. */
#define TYPES(X)                                                          \
    X(s, float, float, fabsf, ITSELF, FLT_MIN, FLT_EPSILON, NAN)          \
    X(d, double, double, fabs, ITSELF, DBL_MIN, DBL_EPSILON, (double)NAN) \
    X(c, complex64, float, cabsf, crealf, FLT_MIN, FLT_EPSILON, 0)        \
    X(z, complex128, double, cabs, creal, DBL_MIN, DBL_EPSILON, 0)

TYPES(MULTIPLY)
TYPES(ROWS)
TYPES(THOMAS)
TYPES(ELIMINATE)
TYPES(PERTURB)
TYPES(SUBSTITUTE)
TYPES(SOLVE)

/* ---- Kernels ------------------------------------------------------------- */

#define ROW_NS 4 /* of a right side, roughly */

static int cost_of_rows(const struct tridiagonal *t)
{
    const double ns = 50 + (double)t->n * (double)t->right * ROW_NS;

    return ns < INT32_MAX ? (int)ns : INT32_MAX;
}

static enum tfd_code multiply_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"superdiagonal", "main diagonal",
                                        "subdiagonal"};
    static tfd_range_fn *const loops[TFD_DTYPE_END] = {
        [TFD_FLOAT] = multiply_s,
        [TFD_DOUBLE] = multiply_d,
        [TFD_COMPLEX64] = multiply_c,
        [TFD_COMPLEX128] = multiply_z,
    };
    const struct tfd_shape *x = &k->in[3].shape;
    struct tridiagonal t = {.n = 0};

    TFD_TRY(tfd_linalg_check_ranks(k, 4, st));
    t.n = x->dim[x->rank - 2];
    t.right = x->dim[x->rank - 1];
    for (int i = 0; i < 3; i++)
        if (k->in[i].shape.dim[x->rank - 2] != 1 ||
            k->in[i].shape.dim[x->rank - 1] != t.n)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "Invalid %s shape.",
                            names[i]);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, x, st));
    t.super = tfd_tensor_data(&k->in[0]);
    t.main = tfd_tensor_data(&k->in[1]);
    t.sub = tfd_tensor_data(&k->in[2]);
    t.x = tfd_tensor_data(&k->in[3]);
    t.y = tfd_tensor_data(&k->out[0]);
    if (tfd_tensor_elements(&k->out[0]) > 0)
        tfd_kctx_parallel(k, tfd_linalg_matrices(x), cost_of_rows(&t),
                          loops[k->in[0].dtype], &t);
    return TFD_OK;
}

struct tridiagonal_state {
    bool pivoting, perturb;
};

static enum tfd_code solve_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct tridiagonal_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "partial_pivoting", &s->pivoting, st));
    TFD_TRY(tfd_node_bool(p->node, "perturb_singular", &s->perturb, st));
    if (s->perturb && !s->pivoting)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Setting perturb_singular requires also setting "
                        "partial_pivoting.");
    return TFD_OK;
}

static enum tfd_code check_equations(const struct tfd_kctx *k,
                                     struct tridiagonal *t,
                                     struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;

    TFD_TRY(tfd_linalg_check_ranks(k, 2, st));
    if (a->dim[a->rank - 2] != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected diagonals to be provided as a matrix with 3 "
                        "rows, got %lld rows.",
                        (long long)a->dim[a->rank - 2]);
    t->n = a->dim[a->rank - 1];
    t->right = b->dim[b->rank - 1];
    if (t->n != b->dim[b->rank - 2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected the same number of left-hand sides and "
                        "right-hand sides, got %lld and %lld.",
                        (long long)t->n, (long long)b->dim[b->rank - 2]);
    return TFD_OK;
}

static enum tfd_code solve_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static tfd_try_fn *const loops[TFD_DTYPE_END] = {
        [TFD_FLOAT] = solve_s,
        [TFD_DOUBLE] = solve_d,
        [TFD_COMPLEX64] = solve_c,
        [TFD_COMPLEX128] = solve_z,
    };
    const struct tridiagonal_state *s = k->state;
    const size_t size = tfd_dtype_size(k->in[0].dtype);
    const char *diagonals = tfd_tensor_data(&k->in[0]);
    struct tridiagonal t = {.pivoting = s->pivoting, .perturb = s->perturb};

    TFD_TRY(check_equations(k, &t, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[1].shape, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    t.step = 3 * t.n;
    t.super = diagonals;
    t.main = diagonals + size * (size_t)t.n;
    t.sub = diagonals + size * (size_t)t.n * 2;
    t.x = tfd_tensor_data(&k->in[1]);
    t.y = tfd_tensor_data(&k->out[0]);
    return tfd_kctx_try(k, tfd_linalg_matrices(&k->in[1].shape),
                        cost_of_rows(&t), loops[k->in[0].dtype], &t, st);
}

/* ---- Gradients ----------------------------------------------------------- */

static struct tfd_edge scalar_edge(struct tfd_gradient *b, int32_t value)
{
    return tfd_gradient_ints(b, &value, -1);
}

/* Element i of the result is element i - `by`; those at the end of a diagonal
 * that come from its other end are not read. */
static struct tfd_edge roll_diagonal(struct tfd_gradient *b, struct tfd_edge x,
                                     int by)
{
    return tfd_gradient_op3(b, "Roll", x, scalar_edge(b, by),
                            scalar_edge(b, -1));
}

/* The sums of the rows of dy times those of x, moved up or down by one with
 * zeros behind: what flows to a diagonal, which has the shape of `like`. */
static struct tfd_edge diagonal_slope(struct tfd_gradient *b,
                                      struct tfd_edge like, int up,
                                      struct tfd_edge x, struct tfd_edge dy)
{
    struct tfd_edge one = tfd_gradient_op1(b, "OnesLike", like);
    struct tfd_edge zero = tfd_gradient_op1(b, "ZerosLike", like);
    struct tfd_edge in[] = {up > 0 ? one : zero, zero, up < 0 ? one : zero, x};

    if (up != 0)
        x = tfd_gradient_op(b, "TridiagonalMatMul", in, 4);
    x = tfd_gradient_op2(b, "Mul", x, dy);
    x = tfd_gradient_op2(b, "Sum", x, scalar_edge(b, -1));
    return tfd_gradient_op2(b, "ExpandDims", x, scalar_edge(b, -2));
}

static enum tfd_code multiply_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge x = tfd_gradient_conj(&b, g->x[3]), in[4];

    for (int i = 0; i < 3; i++) {
        in[2 - i] = roll_diagonal(&b, tfd_gradient_conj(&b, g->x[i]), 1 - i);
        g->dx[i] = diagonal_slope(&b, g->x[i], 1 - i, x, g->dy[0]);
    }
    in[3] = g->dy[0];
    g->dx[3] = tfd_gradient_op(&b, "TridiagonalMatMul", in, 4);
    return b.code;
}

static struct tfd_edge diagonal_at(struct tfd_gradient *b, struct tfd_edge x,
                                   int32_t row)
{
    return tfd_gradient_op3(b, "GatherV2", x, tfd_gradient_ints(b, &row, 1),
                            scalar_edge(b, -2));
}

static enum tfd_code solve_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const names[] = {"partial_pivoting", "perturb_singular",
                                        NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge turned[4], slope[4], in[2];

    for (int i = 0; i < 3; i++)
        turned[2 - i] = roll_diagonal(&b, diagonal_at(&b, g->x[0], i), 1 - i);
    turned[3] = slope[3] = scalar_edge(&b, -2);
    in[0] = tfd_gradient_op(&b, "ConcatV2", turned, 4);
    in[1] = g->dy[0];
    tfd_gradient_copying(&b, "TridiagonalSolve", in, 2, names, &g->dx[1], 1);
    for (int i = 0; i < 3; i++)
        slope[i] = diagonal_slope(&b, turned[1], 1 - i, g->y[0], g->dx[1]);
    g->dx[0] =
        tfd_gradient_op1(&b, "Neg", tfd_gradient_op(&b, "ConcatV2", slope, 4));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code like_last(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[s->in_count - 1];
    return TFD_OK;
}

#define NUMBERS "{double, float, complex64, complex128}"

static const struct tfd_opdef ops[] = {
    {
        .name = "TridiagonalMatMul",
        .inputs = "superdiag: T, maindiag: T, subdiag: T, rhs: T",
        .outputs = "output: T",
        .attrs = "T: " NUMBERS,
        .shape = like_last,
        .grad = multiply_gradient,
    },
    {
        .name = "TridiagonalSolve",
        .inputs = "diagonals: T, rhs: T",
        .outputs = "output: T",
        .attrs = "partial_pivoting: bool = true; "
                 "perturb_singular: bool = false; T: " NUMBERS,
        .shape = like_last,
        .grad = solve_gradient,
    },
};

#define KERNELS(type)                                        \
    TFD_KERNEL("TridiagonalMatMul", type, multiply_compute), \
        TFD_KERNEL("TridiagonalSolve", type, solve_compute,  \
                   .prepare = solve_prepare,                 \
                   .state_size = sizeof(struct tridiagonal_state))

static const struct tfd_kernel kernels[] = {
    KERNELS(FLOAT),
    KERNELS(DOUBLE),
    KERNELS(COMPLEX64),
    KERNELS(COMPLEX128),
};

const struct tfd_family tfd_family_tridiagonal = {
    .name = "tridiagonal",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
