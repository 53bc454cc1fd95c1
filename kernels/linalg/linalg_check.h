/*
 * linalg_check.h - what the ops on matrices, the two last dimensions of
 * tensors, ask of their inputs, in TensorFlow's words.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LINALG_CHECK_H
#define TFD_KERNELS_LINALG_CHECK_H

#include "kernels/core/kernel.h"

/* Inputs 0 to count - 1 have two dimensions at least, and the same ones in
 * front of the last two. */
enum tfd_code tfd_linalg_check_ranks(const struct tfd_kctx *k, int count,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Input `arg` has two dimensions at least, the last two of which are not beyond
 * TFD_LINALG_SIZE_MAX; and is square. */
enum tfd_code tfd_linalg_check_matrix(const struct tfd_kctx *k, int arg,
                                      struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_linalg_check_square(const struct tfd_kctx *k, int arg,
                                      struct tfd_status *st) TFD_MUST_USE;
/* Inputs 0 and 1: matrices, `square` or not, and right-hand sides with as many
 * rows. */
enum tfd_code tfd_linalg_check_system(const struct tfd_kctx *k, bool square,
                                      struct tfd_status *st) TFD_MUST_USE;

/* The dimensions in front, and behind them those of a matrix; -1: none. */
struct tfd_shape tfd_linalg_batch_of(const struct tfd_shape *s, int64_t rows,
                                     int64_t columns);
/* How many matrices there are. */
int64_t tfd_linalg_matrices(const struct tfd_shape *s);

#endif
