/*
 * batch_matmul.c - products of many matrices: BatchMatMul, BatchMatMulV2,
 * BatchMatMulV3, whose last two dimensions are the matrices.
 *
 * The first wants the same dimensions in front of both; the others broadcast
 * them, and the third takes small integers.  BLAS gets one product after the
 * other: few large ones are cut over the compute threads, many small ones are
 * dealt out to them, and many times the same right matrix is one product.
 *
 * Inputs that gemm.h cannot take as they are (half, bfloat16 on most
 * processors, small integers, complex numbers to be conjugated) are converted
 * whole before.
 */
#include "kernels/linalg/batch_matmul.h"

#include "kernels/linalg/batch_matmul_grad.h"
#include "kernels/core/families.h"

#include "common/base/alloc.h"
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/element.h"
#include "kernels/linalg/gemm.h"
#include "kernels/vector/narrow.h"

#include <string.h>

enum tfd_code tfd_batch_matmul_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct tfd_batch_matmul *s = state;

    tfd_gemm_init();
    s->broadcasts = !tfd_str_eq(p->node->op->name, TFD_STR("BatchMatMul"));
    TFD_TRY(tfd_node_bool(p->node, "adj_x", &s->adjoint[0], st));
    return tfd_node_bool(p->node, "adj_y", &s->adjoint[1], st);
}

/* ---- Shapes that arrive -------------------------------------------------- */

/* The dimensions in front of the matrices. */
static struct tfd_shape batch_of(const struct tfd_shape *s)
{
    struct tfd_shape out = *s;

    out.rank -= 2;
    return out;
}

/* Dimension 0 or 1 of op(matrix). */
static int64_t side(const struct tfd_shape *s, bool adjoint, int which)
{
    return s->dim[s->rank - 2 + (adjoint ? 1 - which : which)];
}

static enum tfd_code check_same_batch(const struct tfd_shape *x,
                                      const struct tfd_shape *y,
                                      struct tfd_status *st)
{
    char xt[TFD_SHAPE_TEXT_MAX], yt[TFD_SHAPE_TEXT_MAX];

    if (x->rank != y->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] and In[1] has different ndims: %s vs. %s",
                        tfd_shape_text(x, xt), tfd_shape_text(y, yt));
    if (x->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] and In[1] ndims must be >= 2: %d", x->rank);
    for (int i = 0; i < x->rank - 2; i++)
        if (x->dim[i] != y->dim[i])
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "In[0].dim(%d) and In[1].dim(%d) must be the same: %s vs %s", i,
                i, tfd_shape_text(x, xt), tfd_shape_text(y, yt));
    return TFD_OK;
}

