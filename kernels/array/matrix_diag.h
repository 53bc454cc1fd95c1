/*
 * matrix_diag.h - checks the inputs of MatrixDiag, MatrixDiagPart,
 * MatrixSetDiag and their V2 and V3, finds out which diagonals they mean, and
 * makes their outputs, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_MATRIX_DIAG_H
#define TFD_KERNELS_MATRIX_DIAG_H

#include "kernels/core/kernel.h"

/* Diagonals `lower` to `upper` of a matrix, where d has the elements [i, i + d]
 * and `upper` is the first row of the matrix of diagonals.  Also the state, of
 * which only the alignment is good. */
struct tfd_matrix_diag {
    int64_t rows, columns; /* of a matrix */
    int64_t lower, upper;
    int64_t length; /* of a row of diagonals */
    bool upper_left, lower_left;
};
/* By the attribute align; as ops without it do. */
enum tfd_code tfd_matrix_diag_align(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st);
enum tfd_code tfd_matrix_diag_left(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st);

/* Each checks the inputs of its op, which tell *out, and makes output 0 (of
 * MatrixSetDiag perhaps in the buffer of input 0). */
enum tfd_code tfd_matrix_diag_output(struct tfd_kctx *k,
                                     struct tfd_matrix_diag *out,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_matrix_diag_part_output(struct tfd_kctx *k,
                                          struct tfd_matrix_diag *out,
                                          struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_matrix_diag_set_output(struct tfd_kctx *k,
                                         struct tfd_matrix_diag *out,
                                         struct tfd_status *st) TFD_MUST_USE;

#endif
