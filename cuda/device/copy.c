/*
 * copy.c - see copy.h.
 *
 *     to the host    kernels | out: wait, copy | event -> finish
 *     from the host  memcpy to pinned | in: copy | those who read it: wait
 *     from a device  its kernels | across: wait, copy | those who read it: wait
 *
 * A copy to a device waits for no kernel there, since what it writes to is of
 * the copy_pool.  Small ones go on the kernels' stream itself, in memory as any
 * kernel's, which costs less than two events.
 *
 * What copies hold is let go in the order of their stream, so each stream that
 * brings something has a queue of its own.
 */
#include "cuda/device/copy.h"

#include "common/base/atomic.h"
#include "cuda/device/capture.h"
#include "cuda/device/copy_pool.h"

#include <stdlib.h>
#include <string.h>

/* Below, a copy takes about as long as ordering two streams. */
#define SMALL_COPY ((size_t)64 << 10)

/* What a copy holds until its event has passed. */
struct tfd_cuda_copy {
    struct tfd_cuda_closure closure; /* first */
    struct tfd_cuda_copy *next;
    struct tfd_cuda_device *device;
    tfd_cuda_copied_fn *done; /* NULL: nobody waits */
    void *ctx;
    struct tfd_buffer *buffer; /* NULL, or to be let go */
    struct tfd_tensor out;
};

/* ---- Records ------------------------------------------------------------- */

static struct tfd_cuda_copy *take_record(struct tfd_cuda_device *d,
                                         struct tfd_status *st)
{
    struct tfd_cuda_copy *c;

    tfd_lock(&d->lock);
    c = d->copies;
    if (c)
        d->copies = c->next;
    tfd_unlock(&d->lock);
    if (!c)
        c = malloc(sizeof(*c));
    if (!c) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a copy");
        return NULL;
    }
    *c = (struct tfd_cuda_copy){.device = d};
    return c;
}

static void put_record(struct tfd_cuda_copy *c)
{
    struct tfd_cuda_device *d = c->device;

    tfd_lock(&d->lock);
    c->next = d->copies;
    d->copies = c;
    tfd_unlock(&d->lock);
}

void tfd_cuda_copy_free_records(struct tfd_cuda_device *d)
{
    while (d->copies) {
        struct tfd_cuda_copy *c = d->copies;

        d->copies = c->next;
        free(c);
    }
}

/* The event of a copy has passed, or never will. */
static void passed(struct tfd_cuda_closure *closure, int error)
{
    struct tfd_cuda_copy *c = (struct tfd_cuda_copy *)closure;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor out = c->out;
    tfd_cuda_copied_fn *done = c->done;
    void *ctx = c->ctx;

    (void)!tfd_cuda_device_check(c->device, error, "copy", &st);
    tfd_buffer_unref(c->buffer);
    put_record(c);
    if (!done)
        return;
    if (st.code != TFD_OK)
        tfd_tensor_unref(&out);
    done(ctx, &out, st.code == TFD_OK ? NULL : &st);
}

/* ---- Directions ---------------------------------------------------------- */

static bool is_small(const struct tfd_tensor *t)
{
    return tfd_tensor_size(t) < SMALL_COPY;
}

static struct tfd_cuda_events *queue_of(struct tfd_cuda_device *d,
                                        const void *stream)
{
    if (stream == d->in)
        return &d->arrivals;
    return stream == d->across ? &d->crossings : &d->events;
}

/* After the kernels enqueued so far. */
static int enqueue_out(struct tfd_cuda_device *d, const struct tfd_tensor *in,
                       const struct tfd_tensor *out, void *stream)
{
    int error = tfd_cuda_copy_pool_await(in->buffer);

    if (!error && stream != d->stream)
        error = tfd_cuda_events_order(&d->events, d->stream, stream);
    if (error)
        return error;
    return d->driver->copy(tfd_tensor_data(out), tfd_tensor_data(in),
                           tfd_tensor_size(in), TFD_CUDA_TO_HOST, stream);
}

/* On success done() is called by the event. */
static enum tfd_code to_host(const struct tfd_tensor *in,
                             struct tfd_cuda_device *d,
                             tfd_cuda_copied_fn *done, void *ctx,
                             struct tfd_status *st)
{
    void *stream = is_small(in) ? d->stream : d->out;
    struct tfd_cuda_copy *c;
    enum tfd_code rc;

    TFD_TRY(tfd_cuda_device_use(d, st));
    c = take_record(d, st);
    if (!c)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_tensor_new_in(&c->out, &d->pinned->memory, in->dtype, &in->shape,
                           st);
    if (rc == TFD_OK)
        rc = tfd_cuda_device_check(d, enqueue_out(d, in, &c->out, stream),
                                   "copy to host", st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(&c->out);
        put_record(c);
        return rc;
    }
    c->done = done;
    c->ctx = ctx;
    c->closure.fn = passed;
    tfd_cuda_events_after(&d->events, stream, &c->closure);
    return TFD_OK;
}

