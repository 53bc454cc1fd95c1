/*
 * whole.h - an op that waits: for all elements of a dataset, for a function.
 *
 * It has a thread of the crew, and a scope that its step cancels.
 *
 * Threads: tfd_whole_start() is what a kernel's start() calls; run() is on a
 * thread of the crew.
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
