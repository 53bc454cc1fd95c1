/*
 * peer_send.c - see peer_copy.h.
 *
 * A row says of a part of memory whether a GPU of a peer maps it.  Rows are
 * made on any thread, asked about and dropped on the loop thread.  A peer that
 * has refused one is asked for no other while its connection lasts.
 */
#include "daemon/worker/run/executor.h"
#include "daemon/worker/exchange/peer_copy.h"
#include "daemon/worker/run/runner.h"
#include "daemon/worker/exchange/transfer.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "common/base/shape_long.h"
#include "common/proto/peer.pb.h"

#include <stddef.h>
#include <stdlib.h>

enum row_state { ASKING, MAPPED, REFUSED };

struct row {
    struct row *next;
    struct tfd_peer_sends *sends; /* NULL: gone before the answer came */
    int32_t peer;
    uint32_t to; /* number of its GPU */
    void *part;
    enum row_state state;
    uint64_t number;          /* of what is MAPPED */
    struct tfd_device device; /* a copy: the session's row may go */
    struct tfd_post post;
};

struct tfd_peer_sends {
    struct tfd_loop *loop;
    struct tfd_peers *peers;
    struct tfd_transfer *transfer;
    struct tfd_lock lock; /* of what follows */
    struct row *rows;
};

struct tfd_peer_sends *tfd_peer_sends_new(struct tfd_loop *l,
                                          struct tfd_peers *peers,
                                          struct tfd_transfer *transfer,
                                          struct tfd_status *st)
{
    struct tfd_peer_sends *s = calloc(1, sizeof(*s));

    if (!s) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for transfers");
        return NULL;
    }
    s->loop = l;
    s->peers = peers;
    s->transfer = transfer;
    tfd_lock_init(&s->lock, TFD_LOCK_RENDEZVOUS);
    return s;
}

/* One that is asked about is freed by the answer. */
static void abandon(struct row *r)
{
    r->sends = NULL;
    if (r->state != ASKING)
        free(r);
}

void tfd_peer_sends_free(struct tfd_peer_sends *s)
{
    if (!s)
        return;
    while (s->rows) {
        struct row *r = s->rows;

        s->rows = r->next;
        abandon(r);
    }
    tfd_lock_deinit(&s->lock);
    free(s);
}

void tfd_peer_sends_lost(struct tfd_peer_sends *s, int32_t peer)
{
    struct tfd_channel *ch = tfd_peers_made(s->peers, peer);
    struct row **at = &s->rows;

    tfd_lock(&s->lock);
    while (*at) {
        struct row *r = *at;

        /* A peer may have several numbers. */
        if (tfd_peers_made(s->peers, r->peer) != ch || r->state == ASKING) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        free(r);
    }
    tfd_unlock(&s->lock);
}

void tfd_peer_sends_gone(struct tfd_peer_sends *s, struct tfd_peers_range range)
{
    struct row **at = &s->rows;

    tfd_lock(&s->lock);
    while (*at) {
        struct row *r = *at;

        if (r->peer < range.first || r->peer >= range.first + range.count) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        abandon(r);
    }
    tfd_unlock(&s->lock);
}

/* ---- Asking -------------------------------------------------------------- */

static void forget_row(struct row *r)
{
    struct row **at = &r->sends->rows;

    tfd_lock(&r->sends->lock);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    tfd_unlock(&r->sends->lock);
    free(r);
}

static void settle_row(struct row *r, enum row_state state, uint64_t number)
{
    tfd_lock(&r->sends->lock);
    r->state = state;
    r->number = number;
    tfd_unlock(&r->sends->lock);
}

static void refuse_row(struct row *r, const struct tfd_status *why)
{
    tfd_log(TFD_LOG_INFO, "no_peer_copies", "to=%s why=\"%s\"",
            tfd_peers_task(r->sends->peers, r->peer), why->text);
    settle_row(r, REFUSED, 0);
}

