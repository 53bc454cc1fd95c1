/*
 * factors.c - more factors of square matrices (linalg.c has the others):
 *
 *     Lu CholeskyGrad BatchCholeskyGrad SelfAdjointEig BatchSelfAdjointEig
 *
 * P A = L U, where L has ones on its diagonal and lies below that of U; row i
 * of P A is row p[i] of A.  LAPACK factors columns, and says which rows it has
 * exchanged one after the other.
 *
 * What flows to A = L L' through L is, with dL what flows to L,
 *
 *     S = L'^-1 F(L' dL) L^-1      F: the lower triangle, its diagonal halved
 *     dA = (S + S') / 2
 *
 * The first version of SelfAdjointEigV2 has the values as the row above the
 * vectors; it is that op's loop with another place for its outputs.
 */
#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linalg_check.h"
#include "kernels/linalg/linalg_loops.h"
#include "kernels/linalg/linalg_shape.h"
#include "kernels/linalg/linalg_small.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

struct factors {
    int n;
    const void *a, *b;
    void *y, *p;
    bool wide; /* numbers of rows are of 64 bits */
};

/* Rough nanoseconds of one matrix: a fraction in the vectors of
 * linalg_small.h. */
static int cost_of_square(int64_t n, bool vectors)
{
    const double cube = (double)n * (double)n * (double)n;
    const double ns =
        vectors && n <= TFD_LINALG_SMALL_MAX ? 300 + cube / 5 : 500 + cube;

    return ns < INT32_MAX ? (int)ns : INT32_MAX;
}

static enum tfd_code no_room(int n, struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "OOM when decomposing a matrix of %d x %d", n, n);
}

/* ---- Lu ------------------------------------------------------------------ */

/* Row i was exchanged with row exchanges[i] - 1. */
static void follow_exchanges(int n, const int *exchanges, int *rows)
{
    for (int i = 0; i < n; i++)
        rows[i] = i;
    for (int i = 0; i < n; i++) {
        const int other = exchanges[i] - 1, row = rows[i];

        rows[i] = rows[other];
        rows[other] = row;
    }
}

/* To number `at` of the permutations. */
static void store_permutation(const struct factors *f, int64_t at,
                              const int *rows)
{
    int32_t *narrow = (int32_t *)f->p + at * f->n;
    int64_t *wide = (int64_t *)f->p + at * f->n;

    for (int i = 0; i < f->n; i++)
        if (f->wide)
            wide[i] = rows[i];
        else
            narrow[i] = rows[i];
}

#define LU(p, T, is_pivot)                                                  \
    static void transpose_square_##p(const T *x, int64_t n, T *y)           \
    {                                                                       \
        for (int64_t i = 0; i < n; i++)                                     \
            for (int64_t j = 0; j < n; j++)                                 \
                y[j * n + i] = x[i * n + j];                                \
    }                                                                       \
    /* False: a pivot is zero, or no number. */                             \
    static bool lu_one_##p(const struct factors *f, int64_t at, T *columns, \
                           int *exchanges)                                  \
    {                                                                       \
        const int64_t n = f->n, size = n * n;                               \
        const T *a = (const T *)f->a + at * size;                           \
        T *y = (T *)f->y + at * size, *sign = columns;                      \
        int *rows = exchanges + n, info;                                    \
        bool found = true;                                                  \
                                                                            \
        memset(sign, 0, sizeof(*sign));                                     \
        if (tfd_linalg_small_factor_##T(f->n, a, y, sign, rows)) {          \
            store_permutation(f, at, rows);                                 \
            return true;                                                    \
        }                                                                   \
        transpose_square_##p(a, n, columns);                                \
        p##getrf_(&f->n, &f->n, columns, &f->n, exchanges, &info);          \
        for (int64_t i = 0; i < n; i++)                                     \
            found = found && is_pivot(columns[i * n + i]);                  \
        transpose_square_##p(columns, n, y);                                \
        follow_exchanges(f->n, exchanges, rows);                            \
        store_permutation(f, at, rows);                                     \
        return found;                                                       \
    }                                                                       \
    static enum tfd_code lu_##p(void *arg, int64_t begin, int64_t end,      \
                                struct tfd_status *st)                      \
    {                                                                       \
        const struct factors *f = arg;                                      \
        const size_t n = (size_t)f->n;                                      \
        struct tfd_buffer *room =                                           \
            tfd_buffer_new(sizeof(T) * n * n + sizeof(int) * 2 * n);        \
        bool found = true;                                                  \
                                                                            \
        if (!room)                                                          \
            return no_room(f->n, st);                                       \
        for (int64_t i = begin; i < end && found && !tfd_halted(); i++)     \
            found = lu_one_##p(f, i, room->data,                            \
                               (int *)(void *)((T *)room->data + n * n));   \
        tfd_buffer_unref(room);                                             \
        return found ? TFD_OK                                               \
                     : tfd_fail(st, TFD_INVALID_ARGUMENT,                   \
                                "Input is not invertible.");                \
    }

