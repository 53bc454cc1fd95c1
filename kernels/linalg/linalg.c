/*
 * linalg.c - linear algebra of the two last dimensions of a tensor:
 *
 *     Qr Cholesky MatrixInverse MatrixSolve MatrixTriangularSolve
 *     MatrixDeterminant LogMatrixDeterminant SelfAdjointEigV2 Svd
 *
 * The dimensions before them count matrices, which are shared among the compute
 * threads; loops are those of linalg_loops.h.  half is computed in float.
 *
 * QR has TensorFlow's signs: both negate where the diagonal is positive.
 * Eigenvectors and singular vectors are unique but for their sign (in complex
 * numbers their phase), and that is not TensorFlow's.  Where they are not asked
 * for they are a scalar, and said to be empty, as in TensorFlow.
 */
#include "common/base/half.h"
#include "common/base/min.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/linalg.h"
#include "kernels/linalg/linalg_check.h"
#include "kernels/linalg/linalg_grad.h"
#include "kernels/linalg/linalg_shape.h"
#include "kernels/linalg/linalg_small.h"
#include "kernels/linalg/linalg_triangular.h"

#include <math.h>

/* Rough nanoseconds of one matrix: its size to the power of 1.5, or a fraction
 * in the vectors of linalg_small.h. */
static int cost_of_matrix(const struct tfd_linalg *l, enum tfd_linalg_op op,
                          enum tfd_dtype dtype)
{
    const double size = (double)l->rows * l->columns;
    const bool small = l->rows <= TFD_LINALG_SMALL_MAX &&
                       (dtype == TFD_FLOAT || dtype == TFD_DOUBLE) &&
                       op != TFD_LINALG_EIGEN && op != TFD_LINALG_SVD;
    const double ns =
        small ? 250 + size * sqrt(size) / 8 + (double)l->rows * l->right
              : 2000 + size * sqrt(size);

    return ns < INT32_MAX ? (int)ns : INT32_MAX;
}

static enum tfd_code check_failed(const struct tfd_linalg *l,
                                  enum tfd_linalg_op op, struct tfd_status *st)
{
    switch ((enum tfd_linalg_failure)l->failed) {
    case TFD_LINALG_MEMORY:
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when decomposing a matrix of %d x %d", l->rows,
                        l->columns);
    case TFD_LINALG_SINGULAR:
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Input%s is not invertible.",
                        op == TFD_LINALG_INVERSE ? "" : " matrix");
    case TFD_LINALG_NOT_CONVERGED:
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s was not successful. The input might not be valid.",
                        op == TFD_LINALG_EIGEN ? "Self-adjoint eigen "
                                                 "decomposition"
                                               : "Decomposition");
    default:
        return TFD_OK;
    }
}

/* Runs the loop; the outputs exist.  Sizes are those of input 0. */
static enum tfd_code run_linalg(struct tfd_kctx *k, enum tfd_linalg_op op,
                                struct tfd_linalg *l, struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    struct tfd_shape batch = tfd_linalg_batch_of(s, -1, -1);

    l->rows = (int)s->dim[s->rank - 2];
    l->columns = (int)s->dim[s->rank - 1];
    l->a = tfd_tensor_data(&k->in[0]);
    for (int i = 0; i < k->out_count && i < 3; i++)
        l->out[i] = tfd_tensor_data(&k->out[i]);
    tfd_kctx_parallel(k, tfd_shape_elements(&batch),
                      cost_of_matrix(l, op, k->in[0].dtype),
                      tfd_linalg_loop(op, k->in[0].dtype), l);
    return check_failed(l, op, st);
}

/* ---- half ---------------------------------------------------------------- */

static enum tfd_code widen(struct tfd_tensor *t, struct tfd_status *st)
{
    const tfd_half *x = tfd_tensor_data(t);
    struct tfd_tensor wide;
    float *y;

    TFD_TRY(tfd_tensor_new(&wide, TFD_FLOAT, &t->shape, st));
    y = tfd_tensor_data(&wide);
    for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
        y[i] = tfd_half_to_float(x[i]);
    *t = wide;
    return TFD_OK;
}

static enum tfd_code narrow(struct tfd_tensor *t, struct tfd_status *st)
{
    struct tfd_tensor wide = *t;
    const float *x = tfd_tensor_data(&wide);
    tfd_half *y;