static enum tfd_code decode_number(const struct tfd_incoming *in,
                                   uint64_t *number, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(in->proto);
    struct tfd_pb_field f;

    *number = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tfd_MappedMemory_number_tag)
            *number = f.number;
    return tfd_pb_end(&r, "MappedMemory", st);
}

/* What became of the connection says nothing of the memory. */
static bool is_passing(enum tfd_code code)
{
    return code == TFD_UNAVAILABLE || code == TFD_CANCELLED ||
           code == TFD_DEADLINE_EXCEEDED;
}

static void answered(void *ctx, const struct tfd_status *st,
                     const struct tfd_incoming *response)
{
    struct row *r = ctx;
    struct tfd_status own = TFD_STATUS_INIT;
    uint64_t number = 0;

    if (!r->sends) {
        free(r);
        return;
    }
    if (st->code == TFD_OK)
        (void)!decode_number(response, &number, &own);
    else
        tfd_status_copy(&own, st);
    if (own.code == TFD_OK)
        settle_row(r, MAPPED, number);
    else if (is_passing(own.code))
        forget_row(r);
    else
        refuse_row(r, &own);
}

static enum tfd_code ask_receiver(struct row *r, struct tfd_status *st)
{
    const struct tfd_outcall_options options = {.timeout_us = 0};
    const struct tfd_device_share *share = r->device.share;
    struct tfd_channel *ch = tfd_peers_channel(r->sends->peers, r->peer);
    struct tfd_device_handle h;
    struct tfd_message m;

    if (!ch)
        return tfd_fail(st, TFD_UNAVAILABLE, "no channel");
    if (!*share->host)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "this host has no name");
    TFD_TRY(share->name(&r->device, r->part, &h, st));
    tfd_message_init(&m, true);
    tfd_pb_put_str(&m.proto, tfd_MapMemory_host_tag, tfd_str_of(share->host));
    tfd_pb_put_str(&m.proto, tfd_MapMemory_handle_tag,
                   (struct tfd_str){(const char *)h.bytes, sizeof(h.bytes)});
    tfd_pb_put_int(&m.proto, tfd_MapMemory_device_tag, r->to);
    tfd_channel_call(ch, TFD_METHOD_MapMemory, &m, &options, answered, r);
    tfd_message_deinit(&m);
    return TFD_OK;
}

static void ask_posted(struct tfd_post *p)
{
    struct row *r = TFD_CONTAINER_OF(p, struct row, post);
    struct tfd_status st = TFD_STATUS_INIT;

    if (!r->sends)
        free(r);
    else if (ask_receiver(r, &st) != TFD_OK && is_passing(st.code))
        forget_row(r);
    else if (st.code != TFD_OK)
        refuse_row(r, &st);
}

/* Under the lock. */
static struct row *add_row(struct tfd_peer_sends *s, const struct row *what,
                           const struct tfd_device *d)
{
    struct row *r = malloc(sizeof(*r));

    if (!r)
        return NULL;
    *r = *what;
    r->device = *d;
    r->post.run = ask_posted;
    r->next = s->rows;
    s->rows = r;
    return r;
}

/* The number of the part at the peer; false: it has none, or not yet. */
static bool find_send(struct tfd_peer_sends *s, const struct row *what,
                      const struct tfd_device *d, uint64_t *number)
{
    struct row *found = NULL, *added = NULL;
    bool refused = false, mapped;

    tfd_lock(&s->lock);
    for (struct row *r = s->rows; r; r = r->next) {
        if (r->peer != what->peer)
            continue;
        refused |= r->state == REFUSED;
        if (r->to == what->to && r->part == what->part)
            found = r;
    }
    mapped = found && found->state == MAPPED;
    if (mapped)
        *number = found->number;
    if (!found && !refused)
        added = add_row(s, what, d);
    tfd_unlock(&s->lock);
    if (added)
        tfd_loop_post(s->loop, &added->post);
    return mapped;
}

/* ---- A value ------------------------------------------------------------- */

