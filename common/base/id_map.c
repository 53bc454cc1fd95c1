/*
 * id_map.c - see id_map.h.  Linear probing at a load of at most 3/4; a removal
 * moves later entries into the gap.
 */
#include "common/base/id_map.h"

#include "common/base/hash.h"

#include <stdlib.h>

#define CAPACITY_MIN 64

static size_t home(const struct tfd_id_map *m, uint64_t id)
{
    return (size_t)tfd_hash_number(id) & (m->capacity - 1);
}

static struct tfd_id_entry *probe(const struct tfd_id_map *m, uint64_t id)
{
    size_t at = home(m, id);

    while (m->entries[at].value && m->entries[at].id != id)
        at = (at + 1) & (m->capacity - 1);
    return &m->entries[at];
}

static bool grow_id_map(struct tfd_id_map *m)
{
    struct tfd_id_map more = {NULL, CAPACITY_MIN, m->count};

    if (m->capacity)
        more.capacity = m->capacity * 2;
    more.entries = calloc(more.capacity, sizeof(*more.entries));
    if (!more.entries)
        return false;
    for (size_t i = 0; i < m->capacity; i++)
        if (m->entries[i].value)
            *probe(&more, m->entries[i].id) = m->entries[i];
    free(m->entries);
    *m = more;
    return true;
}

void tfd_id_map_deinit(struct tfd_id_map *m)
{
    free(m->entries);
    *m = (struct tfd_id_map){0};
}

bool tfd_id_map_put(struct tfd_id_map *m, uint64_t id, void *value)
{
    struct tfd_id_entry *e;

    if (m->count >= m->capacity / 4 * 3 && !grow_id_map(m))
        return false;
    e = probe(m, id);
    m->count += !e->value;
    *e = (struct tfd_id_entry){id, value};
    return true;
}

void *tfd_id_map_get(const struct tfd_id_map *m, uint64_t id)
{
    return m->capacity ? probe(m, id)->value : NULL;
}

/* The entry may stand at `gap`: its home is not behind it. */
static bool may_move(const struct tfd_id_map *m, size_t at, size_t gap)
{
    size_t mask = m->capacity - 1;
    size_t from_home = (at - home(m, m->entries[at].id)) & mask;

    return from_home >= ((at - gap) & mask);
}

void *tfd_id_map_remove(struct tfd_id_map *m, uint64_t id)
{
    struct tfd_id_entry *e = m->capacity ? probe(m, id) : NULL;
    void *value = e ? e->value : NULL;
    size_t gap, at;

    if (!value)
        return NULL;
    gap = (size_t)(e - m->entries);
    e->value = NULL;
    m->count--;
    for (at = (gap + 1) & (m->capacity - 1); m->entries[at].value;
         at = (at + 1) & (m->capacity - 1)) {
        if (!may_move(m, at, gap))
            continue;
        m->entries[gap] = m->entries[at];
        m->entries[at].value = NULL;
        gap = at;
    }
    return value;
}

void *tfd_id_map_next(const struct tfd_id_map *m, size_t *at)
{
    while (*at < m->capacity) {
        void *value = m->entries[(*at)++].value;

        if (value)
            return value;
    }
    return NULL;
}
