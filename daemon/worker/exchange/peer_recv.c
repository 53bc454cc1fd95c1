/*
 * peer_recv.c - see peer_copy.h.
 *
 * What a peer shares is mapped by a compute thread, since that may take long,
 * and unmapped when the connection that it was asked for over is gone and the
 * last copy from it has passed.  Connections are looked at now and then.
 */
#include "daemon/worker/exchange/peer_copy.h"
#include "daemon/worker/service/worker_service.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/base/shape_long.h"
#include "common/proto/peer.pb.h"
#include "config/limits.h"
#include "daemon/worker/run/executor.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAP(field) tfd_MapMemory_##field##_tag
#define COPY(field) tfd_CopyTensor_##field##_tag

/* A peer that has died holds its card's memory until then. */
#define SWEEP_US (500u * 1000)

/* Loop thread. */
struct mapped {
    struct mapped *next;
    int refs; /* its list and values */
    uint64_t number, link;
    struct tfd_device *device;
    char *at;
    size_t size;
};

struct tfd_peer_memory {
    struct tfd_worker_service *worker;
    struct mapped *first;
    int count;     /* also of what is being mapped */
    int under_way; /* calls that are not answered */
    bool ending;
    bool sweeping;
    struct tfd_timer sweep;
};

static void one_less(struct tfd_peer_memory *m)
{
    if (--m->under_way == 0 && m->ending)
        tfd_loop_stop(m->worker->options.loop);
}

/* ---- What is mapped ------------------------------------------------------ */

static void unref(struct mapped *x)
{
    if (--x->refs > 0)
        return;
    x->device->share->unmap(x->device, x->at);
    free(x);
}

/* All, or those whose connections are gone. */
static void drop_peer_memory(struct tfd_peer_memory *m, bool all)
{
    struct tfd_service *service = m->worker->options.service;
    struct mapped **at = &m->first;

    while (*at) {
        struct mapped *x = *at;

        if (!all && tfd_links_open(tfd_service_links(service), x->link)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        m->count--;
        unref(x);
    }
}

static void start_sweeping(struct tfd_peer_memory *m)
{
    if (!m->sweeping && m->first)
        m->sweeping = tfd_timer_start(&m->sweep, SWEEP_US, NULL) == TFD_OK;
}

static void sweep(struct tfd_timer *t)
{
    struct tfd_peer_memory *m =
        TFD_CONTAINER_OF(t, struct tfd_peer_memory, sweep);

    m->sweeping = false;
    drop_peer_memory(m, false);
    start_sweeping(m);
}

struct tfd_peer_memory *tfd_peer_memory_new(struct tfd_worker_service *w,
                                            struct tfd_status *st)
{
    struct tfd_peer_memory *m = calloc(1, sizeof(*m));

    if (!m) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a worker");
        return NULL;
    }
    m->worker = w;
    tfd_timer_init(&m->sweep, w->options.loop, sweep);
    return m;
}

void tfd_peer_memory_free(struct tfd_peer_memory *m)
{
    if (!m)
        return;
    m->ending = true;
    while (m->under_way > 0)
        tfd_loop_run(m->worker->options.loop);
    drop_peer_memory(m, true);
    tfd_timer_stop(&m->sweep);
    free(m);
}

/* ---- MapMemory ----------------------------------------------------------- */

struct map_call {
    struct tfd_job job; /* first */
    struct tfd_post post;
    struct tfd_peer_memory *memory;
    struct tfd_call *call;
    struct tfd_device *device;
    struct tfd_device_handle handle;
    void *at;
    size_t size;
    struct tfd_status st;
};

static enum tfd_code enlist(struct map_call *c, uint64_t *number,
                            struct tfd_status *st)
{
    struct tfd_peer_memory *m = c->memory;
    struct mapped *x = malloc(sizeof(*x));

