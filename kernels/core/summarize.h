/*
 * summarize.h - tensors as text, in the two forms that TensorFlow has, which
 * programs and their tests match on.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SUMMARIZE_H
#define TFD_KERNELS_SUMMARIZE_H

#include "common/base/tensor.h"

/* At most `max` elements (negative: all), rows in brackets, "..." where
 * something is left out: "[0 1 2...]...". */
void tfd_summarize(struct tfd_bytes *b, const struct tfd_tensor *t,
                   int64_t max);

/* So many elements at both ends of each dimension (negative: all), each row on
 * a line, strings in quotes: "[0 1 ... 8 9]". */
void tfd_summarize_v2(struct tfd_bytes *b, const struct tfd_tensor *t,
                      int64_t ends);

#endif
