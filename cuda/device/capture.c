/*
 * capture.c - see capture.h.
 *
 *     device's pool | buffer ........ | buffer ................ |
 *     capture's     | region          | region                  |
 *                   | chunk | chunk   | chunk | chunk (free)    |
 */
#include "cuda/device/capture.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Memory -------------------------------------------------------------- */

struct region {
    struct region *next;
    struct tfd_buffer *buffer; /* of the device's pool */
};

/* Lives until its last buffer is back. */
struct nested {
    struct tfd_cuda_memory_pool pool; /* first */
    struct tfd_cuda_device *device;
    struct region *regions;
    char name[32];
};

static size_t captures_limit(const struct tfd_cuda_device *d)
{
    return d->pool.o.limit / TFD_CUDA_CAPTURED_PART;
}

/* Adds to what captures hold, unless that is too much then. */
static bool reserve_memory(struct tfd_cuda_device *d, size_t size)
{
    size_t *reserved = &d->captures.reserved;
    size_t before = TFD_LOAD_RELAXED(reserved);

    do {
        if (size > captures_limit(d) - before)
            return false;
    } while (!TFD_COMPARE_EXCHANGE(reserved, &before, before + size));
    return true;
}

static void unreserve(struct tfd_cuda_device *d, size_t size)
{
    TFD_COUNTER_ADD(&d->captures.reserved, -size);
}

static void *get_region(void *ctx, size_t size)
{
    struct nested *n = ctx;
    struct region *r;

    if (!reserve_memory(n->device, size))
        return NULL;
    r = malloc(sizeof(*r));
    if (r)
        r->buffer = tfd_cuda_memory_pool_make(&n->device->pool, size, NULL);
    if (!r || !r->buffer) {
        unreserve(n->device, size);
        free(r);
        return NULL;
    }
    r->next = n->regions;
    n->regions = r;
    return r->buffer->data;
}

static void put_region(void *ctx, void *at)
{
    struct nested *n = ctx;
    struct region **link = &n->regions;
    struct region *r;

    while ((*link)->buffer->data != at)
        link = &(*link)->next;
    r = *link;
    *link = r->next;
    unreserve(n->device, r->buffer->size);
    tfd_buffer_unref(r->buffer);
    free(r);
}

static struct tfd_buffer *make_capture(struct tfd_memory *m, size_t size,
                                       struct tfd_status *st)
{
    struct nested *n = (struct nested *)m;
    struct tfd_cuda_device *d = n->device;
    struct tfd_buffer *b = tfd_cuda_memory_pool_make(&n->pool, size, st);
    size_t reserved = TFD_LOAD_RELAXED(&d->captures.reserved);

    if (b || size <= captures_limit(d) - reserved)
        return b;
    if (st)
        tfd_status_clear(st); /* of what the pool says */
    (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                   "OOM when allocating %zu bytes for kernels that are "
                   "captured on %s: captures may hold %zu bytes together, "
                   "and %zu are reserved",
                   size, d->name, captures_limit(d), reserved);
    return NULL;
}

static struct nested *make_nested(struct tfd_cuda_device *d)
{
    struct nested *n = malloc(sizeof(*n));
    struct tfd_cuda_memory_pool_options o = {
        .limit = captures_limit(d),
        .grows = true,
        .nested = true,
        .owner = d,
    };

    if (!n)
        return NULL;
    o.source = (struct tfd_cuda_source){get_region, put_region, n, n->name};
    n->device = d;
    n->regions = NULL;
    snprintf(n->name, sizeof(n->name), "a capture of %s", d->name);
    tfd_cuda_memory_pool_init(&n->pool, &o);
    n->pool.memory.make = make_capture;
    n->pool.memory.copy_runs = d->pool.memory.copy_runs;
    return n;
}

/* ---- Captures ------------------------------------------------------------ */

/* Nobody uses what it has. */
static void destroy(struct tfd_cuda_capture *c)
{
    if (c->graph)
        (void)c->device->driver->graph_release(c->graph);
    for (int i = 0; i < c->held_count; i++)
        tfd_buffer_unref(c->held[i]);
    free(c->held);
    free(c);
}

static struct tfd_cuda_capture *new_capture(struct tfd_cuda_device *d,
                                            struct tfd_status *st)
{
    struct tfd_cuda_capture *c = calloc(1, sizeof(*c));
    struct nested *n = c ? make_nested(d) : NULL;

    if (!n) {
        free(c);
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                       "no memory for a capture of %s", d->name);
        return NULL;
    }
    c->device = d;
    c->memory = &n->pool.memory;
    return c;
}

/* Makes c the one that is made on its device. */
static enum tfd_code claim(struct tfd_cuda_capture *c, struct tfd_status *st)
{
    struct tfd_cuda_device *d = c->device;
    bool busy;
    int error = 0;

    tfd_lock(&d->lock);
    busy = d->captures.current;
    if (!busy && !d->captures.stream)
        error = d->driver->stream_make(&d->captures.stream);
    if (!busy && !error)
        d->captures.current = c;
    c->stream = d->captures.stream;
    tfd_unlock(&d->lock);
    if (busy)
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "%s: kernels are being captured by another thread",
                        d->name);
    return tfd_cuda_device_check(d, error, "a stream for captures", st);
}

