/*
 * sparse_rows.h - checks the inputs of SparseFillEmptyRows and of its gradient,
 * for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_ROWS_H
#define TFD_KERNELS_SPARSE_ROWS_H

#include "kernels/sparse/sparse.h"

/* The sparse tensor of a SparseFillEmptyRows, which has a dimension at least.
 * Indices are not looked at. */
enum tfd_code tfd_sparse_rows_read(const struct tfd_kctx *k,
                                   struct tfd_sparse *s,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The kernel of SparseFillEmptyRowsGrad on a CPU. */
tfd_compute_fn tfd_sparse_rows_grad;
/* Makes both outputs of a SparseFillEmptyRowsGrad. */
enum tfd_code tfd_sparse_rows_grad_outputs(struct tfd_kctx *k,
                                           struct tfd_status *st) TFD_MUST_USE;

#endif