    *t = (struct tfd_tensor)TFD_TENSOR_INIT;
    if (tfd_tensor_new(t, TFD_HALF, &wide.shape, st) == TFD_OK) {
        y = tfd_tensor_data(t);
        for (int64_t i = 0; i < tfd_tensor_elements(t); i++)
            y[i] = tfd_half_from_float(x[i]);
    }
    tfd_tensor_unref(&wide);
    return t->dtype == TFD_HALF ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

/* `compute` of input 0 in float. */
static enum tfd_code in_float(struct tfd_kctx *k, tfd_compute_fn *compute,
                              struct tfd_status *st)
{
    struct tfd_tensor given = k->in[0];
    enum tfd_code code;

    TFD_TRY(widen(&k->in[0], st));
    code = compute(k, st);
    tfd_tensor_unref(&k->in[0]);
    k->in[0] = given;
    for (int i = 0; code == TFD_OK && i < k->out_count; i++)
        code = narrow(&k->out[i], st);
    return code;
}

/* ---- Kernels ------------------------------------------------------------- */

enum tfd_code tfd_linalg_qr_make(struct tfd_kctx *k, struct tfd_linalg_qr *out,
                                 struct tfd_status *st)
{
    const struct tfd_linalg_state *state = k->state;
    const struct tfd_shape *s = &k->in[0].shape;
    struct tfd_shape q, r, batch;

    TFD_TRY(tfd_linalg_check_matrix(k, 0, st));
    batch = tfd_linalg_batch_of(s, -1, -1);
    out->count = tfd_shape_elements(&batch);
    out->m = s->dim[s->rank - 2];
    out->n = s->dim[s->rank - 1];
    out->p = state->flag ? out->m : tfd_min(out->m, out->n);
    q = tfd_linalg_batch_of(s, out->m, out->p);
    r = tfd_linalg_batch_of(s, out->p, out->n);
    TFD_TRY(tfd_shape_make(&q, q.dim, q.rank, st));
    TFD_TRY(tfd_shape_make(&r, r.dim, r.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &q, st));
    return tfd_kctx_output(k, 1, k->in[0].dtype, &r, st);
}

static enum tfd_code qr_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_linalg l = {.flag = ((struct tfd_linalg_state *)k->state)->flag};
    struct tfd_linalg_qr sizes;

    TFD_TRY(tfd_linalg_qr_make(k, &sizes, st));
    return run_linalg(k, TFD_LINALG_QR, &l, st);
}

static enum tfd_code square_compute(struct tfd_kctx *k, enum tfd_linalg_op op,
                                    struct tfd_status *st)
{
    struct tfd_linalg l = {.right = 0};
    const struct tfd_shape *s = &k->in[0].shape;

    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    if (k->state)
        l.flag = ((struct tfd_linalg_state *)k->state)->flag;
    l.right = (int)s->dim[s->rank - 1];
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, s, st));
    return run_linalg(k, op, &l, st);
}

static enum tfd_code cholesky_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return square_compute(k, TFD_LINALG_CHOLESKY, st);
}

static enum tfd_code inverse_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return square_compute(k, TFD_LINALG_INVERSE, st);
}

static enum tfd_code solve_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_linalg l = {.flag = ((struct tfd_linalg_state *)k->state)->flag};
    const struct tfd_shape *b = &k->in[1].shape;

    TFD_TRY(tfd_linalg_check_system(k, true, st));
    l.right = (int)b->dim[b->rank - 1];
    l.b = tfd_tensor_data(&k->in[1]);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, b, st));
    return run_linalg(k, TFD_LINALG_SOLVE, &l, st);
}

static enum tfd_code log_det_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_linalg l = {.right = 0};
    struct tfd_shape batch;

    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    batch = tfd_linalg_batch_of(&k->in[0].shape, -1, -1);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &batch, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[0].dtype, &batch, st));
    return run_linalg(k, TFD_LINALG_LOG_DET, &l, st);
}

static enum tfd_code eigen_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_linalg_state *a = k->state;
    struct tfd_linalg l = {.vectors = a->vectors};
    const struct tfd_shape *s = &k->in[0].shape;
    struct tfd_shape e, v = {.rank = 0};

    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    e = tfd_linalg_batch_of(s, s->dim[s->rank - 1], -1);
    if (a->vectors)
        v = *s;
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &e, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[0].dtype, &v, st));
    if (!a->vectors)
        tfd_elements_zero(k->in[0].dtype, tfd_tensor_data(&k->out[1]), 1);
    return run_linalg(k, TFD_LINALG_EIGEN, &l, st);
}