static void leave_capture(struct tfd_cuda_capture *c)
{
    tfd_lock(&c->device->lock);
    c->device->captures.current = NULL;
    tfd_unlock(&c->device->lock);
    c->ended = true;
}

static enum tfd_code prepare_stream(struct tfd_cuda_device *d,
                                    struct tfd_status *st)
{
    const struct tfd_cuda_library *libraries[] = {&d->blas, &d->dnn};
    enum tfd_code rc = TFD_OK;

    tfd_lock(&d->lock);
    for (int i = 0; i < 2 && rc == TFD_OK; i++)
        if (libraries[i]->own)
            rc = libraries[i]->prepare(libraries[i]->own, d, st);
    tfd_unlock(&d->lock);
    return rc;
}

/* Of c, which is the one that is made. */
static enum tfd_code start_capture(struct tfd_cuda_capture *c,
                                   struct tfd_status *st)
{
    struct tfd_cuda_device *d = c->device;
    enum tfd_code rc = prepare_stream(d, st);

    if (rc == TFD_OK)
        rc = tfd_cuda_device_check(d, d->driver->capture_begin(c->stream),
                                   "the begin of a capture", st);
    if (rc != TFD_OK)
        leave_capture(c);
    return rc;
}

enum tfd_code tfd_cuda_capture_begin(struct tfd_cuda_device *d,
                                     struct tfd_cuda_capture **out,
                                     struct tfd_status *st)
{
    struct tfd_cuda_capture *c;
    enum tfd_code rc;

    TFD_TRY(tfd_cuda_device_use(d, st));
    c = new_capture(d, st);
    if (!c)
        return TFD_RESOURCE_EXHAUSTED;
    rc = claim(c, st);
    if (rc == TFD_OK)
        rc = start_capture(c, st);
    if (rc != TFD_OK) {
        c->ended = true;
        tfd_cuda_capture_drop(c);
        return rc;
    }
    *out = c;
    return TFD_OK;
}

enum tfd_code tfd_cuda_capture_end(struct tfd_cuda_capture *c,
                                   struct tfd_status *st)
{
    struct tfd_cuda_device *d = c->device;
    int error;

    assert(!c->ended);
    (void)d->driver->use(d->ordinal);
    error = d->driver->capture_end(c->stream, &c->graph);
    leave_capture(c);
    if (!error)
        TFD_COUNTER_ADD(&d->captures.made, 1);
    return tfd_cuda_device_check(d, error, "a capture", st);
}

enum tfd_code tfd_cuda_capture_launch(struct tfd_cuda_capture *c,
                                      struct tfd_status *st)
{
    struct tfd_cuda_device *d = c->device;

    assert(c->graph);
    TFD_TRY(tfd_cuda_device_use(d, st));
    c->launched = true;
    TFD_COUNTER_ADD(&d->captures.launches, 1);
    return tfd_cuda_device_check(d,
                                 d->driver->graph_launch(c->graph, d->stream),
                                 "the launch of a capture", st);
}

/* The stream has passed the last launch.  After an error it may not have. */
static void passed(struct tfd_cuda_closure *closure, int error)
{
    struct tfd_cuda_capture *c =
        TFD_CONTAINER_OF(closure, struct tfd_cuda_capture, closure);
    struct tfd_cuda_device *d = c->device;

    if (tfd_cuda_device_check(d, error, "a launch of a capture", NULL) ==
        TFD_OK) {
        destroy(c);
        return;
    }
    tfd_lock(&d->lock);
    c->next = d->captures.stranded;
    d->captures.stranded = c;
    tfd_unlock(&d->lock);
}

void tfd_cuda_capture_drop(struct tfd_cuda_capture *c)
{
    struct tfd_cuda_memory_pool *pool =
        (struct tfd_cuda_memory_pool *)c->memory;
    struct tfd_cuda_device *d = c->device;

    (void)d->driver->use(d->ordinal);
    if (!c->ended) {
        (void)d->driver->capture_end(c->stream, &c->graph);
        leave_capture(c);
    }
    c->closure.fn = passed;
    if (c->launched)
        tfd_cuda_events_after(&d->events, d->stream, &c->closure);
    else
        destroy(c);
    tfd_cuda_memory_pool_close(pool);
}

enum tfd_code tfd_cuda_capture_hold(struct tfd_cuda_device *d,
                                    struct tfd_buffer *b, struct tfd_status *st)
{
    struct tfd_cuda_capture *c = d->captures.current;

    if (c->held_count == c->held_capacity) {
        int capacity = c->held_capacity ? 2 * c->held_capacity : 8;
        struct tfd_buffer **more =
            realloc(c->held, (size_t)capacity * sizeof(struct tfd_buffer *));

        if (!more)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for a capture of %s", d->name);
        c->held = more;
        c->held_capacity = capacity;
    }
    c->held[c->held_count++] = tfd_buffer_ref(b);
    return TFD_OK;
}

void tfd_cuda_captures_deinit(struct tfd_cuda_device *d)
{
    if (d->captures.stream)
        (void)d->driver->stream_release(d->captures.stream);
    while (d->captures.stranded) {
        struct tfd_cuda_capture *c = d->captures.stranded;

        d->captures.stranded = c->next;
        destroy(c);
    }
}
