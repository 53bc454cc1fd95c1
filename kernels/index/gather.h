/*
 * gather.h - checks the inputs of GatherV2, GatherNd and their kin, but for the
 * values of indices, and makes their outputs, for the kernels of all devices.
 *
 * Errors: INVALID_ARGUMENT in TensorFlow's words.  Threads: any.
 */
#ifndef TFD_KERNELS_GATHER_H
#define TFD_KERNELS_GATHER_H

#include "kernels/core/kernel.h"
#include "kernels/index/scatter.h"

/* From [batch][outer][dim][inner] to [batch][outer][count][inner]. */
struct tfd_gather {
    int64_t batch, outer, dim, inner;
    int64_t count; /* indices of each batch */
    struct tfd_shape out;
};

/* The state of GatherV2 and ResourceGather. */
struct tfd_gather_state {
    int64_t batch_dims;
};
enum tfd_code tfd_gather_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st);

/* Of GatherV2: input 0 by input 1 along input 2. */
enum tfd_code tfd_gather_make(const struct tfd_kctx *k, struct tfd_gather *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* Of ResourceGather: a variable's value of shape x by input 1. */
enum tfd_code tfd_gather_make_rows(const struct tfd_kctx *k,
                                   const struct tfd_shape *x,
                                   struct tfd_gather *out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Of GatherNd and ResourceGatherNd, x by input 1: how, and output 0. */
enum tfd_code tfd_gather_nd_make(struct tfd_kctx *k, const struct tfd_tensor *x,
                                 struct tfd_scatter_nd *out,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
