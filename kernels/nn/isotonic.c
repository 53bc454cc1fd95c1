/*
 * isotonic.c - IsotonicRegression: of each row the falling one that is nearest
 * to it, and which of its numbers are equal.
 *
 * Pool adjacent violators: a row becomes pools, each at the mean of its
 * numbers; a new number is a pool, and while the last two pools rise they are
 * one.  Pool p lies at place p of what will be the outputs, its mean in the
 * numbers and its beginning in the segments, since there are never more pools
 * than numbers seen; they are written out from the last one on.
 */
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#define COLUMN_COST_NS 10
#define ASK_EVERY (1 << 20) /* steps of a row */

struct pooling_rows {
    const void *x;
    void *y;
    void *sums; /* of pools */
    int32_t *segments;
    int64_t columns;
};

/* One more step of a row is done, and nobody wants the rest. */
static inline bool row_halted(uint32_t *steps)
{
    return ++*steps % ASK_EVERY == 0 && tfd_halted();
}

/* The last pool is taken into the one before while it is above it.  A row that
 * is told to stop has no pools. */
#define POOL_ROWS(name, TX, TY, FROM_X, ADD, MEAN, WIDE, out)              \
    static int64_t pool_##name(const TX *x, int64_t n, TY *mean, TY *sum,  \
                               int32_t *begin)                             \
    {                                                                      \
        int64_t pools = 0;                                                 \
        uint32_t steps = 0;                                                \
                                                                           \
        for (int64_t i = 0; i < n; i++) {                                  \
            if (row_halted(&steps))                                        \
                return 0;                                                  \
            begin[pools] = (int32_t)i;                                     \
            sum[pools] = mean[pools] = FROM_X(x[i]);                       \
            pools++;                                                       \
            while (pools > 1 &&                                            \
                   WIDE(mean[pools - 1]) > WIDE(mean[pools - 2])) {        \
                if (row_halted(&steps))                                    \
                    return 0;                                              \
                pools--;                                                   \
                sum[pools - 1] = ADD(sum[pools - 1], sum[pools]);          \
                mean[pools - 1] =                                          \
                    MEAN(sum[pools - 1], i + 1 - begin[pools - 1]);        \
            }                                                              \
        }                                                                  \
        return pools;                                                      \
    }                                                                      \
                                                                           \
    static void isotonic_##name(void *arg, int64_t first, int64_t end)     \
    {                                                                      \
        const struct pooling_rows *p = arg;                                \
        const int64_t n = p->columns;                                      \
                                                                           \
        for (int64_t row = first; row < end && !tfd_halted(); row++) {     \
            TY *y = (TY *)p->y + row * n;                                  \
            int32_t *segment = p->segments + row * n;                      \
            int64_t limit = n;                                             \
            int64_t pools = pool_##name((const TX *)p->x + row * n, n, y,  \
                                        (TY *)p->sums + row * n, segment); \
                                                                           \
            while (pools-- > 0) {                                          \
                const TY mean = y[pools];                                  \
                const int32_t begin = segment[pools];                      \
                                                                           \
                for (int64_t i = begin; i < limit; i++) {                  \
                    y[i] = mean;                                           \
                    segment[i] = (int32_t)pools;                           \
                }                                                          \
                limit = begin;                                             \
            }                                                              \
        }                                                                  \
    }

#define SAME(v) (v)
#define AS_FLOAT(v) ((float)(v))
#define AS_DOUBLE(v) ((double)(v))
#define ADD_NUMBERS(a, b) ((a) + (b))
#define MEAN_FLOAT(sum, n) ((sum) / (float)(n))
#define MEAN_DOUBLE(sum, n) ((sum) / (double)(n))
#define ADD_HALF(a, b) \
    tfd_half_from_float(tfd_half_to_float(a) + tfd_half_to_float(b))
#define ROUND_HALF(n) tfd_half_to_float(tfd_half_from_float((float)(n)))
#define MEAN_HALF(sum, n) \
    tfd_half_from_float(tfd_half_to_float(sum) / ROUND_HALF(n))
#define ADD_BFLOAT16(a, b) \
    tfd_bfloat16_from_float(tfd_bfloat16_to_float(a) + tfd_bfloat16_to_float(b))
#define ROUND_BFLOAT16(n) \
    tfd_bfloat16_to_float(tfd_bfloat16_from_float((float)(n)))
#define MEAN_BFLOAT16(sum, n) \
    tfd_bfloat16_from_float(tfd_bfloat16_to_float(sum) / ROUND_BFLOAT16(n))

/* name of the input's type, both types, that of the output */
#define ISOTONIC_TYPES(X)                                                      \
    X(INT8, int8_t, float, AS_FLOAT, ADD_NUMBERS, MEAN_FLOAT, SAME, FLOAT)     \
    X(INT16, int16_t, float, AS_FLOAT, ADD_NUMBERS, MEAN_FLOAT, SAME, FLOAT)   \
    X(INT32, int32_t, double, AS_DOUBLE, ADD_NUMBERS, MEAN_DOUBLE, SAME,       \
      DOUBLE)                                                                  \
    X(INT64, int64_t, double, AS_DOUBLE, ADD_NUMBERS, MEAN_DOUBLE, SAME,       \
      DOUBLE)                                                                  \
    X(HALF, tfd_half, tfd_half, SAME, ADD_HALF, MEAN_HALF, tfd_half_to_float,  \
      HALF)                                                                    \
    X(BFLOAT16, tfd_bfloat16, tfd_bfloat16, SAME, ADD_BFLOAT16, MEAN_BFLOAT16, \
      tfd_bfloat16_to_float, BFLOAT16)                                         \
    X(FLOAT, float, float, SAME, ADD_NUMBERS, MEAN_FLOAT, SAME, FLOAT)         \
    X(DOUBLE, double, double, SAME, ADD_NUMBERS, MEAN_DOUBLE, SAME, DOUBLE)

