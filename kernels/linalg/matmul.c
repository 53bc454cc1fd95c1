/*
 * matmul.c - MatMul: the product of two matrices, either one transposed.
 *
 * half and bfloat16 are widened to float, multiplied and rounded once; bfloat16
 * is not where the processor multiplies it.
 */
#include "kernels/core/families.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/linalg/gemm.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow.h"
#include "kernels/core/outputs.h"
#include "kernels/core/runtime.h"

#include <string.h>

/* Of half and bfloat16: the floats of a block of rows of A and C, and those of
 * a B for which rows are cut so. */
#define BLOCK_FLOATS 65536
#define BLOCKS_CACHED 3 /* that a second cache holds */
#define BLOCK_ROWS_MIN 64
#define BLOCK_B_FLOATS 4096
#define FLOATS_PER_NS 8 /* widened and rounded */
#define PRODUCTS_PER_NS 80

enum tfd_code tfd_matmul_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct tfd_matmul_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "transpose_a", &s->transpose_a, st));
    return tfd_node_bool(p->node, "transpose_b", &s->transpose_b, st);
}

static enum tfd_code prepare_matmul(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    tfd_gemm_init();
    return tfd_matmul_prepare(p, state, st);
}

/* ---- half, bfloat16 ------------------------------------------------------ */

/* A, B and C as float, one after the other. */
static enum tfd_code multiply_whole(struct tfd_kctx *k,
                                    const struct tfd_gemm *g,
                                    struct tfd_status *st)
{
    int64_t a = tfd_tensor_elements(&k->in[0]);
    int64_t b = tfd_tensor_elements(&k->in[1]);
    int64_t c = tfd_tensor_elements(&k->out[0]);
    size_t limit = SIZE_MAX / sizeof(float) / 4;
    struct tfd_gemm wide = *g;
    struct tfd_buffer *buffer = NULL;
    float *at;

    if ((size_t)a < limit && (size_t)b < limit && (size_t)c < limit)
        buffer = tfd_buffer_new((size_t)(a + b + c) * sizeof(float));
    if (!buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld floats for a product of %s",
                        (long long)(a + b + c), tfd_dtype_name((int)g->dtype));
    at = buffer->data;
    tfd_narrow_widen_shared(k, g->dtype, g->a, at, a);
    tfd_narrow_widen_shared(k, g->dtype, g->b, at + a, b);
    wide.dtype = TFD_FLOAT;
    wide.a = at;
    wide.b = at + a;
    wide.c = at + a + b;
    tfd_gemm_parallel(k, &wide);
    tfd_narrow_round_shared(k, g->dtype, wide.c, g->c, c);
    tfd_buffer_unref(buffer);
    return TFD_OK;
}

/* Rows of C that are made at a time: what they need stays in the cache. */
struct blocks {
    const struct tfd_gemm *g; /* narrow */
    const float *b;
    int64_t rows; /* in a block */
};

static void multiply_block(const struct blocks *w, int64_t first, float *a,
                           float *c)
{
    const struct tfd_gemm *g = w->g;
    const int64_t left = g->m - first;
    const int64_t rows = left < w->rows ? left : w->rows;
    struct tfd_gemm wide = *g;

    wide.dtype = TFD_FLOAT;
    wide.m = rows;
    wide.a = a;
    wide.b = w->b;
    wide.c = c;
    tfd_narrow_widen(g->dtype, (const uint16_t *)g->a + first * g->lda, a,
                     rows * g->lda);
    tfd_gemm(&wide);
    tfd_narrow_round(g->dtype, c, (uint16_t *)g->c + first * g->n, rows * g->n);
}

static enum tfd_code multiply_blocks(void *arg, int64_t begin, int64_t end,
                                     struct tfd_status *st)
{
    const struct blocks *w = arg;
    const int64_t a = w->rows * w->g->lda, c = w->rows * w->g->n;
    struct tfd_buffer *buffer = tfd_buffer_new((size_t)(a + c) * sizeof(float));

    if (!buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld floats for a product of %s",
                        (long long)(a + c), tfd_dtype_name((int)w->g->dtype));
    for (; begin < end && !tfd_halted(); begin++)
        multiply_block(w, begin * w->rows, buffer->data,
                       (float *)buffer->data + a);
    tfd_buffer_unref(buffer);
    return TFD_OK;
}

