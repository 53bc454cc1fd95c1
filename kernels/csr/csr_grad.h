/*
 * csr_grad.h - gradients of products of CSR matrices.
 *
 * The gradient of a matrix has an element where the matrix has one, and no
 * others.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_CSR_GRAD_H
#define TFD_KERNELS_CSR_GRAD_H

#include "kernels/core/kernel.h"

/* Not where the rank of the dense matrix is unknown, as in TensorFlow. */
enum tfd_code tfd_csr_matmul_gradient(struct tfd_grad *g,
                                      struct tfd_status *st);
enum tfd_code tfd_csr_product_gradient(struct tfd_grad *g,
                                       struct tfd_status *st);

#endif
