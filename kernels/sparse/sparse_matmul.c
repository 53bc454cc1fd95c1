/*
 * sparse_matmul.c - SparseTensorDenseMatMul: a sparse matrix by a dense one.
 *
 * Each element of the sparse matrix adds a row of the dense one, scaled, to a
 * row of the product.  Threads share the columns, so that elements may come in
 * any order and twice.  Narrow types are summed as floats.
 */
#include "kernels/sparse/sparse_matmul.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/simd.h"

#include <inttypes.h>
#include <string.h>

static enum tfd_code read_adjoints(const struct tfd_node *n,
                                   struct tfd_sparse_adjoints *out,
                                   struct tfd_status *st)
{
    TFD_TRY(tfd_node_bool(n, "adjoint_a", &out->a, st));
    return tfd_node_bool(n, "adjoint_b", &out->b, st);
}

enum tfd_code tfd_sparse_matmul_prepare(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st)
{
    return read_adjoints(p->node, state, st);
}

struct product {
    const struct tfd_tensor *indices;
    const void *a, *b;
    void *sum; /* m x n, zero; of the type that is summed in */
    void *out; /* the same memory where the types are the same */
    int64_t count;
    struct tfd_sparse_matmul size;
};

/* ---- Loops --------------------------------------------------------------- */

static void place_of_value(const struct product *p, int64_t i, int64_t *row,
                           int64_t *inner)
{
    *row = tfd_check_int_at(p->indices, 2 * i + p->size.adjoint.a);
    *inner = tfd_check_int_at(p->indices, 2 * i + !p->size.adjoint.a);
}

/* What threads share: blocks of columns.  Those of b lie side by side but where
 * it is an adjoint. */
