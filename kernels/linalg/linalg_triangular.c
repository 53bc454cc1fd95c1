/*
 * linalg_triangular.c - by way of BLAS, which knows matrices that lie row by
 * row: X begins as a copy of B.
 */
#include "kernels/linalg/linalg_triangular.h"

#include "kernels/linalg/gemm.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

struct state {
    bool lower, adjoint;
};

struct job {
    const struct state *state;
    enum tfd_dtype dtype;
    int n, right;
    const char *a, *b;
    char *y;
    struct tfd_shape batch, a_batch, b_batch; /* in front of the matrices */
};

/* Which matrix of a broadcast operand belongs to matrix `at` of the result. */
static int64_t broadcast_index(const struct tfd_shape *result,
                               const struct tfd_shape *operand, int64_t at)
{
    int64_t index = 0, step = 1;

    for (int i = result->rank - 1; i >= 0; i--) {
        int place = i - (result->rank - operand->rank);
        int64_t dim = place >= 0 ? operand->dim[place] : 1;

        index += dim == 1 ? 0 : at % result->dim[i] * step;
        step *= dim;
        at /= result->dim[i];
    }
    return index;
}

static void solve_one(const struct job *j, const void *a, void *y)
{
    const tfd_complex64 one64 = {1, 0};
    const tfd_complex128 one128 = {1, 0};
    const int n = j->n, right = j->right;
    enum CBLAS_UPLO uplo = j->state->lower ? CblasLower : CblasUpper;
    enum CBLAS_TRANSPOSE trans =
        j->state->adjoint ? CblasConjTrans : CblasNoTrans;

    switch (j->dtype) {
    case TFD_FLOAT:
        cblas_strsm(CblasRowMajor, CblasLeft, uplo, trans, CblasNonUnit, n,
                    right, 1, a, n, y, right);
        break;
    case TFD_DOUBLE:
        cblas_dtrsm(CblasRowMajor, CblasLeft, uplo, trans, CblasNonUnit, n,
                    right, 1, a, n, y, right);
        break;
    case TFD_COMPLEX64:
        cblas_ctrsm(CblasRowMajor, CblasLeft, uplo, trans, CblasNonUnit, n,
                    right, &one64, a, n, y, right);
        break;
    default:
        cblas_ztrsm(CblasRowMajor, CblasLeft, uplo, trans, CblasNonUnit, n,
                    right, &one128, a, n, y, right);
        break;
    }
}

static void solve(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;
    const size_t element = tfd_dtype_size(j->dtype);
    const size_t a_size = element * (size_t)j->n * (size_t)j->n;
    const size_t y_size = element * (size_t)j->n * (size_t)j->right;

    for (int64_t i = begin; i < end; i++) {
        size_t a = (size_t)broadcast_index(&j->batch, &j->a_batch, i);
        size_t b = (size_t)broadcast_index(&j->batch, &j->b_batch, i);
        char *y = j->y + (size_t)i * y_size;

        memcpy(y, j->b + b * y_size, y_size);
        solve_one(j, j->a + a * a_size, y);
    }
}

/* ---- Shapes -------------------------------------------------------------- */

static struct tfd_shape front_of(const struct tfd_shape *s)
{
    struct tfd_shape out = *s;

    out.rank -= 2;
    return out;
}

/* False when the batches of the two do not fit. */
static bool broadcast(struct job *j)
{
    const struct tfd_shape *a = &j->a_batch, *b = &j->b_batch;

    j->batch.rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= j->batch.rank; i++) {
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;

        if (x != y && x != 1 && y != 1)
            return false;
        j->batch.dim[j->batch.rank - i] = x == 1 ? y : x;
    }
    return true;
}

static enum tfd_code check_matrices(const struct tfd_shape *a,
                                    const struct tfd_shape *b,
                                    struct tfd_status *st)
{
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (a->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] ndims must be >= 2: %d", a->rank);
    if (b->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[1] ndims must be >= 2: %d", b->rank);
    if (a->dim[a->rank - 1] != a->dim[a->rank - 2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] matrices in the last dimensions must be square "
                        "(%lld =/= %lld)",
                        (long long)a->dim[a->rank - 1],
                        (long long)a->dim[a->rank - 2]);
    if (a->dim[a->rank - 1] > INT32_MAX || b->dim[b->rank - 1] > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The matrices of %s or %s are too large",
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]));
    return TFD_OK;
}

static enum tfd_code check_triangular_inputs(const struct tfd_kctx *k,
                                             struct job *j,
                                             struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_matrices(a, b, st));
    j->n = (int)a->dim[a->rank - 1];
    j->right = (int)b->dim[b->rank - 1];
    j->a_batch = front_of(a);
    j->b_batch = front_of(b);
    if (!broadcast(j))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] and In[1] must have compatible batch "
                        "dimensions: %s vs. %s",
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]));
    if (j->n != b->dim[b->rank - 2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] mismatch In[1] shape: %d vs. %lld: %s %s %d %d",
                        j->n, (long long)b->dim[b->rank - 2],
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]),
                        j->state->lower, j->state->adjoint);
    return TFD_OK;
}

/* ---- Public -------------------------------------------------------------- */

enum tfd_code tfd_linalg_triangular_prepare(const struct tfd_prepare *p,
                                            void *state, struct tfd_status *st)
{
    struct state *s = state;

    tfd_gemm_init();
    TFD_TRY(tfd_node_bool(p->node, "lower", &s->lower, st));
    return tfd_node_bool(p->node, "adjoint", &s->adjoint, st);
}

enum tfd_code tfd_linalg_triangular_compute(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    struct job j = {.state = k->state, .dtype = k->in[0].dtype};
    struct tfd_shape out;
    double ns;

    TFD_TRY(check_triangular_inputs(k, &j, st));
    out = j.batch;
    out.dim[out.rank++] = j.n;
    out.dim[out.rank++] = j.right;
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, j.dtype, &out, st));
    if (tfd_shape_elements(&out) == 0)
        return TFD_OK;
    j.a = tfd_tensor_data(&k->in[0]);
    j.b = tfd_tensor_data(&k->in[1]);
    j.y = tfd_tensor_data(&k->out[0]);
    ns = 500 + (double)j.n * j.n * j.right;
    tfd_kctx_parallel(k, tfd_shape_elements(&j.batch),
                      ns < INT32_MAX ? (int)ns : INT32_MAX, solve, &j);
    return TFD_OK;
}
