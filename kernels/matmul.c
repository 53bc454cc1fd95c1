/*
 * matmul.c - MatMul: the product of two matrices, either one transposed.
 *
 * half and bfloat16 are widened to float, multiplied and rounded once.  Large
 * products are cut into one piece of C per thread, along its longer side, so
 * that each piece packs its own part of one matrix and all of the other.
 */
#include "kernels/families.h"

#include "common/alloc.h"
#include "common/half.h"
#include "common/pool.h"
#include "kernels/check.h"
#include "kernels/gemm.h"
#include "kernels/gradient.h"
#include "kernels/runtime.h"

#include <string.h>

struct matmul_state {
    bool transpose_a, transpose_b;
};

static enum tfd_code matmul_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct matmul_state *s = state;

    tfd_gemm_init();
    TFD_TRY(tfd_node_bool(p->node, "transpose_a", &s->transpose_a, st));
    return tfd_node_bool(p->node, "transpose_b", &s->transpose_b, st);
}

/* ---- Pieces -------------------------------------------------------------- */

/* Of one core, to know when cutting pays. */
#define FLOPS_PER_NS 40
/* 100 microseconds; packing is repeated for each piece. */
#define PIECE_FLOPS 4.0e6

struct pieces {
    struct tfd_gemm whole;
    bool by_rows;
    int64_t size; /* rows or columns in a piece */
};

static size_t offset(const struct tfd_gemm *g, int64_t row, int64_t column,
                     int64_t ld)
{
    return (size_t)(row * ld + column) * tfd_dtype_size(g->dtype);
}

static struct tfd_gemm piece_of(const struct pieces *p, int64_t i)
{
    struct tfd_gemm g = p->whole;
    int64_t first = i * p->size;

    if (p->by_rows) {
        g.m = g.m - first < p->size ? g.m - first : p->size;
        g.a = (const char *)g.a + (g.transpose_a ? offset(&g, 0, first, g.lda)
                                                 : offset(&g, first, 0, g.lda));
        g.c = (char *)g.c + offset(&g, first, 0, g.ldc);
    } else {
        g.n = g.n - first < p->size ? g.n - first : p->size;
        g.b = (const char *)g.b + (g.transpose_b ? offset(&g, first, 0, g.ldb)
                                                 : offset(&g, 0, first, g.ldb));
        g.c = (char *)g.c + offset(&g, 0, first, g.ldc);
    }
    return g;
}

static void multiply_pieces(void *arg, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        struct tfd_gemm g = piece_of(arg, i);

        if (!tfd_gemm_blas(&g))
            tfd_gemm_ref(&g);
    }
}

static void multiply(struct tfd_kctx *k, const struct tfd_gemm *g)
{
    struct pieces p = {.whole = *g, .by_rows = g->m >= g->n};
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    int64_t threads = k->rt ? tfd_pool_threads(tfd_rt_pool(k->rt)) : 1;
    int64_t side = p.by_rows ? g->m : g->n;
    int64_t count = (int64_t)(flops / PIECE_FLOPS);
    int cost = (int)(PIECE_FLOPS / FLOPS_PER_NS);

    count = count < threads ? count : threads;
    count = count < side ? count : side;
    if (count <= 1) {
        p.size = side;
        multiply_pieces(&p, 0, 1);
        return;
    }
    p.size = (side + count - 1) / count;
    count = (side + p.size - 1) / p.size;
    tfd_kctx_parallel(k, count, cost, multiply_pieces, &p);
}

/* ---- half, bfloat16 ------------------------------------------------------ */

#define DEFINE_WIDEN(name, T, to, from)                              \
    static void widen_##name(const void *in, float *out, int64_t n)  \
    {                                                                \
        const T *x = in;                                             \
                                                                     \
        for (int64_t i = 0; i < n; i++)                              \
            out[i] = to(x[i]);                                       \
    }                                                                \
    static void narrow_##name(const float *in, void *out, int64_t n) \
    {                                                                \
        T *y = out;                                                  \
                                                                     \
        for (int64_t i = 0; i < n; i++)                              \
            y[i] = from(in[i]);                                      \
    }

