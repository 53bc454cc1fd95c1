/*
 * queue_core.h - queues: rows of tensors, and the attempts that wait for them.
 *
 * Who enqueues, dequeues or closes makes an attempt.  Attempts to enqueue (and
 * to close) stand in one line, attempts to dequeue in another; only the first
 * of a line is served, so a large dequeue is never overtaken by small ones.
 * Whatever changes the queue serves both lines until nothing moves, then
 * finishes the attempts that got what they wanted, without the lock.
 *
 *     enqueue many  puts its rows one by one as there is room
 *     dequeue many  takes rows as they come; what it has goes back when the
 *                   queue is closed before it has enough, or its step ends
 *     close         waits behind the enqueues before it, unless it cancels them
 *
 * How rows are kept is a kind's: queue_kinds.c.  Rows of a large queue are in
 * no cache; what moves many of them therefore looks at a row once, and asks for
 * the next ones before.
 *
 * Ownership: a queue is a counted resource; an attempt holds a reference.
 * Threads: any.
 */
#ifndef TFD_KERNELS_QUEUE_CORE_H
#define TFD_KERNELS_QUEUE_CORE_H

#include "common/thread/lock.h"
#include "common/thread/pool.h"
#include "kernels/random/philox.h"
#include "kernels/core/runtime.h"

struct tfd_queue;

struct tfd_queue_chunk;

/* An element: a tensor for each component. */
struct tfd_queue_row {
    struct tfd_queue_row *next;
    struct tfd_queue_chunk *chunk; /* it lies in this one, with others */
    int64_t priority;
    bool kept; /* a part may be a view of a variable: kept.h */
    struct tfd_tensor part[];
};

/* A row where it waits, with what decides its place. */
struct tfd_queue_slot {
    struct tfd_queue_row *row;
    int64_t priority;
};

struct tfd_queue_kind {
    const char *name; /* "FIFOQueue" */
    const char *base; /* messages but those of batches call it so */
    /* There is room in rows[].  put_back is for rows just taken, the last one
     * first. */
    void (*put)(struct tfd_queue *q, struct tfd_queue_row *take_row);
    struct tfd_queue_row *(*take)(struct tfd_queue *q);
    void (*put_back)(struct tfd_queue *q, struct tfd_queue_row *take_row);
    bool whole;   /* a dequeue of many waits until it can have all at once */
    bool padding; /* shapes may be partial; batches are padded with zeros */
};

extern const struct tfd_queue_kind tfd_queue_fifo, tfd_queue_padding,
    tfd_queue_random, tfd_queue_priority;

/* What a queue shall be.  types and shapes are one block. */
struct tfd_queue_spec {
    const struct tfd_queue_kind *kind;
    int64_t capacity;
    int64_t min_after_dequeue; /* of the random kind, as the seeds */
    int64_t seed, seed2;
    int count; /* of components */
    enum tfd_dtype *types;
    struct tfd_shape *shapes;
    int shape_count; /* 0: not told */
};

struct tfd_queue_line {
    struct tfd_queue_attempt *first, *last;
};

struct tfd_queue {
    struct tfd_resource resource;
    struct tfd_queue_spec spec; /* owned copy */
    char *name;                 /* for messages */
    struct tfd_lock lock;       /* of what follows */
    struct tfd_queue_slot *rows;
    int64_t head, count, room; /* rows[(head + i) & (room - 1)] */
    int64_t lent;              /* rows of attempts that may put them back */
    bool kept;                 /* of any row that has come */
    bool closed;
    struct tfd_queue_line enqueues, dequeues;
    struct tfd_philox random;
    uint32_t drawn[4]; /* the block of random numbers in use */
    int drawn_used;
};

extern const struct tfd_resource_type tfd_queue_type;

struct tfd_queue_order {
    const struct tfd_queue_spec *spec;
    struct tfd_str name;
    struct tfd_philox random;
};
/* A tfd_resource_make_fn; arg is a struct tfd_queue_order. */
enum tfd_code tfd_queue_make(void *arg, struct tfd_resource **out,
                             struct tfd_status *st) TFD_MUST_USE;

struct tfd_queue_row *tfd_queue_row_new(int count, struct tfd_status *st);
/* `rows` of them, linked, in one piece of memory: it goes with the last. */
struct tfd_queue_row *tfd_queue_rows_new(int count, int rows,
                                         struct tfd_status *st);
/* Also those behind it. */
void tfd_queue_rows_free(struct tfd_queue_row *rows, int count);

/* Each of these takes over k and finishes it, sooner or later, and drops the
 * reference to the queue. */

void tfd_queue_enqueue(struct tfd_queue *take_q, struct tfd_kctx *k,
                       struct tfd_queue_row *take_rows);
void tfd_queue_dequeue(struct tfd_queue *take_q, struct tfd_kctx *k);
/* up_to: fewer will do when the queue is closed. */
void tfd_queue_dequeue_many(struct tfd_queue *take_q, struct tfd_kctx *k,
                            int64_t wanted, bool up_to);
void tfd_queue_close(struct tfd_queue *take_q, struct tfd_kctx *k, bool cancel);

/* A dequeue whose row is not for the outputs of k: fn gets it, or the failure
 * and NULL, from any thread and once, possibly before the call has returned; k
 * stays whoever's it is, and lends its step. */
struct tfd_queue_taker {
    void (*fn)(struct tfd_queue_taker *t, struct tfd_queue_row *take_row,
               const struct tfd_status *st);
};
void tfd_queue_dequeue_row(struct tfd_queue *take_q, struct tfd_kctx *k,
                           struct tfd_queue_taker *t);

/* Closes it, cancelling what waits to enqueue. */
void tfd_queue_shut(struct tfd_queue *q);

int64_t tfd_queue_size(struct tfd_queue *q);
bool tfd_queue_is_closed(struct tfd_queue *q);

/* ---- queue_batch.c: rows from tensors and back --------------------------- */

/* The inputs of an enqueue from `first` on fit the queue's components; with
 * `many` each is a batch of them. */
enum tfd_code tfd_queue_check_inputs(const struct tfd_queue *q,
                                     const struct tfd_kctx *k, int first,
                                     bool many,
                                     struct tfd_status *st) TFD_MUST_USE;
/* One row of the inputs, or with `many` a row of each of their slices (*rows is
 * NULL when there is none). */
enum tfd_code tfd_queue_split(const struct tfd_queue *q,
                              const struct tfd_kctx *k, int first, bool many,
                              struct tfd_queue_row **rows,
                              struct tfd_status *st) TFD_MUST_USE;
/* Slice `index` of a batch. */
enum tfd_code tfd_queue_slice(const struct tfd_tensor *batch, int64_t index,
                              struct tfd_tensor *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* Puts `count` rows together in k's outputs.  Frees them, and leaves NULL, as
 * it goes; when it fails some may be left. */
enum tfd_code tfd_queue_batch(const struct tfd_queue *q, struct tfd_kctx *k,
                              struct tfd_queue_row **rows, int64_t count,
                              struct tfd_status *st) TFD_MUST_USE;
/* About how many bytes that moves, where all are as large as this one. */
size_t tfd_queue_batch_size(const struct tfd_queue *q,
                            const struct tfd_queue_row *row, int64_t count);

#endif
