/*
 * fingerprint.h - FarmHash's Fingerprint64, by which TensorFlow puts strings
 * into buckets, and its Fingerprint128, by which it tells examples apart: the
 * same numbers for ever, on every machine.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_FINGERPRINT_H
#define TFD_KERNELS_FINGERPRINT_H

#include "common/base/str.h"

uint64_t tfd_fingerprint_of(struct tfd_str bytes);
/* The low half first. */
void tfd_fingerprint_long(struct tfd_str bytes, uint64_t out[2]);

#endif
