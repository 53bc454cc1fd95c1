/*
 * push.c - see transfer.h.
 *
 * Values are queued in an array with the step and the peer they belong to.  The
 * first one posts to the loop thread, or on it defers to the end of its turn;
 * it writes one message for all values of one step to one peer.  Two arrays
 * take turns, so that in steady state nothing is allocated.
 *
 * A step stays until its values are sent: its owner flushes before it says that
 * the step has ended.
 *
 * Nobody answers a push, so when a connection breaks it is not known what has
 * arrived, and the steps at this end may have ended long since.  The peer is
 * told the last ones, and those that it still runs fail.
 */
#include "daemon/worker/run/executor.h"
#include "daemon/worker/run/runner.h"
#include "daemon/worker/exchange/transfer.h"

#include "common/base/container.h"
#include "common/proto/peer.pb.h"
#include "config/limits.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A message holds no more than this, so that the first values are on their way
 * while the next are written. */
#define MESSAGE_SIZE_MAX ((size_t)8 << 20)
#define MESSAGE_TENSORS_MAX 4096

struct item {
    struct tfd_step *step; /* NULL: sent */
    int32_t peer;
    uint32_t channel;
    uint64_t frame, iteration;
    struct tfd_tensor value; /* empty: dead */
};

struct item_list {
    struct item *items;
    size_t count, capacity;
};

/* The steps that a peer was pushed values of, the last of them. */
struct pushed {
    int64_t steps[TFD_LOST_PUSHES_MAX]; /* 0: none */
    uint32_t next;
};

struct tfd_transfer {
    struct tfd_loop *loop;
    struct tfd_peers *peers;
    struct pushed **pushed; /* by peer; NULL: nothing yet.  Loop thread */
    int32_t pushed_room;    /* sessions bring more peers */
    struct tfd_remote_recvs *recvs;
    struct tfd_peer_sends *peer_sends;
    struct tfd_lock lock; /* of what follows */
    struct item_list waiting;
    bool scheduled;
    struct tfd_post post;
    struct item_list sending; /* loop thread, as what follows */
    struct tfd_step *failed;  /* their values could not be sent */
};

static void run_post(struct tfd_post *p)
{
    struct tfd_transfer *t = TFD_CONTAINER_OF(p, struct tfd_transfer, post);

    tfd_lock(&t->lock);
    t->scheduled = false;
    tfd_unlock(&t->lock);
    tfd_transfer_flush(t);
}

struct tfd_transfer *tfd_transfer_new(struct tfd_loop *l,
                                      struct tfd_peers *peers,
                                      struct tfd_status *st)
{
    struct tfd_transfer *t = calloc(1, sizeof(*t));

    if (!t) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for transfers");
        return NULL;
    }
    t->loop = l;
    t->peers = peers;
    t->post.run = run_post;
    tfd_lock_init(&t->lock, TFD_LOCK_RENDEZVOUS);
    t->recvs = tfd_remote_recvs_new(l, peers, st);
    t->peer_sends = tfd_peer_sends_new(l, peers, t, st);
    if (!t->recvs || !t->peer_sends) {
        tfd_transfer_free(t);
        return NULL;
    }
    return t;
}

void tfd_transfer_free(struct tfd_transfer *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->waiting.count; i++)
        tfd_tensor_unref(&t->waiting.items[i].value);
    tfd_remote_recvs_free(t->recvs);
    tfd_peer_sends_free(t->peer_sends);
    for (int32_t i = 0; i < t->pushed_room; i++)
        free(t->pushed[i]);
    free(t->pushed);
    free(t->waiting.items);
    free(t->sending.items);
    tfd_lock_deinit(&t->lock);
    free(t);
}

/* ---- Queueing ------------------------------------------------------------ */

static bool grow_items(struct item_list *l)
{
    size_t capacity = l->capacity ? l->capacity * 2 : 64;
    struct item *items = realloc(l->items, capacity * sizeof(*items));

    if (!items)
        return false;
    l->items = items;
    l->capacity = capacity;
    return true;
}

enum tfd_code tfd_transfer_push(struct tfd_transfer *t, struct tfd_step *s,
                                const struct tfd_exec_channel *ch,
                                const struct tfd_iter *place,
                                struct tfd_tensor *take_value,
                                struct tfd_status *st)
{
    struct item_list *l = &t->waiting;
    bool added, schedule;