#define PRODUCT(name, T, A, LOAD_A, LOAD_B, MULTIPLY_ADD, STORE)         \
    TFD_SIMD_LOOP(product_##name)                                        \
    {                                                                    \
        const struct product *p = arg;                                   \
        const int64_t step = p->size.column;                             \
        const int64_t from = begin * BLOCK;                              \
        const int64_t last =                                             \
            end * BLOCK < p->size.n ? end * BLOCK : p->size.n;           \
        T *out = p->out;                                                 \
                                                                         \
        for (int64_t i = 0; i < p->count; i++) {                         \
            int64_t row, inner;                                          \
            const A a = LOAD_A(((const T *)p->a)[i]);                    \
            A *restrict to;                                              \
            const T *restrict b;                                         \
                                                                         \
            place_of_value(p, i, &row, &inner);                          \
            to = (A *)p->sum + row * p->size.n;                          \
            b = (const T *)p->b + inner * p->size.row;                   \
            if (step == 1)                                               \
                for (int64_t j = from; j < last; j++)                    \
                    to[j] = MULTIPLY_ADD(to[j], a, LOAD_B(b[j]));        \
            else                                                         \
                for (int64_t j = from; j < last; j++)                    \
                    to[j] = MULTIPLY_ADD(to[j], a, LOAD_B(b[j * step])); \
            if (i % BETWEEN_LOOKS == 0 && tfd_halted())                  \
                break;                                                   \
        }                                                                \
        for (int64_t r = 0; p->out != p->sum && r < p->size.m; r++)      \
            for (int64_t j = from; j < last; j++)                        \
                out[r * p->size.n + j] =                                 \
                    STORE(((const A *)p->sum)[r * p->size.n + j]);       \
    }                                                                    \
    TFD_SIMD_CLONES(product_##name)

#define BLOCK 32           /* columns */
#define BETWEEN_LOOKS 4096 /* elements */

#define PLAIN(sum, a, b) ((sum) + (a) * (b))
PRODUCT(FLOAT, float, float, (float), (float), PLAIN, (float))
PRODUCT(DOUBLE, double, double, (double), (double), PLAIN, (double))
PRODUCT(INT32, int32_t, uint32_t, (uint32_t), (uint32_t), PLAIN, (int32_t))
PRODUCT(HALF, tfd_half, float, tfd_half_to_float, tfd_half_to_float, PLAIN,
        tfd_half_from_float)
PRODUCT(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float,
        tfd_bfloat16_to_float, PLAIN, tfd_bfloat16_from_float)

/* Conjugates where the matrix is an adjoint. */
#define MULTIPLY_64(sum, a, b) tfd_complex64_add(sum, tfd_complex64_mul(a, b))
#define MULTIPLY_128(sum, a, b) \
    tfd_complex128_add(sum, tfd_complex128_mul(a, b))
#define LOAD_A_64(z) (p->size.adjoint.a ? tfd_complex64_conj(z) : (z))
#define LOAD_B_64(z) (p->size.adjoint.b ? tfd_complex64_conj(z) : (z))
#define LOAD_A_128(z) (p->size.adjoint.a ? tfd_complex128_conj(z) : (z))
#define LOAD_B_128(z) (p->size.adjoint.b ? tfd_complex128_conj(z) : (z))

PRODUCT(COMPLEX64, tfd_complex64, tfd_complex64, LOAD_A_64, LOAD_B_64,
        MULTIPLY_64, )
PRODUCT(COMPLEX128, tfd_complex128, tfd_complex128, LOAD_A_128, LOAD_B_128,
        MULTIPLY_128, )

/* ---- What arrives -------------------------------------------------------- */

static enum tfd_code check_parts(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[0].shape, *v = &k->in[1].shape;
    const struct tfd_shape *s = &k->in[2].shape, *b = &k->in[3].shape;
    const char *wrong = NULL;

    if (b->rank != 2)
        wrong = "Tensor 'b' is not a matrix";
    else if (s->rank != 1)
        wrong = "Tensor 'a_shape' is not a vector";
    else if (s->dim[0] != 2)
        wrong = "Tensor 'a_shape' must have 2 elements";
    else if (v->rank != 1)
        wrong = "Tensor 'a_values' is not a vector";
    else if (i->rank != 2)
        wrong = "Tensor 'a_indices' is not a matrix";
    else if (i->dim[0] != v->dim[0])
        wrong = "Number of rows of a_indices does not match number of entries "
                "in a_values";
    else if (i->dim[1] != 2)
        wrong = "Number of columns of a_indices does not match number of "
                "entries in a_shape";
    return wrong ? tfd_fail(st, TFD_INVALID_ARGUMENT, "%s", wrong) : TFD_OK;
}

enum tfd_code tfd_sparse_matmul_output(struct tfd_kctx *k,
                                       struct tfd_sparse_matmul *p,
                                       struct tfd_status *st)
{
    const int64_t *a = tfd_tensor_data(&k->in[2]);
    const struct tfd_shape *b = &k->in[3].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;

    TFD_TRY(check_parts(k, st));
    p->adjoint = *(const struct tfd_sparse_adjoints *)k->state;
    p->m = a[p->adjoint.a ? 1 : 0];
    p->k = a[p->adjoint.a ? 0 : 1];
    p->n = b->dim[p->adjoint.b ? 0 : 1];
    p->row = p->adjoint.b ? 1 : p->n;
    p->column = p->adjoint.b ? p->k : 1;
    if (p->m < 0 || p->k != b->dim[p->adjoint.b ? 1 : 0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot multiply A and B because inner dimension does "
                        "not match: %" PRId64 " vs. %" PRId64
                        ".  Did you forget a transpose?  Dimensions of A: "
                        "[%" PRId64 ", %" PRId64 ").  Dimensions of B: %s",
                        p->k, b->dim[p->adjoint.b ? 1 : 0], a[0], a[1],
                        tfd_shape_text(b, text));
    TFD_TRY(tfd_shape_make(&shape, (const int64_t[]){p->m, p->n}, 2, st));
    return tfd_kctx_output(k, 0, k->in[1].dtype, &shape, st);
}

static enum tfd_code check_matmul_indices(const struct product *p,
                                          struct tfd_status *st)
{
    for (int64_t i = 0; i < p->count; i++) {
        int64_t row, inner;

        place_of_value(p, i, &row, &inner);
        if (inner < 0 || inner >= p->size.k)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "k (%" PRId64 ") from index[%" PRId64 ",%d] out of "
                            "bounds (>=%" PRId64 ")",
                            inner, i, p->size.adjoint.a ? 0 : 1, p->size.k);
        if (row < 0 || row >= p->size.m)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "m (%" PRId64 ") from index[%" PRId64 ",%d] out of "
                            "bounds (>=%" PRId64 ")",
                            row, i, p->size.adjoint.a ? 1 : 0, p->size.m);
    }
    return TFD_OK;
}

static enum tfd_code multiply(struct tfd_kctx *k, struct product *p,
                              struct tfd_status *st)
{
    enum tfd_dtype dtype = k->in[1].dtype;
    struct tfd_tensor *out = &k->out[0], sum = TFD_TENSOR_INIT;
    const struct tfd_tensor *to = out;
    const int64_t blocks = (p->size.n + BLOCK - 1) / BLOCK;
    const int64_t cost =
        (p->count + p->size.m) * (p->size.n < BLOCK ? p->size.n : BLOCK) / 4;

    if (dtype == TFD_HALF || dtype == TFD_BFLOAT16) {
        TFD_TRY(tfd_tensor_new(&sum, TFD_FLOAT, &out->shape, st));
        to = &sum;
    }
    p->indices = &k->in[0];
    p->a = tfd_tensor_data(&k->in[1]);
    p->b = tfd_tensor_data(&k->in[3]);
    p->sum = tfd_tensor_data(to);
    p->out = tfd_tensor_data(out);
    memset(p->sum, 0,
           (size_t)tfd_tensor_elements(to) * tfd_dtype_size(to->dtype));
    tfd_kctx_parallel(k, blocks, cost < INT32_MAX ? (int)cost : INT32_MAX,
                      k->kernel->range, p);
    tfd_tensor_unref(&sum);
    return TFD_OK;
}

static enum tfd_code compute_sparse_matmul(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    struct product p = {.indices = &k->in[0]};

    TFD_TRY(tfd_sparse_matmul_output(k, &p.size, st));
    if (p.size.m == 0 || p.size.n == 0)
        return TFD_OK;
    /* Without rows of b nothing looks at the indices. */
    p.count = p.size.k ? k->in[1].shape.dim[0] : 0;
    TFD_TRY(check_matmul_indices(&p, st));
    return multiply(k, &p, st);
}

/* ---- Shape --------------------------------------------------------------- */

static enum tfd_code shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *sizes = s->value ? s->value[2] : NULL;
    struct tfd_shape a = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}}, b = a;
    struct tfd_sparse_adjoints adjoint = {0};

    if (s->node)
        TFD_TRY(read_adjoints(s->node, &adjoint, st));
    TFD_TRY(tfd_shape_merge(&b, &s->in[3], st));
    if (sizes && tfd_tensor_elements(sizes) == 2)
        for (int d = 0; d < 2; d++)
            a.dim[d] = tfd_check_int_at(sizes, d);
    s->out[0].rank = 2;
    s->out[0].dim[0] = a.dim[adjoint.a ? 1 : 0];
    s->out[0].dim[1] = b.dim[adjoint.b ? 0 : 1];
    return tfd_shape_make_partial(&s->out[0], s->out[0].dim, 2, st);
}