/* Rows of a block; 0: not in blocks, as B is large, or a vector, or A is not
 * rows. */
static int64_t rows_of_block(const struct tfd_gemm *g)
{
    if (g->transpose_a || g->n < 2 || g->k > BLOCK_B_FLOATS / g->n)
        return 0;
    return BLOCK_FLOATS / (g->k + g->n) / BLOCK_ROWS_MIN * BLOCK_ROWS_MIN;
}

/* Of some blocks one thread keeps all in its second cache anyway. */
bool tfd_gemm_has_blocks(const struct tfd_kctx *k, const struct tfd_gemm *g)
{
    const int64_t rows = rows_of_block(g);

    return rows > 0 &&
           g->m > (tfd_kctx_threads(k) > 1 ? rows : BLOCKS_CACHED * rows);
}

enum tfd_code tfd_gemm_blocks(struct tfd_kctx *k, const struct tfd_gemm *g,
                              struct tfd_status *st)
{
    struct blocks w = {.g = g, .rows = rows_of_block(g)};
    float b[BLOCK_B_FLOATS];
    double ns;

    tfd_narrow_widen(g->dtype, g->b, b, g->k * g->n);
    w.b = b;
    ns = (double)w.rows * ((double)(g->k + g->n) / FLOATS_PER_NS +
                           (double)(g->k * g->n) / PRODUCTS_PER_NS);
    return tfd_kctx_try(k, (g->m + w.rows - 1) / w.rows, (int)ns + 1,
                        multiply_blocks, &w, st);
}

static enum tfd_code multiply_narrow(struct tfd_kctx *k,
                                     const struct tfd_gemm *g,
                                     struct tfd_status *st)
{
    if (tfd_gemv_narrow(k, g))
        return TFD_OK;
    return tfd_gemm_has_blocks(k, g) ? tfd_gemm_blocks(k, g, st)
                                     : multiply_whole(k, g, st);
}

static bool computes_as_such(const struct tfd_gemm *g)
{
    return g->dtype == TFD_BFLOAT16 && tfd_gemm_wants_bfloat16(g->m, g->n);
}

/* ---- Kernel -------------------------------------------------------------- */

enum tfd_code tfd_matmul_sizes(const struct tfd_kctx *k,
                               struct tfd_matmul_sizes *size,
                               struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_matmul_state *s = k->state;
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char at[TFD_SHAPE_TEXT_MAX], bt[TFD_SHAPE_TEXT_MAX];

    if (a->rank != b->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] and In[1] has different ndims: %s vs. %s",
                        tfd_shape_text(a, at), tfd_shape_text(b, bt));
    if (a->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] and In[1] ndims must be == 2: %d", a->rank);
    size->m = a->dim[s->transpose_a ? 1 : 0];
    size->k = a->dim[s->transpose_a ? 0 : 1];
    size->n = b->dim[s->transpose_b ? 0 : 1];
    if (size->k != b->dim[s->transpose_b ? 1 : 0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                        tfd_shape_text(a, at), tfd_shape_text(b, bt));
    return tfd_shape_make(out, (const int64_t[]){size->m, size->n}, 2, st);
}

