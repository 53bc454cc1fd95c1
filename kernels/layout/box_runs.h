/*
 * box_runs.h - those nests of box.h whose rows are written as whole runs: of
 * elements that lie one after the other, or of one element again and again.
 *
 * Each is a loop for some range of lengths, of bytes or of copies, that has no
 * branch a row; with vectors of 32 bytes where the processor has AVX2.
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_BOX_RUNS_H
#define TFD_KERNELS_BOX_RUNS_H

#include "kernels/layout/box_loops.h"

/* Rows of n->count elements of `size` bytes, which lie without gaps in both
 * places. */
void tfd_box_run(const struct tfd_box_nest *n, int64_t size, char *to,
                 const char *from);

/* For rows of copies of one element: those of its size. */
tfd_box_loop *tfd_box_same_of(int64_t size);

#endif
