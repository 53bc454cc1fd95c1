/*
 * reduce_ints.h - how int32 and int64 are folded (reduce_ints.c), as rows of
 * the table of reduce.c.
 *
 * Threads: read-only.
 */
#ifndef TFD_KERNELS_REDUCE_INTS_H
#define TFD_KERNELS_REDUCE_INTS_H

#include "kernels/reduce/reduce.h"

#define TFD_REDUCE_INTS(name)                               \
    extern const struct tfd_reducer tfd_reduce_sum_##name;  \
    extern const struct tfd_reducer tfd_reduce_mean_##name; \
    extern const struct tfd_reducer tfd_reduce_prod_##name; \
    extern const struct tfd_reducer tfd_reduce_max_##name;  \
    extern const struct tfd_reducer tfd_reduce_min_##name;

TFD_REDUCE_INTS(INT32)
TFD_REDUCE_INTS(INT64)

#endif
