/*
 * queue_new.c - see queue_core.h: queues and their rows, made and freed.
 */
#include "kernels/state/queue_core.h"

#include "common/base/atomic.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct tfd_queue_chunk {
    int refs; /* atomic: of its rows */
    max_align_t rows[];
};

struct tfd_queue_row *tfd_queue_rows_new(int count, int rows,
                                         struct tfd_status *st)
{
    const size_t size = sizeof(struct tfd_queue_row) +
                        (size_t)count * sizeof(struct tfd_tensor);
    struct tfd_queue_chunk *chunk =
        calloc(1, sizeof(*chunk) + (size_t)rows * size);
    struct tfd_queue_row *row, *next = NULL;

    if (!chunk) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for an element of %d components", count);
        return NULL;
    }
    chunk->refs = rows;
    for (int i = rows - 1; i >= 0; i--) {
        row = (void *)((char *)chunk->rows + (size_t)i * size);
        row->chunk = chunk;
        row->next = next;
        next = row;
    }
    return next;
}

struct tfd_queue_row *tfd_queue_row_new(int count, struct tfd_status *st)
{
    return tfd_queue_rows_new(count, 1, st);
}

void tfd_queue_rows_free(struct tfd_queue_row *rows, int count)
{
    while (rows) {
        struct tfd_queue_row *next = rows->next;
        struct tfd_queue_chunk *chunk = rows->chunk;

        for (int i = 0; i < count; i++)
            tfd_buffer_unref(rows->part[i].buffer);
        if (tfd_refs_drop(&chunk->refs))
            free(chunk);
        rows = next;
    }
}

static void queue_free(struct tfd_resource *r)
{
    struct tfd_queue *q = (struct tfd_queue *)r;

    assert(!q->enqueues.first && !q->dequeues.first);
    for (int64_t i = 0; i < q->count; i++)
        tfd_queue_rows_free(q->rows[(q->head + i) & (q->room - 1)].row,
                            q->spec.count);
    free(q->rows);
    free(q->spec.types);
    free(q->spec.shapes);
    free(q->name);
    tfd_lock_deinit(&q->lock);
    free(q);
}

const struct tfd_resource_type tfd_queue_type = {
    .name = "N10tensorflow14QueueInterfaceE",
    .what = "queue",
    .free = queue_free,
};

static void *copy_memory(const void *from, size_t size)
{
    void *to = malloc(size + 1);

    if (to && size)
        memcpy(to, from, size);
    if (to)
        ((char *)to)[size] = '\0';
    return to;
}

enum tfd_code tfd_queue_make(void *arg, struct tfd_resource **out,
                             struct tfd_status *st)
{
    const struct tfd_queue_order *order = arg;
    const struct tfd_queue_spec *spec = order->spec;
    struct tfd_queue *q = calloc(1, sizeof(*q));

    if (!q)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for queue " TFD_STR_FMT,
                        TFD_STR_ARG(order->name));
    tfd_resource_init(&q->resource, &tfd_queue_type);
    tfd_lock_init(&q->lock, TFD_LOCK_RESOURCE);
    q->spec = *spec;
    q->spec.types =
        copy_memory(spec->types, (size_t)spec->count * sizeof(*spec->types));
    q->spec.shapes = copy_memory(spec->shapes, (size_t)spec->shape_count *
                                                   sizeof(*spec->shapes));
    q->name = copy_memory(order->name.data, order->name.size);
    q->random = order->random;
    q->drawn_used = 4;
    if (!q->spec.types || !q->spec.shapes || !q->name) {
        tfd_resource_unref(&q->resource);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for queue " TFD_STR_FMT,
                        TFD_STR_ARG(order->name));
    }
    *out = &q->resource;
    return TFD_OK;
}

int64_t tfd_queue_size(struct tfd_queue *q)
{
    int64_t count;

    tfd_lock(&q->lock);
    count = q->count;
    tfd_unlock(&q->lock);
    return count;
}

bool tfd_queue_is_closed(struct tfd_queue *q)
{
    bool closed;

    tfd_lock(&q->lock);
    closed = q->closed;
    tfd_unlock(&q->lock);
    return closed;
}
