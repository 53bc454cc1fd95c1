/*
 * narrow.h - half and bfloat16 as floats, many at a time, for kernels that
 * compute in float and round once.
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_NARROW_H
#define TFD_KERNELS_NARROW_H

#include "common/half.h"
#include "common/tensor.h"

static inline bool tfd_dtype_is_narrow(enum tfd_dtype t)
{
    return t == TFD_HALF || t == TFD_BFLOAT16;
}

/* tfd_half_to_float() without a branch, for loops that are to be vectorised; a
 * NaN may stay a signalling one.  What is subnormal gets the exponent of the
 * smallest normal numbers, whose leading 1 is taken off again. */
static inline float tfd_narrow_half(tfd_half half)
{
    const uint32_t smallest = 113u << 23; /* 2^-14 */
    uint32_t bits = (half & 0x7fffu) << 13, exponent = half & 0x7c00u;
    uint32_t more = exponent == 0x7c00u ? 224u << 23 : 112u << 23;
    float less = exponent == 0 ? tfd_half_float_of(smallest) : 0;
    float size;

    more = exponent == 0 ? smallest : more;
    size = tfd_half_float_of(bits + more) - less;
    return tfd_half_float_of(tfd_half_float_bits(size) | (half & 0x8000u)
                                                             << 16);
}

/* t is HALF or BFLOAT16. */
void tfd_narrow_widen(enum tfd_dtype t, const void *in, float *out, int64_t n);
void tfd_narrow_round(enum tfd_dtype t, const float *in, void *out, int64_t n);

#endif