#define IS_PIVOT(x) ((x) > 0 || (x) < 0)
#define IS_COMPLEX_PIVOT(x) \
    (IS_PIVOT((x).re) || ((x).re == 0 && IS_PIVOT((x).im)))

LU(s, float, IS_PIVOT)
LU(d, double, IS_PIVOT)
LU(c, tfd_complex64, IS_COMPLEX_PIVOT)
LU(z, tfd_complex128, IS_COMPLEX_PIVOT)

static enum tfd_code lu_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static tfd_try_fn *const loops[TFD_DTYPE_END] = {
        [TFD_FLOAT] = lu_s,
        [TFD_DOUBLE] = lu_d,
        [TFD_COMPLEX64] = lu_c,
        [TFD_COMPLEX128] = lu_z,
    };
    const enum tfd_dtype type = (enum tfd_dtype)k->node->out_types[1];
    const struct tfd_shape *s = &k->in[0].shape;
    struct factors f = {.wide = type == TFD_INT64};
    struct tfd_shape rows;

    if (s->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor must have rank >= 2, got %d", s->rank);
    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    f.n = (int)s->dim[s->rank - 1];
    rows = tfd_linalg_batch_of(s, f.n, -1);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, s, st));
    TFD_TRY(tfd_kctx_output(k, 1, type, &rows, st));
    f.a = tfd_tensor_data(&k->in[0]);
    f.y = tfd_tensor_data(&k->out[0]);
    f.p = tfd_tensor_data(&k->out[1]);
    if (tfd_tensor_elements(&k->in[0]) == 0)
        return TFD_OK;
    return tfd_kctx_try(k, tfd_linalg_matrices(s), cost_of_square(f.n, true),
                        loops[k->in[0].dtype], &f, st);
}

/* ---- CholeskyGrad -------------------------------------------------------- */

#define CHOLESKY_GRAD(p, T)                                                    \
    static void lower_##p(const T *x, int64_t n, T *y)                         \
    {                                                                          \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t j = 0; j < n; j++)                                    \
                y[i * n + j] = j <= i ? x[i * n + j] : 0;                      \
    }                                                                          \
    static void cholesky_grad_one_##p(int n, const T *l, const T *grad, T *s,  \
                                      T *y)                                    \
    {                                                                          \
        if (tfd_linalg_small_cholesky_grad_##T(n, l, grad, y))                 \
            return;                                                            \
        lower_##p(grad, n, s);                                                 \
        cblas_##p##trmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans,      \
                        CblasNonUnit, n, n, 1, l, n, s, n);                    \
        for (int64_t i = 0; i < n; i++)                                        \
            s[i * n + i] /= 2;                                                 \
        lower_##p(s, n, y);                                                    \
        cblas_##p##trsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans,      \
                        CblasNonUnit, n, n, 1, l, n, y, n);                    \
        cblas_##p##trsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans,   \
                        CblasNonUnit, n, n, 1, l, n, y, n);                    \
        memcpy(s, y, sizeof(T) * (size_t)n * (size_t)n);                       \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t j = 0; j < n; j++)                                    \
                y[i * n + j] = (s[i * n + j] + s[j * n + i]) / 2;              \
    }                                                                          \
    static enum tfd_code cholesky_grad_##p(void *arg, int64_t begin,           \
                                           int64_t end, struct tfd_status *st) \
    {                                                                          \
        const struct factors *f = arg;                                         \
        const int64_t size = (int64_t)f->n * f->n;                             \
        struct tfd_buffer *room = tfd_buffer_new(sizeof(T) * (size_t)size);    \
                                                                               \
        if (!room)                                                             \
            return no_room(f->n, st);                                          \
        for (int64_t i = begin; i < end && !tfd_halted(); i++)                 \
            cholesky_grad_one_##p(f->n, (const T *)f->a + i * size,            \
                                  (const T *)f->b + i * size, room->data,      \
                                  (T *)f->y + i * size);                       \
        tfd_buffer_unref(room);                                                \
        return TFD_OK;                                                         \
    }

CHOLESKY_GRAD(s, float)
CHOLESKY_GRAD(d, double)

