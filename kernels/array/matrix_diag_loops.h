/*
 * matrix_diag_loops.h - copies elements between matrices and their diagonals,
 * on all compute threads.  Elements are plain bytes; no matrix and no diagonal
 * is empty.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_MATRIX_DIAG_LOOPS_H
#define TFD_KERNELS_MATRIX_DIAG_LOOPS_H

#include "kernels/array/matrix_diag.h"

/* `count` matrices, one after the other, and the diagonals of each.  What of
 * the destination is no diagonal's stays as it is. */
struct tfd_matrix_diag_copy {
    const struct tfd_matrix_diag *band;
    enum tfd_dtype dtype;
    int64_t count;
    void *matrices, *diagonals;
    bool to_matrices;
};

void tfd_matrix_diag_copy(struct tfd_kctx *k,
                          const struct tfd_matrix_diag_copy *c);
/* The same to matrices that are copies of `from` otherwise; from may be c's
 * matrices. */
void tfd_matrix_diag_set(struct tfd_kctx *k,
                         const struct tfd_matrix_diag_copy *c,
                         const void *from);

/* The number of elements of diagonal d. */
int64_t tfd_matrix_diag_length(const struct tfd_matrix_diag *b, int64_t d);

#endif
