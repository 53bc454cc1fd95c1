/*
 * copy_pool.c - see copy_pool.h.
 *
 *     take -> copy, expect: event on its stream -> await: kernels' stream waits
 *      ^                                                      kernels
 *      +--- kept: event on the kernels' stream <- last reference gone
 *
 * A block has one event for both: a wait is for the record before it.
 *
 * The last reference may go on a thread that uses another device or captures,
 * so nothing here depends on the device of the thread but the making of events,
 * and nothing is enqueued on a stream that captures.  It may also go under
 * locks, so the list has one of the innermost rank, as pools do: never both.
 */
#include "cuda/device/copy_pool.h"

#include "common/base/atomic.h"
#include "cuda/device/cuda_device.h"

#include <assert.h>
#include <stdlib.h>

struct tfd_cuda_block {
    struct tfd_cuda_keeper keeper; /* first */
    struct tfd_cuda_device *device;
    struct tfd_buffer *buffer;
    struct tfd_cuda_block *next; /* of those that are kept */
    void *event;  /* of the copy; while it is kept, of those who read it */
    int arriving; /* atomic: the kernels' stream is not behind the copy yet */
    int error;    /* of expect(): nobody knows when the copy ends */
    bool passed;  /* while it is kept: the event has */
};

void tfd_cuda_copy_pool_init(struct tfd_cuda_copy_pool *in)
{
    *in = (struct tfd_cuda_copy_pool){.count = 0};
    tfd_lock_init(&in->lock, TFD_LOCK_ALLOC);
}

/* ---- The list ------------------------------------------------------------ */

static void append_block(struct tfd_cuda_copy_pool *in,
                         struct tfd_cuda_block *b)
{
    b->next = NULL;
    if (in->last)
        in->last->next = b;
    else
        in->first = b;
    in->last = b;
    in->size += tfd_cuda_memory_pool_capacity(b->buffer);
    in->count++;
}

static void unlink_block(struct tfd_cuda_copy_pool *in,
                         struct tfd_cuda_block *b)
{
    struct tfd_cuda_block *before = NULL;
    struct tfd_cuda_block *at = in->first;

    while (at != b) {
        before = at;
        at = at->next;
    }
    if (before)
        before->next = b->next;
    else
        in->first = b->next;
    if (in->last == b)
        in->last = before;
    in->size -= tfd_cuda_memory_pool_capacity(b->buffer);
    in->count--;
}

static size_t bound_of(const struct tfd_cuda_device *d)
{
    return d->pool.o.limit / TFD_CUDA_COPY_POOL_PART;
}

/* There may be one more of that size. */
static bool has_room(const struct tfd_cuda_copy_pool *in,
                     const struct tfd_cuda_device *d, size_t size)
{
    size_t bound = bound_of(d);

    return size <= bound && in->size <= bound - size &&
           in->count < TFD_CUDA_COPY_POOL_MAX;
}

/* Those that were let go first, until there is room; *gone: a list of them. */
static void make_block_room(struct tfd_cuda_copy_pool *in,
                            const struct tfd_cuda_device *d, size_t size,
                            struct tfd_cuda_block **gone)
{
    while (in->first && !has_room(in, d, size)) {
        struct tfd_cuda_block *b = in->first;

        unlink_block(in, b);
        b->next = *gone;
        *gone = b;
    }
}

static void destroy(struct tfd_cuda_block *b)
{
    (void)b->device->driver->event_release(b->event);
    free(b);
}

static void let_go(struct tfd_cuda_block *b)
{
    while (b) {
        struct tfd_cuda_block *next = b->next;

        tfd_cuda_memory_pool_let_go(b->buffer);
        destroy(b);
        b = next;
    }
}

bool tfd_cuda_copy_pool_relieve(struct tfd_cuda_copy_pool *in)
{
    struct tfd_cuda_block *all;

    tfd_lock(&in->lock);
    all = in->first;
    in->first = in->last = NULL;
    in->size = 0;
    in->count = 0;
    tfd_unlock(&in->lock);
    let_go(all);
    return all;
}

void tfd_cuda_copy_pool_deinit(struct tfd_cuda_copy_pool *in)
{
    (void)tfd_cuda_copy_pool_relieve(in);
    tfd_lock_deinit(&in->lock);
}

/* ---- The last reference -------------------------------------------------- */

/* Behind all that reads or writes it. */
static int mark_end(struct tfd_cuda_block *b)
{
    struct tfd_cuda_device *d = b->device;
    int error = b->error ? b->error : tfd_cuda_copy_pool_await(b->buffer);

    return error ? error : d->driver->event_record(b->event, d->stream);
}

static bool keep_buffer(struct tfd_cuda_keeper *k, struct tfd_buffer *buffer)
{
    struct tfd_cuda_block *b = (struct tfd_cuda_block *)k, *gone = NULL;
    struct tfd_cuda_copy_pool *in = &b->device->copy_pool;
    size_t size = tfd_cuda_memory_pool_capacity(buffer);
    bool stays;

    /* Marked and listed as one, so that events pass in the list's order. */
    tfd_lock(&in->lock);
    stays = mark_end(b) == TFD_CUDA_OK && size <= bound_of(b->device);
    if (stays) {
        make_block_room(in, b->device, size, &gone);
        b->passed = false;
        append_block(in, b);
    }
    tfd_unlock(&in->lock);
    let_go(gone);
    if (!stays)
        destroy(b);
    return stays;
}

