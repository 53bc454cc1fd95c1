/*
 * uniform.h - what ops on numbers with a scale and a zero point share: ratios
 * of scales in fixed point, and checks of what stands for a tensor.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_UNIFORM_H
#define TFD_KERNELS_UNIFORM_H

#include "kernels/quantized/quantized.h"

/* The attributes of what stands for a tensor, whose names begin with `of`. */
#define TFD_UNIFORM_AXIS(of)                                               \
    of "quantization_axis: int = -1; " of "quantization_min_val: int; " of \
       "quantization_max_val: int"

/* A ratio: fixed * 2^(shift - 31). */
struct tfd_uniform_ratio {
    int32_t fixed;
    int shift;
};

/* INVALID_ARGUMENT for what is no positive finite number. */
enum tfd_code tfd_uniform_ratio(double ratio, struct tfd_uniform_ratio *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* x times the ratio, rounded, between the ends of an int32. */
static inline int32_t tfd_uniform_times(int32_t x, struct tfd_uniform_ratio r)
{
    const int right = 31 - r.shift;
    const int64_t half = INT64_C(1) << (right - 1);
    int64_t v = x * (int64_t)r.fixed;

    v = (int64_t)((uint64_t)v + (uint64_t)half) >> right;
    return (int32_t)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}

/* Scales and zero points, inputs `at` and `at` + 1, fit the axis of a tensor of
 * shape x. */
enum tfd_code tfd_uniform_check_scales(const struct tfd_kctx *k,
                                       const struct tfd_shape *x, int at,
                                       int64_t axis,
                                       struct tfd_status *st) TFD_MUST_USE;

/* Of floats. */
bool tfd_uniform_positive(const struct tfd_tensor *t);

/* An attribute that is an int32. */
enum tfd_code tfd_uniform_int32(const struct tfd_prepare *p, const char *name,
                                int32_t *out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
