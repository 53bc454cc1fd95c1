/*
 * ctc_paths.h - the paths of one sequence through its labels, as CTCLoss counts
 * them (ctc_loss.c says what they are).
 *
 * Ownership: borrows all.  Threads: any, each with items of its own.
 */
#ifndef TFD_KERNELS_CTC_PATHS_H
#define TFD_KERNELS_CTC_PATHS_H

#include "kernels/nn/ctc.h"

struct tfd_ctc_item {
    const struct tfd_tensor *inputs; /* [time, batch, classes] */
    struct tfd_tensor *gradient;     /* likewise */
    int64_t batch, classes;
    int64_t b, steps;     /* which of the batch; at least 1 step */
    const int32_t *label; /* each below classes - 1 */
    int64_t labels;
    bool merge; /* ctc_merge_repeated */
};

/* Fills the item's steps of the gradient; *loss is minus the logarithm of all
 * paths.  RESOURCE_EXHAUSTED without memory. */
enum tfd_code tfd_ctc_paths_measure(const struct tfd_ctc_item *item,
                                    double *loss,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
