/*
 * remote_recv.c - a Recv whose value another task has to be asked for: see
 * transfer.h.
 *
 * A call object belongs to the loop thread and is kept for reuse.  The step may
 * fail on any thread: that posts to the loop, which cancels the call.  So an
 * object is free again when its call has ended and no such post is on its way.
 */
#include "daemon/worker/run/runner.h"
#include "daemon/worker/exchange/transfer.h"

#include "common/base/container.h"
#include "common/proto/worker.pb.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#define RECV(field) tensorflow_RecvTensorRequest_##field##_tag
#define RESPONSE(field) tensorflow_RecvTensorResponse_##field##_tag

struct recv_call {
    struct tfd_remote_recvs *all;
    struct tfd_async *a; /* NULL once it has finished */
    struct tfd_outcall *call;
    struct tfd_cancel cancel;
    struct tfd_post cancel_post;
    bool post_ran;
    struct recv_call *next;
};

struct tfd_remote_recvs {
    struct tfd_loop *loop;
    struct tfd_peers *peers;
    struct recv_call *kept;
};

struct tfd_remote_recvs *tfd_remote_recvs_new(struct tfd_loop *l,
                                              struct tfd_peers *peers,
                                              struct tfd_status *st)
{
    struct tfd_remote_recvs *r = calloc(1, sizeof(*r));

    if (!r) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for transfers");
        return NULL;
    }
    r->loop = l;
    r->peers = peers;
    return r;
}

void tfd_remote_recvs_free(struct tfd_remote_recvs *r)
{
    if (!r)
        return;
    while (r->kept) {
        struct recv_call *next = r->kept->next;

        free(r->kept);
        r->kept = next;
    }
    free(r);
}

static void keep_call(struct recv_call *c)
{
    c->next = c->all->kept;
    c->all->kept = c;
}

/* ---- Cancelling ---------------------------------------------------------- */

static void cancel_posted(struct tfd_post *p)
{
    struct recv_call *c = TFD_CONTAINER_OF(p, struct recv_call, cancel_post);

    c->post_ran = true;
    if (c->call)
        tfd_channel_cancel(c->call);
    else
        keep_call(c);
}

static void step_failed(struct tfd_cancel *cancel)
{
    struct recv_call *c = TFD_CONTAINER_OF(cancel, struct recv_call, cancel);

    tfd_loop_post(c->all->loop, &c->cancel_post);
}

static struct recv_call *call_new(struct tfd_remote_recvs *r)
{
    struct recv_call *c = r->kept;

    if (c)
        r->kept = c->next;
    else
        c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->all = r;
    c->cancel.fn = step_failed;
    c->cancel_post.run = cancel_posted;
    c->post_ran = false;
    return c;
}

/* ---- The answer ---------------------------------------------------------- */

static enum tfd_code decode_tensor(const struct tfd_incoming *in,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(in->proto);
    struct tfd_str tensor = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    bool dead = false;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == RESPONSE(tensor))
            tensor = tfd_pb_str(&r, &f);
        else if (f.tag == RESPONSE(is_dead))
            dead = tfd_pb_bool(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "RecvTensorResponse", st));
    if (dead)
        return TFD_OK;
    return tfd_tensor_decode(in, tensor, tfd_handle_decode, out, st);
}

/* In steps of TensorFlow 2's functions, whose numbers are negative, a
 * coordinator reads which task was lost in these words, of TensorFlow's gRPC.
 */
static void name_sender(const struct tfd_async *a, const struct tfd_status *st,
                        struct tfd_status *out)
{
    if (a->k.step->id >= 0 ||
        (st->code != TFD_UNAVAILABLE && st->code != TFD_ABORTED)) {
        tfd_status_copy(out, st);
        return;
    }
    tfd_fail(out, st->code,
             "%s\nAdditional GRPC error information from remote target %s "
             "while calling /tensorflow.WorkerService/RecvTensor:\n:UNKNOWN:"
             "Error received from peer  {grpc_status:%d}",
             st->text, a->channel->device, (int)st->code);
}

static void answered(void *ctx, const struct tfd_status *st,
                     const struct tfd_incoming *response)
{
    struct recv_call *c = ctx;
    struct tfd_async *a = c->a;
    struct tfd_status own = TFD_STATUS_INIT;

    c->call = NULL;
    c->a = NULL;
    /* Else step_failed() has run, and its post is on its way. */
    if (tfd_step_off_cancel(a->k.step, &c->cancel) || c->post_ran)
        keep_call(c);
    if (st->code == TFD_OK)
        (void)decode_tensor(response, &a->k.out[0], &own);
    else
        name_sender(a, st, &own);
    tfd_kctx_finish(&a->k, own.code == TFD_OK ? NULL : &own);
}

/* ---- The call ------------------------------------------------------------ */

static void put_request(struct tfd_message *m, const struct tfd_async *a)
{
    const struct tfd_iter *place = a->item->it;
    char tail[64];
    size_t key;

    tfd_pb_put_int(&m->proto, RECV(step_id), a->k.step->id);
    key = tfd_pb_begin(&m->proto, RECV(rendezvous_key));
    tfd_bytes_add_str(&m->proto, tfd_str_of(a->channel->key));
    snprintf(tail, sizeof(tail), ";%" PRIu64 ":%" PRId64,
             tfd_while_frame_id(place), place->number);
    tfd_bytes_add_str(&m->proto, tfd_str_of(tail));
    tfd_pb_finish(&m->proto, key);
    tfd_pb_put_int(&m->proto, RECV(request_id),
                   (int64_t)(tfd_device_random() >> 1));
}

static enum tfd_code start_recv(struct tfd_remote_recvs *r, struct tfd_async *a,
                                struct tfd_status *st)
{
    struct tfd_channel *ch = NULL;
    struct tfd_outcall_options options = {0};
    struct recv_call *c;
    struct tfd_message m;

    if (a->channel->peer >= 0)
        ch = tfd_peers_channel(r->peers, a->channel->peer);
    if (!ch)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s is not in this cluster",
                        a->channel->device);
    c = call_new(r);
    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to ask for a tensor");
    if (!tfd_step_on_cancel(a->k.step, &c->cancel)) {
        keep_call(c);
        return tfd_fail(st, TFD_CANCELLED, "the step has failed");
    }
    tfd_message_init(&m, tfd_channel_protocol(ch) == TFD_PROTO_NATIVE);
    put_request(&m, a);
    c->a = a;
    c->call =
        tfd_channel_call(ch, TFD_METHOD_RecvTensor, &m, &options, answered, c);
    tfd_message_deinit(&m);
    return TFD_OK;
}

static void start_posted(struct tfd_post *p)
{
    struct tfd_async *a = TFD_CONTAINER_OF(p, struct tfd_async, post);
    struct tfd_status st = TFD_STATUS_INIT;

    if (start_recv(a->remote, a, &st) != TFD_OK)
        tfd_kctx_finish(&a->k, &st);
}

void tfd_remote_recv(struct tfd_remote_recvs *r, struct tfd_async *a)
{
    a->remote = r;
    a->post.run = start_posted;
    if (tfd_loop_inside(r->loop))
        start_posted(&a->post);
    else
        tfd_loop_post(r->loop, &a->post);
}
