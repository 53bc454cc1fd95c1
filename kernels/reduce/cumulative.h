/*
 * cumulative.h - reads the attributes and the axis of Cumsum and Cumprod, for
 * the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CUMULATIVE_H
#define TFD_KERNELS_CUMULATIVE_H

#include "kernels/core/kernel.h"

/* The state. */
struct tfd_cumulative {
    bool exclusive, reverse;
};
enum tfd_code tfd_cumulative_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st);

/* Input 0 as [outer][length][inner], by the axis in input 1. */
struct tfd_cumulative_lines {
    int64_t outer, length, inner;
};
enum tfd_code tfd_cumulative_lines(const struct tfd_kctx *k,
                                   struct tfd_cumulative_lines *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