static enum tfd_code svd_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_linalg_state *a = k->state;
    struct tfd_linalg l = {.flag = a->flag, .vectors = a->vectors};
    const struct tfd_shape *s = &k->in[0].shape;
    struct tfd_shape values, u = {.rank = 0}, v = {.rank = 0};
    int64_t m, n, p;

    TFD_TRY(tfd_linalg_check_matrix(k, 0, st));
    m = s->dim[s->rank - 2];
    n = s->dim[s->rank - 1];
    p = tfd_min(m, n);
    values = tfd_linalg_batch_of(s, p, -1);
    if (a->vectors) {
        u = tfd_linalg_batch_of(s, m, a->flag ? m : p);
        v = tfd_linalg_batch_of(s, n, a->flag ? n : p);
    }
    TFD_TRY(tfd_shape_make(&u, u.dim, u.rank, st));
    TFD_TRY(tfd_shape_make(&v, v.dim, v.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &values, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[0].dtype, &u, st));
    TFD_TRY(tfd_kctx_output(k, 2, k->in[0].dtype, &v, st));
    for (int i = 1; i < 3 && !a->vectors; i++)
        tfd_elements_zero(k->in[0].dtype, tfd_tensor_data(&k->out[i]), 1);
    return run_linalg(k, TFD_LINALG_SVD, &l, st);
}

static enum tfd_code det_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_linalg l = {.right = 0};
    struct tfd_shape batch;

    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    batch = tfd_linalg_batch_of(&k->in[0].shape, -1, -1);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &batch, st));
    return run_linalg(k, TFD_LINALG_DET, &l, st);
}

static enum tfd_code half_qr_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return in_float(k, qr_compute, st);
}

static enum tfd_code half_inverse_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    return in_float(k, inverse_compute, st);
}

static enum tfd_code prepare_linalg(const struct tfd_prepare *p,
                                    struct tfd_linalg_state *a,
                                    const char *flag, const char *vectors,
                                    struct tfd_status *st)
{
    tfd_gemm_init();
    if (vectors)
        TFD_TRY(tfd_node_bool(p->node, vectors, &a->vectors, st));
    return flag ? tfd_node_bool(p->node, flag, &a->flag, st) : TFD_OK;
}

static enum tfd_code plain_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return prepare_linalg(p, state, NULL, NULL, st);
}

enum tfd_code tfd_linalg_qr_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return prepare_linalg(p, state, "full_matrices", NULL, st);
}

static enum tfd_code adjoint_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    return prepare_linalg(p, state, "adjoint", NULL, st);
}

static enum tfd_code eigen_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return prepare_linalg(p, state, NULL, "compute_v", st);
}

static enum tfd_code svd_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    return prepare_linalg(p, state, "full_matrices", "compute_uv", st);
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "{double, float, half, complex64, complex128}"
#define FEW_TYPES "{double, float}"
#define DET_TYPES "{half, float, double, complex64, complex128}"

#define OP_OF(name_, in, out, attrs_, shape_, grad_)                  \
    {                                                                 \
        .name = name_, .inputs = in, .outputs = out, .attrs = attrs_, \
        .shape = shape_, .grad = grad_,                               \
    }
#define OP(name, in, out, attrs, shape) OP_OF(name, in, out, attrs, shape, NULL)

