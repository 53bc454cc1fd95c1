/*
 * whole.h - runs an asynchronous op on a thread of its own, since it must
 * block: one that consumes a whole dataset (ReduceDataset,
 * DatasetToSingleElement), or waits for a function (DatasetFromGraph).
 *
 * The op gets a thread of the crew (common/thread/crew.h) and a scope
 * (data_scope.h) that is cancelled with its step.
 *
 * Threads: a kernel's start() calls tfd_whole_start(); run() is on the crew's
 * thread and gives the kernel its outputs.
 */
#ifndef TFD_KERNELS_DATA_WHOLE_H
#define TFD_KERNELS_DATA_WHOLE_H

#include "kernels/data/dataset.h"

struct tfd_whole;
typedef enum tfd_code tfd_whole_fn(struct tfd_whole *w, struct tfd_status *st);

struct tfd_whole {
    struct tfd_job job;
    struct tfd_cancel cancel;
    struct tfd_kctx *k;
    struct tfd_data_scope *scope;
    struct tfd_data_iterator *it; /* of the dataset in input 0; NULL */
    tfd_whole_fn *run;
};

/* run() gives k its outputs; path: input 0 is a dataset, and w->it goes
 * through it by this name; NULL: it is none. */
void tfd_whole_start(struct tfd_kctx *k, const char *path, tfd_whole_fn *run);

#endif