enum tfd_code tfd_batch_matmul_shape(const struct tfd_kctx *k,
                                     struct tfd_shape *out,
                                     struct tfd_status *st)
{
    const struct tfd_batch_matmul *s = k->state;
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->in[1].shape;
    char xt[TFD_SHAPE_TEXT_MAX], yt[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape a, b;

    if (!s->broadcasts)
        TFD_TRY(check_same_batch(x, y, st));
    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank < 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "In[%d] ndims must be >= 2: %d", i,
                            k->in[i].shape.rank);
    a = batch_of(x);
    b = batch_of(y);
    if (!tfd_broadcast_fits(&a, &b))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "In[0] and In[1] must have compatible batch "
                        "dimensions: %s vs. %s",
                        tfd_shape_text(x, xt), tfd_shape_text(y, yt));
    if (side(x, s->adjoint[0], 1) != side(y, s->adjoint[1], 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                        tfd_shape_text(x, xt), tfd_shape_text(y, yt));
    TFD_TRY(tfd_broadcast_shape(&a, &b, out, st));
    out->dim[out->rank++] = side(x, s->adjoint[0], 0);
    out->dim[out->rank++] = side(y, s->adjoint[1], 1);
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* ---- Conversions --------------------------------------------------------- */

/* What products are made in, of g, whose type is the output's. */
static enum tfd_dtype computed_in(const struct tfd_kctx *k,
                                  const struct tfd_gemm *g)
{
    if (g->dtype == TFD_BFLOAT16 && k->in[0].dtype == TFD_BFLOAT16 &&
        k->in[1].dtype == TFD_BFLOAT16 && tfd_gemm_wants_bfloat16(g->m, g->n))
        return TFD_BFLOAT16;
    return tfd_dtype_is_narrow(g->dtype) ? TFD_FLOAT : g->dtype;
}

static bool is_complex(enum tfd_dtype t)
{
    return t == TFD_COMPLEX64 || t == TFD_COMPLEX128;
}

#define CONVERT(from, to)                                       \
    static void from##_to_##to(const from *x, to *y, int64_t n) \
    {                                                           \
        for (int64_t i = 0; i < n; i++)                         \
            y[i] = x[i];                                        \
    }
CONVERT(int8_t, int32_t)
CONVERT(uint8_t, int32_t)
CONVERT(int8_t, float)
CONVERT(uint8_t, float)

#define CONJUGATE(C)                                                   \
    static void conjugate_##C(const tfd_##C *x, tfd_##C *y, int64_t n) \
    {                                                                  \
        for (int64_t i = 0; i < n; i++)                                \
            y[i] = tfd_##C##_conj(x[i]);                               \
    }
CONJUGATE(complex64)
CONJUGATE(complex128)

static void convert(const struct tfd_tensor *t, enum tfd_dtype to, void *y)
{
    const void *x = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t);

    if (t->dtype == TFD_COMPLEX64)
        conjugate_complex64(x, y, n);
    else if (t->dtype == TFD_COMPLEX128)
        conjugate_complex128(x, y, n);
    else if (tfd_dtype_is_narrow(t->dtype))
        tfd_narrow_widen(t->dtype, x, y, n);
    else if (t->dtype == TFD_INT8 && to == TFD_FLOAT)
        int8_t_to_float(x, y, n);
    else if (t->dtype == TFD_INT8)
        int8_t_to_int32_t(x, y, n);
    else if (to == TFD_FLOAT)
        uint8_t_to_float(x, y, n);
    else
        uint8_t_to_int32_t(x, y, n);
}

/* ---- Kernel -------------------------------------------------------------- */

struct batch {
    struct tfd_batch_matmul_plan p;
    struct tfd_buffer *buffer[3]; /* converted x and y, float of the result */
};

/* In matrices, by dimension of the batch; 0 where x is repeated. */
static void make_steps(const struct tfd_shape *batch, const struct tfd_shape *x,
                       int64_t *step)
{
    int64_t next = 1;

    for (int i = batch->rank - 1; i >= 0; i--) {
        int at = i - (batch->rank - (x->rank - 2));

        step[i] = at < 0 || x->dim[at] == 1 ? 0 : next;
        next *= at < 0 ? 1 : x->dim[at];
    }
}

#define AHEAD 2              /* products, whose matrices are asked for */
#define ASKED_MAX (4 << 10)  /* bytes of a matrix that is */
#define ASKED_MIN (16 << 20) /* of all matrices */
#define LINE_SIZE 64

static const void *matrix_at(const struct tfd_gemm *g, const void *base,
                             int64_t index, int64_t elements)
{
    return (const char *)base +
           (size_t)(index * elements) * tfd_dtype_size(g->dtype);
}

/* Product number i. */
static struct tfd_gemm product_at(const struct tfd_batch_matmul_plan *p,
                                  int64_t i)
{
    struct tfd_gemm g = p->g;
    int64_t x = 0, y = 0, left = i;

    for (int d = p->shape.rank - 1; d >= 0; d--) {
        int64_t at = left % p->shape.dim[d];

        left /= p->shape.dim[d];
        x += at * p->step[0][d];
        y += at * p->step[1][d];
    }
    g.a = matrix_at(&g, g.a, x, g.m * g.k);
    g.b = matrix_at(&g, g.b, y, g.k * g.n);
    g.c = (char *)g.c + (size_t)(i * g.m * g.n) * tfd_dtype_size(g.dtype);
    return g;
}

/* The lines of a matrix; what is written has a constant 1 as last argument. */
#define ASK(p, elements, dtype, written)                                  \
    do {                                                                  \
        const int64_t size = (elements) * (int64_t)tfd_dtype_size(dtype); \
                                                                          \
        for (int64_t at = 0; at < size; at += LINE_SIZE)                  \
            __builtin_prefetch((const char *)(p) + at, written);          \
    } while (0)

/* Asks for the matrices of product i: they are too small for the processor to
 * see in time which lines come next. */
