/*
 * snappy.h - reads blocks compressed with Snappy, which tables written by other
 * programs may have; tfd itself writes none.
 *
 *   varint32 size of the original, then elements by the low two bits of a tag:
 *
 *   00  literal      length - 1 in the tag's upper six bits, or 60 to 63: in
 *                    the next 1 to 4 bytes; the bytes follow
 *   01  copy         length - 4 in 3 bits, offset in 3 bits and a byte
 *   10  copy         length - 1 in 6 bits, offset in 2 bytes
 *   11  copy         length - 1 in 6 bits, offset in 4 bytes
 *
 * A copy repeats bytes from `offset` before the end of what is already there,
 * and may overlap itself.  Format: github.com/google/snappy, "format
 * description".
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_SNAPPY_H
#define TFD_KERNELS_SNAPPY_H

#include "common/base/str.h"

/* Replaces the contents of out.  False when the input is damaged, claims more
 * than its length can hold, or out's maximum is too small for it. */
bool tfd_snappy_decode(struct tfd_str in, struct tfd_bytes *out) TFD_MUST_USE;

#endif