static enum tfd_code check_factor_and_grad(const struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    const struct tfd_shape *l = &k->in[0].shape;

    TFD_TRY(tfd_linalg_check_ranks(k, 2, st));
    TFD_TRY(tfd_linalg_check_matrix(k, 0, st));
    if (!tfd_shape_equal(l, &k->in[1].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Inputs (L and grad) must have the same shape.");
    if (l->dim[l->rank - 1] != l->dim[l->rank - 2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Inputs must be a square matrices.");
    return TFD_OK;
}

static enum tfd_code cholesky_grad_compute(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    struct factors f = {.n = 0};

    TFD_TRY(check_factor_and_grad(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, s, st));
    f.n = (int)s->dim[s->rank - 1];
    f.a = tfd_tensor_data(&k->in[0]);
    f.b = tfd_tensor_data(&k->in[1]);
    f.y = tfd_tensor_data(&k->out[0]);
    if (tfd_tensor_elements(&k->in[0]) == 0)
        return TFD_OK;
    return tfd_kctx_try(k, tfd_linalg_matrices(s), cost_of_square(f.n, true),
                        k->in[0].dtype == TFD_FLOAT ? cholesky_grad_s
                                                    : cholesky_grad_d,
                        &f, st);
}

/* ---- SelfAdjointEig ------------------------------------------------------ */

/* Runs the loop for one matrix after another, each of whose values and vectors
 * lie one after the other. */
struct eigen_rows {
    struct tfd_linalg l;
    enum tfd_dtype dtype;
    int64_t n;
};

static void eigen_rows(void *arg, int64_t begin, int64_t end)
{
    struct eigen_rows *e = arg;
    const size_t size = tfd_dtype_size(e->dtype);
    const size_t n = (size_t)e->n;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        struct tfd_linalg one = e->l;
        char *out = (char *)e->l.out[0] + (size_t)i * size * (n + 1) * n;

        one.a = (const char *)e->l.a + (size_t)i * size * n * n;
        one.out[0] = out;
        one.out[1] = out + size * n;
        tfd_linalg_loop(TFD_LINALG_EIGEN, e->dtype)(&one, 0, 1);
        if (one.failed)
            TFD_STORE_RELAXED(&e->l.failed, one.failed);
    }
}

static enum tfd_code eigen_rows_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    struct eigen_rows e = {.l = {.vectors = true}, .dtype = k->in[0].dtype};
    struct tfd_shape out;

    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    e.n = s->dim[s->rank - 1];
    out = tfd_linalg_batch_of(s, e.n + 1, e.n);
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, e.dtype, &out, st));
    e.l.rows = e.l.columns = (int)e.n;
    e.l.a = tfd_tensor_data(&k->in[0]);
    e.l.out[0] = tfd_tensor_data(&k->out[0]);
    if (tfd_tensor_elements(&k->out[0]) > 0)
        tfd_kctx_parallel(k, tfd_linalg_matrices(s), cost_of_square(e.n, false),
                          eigen_rows, &e);
    if (e.l.failed == TFD_LINALG_MEMORY)
        return no_room((int)e.n, st);
    if (e.l.failed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Self Adjoint Eigen decomposition wasnot successful. "
                        "The input might not be valid.");
    return TFD_OK;
}

static enum tfd_code blas_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    (void)p;
    (void)state;
    (void)st;
    tfd_gemm_init();
    return TFD_OK;
}

/* ---- Shapes and tables --------------------------------------------------- */

static enum tfd_code lu_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    TFD_TRY(tfd_linalg_shape_square(s, st));
    s->out[1] = s->out[0];
    if (s->out[0].rank >= 2)
        s->out[1].rank--;
    return TFD_OK;
}

static enum tfd_code eigen_rows_shape(struct tfd_shape_ctx *s,
                                      struct tfd_status *st)
{
    struct tfd_shape *out = &s->out[0];

    TFD_TRY(tfd_linalg_shape_square(s, st));
    if (out->rank >= 2 && out->dim[out->rank - 2] != TFD_DIM_UNKNOWN)
        out->dim[out->rank - 2]++;
    return TFD_OK;
}

#define OP(name_, in, out, attrs_, shape_)                            \
    {                                                                 \
        .name = name_, .inputs = in, .outputs = out, .attrs = attrs_, \
        .shape = shape_,                                              \
    }

static const struct tfd_opdef ops[] = {
    OP("Lu", "input: T", "lu: T, p: output_idx_type",
       "T: {double, float, half, complex64, complex128}; "
       "output_idx_type: {int32, int64} = DT_INT32",
       lu_shape),
    OP("CholeskyGrad", "l: T, grad: T", "output: T", "T: {half, float, double}",
       tfd_shape_like_first),
    OP("SelfAdjointEig", "input: T", "output: T", "T: {double, float, half}",
       eigen_rows_shape),
    /* Their names before GraphDef's version 13. */
    OP("BatchCholeskyGrad", "l: T, grad: T", "output: T", "T: {float, double}",
       tfd_shape_like_first),
    OP("BatchSelfAdjointEig", "input: T", "output: T", "T: {double, float}",
       eigen_rows_shape),
};

#define KERNEL(op, type, compute)                            \
    TFD_KERNEL(op, type, compute, .flags = TFD_KERNEL_HEAVY, \
               .prepare = blas_prepare)
#define KERNELS(type)                                             \
    KERNEL("Lu", type, lu_compute),                               \
        KERNEL("CholeskyGrad", type, cholesky_grad_compute),      \
        KERNEL("BatchCholeskyGrad", type, cholesky_grad_compute), \
        KERNEL("SelfAdjointEig", type, eigen_rows_compute),       \
        KERNEL("BatchSelfAdjointEig", type, eigen_rows_compute)

static const struct tfd_kernel kernels[] = {
    KERNELS(FLOAT),
    KERNELS(DOUBLE),
    KERNEL("Lu", COMPLEX64, lu_compute),
    KERNEL("Lu", COMPLEX128, lu_compute),
};

const struct tfd_family tfd_family_factors = {
    .name = "factors",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
