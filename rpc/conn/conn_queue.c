/*
 * conn_queue.c - see conn_queue.h.
 */
#define _GNU_SOURCE 1

#include "rpc/conn/conn_queue.h"

#include "common/base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define RING_MIN 16
/* Two pages less the head of the buffer would do; replies of many small steps
 * that leave in one system call are what it is sized for. */
#define STAGE_SIZE (16u << 10)
/* Up to here a copy costs less than a chunk and a vector of its own. */
#define COPY_MAX 4096

void tfd_conn_queue_init(struct tfd_conn_queue *q)
{
    memset(q, 0, sizeof(*q));
}

static void release_chunk(struct tfd_chunk *c)
{
    tfd_buffer_unref(c->buffer);
    free(c->memory);
}

static struct tfd_chunk *chunk_at(const struct tfd_conn_queue *q,
                                  uint32_t index)
{
    return &q->ring[(q->head + index) & (q->capacity - 1)];
}

static void drop_stage(struct tfd_conn_queue *q)
{
    tfd_buffer_unref(q->stage);
    q->stage = NULL;
    q->stage_used = 0;
}

void tfd_conn_queue_deinit(struct tfd_conn_queue *q)
{
    for (uint32_t i = 0; i < q->count; i++)
        release_chunk(chunk_at(q, i));
    free(q->ring);
    drop_stage(q);
    tfd_conn_queue_init(q);
}

static bool grow_conn_queue(struct tfd_conn_queue *q)
{
    uint32_t capacity = q->capacity ? q->capacity * 2 : RING_MIN;
    struct tfd_chunk *ring;

    if (q->capacity > UINT32_MAX / 4)
        return false;
    ring = malloc(capacity * sizeof(*ring));
    if (!ring)
        return false;
    for (uint32_t i = 0; i < q->count; i++)
        ring[i] = *chunk_at(q, i);
    free(q->ring);
    q->ring = ring;
    q->head = 0;
    q->capacity = capacity;
    return true;
}

/* Takes what the chunk holds, also when it fails. */
static void push_chunk(struct tfd_conn_queue *q, struct tfd_chunk c)
{
    if (q->failed || (q->count == q->capacity && !grow_conn_queue(q))) {
        q->failed = true;
        release_chunk(&c);
        return;
    }
    *chunk_at(q, q->count) = c;
    q->count++;
    q->size += c.size;
}

/* Appends to the last chunk when that is where the stage ends. */
static void push_staged(struct tfd_conn_queue *q, size_t size)
{
    const uint8_t *data = (uint8_t *)q->stage->data + q->stage_used;
    struct tfd_chunk *last = q->count ? chunk_at(q, q->count - 1) : NULL;

    q->stage_used += size;
    if (last && last->buffer == q->stage && last->data + last->size == data) {
        last->size += size;
        q->size += size;
        return;
    }
    push_chunk(q,
               (struct tfd_chunk){data, size, tfd_buffer_ref(q->stage), NULL});
}

void tfd_conn_queue_copy(struct tfd_conn_queue *q, const void *data,
                         size_t size)
{
    while (size > 0 && !q->failed) {
        size_t take;

        if (q->stage && q->stage_used == STAGE_SIZE)
            drop_stage(q);
        if (!q->stage)
            q->stage = tfd_buffer_new(STAGE_SIZE);
        if (!q->stage) {
            q->failed = true;
            return;
        }
        take = STAGE_SIZE - q->stage_used;
        if (take > size)
            take = size;
        memcpy((uint8_t *)q->stage->data + q->stage_used, data, take);
        push_staged(q, take);
        data = (const uint8_t *)data + take;
        size -= take;
    }
}

void tfd_conn_queue_buffer(struct tfd_conn_queue *q, struct tfd_buffer *b,
                           size_t offset, size_t size)
{
    assert(size <= b->size && offset <= b->size - size);
    if (size > 0)
        push_chunk(q, (struct tfd_chunk){(uint8_t *)b->data + offset, size,
                                         tfd_buffer_ref(b), NULL});
}

void tfd_conn_queue_bytes(struct tfd_conn_queue *q, struct tfd_bytes *take_b)
{
    if (take_b->size <= COPY_MAX) {
        tfd_conn_queue_copy(q, take_b->data, take_b->size);
        tfd_bytes_clear(take_b);
        return;
    }
    push_chunk(q, (struct tfd_chunk){(uint8_t *)take_b->data, take_b->size,
                                     NULL, take_b->data});
    tfd_bytes_init(take_b, take_b->max);
}

int tfd_conn_queue_peek(const struct tfd_conn_queue *q, struct iovec *iov,
                        int max)
{
    int n = 0;

    while (n < max && (uint32_t)n < q->count) {
        struct tfd_chunk *c = chunk_at(q, (uint32_t)n);

        iov[n].iov_base = (void *)(uintptr_t)c->data;
        iov[n].iov_len = c->size;
        n++;
    }
    return n;
}

void tfd_conn_queue_consume(struct tfd_conn_queue *q, size_t size)
{
    assert(size <= q->size);
    q->size -= size;
    while (size > 0) {
        struct tfd_chunk *c = chunk_at(q, 0);

        if (size < c->size) {
            c->data += size;
            c->size -= size;
            return;
        }
        size -= c->size;
        release_chunk(c);
        q->head = (q->head + 1) & (q->capacity - 1);
        q->count--;
    }
    if (q->count == 0)
        drop_stage(q);
}
