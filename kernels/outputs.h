/*
 * outputs.h - checks of inputs and shapes of outputs that the kernels of all
 * devices share; each is defined beside its op's CPU kernel.  INVALID_ARGUMENT
 * in TensorFlow's words.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_OUTPUTS_H
#define TFD_KERNELS_OUTPUTS_H

#include "kernels/kernel.h"

/* Transpose: perm as numbers in [0, rank), each once. */
enum tfd_code tfd_transpose_perm(const struct tfd_tensor *perm, int rank,
                                 int *out, struct tfd_status *st) TFD_MUST_USE;
/* Tile (tile.c). */
enum tfd_code tfd_tile_shape(const struct tfd_kctx *k, struct tfd_shape *out,
                             struct tfd_status *st) TFD_MUST_USE;
/* BroadcastTo (broadcast_ops.c). */
enum tfd_code tfd_broadcast_ops_target(const struct tfd_kctx *k,
                                       struct tfd_shape *out,
                                       struct tfd_status *st) TFD_MUST_USE;
/* ArgMax, ArgMin: the axis in [0, rank), which is not empty. */
enum tfd_code tfd_arg_axis(const struct tfd_kctx *k, int *axis,
                           struct tfd_shape *out,
                           struct tfd_status *st) TFD_MUST_USE;
/* Select (select.c): the condition's shape as one that is broadcast to that of
 * the other two inputs, which is the output's. */
enum tfd_code tfd_select_condition(const struct tfd_kctx *k,
                                   struct tfd_shape *out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* SelectV2. */
enum tfd_code tfd_select_v2_shape(const struct tfd_kctx *k,
                                  struct tfd_shape *out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* AddN: all inputs have one shape. */
enum tfd_code tfd_add_n_check(const struct tfd_kctx *k,
                              struct tfd_status *st) TFD_MUST_USE;
/* DynamicStitch: of a row, and of the output.  Reads the indices. */
enum tfd_code tfd_dynamic_stitch_shape(const struct tfd_kctx *k,
                                       struct tfd_shape *row,
                                       struct tfd_shape *out,
                                       struct tfd_status *st) TFD_MUST_USE;
/* DynamicPartition: shapes of inputs; then the outputs, with so many rows. */
enum tfd_code tfd_dynamic_partition_check(const struct tfd_kctx *k,
                                          struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dynamic_partition_outputs(struct tfd_kctx *k,
                                            const int64_t *count,
                                            struct tfd_status *st) TFD_MUST_USE;
/* Unique and its kin: the axis of items, 0 for a vector. */
enum tfd_code tfd_unique_axis(const struct tfd_kctx *k, int *axis,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
