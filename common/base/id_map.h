/*
 * id_map.h - number -> pointer, open addressing: steps and graphs by their id.
 * Numbers come from peers, so their places depend on a key of this process
 * (hash.h).
 *
 * Threads: one at a time.
 */
#ifndef TFD_COMMON_ID_MAP_H
#define TFD_COMMON_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tfd_id_entry {
    uint64_t id;
    void *value; /* NULL: free */
};

struct tfd_id_map {
    struct tfd_id_entry *entries;
    size_t capacity; /* 0 or a power of two */
    size_t count;
};

void tfd_id_map_deinit(struct tfd_id_map *m);
/* value is not NULL.  False when there is no memory. */
bool tfd_id_map_put(struct tfd_id_map *m, uint64_t id, void *value);
void *tfd_id_map_get(const struct tfd_id_map *m, uint64_t id);
/* What was there; NULL when nothing was. */
void *tfd_id_map_remove(struct tfd_id_map *m, uint64_t id);
/* Iterates: *at starts at 0; NULL at the end.  No put or remove in between. */
void *tfd_id_map_next(const struct tfd_id_map *m, size_t *at);

#endif
