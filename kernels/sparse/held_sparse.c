/* held_sparse.c - see held_sparse.h. */
#include "kernels/sparse/held_sparse.h"

#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct tfd_str number_key(const int64_t *number)
{
    return (struct tfd_str){(const char *)number, sizeof(*number)};
}

static size_t held_bytes(const struct tfd_held_sparse *h)
{
    size_t bytes =
        sizeof(*h) + tfd_tensor_size(&h->indices) + tfd_tensor_size(&h->values);
    int64_t n = tfd_tensor_elements(&h->values);
    const struct tfd_tstring *s = tfd_tensor_data(&h->values);

    for (int64_t i = 0; h->values.dtype == TFD_STRING && i < n; i++)
        bytes += tfd_tstring_view(&s[i]).size;
    return bytes;
}

void tfd_held_sparse_free(struct tfd_held_sparse *h)
{
    if (!h)
        return;
    tfd_tensor_unref(&h->indices);
    tfd_tensor_unref(&h->values);
    free(h);
}

struct tfd_held_sparse *tfd_held_sparse_new(const struct tfd_tensor *indices,
                                            const struct tfd_tensor *values,
                                            const int64_t *dim, int rank,
                                            struct tfd_status *st)
{
    struct tfd_held_sparse *h = calloc(1, sizeof(*h));

    if (!h) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a sparse tensor");
        return NULL;
    }
    h->indices = tfd_tensor_ref(indices);
    h->values = tfd_tensor_ref(values);
    h->rank = rank;
    if (rank > 0)
        memcpy(h->dim, dim, (size_t)rank * sizeof(*dim));
    h->bytes = held_bytes(h);
    return h;
}

/* ---- The resource -------------------------------------------------------- */

static void sparse_map_free(struct tfd_resource *r)
{
    struct tfd_sparse_map *m = (struct tfd_sparse_map *)r;
    const struct tfd_map_entry *entry;
    size_t at = 0;

    while (tfd_map_next(&m->held, &at, &entry))
        tfd_held_sparse_free((struct tfd_held_sparse *)entry->value);
    tfd_map_deinit(&m->held);
    tfd_lock_deinit(&m->lock);
    free(m);
}

const struct tfd_resource_type tfd_sparse_map_type = {
    .name = "N10tensorflow16SparseTensorsMapE",
    .what = "map of sparse tensors",
    .free = sparse_map_free,
};

enum tfd_code tfd_sparse_map_make(void *arg, struct tfd_resource **out,
                                  struct tfd_status *st)
{
    struct tfd_sparse_map *m = calloc(1, sizeof(*m));

    (void)arg;
    if (!m)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a map of sparse tensors");
    tfd_resource_init(&m->resource, &tfd_sparse_map_type);
    tfd_lock_init(&m->lock, TFD_LOCK_RESOURCE);
    tfd_map_init(&m->held);
    *out = &m->resource;
    return TFD_OK;
}

/* ---- Putting in ---------------------------------------------------------- */

/* Locked. */
static enum tfd_code check_room(const struct tfd_sparse_map *m, int64_t count,
                                size_t bytes, struct tfd_status *st)
{
    if ((int64_t)m->held.count > TFD_SPARSE_MAP_COUNT_MAX - count)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%" PRId64 " sparse tensors for a map that has %zu; at "
                        "most %d wait in one",
                        count, m->held.count, TFD_SPARSE_MAP_COUNT_MAX);
    if (bytes > TFD_SPARSE_MAP_SIZE_MAX - m->bytes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "sparse tensors of %zu bytes for a map that holds %zu; "
                        "the limit is %zu",
                        bytes, m->bytes, TFD_SPARSE_MAP_SIZE_MAX);
    return TFD_OK;
}

/* Locked.  All or none; what is in belongs to the map. */
static enum tfd_code put_locked(struct tfd_sparse_map *m,
                                struct tfd_held_sparse **rows, int64_t count,
                                size_t bytes, struct tfd_status *st)
{
    TFD_TRY(check_room(m, count, bytes, st));
    for (int64_t i = 0; i < count; i++) {
        rows[i]->number = m->next + i;
        if (tfd_map_put(&m->held, number_key(&rows[i]->number),
                        (uintptr_t)rows[i]))
            continue;
        while (i-- > 0)
            tfd_map_remove(&m->held, number_key(&rows[i]->number));
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a map of sparse tensors");
    }
    m->next += count;
    m->bytes += bytes;
    return TFD_OK;
}

enum tfd_code tfd_held_sparse_put(struct tfd_sparse_map *m,
                                  struct tfd_held_sparse **rows, int64_t count,
                                  int64_t *first, struct tfd_status *st)
{
    size_t bytes = 0;
    enum tfd_code rc;

    for (int64_t i = 0; i < count; i++)
        bytes += rows[i]->bytes;
    tfd_lock(&m->lock);
    *first = m->next;
    rc = put_locked(m, rows, count, bytes, st);
    tfd_unlock(&m->lock);
    return rc;
}

/* ---- Taking out ---------------------------------------------------------- */

int64_t tfd_held_sparse_take(struct tfd_sparse_map *m, const int64_t *numbers,
                             int64_t count, struct tfd_held_sparse **rows)
{
    uintptr_t value;
    int64_t i;

    tfd_lock(&m->lock);
    for (i = 0; i < count; i++) {
        if (!tfd_map_get(&m->held, number_key(&numbers[i]), &value))
            break;
        tfd_map_remove(&m->held, number_key(&numbers[i]));
        rows[i] = (struct tfd_held_sparse *)value;
        m->bytes -= rows[i]->bytes;
    }
    tfd_unlock(&m->lock);
    return i;
}