/* Memory of d that `stream` may write to. */
static enum tfd_code make_out(struct tfd_cuda_device *d,
                              const struct tfd_tensor *value, void *stream,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    *out = (struct tfd_tensor){value->dtype, value->shape, NULL};
    if (stream != d->stream)
        return tfd_cuda_copy_pool_take(d, tfd_tensor_size(value), stream,
                                       &out->buffer, st);
    return tfd_tensor_new_in(out, &d->pool.memory, value->dtype, &value->shape,
                             st);
}

/* The copy to out is enqueued, unless error is one. */
static int expect(const struct tfd_cuda_device *d, const struct tfd_tensor *out,
                  void *stream, int error)
{
    if (error || stream == d->stream)
        return error;
    return tfd_cuda_copy_pool_expect(out->buffer, stream);
}

static int enqueue_in(struct tfd_cuda_device *d, const void *from,
                      const struct tfd_tensor *out, void *stream)
{
    int error =
        d->driver->copy(tfd_tensor_data(out), from, tfd_tensor_size(out),
                        TFD_CUDA_TO_DEVICE, stream);

    return expect(d, out, stream, error);
}

/* The bytes in pinned memory: where they are, or a copy. */
static struct tfd_buffer *pin(struct tfd_cuda_device *d,
                              const struct tfd_tensor *t, struct tfd_status *st)
{
    struct tfd_buffer *b;

    if (tfd_cuda_memory_pool_of(t->buffer) == d->pinned)
        return tfd_buffer_ref(t->buffer);
    b = tfd_cuda_memory_pool_make(d->pinned, tfd_tensor_size(t), st);
    if (b)
        memcpy(b->data, tfd_tensor_data(t), tfd_tensor_size(t));
    return b;
}

static enum tfd_code from_host(const struct tfd_tensor *in,
                               struct tfd_cuda_device *d,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    void *stream = is_small(in) ? d->stream : d->in;
    struct tfd_cuda_copy *c;
    enum tfd_code rc;

    TFD_TRY(tfd_cuda_device_use(d, st));
    c = take_record(d, st);
    if (!c)
        return TFD_RESOURCE_EXHAUSTED;
    rc = make_out(d, in, stream, out, st);
    if (rc == TFD_OK && !(c->buffer = pin(d, in, st)))
        rc = TFD_RESOURCE_EXHAUSTED;
    if (rc == TFD_OK)
        rc = tfd_cuda_device_check(d,
                                   enqueue_in(d, c->buffer->data, out, stream),
                                   "copy to device", st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(out);
        tfd_buffer_unref(c->buffer);
        put_record(c);
        return rc;
    }
    c->closure.fn = passed;
    tfd_cuda_events_after(queue_of(d, stream), stream, &c->closure);
    return TFD_OK;
}

static void *stream_across(struct tfd_cuda_device *to,
                           const struct tfd_tensor *value)
{
    return is_small(value) ? to->stream : to->across;
}

/* On the receiver's side, which waits for the sender's kernels. */
static int enqueue_across(struct tfd_cuda_device *from,
                          struct tfd_cuda_device *to,
                          const struct tfd_tensor *in,
                          const struct tfd_tensor *out, void *stream)
{
    int error = from->driver->use(from->ordinal);

    if (!error)
        error = tfd_cuda_copy_pool_await(in->buffer);
    if (!error)
        error = tfd_cuda_events_order(&from->events, from->stream, stream);
    if (!error)
        error = to->driver->use(to->ordinal);
    if (!error)
        error = to->driver->copy_peer(tfd_tensor_data(out), to->ordinal,
                                      tfd_tensor_data(in), from->ordinal,
                                      tfd_tensor_size(in), stream);
    return expect(to, out, stream, error);
}

static int enqueue_mapped(struct tfd_cuda_device *d, const void *from,
                          const struct tfd_tensor *out, void *stream)
{
    size_t size = tfd_tensor_size(out);
    int error = d->driver->copy_runs(tfd_tensor_data(out), size, from, size,
                                     size, 1, stream);

    return expect(d, out, stream, error);
}

enum tfd_code tfd_cuda_copy_across(struct tfd_cuda_device *from,
                                   struct tfd_cuda_device *to,
                                   const struct tfd_tensor *in,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    void *stream = stream_across(to, in);
    struct tfd_cuda_copy *c;
    enum tfd_code rc;

    TFD_TRY(tfd_cuda_device_use(from, st));
    TFD_TRY(tfd_cuda_device_use(to, st));
    c = take_record(to, st);
    if (!c)
        return TFD_RESOURCE_EXHAUSTED;
    rc = make_out(to, in, stream, out, st);
    if (rc == TFD_OK)
        rc =
            tfd_cuda_device_check(to, enqueue_across(from, to, in, out, stream),
                                  "copy between devices", st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(out);
        put_record(c);
        return rc;
    }
    c->buffer = tfd_buffer_ref(in->buffer);
    c->closure.fn = passed;
    tfd_cuda_events_after(queue_of(to, stream), stream, &c->closure);
    return TFD_OK;
}

