/*
 * cumulative.c - running values along an axis: sums (Cumsum), products
 * (Cumprod), and logarithms of sums of exponentials (CumulativeLogsumexp).
 *
 * The tensor is [outer][length][inner]; each row of `inner` elements is the one
 * before it (behind it, with reverse) and a row of x.  With exclusive that row
 * of x is the one before too, and the first row is 0 or 1.  Each sum is rounded
 * to the type before it goes on, as in TensorFlow.
 */
#include "kernels/reduce/cumulative.h"

#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/vector/complex_math.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/type_rows.h"

#include <float.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <math.h>

struct scan {
    const void *x;
    void *y;
    int64_t length, inner;
    struct tfd_cumulative d;
};

/* Rows of one element: what there is so far stays in a register. */
#define LINE(name, T, IDENTITY, OP)                                         \
    static void line_##name(const T *x, T *y, int64_t length, int64_t step, \
                            bool exclusive)                                 \
    {                                                                       \
        const int64_t behind = exclusive ? step : 0;                        \
        T last = exclusive ? IDENTITY : *x;                                 \
                                                                            \
        *y = last;                                                          \
        for (int64_t n = 1; n < length; n++) {                              \
            y += step;                                                      \
            x += step;                                                      \
            last = OP(T, last, x[-behind]);                                 \
            *y = last;                                                      \
        }                                                                   \
    }

