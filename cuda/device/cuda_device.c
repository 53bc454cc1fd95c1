/*
 * cuda_device.c - see cuda_device.h.
 */
#include "cuda/device/cuda_device.h"

#include "cuda/device/capture.h"
#include "cuda/device/copy.h"

#include <stdio.h>

/* ---- Memory -------------------------------------------------------------- */

static void *get_region(void *ctx, size_t size)
{
    struct tfd_cuda_device *d = ctx;
    void *at = NULL;

    if (d->driver->use(d->ordinal) || d->driver->allocate(&at, size))
        return NULL;
    return at;
}

static void put_region(void *ctx, void *at)
{
    struct tfd_cuda_device *d = ctx;

    (void)d->driver->use(d->ordinal);
    (void)d->driver->release(at);
}

static void *get_pinned(void *ctx, size_t size)
{
    const struct tfd_cuda_driver *driver = ctx;
    void *at = NULL;

    return driver->host_allocate(&at, size) ? NULL : at;
}

static void put_pinned(void *ctx, void *at)
{
    const struct tfd_cuda_driver *driver = ctx;

    (void)driver->host_release(at);
}

void tfd_cuda_pinned_init(struct tfd_cuda_memory_pool *p,
                          const struct tfd_cuda_driver *driver, size_t limit)
{
    const struct tfd_cuda_memory_pool_options o = {
        .source = {get_pinned, put_pinned, (void *)(uintptr_t)driver,
                   "pinned host memory"},
        .limit = limit,
        .grows = true,
    };

    tfd_cuda_memory_pool_init(p, &o);
}

/* ---- A device ------------------------------------------------------------ */

static enum tfd_code copy_runs(struct tfd_memory *m, void *stream, void *to,
                               size_t to_step, const void *from,
                               size_t from_step, size_t size, size_t count,
                               struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(m);

    return tfd_cuda_device_check(
        d,
        d->driver->copy_runs(to, to_step, from, from_step, size, count, stream),
        "copy", st);
}

static bool relieve(void *owner)
{
    struct tfd_cuda_device *d = owner;

    return tfd_cuda_copy_pool_relieve(&d->copy_pool);
}

static int make_streams(struct tfd_cuda_device *d)
{
    void **const streams[] = {&d->stream, &d->in, &d->out, &d->across};
    int error = d->driver->use(d->ordinal);

    for (size_t i = 0; !error && i < sizeof(streams) / sizeof(streams[0]); i++)
        error = d->driver->stream_make(streams[i]);
    return error;
}

enum tfd_code tfd_cuda_device_init(struct tfd_cuda_device *d,
                                   const struct tfd_cuda_device_options *o,
                                   struct tfd_status *st)
{
    struct tfd_cuda_memory_pool_options pool = {
        .source = {get_region, put_region, d, d->name},
        .limit = o->memory_limit,
        .grows = o->grows,
        .owner = d,
        .relieve = relieve,
    };
    int error;

    *d = (struct tfd_cuda_device){
        .driver = o->driver,
        .ordinal = o->ordinal,
        .number = o->number,
        .pinned = o->pinned,
    };
    snprintf(d->name, sizeof(d->name), "GPU:%d", o->number);
    tfd_cuda_memory_pool_init(&d->pool, &pool);
    d->pool.memory.copy_runs = copy_runs;
    tfd_lock_init(&d->lock, TFD_LOCK_DEVICE);
    tfd_cuda_events_init(&d->events, o->driver, o->ordinal);
    tfd_cuda_events_init(&d->arrivals, o->driver, o->ordinal);
    tfd_cuda_events_init(&d->crossings, o->driver, o->ordinal);
    tfd_cuda_copy_pool_init(&d->copy_pool);
    tfd_cuda_run_ahead_init(&d->run_ahead, d);
    error = o->driver->properties(o->ordinal, &d->properties);
    if (!error)
        error = make_streams(d);
    if (!error)
        return TFD_OK;
    tfd_cuda_device_deinit(d);
    return tfd_fail(st, TFD_INTERNAL, "%s: cannot be used: %s", d->name,
                    o->driver->error_text(error));
}

void tfd_cuda_device_stop(struct tfd_cuda_device *d)
{
    if (d->stopped)
        return;
    d->stopped = true;
    (void)d->driver->use(d->ordinal);
    tfd_cuda_events_deinit(&d->arrivals);
    tfd_cuda_events_deinit(&d->crossings);
    tfd_cuda_events_deinit(&d->events);
}

void tfd_cuda_device_deinit(struct tfd_cuda_device *d)
{
    tfd_cuda_device_stop(d);
    (void)d->driver->use(d->ordinal);
    tfd_cuda_run_ahead_deinit(&d->run_ahead);
    tfd_cuda_copy_free_records(d);
    if (d->blas.own)
        d->blas.release(d->blas.own);
    if (d->dnn.own)
        d->dnn.release(d->dnn.own);
    if (d->stream)
        (void)d->driver->stream_release(d->stream);
    if (d->in)
        (void)d->driver->stream_release(d->in);
    if (d->out)
        (void)d->driver->stream_release(d->out);
    if (d->across)
        (void)d->driver->stream_release(d->across);
    tfd_cuda_captures_deinit(d);
    tfd_lock_deinit(&d->lock);
    tfd_cuda_copy_pool_deinit(&d->copy_pool);
    tfd_cuda_memory_pool_deinit(&d->pool);
}
