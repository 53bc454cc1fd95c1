/*
 * recv_call.c - tensors that other tasks ask for (RecvTensor) or bring
 * (PushTensors).
 *
 * A RecvTensor call waits in the rendezvous of its step like a Recv node.  The
 * value may arrive on any thread; it is answered on the loop thread.
 */
#include "daemon/worker/service/worker_service.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/container.h"
#include "common/base/hash.h"
#include "common/proto/peer.pb.h"
#include "common/proto/worker.pb.h"
#include "daemon/worker/run/executor.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define RECV(field) tensorflow_RecvTensorRequest_##field##_tag
#define RECEIVED(field) tensorflow_RecvTensorResponse_##field##_tag
#define PUSH(field) tfd_PushTensors_##field##_tag
#define PUSHED(field) tfd_PushedTensor_##field##_tag

/* ---- Keys ---------------------------------------------------------------- */

struct key {
    struct tfd_str whole, device, prefix; /* prefix: without frame, iteration */
    uint64_t incarnation, frame, iteration;
};

static enum tfd_code bad_key(const struct key *k, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid  rendezvous key: " TFD_STR_FMT,
                    TFD_STR_ARG(k->whole));
}

/* The part up to the next `end`; false when there is none. */
static bool cut_part(struct tfd_str *rest, char end, struct tfd_str *part)
{
    const char *at = memchr(rest->data, end, rest->size);

    if (!at)
        return false;
    *part = (struct tfd_str){rest->data, (size_t)(at - rest->data)};
    rest->size -= part->size + 1;
    rest->data = at + 1;
    return true;
}

static bool parse_number(struct tfd_str s, unsigned base, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];
        unsigned digit = 99;

        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        if (digit >= base || *out > (UINT64_MAX - digit) / base)
            return false;
        *out = *out * base + digit;
    }
    return s.size > 0;
}

/* SEND;INCARNATION;RECV;NAME;FRAME:ITERATION */
static enum tfd_code parse_key(struct tfd_str whole, struct key *k,
                               struct tfd_status *st)
{
    struct tfd_str rest = whole, incarnation, to, name, frame;

    k->whole = whole;
    if (!whole.size || !cut_part(&rest, ';', &k->device) ||
        !cut_part(&rest, ';', &incarnation) || !cut_part(&rest, ';', &to) ||
        !cut_part(&rest, ';', &name) || !name.size)
        return bad_key(k, st);
    k->prefix =
        (struct tfd_str){whole.data, (size_t)(rest.data - whole.data) - 1};
    if (!cut_part(&rest, ':', &frame) ||
        !parse_number(incarnation, 16, &k->incarnation) ||
        !parse_number(frame, 10, &k->frame) ||
        !parse_number(rest, 10, &k->iteration))
        return bad_key(k, st);
    return TFD_OK;
}

static enum tfd_code check_device(struct tfd_worker_service *w,
                                  const struct key *k, struct tfd_status *st)
{
    const struct tfd_device *d = tfd_devices_find_local(&w->devices, k->device);

    if (!d)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        TFD_STR_FMT " unknown device.", TFD_STR_ARG(k->device));
    if (d->attributes.incarnation == k->incarnation)
        return TFD_OK;
    return tfd_fail(
        st, TFD_ABORTED,
        "RecvTensor expects a different device incarnation: %" PRIu64
        " vs. %" PRIu64
        ". Your worker job (\"%s\") was probably restarted. Check your worker "
        "job for the reason why it was restarted.",
        k->incarnation, d->attributes.incarnation, w->local.task);
}

/* ---- RecvTensor ---------------------------------------------------------- */

struct recv {
    struct tfd_waiter waiter;
    struct tfd_post post;
    struct tfd_worker_service *worker;
    struct tfd_call *call;
    struct tfd_rendezvous *rendezvous;
    uint64_t key;
    bool has_arrived; /* atomic: the rendezvous may be gone */
    struct tfd_tensor value;
    struct tfd_status st;
};

static void respond(struct recv *r)
{
    static const struct tfd_tensor none = {TFD_FLOAT, {1, {0}}, NULL};
    bool dead = r->value.dtype == TFD_DTYPE_INVALID;
    struct tfd_call *call = r->call;
    struct tfd_message m;

    call->cancelled = NULL;
    if (r->st.code != TFD_OK) {
        tfd_call_fail(call, &r->st);
        free(r);
        return;
    }
    tfd_message_init(&m, call->native);
    tfd_pb_put_bool(&m.proto, RECEIVED(is_dead), dead);
    tfd_pb_put_int(&m.proto, RECEIVED(send_start_micros), tfd_clock_wall_us());
    tfd_message_put_tensor(&m, RECEIVED(tensor), dead ? &none : &r->value,
                           tfd_handle_encode);
    tfd_call_respond(call, &m);
    tfd_tensor_unref(&r->value);
    free(r);
}

static void respond_posted(struct tfd_post *p)
{
    respond(TFD_CONTAINER_OF(p, struct recv, post));
}

static void recv_arrived(struct tfd_waiter *w, struct tfd_tensor *take_value,
                         const struct tfd_status *st)
{
    struct recv *r = (struct recv *)w;

    TFD_STORE_RELEASE(&r->has_arrived, true);
    if (st)
        tfd_status_copy(&r->st, st);
    else if (tfd_peer_value_is(take_value))
        (void)!tfd_peer_value_refuse(take_value, &r->st);
    else
        r->value = *take_value;
    if (tfd_loop_inside(r->worker->options.loop))
        respond(r);
    else
        tfd_loop_post(r->worker->options.loop, &r->post);
}

/* Where it is not found any more its value has arrived, and the answer comes
 * by itself. */
