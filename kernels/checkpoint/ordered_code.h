/*
 * ordered_code.h - values as bytes whose order is that of the values; the keys
 * under which checkpoints keep slices.
 *
 *   string   its bytes, 00 as 00 ff, ff as ff 00, then 00 01
 *   number   count of its bytes, then them, most significant first
 *   signed   n bytes for a value of 7 n - 1 bits and a sign: the value in two's
 *            complement, most significant first, XOR a head whose first n bits
 *            are set:  80 | c0 00 | e0 00 00 | ...  So -64 to 63 is one byte.
 *
 * Threads: one at a time for a buffer.
 */
#ifndef TFD_KERNELS_ORDERED_CODE_H
#define TFD_KERNELS_ORDERED_CODE_H

#include "common/base/str.h"

void tfd_ordered_code_put_str(struct tfd_bytes *b, struct tfd_str value);
void tfd_ordered_code_put_num(struct tfd_bytes *b, uint64_t value);
void tfd_ordered_code_put_signed(struct tfd_bytes *b, int64_t value);

#endif
