/*
 * batch_matmul_grad.h - gradients of the operations of batch_matmul.c.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_BATCH_MATMUL_GRAD_H
#define TFD_KERNELS_BATCH_MATMUL_GRAD_H

#include "kernels/core/kernel.h"

/* BatchMatMul: by products of the same kind. */
enum tfd_code tfd_batch_matmul_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
/* BatchMatMulV2, V3: by BatchMatMulV2; what was broadcast is summed back. */
enum tfd_code tfd_batch_matmul_broadcast_gradient(struct tfd_grad *g,
                                                  struct tfd_status *st);

#endif
