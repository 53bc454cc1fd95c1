/*
 * clip.c - ClipByValue: elements no less than one value, no more than another.
 *
 *     y = max(min(t, clip_value_max), clip_value_min)
 *
 * Each limit is one for all elements or has the shape of t.  What is no number
 * stays so, and limits that are none do not limit; of zeros of both signs t's
 * stays.  Parts of complex numbers are clipped each by themselves.
 */
#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/vector/narrow.h"
#include "kernels/vector/narrow_lanes.h"

#include "common/base/half.h"

/* ---- Loops --------------------------------------------------------------- */

struct clip {
    const void *t, *low, *high;
    void *y;
    int low_step, high_step; /* 0: one for all elements */
};

#define DEFINE_ONE(name, T, wide)                        \
    static inline T one_##name(T t, T low, T high)       \
    {                                                    \
        const T least = wide(high) < wide(t) ? high : t; \
                                                         \
        return wide(least) < wide(low) ? low : least;    \
    }
#define DEFINE_ONE_COMPLEX(name, T, part)                    \
    static inline T one_##name(T t, T low, T high)           \
    {                                                        \
        return (T){.re = one_##part(t.re, low.re, high.re),  \
                   .im = one_##part(t.im, low.im, high.im)}; \
    }

/* Steps are constants, so that the compiler can vectorise; what is one for all
 * is loaded once, since y may be t. */
#define DEFINE_LOOP(name, T, ...)                                    \
    static inline __attribute__((always_inline)) void run_##name(    \
        const struct clip *c, int64_t begin, int64_t end, bool lows, \
        bool highs)                                                  \
    {                                                                \
        const T *t = c->t, *low = c->low, *high = c->high;           \
        const T low_one = *low, high_one = *high;                    \
        T *y = c->y;                                                 \
                                                                     \
        for (int64_t i = begin; i < end; i++)                        \
            y[i] = one_##name(t[i], lows ? low[i] : low_one,         \
                              highs ? high[i] : high_one);           \
    }                                                                \
                                                                     \
    TFD_SIMD_LOOP(loop_##name)                                       \
    {                                                                \
        const struct clip *c = arg;                                  \
                                                                     \
        if (!c->low_step && !c->high_step)                           \
            run_##name(c, begin, end, false, false);                 \
        else if (!c->high_step)                                      \
            run_##name(c, begin, end, true, false);                  \
        else if (!c->low_step)                                       \
            run_##name(c, begin, end, false, true);                  \
        else                                                         \
            run_##name(c, begin, end, true, true);                   \
    }                                                                \
    TFD_SIMD_CLONES_WIDE(loop_##name)

/* name, C type, to a type that is compared */
#define CLIPPED(X)               \
    X(FLOAT, float, (float))     \
    X(DOUBLE, double, (double))  \
    X(INT8, int8_t, (int8_t))    \
    X(INT16, int16_t, (int16_t)) \
    X(INT32, int32_t, (int32_t)) \
    X(INT64, int64_t, (int64_t)) \
    X(UINT8, uint8_t, (uint8_t)) \
    X(UINT16, uint16_t, (uint16_t))
#define CLIPPED_COMPLEX(X)             \
    X(COMPLEX64, tfd_complex64, FLOAT) \
    X(COMPLEX128, tfd_complex128, DOUBLE)

CLIPPED(DEFINE_ONE)
CLIPPED_COMPLEX(DEFINE_ONE_COMPLEX)
CLIPPED(DEFINE_LOOP)
CLIPPED_COMPLEX(DEFINE_LOOP)

/* Elements [at, at + n) of a limit as floats, or the one for all. */
static void widen_limit(enum tfd_dtype t, const void *limit, int step,
                        int64_t at, int64_t n, float *wide)
{
    tfd_narrow_widen(t, (const uint16_t *)limit + (step ? at : 0), wide,
                     step ? n : 1);
}

static void clip_narrow(enum tfd_dtype dtype, const struct clip *c,
                        int64_t begin, int64_t end)
{
    float t[TFD_NARROW_BLOCK], low[TFD_NARROW_BLOCK], high[TFD_NARROW_BLOCK];
    const struct clip block = {t, low, high, t, c->low_step, c->high_step};

    for (int64_t at = begin, n; at < end; at += n) {
        n = end - at < TFD_NARROW_BLOCK ? end - at : TFD_NARROW_BLOCK;
        tfd_narrow_widen(dtype, (const uint16_t *)c->t + at, t, n);
        widen_limit(dtype, c->low, c->low_step, at, n, low);
        widen_limit(dtype, c->high, c->high_step, at, n, high);
        loop_FLOAT((void *)&block, 0, n);
        tfd_narrow_round(dtype, t, (uint16_t *)c->y + at, n);
    }
}

#if defined(__x86_64__)

/* n elements from i, of at most 8, between `low` and `high` where those are one
 * for all. */
TFD_LANES_INLINE void clip_some(enum tfd_dtype dtype, const struct clip *c,
                                int64_t i, int64_t n, __m256 low, __m256 high)
{
    __m256 t = tfd_lanes_load(dtype, (const uint16_t *)c->t + i, n);

    if (c->low_step)
        low = tfd_lanes_load(dtype, (const uint16_t *)c->low + i, n);
    if (c->high_step)
        high = tfd_lanes_load(dtype, (const uint16_t *)c->high + i, n);
    /* Of two numbers the instructions take the second where one is none, and 0
     * for what is subnormal, as TensorFlow has it of two limits that go on. */
    if (c->low_step && c->high_step) {
        t = _mm256_max_ps(low, _mm256_min_ps(high, t));
    } else {
        t = _mm256_mask_mov_ps(t, _mm256_cmp_ps_mask(high, t, _CMP_LT_OQ),
                               high);
        t = _mm256_mask_mov_ps(t, _mm256_cmp_ps_mask(low, t, _CMP_GT_OQ), low);
    }
    tfd_lanes_store(dtype, (uint16_t *)c->y + i, t, n);
}

/* With steps that are constants. */
TFD_LANES_INLINE void run_lanes(enum tfd_dtype dtype, struct clip c,
                                int64_t begin, int64_t end)
{
    const __m256 low = tfd_lanes_all(dtype, c.low);
    const __m256 high = tfd_lanes_all(dtype, c.high);
    int64_t i = begin;

    for (; end - i >= TFD_LANES; i += TFD_LANES)
        clip_some(dtype, &c, i, TFD_LANES, low, high);
    if (i < end)
        clip_some(dtype, &c, i, end - i, low, high);
}

TFD_LANES_INLINE void run_steps(enum tfd_dtype dtype, const struct clip *c,
                                int64_t begin, int64_t end)
{
    struct clip steps = {c->t, c->low, c->high, c->y, 0, 0};

    if (!c->low_step && !c->high_step) {
        run_lanes(dtype, steps, begin, end);
        return;
    }
    steps.low_step = c->low_step;
    steps.high_step = c->high_step;
    run_lanes(dtype, steps, begin, end);
}

TFD_LANES_TARGET static void clip_lanes(enum tfd_dtype dtype,
                                        const struct clip *c, int64_t begin,
                                        int64_t end)
{
    if (dtype == TFD_HALF)
        run_steps(TFD_HALF, c, begin, end);
    else
        run_steps(TFD_BFLOAT16, c, begin, end);
}

#else

#define clip_lanes clip_narrow

#endif

#define CLIPPED_NARROW(X) \
    X(HALF, , )           \
    X(BFLOAT16, , )
#define CLIP_NARROW(name, T, wide)                                 \
    static void loop_##name(void *arg, int64_t begin, int64_t end) \
    {                                                              \
        if (tfd_simd_has_avx512())                                 \
            clip_lanes(TFD_##name, arg, begin, end);               \
        else                                                       \
            clip_narrow(TFD_##name, arg, begin, end);              \
    }
CLIPPED_NARROW(CLIP_NARROW)

/* ---- Running them -------------------------------------------------------- */

static enum tfd_code check_limits(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    char text[3][TFD_SHAPE_TEXT_MAX];
    bool fit = true;

    for (int i = 1; i < 3; i++)
        fit &= k->in[i].shape.rank == 0 ||
               tfd_shape_equal(&k->in[i].shape, &k->in[0].shape);
    if (fit)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "clip_value_min and clip_value_max must be either of the "
                    "same shape as input, or a scalar. input shape: "
                    "%sclip_value_min shape: %sclip_value_max shape: %s",
                    tfd_shape_text(&k->in[0].shape, text[0]),
                    tfd_shape_text(&k->in[1].shape, text[1]),
                    tfd_shape_text(&k->in[2].shape, text[2]));
}

static enum tfd_code clip_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->in[0].dtype;
    const int64_t n = tfd_tensor_elements(&k->in[0]);
    struct clip c = {.low_step = k->in[1].shape.rank != 0,
                     .high_step = k->in[2].shape.rank != 0};

    TFD_TRY(check_limits(k, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, dtype, &k->in[0].shape, st));
    if (!n)
        return TFD_OK;
    c.t = tfd_tensor_data(&k->in[0]);
    c.low = tfd_tensor_data(&k->in[1]);
    c.high = tfd_tensor_data(&k->in[2]);
    c.y = tfd_tensor_data(&k->out[0]);
    tfd_elementwise_streams(k, dtype, 2 + c.low_step + c.high_step, n,
                            k->kernel->range, &c);
    return TFD_OK;
}

/* What was clipped has no part in the result; its limit has. */
static enum tfd_code clip_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zeros = tfd_gradient_op1(&b, "ZerosLike", g->dy[0]);
    struct tfd_edge low = tfd_gradient_op2(&b, "Less", g->x[0], g->x[1]);
    struct tfd_edge high = tfd_gradient_op2(&b, "Greater", g->x[0], g->x[2]);
    struct tfd_edge out = tfd_gradient_op2(&b, "LogicalOr", low, high);
    struct tfd_edge none = TFD_EDGE_NONE;

    g->dx[0] = tfd_gradient_op3(&b, "Select", out, zeros, g->dy[0]);
    g->dx[1] = tfd_gradient_op3(&b, "Select", low, g->dy[0], zeros);
    g->dx[2] = tfd_gradient_op3(&b, "Select", high, g->dy[0], zeros);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &none, &g->dx[1]);
    tfd_gradient_reduce(&b, g->x[0], g->x[2], &none, &g->dx[2]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ClipByValue",
        .inputs = "t: T, clip_value_min: T, clip_value_max: T",
        .outputs = "output: T",
        .attrs = "T: numbertype",
        .shape = tfd_shape_like_first,
        .grad = clip_gradient,
    },
};

#define KERNEL(name, T, other) \
    TFD_KERNEL("ClipByValue", name, clip_cpu, loop_##name),

static const struct tfd_kernel kernels[] = {
    CLIPPED(KERNEL) CLIPPED_NARROW(KERNEL) CLIPPED_COMPLEX(KERNEL)};

const struct tfd_family tfd_family_clip = {
    .name = "clip",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
