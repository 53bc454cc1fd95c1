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
/* OneHot (transpose.c): the shape, and what it is seen as. */
struct tfd_one_hot {
    int64_t outer, depth, inner;
    struct tfd_shape out;
};
struct tfd_one_hot_state {
    int64_t axis;
};
enum tfd_code tfd_one_hot_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st);
enum tfd_code tfd_one_hot_make(const struct tfd_kctx *k,
                               struct tfd_one_hot *out,
                               struct tfd_status *st) TFD_MUST_USE;
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

#endif
