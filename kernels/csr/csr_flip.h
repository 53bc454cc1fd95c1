/*
 * csr_flip.h - transposed sparse matrices, for the op and for products.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_CSR_FLIP_H
#define TFD_KERNELS_CSR_FLIP_H

#include "kernels/csr/csr_matrix.h"

/* *out is to be dropped in any case. */
enum tfd_code tfd_csr_flip(const struct tfd_csr *m, bool conjugate,
                           struct tfd_csr_parts *out,
                           struct tfd_status *st) TFD_MUST_USE;
/* The matrix that these parts are, which keep what it points to. */
struct tfd_csr tfd_csr_of_parts(const struct tfd_csr_parts *p);

#endif
