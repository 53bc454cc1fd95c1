/*
 * box_runs.h - the loops for boxes (box.h) whose rows are contiguous where they
 * are written: a row is copied from contiguous elements, or filled with copies
 * of one element.
 *
 * There is a loop for each range of row lengths, which has no branch in a row;
 * with vectors of 32 bytes where the processor has AVX2, and of 64 in some
 * where it has AVX-512.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_BOX_RUNS_H
#define TFD_KERNELS_BOX_RUNS_H

#include "kernels/layout/box_loops.h"

/* Rows of n->count elements of `size` bytes, which lie without gaps in both
 * places. */
void tfd_box_run(const struct tfd_box_nest *n, int64_t size, char *to,
                 const char *from);
/* What does that for nests whose count is of bytes, as many as these. */
tfd_box_loop *tfd_box_run_of(int64_t bytes);

/* The same for rows of n->runs runs each; NULL: none of such bytes. */
tfd_box_loop *tfd_box_runs_of(int64_t bytes);

/* For nests that are far, whose rows, or runs of these, are whole lines where
 * they are written and lie apart where they are read: past the caches
 * (lines.h). */
tfd_box_loop *tfd_box_run_past(void);

/* Such rows of TFD_BOX_BETWEEN_MIN bytes and more, and between each and the
 * next copies of the element at `value`; all is written in order. */
#define TFD_BOX_BETWEEN_MIN 64
void tfd_box_run_between(const struct tfd_box_nest *n, int64_t size, char *to,
                         const char *from, const char *value);

/* For rows of copies of one element: those of its size. */
tfd_box_loop *tfd_box_same_of(int64_t size);

#endif
