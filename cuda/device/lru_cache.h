/*
 * lru_cache.h - what a library said about shapes, so that it is asked once for
 * each.
 *
 *     value = tfd_cuda_lru_cache_find(m, &shape, &node->last);
 *     if (!value)
 *         value = tfd_cuda_lru_cache_add(m, &shape, &node->last);   then fill
 * it
 *
 * Keys and values have one size each, and an alignment of 8 bytes at most; keys
 * are compared by bytes.  Beyond the limit the entry that was not asked for
 * longest is replaced.  A caller remembers where it found its last key (zero at
 * first): a shape that comes again is compared with that one, and nothing is
 * hashed.
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

void tfd_cuda_lru_cache_init(struct tfd_cuda_lru_cache *m, size_t key_size,
                             size_t value_size, size_t limit);
void tfd_cuda_lru_cache_deinit(struct tfd_cuda_lru_cache *m);
/* The value; NULL: a new key. */
void *
tfd_cuda_lru_cache_find(struct tfd_cuda_lru_cache *m, const void *key,
                        struct tfd_cuda_lru_cache_entry **last) TFD_MUST_USE;
/* Room for the value of a new key, zeroed; NULL: no memory, and nothing is
 * changed. */
void *
tfd_cuda_lru_cache_add(struct tfd_cuda_lru_cache *m, const void *key,
                       struct tfd_cuda_lru_cache_entry **last) TFD_MUST_USE;

#endif
