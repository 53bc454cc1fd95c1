/*
 * map.h - string -> number, open addressing, for names of nodes, sessions,
 * resources.  Keys are borrowed: they must live as long as the entry.  Names
 * come from outside, so their places depend on a key of this process (hash.h).
 *
 * Threads: one at a time.
 */
#ifndef TFD_COMMON_MAP_H
#define TFD_COMMON_MAP_H

#include "common/base/str.h"

struct tfd_map_entry {
    struct tfd_str key; /* data NULL: free */
    uint64_t hash;
    uintptr_t value;
};

struct tfd_map {
    struct tfd_map_entry *entries; /* capacity of them */
    size_t capacity;               /* 0 or a power of two */
    size_t count;
};

void tfd_map_init(struct tfd_map *m);
void tfd_map_deinit(struct tfd_map *m);
/* False when there is no memory.  Replaces the value of an existing key (and
 * keeps its key pointer). */
bool tfd_map_put(struct tfd_map *m, struct tfd_str key,
                 uintptr_t value) TFD_MUST_USE;
bool tfd_map_get(const struct tfd_map *m, struct tfd_str key, uintptr_t *value);
bool tfd_map_remove(struct tfd_map *m, struct tfd_str key);
/* Iterates in no particular order: *at starts at 0; false at the end.  No put
 * or remove in between. */
bool tfd_map_next(const struct tfd_map *m, size_t *at,
                  const struct tfd_map_entry **e);

#endif