static const struct tfd_opdef ops[] = {
    OP_OF("Qr", "input: T", "q: T, r: T",
          "full_matrices: bool = false; T: " TYPES, tfd_linalg_shape_qr,
          tfd_linalg_qr_gradient),
    OP_OF("Cholesky", "input: T", "output: T", "T: " TYPES,
          tfd_linalg_shape_square, tfd_linalg_cholesky_gradient),
    OP_OF("MatrixInverse", "input: T", "output: T",
          "adjoint: bool = false; T: " TYPES, tfd_linalg_shape_square,
          tfd_linalg_inverse_gradient),
    OP_OF("MatrixSolve", "matrix: T, rhs: T", "output: T",
          "adjoint: bool = false; T: " TYPES, tfd_linalg_shape_solve,
          tfd_linalg_solve_gradient),
    OP_OF("MatrixTriangularSolve", "matrix: T, rhs: T", "output: T",
          "lower: bool = true; adjoint: bool = false; "
          "T: {bfloat16, double, float, half, complex64, complex128}",
          tfd_linalg_shape_triangular, tfd_linalg_triangular_gradient),
    OP_OF("MatrixDeterminant", "input: T", "output: T", "T: " DET_TYPES,
          tfd_linalg_shape_batch, tfd_linalg_det_gradient),
    OP_OF("LogMatrixDeterminant", "input: T", "sign: T, log_abs_determinant: T",
          "T: " DET_TYPES, tfd_linalg_shape_batch, tfd_linalg_log_det_gradient),
    OP_OF("SelfAdjointEigV2", "input: T", "e: T, v: T",
          "compute_v: bool = true; T: " TYPES, tfd_linalg_shape_eigen,
          tfd_linalg_self_adjoint_gradient),
    OP_OF("Svd", "input: T", "s: T, u: T, v: T",
          "compute_uv: bool = true; full_matrices: bool = false; T: " TYPES,
          tfd_linalg_shape_svd, tfd_linalg_svd_gradient),
    /* Their names before GraphDef's version 13. */
    OP("BatchCholesky", "input: T", "output: T", "T: " FEW_TYPES,
       tfd_linalg_shape_square),
    OP("BatchMatrixDeterminant", "input: T", "output: T",
       "T: {float, double, complex64, complex128}", tfd_linalg_shape_batch),
    OP("BatchMatrixInverse", "input: T", "output: T",
       "adjoint: bool = false; T: " FEW_TYPES, tfd_linalg_shape_square),
    OP("BatchMatrixSolve", "matrix: T, rhs: T", "output: T",
       "adjoint: bool = false; T: " FEW_TYPES, tfd_linalg_shape_solve),
    OP("BatchMatrixTriangularSolve", "matrix: T, rhs: T", "output: T",
       "lower: bool = true; adjoint: bool = false; T: " FEW_TYPES,
       tfd_linalg_shape_triangular),
    OP("BatchSelfAdjointEigV2", "input: T", "e: T, v: T",
       "compute_v: bool = true; T: " FEW_TYPES, tfd_linalg_shape_eigen),
    OP("BatchSvd", "input: T", "s: T, u: T, v: T",
       "compute_uv: bool = true; full_matrices: bool = false; "
       "T: {double, float, complex64, complex128}",
       tfd_linalg_shape_svd),
};

#define KERNEL(op, type, compute, ...) \
    TFD_KERNEL(op, type, compute, .flags = TFD_KERNEL_HEAVY, __VA_ARGS__)
#define STATE(prepare_) \
    .prepare = prepare_, .state_size = sizeof(struct tfd_linalg_state)

/* Ops that an old name has too, which begins with `old`, and other ops. */
#define NAMED(old, type)                                                      \
    KERNEL(old "Cholesky", type, cholesky_compute, .prepare = plain_prepare), \
        KERNEL(old "MatrixInverse", type, inverse_compute,                    \
               STATE(adjoint_prepare)),                                       \
        KERNEL(old "MatrixSolve", type, solve_compute,                        \
               STATE(adjoint_prepare)),                                       \
        KERNEL(old "MatrixTriangularSolve", type,                             \
               tfd_linalg_triangular_compute,                                 \
               .prepare = tfd_linalg_triangular_prepare,                      \
               .state_size = TFD_LINALG_TRIANGULAR_STATE),                    \
        KERNEL(old "SelfAdjointEigV2", type, eigen_compute,                   \
               STATE(eigen_prepare))
#define NAMED_OF_ALL(old, type)                        \
    KERNEL(old "MatrixDeterminant", type, det_compute, \
           .prepare = plain_prepare),                  \
        KERNEL(old "Svd", type, svd_compute, STATE(svd_prepare))
#define KERNELS(type)                                             \
    KERNEL("Qr", type, qr_compute, STATE(tfd_linalg_qr_prepare)), \
        KERNEL("LogMatrixDeterminant", type, log_det_compute,     \
               .prepare = plain_prepare),                         \
        NAMED("", type), NAMED_OF_ALL("", type), NAMED_OF_ALL("Batch", type)

static const struct tfd_kernel kernels[] = {
    KERNELS(FLOAT),
    KERNELS(DOUBLE),
    KERNELS(COMPLEX64),
    KERNELS(COMPLEX128),
    NAMED("Batch", FLOAT),
    NAMED("Batch", DOUBLE),
    KERNEL("Qr", HALF, half_qr_compute, STATE(tfd_linalg_qr_prepare)),
    KERNEL("MatrixInverse", HALF, half_inverse_compute, STATE(adjoint_prepare)),
};

const struct tfd_family tfd_family_linalg = {
    .name = "linalg",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
