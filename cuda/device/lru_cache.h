/*
 * lru_cache.h - an LRU cache from fixed-size keys to fixed-size values: it
 * keeps what cuDNN said about a shape, so that cuDNN is asked once for each.
 *
 *     value = tfd_cuda_lru_cache_find(c, &shape, &node->last);
 *     if (!value)
 *         value = tfd_cuda_lru_cache_add(c, &shape, &node->last);  then fill it
 *
 * Keys are compared by their bytes; keys and values are aligned to 8 bytes.  A
 * full cache replaces the entry that was used least recently.  A caller
 * remembers where it found its last key (`last`, zero at first): a shape that
 * comes again is compared with that one, and nothing is hashed.
 *
 * Ownership: entries are the cache's and stay where they are until deinit; a
 * value is good until the next add.
 * Threads: one at a time.
 */
#ifndef TFD_CUDA_LRU_CACHE_H
#define TFD_CUDA_LRU_CACHE_H

#include "common/base/status.h"

#include <stddef.h>

struct tfd_cuda_lru_cache_entry;

struct tfd_cuda_lru_cache {
    size_t key_size, value_size;
    size_t count, limit;
    struct tfd_cuda_lru_cache_entry **buckets;
    size_t bucket_count; /* 0 or a power of two */
    struct tfd_cuda_lru_cache_entry *newest, *oldest;
};

void tfd_cuda_lru_cache_init(struct tfd_cuda_lru_cache *c, size_t key_size,
                             size_t value_size, size_t limit);
void tfd_cuda_lru_cache_deinit(struct tfd_cuda_lru_cache *c);
/* The value; NULL: a new key. */
void *
tfd_cuda_lru_cache_find(struct tfd_cuda_lru_cache *c, const void *key,
                        struct tfd_cuda_lru_cache_entry **last) TFD_MUST_USE;
/* Room for the value of a new key, zeroed; NULL: no memory, and nothing is
 * changed. */
void *
tfd_cuda_lru_cache_add(struct tfd_cuda_lru_cache *c, const void *key,
                       struct tfd_cuda_lru_cache_entry **last) TFD_MUST_USE;

#endif
