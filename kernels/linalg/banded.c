/*
 * banded.c - BandedTriangularSolve: X of A X = B, where A is a triangular
 * matrix, or the adjoint of one, that has elements on a few diagonals only.
 *
 * The diagonals are the rows of a matrix, the main one first (of a lower
 * triangle) or last.  What is in column j of the row of diagonal d, counted
 * from the main one, is
 *
 *     lower  A[j, j - d]      upper  A[j, j + d]
 *
 * so those outside of A are at the begin or at the end of a row, and are never
 * read.  Dimensions in front of the matrices are broadcast.
 */
#include "common/thread/halt.h"
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/linalg/batch_matmul_grad.h"
#include "kernels/linalg/linalg_check.h"

#include <complex.h>
#include <string.h>

typedef float _Complex complex64;
typedef double _Complex complex128;

struct banded_state {
    bool lower, adjoint;
};

struct banded {
    const struct banded_state *state;
    int64_t bands, n, right;
    struct tfd_shape batch, a_batch, b_batch; /* in front of the matrices */
    const void *a, *b;
    void *y;
};

/* ---- Loops --------------------------------------------------------------- */

/* Which matrix of a broadcast operand belongs to matrix `at` of the result. */
static int64_t operand_index(const struct tfd_shape *result,
                             const struct tfd_shape *operand, int64_t at)
{
    int64_t index = 0, step = 1;

    for (int i = result->rank - 1; i >= 0; i--) {
        const int place = i - (result->rank - operand->rank);
        const int64_t dim = place >= 0 ? operand->dim[place] : 1;

        index += dim == 1 ? 0 : at % result->dim[i] * step;
        step *= dim;
        at /= result->dim[i];
    }
    return index;
}

static void operands_at(const struct banded *s, int64_t i, int64_t at[2])
{
    at[0] = operand_index(&s->batch, &s->a_batch, i);
    at[1] = operand_index(&s->batch, &s->b_batch, i);
}

#define LOOPS(p, T, conj_)                                                     \
    /* Element [i, j] of what is solved, the adjoint where that is asked for;  \
     * it lies within the bands. */                                            \
    static inline T element_##p(const struct banded *s, const T *a, int64_t i, \
                                int64_t j)                                     \
    {                                                                          \
        const bool adjoint = s->state->adjoint;                                \
        const int64_t row = adjoint ? j : i;                                   \
        const int64_t far = i > j ? i - j : j - i;                             \
        const T x = s->state->lower ? a[far * s->n + row]                      \
                                    : a[(s->bands - 1 - far) * s->n + row];    \
                                                                               \
        return adjoint ? conj_(x) : x;                                         \
    }                                                                          \
    /* Row i of X; those before it, or behind it, are there. */                \
    static void solve_row_##p(const struct banded *s, const T *a, int64_t i,   \
                              bool down, T *x)                                 \
    {                                                                          \
        const int64_t right = s->right, step = down ? -1 : 1;                  \
        const T pivot = element_##p(s, a, i, i);                               \
        T *row = x + i * right;                                                \
                                                                               \
        for (int64_t far = 1; far < s->bands; far++) {                         \
            const int64_t j = i + step * far;                                  \
            T factor;                                                          \
                                                                               \
            if (j < 0 || j >= s->n)                                            \
                break;                                                         \
            factor = element_##p(s, a, i, j);                                  \
            for (int64_t c = 0; c < right; c++)                                \
                row[c] -= factor * x[j * right + c];                           \
        }                                                                      \
        for (int64_t c = 0; c < right; c++)                                    \
            row[c] /= pivot;                                                   \
    }                                                                          \
    static void solve_##p(void *arg, int64_t begin, int64_t end)               \
    {                                                                          \
        const struct banded *s = arg;                                          \
        const bool down = s->state->lower != s->state->adjoint;                \
        const int64_t size = s->n * s->right;                                  \
                                                                               \
        for (int64_t i = begin; i < end; i++) {                                \
            int64_t at[2];                                                     \
            const T *a = s->a, *b = s->b;                                      \
            T *x = (T *)s->y + i * size;                                       \
                                                                               \
            operands_at(s, i, at);                                             \
            a += at[0] * s->bands * s->n;                                      \
            memcpy(x, b + at[1] * size, sizeof(T) * (size_t)size);             \
            for (int64_t r = 0; r < s->n && !tfd_halted(); r++)                \
                solve_row_##p(s, a, down ? r : s->n - 1 - r, down, x);         \
        }                                                                      \
    }                                                                          \
    static bool has_pivots_##p(const void *data, int64_t n)                    \
    {                                                                          \
        const T *a = data;                                                     \
        bool found = true;                                                     \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            found = found && a[i] != 0;                                        \
        return found;                                                          \
    }

