/*
 * softmax.c - Softmax and LogSoftmax over the last dimension:
 *
 *     softmax(x)    = exp(x - max) / sum(exp(x - max))
 *     logsoftmax(x) = x - max - log(sum(exp(x - max)))
 *
 * A long row comes from memory once, for its maximum, and from the cache after
 * that. The exponentials of Softmax wait in the output until their sum is
 * known.
 */
#include "kernels/core/families.h"

#include "common/base/min.h"

#include "kernels/core/check.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow.h"
#include "kernels/nn/softmax_row.h"
#include "kernels/vector/double_functions.h"

/* ---- Loops over rows ----------------------------------------------------- */

struct rows {
    const void *x;
    void *y;
    int64_t size;
};

#define PASS 2048 /* elements of rows that go a step at a time together */
#define PASS_FAR (PASS / 2) /* in a row of what comes from memory */
#define NEAR_COUNT (1 << 17)
/* Floats wait in lines of their own, and go to y once. */
#define IS_BESIDE(F) (sizeof(F) == sizeof(float))
#define ROW_BESIDE(n) (((n) + 15) / 16 * 16)
#define FETCH_SIZE_MIN 256 /* bytes of a row; the processor foresees less */
#define BLOCK 256 /* elements of short rows, or exponentials nobody needs */

/* The types that have loops of their own. */
#define SOFTMAX_DTYPES(X)                                                 \
    X(FLOAT, float, float, TFD_ROW_SELF, TFD_ROW_SELF, tfd_row_exp, logf) \
    X(DOUBLE, double, double, TFD_ROW_SELF, TFD_ROW_SELF, tfd_double_exp, log)

SOFTMAX_DTYPES(TFD_ROW_FUNCTIONS)

/* Asks for what is read next from memory, while the processor computes. */
static inline void fetch(const void *x, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += TFD_LINE_SIZE)
        __builtin_prefetch((const char *)x + i);
}

/* Short rows go side by side, so that none waits for its own sum: i counts
 * elements of row r, j those of all rows. */
