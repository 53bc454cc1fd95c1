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
    int64_t threads, timeout_us, batches_max;
    int64_t rows_max;       /* of a step; less than none: no limit */
    int64_t batch_rows_max; /* of a batch; likewise */
    int64_t *sizes;         /* ascending; owned */
    char *own_line;         /* memory of `line`; NULL: the graph's */
    int size_count;
    bool
        splits; /* a step's rows go to several batches where one is too small */
    bool trims; /* a batch is left smaller rather than filled up */
    /* As many threads as there is work for: TensorFlow's other scheduler, whose
     * words for what is wrong are others. */
    bool adapts;
};

/* A kernel's, whose state begins with a struct tfd_batch_choices. */
enum tfd_code tfd_batch_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_batch_function_choices(const struct tfd_prepare *p,
                                         struct tfd_batch_choices *c,
                                         struct tfd_status *st) TFD_MUST_USE;
void tfd_batch_release(void *state);

/* INVALID_ARGUMENT where no batcher is like that. */
enum tfd_code tfd_batch_check(const struct tfd_batch_choices *c,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
