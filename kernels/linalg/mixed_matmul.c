/*
 * mixed_matmul.c - SparseMatMul: the product of matrices of float or bfloat16,
 * each its own, as float.
 *
 * That one of them has many zeros is a hint, which no result depends on; it is
 * not taken.  A matrix of bfloat16 becomes one of float first.
 */
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/linalg/gemm.h"

struct mixed_state {
    bool transpose_a, transpose_b;
};

static enum tfd_code mixed_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct mixed_state *s = state;

    tfd_gemm_init();
    TFD_TRY(tfd_node_bool(p->node, "transpose_a", &s->transpose_a, st));
    return tfd_node_bool(p->node, "transpose_b", &s->transpose_b, st);
}

static enum tfd_code check_mixed(const struct tfd_kctx *k, struct tfd_gemm *g,
                                 struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s is not a matrix",
                            i ? "b" : "a");
    g->m = a->dim[g->transpose_a ? 1 : 0];
    g->k = a->dim[g->transpose_a ? 0 : 1];
    g->n = b->dim[g->transpose_b ? 0 : 1];
    if (g->k != b->dim[g->transpose_b ? 1 : 0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Matrix size incompatible: a: %s, b: %s",
                        tfd_shape_text(a, one), tfd_shape_text(b, other));
    g->lda = a->dim[1];
    g->ldb = b->dim[1];
    g->ldc = g->n;
    return TFD_OK;
}

static void widen_range(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_tensor *const *t = arg;
    const tfd_bfloat16 *from = tfd_tensor_data(t[0]);
    float *to = tfd_tensor_data(t[1]);

    for (int64_t i = begin; i < end; i++)
        to[i] = tfd_bfloat16_to_float(from[i]);
}

/* *out is input `in` as floats, counted. */
static enum tfd_code as_floats(struct tfd_kctx *k, int in,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_tensor *pair[2] = {&k->in[in], out};

    if (k->in[in].dtype == TFD_FLOAT) {
        *out = tfd_tensor_ref(&k->in[in]);
        return TFD_OK;
    }
    TFD_TRY(tfd_tensor_new(out, TFD_FLOAT, &k->in[in].shape, st));
    tfd_kctx_parallel(k, tfd_tensor_elements(out), 1, widen_range, pair);
    return TFD_OK;
}

static enum tfd_code mixed_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct mixed_state *s = k->state;
    struct tfd_tensor a = TFD_TENSOR_INIT, b = TFD_TENSOR_INIT;
    struct tfd_gemm g = {.dtype = TFD_FLOAT,
                         .transpose_a = s->transpose_a,
                         .transpose_b = s->transpose_b};
    struct tfd_shape shape;
    enum tfd_code rc;

    TFD_TRY(check_mixed(k, &g, st));
    TFD_TRY(tfd_shape_make(&shape, (const int64_t[]){g.m, g.n}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    if (g.k == 0) {
        tfd_elements_clear(&k->out[0]);
        return TFD_OK;
    }
    rc = as_floats(k, 0, &a, st);
    if (rc == TFD_OK)
        rc = as_floats(k, 1, &b, st);
    if (rc == TFD_OK) {
        g.a = tfd_tensor_data(&a);
        g.b = tfd_tensor_data(&b);
        g.c = tfd_tensor_data(&k->out[0]);
        tfd_gemm_parallel(k, &g);
    }
    tfd_tensor_unref(&a);
    tfd_tensor_unref(&b);
    return rc;
}

/* ---- Gradient ------------------------------------------------------------ */

/* One of the products below; `left` and `right` are the gradient of the output
 * (0), A (1), B (2). */
struct mixed_product {
    int left, right;
    const char *flags[3];
};

/* By transpose_a, transpose_b: the gradients of A and of B. */
static const struct mixed_product mixed_products[2][2][2] = {
    {{{0, 2, {"transpose_b"}}, {1, 0, {"transpose_a"}}},
     {{0, 2, {NULL}}, {0, 1, {"transpose_a"}}}},
    {{{2, 0, {"transpose_b"}}, {1, 0, {NULL}}},
     {{2, 0, {"transpose_a", "transpose_b"}},
      {0, 1, {"transpose_a", "transpose_b"}}}},
};

static enum tfd_code mixed_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge edges[3] = {g->dy[0], g->x[0], g->x[1]};
    bool ta, tb;

    TFD_TRY(tfd_node_bool(g->node, "transpose_a", &ta, st));
    TFD_TRY(tfd_node_bool(g->node, "transpose_b", &tb, st));
    for (int i = 0; i < 2; i++) {
        const struct mixed_product *p = &mixed_products[ta][tb][i];
        const struct tfd_edge in[2] = {edges[p->left], edges[p->right]};

        g->dx[i] = tfd_gradient_cast(
            &b, tfd_gradient_op_flags(&b, "SparseMatMul", in, 2, p->flags),
            tfd_gradient_dtype(&b, g->x[i]));
    }
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseMatMul",
        .inputs = "a: Ta, b: Tb",
        .outputs = "product: float",
        .attrs = "transpose_a: bool = false; transpose_b: bool = false; "
                 "a_is_sparse: bool = false; b_is_sparse: bool = false; "
                 "Ta: {float, bfloat16} = DT_FLOAT; "
                 "Tb: {float, bfloat16} = DT_FLOAT",
        .key = "Ta",
        .grad = mixed_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseMatMul", mixed_compute, .prepare = mixed_prepare,
                   .state_size = sizeof(struct mixed_state),
                   .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_mixed_matmul = {
    .name = "mixed_matmul",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