/* ---- Copies -------------------------------------------------------------- */

static void finish_copy(void *ctx, struct tfd_tensor *take_out,
                        const struct tfd_status *st)
{
    struct tfd_kctx *k = ctx;

    if (!st)
        k->out[0] = *take_out;
    tfd_kctx_finish(k, st);
}

void tfd_cuda_copy(struct tfd_kctx *k, struct tfd_cuda_device *from,
                   struct tfd_cuda_device *to)
{
    const struct tfd_tensor *in = &k->in[0];
    struct tfd_status st = TFD_STATUS_INIT;

    if (!in->buffer) {
        k->out[0] = *in;
    } else if (in->dtype == TFD_VARIANT) {
        tfd_cuda_copy_variant(k, from, to);
        return;
    } else if (!to) {
        if (to_host(in, from, finish_copy, k, &st) == TFD_OK)
            return;
    } else if (!from) {
        (void)!from_host(in, to, &k->out[0], &st);
    } else {
        (void)!tfd_cuda_copy_across(from, to, in, &k->out[0], &st);
    }
    tfd_kctx_finish(k, st.code == TFD_OK ? NULL : &st);
}

void tfd_cuda_copy_out(struct tfd_cuda_device *d,
                       const struct tfd_tensor *value, tfd_cuda_copied_fn *done,
                       void *ctx)
{
    struct tfd_tensor nothing = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;

    if (to_host(value, d, done, ctx, &st) != TFD_OK)
        done(ctx, &nothing, &st);
}

/* The memory behind `from` stays while value's buffer does. */
enum tfd_code tfd_cuda_copy_mapped(struct tfd_cuda_device *d, const void *from,
                                   const struct tfd_tensor *value,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    void *stream = stream_across(d, value);
    struct tfd_cuda_copy *c;
    enum tfd_code rc;

    TFD_TRY(tfd_cuda_device_use(d, st));
    c = take_record(d, st);
    if (!c)
        return TFD_RESOURCE_EXHAUSTED;
    rc = make_out(d, value, stream, out, st);
    if (rc == TFD_OK)
        rc = tfd_cuda_device_check(d, enqueue_mapped(d, from, out, stream),
                                   "copy from another process", st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(out);
        put_record(c);
        return rc;
    }
    TFD_COUNTER_ADD(&d->peer_bytes, tfd_tensor_size(value));
    c->buffer = tfd_buffer_ref(value->buffer);
    c->closure.fn = passed;
    tfd_cuda_events_after(queue_of(d, stream), stream, &c->closure);
    return TFD_OK;
}

enum tfd_code tfd_cuda_copy_in(struct tfd_cuda_device *d,
                               const struct tfd_tensor *value,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    *out = (struct tfd_tensor){value->dtype, value->shape, NULL};
    return value->buffer ? from_host(value, d, out, st) : TFD_OK;
}

static enum tfd_code capture_copy(struct tfd_kctx *k,
                                  const struct tfd_tensor *value,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct tfd_buffer *pinned;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new_in(out, k->memory, value->dtype, &value->shape, st));
    pinned = pin(d, value, st);
    rc = pinned ? tfd_cuda_capture_hold(d, pinned, st) : TFD_RESOURCE_EXHAUSTED;
    if (rc == TFD_OK)
        rc = tfd_cuda_device_check(
            d,
            d->driver->copy(tfd_tensor_data(out), pinned->data,
                            tfd_tensor_size(out), TFD_CUDA_TO_DEVICE,
                            k->stream),
            "copy to device", st);
    tfd_buffer_unref(pinned);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

enum tfd_code tfd_cuda_copy_for(struct tfd_kctx *k,
                                const struct tfd_tensor *value,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    enum tfd_code rc;

    if (value->buffer && k->stream != d->stream)
        return capture_copy(k, value, out, st);
    TFD_TRY(tfd_cuda_copy_in(d, value, out, st));
    rc = tfd_cuda_copy_await(d, out, 1, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

enum tfd_code tfd_cuda_copy_await(struct tfd_cuda_device *d,
                                  const struct tfd_tensor *values, int count,
                                  struct tfd_status *st)
{
    int error = TFD_CUDA_OK;

    for (int i = 0; i < count && !error; i++)
        error = tfd_cuda_copy_pool_await(values[i].buffer);
    return tfd_cuda_device_check(d, error, "wait for a copy", st);
}