static void ask_ahead(const struct tfd_batch_matmul_plan *p, int64_t i)
{
    const struct tfd_gemm g = product_at(p, i);

    ASK(g.a, g.m * g.k, g.dtype, 0);
    ASK(g.b, g.k * g.n, g.dtype, 0);
    ASK(g.c, g.m * g.n, g.dtype, 1);
}

/* Not where the matrices lie in a cache, which answers in time. */
static bool is_asked_ahead(const struct tfd_batch_matmul_plan *p)
{
    const struct tfd_gemm *g = &p->g;
    const int64_t most = ASKED_MAX / (int64_t)tfd_dtype_size(g->dtype);

    if (g->m > most || g->n > most || g->k > most)
        return false;
    return g->m * g->k <= most && g->k * g->n <= most && g->m * g->n <= most &&
           p->count * (g->m * g->k + g->k * g->n + g->m * g->n) >=
               ASKED_MIN / (int64_t)tfd_dtype_size(g->dtype);
}

static void multiply_some(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_batch_matmul_plan *p = arg;
    const bool asks = is_asked_ahead(p);

    for (int64_t i = begin; i < end; i++) {
        struct tfd_gemm g = product_at(p, i);

        if (asks && i + AHEAD < end)
            ask_ahead(p, i + AHEAD);
        tfd_gemm(&g);
    }
}

#define FLOPS_PER_NS 10   /* of one core, small products counted in */
#define LARGE_FLOPS 8.0e6 /* worth being cut */
#define FEW 16            /* products that are cut rather than dealt out */

void tfd_batch_matmul_run(struct tfd_kctx *k, struct tfd_batch_matmul_plan *p)
{
    double flops = 2.0 * (double)p->g.m * (double)p->g.n * (double)p->g.k;
    bool one_right = true;

    for (int d = 0; d < p->shape.rank; d++)
        one_right = one_right && p->step[1][d] == 0 &&
                    (p->step[0][d] != 0 || p->shape.dim[d] == 1);
    if (one_right && !p->g.transpose_a) {
        p->g.m *= p->count;
        tfd_gemm_parallel(k, &p->g);
        return;
    }
    if (flops < LARGE_FLOPS || p->count > FEW) {
        flops = flops / FLOPS_PER_NS + 100;
        tfd_kctx_parallel(k, p->count, flops < 1e9 ? (int)flops : 1000000000,
                          multiply_some, p);
        return;
    }
    for (int64_t i = 0; i < p->count; i++) {
        struct tfd_gemm g = product_at(p, i);

        tfd_gemm_parallel(k, &g);
    }
}

/* A buffer for n elements of the type that is computed in. */
static enum tfd_code make_buffer(const struct batch *b, int64_t n,
                                 struct tfd_buffer **out, struct tfd_status *st)
{
    size_t size = tfd_dtype_size(b->p.g.dtype);

    *out = NULL;
    if ((size_t)n < SIZE_MAX / size)
        *out = tfd_buffer_new((size_t)n * size);
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld elements of %s for products",
                        (long long)n, tfd_dtype_name((int)b->p.g.dtype));
    return TFD_OK;
}

/* Input i as BLAS can take it. */
static enum tfd_code take_input(struct tfd_kctx *k, struct batch *b, int i,
                                const void **data, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[i];
    const struct tfd_batch_matmul *s = k->state;

    *data = tfd_tensor_data(t);
    if (t->dtype == b->p.g.dtype && !(is_complex(t->dtype) && s->adjoint[i]))
        return TFD_OK;
    TFD_TRY(make_buffer(b, tfd_tensor_elements(t), &b->buffer[i], st));
    convert(t, b->p.g.dtype, b->buffer[i]->data);
    *data = b->buffer[i]->data;
    return TFD_OK;
}

static enum tfd_code run_batch_matmul(struct tfd_kctx *k, struct batch *b,
                                      struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[0];
    bool narrow = out->dtype != b->p.g.dtype;

    TFD_TRY(take_input(k, b, 0, &b->p.g.a, st));
    TFD_TRY(take_input(k, b, 1, &b->p.g.b, st));
    b->p.g.c = out->buffer->data;
    if (narrow) {
        TFD_TRY(make_buffer(b, tfd_tensor_elements(out), &b->buffer[2], st));
        b->p.g.c = b->buffer[2]->data;
    }
    tfd_batch_matmul_run(k, &b->p);
    if (narrow)
        tfd_narrow_round(out->dtype, b->p.g.c, out->buffer->data,
                         tfd_tensor_elements(out));
    return TFD_OK;
}