#define ITSELF(x) (x)

LOOPS(s, float, ITSELF)
LOOPS(d, double, ITSELF)
LOOPS(c, complex64, conjf)
LOOPS(z, complex128, conj)

static const struct {
    tfd_range_fn *solve;
    bool (*has_pivots)(const void *data, int64_t n);
} loops[TFD_DTYPE_END] = {
    [TFD_FLOAT] = {solve_s, has_pivots_s},
    [TFD_DOUBLE] = {solve_d, has_pivots_d},
    [TFD_COMPLEX64] = {solve_c, has_pivots_c},
    [TFD_COMPLEX128] = {solve_z, has_pivots_z},
};

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code check_banded_input(const struct tfd_kctx *k, int arg,
                                        struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[arg];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[%d] ndims must be >= 2: %d", arg, t->shape.rank);
    if (tfd_tensor_elements(t) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[%d] must not be an empty tensor: "
                        "Tensor<type: %s shape: %s values: >",
                        arg, tfd_dtype_name((int)t->dtype),
                        tfd_shape_text(&t->shape, text));
    return TFD_OK;
}

static enum tfd_code check_banded(const struct tfd_kctx *k, struct banded *s,
                                  struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_banded_input(k, 0, st));
    TFD_TRY(check_banded_input(k, 1, st));
    s->a_batch = tfd_linalg_batch_of(a, -1, -1);
    s->b_batch = tfd_linalg_batch_of(b, -1, -1);
    s->bands = a->dim[a->rank - 2];
    s->n = a->dim[a->rank - 1];
    s->right = b->dim[b->rank - 1];
    if (!tfd_broadcast_fits(&s->a_batch, &s->b_batch))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] and In[1] must have compatible batch "
                        "dimensions: %s vs. %s",
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]));
    if (s->n != b->dim[b->rank - 2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d "
                        "%d",
                        (long long)s->n, (long long)b->dim[b->rank - 2],
                        tfd_shape_text(a, text[0]), tfd_shape_text(b, text[1]),
                        s->state->lower, s->state->adjoint);
    return tfd_broadcast_shape(&s->a_batch, &s->b_batch, &s->batch, st);
}

/* As TensorFlow, which looks at the pivots of the first matrix alone. */
static enum tfd_code check_pivots(const struct tfd_kctx *k,
                                  const struct banded *s, struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->in[0].dtype;
    const int64_t first = s->state->lower ? 0 : (s->bands - 1) * s->n;
    const char *a = s->a;

    if (!loops[dtype].has_pivots(a + (size_t)first * tfd_dtype_size(dtype),
                                 s->n))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input matrix is not invertible.");
    return TFD_OK;
}

static enum tfd_code banded_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct banded s = {.state = k->state};
    struct tfd_shape out;
    double ns;

    TFD_TRY(check_banded(k, &s, st));
    out = s.batch;
    if (out.rank + 2 > TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "%d dimensions", out.rank + 2);
    out.dim[out.rank++] = s.n;
    out.dim[out.rank++] = s.right;
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    s.a = tfd_tensor_data(&k->in[0]);
    s.b = tfd_tensor_data(&k->in[1]);
    s.y = tfd_tensor_data(&k->out[0]);
    TFD_TRY(check_pivots(k, &s, st));
    ns = 100 + (double)s.bands * (double)s.n * (double)s.right;
    tfd_kctx_parallel(k, tfd_shape_elements(&s.batch),
                      ns < INT32_MAX ? (int)ns : INT32_MAX,
                      loops[k->in[0].dtype].solve, &s);
    return TFD_OK;
}

static enum tfd_code banded_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct banded_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "lower", &s->lower, st));
    return tfd_node_bool(p->node, "adjoint", &s->adjoint, st);
}

/* ---- Gradient ------------------------------------------------------------ */

/* The first and the last diagonal that the bands are, as vectors of one: 0, and
 * how many there are but for that. */
