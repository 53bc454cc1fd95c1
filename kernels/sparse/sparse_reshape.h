/*
 * sparse_reshape.h - what SparseReshape of a CPU and of a GPU have in common:
 * the dimensions and the outputs.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPARSE_RESHAPE_H
#define TFD_KERNELS_SPARSE_RESHAPE_H

#include "kernels/core/kernel.h"

struct tfd_sparse_dims {
    int rank;
    int64_t dim[TFD_RANK_MAX];
};

/* Makes both outputs of a node and fills the second, the dimensions.  *same:
 * they are the input's, and the first is the input.  INVALID_ARGUMENT for
 * shapes that do not fit together. */
enum tfd_code tfd_sparse_reshape_outputs(struct tfd_kctx *k,
                                         struct tfd_sparse_dims *from,
                                         struct tfd_sparse_dims *to, bool *same,
                                         struct tfd_status *st) TFD_MUST_USE;

/* Elements that a step along each dimension goes over. */
void tfd_sparse_reshape_strides(const struct tfd_sparse_dims *d,
                                int64_t *stride);

#endif
