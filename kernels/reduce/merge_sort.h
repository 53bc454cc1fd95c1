/*
 * merge_sort.h - qsort() that ends early when nobody wants its result, and
 * shares its work with the compute pool.
 *
 * Runs that fit a cache are sorted by qsort(), on all threads, and merged in
 * pairs until one is left.  Of two runs only what overlaps is moved, so that
 * what is in order, or nearly, costs little more than looking at it.
 *
 * Threads: any that runs a kernel.
 */
#ifndef TFD_KERNELS_MERGE_SORT_H
#define TFD_KERNELS_MERGE_SORT_H

#include "kernels/core/kernel.h"

typedef int tfd_compare_fn(const void *x, const void *y);

/* Sorts count items of size bytes.  CANCELLED where the thread is told to stop
 * (common/thread/halt.h): they are all there then, in any order. */
enum tfd_code tfd_merge_sort(struct tfd_kctx *k, void *items, int64_t count,
                             size_t size, tfd_compare_fn *compare,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
