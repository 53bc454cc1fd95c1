/*
 * reduce_floats.h - how float and double are folded (reduce_floats.c), as rows
 * of the table of reduce.c.
 *
 * Threads: read-only.
 */
#ifndef TFD_KERNELS_REDUCE_FLOATS_H
#define TFD_KERNELS_REDUCE_FLOATS_H

#include "kernels/reduce/reduce.h"

#define TFD_REDUCE_FLOATS(name, number, T)                  \
    extern const struct tfd_reducer tfd_reduce_sum_##name;  \
    extern const struct tfd_reducer tfd_reduce_mean_##name; \
    extern const struct tfd_reducer tfd_reduce_prod_##name; \
    extern const struct tfd_reducer tfd_reduce_loss_##name; \
    extern const struct tfd_reducer tfd_reduce_max_##name;  \
    extern const struct tfd_reducer tfd_reduce_min_##name;

TFD_FLOAT_DTYPES(TFD_REDUCE_FLOATS)

/* Loops of reducers that sum up bfloat16 in doubles, as those of floats:
 * `sums` and `means` are loops over rows. */
void tfd_reduce_bfloat16_run(void *arg, int64_t begin, int64_t end);
void tfd_reduce_bfloat16_columns(void *arg, int64_t begin, int64_t end);
void tfd_reduce_bfloat16_sums(void *arg, int64_t begin, int64_t end);
void tfd_reduce_bfloat16_means(void *arg, int64_t begin, int64_t end);

#endif