/* From when its memory is known to be mapped until the answer. */
struct sending {
    struct tfd_post post;
    struct tfd_peer_sends *sends;
    struct tfd_kctx *k;
    const struct tfd_exec_channel *channel;
    struct tfd_tensor value;
    uint64_t memory, offset;
    struct tfd_status st;
};

static void copied(void *ctx, const struct tfd_status *st,
                   const struct tfd_incoming *response)
{
    struct sending *s = ctx;

    (void)st; /* steps hear of it as of a push that was lost */
    (void)response;
    tfd_tensor_unref(&s->value);
    free(s);
}

static void put_copy(struct tfd_message *m, const struct sending *s)
{
    int64_t dim[TFD_RANK_LONG_MAX];
    const struct tfd_iter *place;
    bool dead;

    place = tfd_executor_place(s->k, &dead);
    tfd_shape_dims(&s->value.shape, dim);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_step_id_tag, s->k->step->id);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_channel_tag, s->channel->number);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_frame_tag,
                   (int64_t)tfd_while_frame_id(place));
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_iteration_tag, place->number);
    tfd_pb_put_fixed64(&m->proto, tfd_CopyTensor_memory_tag, s->memory);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_offset_tag, (int64_t)s->offset);
    tfd_pb_put_int(&m->proto, tfd_CopyTensor_dtype_tag, s->value.dtype);
    for (int i = 0; i < s->value.shape.rank; i++)
        tfd_pb_put_int_always(&m->proto, tfd_CopyTensor_dim_tag, dim[i]);
}

static enum tfd_code hand_over(struct sending *s, struct tfd_status *st)
{
    const struct tfd_outcall_options options = {.timeout_us = 0};
    struct tfd_peers *peers = s->sends->peers;
    int32_t peer = s->channel->peer;
    struct tfd_channel *ch = tfd_peers_channel(peers, peer);
    struct tfd_message m;
    enum tfd_code rc;

    if (!ch || !tfd_channel_up(ch))
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "cannot push tensors to %s: it is not connected",
                        tfd_peers_task(peers, peer));
    if (!tfd_transfer_remember(s->sends->transfer, peer, s->k->step->id))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to push a tensor");
    tfd_message_init(&m, true);
    put_copy(&m, s);
    rc = tfd_bytes_ok(&m.proto, "a push", st);
    if (rc == TFD_OK)
        tfd_channel_call(ch, TFD_METHOD_CopyTensor, &m, &options, copied, s);
    tfd_message_deinit(&m);
    return rc;
}

static void send_posted(struct tfd_post *p)
{
    struct sending *s = TFD_CONTAINER_OF(p, struct sending, post);
    struct tfd_status st = s->st;
    struct tfd_kctx *k = s->k;

    if (st.code != TFD_OK || hand_over(s, &st) != TFD_OK)
        copied(s, NULL, NULL);
    tfd_kctx_finish(k, st.code == TFD_OK ? NULL : &st);
}

static void ready(void *ctx, const struct tfd_status *st)
{
    struct sending *s = ctx;

    if (st)
        tfd_status_copy(&s->st, st);
    tfd_loop_post(s->sends->loop, &s->post);
}

bool tfd_peer_send(struct tfd_peer_sends *s, struct tfd_kctx *k,
                   struct tfd_device *d, const struct tfd_exec_channel *ch,
                   uint32_t to)
{
    struct row what = {.sends = s, .peer = ch->peer, .to = to};
    struct sending *x;
    uint64_t offset, number;

    if (ch->peer < 0 || !*d->share->host)
        return false;
    what.part = d->share->part(d, tfd_tensor_data(&k->in[0]), &offset);
    if (!what.part || !find_send(s, &what, d, &number))
        return false;
    x = malloc(sizeof(*x));
    if (!x)
        return false;
    *x = (struct sending){
        .post.run = send_posted,
        .sends = s,
        .k = k,
        .channel = ch,
        .value = tfd_tensor_ref(&k->in[0]),
        .memory = number,
        .offset = offset,
    };
    d->share->after(d, ready, x);
    return true;
}
