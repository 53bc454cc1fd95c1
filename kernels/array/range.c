/*
 * range.c - Range: numbers at equal distances, up to a limit that is left out.
 */
#include "kernels/array/range.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/vector/simd.h"

#define RANGE_MAX (INT64_C(1) << 40)
#define SIGN(a, b) (((a) > (b)) - ((a) < (b)))

static enum tfd_code too_long(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Requires ((limit - start) / delta) <= %lld",
                    (long long)RANGE_MAX);
}

static enum tfd_code count_int(int64_t start, int64_t limit, int64_t delta,
                               int64_t *count, struct tfd_status *st)
{
    uint64_t span = limit > start ? (uint64_t)limit - (uint64_t)start
                                  : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t n = span / step + (span % step != 0);

    if (n > (uint64_t)RANGE_MAX)
        return too_long(st);
    *count = (int64_t)n;
    return TFD_OK;
}

static enum tfd_code count_float(double start, double limit, double delta,
                                 int64_t *count, struct tfd_status *st)
{
    double n = (limit - start) / delta;
    int64_t whole;

    n = n < 0 ? -n : n;
    if (!(n <= (double)RANGE_MAX))
        return too_long(st);
    whole = (int64_t)n;
    *count = whole + ((double)whole < n);
    return TFD_OK;
}

/* What start and limit do not keep to; NULL when all is well.  delta, order:
 * the signs of delta, no number has none, and of start - limit. */
static const char *broken_rule(int delta, int order)
{
    if (delta > 0 && order > 0)
        return "start <= limit when delta > 0";
    if (delta < 0 && order < 0)
        return "start >= limit when delta < 0";
    return NULL;
}

static enum tfd_code fail_zero(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Requires delta != 0: 0");
}

static double float_of(const struct tfd_tensor *t)
{
    const void *value = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_DOUBLE:
        return *(const double *)value;
    case TFD_FLOAT:
        return *(const float *)value;
    case TFD_HALF:
        return tfd_half_to_float(*(const tfd_half *)value);
    default:
        return tfd_bfloat16_to_float(*(const tfd_bfloat16 *)value);
    }
}

static enum tfd_code begin_int(struct tfd_kctx *k, struct tfd_range *r,
                               int64_t *count, struct tfd_status *st)
{
    int64_t start = tfd_check_int_at(&k->in[0], 0);
    int64_t limit = tfd_check_int_at(&k->in[1], 0);
    int64_t delta = tfd_check_int_at(&k->in[2], 0);
    const char *rule;

    if (delta == 0)
        return fail_zero(st);
    rule = broken_rule(SIGN(delta, 0), SIGN(start, limit));
    if (rule)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Requires %s: %lld/%lld",
                        rule, (long long)start, (long long)limit);
    r->int_start = start;
    r->int_delta = delta;
    return count_int(start, limit, delta, count, st);
}

static enum tfd_code begin_float(struct tfd_kctx *k, struct tfd_range *r,
                                 int64_t *count, struct tfd_status *st)
{
    double start = float_of(&k->in[0]), limit = float_of(&k->in[1]);
    double delta = float_of(&k->in[2]);
    const char *rule;

    if (delta == 0)
        return fail_zero(st);
    rule = broken_rule(SIGN(delta, 0), SIGN(start, limit));
    if (rule)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Requires %s: %g/%g", rule,
                        start, limit);
    r->float_start = start;
    r->float_delta = delta;
    return count_float(start, limit, delta, count, st);
}

enum tfd_code tfd_range_begin(struct tfd_kctx *k, struct tfd_range *r,
                              struct tfd_status *st)
{
    enum tfd_dtype dtype = k->in[0].dtype;
    bool whole = dtype == TFD_INT32 || dtype == TFD_INT64;
    struct tfd_shape shape = {1, {0}};

    *r = (struct tfd_range){0};
    TFD_TRY(whole ? begin_int(k, r, &shape.dim[0], st)
                  : begin_float(k, r, &shape.dim[0], st));
    return tfd_kctx_output(k, 0, dtype, &shape, st);
}

/* ---- Numbers ------------------------------------------------------------- */

