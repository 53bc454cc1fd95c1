/*
 * batch_choices.h - what a node that batches says of its batcher.
 *
 * Threads: as prepare() and release() of kernels.
 */
#ifndef TFD_KERNELS_BATCH_CHOICES_H
#define TFD_KERNELS_BATCH_CHOICES_H

#include "kernels/core/kernel.h"

/* What the node says; a batcher is as the node says that is first. */
struct tfd_batch_choices {
    struct tfd_str container, name, line;
    int64_t threads, rows_max, timeout_us, batches_max;
    int64_t *sizes; /* ascending; owned */
    int size_count;
};

/* A kernel's, whose state is a struct tfd_batch_choices. */
enum tfd_code tfd_batch_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_batch_release(void *state);

#endif