DEFINE_WIDEN(HALF, tfd_half, tfd_half_to_float, tfd_half_from_float)
DEFINE_WIDEN(BFLOAT16, tfd_bfloat16, tfd_bfloat16_to_float,
             tfd_bfloat16_from_float)

static void widen(enum tfd_dtype t, const void *in, float *out, int64_t n)
{
    if (t == TFD_HALF)
        widen_HALF(in, out, n);
    else
        widen_BFLOAT16(in, out, n);
}

/* A, B and C as float, one behind the other. */
static enum tfd_code multiply_narrow(struct tfd_kctx *k,
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
    widen(g->dtype, g->a, at, a);
    widen(g->dtype, g->b, at + a, b);
    wide.dtype = TFD_FLOAT;
    wide.a = at;
    wide.b = at + a;
    wide.c = at + a + b;
    multiply(k, &wide);
    if (g->dtype == TFD_HALF)
        narrow_HALF(wide.c, g->c, c);
    else
        narrow_BFLOAT16(wide.c, g->c, c);
    tfd_buffer_unref(buffer);
    return TFD_OK;
}

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code check_shapes(const struct tfd_kctx *k,
                                  const struct matmul_state *s,
                                  struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char at[TFD_SHAPE_TEXT_MAX], bt[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "In[%d] ndims must be >= 2", i);
    if (a->dim[s->transpose_a ? 0 : 1] != b->dim[s->transpose_b ? 1 : 0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                        tfd_shape_text(a, at), tfd_shape_text(b, bt));
    return TFD_OK;
}

static enum tfd_code matmul_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct matmul_state *s = k->state;
    const int64_t *a = k->in[0].shape.dim, *b = k->in[1].shape.dim;
    struct tfd_gemm g = {.dtype = k->in[0].dtype,
                         .transpose_a = s->transpose_a,
                         .transpose_b = s->transpose_b};
    struct tfd_shape shape;

    TFD_TRY(check_shapes(k, s, st));
    g.m = a[s->transpose_a ? 1 : 0];
    g.k = a[s->transpose_a ? 0 : 1];
    g.n = b[s->transpose_b ? 0 : 1];
    TFD_TRY(tfd_shape_make(&shape, (const int64_t[]){g.m, g.n}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, g.dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (g.k == 0) {
        memset(k->out[0].buffer->data, 0, tfd_tensor_size(&k->out[0]));
        return TFD_OK;
    }
    g.a = k->in[0].buffer->data;
    g.b = k->in[1].buffer->data;
    g.c = k->out[0].buffer->data;
    g.lda = a[1];
    g.ldb = b[1];
    g.ldc = g.n;
    if (g.dtype == TFD_HALF || g.dtype == TFD_BFLOAT16)
        return multiply_narrow(k, &g, st);
    multiply(k, &g);
    return TFD_OK;
}

/* ---- Shape --------------------------------------------------------------- */

static enum tfd_code check_rank(const struct tfd_shape *s,
                                struct tfd_status *st)
{
    if (s->rank != 2 && s->rank != TFD_RANK_UNKNOWN)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 2 but is rank %d", s->rank);
    return TFD_OK;
}

static enum tfd_code matmul_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape a = s->in[0], b = s->in[1];
    const struct tfd_shape any = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    bool ta = false, tb = false;
    int64_t x, y;

    if (s->node) {
        TFD_TRY(tfd_node_bool(s->node, "transpose_a", &ta, st));
        TFD_TRY(tfd_node_bool(s->node, "transpose_b", &tb, st));
    }
    TFD_TRY(check_rank(&a, st));
    TFD_TRY(check_rank(&b, st));
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
        .shape = matmul_shape,
        .grad = matmul_gradient,
    },
};

#define KERNEL(name)                                                  \
    TFD_KERNEL("MatMul", name, matmul_cpu, .prepare = matmul_prepare, \
               .state_size = sizeof(struct matmul_state),             \
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