    if (!x) {
        c->device->share->unmap(c->device, c->at);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to map more");
    }
    *number = tfd_device_random();
    *x = (struct mapped){
        m->first, 1, *number, c->call->link, c->device, c->at, c->size,
    };
    m->first = x;
    start_sweeping(m);
    return TFD_OK;
}

static void map_done(struct tfd_post *p)
{
    struct map_call *c = TFD_CONTAINER_OF(p, struct map_call, post);
    struct tfd_message response;
    uint64_t number = 0;

    if (c->st.code == TFD_OK)
        (void)!enlist(c, &number, &c->st);
    if (c->st.code == TFD_OK) {
        tfd_message_init(&response, c->call->native);
        tfd_pb_put_fixed64(&response.proto, tfd_MappedMemory_number_tag,
                           number);
        tfd_call_respond(c->call, &response);
    } else {
        c->memory->count--;
        tfd_call_fail(c->call, &c->st);
    }
    one_less(c->memory);
    free(c);
}

static void map(struct tfd_job *job)
{
    struct map_call *c = (struct map_call *)job;

    (void)!c->device->share->map(c->device, &c->handle, &c->at, &c->size,
                                 &c->st);
    tfd_loop_post(c->memory->worker->options.loop, &c->post);
}

static struct tfd_device *find_gpu(struct tfd_devices *d, uint64_t number)
{
    for (int i = 0; i < d->count; i++)
        if (d->device[i].share && (uint64_t)d->device[i].id == number)
            return &d->device[i];
    return NULL;
}

struct map_request {
    struct tfd_str host, handle;
    uint64_t device;
};

static enum tfd_code decode_map(struct tfd_str proto, struct map_request *q,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *q = (struct map_request){TFD_STR_EMPTY, TFD_STR_EMPTY, 0};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == MAP(host))
            q->host = tfd_pb_str(&r, &f);
        else if (f.tag == MAP(handle))
            q->handle = tfd_pb_str(&r, &f);
        else if (f.tag == MAP(device))
            q->device = (uint64_t)tfd_pb_int64(&r, &f);
    }
    return tfd_pb_end(&r, "MapMemory", st);
}

static enum tfd_code check_map(struct tfd_worker_service *w,
                               const struct map_request *q,
                               struct tfd_device **out, struct tfd_status *st)
{
    TFD_TRY(tfd_worker_check(w, st));
    *out = find_gpu(&w->devices, q->device);
    if (!*out)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s has no GPU:%" PRIu64,
                        w->local.task, q->device);
    if (!*(*out)->share->host || !tfd_str_is(q->host, (*out)->share->host))
        return tfd_fail(st, TFD_FAILED_PRECONDITION, "%s is on another host",
                        w->local.task);
    if (q->handle.size != TFD_DEVICE_HANDLE_SIZE)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "MapMemory: a handle of %zu bytes; it has %d",
                        q->handle.size, TFD_DEVICE_HANDLE_SIZE);
    if (w->peer_memory->count >= TFD_PEER_MEMORY_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d parts of other processes' memory are mapped; %d "
                        "are possible",
                        w->peer_memory->count, TFD_PEER_MEMORY_MAX);
    return TFD_OK;
}

static enum tfd_code begin_map(struct tfd_worker_service *w,
                               struct tfd_call *call, struct tfd_status *st)
{
    struct tfd_device *d;
    struct map_request q;
    struct map_call *c;

    TFD_TRY(decode_map(call->in.proto, &q, st));
    TFD_TRY(check_map(w, &q, &d, st));
    c = calloc(1, sizeof(*c));
    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to map more");
    c->job.run = map;
    c->post.run = map_done;
    c->memory = w->peer_memory;
    c->call = call;
    c->device = d;
    memcpy(c->handle.bytes, q.handle.data, sizeof(c->handle.bytes));
    w->peer_memory->count++;
    w->peer_memory->under_way++;
    if (w->options.pool)
        tfd_pool_submit(w->options.pool, &c->job);
    else
        map(&c->job);
    return TFD_OK;
}

