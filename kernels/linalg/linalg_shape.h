/*
 * linalg_shape.h - shape functions of ops on matrices, which are the last two
 * dimensions of tensors.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LINALG_SHAPE_H
#define TFD_KERNELS_LINALG_SHAPE_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_linalg_shape_square(struct tfd_shape_ctx *s,
                                      struct tfd_status *st);
enum tfd_code tfd_linalg_shape_batch(struct tfd_shape_ctx *s,
                                     struct tfd_status *st);
enum tfd_code tfd_linalg_shape_solve(struct tfd_shape_ctx *s,
                                     struct tfd_status *st);
enum tfd_code tfd_linalg_shape_triangular(struct tfd_shape_ctx *s,
                                          struct tfd_status *st);
enum tfd_code tfd_linalg_shape_qr(struct tfd_shape_ctx *s,
                                  struct tfd_status *st);
enum tfd_code tfd_linalg_shape_eigen(struct tfd_shape_ctx *s,
                                     struct tfd_status *st);
enum tfd_code tfd_linalg_shape_svd(struct tfd_shape_ctx *s,
                                   struct tfd_status *st);

#endif