#define DEFINE_LOOPS(name, T, F, to, from, exp_, log_)                         \
    TFD_ROW_INLINE F exp_sum_##name(const T *x, int64_t n, F max)              \
    {                                                                          \
        T block[BLOCK];                                                        \
        F sum = 0;                                                             \
                                                                               \
        for (int64_t i = 0; i < n; i += BLOCK)                                 \
            sum += row_exp_##name(x + i, 1, n - i < BLOCK ? n - i : BLOCK,     \
                                  max, block);                                 \
        return sum;                                                            \
    }                                                                          \
                                                                               \
    /* What is to be known of `count` rows of n elements, which have room in a \
     * block. */                                                               \
    TFD_ROW_INLINE void short_rows_##name(const T *x, int64_t n,               \
                                          int64_t count, F *e, F *max, F *sum) \
    {                                                                          \
        for (int64_t r = 0; r < count; r++) {                                  \
            max[r] = to(x[r * n]);                                             \
            sum[r] = 0;                                                        \
        }                                                                      \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t r = 0, j = i; r < count; r++, j += n)                 \
                max[r] = TFD_ROW_LARGER(max[r], to(x[j]));                     \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t r = 0, j = i; r < count; r++, j += n)                 \
                e[j] = to(x[j]) - max[r];                                      \
        for (int64_t j = 0; j < count * n; j++)                                \
            e[j] = exp_(e[j]);                                                 \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t r = 0, j = i; r < count; r++, j += n)                 \
                sum[r] += e[j];                                                \
    }                                                                          \
                                                                               \
    TFD_ROW_INLINE void softmax_short_##name(const T *x, T *y, int64_t n,      \
                                             int64_t count)                    \
    {                                                                          \
        F e[BLOCK], max[BLOCK], sum[BLOCK];                                    \
                                                                               \
        short_rows_##name(x, n, count, e, max, sum);                           \
        for (int64_t r = 0; r < count; r++)                                    \
            sum[r] = 1 / sum[r];                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t r = 0, j = i; r < count; r++, j += n)                 \
                y[j] = from(to(from(e[j])) * sum[r]);                          \
    }                                                                          \
                                                                               \
    TFD_ROW_INLINE void log_softmax_short_##name(const T *x, T *y, int64_t n,  \
                                                 int64_t count)                \
    {                                                                          \
        F e[BLOCK], max[BLOCK], sum[BLOCK];                                    \
                                                                               \
        short_rows_##name(x, n, count, e, max, sum);                           \
        for (int64_t r = 0; r < count; r++)                                    \
            sum[r] = log_(sum[r]);                                             \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t r = 0, j = i; r < count; r++, j += n)                 \
                y[j] = from(to(x[j]) - max[r] - sum[r]);                       \
    }                                                                          \
                                                                               \
    /* A pass over all of them for each step: of one row alone each waits for  \
     * the one before.  Exponentials lie `row` numbers apart, in y or beside   \
     * it.  What lies `ahead` elements further is asked for. */                \
    TFD_ROW_INLINE void softmax_few_##name(const T *x, T *y, int64_t n,        \
                                           int64_t count, int64_t ahead)       \
    {                                                                          \
        _Alignas(TFD_LINE_SIZE) F beside[IS_BESIDE(F) ? PASS : 1];             \
        F some[PASS / TFD_ROW_LANES], *e = IS_BESIDE(F) ? beside : (F *)y;     \
        const int64_t row = IS_BESIDE(F) ? ROW_BESIDE(n) : n;                  \
                                                                               \
        for (int64_t r = 0; r < count; r++)                                    \
            some[r] = row_max_##name(x + r * n, 1, n);                         \
        for (int64_t r = 0; r < count; r++)                                    \
            for (int64_t i = 0, m; i < n; i += m) {                            \
                m = tfd_min(n - i, BLOCK);                                     \
                fetch(x + r * n + i + ahead, (size_t)m * sizeof(T));           \
                exp_##s(x + r * n + i, m, some[r], e + r * row + i);           \
            }                                                                  \
        for (int64_t r = 0; r < count; r++)                                    \
            some[r] = row_sum_##name(e + r * row, n);                          \
        for (int64_t r = 0; r < count; r++)                                    \
            some[r] = 1 / some[r];                                             \
        for (int64_t r = 0; r < count; r++)                                    \
            for (int64_t i = 0; i < n; i++)                                    \
                y[r * n + i] = from(e[r * row + i] * some[r]);                 \
    }                                                                          \
                                                                               \
    TFD_SIMD_LOOP(softmax_##name)                                              \
    {                                                                          \
        const struct rows *rows = arg;                                         \
        const int64_t n = rows->size;                                          \
        const bool far = (end - begin) * n > NEAR_COUNT;                       \
        const int64_t most = far ? PASS_FAR : PASS;                            \
                                                                               \
        if (n < TFD_ROW_LANES) {                                               \
            for (int64_t r = begin, few; r < end; r += few) {                  \
                few = end - r < BLOCK / n ? end - r : BLOCK / n;               \
                softmax_short_##name((const T *)rows->x + r * n,               \
                                     (T *)rows->y + r * n, n, few);            \
            }                                                                  \
            return;                                                            \
        }                                                                      \
        for (int64_t r = begin, few; n <= most && r < end; r += few) {         \
            few = tfd_min(end - r, PASS / ROW_BESIDE(n));                      \
            softmax_few_##name(                                                \
                (const T *)rows->x + r * n, (T *)rows->y + r * n, n, few,      \
                far && n * (int64_t)sizeof(T) >= FETCH_SIZE_MIN ? n * few      \
                                                                : 0);          \
        }                                                                      \
        for (int64_t r = begin; n > most && r < end; r++) {                    \
            const T *x = (const T *)rows->x + r * n;                           \
            T *y = (T *)rows->y + r * n;                                       \
            const F max = row_max_##name(x, 1, n);                             \
            const F scale = 1 / row_exp_##name(x, 1, n, max, y);               \
                                                                               \
            for (int64_t i = 0; i < n; i++)                                    \
                y[i] = from(to(y[i]) * scale);                                 \
        }                                                                      \
    }                                                                          \
    TFD_SIMD_CLONES_WIDE(softmax_##name)                                       \
                                                                               \
    TFD_SIMD_LOOP(log_softmax_##name)                                          \
    {                                                                          \
        const struct rows *rows = arg;                                         \
        const int64_t n = rows->size;                                          \
                                                                               \
        if (n < TFD_ROW_LANES) {                                               \
            for (int64_t r = begin, few; r < end; r += few) {                  \
                few = end - r < BLOCK / n ? end - r : BLOCK / n;               \
                log_softmax_short_##name((const T *)rows->x + r * n,           \
                                         (T *)rows->y + r * n, n, few);        \
            }                                                                  \
            return;                                                            \
        }                                                                      \
        for (int64_t r = begin; r < end; r++) {                                \
            const T *x = (const T *)rows->x + r * n;                           \
            T *y = (T *)rows->y + r * n;                                       \
            const F max = row_max_##name(x, 1, n);                             \
            const F log_sum = log_(exp_sum_##name(x, n, max));                 \
                                                                               \
            for (int64_t i = 0; i < n; i++)                                    \
                y[i] = from(to(x[i]) - max - log_sum);                         \
        }                                                                      \
    }                                                                          \
    TFD_SIMD_CLONES_WIDE(log_softmax_##name)

SOFTMAX_DTYPES(DEFINE_LOOPS)

/* ---- Half and bfloat16 ---------------------------------------------------
 *
 * Whole rows are widened to floats that stay in the first cache; a row that has
 * no room there is, a block at a time, once for each of three passes.  The
 * softmax of bfloat16 has a way of its own (softmax_bfloat16.c). */

#define WIDE 2048 /* floats */

/* Of a block: the largest element, what exponentials add up to, a product. */
struct pass {
    float *x;
    float max, sum, factor;
};

TFD_SIMD_LOOP(pass_max)
{
    struct pass *p = arg;

    p->max = row_max_FLOAT(p->x + begin, 1, end - begin);
}
TFD_SIMD_CLONES_WIDE(pass_max)

TFD_SIMD_LOOP(pass_exp)
{
    struct pass *p = arg;

    p->sum = row_exp_FLOAT(p->x + begin, 1, end - begin, p->max, p->x + begin);
}
TFD_SIMD_CLONES_WIDE(pass_exp)

TFD_SIMD_LOOP(pass_scale)
{
    const struct pass *p = arg;

    for (int64_t i = begin; i < end; i++)
        p->x[i] = (p->x[i] - p->max) * p->factor;
}
TFD_SIMD_CLONES_WIDE(pass_scale)

/* p->max and p->sum: of a row of n elements; y, where it is not NULL, takes the
 * exponentials. */
static void measure_row(enum tfd_dtype t, const uint16_t *x, int64_t n,
                        uint16_t *y, struct pass *p)
{
    float max, sum = 0;

    tfd_narrow_widen(t, x, &max, 1);
    for (int64_t i = 0; i < n; i += WIDE) {
        tfd_narrow_widen(t, x + i, p->x, tfd_min(n - i, WIDE));
        pass_max(p, 0, tfd_min(n - i, WIDE));
        max = TFD_ROW_LARGER(max, p->max);
    }
    p->max = max;
    for (int64_t i = 0; i < n; i += WIDE) {
        tfd_narrow_widen(t, x + i, p->x, tfd_min(n - i, WIDE));
        pass_exp(p, 0, tfd_min(n - i, WIDE));
        sum += p->sum;
        if (y)
            tfd_narrow_round(t, p->x, y + i, tfd_min(n - i, WIDE));
    }
    p->sum = sum;
}

static void long_row(enum tfd_dtype t, const uint16_t *x, uint16_t *y,
                     int64_t n, bool log)
{
    float wide[WIDE];
    struct pass p = {.x = wide};

    measure_row(t, x, n, log ? NULL : y, &p);
    p.max = log ? p.max + logf(p.sum) : 0;
    p.factor = log ? 1 : 1 / p.sum;
    for (int64_t i = 0; i < n; i += WIDE) {
        tfd_narrow_widen(t, (log ? x : y) + i, wide, tfd_min(n - i, WIDE));
        pass_scale(&p, 0, tfd_min(n - i, WIDE));
        tfd_narrow_round(t, wide, y + i, tfd_min(n - i, WIDE));
    }
}

static void narrow_rows(enum tfd_dtype t, const struct rows *rows,
                        int64_t begin, int64_t end, bool log)
{
    const int64_t n = rows->size;
    const uint16_t *x = rows->x;
    uint16_t *y = rows->y;
    float wide[WIDE];
    struct rows few = {wide, wide, n};

    if (t == TFD_BFLOAT16 && !log &&
        tfd_softmax_bfloat16(x + begin * n, n, end - begin, y + begin * n))
        return;
    for (int64_t r = begin, count; r < end; r += count) {
        count = n > WIDE ? 1 : tfd_min(end - r, WIDE / n);
        if (n > WIDE) {
            long_row(t, x + r * n, y + r * n, n, log);
            continue;
        }
        tfd_narrow_widen(t, x + r * n, wide, count * n);
        (log ? log_softmax_FLOAT : softmax_FLOAT)(&few, 0, count);
        tfd_narrow_round(t, wide, y + r * n, count * n);
    }
}

#define NARROW_LOOPS(name, number, T)                                     \
    static void softmax_##name(void *arg, int64_t begin, int64_t end)     \
    {                                                                     \
        narrow_rows(TFD_##name, arg, begin, end, false);                  \
    }                                                                     \
    static void log_softmax_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                     \
        narrow_rows(TFD_##name, arg, begin, end, true);                   \
    }
TFD_HALF_DTYPES(NARROW_LOOPS)

/* ---- Kernel -------------------------------------------------------------- */

#define COST_NS 3 /* per element, two exponentials */

static enum tfd_code normalize(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;
    struct rows rows = {.size = 1};
    int64_t cost;

    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, k->in[0].dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    rows.x = k->in[0].buffer->data;
    rows.y = k->out[0].buffer->data;
    rows.size = shape.dim[shape.rank - 1];
    cost = rows.size < 1000000 ? rows.size * COST_NS + 30 : 3000000;
    tfd_kctx_parallel(k, tfd_shape_elements(&shape) / rows.size, (int)cost,
                      k->kernel->range, &rows);
    return TFD_OK;
}

static enum tfd_code softmax_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    if (k->in[0].shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "logits must have >= 1 dimension, got []");
    return normalize(k, st);
}

/* ---- Shape --------------------------------------------------------------- */

static enum tfd_code softmax_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    if (s->in[0].rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    s->out[0] = s->in[0];
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static struct tfd_edge sum_last(struct tfd_gradient *b, struct tfd_edge x)
{
    static const char *const keep_dims[] = {"keep_dims", NULL};
    const int32_t last = -1;
    const struct tfd_edge in[] = {x, tfd_gradient_ints(b, &last, -1)};

    return tfd_gradient_op_flags(b, "Sum", in, 2, keep_dims);
}

/* (dy - sum(dy * y)) * y */
static enum tfd_code softmax_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge sum;

    sum = sum_last(&b, tfd_gradient_op2(&b, "Mul", g->dy[0], g->y[0]));
    sum = tfd_gradient_op2(&b, "Sub", g->dy[0], sum);
    g->dx[0] = tfd_gradient_op2(&b, "Mul", sum, g->y[0]);
    return b.code;
}

/* dy - sum(dy) * exp(y) */
static enum tfd_code log_softmax_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge softmax = tfd_gradient_op1(&b, "Exp", g->y[0]);
    struct tfd_edge sum = sum_last(&b, g->dy[0]);

    sum = tfd_gradient_op2(&b, "Mul", sum, softmax);
    g->dx[0] = tfd_gradient_op2(&b, "Sub", g->dy[0], sum);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Softmax",
        .inputs = "logits: T",
        .outputs = "softmax: T",
        .attrs = "T: {half, bfloat16, float, double}",
        .shape = softmax_shape,
        .grad = softmax_gradient,
    },
    {
        .name = "LogSoftmax",
        .inputs = "logits: T",
        .outputs = "logsoftmax: T",
        .attrs = "T: {half, bfloat16, float, double}",
        .shape = softmax_shape,
        .grad = log_softmax_gradient,
    },
};

#define KERNELS(name, number, T)                              \
    TFD_KERNEL("Softmax", name, softmax_cpu, softmax_##name), \
        TFD_KERNEL("LogSoftmax", name, softmax_cpu, log_softmax_##name),

static const struct tfd_kernel kernels[] = {TFD_FLOAT_DTYPES(KERNELS)
                                                TFD_HALF_DTYPES(KERNELS)};

const struct tfd_family tfd_family_softmax = {
    .name = "softmax",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