enum tfd_code tfd_matmul_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_matmul_state *s = k->state;
    struct tfd_matmul_sizes size;
    struct tfd_gemm g = {.dtype = k->in[0].dtype,
                         .transpose_a = s->transpose_a,
                         .transpose_b = s->transpose_b};
    struct tfd_shape shape;

    TFD_TRY(tfd_matmul_sizes(k, &size, &shape, st));
    g.m = size.m;
    g.k = size.k;
    g.n = size.n;
    TFD_TRY(tfd_kctx_output(k, 0, g.dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (g.k == 0) {
        tfd_elements_clear(&k->out[0]);
        return TFD_OK;
    }
    g.a = k->in[0].buffer->data;
    g.b = k->in[1].buffer->data;
    g.c = k->out[0].buffer->data;
    g.lda = k->in[0].shape.dim[1];
    g.ldb = k->in[1].shape.dim[1];
    g.ldc = g.n;
    if (tfd_dtype_is_narrow(g.dtype) && !computes_as_such(&g))
        return multiply_narrow(k, &g, st);
    tfd_gemm_parallel(k, &g);
    return TFD_OK;
}

/* ---- Shape --------------------------------------------------------------- */

static enum tfd_code check_matrix_rank(const struct tfd_shape *s,
                                       struct tfd_status *st)
{
    if (s->rank != 2 && s->rank != TFD_RANK_UNKNOWN)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 2 but is rank %d", s->rank);
    return TFD_OK;
}

enum tfd_code tfd_matmul_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape a = s->in[0], b = s->in[1];
    const struct tfd_shape any = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    bool ta = false, tb = false;
    int64_t x, y;

    if (s->node) {
        TFD_TRY(tfd_node_bool(s->node, "transpose_a", &ta, st));
        TFD_TRY(tfd_node_bool(s->node, "transpose_b", &tb, st));
    }
    TFD_TRY(check_matrix_rank(&a, st));
    TFD_TRY(check_matrix_rank(&b, st));
    if (a.rank == TFD_RANK_UNKNOWN)
        a = any;
    if (b.rank == TFD_RANK_UNKNOWN)
        b = any;
    x = a.dim[ta ? 0 : 1];
    y = b.dim[tb ? 1 : 0];
    if (x != TFD_DIM_UNKNOWN && y != TFD_DIM_UNKNOWN && x != y)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions must be equal, but are %lld and %lld",
                        (long long)x, (long long)y);
    s->out[0] = (struct tfd_shape){2, {a.dim[ta ? 1 : 0], b.dim[tb ? 0 : 1]}};
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

/* One of the products below; `left` and `right` are indices into the gradient
 * of the output (0), A (1), B (2). */
struct product {
    int left, right;
    const char *flags[TFD_GRADIENT_FLAGS];
};

/* By transpose_a, transpose_b: the gradients of A and of B. */
static const struct product products[2][2][2] = {
    {
        {{0, 2, {"transpose_b", "grad_a"}}, {1, 0, {"transpose_a", "grad_b"}}},
        {{0, 2, {"grad_a"}}, {0, 1, {"transpose_a", "grad_b"}}},
    },
    {
        {{2, 0, {"transpose_b", "grad_a"}}, {1, 0, {"grad_b"}}},
        {{2, 0, {"transpose_a", "transpose_b", "grad_a"}},
         {0, 1, {"transpose_a", "transpose_b", "grad_b"}}},
    },
};

static enum tfd_code matmul_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    bool ta, tb;
    struct tfd_edge edges[3];

    TFD_TRY(tfd_node_bool(g->node, "transpose_a", &ta, st));
    TFD_TRY(tfd_node_bool(g->node, "transpose_b", &tb, st));
    edges[0] = g->dy[0];
    edges[1] = tfd_gradient_conj(&b, g->x[0]);
    edges[2] = tfd_gradient_conj(&b, g->x[1]);
    for (int i = 0; i < 2; i++) {
        const struct product *p = &products[ta][tb][i];
        const struct tfd_edge in[] = {edges[p->left], edges[p->right]};

        g->dx[i] = tfd_gradient_op_flags(&b, "MatMul", in, 2, p->flags);
    }
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "MatMul",
        .inputs = "a: T, b: T",
        .outputs = "product: T",
        .attrs = "transpose_a: bool = false; transpose_b: bool = false; "
                 "T: {bfloat16, half, float, double, int32, int64, uint8, "
                 "uint16, uint32, uint64, complex64, complex128}; "
                 "grad_a: bool = false; grad_b: bool = false",
        .shape = tfd_matmul_shape,
        .grad = matmul_gradient,
    },
};

#define KERNEL(name)                                                          \
    TFD_KERNEL("MatMul", name, tfd_matmul_compute, .prepare = prepare_matmul, \
               .state_size = sizeof(struct tfd_matmul_state),                 \
               .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    KERNEL(FLOAT), KERNEL(DOUBLE), KERNEL(HALF),      KERNEL(BFLOAT16),
    KERNEL(INT32), KERNEL(INT64),  KERNEL(COMPLEX64), KERNEL(COMPLEX128),
};

const struct tfd_family tfd_family_matmul = {
    .name = "matmul",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