void tfd_peer_map_memory(void *self, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (begin_map(self, call, &st) != TFD_OK)
        tfd_call_fail(call, &st);
}

/* ---- Values -------------------------------------------------------------- */

/* A value that is still at its sender: the buffer of a tensor without data. */
struct distant {
    struct tfd_buffer buffer; /* first */
    struct tfd_post post;
    struct tfd_peer_memory *memory;
    struct tfd_call *call;
    struct mapped *mapped;
    uint64_t offset;
    bool gone; /* atomic: the connection; the sender may use the memory */
};

static void answer_recv(struct tfd_post *p)
{
    struct distant *x = TFD_CONTAINER_OF(p, struct distant, post);
    struct tfd_message m;

    x->call->cancelled = NULL;
    tfd_message_init(&m, x->call->native);
    tfd_call_respond(x->call, &m);
    unref(x->mapped);
    one_less(x->memory);
    free(x);
}

/* A lock may be held. */
static void release_buffer(struct tfd_buffer *b)
{
    struct distant *x = (struct distant *)b;
    struct tfd_loop *l = x->memory->worker->options.loop;

    if (tfd_loop_inside(l))
        tfd_loop_defer(l, &x->post);
    else
        tfd_loop_post(l, &x->post);
}

static void recv_cancelled(void *ctx, struct tfd_call *call)
{
    (void)call;
    TFD_STORE_RELEASE(&((struct distant *)ctx)->gone, true);
}

bool tfd_peer_value_is(const struct tfd_tensor *value)
{
    return value->buffer && value->buffer->release == release_buffer;
}

enum tfd_code tfd_peer_value_refuse(struct tfd_tensor *take_value,
                                    struct tfd_status *st)
{
    tfd_tensor_unref(take_value);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a value on a GPU was sent to where one in host memory is "
                    "waited for");
}

enum tfd_code tfd_peer_value_bring(const struct tfd_tensor *value,
                                   struct tfd_device *d, struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    const struct distant *x = (const struct distant *)value->buffer;

    if (x->mapped->device->own != d->own)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a value for GPU:%d was sent to %s",
                        x->mapped->device->id, d->attributes.name);
    if (TFD_LOAD_ACQUIRE(&x->gone))
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "the task that has a value for %s is gone",
                        d->attributes.name);
    return d->share->bring(d, x->mapped->at + x->offset, value, out, st);
}

/* ---- CopyTensor ---------------------------------------------------------- */

struct copy_request {
    int64_t step;
    uint32_t channel;
    uint64_t frame, iteration, memory, offset;
    int32_t dtype;
    int64_t dim[TFD_RANK_LONG_MAX];
    int rank; /* more than there may be: not all are in dim */
};

static void decode_field(struct tfd_pb_reader *r, const struct tfd_pb_field *f,
                         struct copy_request *q)
{
    switch (f->tag) {
    case COPY(step_id):
        q->step = tfd_pb_int64(r, f);
        break;
    case COPY(channel):
        q->channel = (uint32_t)tfd_pb_int64(r, f);
        break;
    case COPY(frame):
        q->frame = (uint64_t)tfd_pb_int64(r, f);
        break;
    case COPY(iteration):
        q->iteration = (uint64_t)tfd_pb_int64(r, f);
        break;
    case COPY(memory):
        q->memory = f->number;
        break;
    case COPY(offset):
        q->offset = (uint64_t)tfd_pb_int64(r, f);
        break;
    case COPY(dtype):
        q->dtype = tfd_pb_int32(r, f);
        break;
    case COPY(dim):
        if (q->rank < TFD_RANK_LONG_MAX)
            q->dim[q->rank] = tfd_pb_int64(r, f);
        q->rank += q->rank <= TFD_RANK_LONG_MAX;
        break;
    default:
        break;
    }
}

static enum tfd_code decode_copy(struct tfd_str proto, struct copy_request *q,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *q = (struct copy_request){.step = 0};
    while (tfd_pb_next(&r, &f))
        decode_field(&r, &f, q);
    return tfd_pb_end(&r, "CopyTensor", st);
}

