/*
 * tridiagonal.c - matrices that have elements on three diagonals only:
 *
 *     TridiagonalMatMul TridiagonalSolve
 *
 * Row i has sub[i], main[i] and super[i] in columns i - 1, i and i + 1; those
 * outside of the matrix, sub[0] and super[n - 1], are never read.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/linalg/linalg_check.h"
#include "kernels/linalg/tridiagonal.h"
#include "kernels/vector/simd.h"

#include <complex.h>

typedef float _Complex complex64;
typedef double _Complex complex128;

/* ---- Products ------------------------------------------------------------ */

/* Rows of X between the first and the last, of one matrix. */
struct inner_rows {
    const void *super, *main, *sub, *x;
    void *y;
    int64_t right;
};

#define PART 8 /* columns of a row, computed side by side */
#define TFD_PART static inline __attribute__((always_inline))

#define MULTIPLY(p, T)                                                        \
    TFD_PART void multiply_part_##p(T *y, const T *above, const T *x,         \
                                    const T *below, const T *factor,          \
                                    int64_t count)                            \
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
    static void multiply_edge_##p(const struct tfd_tridiagonal *t, int64_t i, \
                                  T own, const T *x, const T *other, T by,    \
                                  T *y)                                       \
    {                                                                         \
        const int64_t right = t->right;                                       \
                                                                              \
        for (int64_t j = 0; j < right; j++)                                   \
            y[i * right + j] = other ? own * x[i * right + j] + by * other[j] \
                                     : own * x[i * right + j];                \
    }                                                                         \
    static void multiply_one_##p(const struct tfd_tridiagonal *t,             \
                                 const T *super, const T *main, const T *sub, \
                                 const T *x, T *y)                            \
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
        const struct tfd_tridiagonal *t = arg;                                \
        const int64_t n = t->n, size = t->n * t->right;                       \
        const T *super = t->super, *main = t->main, *sub = t->sub;            \
        const T *x = t->x;                                                    \
        T *y = t->y;                                                          \
                                                                              \
        for (int64_t i = begin; i < end && !tfd_halted(); i++)                \
            multiply_one_##p(t, super + i * n, main + i * n, sub + i * n,     \
                             x + i * size, y + i * size);                     \
    }

/* The letter and the type. */
#define TYPES(X)    \
    X(s, float)     \
    X(d, double)    \
    X(c, complex64) \
    X(z, complex128)

TYPES(MULTIPLY)

/* ---- Kernels ------------------------------------------------------------- */

#define ROW_NS 4 /* of a right side, roughly */

static int cost_of_rows(const struct tfd_tridiagonal *t)
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
    struct tfd_tridiagonal t = {.n = 0};

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
                                     struct tfd_tridiagonal *t,
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
        [TFD_FLOAT] = tfd_tridiagonal_solve_s,
        [TFD_DOUBLE] = tfd_tridiagonal_solve_d,
        [TFD_COMPLEX64] = tfd_tridiagonal_solve_c,
        [TFD_COMPLEX128] = tfd_tridiagonal_solve_z,
    };
    const struct tridiagonal_state *s = k->state;
    const size_t size = tfd_dtype_size(k->in[0].dtype);
    const char *diagonals = tfd_tensor_data(&k->in[0]);
    struct tfd_tridiagonal t = {.pivoting = s->pivoting, .perturb = s->perturb};

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