    tfd_lock(&t->lock);
    added = l->count < l->capacity || grow_items(l);
    if (added)
        l->items[l->count++] = (struct item){
            .step = s,
            .peer = ch->peer,
            .channel = ch->number,
            .frame = tfd_while_frame_id(place),
            .iteration = (uint64_t)place->number,
            .value = *take_value,
        };
    schedule = added && !t->scheduled;
    t->scheduled |= schedule;
    tfd_unlock(&t->lock);

    if (!added) {
        tfd_tensor_unref(take_value);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to push a tensor");
    }
    *take_value = (struct tfd_tensor)TFD_TENSOR_INIT;
    if (schedule && tfd_loop_inside(t->loop))
        tfd_loop_defer_first(t->loop, &t->post); /* before what writes */
    else if (schedule)
        tfd_loop_post(t->loop, &t->post);
    return TFD_OK;
}

/* ---- Sending ------------------------------------------------------------- */

static void put_item(struct tfd_message *m, struct item *item)
{
    size_t mark = tfd_message_begin(m, tfd_PushTensors_tensor_tag);
    struct tfd_bytes *b = &m->proto;

    tfd_pb_put_int(b, tfd_PushedTensor_channel_tag, item->channel);
    tfd_pb_put_int(b, tfd_PushedTensor_frame_tag, (int64_t)item->frame);
    tfd_pb_put_int(b, tfd_PushedTensor_iteration_tag, (int64_t)item->iteration);
    if (item->value.dtype == TFD_DTYPE_INVALID)
        tfd_pb_put_bool(b, tfd_PushedTensor_is_dead_tag, true);
    else
        tfd_message_put_tensor(m, tfd_PushedTensor_tensor_tag, &item->value,
                               tfd_handle_encode);
    tfd_message_finish(m, mark);
}

/* Writes the items of one step to one peer from `first` on. */
static void fill_message(struct item_list *l, size_t first,
                         struct tfd_message *m)
{
    struct item *head = &l->items[first];
    struct tfd_step *step = head->step;
    size_t size = 0, count = 0;

    tfd_pb_put_int(&m->proto, tfd_PushTensors_step_id_tag, step->id);
    for (size_t i = first; i < l->count; i++) {
        struct item *item = &l->items[i];

        if (item->step != step || item->peer != head->peer)
            continue;
        if (size > MESSAGE_SIZE_MAX || count == MESSAGE_TENSORS_MAX)
            break;
        put_item(m, item);
        size += tfd_tensor_size(&item->value);
        count++;
        tfd_tensor_unref(&item->value);
        item->step = NULL;
    }
}

static enum tfd_code hand_over(struct tfd_channel *ch,
                               struct tfd_message *take_message,
                               struct tfd_status *st)
{
    enum tfd_code rc = tfd_bytes_ok(&take_message->proto, "a push", st);

    if (!ch)
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a channel");
    if (rc == TFD_OK)
        rc = tfd_channel_send(ch, TFD_METHOD_PushTensors, take_message, st);
    tfd_message_deinit(take_message);
    return rc;
}

static void add_failed(struct tfd_transfer *t, struct tfd_step *s,
                       const struct tfd_status *st)
{
    tfd_executor_record(s, st);
    if (s->unsent)
        return;
    s->unsent = true;
    s->next_unsent = t->failed;
    t->failed = s;
}

static struct pushed *pushed_to(const struct tfd_transfer *t, int32_t peer)
{
    return peer < t->pushed_room ? t->pushed[peer] : NULL;
}

static bool make_item_room(struct tfd_transfer *t, int32_t peer)
{
    int32_t room = 2 * peer + 1;
    struct pushed **grown;

    if (peer < t->pushed_room)
        return true;
    grown = realloc(t->pushed, (size_t)room * sizeof(struct pushed *));
    if (!grown)
        return false;
    for (int32_t i = t->pushed_room; i < room; i++)
        grown[i] = NULL;
    t->pushed = grown;
    t->pushed_room = room;
    return true;
}

bool tfd_transfer_remember(struct tfd_transfer *t, int32_t peer, int64_t step)
{
    struct pushed *p = pushed_to(t, peer);

    if (!p && make_item_room(t, peer))
        p = t->pushed[peer] = calloc(1, sizeof(*p));
    if (!p)
        return false;
    if (p->steps[(p->next - 1) % TFD_LOST_PUSHES_MAX] != step)
        p->steps[p->next++ % TFD_LOST_PUSHES_MAX] = step;
    return true;
}

