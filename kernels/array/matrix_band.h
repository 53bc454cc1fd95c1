/*
 * matrix_band.h - reads and checks the inputs of MatrixBandPart, Diag and
 * DiagPart, for the kernels of all devices.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_MATRIX_BAND_H
#define TFD_KERNELS_MATRIX_BAND_H

#include "kernels/core/kernel.h"

struct tfd_matrix_band {
    int64_t rows, columns; /* of a matrix */
    int64_t lower, upper;  /* diagonals below and above that stay; -1: all */
};
/* Inputs 0 to 2 of MatrixBandPart. */
enum tfd_code tfd_matrix_band_read(const struct tfd_kctx *k,
                                   struct tfd_matrix_band *out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The outputs of Diag and of DiagPart. */
enum tfd_code tfd_matrix_diag_shape(const struct tfd_kctx *k,
                                    struct tfd_shape *out,
                                    struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_matrix_diag_part_shape(const struct tfd_kctx *k,
                                         struct tfd_shape *out,
                                         struct tfd_status *st) TFD_MUST_USE;

#endif
