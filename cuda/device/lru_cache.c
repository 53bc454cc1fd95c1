/*
 * lru_cache.c - see lru_cache.h: chains of entries in buckets by hash, and all
 * of them in a list by use.
 */
#include "cuda/device/lru_cache.h"

#include "common/base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 16
#define ALIGN 8

/* The key follows, then the value. */
struct tfd_cuda_lru_cache_entry {
    struct tfd_cuda_lru_cache_entry *next; /* with that hash */
    struct tfd_cuda_lru_cache_entry *newer,
        *older; /* by when it was asked for */
};

void tfd_cuda_lru_cache_init(struct tfd_cuda_lru_cache *m, size_t key_size,
                             size_t value_size, size_t limit)
{
    assert(key_size > 0 && limit > 0);
    *m = (struct tfd_cuda_lru_cache){
        .key_size = key_size, .value_size = value_size, .limit = limit};
}

void tfd_cuda_lru_cache_deinit(struct tfd_cuda_lru_cache *m)
{
    while (m->newest) {
        struct tfd_cuda_lru_cache_entry *e = m->newest;

        m->newest = e->older;
        free(e);
    }
    free(m->buckets);
    m->buckets = NULL;
}

/* ---- Entries ------------------------------------------------------------- */

static size_t value_at(const struct tfd_cuda_lru_cache *m)
{
    return (m->key_size + ALIGN - 1) / ALIGN * ALIGN;
}

static const void *key_of(const struct tfd_cuda_lru_cache_entry *e)
{
    return e + 1;
}

static void *value_of(const struct tfd_cuda_lru_cache *m,
                      struct tfd_cuda_lru_cache_entry *e)
{
    return (char *)(e + 1) + value_at(m);
}

static bool is_of(const struct tfd_cuda_lru_cache *m,
                  const struct tfd_cuda_lru_cache_entry *e, const void *key)
{
    return !memcmp(key_of(e), key, m->key_size);
}

static struct tfd_cuda_lru_cache_entry **
bucket_of(const struct tfd_cuda_lru_cache *m, const void *key)
{
    struct tfd_str bytes = {(const char *)key, m->key_size};

    return &m->buckets[tfd_hash_str(bytes) & (m->bucket_count - 1)];
}

/* ---- By use -------------------------------------------------------------- */

static void unlink_entry(struct tfd_cuda_lru_cache *m,
                         struct tfd_cuda_lru_cache_entry *e)
{
    *(e->newer ? &e->newer->older : &m->newest) = e->older;
    *(e->older ? &e->older->newer : &m->oldest) = e->newer;
}

static void become_newest(struct tfd_cuda_lru_cache *m,
                          struct tfd_cuda_lru_cache_entry *e)
{
    e->newer = NULL;
    e->older = m->newest;
    *(m->newest ? &m->newest->newer : &m->oldest) = e;
    m->newest = e;
}

void *tfd_cuda_lru_cache_find(struct tfd_cuda_lru_cache *m, const void *key,
                              struct tfd_cuda_lru_cache_entry **last)
{
    struct tfd_cuda_lru_cache_entry *e = *last;

    if (!e || !is_of(m, e, key)) {
        e = m->bucket_count ? *bucket_of(m, key) : NULL;
        while (e && !is_of(m, e, key))
            e = e->next;
    }
    if (!e)
        return NULL;
    *last = e;
    if (e != m->newest) {
        unlink_entry(m, e);
        become_newest(m, e);
    }
    return value_of(m, e);
}

/* ---- New keys ------------------------------------------------------------ */

/* As many buckets as entries, or more. */
static bool grow_memo(struct tfd_cuda_lru_cache *m)
{
    struct tfd_cuda_lru_cache_entry **buckets;
    size_t count = m->bucket_count ? 2 * m->bucket_count : BUCKETS_MIN;

    if (m->count < m->bucket_count)
        return true;
    buckets = calloc(count, sizeof(struct tfd_cuda_lru_cache_entry *));
    if (!buckets)
        return false;
    free(m->buckets);
    m->buckets = buckets;
    m->bucket_count = count;
    for (struct tfd_cuda_lru_cache_entry *e = m->newest; e; e = e->older) {
        struct tfd_cuda_lru_cache_entry **bucket = bucket_of(m, key_of(e));

        e->next = *bucket;
        *bucket = e;
    }
    return true;
}

static struct tfd_cuda_lru_cache_entry *
take_oldest(struct tfd_cuda_lru_cache *m)
{
    struct tfd_cuda_lru_cache_entry *e = m->oldest;
    struct tfd_cuda_lru_cache_entry **at = bucket_of(m, key_of(e));

    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    unlink_entry(m, e);
    m->count--;
    return e;
}

void *tfd_cuda_lru_cache_add(struct tfd_cuda_lru_cache *m, const void *key,
                             struct tfd_cuda_lru_cache_entry **last)
{
    size_t size = sizeof(struct tfd_cuda_lru_cache_entry) + value_at(m);
    struct tfd_cuda_lru_cache_entry *e, **bucket;

    if (m->count == m->limit)
        e = take_oldest(m);
    else
        e = grow_memo(m) ? malloc(size + m->value_size) : NULL;
    if (!e)
        return NULL;
    memset(e, 0, size + m->value_size);
    memcpy(e + 1, key, m->key_size);
    bucket = bucket_of(m, key);
    e->next = *bucket;
    *bucket = e;
    become_newest(m, e);
    m->count++;
    *last = e;
    return value_of(m, e);
}