void tfd_batch_matmul_plan(const struct tfd_kctx *k,
                           struct tfd_batch_matmul_plan *p)
{
    const struct tfd_batch_matmul *s = k->state;
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->in[1].shape;
    const struct tfd_shape *out = &k->out[0].shape;

    p->shape = batch_of(out);
    p->count = tfd_shape_elements(&p->shape);
    make_steps(&p->shape, x, p->step[0]);
    make_steps(&p->shape, y, p->step[1]);
    p->g = (struct tfd_gemm){.dtype = k->out[0].dtype,
                             .transpose_a = s->adjoint[0],
                             .transpose_b = s->adjoint[1],
                             .m = side(x, s->adjoint[0], 0),
                             .k = side(x, s->adjoint[0], 1),
                             .n = side(y, s->adjoint[1], 1),
                             .lda = x->dim[x->rank - 1],
                             .ldb = y->dim[y->rank - 1],
                             .ldc = out->dim[out->rank - 1]};
}

static enum tfd_code multiply_all(struct tfd_kctx *k, enum tfd_dtype type,
                                  struct tfd_status *st)
{
    struct batch b = {.p = {.count = 0}};
    struct tfd_shape shape;
    enum tfd_code code;

    TFD_TRY(tfd_batch_matmul_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, type, &shape, st));
    if (tfd_shape_elements(&shape) == 0)
        return TFD_OK;
    tfd_batch_matmul_plan(k, &b.p);
    b.p.g.dtype = computed_in(k, &b.p.g);
    if (b.p.g.k == 0) {
        tfd_elements_clear(&k->out[0]);
        return TFD_OK;
    }
    code = run_batch_matmul(k, &b, st);
    for (int i = 0; i < 3; i++)
        if (b.buffer[i])
            tfd_buffer_unref(b.buffer[i]);
    return code;
}

enum tfd_code tfd_batch_matmul_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    return multiply_all(k, k->in[0].dtype, st);
}

/* ---- BatchMatMulV3's types ----------------------------------------------- */

static bool is_byte(enum tfd_dtype t)
{
    return t == TFD_INT8 || t == TFD_UINT8;
}

enum tfd_dtype tfd_batch_matmul_type(enum tfd_dtype x, enum tfd_dtype y)
{
    if (is_byte(x))
        return is_byte(y)          ? TFD_INT32
               : y == TFD_BFLOAT16 ? y
                                   : TFD_DTYPE_INVALID;
    return x == y || (x == TFD_BFLOAT16 && is_byte(y)) ? x : TFD_DTYPE_INVALID;
}

enum tfd_code tfd_batch_matmul_prepare_v3(const struct tfd_prepare *p,
                                          void *state, struct tfd_status *st)
{
    enum tfd_dtype x, y, out;

    TFD_TRY(tfd_node_type(p->node, "Ta", &x, st));
    TFD_TRY(tfd_node_type(p->node, "Tb", &y, st));
    TFD_TRY(tfd_node_type(p->node, "Tout", &out, st));
    if (tfd_batch_matmul_type(x, y) != out)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support Op "
                        "'BatchMatMulV3' of %s and %s to %s",
                        tfd_dtype_name((int)x), tfd_dtype_name((int)y),
                        tfd_dtype_name((int)out));
    return tfd_batch_matmul_prepare(p, state, st);
}

static enum tfd_code compute_v3(struct tfd_kctx *k, struct tfd_status *st)
{
    return multiply_all(
        k, tfd_batch_matmul_type(k->in[0].dtype, k->in[1].dtype), st);
}

/* ---- Shape --------------------------------------------------------------- */

static enum tfd_code check_matrix_rank(const struct tfd_shape *s,
                                       struct tfd_status *st)
{
    if (s->rank != TFD_RANK_UNKNOWN && s->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 2 but is rank %d",
                        s->rank);
    return TFD_OK;
}

/* The dimensions in front of both. */
static enum tfd_code infer_batch(const struct tfd_shape_ctx *s, bool broadcasts,
                                 struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape in[] = {batch_of(&s->in[0]), batch_of(&s->in[1])};
    struct tfd_shape_ctx batch = {
        .in = in, .in_count = 2, .out = out, .out_count = 1};

    return broadcasts ? tfd_shape_broadcast2(&batch, st)
                      : tfd_shape_same(&batch, st);
}

