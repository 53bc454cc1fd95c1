/*
 * check_numerics.c - CheckNumerics, CheckNumericsV2: pass their input on and
 * fail the step when a number of it is not finite.
 *
 * One pass over the bits: a number is not finite when its exponent is all ones,
 * which needs no conversion of the narrow types and vectorises.
 */
#include "kernels/core/check.h"
#include "common/base/atomic.h"
#include "kernels/core/families.h"
#include "kernels/core/outputs.h"
#include "kernels/vector/simd.h"

#include <string.h>

struct job {
    const void *x;
    int seen; /* atomic; bits of the above */
};

/* Most tensors are finite: only where one number is not are all looked at. */
#define LOOPS(name, T, SIGN, INFINITE)                                     \
    TFD_SIMD_LOOP(any_##name)                                              \
    {                                                                      \
        const struct job *job = arg;                                       \
        const T *x = job->x;                                               \
        T bad = 0;                                                         \
                                                                           \
        for (int64_t i = begin; i < end; i++)                              \
            bad |= (T)((T)(x[i] & (T)(INFINITE)) == (T)(INFINITE));        \
        if (bad)                                                           \
            TFD_STORE_RELAXED(&((struct job *)arg)->seen, 1);              \
    }                                                                      \
    TFD_SIMD_CLONES(any_##name)                                            \
                                                                           \
    static int kinds_##name(const void *data, int64_t n)                   \
    {                                                                      \
        const T *x = data;                                                 \
        int seen = 0;                                                      \
                                                                           \
        for (int64_t i = 0; i < n; i++) {                                  \
            T size = (T)(x[i] & (T) ~(T)(SIGN));                           \
                                                                           \
            if (size > (T)(INFINITE))                                      \
                seen |= TFD_NAN_SEEN;                                      \
            else if (size == (T)(INFINITE))                                \
                seen |= x[i] & (T)(SIGN) ? TFD_MINUS_SEEN : TFD_PLUS_SEEN; \
        }                                                                  \
        return seen;                                                       \
    }

LOOPS(HALF, uint16_t, 0x8000, 0x7c00)
LOOPS(BFLOAT16, uint16_t, 0x8000, 0x7f80)
LOOPS(FLOAT, uint32_t, 0x80000000, 0x7f800000)
LOOPS(DOUBLE, uint64_t, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52)

static const struct {
    enum tfd_dtype dtype;
    tfd_range_fn *any;
    int (*kinds)(const void *data, int64_t n);
} loops[] = {
    {TFD_HALF, any_HALF, kinds_HALF},
    {TFD_BFLOAT16, any_BFLOAT16, kinds_BFLOAT16},
    {TFD_FLOAT, any_FLOAT, kinds_FLOAT},
    {TFD_DOUBLE, any_DOUBLE, kinds_DOUBLE},
};

/* By the bits of what was seen, for the first version and the second. */
static const char *const texts[8][2] = {
    [1] = {"NaN", "NaN"},
    [2] = {"Inf", "-Inf"},
    [3] = {"Inf and NaN", "-Inf and NaN"},
    [4] = {"Inf", "+Inf"},
    [5] = {"Inf and NaN", "+Inf and NaN"},
    [6] = {"Inf", "-Inf and +Inf"},
    [7] = {"Inf and NaN", "-Inf, +Inf, and NaN"},
};

enum tfd_code tfd_check_numerics_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    struct tfd_check_numerics_state *s = state;

    s->version = tfd_str_is(p->node->op->name, "CheckNumericsV2");
    return tfd_node_str(p->node, "message", &s->message, st);
}

enum tfd_code tfd_check_numerics_result(const struct tfd_kctx *k, int seen,
                                        struct tfd_status *st)
{
    const struct tfd_check_numerics_state *s = k->state;

    if (!seen)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    TFD_STR_FMT " : Tensor had %s values",
                    TFD_STR_ARG(s->message), texts[seen][s->version]);
}

static enum tfd_code check_numerics(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct job job = {tfd_tensor_data(x), 0};
    int64_t n = tfd_tensor_elements(x);
    int i = 0;

    while (loops[i].dtype != x->dtype)
        i++;
    tfd_kctx_parallel(k, n, 1, loops[i].any, &job);
    if (job.seen)
        TFD_TRY(tfd_check_numerics_result(k, loops[i].kinds(job.x, n), st));
    tfd_kctx_output_alias(k, 0, 0, &x->shape);
    return TFD_OK;
}

/* The gradient is checked as the value was. */
static enum tfd_code check_numerics_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    static const struct tfd_str message = TFD_STR_INIT(
        "Not a number (NaN) or infinity (Inf) values detected in gradient.");
    struct tfd_attr attr = {.name = TFD_STR("message")};
    struct tfd_bytes value;
    enum tfd_code rc;

    tfd_bytes_init(&value, 1024);
    tfd_attr_put_str(&value, message);
    attr.value = tfd_bytes_view(&value);
    rc = tfd_bytes_ok(&value, "an attribute", st);
    if (rc == TFD_OK)
        rc = tfd_grad_emit_attrs(g, g->node->op->name.data, &g->dy[0], 1, &attr,
                                 1, &g->dx[0], 1, st);
    tfd_bytes_deinit(&value);
    return rc;
}

#define OP(op)                                                          \
    {                                                                   \
        .name = op, .inputs = "tensor: T", .outputs = "output: T",      \
        .attrs = "T: {bfloat16, half, float, double}; message: string", \
        .shape = tfd_shape_same, .grad = check_numerics_gradient,       \
        .flags = TFD_OP_STATEFUL,                                       \
    }

static const struct tfd_opdef ops[] = {
    OP("CheckNumerics"),
    OP("CheckNumericsV2"),
};

#define ROW(op)                                                               \
    TFD_KERNEL_ANY(op, check_numerics, .prepare = tfd_check_numerics_prepare, \
                   .state_size = sizeof(struct tfd_check_numerics_state))

static const struct tfd_kernel kernels[] = {
    ROW("CheckNumerics"),
    ROW("CheckNumericsV2"),
};

const struct tfd_family tfd_family_check_numerics = {
    .name = "check_numerics",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
