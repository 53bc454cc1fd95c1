/*
 * map.c - see map.h.
 *
 * Linear probing at a load of at most 3/4.  A removal moves the entries behind
 * it into the gap, so there are no tombstones and a lookup ends at the first
 * free entry.
 */
#include "common/base/map.h"

#include "common/base/hash.h"

#include <stdlib.h>

#define CAPACITY_MIN 16

void tfd_map_init(struct tfd_map *m)
{
    *m = (struct tfd_map){0};
}

void tfd_map_deinit(struct tfd_map *m)
{
    free(m->entries);
    tfd_map_init(m);
}

/* The entry with this key, or the free one where it belongs. */
static struct tfd_map_entry *probe(const struct tfd_map *m, struct tfd_str key,
                                   uint64_t hash)
{
    size_t mask = m->capacity - 1;
    size_t at = (size_t)hash & mask;

    while (m->entries[at].key.data && !(m->entries[at].hash == hash &&
                                        tfd_str_eq(m->entries[at].key, key)))
        at = (at + 1) & mask;
    return &m->entries[at];
}

static bool grow_map(struct tfd_map *m)
{
    struct tfd_map bigger = {NULL, CAPACITY_MIN, m->count};

    if (m->capacity > SIZE_MAX / 2 / sizeof(*m->entries))
        return false;
    if (m->capacity)
        bigger.capacity = m->capacity * 2;
    bigger.entries = calloc(bigger.capacity, sizeof(*bigger.entries));
    if (!bigger.entries)
        return false;

    for (size_t i = 0; i < m->capacity; i++)
        if (m->entries[i].key.data)
            *probe(&bigger, m->entries[i].key, m->entries[i].hash) =
                m->entries[i];
    free(m->entries);
    *m = bigger;
    return true;
}

bool tfd_map_put(struct tfd_map *m, struct tfd_str key, uintptr_t value)
{
    uint64_t hash = tfd_hash_str(key);
    struct tfd_map_entry *e;

    if (m->count >= m->capacity / 4 * 3 && !grow_map(m))
        return false;
    e = probe(m, key, hash);
    e->value = value;
    if (!e->key.data) {
        /* NULL marks a free entry; the empty key may come as NULL. */
        e->key = key.data ? key : TFD_STR_EMPTY;
        e->hash = hash;
        m->count++;
    }
    return true;
}

bool tfd_map_get(const struct tfd_map *m, struct tfd_str key, uintptr_t *value)
{
    const struct tfd_map_entry *e;

    if (!m->count)
        return false;
    e = probe(m, key, tfd_hash_str(key));
    if (!e->key.data)
        return false;
    *value = e->value;
    return true;
}

/* Moves later entries of the run into the gap, unless their place of birth
 * lies behind it. */
static void close_gap(struct tfd_map *m, size_t gap)
{
    size_t mask = m->capacity - 1;

    for (size_t at = (gap + 1) & mask; m->entries[at].key.data;
         at = (at + 1) & mask) {
        size_t birth = (size_t)m->entries[at].hash & mask;

        if (((at - birth) & mask) >= ((at - gap) & mask)) {
            m->entries[gap] = m->entries[at];
            gap = at;
        }
    }
    m->entries[gap] = (struct tfd_map_entry){.key = {NULL, 0}};
}

bool tfd_map_remove(struct tfd_map *m, struct tfd_str key)
{
    struct tfd_map_entry *e;

    if (!m->count)
        return false;
    e = probe(m, key, tfd_hash_str(key));
    if (!e->key.data)
        return false;
    close_gap(m, (size_t)(e - m->entries));
    m->count--;
    return true;
}

bool tfd_map_next(const struct tfd_map *m, size_t *at,
                  const struct tfd_map_entry **e)
{
    while (*at < m->capacity) {
        const struct tfd_map_entry *found = &m->entries[(*at)++];

        if (found->key.data) {
            *e = found;
            return true;
        }
    }
    return false;
}