struct job {
    struct tfd_range r;
    void *y;
    tfd_range_fn *put; /* numbers [begin, end) */
    int64_t block;     /* of them between two looks at halt.h */
};

/* Integers wrap where TensorFlow would have overflowed: the count keeps them in
 * range.  So each is the one before and delta, which takes no multiplication.
 */
#define INTEGERS(name, T, C)                                  \
    TFD_SIMD_LOOP(put_##name)                                 \
    {                                                         \
        const struct job *j = arg;                            \
        const C delta = (C)j->r.int_delta;                    \
        C value = (C)j->r.int_start + (C)begin * delta;       \
        T *y = j->y;                                          \
                                                              \
        for (int64_t i = begin; i < end; i++, value += delta) \
            y[i] = (T)value;                                  \
    }                                                         \
    TFD_SIMD_CLONES_WIDE(put_##name)                          \
    RANGE_KERNEL(name)

/* Values are computed in C.  A number below 2^31 is a float in every vector
 * unit, a longer one only in the newest. */
#define FLOATS(name, T, C, STORE)                                         \
    TFD_SIMD_LOOP(put_##name)                                             \
    {                                                                     \
        const struct job *j = arg;                                        \
        const C start = (C)j->r.float_start, delta = (C)j->r.float_delta; \
        T *y = j->y;                                                      \
                                                                          \
        if (end <= INT32_MAX)                                             \
            for (int32_t i = (int32_t)begin; i < (int32_t)end; i++)       \
                y[i] = STORE(start + (C)i * delta);                       \
        else                                                              \
            for (int64_t i = begin; i < end; i++)                         \
                y[i] = STORE(start + (C)i * delta);                       \
    }                                                                     \
    TFD_SIMD_CLONES(put_##name)                                           \
    RANGE_KERNEL(name)

#define RANGE_KERNEL(name)                                   \
    static enum tfd_code range_##name(struct tfd_kctx *k,    \
                                      struct tfd_status *st) \
    {                                                        \
        return put_numbers(k, put_##name, st);               \
    }

static void put_blocks(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;

    for (int64_t to; begin < end && !tfd_halted(); begin = to) {
        to = end - begin < j->block ? end : begin + j->block;
        j->put(arg, begin, to);
    }
}

static enum tfd_code put_numbers(struct tfd_kctx *k, tfd_range_fn *put,
                                 struct tfd_status *st)
{
    struct job j = {.put = put};
    size_t size;

    TFD_TRY(tfd_range_begin(k, &j.r, st));
    size = tfd_dtype_size(k->out[0].dtype);
    j.block = (int64_t)(TFD_HALT_BLOCK_SIZE / size);
    j.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel_bytes(k, k->out[0].shape.dim[0], (int)size, put_blocks,
                            &j);
    return TFD_OK;
}

#define AS_IS(x) (x)
INTEGERS(int32, int32_t, uint32_t)
INTEGERS(int64, int64_t, uint64_t)
FLOATS(float, float, float, AS_IS)
FLOATS(double, double, double, AS_IS)
FLOATS(half, tfd_half, float, tfd_half_from_float)
FLOATS(bfloat16, tfd_bfloat16, float, tfd_bfloat16_from_float)

static enum tfd_code vector_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[0].rank = 1;
    s->out[0].dim[0] = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Range",
        .inputs = "start: Tidx, limit: Tidx, delta: Tidx",
        .outputs = "output: Tidx",
        .attrs = "Tidx: {bfloat16, half, float, double, int8, int16, int32, "
                 "int64, uint16, uint32, uint64} = DT_INT32",
        .checks = "start: scalar 'start must be a scalar, not shape %s'; "
                  "limit: scalar 'limit must be a scalar, not shape %s'; "
                  "delta: scalar 'delta must be a scalar, not shape %s'",
        .key = "Tidx",
        .shape = vector_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("Range", INT32, range_int32),
    TFD_KERNEL("Range", INT64, range_int64),
    TFD_KERNEL("Range", FLOAT, range_float),
    TFD_KERNEL("Range", DOUBLE, range_double),
    TFD_KERNEL("Range", HALF, range_half),
    TFD_KERNEL("Range", BFLOAT16, range_bfloat16),
};

const struct tfd_family tfd_family_range = {
    .name = "range",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
