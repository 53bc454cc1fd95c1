/*
 * dequantize.c - Dequantize: integers as floats of a range, in the modes of
 * quantize.c; the range is one for all or one for each index along an axis.
 * bfloat16 is rounded from float.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/quantized/quantized.h"

#include "common/base/alloc.h"
#include "common/base/half.h"
#include "common/base/str.h"

enum mode { MIN_COMBINED, MIN_FIRST, SCALED };

struct state {
    enum mode mode;
    int64_t axis;
    bool narrow;
    enum tfd_dtype dtype;
};

/* (x + half) * scale + offset */
struct scaling {
    float half, scale, offset;
};

struct job {
    const void *x;
    void *y;
    struct scaling *scaling;
    struct tfd_quantized_view view;
    bool narrows, wraps;
};

static struct scaling make_scaling(const struct state *s, enum tfd_dtype t,
                                   float low, float high)
{
    const struct tfd_quantized_limits l = tfd_quantized_limits(t);
    const float most = (float)l.highest, least = (float)l.lowest;
    struct tfd_quantized_to_float q;
    struct scaling c = {0};

    if (s->mode == MIN_FIRST) {
        q = tfd_quantized_to_float(t, low, high);
        return (struct scaling){0, q.scale, q.offset};
    }
    if (s->mode == SCALED) {
        c.scale = high / most;
        if (l.lowest)
            c.scale =
                tfd_quantized_max(low / (float)(l.lowest + s->narrow), c.scale);
        /* So that -0 stays what it is. */
        c.offset = -0.0f;
        return c;
    }
    c.half = l.lowest ? (most - least + 1) / 2.0f : 0;
    c.scale = (high - low) / (most - least);
    c.offset = low;
    return c;
}

/* In SCALED with one range a number goes to an int32 on its way, which the
 * highest, as a float, does not fit. */
static inline float as_float(float x, bool wraps)
{
    return wraps && x >= 2147483648.0f ? -x : x;
}

#define LOOP(name, number, T)                                                  \
    static void run_##name(void *arg, int64_t begin, int64_t end)              \
    {                                                                          \
        const struct job *j = arg;                                             \
        const T *x = j->x;                                                     \
        float *y = j->y;                                                       \
        tfd_bfloat16 *narrow = j->y;                                           \
                                                                               \
        for (int64_t i = begin; i < end;) {                                    \
            const int64_t row = i / j->view.inner;                             \
            const int64_t rest = (row + 1) * j->view.inner;                    \
            const int64_t stop = rest < end ? rest : end;                      \
            const struct scaling c = j->scaling[row % j->view.channels];       \
                                                                               \
            if (j->narrows)                                                    \
                for (; i < stop; i++)                                          \
                    narrow[i] = tfd_bfloat16_from_float(                       \
                        (as_float((float)x[i], j->wraps) + c.half) * c.scale + \
                        c.offset);                                             \
            else                                                               \
                for (; i < stop; i++)                                          \
                    y[i] =                                                     \
                        (as_float((float)x[i], j->wraps) + c.half) * c.scale + \
                        c.offset;                                              \
        }                                                                      \
    }
TFD_QUANT_DTYPES(LOOP)

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code check_range_count(const struct tfd_kctx *k, int in,
                                       const char *name, int64_t channels,
                                       struct tfd_status *st)
{
    const struct state *s = k->state;
    const int64_t n = tfd_tensor_elements(&k->in[in]);

    return n == channels
               ? TFD_OK
               : tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "%s must have as many elements as input on the "
                          "dequantization axis (%lld), got %lld, expected %lld",
                          name, (long long)s->axis, (long long)n,
                          (long long)channels);
}

static enum tfd_code check(const struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    const int64_t channels =
        s->axis > -1 && s->axis < x->rank ? x->dim[s->axis] : 1;

    if (s->axis >= x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Axis must be less than input dimension(%d), got %lld",
                        x->rank, (long long)s->axis);
    TFD_TRY(check_range_count(k, 1, "input_min_tensor", channels, st));
    TFD_TRY(check_range_count(k, 2, "input_max_tensor", channels, st));
    if (channels == 1 || s->mode != MIN_FIRST)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "MIN_FIRST mode is not implemented for Dequantize with "
                    "axis != -1.");
}

static enum tfd_code dequantize(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    const float *low = tfd_tensor_data(&k->in[1]);
    const float *high = tfd_tensor_data(&k->in[2]);
    struct job j = {.narrows = s->dtype == TFD_BFLOAT16};
    struct tfd_buffer *scaling;

    TFD_TRY(check(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, s->dtype, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    j.view = tfd_quantized_view(&k->in[0].shape, s->axis);
    scaling = tfd_buffer_new((size_t)j.view.channels * sizeof(*j.scaling));
    if (!scaling)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the ranges of %lld channels",
                        (long long)j.view.channels);
    j.wraps = s->mode == SCALED && j.view.channels == 1;
    j.scaling = scaling->data;
    for (int64_t c = 0; c < j.view.channels; c++)
        j.scaling[c] = make_scaling(s, k->in[0].dtype, low[c], high[c]);
    j.x = k->in[0].buffer->data;
    j.y = k->out[0].buffer->data;
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), 1, k->kernel->range,
                      &j);
    tfd_buffer_unref(scaling);
    return TFD_OK;
}

static enum tfd_code prepare_dequantize(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st)
{
    struct state *s = state;
    struct tfd_str mode;

    TFD_TRY(tfd_node_str(p->node, "mode", &mode, st));
    TFD_TRY(tfd_node_int(p->node, "axis", &s->axis, st));
    TFD_TRY(tfd_node_bool(p->node, "narrow_range", &s->narrow, st));
    TFD_TRY(tfd_node_type(p->node, "dtype", &s->dtype, st));
    s->mode = tfd_str_is(mode, "SCALED")      ? SCALED
              : tfd_str_is(mode, "MIN_FIRST") ? MIN_FIRST
                                              : MIN_COMBINED;
    if (s->dtype == TFD_BFLOAT16 && s->mode != MIN_COMBINED)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "When output type is bfloat16, Mode string must be "
                        "'MIN_COMBINED', is '" TFD_STR_FMT "'",
                        TFD_STR_ARG(mode));
    if (s->axis < -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "axis should be at least -1, got %lld",
                        (long long)s->axis);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {{
    .name = "Dequantize",
    .inputs = "input: T, min_range: float, max_range: float",
    .outputs = "output: dtype",
    .attrs = "T: quantizedtype; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} "
             "= 'MIN_COMBINED'; narrow_range: bool = false; axis: int = -1; "
             "dtype: {bfloat16, float} = DT_FLOAT",
    .shape = tfd_shape_like_first,
}};

#define KERNEL(name, number, T)                            \
    TFD_KERNEL("Dequantize", name, dequantize, run_##name, \
               .prepare = prepare_dequantize,              \
               .state_size = sizeof(struct state)),
static const struct tfd_kernel kernels[] = {TFD_QUANT_DTYPES(KERNEL)};

const struct tfd_family tfd_family_dequantize = {
    .name = "dequantize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
