/*
 * batch_rows.h - tensors of several steps joined along their first dimension.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_BATCH_ROWS_H
#define TFD_KERNELS_BATCH_ROWS_H

#include "kernels/core/kernel.h"

/* Of count parts, one for each step: output `out` of k, with as many rows as
 * `rows`, which the parts have at most; the first row fills up.
 * INVALID_ARGUMENT where parts do not fit each other. */
enum tfd_code tfd_batch_join(struct tfd_kctx *k, int out,
                             const struct tfd_tensor *const *part,
                             int64_t count, int64_t rows,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