/* ---- Taking -------------------------------------------------------------- */

/* Of blocks that were let go one after another, those behind one whose event
 * has not passed need not be asked. */
static bool has_passed(struct tfd_cuda_block *b)
{
    if (!b->passed)
        b->passed = b->device->driver->event_query(b->event) == TFD_CUDA_OK;
    return b->passed;
}

static bool is_better(const struct tfd_cuda_block *b,
                      const struct tfd_cuda_block *than)
{
    size_t mine, other;

    if (!than)
        return true;
    mine = tfd_cuda_memory_pool_capacity(b->buffer);
    other = tfd_cuda_memory_pool_capacity(than->buffer);
    if (mine != other)
        return mine < other;
    return (uintptr_t)b->buffer->data < (uintptr_t)than->buffer->data;
}

/* A block for `size` bytes that is free, or will be and there can be no other;
 * NULL: a new one. */
static struct tfd_cuda_block *choose_block(struct tfd_cuda_copy_pool *in,
                                           const struct tfd_cuda_device *d,
                                           size_t size)
{
    struct tfd_cuda_block *best = NULL, *pending = NULL;

    for (struct tfd_cuda_block *b = in->first; b && !pending; b = b->next) {
        if (!tfd_cuda_memory_pool_fits(b->buffer, size))
            continue;
        if (!has_passed(b))
            pending = b;
        else if (is_better(b, best))
            best = b;
    }
    if (best)
        return best;
    return pending && !has_room(in, d, size) ? pending : NULL;
}

static struct tfd_cuda_block *take_kept(struct tfd_cuda_device *d, size_t size)
{
    struct tfd_cuda_copy_pool *in = &d->copy_pool;
    struct tfd_cuda_block *b;

    tfd_lock(&in->lock);
    b = choose_block(in, d, size);
    if (b)
        unlink_block(in, b);
    tfd_unlock(&in->lock);
    if (b)
        tfd_cuda_memory_pool_reuse(b->buffer, size);
    return b;
}

/* As any memory of the pool, for kernels; its event says what these are. */
static enum tfd_code make_block(struct tfd_cuda_device *d, size_t size,
                                struct tfd_cuda_block **out,
                                struct tfd_status *st)
{
    struct tfd_cuda_block *b = calloc(1, sizeof(*b));
    enum tfd_code rc;

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a copy");
    b->keeper.keep = keep_buffer;
    b->device = d;
    rc = tfd_cuda_device_check(d, d->driver->event_make(&b->event), "an event",
                               st);
    if (rc != TFD_OK) {
        free(b);
        return rc;
    }
    b->buffer = tfd_cuda_memory_pool_make(&d->pool, size, st);
    if (!b->buffer) {
        destroy(b);
        return TFD_RESOURCE_EXHAUSTED;
    }
    tfd_cuda_memory_pool_keep(b->buffer, &b->keeper);
    *out = b;
    return tfd_cuda_device_check(
        d, d->driver->event_record(b->event, d->stream), "an event", st);
}

enum tfd_code tfd_cuda_copy_pool_take(struct tfd_cuda_device *d, size_t size,
                                      void *stream, struct tfd_buffer **out,
                                      struct tfd_status *st)
{
    struct tfd_cuda_block *b = take_kept(d, size);
    enum tfd_code rc = TFD_OK;

    if (!b)
        rc = make_block(d, size, &b, st);
    if (rc == TFD_OK && !b->passed)
        rc = tfd_cuda_device_check(d, d->driver->stream_wait(stream, b->event),
                                   "wait for kernels", st);
    if (rc == TFD_OK)
        *out = b->buffer;
    else if (b)
        tfd_buffer_unref(b->buffer);
    return rc;
}

/* ---- The value ----------------------------------------------------------- */

static struct tfd_cuda_block *block_of(const struct tfd_buffer *b)
{
    struct tfd_cuda_keeper *k = tfd_cuda_memory_pool_keeper(b);

    return k && k->keep == keep_buffer ? (struct tfd_cuda_block *)k : NULL;
}

int tfd_cuda_copy_pool_expect(struct tfd_buffer *buffer, void *stream)
{
    struct tfd_cuda_block *b = block_of(buffer);

    assert(b);
    b->error = b->device->driver->event_record(b->event, stream);
    TFD_STORE_RELEASE(&b->arriving, !b->error);
    return b->error;
}

/* Two that come at once both wait, which does no harm. */
int tfd_cuda_copy_pool_await(const struct tfd_buffer *buffer)
{
    struct tfd_cuda_block *b = block_of(buffer);
    int error;

    if (!b || !TFD_LOAD_ACQUIRE(&b->arriving))
        return TFD_CUDA_OK;
    error = b->device->driver->stream_wait(b->device->stream, b->event);
    if (!error)
        TFD_STORE_RELEASE(&b->arriving, 0);
    return error;
}