/* ---- Gradient ------------------------------------------------------------ */

static struct tfd_edge transposed(struct tfd_gradient *b, struct tfd_edge x)
{
    static const int32_t order[] = {1, 0};

    return tfd_gradient_op2(b, "Transpose", x, tfd_gradient_ints(b, order, 2));
}

/* Rows of x by column 0 or 1 of the indices. */
static struct tfd_edge gather_column(struct tfd_gradient *b, struct tfd_edge x,
                                     int32_t column)
{
    static const int32_t zero = 0, one = 1;
    struct tfd_edge numbers = tfd_gradient_op3(
        b, "GatherV2", b->g->x[0], tfd_gradient_ints(b, &column, -1),
        tfd_gradient_ints(b, &one, -1));

    return tfd_gradient_op3(b, "GatherV2", x, numbers,
                            tfd_gradient_ints(b, &zero, -1));
}

/* Only the product's places that a has: a sum over rows of the gradient by
 * rows of b, each conjugated as the adjoints say. */
static struct tfd_edge
values_gradient(struct tfd_gradient *b,
                const struct tfd_sparse_adjoints *adjoint)
{
    static const int32_t one = 1;
    struct tfd_edge dense = adjoint->b ? transposed(b, b->g->x[3]) : b->g->x[3];
    struct tfd_edge left = gather_column(b, b->g->dy[0], adjoint->a ? 1 : 0);
    struct tfd_edge right = gather_column(b, dense, adjoint->a ? 0 : 1);

    if (adjoint->a)
        left = tfd_gradient_conj(b, left);
    if (adjoint->a == adjoint->b)
        right = tfd_gradient_conj(b, right);
    return tfd_gradient_op2(b, "Sum", tfd_gradient_op2(b, "Mul", left, right),
                            tfd_gradient_ints(b, &one, -1));
}

static enum tfd_code sparse_matmul_gradient(struct tfd_grad *g,
                                            struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->x[0], g->x[1], g->x[2], g->dy[0]};
    struct tfd_sparse_adjoints adjoint;

    TFD_TRY(read_adjoints(g->node, &adjoint, st));
    g->dx[1] = values_gradient(&b, &adjoint);
    g->dx[3] = tfd_gradient_op_flags(
        &b, "SparseTensorDenseMatMul", in, 4,
        (const char *const[]){adjoint.a ? NULL : "adjoint_a", NULL});
    if (adjoint.b)
        g->dx[3] = transposed(&b, tfd_gradient_conj(&b, g->dx[3]));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseTensorDenseMatMul",
        .inputs = "a_indices: Tindices, a_values: T, a_shape: int64, b: T",
        .outputs = "product: T",
        .attrs = "T: type; Tindices: {int32, int64} = DT_INT64; "
                 "adjoint_a: bool = false; adjoint_b: bool = false",
        .shape = shape,
        .grad = sparse_matmul_gradient,
    },
};

#define ROW(name)                                                             \
    TFD_KERNEL("SparseTensorDenseMatMul", name, compute_sparse_matmul,        \
               .range = product_##name, .prepare = tfd_sparse_matmul_prepare, \
               .state_size = sizeof(struct tfd_sparse_adjoints))

static const struct tfd_kernel kernels[] = {
    ROW(FLOAT),    ROW(DOUBLE),    ROW(INT32),      ROW(HALF),
    ROW(BFLOAT16), ROW(COMPLEX64), ROW(COMPLEX128),
};

const struct tfd_family tfd_family_sparse_matmul = {
    .name = "sparse_matmul",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
