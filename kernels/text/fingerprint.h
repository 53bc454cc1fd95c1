/*
 * fingerprint.h - FarmHash's Fingerprint64, by which TensorFlow puts strings
 * into buckets: one number for ever, on every machine.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_FINGERPRINT_H
#define TFD_KERNELS_FINGERPRINT_H

#include "common/base/str.h"

uint64_t tfd_fingerprint_of(struct tfd_str bytes);

#endif
