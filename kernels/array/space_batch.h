/*
 * space_batch.h - reads the blocks and paddings of SpaceToBatch, BatchToSpace
 * and their kin (space_batch.c) and makes their output, for the kernels of all
 * devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SPACE_BATCH_H
#define TFD_KERNELS_SPACE_BATCH_H

#include "kernels/core/kernel.h"

struct tfd_space_batch {
    int dims; /* of space */
    int64_t block[TFD_RANK_MAX], before[TFD_RANK_MAX], after[TFD_RANK_MAX];
    int64_t offsets; /* in a block */
};

/* Reads inputs 1 and 2 and makes output 0: the folded tensor of the wide one in
 * input 0, or the other way.  *done: it is the input itself. */
enum tfd_code tfd_space_batch_begin(struct tfd_kctx *k, bool fold_it,
                                    struct tfd_space_batch *f, bool *done,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