static enum tfd_code infer(struct tfd_shape_ctx *s, bool broadcasts,
                           struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0], *y = &s->in[1];
    struct tfd_shape out = TFD_SHAPE_UNKNOWN;
    bool ax = false, ay = false;
    int64_t i, j;

    TFD_TRY(check_matrix_rank(x, st));
    TFD_TRY(check_matrix_rank(y, st));
    if (x->rank == TFD_RANK_UNKNOWN || y->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (s->node) {
        TFD_TRY(tfd_node_bool(s->node, "adj_x", &ax, st));
        TFD_TRY(tfd_node_bool(s->node, "adj_y", &ay, st));
    }
    i = side(x, ax, 1);
    j = side(y, ay, 0);
    if (i != TFD_DIM_UNKNOWN && j != TFD_DIM_UNKNOWN && i != j)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions must be equal, but are %lld and %lld",
                        (long long)i, (long long)j);
    TFD_TRY(infer_batch(s, broadcasts, &out, st));
    out.dim[out.rank++] = side(x, ax, 0);
    out.dim[out.rank++] = side(y, ay, 1);
    s->out[0] = out;
    return TFD_OK;
}

static enum tfd_code same_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return infer(s, false, st);
}

static enum tfd_code broadcast_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    return infer(s, true, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define FLAGS                                    \
    "adj_x: bool = false; adj_y: bool = false; " \
    "grad_x: bool = false; grad_y: bool = false"
#define IN "x: T, y: T"
#define V3_IN                                                     \
    "{bfloat16, half, float, double, uint8, int8, int16, int32, " \
    "int64, complex64, complex128}; "

static const struct tfd_opdef ops[] = {
    {
        .name = "BatchMatMul",
        .inputs = IN,
        .outputs = "output: T",
        .attrs = "T: {bfloat16, half, float, double, int32, int64, complex64, "
                 "complex128}; " FLAGS,
        .shape = same_shape,
        .grad = tfd_batch_matmul_gradient,
    },
    {
        .name = "BatchMatMulV2",
        .inputs = IN,
        .outputs = "output: T",
        .attrs =
            "T: {bfloat16, half, float, double, int16, int32, int64, "
            "uint8, uint16, uint32, uint64, complex64, complex128}; " FLAGS,
        .shape = broadcast_shape,
        .grad = tfd_batch_matmul_broadcast_gradient,
    },
    {
        .name = "BatchMatMulV3",
        .inputs = "x: Ta, y: Tb",
        .outputs = "output: Tout",
        .attrs = "Ta: " V3_IN "Tb: " V3_IN
                 "Tout: {bfloat16, half, float, double, int16, int32, int64, "
                 "complex64, complex128}; " FLAGS,
        .key = "Ta",
        .shape = broadcast_shape,
        .grad = tfd_batch_matmul_broadcast_gradient,
    },
};

#define KERNEL(op, type, compute, prepare_)                   \
    TFD_KERNEL(op, type, compute, .prepare = (prepare_),      \
               .state_size = sizeof(struct tfd_batch_matmul), \
               .flags = TFD_KERNEL_HEAVY)
#define ROWS(type)                                              \
    KERNEL("BatchMatMul", type, tfd_batch_matmul_compute,       \
           tfd_batch_matmul_prepare),                           \
        KERNEL("BatchMatMulV2", type, tfd_batch_matmul_compute, \
               tfd_batch_matmul_prepare)
#define V3(type) \
    KERNEL("BatchMatMulV3", type, compute_v3, tfd_batch_matmul_prepare_v3)

static const struct tfd_kernel kernels[] = {
    ROWS(FLOAT),
    ROWS(DOUBLE),
    ROWS(HALF),
    ROWS(BFLOAT16),
    ROWS(INT32),
    ROWS(INT64),
    ROWS(COMPLEX64),
    ROWS(COMPLEX128),
    KERNEL("BatchMatMulV2", INT16, tfd_batch_matmul_compute,
           tfd_batch_matmul_prepare),
    V3(FLOAT),
    V3(DOUBLE),
    V3(BFLOAT16),
    V3(INT8),
    V3(UINT8),
    V3(INT16),
    V3(INT32),
    V3(INT64),
    V3(COMPLEX64),
    V3(COMPLEX128),
};

const struct tfd_family tfd_family_batch_matmul = {
    .name = "batch_matmul",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
