/*
 * ragged_rows.h - in which row of a ragged tensor each of its values is.
 *
 *     splits  0 2 2 5     rows  0 0 2 2 2
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RAGGED_ROWS_H
#define TFD_KERNELS_RAGGED_ROWS_H

#include "kernels/core/kernel.h"

/* INVALID_ARGUMENT unless the splits, of which there is one, begin with 0 and
 * end with `values`. */
enum tfd_code tfd_ragged_check_ends(const struct tfd_tensor *splits,
                                    int64_t values,
                                    struct tfd_status *st) TFD_MUST_USE;

/* A row for each of so many values, as INT64; splits that fall between the
 * ends that were checked make empty rows. */
enum tfd_code tfd_ragged_rows(const struct tfd_tensor *splits, int64_t values,
                              struct tfd_tensor *out,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