ISOTONIC_TYPES(POOL_ROWS)

/* ---- The op -------------------------------------------------------------- */

static enum tfd_code isotonic_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
#define OUTPUT_OF(name, TX, TY, FROM_X, ADD, MEAN, WIDE, out) \
    [TFD_##name] = TFD_##out,
    static const enum tfd_dtype of[] = {ISOTONIC_TYPES(OUTPUT_OF)};
    enum tfd_dtype in, out;

    (void)state;
    TFD_TRY(tfd_node_type(p->node, "T", &in, st));
    TFD_TRY(tfd_node_type(p->node, "output_dtype", &out, st));
    if ((int)in < TFD_COUNT(of) && of[in] == out)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "No OpKernel was registered to support Op "
                    "'IsotonicRegression' from %s to %s",
                    tfd_dtype_name((int)in), tfd_dtype_name((int)out));
}

static enum tfd_code isotonic_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const int rank = x->shape.rank;
    struct pooling_rows p = {.columns = rank ? x->shape.dim[rank - 1] : 1};
    struct tfd_tensor sums = TFD_TENSOR_INIT;
    int64_t n = tfd_tensor_elements(x);

    if (p.columns >= INT32_MAX || (n && n / p.columns >= INT32_MAX))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Tensor too large");
    TFD_TRY(tfd_kctx_output(k, 0, k->node->out_types[0], &x->shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_INT32, &x->shape, st));
    if (n == 0)
        return TFD_OK;
    TFD_TRY(tfd_tensor_new(&sums, k->node->out_types[0], &x->shape, st));
    p.x = tfd_tensor_data(x);
    p.y = tfd_tensor_data(&k->out[0]);
    p.sums = tfd_tensor_data(&sums);
    p.segments = tfd_tensor_data(&k->out[1]);
    tfd_kctx_parallel(k, n / p.columns,
                      p.columns < INT32_MAX / COLUMN_COST_NS
                          ? (int)p.columns * COLUMN_COST_NS
                          : INT32_MAX,
                      k->kernel->range, &p);
    tfd_tensor_unref(&sums);
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

/* Segments are numbered from 0 in each row; here in all rows together. */
static struct tfd_edge segments_of_all(struct tfd_gradient *b,
                                       struct tfd_edge segments)
{
    static const int32_t zero = 0, column[] = {-1, 1}, last[] = {-1};
    struct tfd_edge size, columns, starts;

    size = tfd_gradient_op1(b, "Size", segments);
    columns = tfd_gradient_op3(b, "GatherV2", tfd_gradient_shape(b, segments),
                               tfd_gradient_ints(b, &(const int32_t){1}, -1),
                               tfd_gradient_ints(b, &zero, -1));
    starts = tfd_gradient_op3(b, "Range", tfd_gradient_ints(b, &zero, -1), size,
                              columns);
    return tfd_gradient_op2(
        b, "Reshape",
        tfd_gradient_op2(b, "AddV2", segments,
                         tfd_gradient_op2(b, "Reshape", starts,
                                          tfd_gradient_ints(b, column, 2))),
        tfd_gradient_ints(b, last, 1));
}

/* The mean of what arrives at a segment goes to each of its numbers: of a
 * matrix, as in TensorFlow, where each row's sums are made by itself. */
static enum tfd_code isotonic_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    static const int32_t zero = 0, all = -1;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge ids = segments_of_all(&b, g->y[1]), flat, means, counts;
    struct tfd_edge size = tfd_gradient_op1(&b, "Size", g->y[1]);

    flat = tfd_gradient_op2(&b, "Reshape", g->dy[0],
                            tfd_gradient_ints(&b, &all, 1));
    counts =
        tfd_gradient_op3(&b, "UnsortedSegmentSum",
                         tfd_gradient_op1(&b, "OnesLike", flat), ids, size);
    means = tfd_gradient_op2(
        &b, "RealDiv",
        tfd_gradient_op3(&b, "UnsortedSegmentSum", flat, ids, size),
        tfd_gradient_op2(&b, "Maximum", counts,
                         tfd_gradient_scalar(&b, flat, 1)));
    g->dx[0] =
        tfd_gradient_op2(&b, "Reshape",
                         tfd_gradient_op3(&b, "GatherV2", means, ids,
                                          tfd_gradient_ints(&b, &zero, -1)),
                         tfd_gradient_shape(&b, g->x[0]));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code isotonic_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->out[1] = s->in[0];
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "IsotonicRegression",
        .inputs = "input: T",
        .outputs = "output: output_dtype, segments: int32",
        .attrs = "T: realnumbertype; "
                 "output_dtype: {half, bfloat16, float, double} = DT_FLOAT",
        .shape = isotonic_shape,
        .grad = isotonic_gradient,
    },
};

#define ISOTONIC_KERNEL(name, TX, TY, FROM_X, ADD, MEAN, WIDE, out)           \
    TFD_KERNEL("IsotonicRegression", name, isotonic_compute, isotonic_##name, \
               .prepare = isotonic_prepare),

static const struct tfd_kernel kernels[] = {ISOTONIC_TYPES(ISOTONIC_KERNEL)};

const struct tfd_family tfd_family_isotonic = {
    .name = "isotonic",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
