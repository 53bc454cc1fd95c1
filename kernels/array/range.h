/*
 * range.h - checks the arguments of Range, makes its output and says how each
 * value is computed, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RANGE_H
#define TFD_KERNELS_RANGE_H

#include "kernels/core/kernel.h"

/* Value i is start + i * delta: of integers, or of floats, which doubles
 * hold. */
struct tfd_range {
    int64_t int_start, int_delta;
    double float_start, float_delta;
};

/* Checks the arguments, which lie in host memory, and makes the output. */
enum tfd_code tfd_range_begin(struct tfd_kctx *k, struct tfd_range *r,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
