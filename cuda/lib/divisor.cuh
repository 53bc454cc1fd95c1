/*
 * divisor.cuh - quotients by a number that a whole grid divides by.
 *
 * A card has no instruction for it: 64 bits by 64 are some 80 instructions, and
 * the coordinates of one element are several quotients.  Below 2^31 this is a
 * multiplication and a shift (Granlund and Montgomery, Division by Invariant
 * Integers using Multiplication, 1994):
 *
 *     shift = ceil(log2(by))
 *     multiplier = 2^32 * (2^shift - by) / by + 1
 *     n / by = (n * multiplier / 2^32 + n) / 2^shift
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_DIVISOR_CUH
#define TFD_CUDA_DIVISOR_CUH

#include "cuda/lib/launch.cuh"

struct divisor {
    int64_t by;
    uint32_t multiplier, shift;
};

/* 0 is none, but may be made: of an empty tensor. */
static inline struct divisor divisor_of(int64_t by)
{
    struct divisor d = {by, 0, 31}; /* all below a larger one is 0 */
    uint32_t shift = 0;

    if (by > INT32_MAX || by <= 0)
        return d;
    while (((int64_t)1 << shift) < by)
        shift++;
    d.shift = shift;
    d.multiplier =
        (uint32_t)(((uint64_t)1 << 32) *
                       (((uint64_t)1 << shift) - (uint64_t)by) / (uint64_t)by +
                   1);
    return d;
}

/* n >= 0 */
__device__ inline int64_t divide(const struct divisor *d, int64_t n)
{
    uint32_t u = (uint32_t)n;

    if (n > INT32_MAX)
        return n / d->by;
    return ((uint32_t)((uint64_t)u * d->multiplier >> 32) + u) >> d->shift;
}

/* The quotient stays in *n. */
__device__ inline int64_t take_rest(const struct divisor *d, int64_t *n)
{
    int64_t q = divide(d, *n), rest = *n - q * d->by;

    *n = q;
    return rest;
}

#endif