static void send(struct tfd_transfer *t, size_t first)
{
    struct tfd_step *step = t->sending.items[first].step;
    int32_t peer = t->sending.items[first].peer;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_channel *ch = tfd_peers_channel(t->peers, peer);
    struct tfd_message m;

    tfd_message_init(&m, true);
    fill_message(&t->sending, first, &m);
    if (!tfd_transfer_remember(t, peer, step->id))
        ch = NULL;
    if (hand_over(ch, &m, &st) == TFD_OK)
        return;
    tfd_status_context(&st, "cannot push tensors to %s",
                       tfd_peers_task(t->peers, peer));
    add_failed(t, step, &st);
}

/* A step that fails may end at once, and others may begin and push: all of what
 * was to be sent has gone before. */
static void tell_failed(struct tfd_transfer *t)
{
    while (t->failed) {
        struct tfd_step *s = t->failed;

        t->failed = s->next_unsent;
        s->unsent = false;
        tfd_executor_fail(s, &s->status);
    }
}

void tfd_transfer_forget(struct tfd_transfer *t, struct tfd_step *s)
{
    struct tfd_step **at = &t->failed;

    while (*at && *at != s)
        at = &(*at)->next_unsent;
    if (*at)
        *at = s->next_unsent;
    s->unsent = false;
}

void tfd_transfer_flush(struct tfd_transfer *t)
{
    struct item_list l;

    assert(t->sending.count == 0);
    tfd_lock(&t->lock);
    l = t->waiting;
    t->waiting = t->sending;
    t->sending = l;
    tfd_unlock(&t->lock);
    for (size_t i = 0; i < t->sending.count; i++)
        if (t->sending.items[i].step)
            send(t, i);
    t->sending.count = 0;
    tell_failed(t);
}

/* ---- A connection that broke --------------------------------------------- */

static void told(void *ctx, const struct tfd_status *st,
                 const struct tfd_incoming *response)
{
    (void)ctx;
    (void)st; /* a peer that is gone has no steps */
    (void)response;
}

static void tell_lost(struct tfd_channel *ch, int64_t step,
                      const struct tfd_status *why)
{
    struct tfd_outcall_options o = {
        .timeout_us = TFD_LOST_PUSH_MS * UINT64_C(1000),
        .wait_ready = true,
    };
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_pb_put_int(&m.proto, tfd_PushTensors_step_id_tag, step);
    tfd_pb_put_int(&m.proto, tfd_PushTensors_error_code_tag, why->code);
    tfd_pb_put_str(&m.proto, tfd_PushTensors_error_message_tag,
                   tfd_str_of(why->text));
    tfd_channel_call(ch, TFD_METHOD_PushTensors, &m, &o, told, NULL);
    tfd_message_deinit(&m);
}

void tfd_transfer_lost(struct tfd_transfer *t, int32_t peer,
                       const struct tfd_status *why)
{
    struct tfd_channel *ch = tfd_peers_channel(t->peers, peer);
    struct tfd_status st = TFD_STATUS_INIT;
    struct pushed *p = pushed_to(t, peer);

    tfd_peer_sends_lost(t->peer_sends, peer);
    if (!p || !ch)
        return;
    (void)tfd_fail(&st, TFD_UNAVAILABLE,
                   "tensors from %s to %s were lost with the connection: %s",
                   tfd_peers_task(t->peers, tfd_peers_self(t->peers)),
                   tfd_peers_task(t->peers, peer), why->text);
    for (int i = 0; i < TFD_LOST_PUSHES_MAX; i++)
        if (p->steps[i] != 0)
            tell_lost(ch, p->steps[i], &st);
    memset(p, 0, sizeof(*p));
}

void tfd_transfer_gone(struct tfd_transfer *t, struct tfd_peers_range range)
{
    for (int32_t i = range.first; i < range.first + range.count; i++)
        if (pushed_to(t, i)) {
            free(t->pushed[i]);
            t->pushed[i] = NULL;
        }
    tfd_peer_sends_gone(t->peer_sends, range);
}

struct tfd_peer_sends *tfd_transfer_peer_sends(struct tfd_transfer *t)
{
    return t->peer_sends;
}

void tfd_transfer_recv(struct tfd_transfer *t, struct tfd_async *a)
{
    tfd_remote_recv(t->recvs, a);
}
