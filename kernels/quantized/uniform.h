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

/* A sum of products as an integer of the output: the ratio is of the scales. */
static inline int32_t tfd_uniform_sum(int32_t sum, struct tfd_uniform_ratio r,
                                      int32_t zero, int32_t low, int32_t high)
{
    const int32_t v =
        (int32_t)((uint32_t)tfd_uniform_times(sum, r) + (uint32_t)zero);
    const int32_t least = v < high ? v : high;

    return least > low ? least : low;
}

/* Of an op with scales lhs, rhs, output in inputs 2, 4, 6: lhs * rhs / output
 * for each scale of rhs. */
enum tfd_code tfd_uniform_ratios(const struct tfd_kctx *k,
                                 struct tfd_uniform_ratio *out,
                                 struct tfd_status *st) TFD_MUST_USE;

/* How floats of a range become integers between -128 and 127. */
struct tfd_uniform_row {
    float scale, inverse;
    int32_t zero;
};

/* Widens a range, at first 0 to 0, by n numbers. */
void tfd_uniform_widen(const float *x, int64_t n, double *low, double *high);
struct tfd_uniform_row tfd_uniform_row(double low, double high);

/* Without the zero. */
static inline int32_t tfd_uniform_row_integer(const struct tfd_uniform_row *r,
                                              float x)
{
    const int32_t v =
        (int32_t)((uint32_t)tfd_quantized_int32(floorf(x * r->inverse + 0.5f)) +
                  (uint32_t)r->zero);
    const int32_t least = v < 127 ? v : 127;

    return (least > -128 ? least : -128) - r->zero;
}

/* Scales and zero points, inputs `at` and `at` + 1, fit the axis of a tensor of
 * shape x. */
enum tfd_code tfd_uniform_check_scales(const struct tfd_kctx *k,
                                       const struct tfd_shape *x, int at,
                                       int64_t axis,
                                       struct tfd_status *st) TFD_MUST_USE;

/* Of floats. */
bool tfd_uniform_positive(const struct tfd_tensor *t);
/* Those of input `at`, called `name`. */
enum tfd_code tfd_uniform_check_positive(const struct tfd_kctx *k, int at,
                                         const char *name,
                                         struct tfd_status *st) TFD_MUST_USE;

/* An attribute that is an int32. */
enum tfd_code tfd_uniform_int32(const struct tfd_prepare *p, const char *name,
                                int32_t *out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
