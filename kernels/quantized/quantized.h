/*
 * quantized.h - what ops on quantised numbers share: how integers stand for
 * floats of a range, and how floats become integers.
 *
 * An integer of type T between `lowest` and `highest` stands for a float
 * between `low` and `high`; both ends are taken.  Formulas, and which of them
 * are computed in double, are TensorFlow's, so that results are the same bits.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_QUANTIZED_H
#define TFD_KERNELS_QUANTIZED_H

#include "kernels/core/kernel.h"

#include <math.h>

/* As TensorFlow compares: of a NaN and a number whichever stands first. */
static inline float tfd_quantized_min(float a, float b)
{
    return b < a ? b : a;
}

static inline float tfd_quantized_max(float a, float b)
{
    return a < b ? b : a;
}

/* Halves go away from 0; the number just below a half stays below. */
static inline float tfd_quantized_round(float x)
{
    return truncf(x + copysignf(0.49999997f, x));
}

/* What the processor makes of what no int32 can hold, NaN included. */
static inline int32_t tfd_quantized_int32(float x)
{
    const int fits = (x >= -2147483648.0f) & (x < 2147483648.0f);

    return (int32_t)(fits ? x : -2147483648.0f); /* no branch: vectors */
}

static inline int64_t tfd_quantized_int64(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x
                                                                    : INT64_MIN;
}

struct tfd_quantized_limits {
    int64_t lowest, highest;
};

/* Of a quantised type. */
struct tfd_quantized_limits tfd_quantized_limits(enum tfd_dtype t);

/* Floats to integers: round(x * scale) - offset, between floor and ceiling. */
struct tfd_quantized_to_int {
    float scale, offset, floor, ceiling;
};
struct tfd_quantized_to_int tfd_quantized_to_int(enum tfd_dtype t, float low,
                                                 float high);

static inline int32_t tfd_quantized_of(const struct tfd_quantized_to_int *q,
                                       float x)
{
    const float v = tfd_quantized_round(x * q->scale) - q->offset;

    return tfd_quantized_int32(
        tfd_quantized_min(tfd_quantized_max(v, q->floor), q->ceiling));
}

/* Integers to floats: offset + x * scale. */
struct tfd_quantized_to_float {
    float scale, offset;
};
struct tfd_quantized_to_float tfd_quantized_to_float(enum tfd_dtype t,
                                                     float low, float high);

/* One integer, in double. */
float tfd_quantized_float_of(enum tfd_dtype t, int64_t x, float low,
                             float high);
/* One float, in double, unclamped. */
int64_t tfd_quantized_int_of(enum tfd_dtype t, float x, float low, float high);

/* A tensor as [outer, channels, inner]; one channel where axis is -1. */
struct tfd_quantized_view {
    int64_t outer, channels, inner;
};
struct tfd_quantized_view tfd_quantized_view(const struct tfd_shape *s,
                                             int64_t axis);

/* The first element of a float input. */
static inline float tfd_quantized_scalar(const struct tfd_kctx *k, int in)
{
    return *(const float *)tfd_tensor_data(&k->in[in]);
}

/* Output `out` as a scalar of this value. */
enum tfd_code tfd_quantized_give(struct tfd_kctx *k, int out, float value,
                                 struct tfd_status *st) TFD_MUST_USE;
/* INVALID_ARGUMENT where input `in`, called `name`, is no scalar. */
enum tfd_code tfd_quantized_check_one(const struct tfd_kctx *k, int in,
                                      const char *name,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Fails where the node's type attribute is not this one, as for a kernel that
 * is missing. */
enum tfd_code tfd_quantized_check_type(const struct tfd_prepare *p,
                                       const char *attr, enum tfd_dtype dtype,
                                       struct tfd_status *st) TFD_MUST_USE;

/* Output 0 like the first input, all others scalars. */
enum tfd_code tfd_quantized_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st);

#endif
