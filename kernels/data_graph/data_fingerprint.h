/*
 * data_fingerprint.h - a number that equal datasets have in common, in every
 * process of tfd: of the ops that made them, their attributes and values, and
 * of the functions that they call, whatever these are named.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_GRAPH_DATA_FINGERPRINT_H
#define TFD_KERNELS_DATA_GRAPH_DATA_FINGERPRINT_H

#include "common/base/tensor.h"

/* UNIMPLEMENTED when the dataset, or one within it, was made by no op. */
enum tfd_code tfd_data_fingerprint(const struct tfd_tensor *dataset,
                                   uint64_t *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
