/*
 * batch_matmul_grad.h - gradients of the operations of batch_matmul.c.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_BATCH_MATMUL_GRAD_H
#define TFD_KERNELS_BATCH_MATMUL_GRAD_H

#include "kernels/core/gradient.h"

/* BatchMatMul: by products of the same kind. */
enum tfd_code tfd_batch_matmul_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
/* BatchMatMulV2, V3: by BatchMatMulV2; what was broadcast is summed back. */
enum tfd_code tfd_batch_matmul_broadcast_gradient(struct tfd_grad *g,
                                                  struct tfd_status *st);
/* For two inputs that are matrices whose dimensions in front are broadcast:
 * sums dx[0] and dx[1] back to the shapes of the inputs. */
void tfd_batch_matmul_sum_back(struct tfd_gradient *b, struct tfd_edge *dx);

#endif
