/*
 * conn_queue.h - the bytes a connection has yet to write: a ring of chunks.
 *
 * Small writes are copied into a stage, one buffer that consecutive writes
 * share, and become one chunk; large ones are chunks that hold what they were
 * given.  The stage goes back to the buffer cache when the queue is empty, so
 * an idle connection holds no memory for writing.
 *
 * Lack of memory sticks in `failed`; the connection looks at it when it writes.
 *
 * Threads: one at a time.
 */
#ifndef TFD_RPC_CONN_QUEUE_H
#define TFD_RPC_CONN_QUEUE_H

#include "common/base/str.h"
#include "common/base/tensor.h"

struct iovec;

struct tfd_chunk {
    const uint8_t *data; /* what is left of it */
    size_t size;
    struct tfd_buffer *buffer; /* holds data, or NULL ... */
    void *memory;              /* ... and then this does, from malloc */
};

struct tfd_conn_queue {
    struct tfd_chunk *ring;
    uint32_t head, count, capacity; /* capacity: 0 or a power of two */
    size_t size;                    /* of all chunks */
    struct tfd_buffer *stage;
    size_t stage_used;
    bool failed;
};

void tfd_conn_queue_init(struct tfd_conn_queue *q);
void tfd_conn_queue_deinit(struct tfd_conn_queue *q);
void tfd_conn_queue_copy(struct tfd_conn_queue *q, const void *data,
                         size_t size);
void tfd_conn_queue_buffer(struct tfd_conn_queue *q, struct tfd_buffer *b,
                           size_t offset, size_t size);
void tfd_conn_queue_bytes(struct tfd_conn_queue *q, struct tfd_bytes *take_b);
/* Fills up to max vectors from the front; returns how many. */
int tfd_conn_queue_peek(const struct tfd_conn_queue *q, struct iovec *iov,
                        int max);
/* Drops size bytes from the front, at most what is there. */
void tfd_conn_queue_consume(struct tfd_conn_queue *q, size_t size);

#endif