static enum tfd_code find_mapped(struct tfd_peer_memory *m, uint64_t number,
                                 uint64_t link, struct mapped **out,
                                 struct tfd_status *st)
{
    struct mapped *x = m ? m->first : NULL;

    while (x && !(x->number == number && x->link == link))
        x = x->next;
    if (!x)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "CopyTensor: no memory is mapped as %016" PRIx64,
                        number);
    *out = x;
    return TFD_OK;
}

/* Type, shape and size of the value, of which all lies in the memory. */
static enum tfd_code check_copy(const struct copy_request *q,
                                const struct mapped *x, struct tfd_tensor *out,
                                size_t *size, struct tfd_status *st)
{
    *out = (struct tfd_tensor)TFD_TENSOR_INIT;
    if (!tfd_dtype_valid(q->dtype) ||
        !tfd_dtype_is_pod((enum tfd_dtype)q->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "CopyTensor: values of type %s cannot be copied",
                        tfd_dtype_name(q->dtype));
    out->dtype = (enum tfd_dtype)q->dtype;
    TFD_TRY(tfd_shape_make_any(&out->shape, q->dim, q->rank, st));
    if (__builtin_mul_overflow((size_t)tfd_shape_elements(&out->shape),
                               tfd_dtype_size(out->dtype), size) ||
        *size == 0 || q->offset > x->size || *size > x->size - q->offset)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "CopyTensor: %" PRId64 " elements of type %s at "
                        "%" PRIu64 " are not within the %zu bytes that are "
                        "mapped",
                        tfd_shape_elements(&out->shape),
                        tfd_dtype_name(q->dtype), q->offset, x->size);
    return TFD_OK;
}

static enum tfd_code make_value(struct tfd_worker_service *w,
                                struct tfd_call *call,
                                const struct copy_request *q,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct mapped *mapped = NULL;
    struct distant *x;
    size_t size = 0;

    TFD_TRY(tfd_worker_check(w, st));
    TFD_TRY(find_mapped(w->peer_memory, q->memory, call->link, &mapped, st));
    TFD_TRY(check_copy(q, mapped, out, &size, st));
    x = malloc(sizeof(*x));
    if (!x)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to copy more");
    *x = (struct distant){
        .buffer = {1, size, NULL, release_buffer},
        .post.run = answer_recv,
        .memory = w->peer_memory,
        .call = call,
        .mapped = mapped,
        .offset = q->offset,
    };
    out->buffer = &x->buffer;
    mapped->refs++;
    w->peer_memory->under_way++;
    call->ctx = x;
    call->cancelled = recv_cancelled;
    return TFD_OK;
}

/* Damage makes the step fail, as nobody else hears of the answer. */
static void fail_step(struct tfd_worker_service *w, struct tfd_call *call,
                      int64_t step, const struct tfd_status *st)
{
    struct tfd_rendezvous *r;

    if (!w->stopping &&
        tfd_rendezvous_find(w->rendezvous, step, &r, NULL) == TFD_OK)
        tfd_rendezvous_abort(r, st);
    tfd_call_fail(call, st);
}

void tfd_peer_copy_tensor(void *self, struct tfd_call *call)
{
    struct tfd_worker_service *w = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_rendezvous *r;
    struct copy_request q;
    struct tfd_tensor value;

    tfd_executor_enter();
    if (decode_copy(call->in.proto, &q, &st) != TFD_OK ||
        make_value(w, call, &q, &value, &st) != TFD_OK)
        fail_step(w, call, q.step, &st);
    else if (tfd_rendezvous_find(w->rendezvous, q.step, &r, NULL) != TFD_OK)
        tfd_tensor_unref(&value);
    else
        tfd_rendezvous_push(
            w->rendezvous, r,
            tfd_rendezvous_key(tfd_rendezvous_push_hash(q.channel), q.frame,
                               q.iteration),
            &value);
    tfd_executor_leave();
}
