/*
 * runs.h - concatenates tensors along an axis, and splits them: the work of
 * ConcatV2, Split, Pack and Unpack.
 *
 * Along axis a every tensor is `outer` rows of `dim[a] * inner` contiguous
 * elements, so both are copies of such runs.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RUNS_H
#define TFD_KERNELS_RUNS_H

#include "kernels/core/kernel.h"

/* Elements before and after the axis. */
void tfd_runs_around(const struct tfd_shape *s, int axis, int64_t *outer,
                     int64_t *inner);

/* Copies `count` runs of `run` elements to output `out`, which is there: from
 * element src_at of each row of src, which has src_row elements and lies in the
 * same memory, to element dst_at of each row of dst_row elements. */
enum tfd_code tfd_runs_copy(struct tfd_kctx *k, int out, int64_t dst_row,
                            int64_t dst_at, const struct tfd_tensor *src,
                            int64_t src_row, int64_t src_at, int64_t run,
                            int64_t count, struct tfd_status *st) TFD_MUST_USE;

/* Joins inputs 0 to `count` - 1 to output 0, which is there: each of its
 * `outer` rows is a row of every input, one after the other. */
enum tfd_code tfd_runs_join(struct tfd_kctx *k, int count, int64_t outer,
                            struct tfd_status *st) TFD_MUST_USE;
/* Cuts x into all outputs, which are there, likewise. */
enum tfd_code tfd_runs_cut(struct tfd_kctx *k, const struct tfd_tensor *x,
                           int64_t outer, struct tfd_status *st) TFD_MUST_USE;

/* Makes the outputs that are cut along input in's first dimension parts of its
 * memory, where TensorFlow does: where each row is aligned.  sizes: their rows;
 * NULL: as many of each.  out: their shape, its first dimension to be set, or
 * without that one.  False: no output is there. */
bool tfd_runs_share(struct tfd_kctx *k, int in, struct tfd_shape out,
                    const int64_t *sizes);

/* The gradients of all outputs of g, TFD_GRAD_LIST_MAX at most: zeros for those
 * that nobody reads. */
enum tfd_code tfd_runs_gradients(struct tfd_grad *g, struct tfd_edge *parts,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
