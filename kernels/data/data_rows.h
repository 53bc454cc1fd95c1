/*
 * data_rows.h - takes row i of a tensor as an element (what slices of tensors
 * yield), and stacks elements to a tensor of one dimension more (batches).
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_DATA_ROWS_H
#define TFD_KERNELS_DATA_DATA_ROWS_H

#include "kernels/core/kernel.h"

/* Row `row` of t, whose rank is at least 1; it exists. */
enum tfd_code tfd_data_row(const struct tfd_tensor *t, int64_t row,
                           struct tfd_tensor *out,
                           struct tfd_status *st) TFD_MUST_USE;

/* `rows` elements of `count` tensors each, one after the other, become one
 * element: tensors of one dimension more.  INVALID_ARGUMENT in TensorFlow's
 * words where shapes differ. */
enum tfd_code tfd_data_batch(const struct tfd_tensor *elements, int64_t rows,
                             int32_t count, struct tfd_tensor *out,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
