/*
 * reduce_halves.h - how half and bfloat16 are summed and multiplied
 * (reduce_halves.c), and the least and largest of them found
 * (reduce_orders.c), as rows of the table of reduce.c.
 *
 * Threads: read-only.
 */
#ifndef TFD_KERNELS_REDUCE_HALVES_H
#define TFD_KERNELS_REDUCE_HALVES_H

#include "kernels/reduce/reduce.h"

#define TFD_REDUCE_HALVES(name, number, T)                  \
    extern const struct tfd_reducer tfd_reduce_sum_##name;  \
    extern const struct tfd_reducer tfd_reduce_mean_##name; \
    extern const struct tfd_reducer tfd_reduce_prod_##name; \
    extern const struct tfd_reducer tfd_reduce_loss_##name; \
    extern const struct tfd_reducer tfd_reduce_max_##name;  \
    extern const struct tfd_reducer tfd_reduce_min_##name;

TFD_HALF_DTYPES(TFD_REDUCE_HALVES)

#endif
