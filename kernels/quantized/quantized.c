/*
 * quantized.c - ranges of quantised numbers.
 */
#include "kernels/quantized/quantized.h"

struct tfd_quantized_limits tfd_quantized_limits(enum tfd_dtype t)
{
    const int bits = 8 * (int)tfd_dtype_size(t);
    const int64_t steps = INT64_C(1) << bits;

    if (t == TFD_QUINT8 || t == TFD_QUINT16)
        return (struct tfd_quantized_limits){0, steps - 1};
    return (struct tfd_quantized_limits){-steps / 2, steps / 2 - 1};
}

/* How many integers there are, without one. */
static double steps_of(enum tfd_dtype t)
{
    const struct tfd_quantized_limits l = tfd_quantized_limits(t);

    return (double)(l.highest - l.lowest);
}

struct tfd_quantized_to_int tfd_quantized_to_int(enum tfd_dtype t, float low,
                                                 float high)
{
    const struct tfd_quantized_limits l = tfd_quantized_limits(t);
    struct tfd_quantized_to_int q = {.floor = (float)l.lowest};

    /* A float that an int32 holds. */
    q.ceiling = tfd_quantized_min((float)l.highest, 2147483520.0f);
    if (high != low)
        q.scale = (float)(steps_of(t) / (double)(high - low));
    q.offset = roundf(low * q.scale) - (float)l.lowest;
    return q;
}

struct tfd_quantized_to_float tfd_quantized_to_float(enum tfd_dtype t,
                                                     float low, float high)
{
    const float scale = (float)((double)(high - low) / steps_of(t));
    const float rounded = high == low ? low : roundf(low / scale) * scale;

    return (struct tfd_quantized_to_float){
        .scale = scale,
        .offset = rounded - (float)tfd_quantized_limits(t).lowest * scale,
    };
}

/* The range, widened by a step. */
static double wide_range(enum tfd_dtype t, float low, float high)
{
    const double steps = steps_of(t) + 1;

    return (double)(high - low) * (steps / (steps - 1.0));
}

float tfd_quantized_float_of(enum tfd_dtype t, int64_t x, float low, float high)
{
    const double scale = wide_range(t, low, high) / (steps_of(t) + 1);
    /* By way of a float, as TensorFlow's integers go. */
    const double offset =
        (double)(float)x - (double)tfd_quantized_limits(t).lowest;

    if (low == high)
        return low;
    return (float)((double)(roundf(low / (float)scale) * (float)scale) +
                   offset * scale);
}

int64_t tfd_quantized_int_of(enum tfd_dtype t, float x, float low, float high)
{
    const int64_t lowest = tfd_quantized_limits(t).lowest;
    const double scale = (steps_of(t) + 1) / wide_range(t, low, high);

    if (low == high)
        return lowest;
    return (int64_t)((uint64_t)tfd_quantized_int64(round((double)x * scale) -
                                                   round((double)low * scale)) +
                     (uint64_t)lowest);
}

struct tfd_quantized_view tfd_quantized_view(const struct tfd_shape *s,
                                             int64_t axis)
{
    struct tfd_quantized_view v = {1, 1, 1};

    for (int i = 0; i < s->rank; i++)
        *(i < axis    ? &v.outer
          : i == axis ? &v.channels
                      : &v.inner) *= s->dim[i];
    return v;
}

enum tfd_code tfd_quantized_give(struct tfd_kctx *k, int out, float value,
                                 struct tfd_status *st)
{
    TFD_TRY(
        tfd_kctx_output(k, out, TFD_FLOAT, &(struct tfd_shape){.rank = 0}, st));
    *(float *)k->out[out].buffer->data = value;
    return TFD_OK;
}

enum tfd_code tfd_quantized_check_one(const struct tfd_kctx *k, int in,
                                      const char *name, struct tfd_status *st)
{
    if (k->in[in].shape.rank == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "`%s` must be rank 0 but is rank %d", name,
                    k->in[in].shape.rank);
}

enum tfd_code tfd_quantized_check_type(const struct tfd_prepare *p,
                                       const char *attr, enum tfd_dtype dtype,
                                       struct tfd_status *st)
{
    enum tfd_dtype found;

    TFD_TRY(tfd_node_type(p->node, attr, &found, st));
    if (found == dtype)
        return TFD_OK;
    return tfd_fail(
        st, TFD_NOT_FOUND, "No registered '" TFD_STR_FMT "' kernel for %s=%s",
        TFD_STR_ARG(p->node->op->name), attr, tfd_dtype_name(found));
}

enum tfd_code tfd_quantized_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[0];
    for (int i = 1; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){.rank = 0};
    return TFD_OK;
}