/* Works on [begin, end) of `outer`. */
#define LINES(name, T, IDENTITY, OP)                                          \
    static void rows_##name(const T *x, T *y, int64_t length, int64_t inner,  \
                            int64_t step, bool exclusive)                     \
    {                                                                         \
        const int64_t behind = exclusive ? step : 0;                          \
                                                                              \
        for (int64_t i = 0; i < inner; i++)                                   \
            y[i] = exclusive ? IDENTITY : x[i];                               \
        for (int64_t n = 1; n < length; n++) {                                \
            y += step;                                                        \
            x += step;                                                        \
            for (int64_t i = 0; i < inner; i++)                               \
                y[i] = OP(T, y[i - step], x[i - behind]);                     \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void name(void *arg, int64_t begin, int64_t end)                   \
    {                                                                         \
        const struct scan *s = arg;                                           \
        int64_t step = s->d.reverse ? -s->inner : s->inner;                   \
        int64_t first = s->d.reverse ? (s->length - 1) * s->inner : 0;        \
                                                                              \
        for (int64_t o = begin; o < end; o++) {                               \
            int64_t at = o * s->length * s->inner + first;                    \
            const T *x = (const T *)s->x + at;                                \
            T *y = (T *)s->y + at;                                            \
                                                                              \
            if (s->inner == 1)                                                \
                line_##name(x, y, s->length, step, s->d.exclusive);           \
            else                                                              \
                rows_##name(x, y, s->length, s->inner, step, s->d.exclusive); \
        }                                                                     \
    }

#define INT_ADD(T, a, b) ((T)((uint64_t)(a) + (uint64_t)(b)))
#define INT_MUL(T, a, b) ((T)((uint64_t)(a) * (uint64_t)(b)))
#define FLOAT_ADD(T, a, b) ((a) + (b))
#define FLOAT_MUL(T, a, b) ((a) * (b))
#define HALF_ADD(T, a, b) T##_from_float(T##_to_float(a) + T##_to_float(b))
#define HALF_MUL(T, a, b) T##_from_float(T##_to_float(a) * T##_to_float(b))
#define COMPLEX_ADD(T, a, b) T##_add(a, b)
#define COMPLEX_MUL(T, a, b) T##_mul(a, b)

#define INT_SCANS(X, name, T)    \
    X(sum_##name, T, 0, INT_ADD) \
    X(product_##name, T, 1, INT_MUL)
#define FLOAT_SCANS(X, name, T)    \
    X(sum_##name, T, 0, FLOAT_ADD) \
    X(product_##name, T, 1, FLOAT_MUL)
#define HALF_SCANS(X, name, T)                    \
    X(sum_##name, T, T##_from_float(0), HALF_ADD) \
    X(product_##name, T, T##_from_float(1), HALF_MUL)
#define COMPLEX_SCANS(X, name, T)              \
    X(sum_##name, T, ((T){0, 0}), COMPLEX_ADD) \
    X(product_##name, T, ((T){1, 0}), COMPLEX_MUL)

/* log(e^a + e^b), by the larger of both so that nothing overflows; a NaN that
 * comes as b is passed over, as in TensorFlow. */
#define LOG_SUM(name, T, suffix)                                \
    static inline T log_sum_##name(T a, T b)                    \
    {                                                           \
        const T most = a < b ? b : a, least = b < a ? b : a;    \
                                                                \
        if (most == -INFINITY)                                  \
            return most;                                        \
        return most + log1p##suffix(exp##suffix(least - most)); \
    }
LOG_SUM(FLOAT, float, f)
LOG_SUM(DOUBLE, double, )
#define LOG_SUM_NARROW(name, number, T)                       \
    static inline T log_sum_##name(T a, T b)                  \
    {                                                         \
        return T##_from_float(                                \
            log_sum_FLOAT(T##_to_float(a), T##_to_float(b))); \
    }
TFD_HALF_DTYPES(LOG_SUM_NARROW)
#define LOG_FLOAT(T, a, b) log_sum_FLOAT(a, b)
#define LOG_DOUBLE(T, a, b) log_sum_DOUBLE(a, b)
#define LOG_HALF(T, a, b) log_sum_HALF(a, b)
#define LOG_BFLOAT16(T, a, b) log_sum_BFLOAT16(a, b)

#define LOG_SCANS(X)                                                  \
    X(log_FLOAT, float, -INFINITY, LOG_FLOAT)                         \
    X(log_DOUBLE, double, -INFINITY, LOG_DOUBLE)                      \
    X(log_HALF, tfd_half, tfd_half_from_float(-INFINITY), LOG_HALF)   \
    X(log_BFLOAT16, tfd_bfloat16, tfd_bfloat16_from_float(-INFINITY), \
      LOG_BFLOAT16)

LOG_SCANS(LINE)
TFD_INT_ROWS(INT_SCANS, LINE)
TFD_FLOAT_ROWS(FLOAT_SCANS, LINE)
TFD_COMPLEX_ROWS(COMPLEX_SCANS, LINE)
HALF_SCANS(LINE, BFLOAT16, tfd_bfloat16)
HALF_SCANS(LINE, usual, tfd_half)

#if defined(__x86_64__)

/* A processor's own conversions, whose bits are the same.  Each number waits
 * for the one before, which so stays in one kind of register. */
#define CONVERTED __attribute__((target(TFD_SIMD_F16C)))
/* One by one in a register, which no move to another kind of register delays.
 */
#define CONVERTED_LINE(name, IDENTITY, OP)                                    \
    CONVERTED static void line_##name(const tfd_half *x, tfd_half *y,         \
                                      int64_t length, int64_t step,           \
                                      bool exclusive)                         \
    {                                                                         \
        const int64_t behind = exclusive ? step : 0;                          \
        __m128i last = _mm_cvtsi32_si128(exclusive ? IDENTITY : *x);          \
                                                                              \
        *y = (tfd_half)_mm_cvtsi128_si32(last);                               \
        for (int64_t n = 1; n < length; n++) {                                \
            y += step;                                                        \
            x += step;                                                        \
            last =                                                            \
                _mm_cvtps_ph(OP(_mm_cvtph_ps(last),                           \
                                _mm_cvtph_ps(_mm_cvtsi32_si128(x[-behind]))), \
                             _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);  \
            *y = (tfd_half)_mm_cvtsi128_si32(last);                           \
        }                                                                     \
    }

CONVERTED_LINE(sum_converted, tfd_half_from_float(0), _mm_add_ss)
CONVERTED_LINE(product_converted, tfd_half_from_float(1), _mm_mul_ss)
#define HALF_LINE(name)                                                        \
    static void line_##name##_HALF(const tfd_half *x, tfd_half *y,             \
                                   int64_t length, int64_t step,               \
                                   bool exclusive)                             \
    {                                                                          \
        (tfd_simd_has_f16c() ? line_##name##_converted : line_##name##_usual)( \
            x, y, length, step, exclusive);                                    \
    }

HALF_LINE(sum)
HALF_LINE(product)

#else

#define line_sum_HALF line_sum_usual
#define line_product_HALF line_product_usual

#endif

LOG_SCANS(LINES)
TFD_INT_ROWS(INT_SCANS, LINES)
TFD_FLOAT_ROWS(FLOAT_SCANS, LINES)
TFD_COMPLEX_ROWS(COMPLEX_SCANS, LINES)
TFD_HALF_ROWS(HALF_SCANS, LINES)

enum tfd_code tfd_cumulative_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_cumulative *d = state;

    TFD_TRY(tfd_node_bool(p->node, "exclusive", &d->exclusive, st));
    return tfd_node_bool(p->node, "reverse", &d->reverse, st);
}

static int64_t product_of_dims(const struct tfd_shape *s, int from, int to)
{
    int64_t n = 1;

    for (int d = from; d < to; d++)
        n *= s->dim[d];
    return n;
}

static int cost_of_scan(int64_t elements)
{
    return elements < INT16_MAX ? (int)elements : INT16_MAX;
}

enum tfd_code tfd_cumulative_lines(const struct tfd_kctx *k,
                                   struct tfd_cumulative_lines *out,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t axis;
    int at;

    TFD_TRY(tfd_check_int(k, 1, &axis, st));
    if (axis < -x->shape.rank || axis >= x->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ScanOp: Expected scan axis in the range [%d, %d), but "
                        "got %lld",
                        -x->shape.rank, x->shape.rank,
                        (long long)(axis < 0 ? axis + x->shape.rank : axis));
    at = (int)(axis < 0 ? axis + x->shape.rank : axis);
    out->outer = product_of_dims(&x->shape, 0, at);
    out->length = x->shape.dim[at];
    out->inner = product_of_dims(&x->shape, at + 1, x->shape.rank);
    return TFD_OK;
}

static enum tfd_code scan_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct scan s = {.d = *(const struct tfd_cumulative *)k->state};
    struct tfd_cumulative_lines lines;

    TFD_TRY(tfd_cumulative_lines(k, &lines, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    s.x = tfd_tensor_data(x);
    s.y = tfd_tensor_data(&k->out[0]);
    s.length = lines.length;
    s.inner = lines.inner;
    tfd_kctx_parallel(k, lines.outer, cost_of_scan(s.length * s.inner),
                      k->kernel->range, &s);
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static bool flag_of(const struct tfd_grad *g, const char *name)
{
    bool set = false;

    return tfd_node_bool(g->node, name, &set, NULL) == TFD_OK && set;
}

/* A scan over x with the flags of the forward node, or the other way round. */
static struct tfd_edge scan_of(struct tfd_gradient *b, const char *op,
                               struct tfd_edge x, bool back)
{
    const struct tfd_edge in[] = {x, b->g->x[1]};
    const char *flags[3] = {NULL};
    int count = 0;

    if (flag_of(b->g, "exclusive"))
        flags[count++] = "exclusive";
    if (flag_of(b->g, "reverse") != back)
        flags[count++] = "reverse";
    return tfd_gradient_op_flags(b, op, in, 2, flags);
}

static enum tfd_code sum_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = scan_of(&b, "Cumsum", g->dy[0], true);
    return b.code;
}

/* As TensorFlow's, which gives 0 for elements that are 0. */
static enum tfd_code product_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge products = scan_of(&b, "Cumprod", g->x[0], false);
    struct tfd_edge terms = tfd_gradient_op2(&b, "Mul", products, g->dy[0]);

    terms = scan_of(&b, "Cumsum", terms, true);
    g->dx[0] = tfd_gradient_op2(&b, "DivNoNan", terms, g->x[0]);
    return b.code;
}

static double lowest_of(enum tfd_dtype dtype)
{
    return dtype == TFD_DOUBLE     ? -DBL_MAX
           : dtype == TFD_HALF     ? -65504.0
           : dtype == TFD_BFLOAT16 ? -0x1.fep127
                                   : (double)-FLT_MAX;
}

/* e^x times the sum of those dy e^-y that came after; of positive ones, which
 * alone have a logarithm. */
static struct tfd_edge log_part(struct tfd_gradient *b, struct tfd_edge dy,
                                struct tfd_edge zero)
{
    struct tfd_edge lowest =
        tfd_gradient_scalar(b, dy, lowest_of(tfd_gradient_dtype(b, dy)));
    struct tfd_edge some = tfd_gradient_op2(b, "Greater", dy, zero);
    struct tfd_edge log = tfd_gradient_op1(b, "Log", dy);
    struct tfd_edge sum;

    log = tfd_gradient_op3(b, "SelectV2", some, log, lowest);
    log = tfd_gradient_op2(b, "Sub", log, b->g->y[0]);
    sum = scan_of(b, "CumulativeLogsumexp", log, true);
    sum = tfd_gradient_op2(b, "AddV2", sum, b->g->x[0]);
    return tfd_gradient_op1(b, "Exp", sum);
}

static enum tfd_code log_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zero = tfd_gradient_scalar(&b, g->dy[0], 0);
    struct tfd_edge up = log_part(&b, g->dy[0], zero);
    struct tfd_edge down =
        log_part(&b, tfd_gradient_op1(&b, "Neg", g->dy[0]), zero);

    g->dx[0] = tfd_gradient_op2(&b, "Sub", up, down);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, types_, grad_)                                            \
    {                                                                       \
        .name = (name_), .inputs = "x: T, axis: Tidx", .outputs = "out: T", \
        .attrs = "exclusive: bool = false; reverse: bool = false; "         \
                 "T: " types_ "; Tidx: {int32, int64} = DT_INT32",          \
        .checks = "axis: scalar 'ScanOp: axis must be a scalar, not %s'",   \
        .shape = tfd_shape_like_first, .grad = (grad_),                     \
    }

static const struct tfd_opdef ops[] = {
    OP("Cumsum", "numbertype", sum_gradient),
    OP("Cumprod", "numbertype", product_gradient),
    OP("CumulativeLogsumexp", "{bfloat16, half, float, double}", log_gradient),
};

#define ROWS(name, number, T)                                     \
    TFD_KERNEL("Cumsum", name, scan_compute, sum_##name,          \
               .prepare = tfd_cumulative_prepare,                 \
               .state_size = sizeof(struct tfd_cumulative)),      \
        TFD_KERNEL("Cumprod", name, scan_compute, product_##name, \
                   .prepare = tfd_cumulative_prepare,             \
                   .state_size = sizeof(struct tfd_cumulative)),

#define LOG_ROWS(name, number, T)                                     \
    TFD_KERNEL("CumulativeLogsumexp", name, scan_compute, log_##name, \
               .prepare = tfd_cumulative_prepare,                     \
               .state_size = sizeof(struct tfd_cumulative)),

static const struct tfd_kernel kernels[] = {
    TFD_FLOAT_DTYPES(LOG_ROWS) TFD_HALF_DTYPES(LOG_ROWS) TFD_REAL_DTYPES(ROWS)
        TFD_HALF_DTYPES(ROWS) TFD_COMPLEX_DTYPES(ROWS)};

const struct tfd_family tfd_family_cumulative = {
    .name = "cumulative",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
