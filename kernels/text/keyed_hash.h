/*
 * keyed_hash.h - two more hashes of TensorFlow's string buckets: SipHash with
 * two rounds and four, which a secret key protects from strings that are made
 * to collide, and TensorFlow's Hash64, a MurmurHash64A.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_KEYED_HASH_H
#define TFD_KERNELS_KEYED_HASH_H

#include "common/base/str.h"

uint64_t tfd_keyed_hash_sip(const uint64_t key[2], struct tfd_str bytes);
uint64_t tfd_keyed_hash_64(struct tfd_str bytes);

#endif
