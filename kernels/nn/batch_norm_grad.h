/*
 * batch_norm_grad.h - second derivatives of batch normalisation: the gradients
 * of FusedBatchNormGrad, V2 and V3.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_BATCH_NORM_GRAD_H
#define TFD_KERNELS_BATCH_NORM_GRAD_H

#include "kernels/core/kernel.h"

/* By the gradient of y, by x and by scale. */
enum tfd_code tfd_batch_norm_second(struct tfd_grad *g, struct tfd_status *st);

#endif