static void recv_cancelled(void *ctx, struct tfd_call *call)
{
    struct recv *r = ctx;

    (void)call;
    if (TFD_LOAD_ACQUIRE(&r->has_arrived) ||
        !tfd_rendezvous_forget(r->rendezvous, r->key, &r->waiter))
        return;
    tfd_fail(&r->st, TFD_CANCELLED, "RecvTensor was cancelled by its caller.");
    respond(r);
}

struct recv_request {
    struct tfd_str key;
    int64_t step_id;
    uint64_t request_id;
};

static enum tfd_code decode_recv(struct tfd_str proto, struct recv_request *q,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == RECV(rendezvous_key))
            q->key = tfd_pb_str(&r, &f);
        else if (f.tag == RECV(step_id))
            q->step_id = tfd_pb_int64(&r, &f);
        else if (f.tag == RECV(request_id))
            q->request_id = (uint64_t)tfd_pb_int64(&r, &f);
    }
    return tfd_service_request_end(&r, st);
}

static enum tfd_code begin_recv(struct tfd_worker_service *w,
                                struct tfd_call *call, struct recv **out,
                                struct tfd_status *st)
{
    struct recv_request q = {.key = TFD_STR_EMPTY};
    struct tfd_rendezvous *rendezvous;
    struct key key = {.frame = 0};

    TFD_TRY(decode_recv(call->in.proto, &q, st));
    TFD_TRY(tfd_request_ids_add(&w->recv_ids, q.request_id,
                                "RecvTensor (GrpcWorker)", st));
    TFD_TRY(parse_key(q.key, &key, st));
    TFD_TRY(check_device(w, &key, st));
    TFD_TRY(tfd_rendezvous_find(w->rendezvous, q.step_id, &rendezvous, st));
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a RecvTensor call");
    (*out)->waiter.arrived = recv_arrived;
    (*out)->post.run = respond_posted;
    (*out)->worker = w;
    (*out)->call = call;
    (*out)->rendezvous = rendezvous;
    (*out)->key =
        tfd_rendezvous_key(tfd_hash_str(key.prefix), key.frame, key.iteration);
    return TFD_OK;
}

void tfd_worker_recv_tensor(void *self, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct recv *r;

    if (begin_recv(self, call, &r, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    call->ctx = r;
    call->cancelled = recv_cancelled;
    tfd_rendezvous_recv(r->rendezvous, r->key, &r->waiter);
}

/* ---- PushTensors --------------------------------------------------------- */

struct pushed {
    struct tfd_str tensor;
    uint32_t channel;
    uint64_t frame, iteration;
    bool dead;
};

static enum tfd_code decode_pushed(struct tfd_str proto, struct pushed *p,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *p = (struct pushed){.tensor = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case PUSHED(channel):
            p->channel = (uint32_t)tfd_pb_int64(&r, &f);
            break;
        case PUSHED(is_dead):
            p->dead = tfd_pb_bool(&r, &f);
            break;
        case PUSHED(frame):
            p->frame = (uint64_t)tfd_pb_int64(&r, &f);
            break;
        case PUSHED(iteration):
            p->iteration = (uint64_t)tfd_pb_int64(&r, &f);
            break;
        case PUSHED(tensor):
            p->tensor = tfd_pb_str(&r, &f);
            break;
        default:
            break;
        }
    }
    return tfd_pb_end(&r, "PushedTensor", st);
}

static enum tfd_code push_one(struct tfd_worker_service *w,
                              struct tfd_rendezvous *rendezvous,
                              const struct tfd_incoming *in,
                              struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_tensor value = TFD_TENSOR_INIT;
    struct pushed p;

    TFD_TRY(decode_pushed(proto, &p, st));
    if (!p.dead)
        TFD_TRY(tfd_tensor_decode(in, p.tensor, tfd_handle_decode, &value, st));
    tfd_rendezvous_push(w->rendezvous, rendezvous,
                        tfd_rendezvous_key(tfd_rendezvous_push_hash(p.channel),
                                           p.frame, p.iteration),
                        &value);
    return TFD_OK;
}

static enum tfd_code push_all(struct tfd_worker_service *w,
                              struct tfd_rendezvous *rendezvous,
                              const struct tfd_incoming *in,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(in->proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == PUSH(tensor))
            TFD_TRY(push_one(w, rendezvous, in, tfd_pb_str(&r, &f), st));
    return tfd_pb_end(&r, "PushTensors", st);
}

/* The fields before the tensors, wherever they stand. */
static int64_t decode_push_head(struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str text = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int64_t step = 0;
    int32_t code = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == PUSH(step_id))
            step = tfd_pb_int64(&r, &f);
        else if (f.tag == PUSH(error_code))
            code = tfd_pb_int32(&r, &f);
        else if (f.tag == PUSH(error_message))
            text = tfd_pb_str(&r, &f);
    }
    if (code != 0)
        tfd_fail(st, (enum tfd_code)code, TFD_STR_FMT, TFD_STR_ARG(text));
    return step;
}

/* Steps go on when all tensors of the message have been taken.  Damage makes
 * the step fail: nobody waits for an answer. */
void tfd_worker_push_tensors(void *self, struct tfd_call *call)
{
    struct tfd_worker_service *w = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_rendezvous *rendezvous;
    int64_t step = decode_push_head(call->in.proto, &st);
    struct tfd_message m;

    tfd_executor_enter();
    if (tfd_rendezvous_find(w->rendezvous, step, &rendezvous, NULL) == TFD_OK) {
        if (st.code == TFD_OK)
            (void)push_all(w, rendezvous, &call->in, &st);
        if (st.code != TFD_OK)
            tfd_rendezvous_abort(rendezvous, &st);
    }
    tfd_message_init(&m, call->native);
    tfd_call_respond(call, &m);
    tfd_executor_leave();
}
