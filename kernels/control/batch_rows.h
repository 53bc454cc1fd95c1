/*
 * batch_rows.h - tensors of several steps joined along their first dimension,
 * and cut into the rows of each again.
 *
 * Types are those that TensorFlow batches: all but quantised ones.  Results are
 * in the host's memory.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_BATCH_ROWS_H
#define TFD_KERNELS_BATCH_ROWS_H

#include "kernels/core/kernel.h"

/* Rows [first, first + count) of a tensor, which has them. */
struct tfd_batch_rows {
    const struct tfd_tensor *tensor;
    int64_t first, count;
};

/* Of count parts, one at least, a tensor with as many rows as `rows`, which the
 * parts have at most; the first row fills up.  INVALID_ARGUMENT where parts do
 * not fit each other. */
enum tfd_code tfd_batch_join(struct tfd_tensor *out,
                             const struct tfd_batch_rows *part, int64_t count,
                             int64_t rows, struct tfd_status *st) TFD_MUST_USE;

/* Those rows by themselves.  Shows the tensor's own memory where that is
 * aligned, and not much larger. */
enum tfd_code tfd_batch_cut(struct tfd_tensor *out,
                            const struct tfd_batch_rows *rows,
                            struct tfd_status *st) TFD_MUST_USE;

#endif