static struct tfd_edge band_bounds(struct tfd_gradient *b, struct tfd_edge a,
                                   bool lower)
{
    static const int32_t zero = 0, one = 1;
    struct tfd_edge none = tfd_gradient_ints(b, &zero, 1);
    struct tfd_edge more = tfd_gradient_ints(b, &one, 1);
    struct tfd_edge bands =
        tfd_gradient_op2(b, "ReverseV2", tfd_gradient_shape(b, a), none);

    bands = tfd_gradient_op3(b, "Slice", bands, more, more);
    if (lower)
        return tfd_gradient_op3(b, "ConcatV2",
                                tfd_gradient_op2(b, "Sub", more, bands), none,
                                tfd_gradient_ints(b, &zero, -1));
    return tfd_gradient_op3(b, "ConcatV2", none,
                            tfd_gradient_op2(b, "Sub", bands, more),
                            tfd_gradient_ints(b, &zero, -1));
}

/* The diagonals of a matrix as the rows of another. */
static struct tfd_edge bands_of(struct tfd_gradient *b, struct tfd_edge x,
                                bool lower)
{
    const struct tfd_edge in[] = {x, band_bounds(b, b->g->x[0], lower),
                                  tfd_gradient_scalar(b, x, 0)};
    struct tfd_edge out = TFD_EDGE_NONE;
    struct tfd_attr align = {.name = tfd_str_of("align")};
    struct tfd_bytes value;

    tfd_bytes_init(&value, 64);
    tfd_attr_put_str(&value, tfd_str_of("LEFT_RIGHT"));
    align.value = tfd_bytes_view(&value);
    if (b->code == TFD_OK)
        b->code = tfd_bytes_ok(&value, "an attribute", b->st);
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, "MatrixDiagPartV3", in, 3, &align,
                                      1, &out, 1, b->st);
    tfd_bytes_deinit(&value);
    return out;
}

/* X of A X = B. */
static struct tfd_edge emit_banded(struct tfd_gradient *b, struct tfd_edge a,
                                   struct tfd_edge right, bool lower,
                                   bool adjoint)
{
    const struct tfd_edge in[] = {a, right};
    struct tfd_attr attrs[2] = {{.name = tfd_str_of("lower")},
                                {.name = tfd_str_of("adjoint")}};
    struct tfd_edge out = TFD_EDGE_NONE;
    struct tfd_bytes value[2];

    for (int i = 0; i < 2; i++) {
        tfd_bytes_init(&value[i], 16);
        tfd_attr_put_bool(&value[i], i == 0 ? lower : adjoint);
        attrs[i].value = tfd_bytes_view(&value[i]);
        if (b->code == TFD_OK)
            b->code = tfd_bytes_ok(&value[i], "an attribute", b->st);
    }
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, "BandedTriangularSolve", in, 2,
                                      attrs, 2, &out, 1, b->st);
    for (int i = 0; i < 2; i++)
        tfd_bytes_deinit(&value[i]);
    return out;
}

/* With A' the adjoint of A: dB is X of A' X = dY, and dA the bands of -dB Y',
 * or of -Y dB' where it was A' that was solved. */
static enum tfd_code banded_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const flags[] = {"adj_y", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge dx[2], in[2];
    bool lower, adjoint;

    TFD_TRY(tfd_node_bool(g->node, "lower", &lower, st));
    TFD_TRY(tfd_node_bool(g->node, "adjoint", &adjoint, st));
    dx[1] = emit_banded(&b, g->x[0], g->dy[0], lower, !adjoint);
    in[adjoint] = dx[1];
    in[!adjoint] = g->y[0];
    dx[0] = tfd_gradient_op_flags(&b, "BatchMatMulV2", in, 2, flags);
    dx[0] = bands_of(&b, tfd_gradient_op1(&b, "Neg", dx[0]), lower);
    tfd_batch_matmul_sum_back(&b, dx);
    g->dx[0] = dx[0];
    g->dx[1] = dx[1];
    return b.code;
}

/* ---- Table --------------------------------------------------------------- */

static enum tfd_code unknown_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    (void)s;
    (void)st;
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "BandedTriangularSolve",
        .inputs = "matrix: T, rhs: T",
        .outputs = "output: T",
        .attrs = "lower: bool = true; adjoint: bool = false; "
                 "T: {double, float, half, complex64, complex128}",
        .shape = unknown_shape,
        .grad = banded_gradient,
    },
};

#define KERNEL(type)                                          \
    TFD_KERNEL("BandedTriangularSolve", type, banded_compute, \
               .prepare = banded_prepare,                     \
               .state_size = sizeof(struct banded_state))

static const struct tfd_kernel kernels[] = {
    KERNEL(FLOAT),
    KERNEL(DOUBLE),
    KERNEL(COMPLEX64),
    KERNEL(COMPLEX128),
};

const struct tfd_family tfd_family_banded = {
    .name = "banded",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
