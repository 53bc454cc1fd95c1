/*
 * native_client.c - the calling side of the native protocol, as a link.
 *
 * A call's number on the wire is its slot here plus 1.  A slot whose call was
 * cancelled stays taken until the server has answered it, so that the answer
 * cannot be mistaken for that of the next call with the number; the channel's
 * ids, which are free at once, are kept apart from the slots for that reason.
 */
#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/core/peer_info.h"
#include "rpc/core/heartbeat.h"
#include "rpc/core/link.h"
#include "rpc/native/native_io.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 16
#define NONE UINT32_MAX

enum slot_use { SLOT_FREE, SLOT_CALL, SLOT_CANCELLED, SLOT_HELLO };

struct slot {
    enum slot_use use;
    uint32_t call; /* the channel's id; of a free one: the next free */
    struct tfd_native_in in;
};

struct tfd_link {
    struct tfd_conn *conn;
    const struct tfd_link_events *events; /* NULL: closed by the channel */
    void *ctx;
    struct tfd_native_reader reader;
    struct tfd_native_out out;
    struct slot *slots;
    uint32_t slot_count, free_slot;
    uint32_t *slot_of; /* by the channel's id */
    uint32_t ids;
    struct tfd_heartbeat heartbeat;
    uint32_t magic_seen; /* bytes of the peer's first four */
    enum tfd_link_heard heard;
    uint8_t small[TFD_NATIVE_SMALL_MAX];
};

/* ---- Slots --------------------------------------------------------------- */

static bool grow_slots(struct tfd_link *l)
{
    uint32_t count = l->slot_count ? l->slot_count * 2 : SLOTS_MIN;
    struct slot *slots;

    if (count > TFD_STREAMS_PER_CONNECTION_MAX)
        return false;
    slots = realloc(l->slots, count * sizeof(*slots));
    if (!slots)
        return false;
    memset(slots + l->slot_count, 0, (count - l->slot_count) * sizeof(*slots));
    l->slots = slots;
    while (l->slot_count < count) { /* the lowest is taken first */
        slots[--count].call = l->free_slot;
        l->free_slot = count;
    }
    l->slot_count = l->slot_count ? l->slot_count * 2 : SLOTS_MIN;
    return true;
}

static bool reserve_id(struct tfd_link *l, uint32_t id)
{
    uint32_t ids = l->ids ? l->ids : SLOTS_MIN;
    uint32_t *slot_of;

    if (id < l->ids)
        return true;
    if (id >= UINT32_MAX / 8)
        return false;
    while (ids <= id)
        ids *= 2;
    slot_of = realloc(l->slot_of, ids * sizeof(*slot_of));
    if (!slot_of)
        return false;
    l->slot_of = slot_of;
    l->ids = ids;
    return true;
}

static enum tfd_code take_slot(struct tfd_link *l, uint32_t *slot,
                               struct tfd_status *st)
{
    if (l->free_slot == NONE && !grow_slots(l))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%u calls are open on the connection, at most %d",
                        l->slot_count, TFD_STREAMS_PER_CONNECTION_MAX);
    *slot = l->free_slot;
    l->free_slot = l->slots[*slot].call;
    return TFD_OK;
}

static void free_slot(struct tfd_link *l, uint32_t slot)
{
    struct slot *s = &l->slots[slot];

    tfd_native_in_deinit(&s->in);
    s->use = SLOT_FREE;
    s->call = l->free_slot;
    l->free_slot = slot;
}

/* Of a number that came from the peer. */
static enum tfd_code find_slot(struct tfd_link *l, uint32_t number,
                               uint32_t *slot, struct tfd_status *st)
{
    *slot = number - 1;
    if (number == 0 || number > l->slot_count ||
        l->slots[number - 1].use == SLOT_FREE)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "answer to call %u, which is not open", number);
    return TFD_OK;
}

/* ---- Frames -------------------------------------------------------------- */

static void link_failed(struct tfd_link *l, const struct tfd_status *why)
{
    const struct tfd_link_events *events = l->events;

    l->events = NULL;
    if (events)
        events->failed(l->ctx, why, l->heard);
}

static enum tfd_code end_hello(struct tfd_link *l,
                               const struct tfd_incoming *answer,
                               struct tfd_status *st)
{
    struct tfd_peer_info peer;

    TFD_TRY(tfd_peer_info_decode(answer->proto, &peer, st));
    l->events->hello(l->ctx, &peer);
    return TFD_OK;
}

/* The slot is free before anybody hears of it: the next call may take it. */
static enum tfd_code end_call(struct tfd_link *l, uint32_t slot,
                              const struct tfd_status *failure,
                              struct tfd_status *st)
{
    struct slot *s = &l->slots[slot];
    struct tfd_incoming answer = s->in.message;
    enum slot_use use = s->use;
    uint32_t call = s->call;
    enum tfd_code rc = TFD_OK;

    s->in.message = (struct tfd_incoming){0};
    free_slot(l, slot);
    if (use == SLOT_HELLO && failure)
        rc = tfd_fail(st, failure->code, "%s", failure->text);
    else if (use == SLOT_HELLO)
        rc = end_hello(l, &answer, st);
    else if (use == SLOT_CALL && failure)
        l->events->ended(l->ctx, call, failure, NULL);
    else if (use == SLOT_CALL) {
        struct tfd_status ok;

        tfd_status_clear(&ok);
        l->events->ended(l->ctx, call, &ok, &answer);
    }
    tfd_incoming_deinit(&answer);
    return rc;
}

static enum tfd_code end_error(struct tfd_link *l,
                               const struct tfd_frame_header *h,
                               struct tfd_status *st)
{
    struct tfd_status failure;
    uint32_t slot;

    tfd_native_error_decode(l->small, h->length, &failure);
    if (h->call == 0)
        return tfd_fail(st, failure.code, "%s", failure.text);
    TFD_TRY(find_slot(l, h->call, &slot, st));
    return end_call(l, slot, &failure, st);
}

static enum tfd_code end_response(struct tfd_link *l,
                                  const struct tfd_frame_header *h,
                                  struct tfd_status *st)
{
    uint32_t slot = h->call - 1;
    bool complete;

    assert(slot < l->slot_count);
    TFD_TRY(tfd_native_in_end(&l->slots[slot].in, h, &complete, st));
    return complete ? end_call(l, slot, NULL, st) : TFD_OK;
}

static enum tfd_code begin_frame(void *ctx, const struct tfd_frame_header *h,
                                 uint8_t **body, struct tfd_status *st)
{
    struct tfd_link *l = ctx;
    uint32_t slot;

    if (!l->events)
        return TFD_CANCELLED; /* closed while frames were at hand */
    l->reader.payload_comes = false;
    if (h->kind == TFD_FRAME_REQUEST || h->kind == TFD_FRAME_CANCEL)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a server cannot send frames of kind %d", h->kind);
    *body = l->small;
    if (h->kind != TFD_FRAME_RESPONSE)
        return TFD_OK;
    TFD_TRY(find_slot(l, h->call, &slot, st));
    return tfd_native_in_begin(&l->slots[slot].in, h, body, st);
}

static enum tfd_code end_frame(void *ctx, const struct tfd_frame_header *h,
                               struct tfd_status *st)
{
    struct tfd_link *l = ctx;

    l->reader.payload_comes = h->flags & TFD_FRAME_MORE;
    l->out.summed |= l->reader.frames.summed;
    if (h->kind == TFD_FRAME_RESPONSE)
        return end_response(l, h, st);
    if (h->kind == TFD_FRAME_ERROR)
        return end_error(l, h, st);
    if (h->kind == TFD_FRAME_PING)
        tfd_native_out_small(&l->out, TFD_FRAME_PONG, h->call, l->small,
                             h->length);
    return TFD_OK;
}

static const struct tfd_frame_sink sink = {begin_frame, end_frame};

/* ---- Connection ---------------------------------------------------------- */

static size_t on_space(void *self, uint8_t **at)
{
    struct tfd_link *l = self;

    return tfd_native_reader_space(&l->reader, at);
}

/* The first bytes decide whether we talk to a tfd at all. */
static enum tfd_code check_magic(struct tfd_link *l, size_t size,
                                 struct tfd_status *st)
{
    static const uint8_t magic[] = {'T', 'F', 'D', '1'};
    const uint8_t *bytes = tfd_loop_scratch(l->reader.loop);

    for (size_t i = 0; i < size && l->magic_seen < sizeof(magic); i++) {
        if (bytes[i] == magic[l->magic_seen++])
            continue;
        l->heard = TFD_LINK_HEARD_OTHER;
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "%s does not speak tfd's native protocol",
                        tfd_conn_peer(l->conn));
    }
    return TFD_OK;
}

static enum tfd_code on_commit(void *self, size_t size, struct tfd_status *st)
{
    struct tfd_link *l = self;

    tfd_heartbeat_heard(&l->heartbeat);
    if (l->heard == TFD_LINK_HEARD_NOTHING)
        l->heard = TFD_LINK_HEARD;
    if (l->reader.scratch)
        TFD_TRY(check_magic(l, size, st));
    return tfd_native_reader_commit(&l->reader, size, st);
}

static void on_drained(void *self)
{
    struct tfd_link *l = self;

    tfd_native_out_pump(&l->out);
}

static void on_client_closed(void *self, const struct tfd_status *why)
{
    struct tfd_link *l = self;
    struct tfd_status st;

    tfd_heartbeat_stop(&l->heartbeat);
    tfd_native_reader_told(&l->reader, tfd_conn_peer(l->conn));
    tfd_status_clear(&st);
    if (why->code == TFD_OK)
        (void)tfd_fail(&st, TFD_UNAVAILABLE, "Socket closed by %s",
                       tfd_conn_peer(l->conn));
    else
        (void)tfd_fail(&st, TFD_UNAVAILABLE, "Socket closed (%s)", why->text);
    tfd_native_out_deinit(&l->out);
    for (uint32_t i = 0; i < l->slot_count; i++)
        tfd_native_in_deinit(&l->slots[i].in);
    link_failed(l, &st);
    free(l->slots);
    free(l->slot_of);
    free(l);
}

static const struct tfd_conn_handler handler = {
    .space = on_space,
    .commit = on_commit,
    .drained = on_drained,
    .closed = on_client_closed,
};

/* ---- The link ------------------------------------------------------------ */

static enum tfd_code say_hello(struct tfd_link *l,
                               const struct tfd_peer_info *self,
                               struct tfd_status *st)
{
    struct tfd_frame_header h = {.kind = TFD_FRAME_REQUEST,
                                 .method = TFD_METHOD_Hello};
    struct tfd_message m;
    uint32_t slot;

    TFD_TRY(take_slot(l, &slot, st));
    l->slots[slot].use = SLOT_HELLO;
    h.call = slot + 1;
    tfd_message_init(&m, true);
    tfd_peer_info_encode(&m.proto, self);
    return tfd_native_out_message(&l->out, &h, &m, st);
}

static enum tfd_code link_open(struct tfd_conn *conn, const char *authority,
                               const struct tfd_peer_info *self,
                               const struct tfd_link_events *events, void *ctx,
                               struct tfd_link **out, struct tfd_status *st)
{
    struct tfd_link *l = calloc(1, sizeof(*l));
    enum tfd_code rc;

    (void)authority; /* the caller dialled it; frames do not repeat it */
    if (!l) {
        tfd_conn_close(conn, 0);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a link");
    }
    l->conn = conn;
    l->ctx = ctx;
    l->free_slot = NONE;
    l->heard = TFD_LINK_HEARD_NOTHING;
    l->reader.loop = tfd_conn_loop(conn);
    tfd_frame_reader_init(&l->reader.frames, &sink, l, TFD_NATIVE_BODY_MAX);
    tfd_native_out_init(&l->out, conn);
    l->out.summed = tfd_conn_leaves_host(conn);
    tfd_conn_handle(conn, &handler, l);
    rc = say_hello(l, self, st);
    if (rc != TFD_OK) {
        tfd_conn_close(conn, 0); /* which frees l */
        return rc;
    }
    l->events = events;
    *out = l;
    return TFD_OK;
}

static enum tfd_code link_call(struct tfd_link *l, uint32_t call,
                               enum tfd_method_number method,
                               struct tfd_message *take_request,
                               uint64_t timeout_us, bool want_answer,
                               struct tfd_status *st)
{
    struct tfd_frame_header h = {.kind = TFD_FRAME_REQUEST,
                                 .method = (uint16_t)method};
    enum tfd_code rc = TFD_OK;
    uint32_t slot = NONE;

    (void)timeout_us; /* its end is a CANCEL */
    if (want_answer && !reserve_id(l, call))
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
    if (rc == TFD_OK && want_answer)
        rc = take_slot(l, &slot, st);
    if (rc != TFD_OK) {
        tfd_message_deinit(take_request);
        return rc;
    }
    if (want_answer) {
        l->slots[slot].use = SLOT_CALL;
        l->slots[slot].call = call;
        l->slot_of[call] = slot;
        h.call = slot + 1;
    }
    rc = tfd_native_out_message(&l->out, &h, take_request, st);
    if (rc != TFD_OK && want_answer)
        free_slot(l, slot);
    return rc;
}

static void link_cancel(struct tfd_link *l, uint32_t call)
{
    uint32_t slot = call < l->ids ? l->slot_of[call] : NONE;

    if (slot >= l->slot_count || l->slots[slot].use != SLOT_CALL ||
        l->slots[slot].call != call)
        return;
    l->slots[slot].use = SLOT_CANCELLED;
    tfd_native_out_drop(&l->out, slot + 1);
    tfd_native_out_small(&l->out, TFD_FRAME_CANCEL, slot + 1, NULL, 0);
}

static void link_close(struct tfd_link *l)
{
    l->events = NULL;
    tfd_conn_close(l->conn, 0);
}

static void ask_for_pong(struct tfd_heartbeat *h)
{
    struct tfd_link *l = TFD_CONTAINER_OF(h, struct tfd_link, heartbeat);

    tfd_native_out_ping(&l->out);
}

static void link_watch(struct tfd_link *l,
                       const struct tfd_heartbeat_options *o)
{
    if (o->interval_us > 0)
        tfd_conn_patient(l->conn);
    tfd_heartbeat_start(&l->heartbeat, l->conn, o, ask_for_pong);
}

static size_t link_queued(const struct tfd_link *l)
{
    return (size_t)tfd_native_out_size(&l->out);
}

const struct tfd_link_ops tfd_native_link = {
    .protocol = TFD_PROTO_NATIVE,
    .open = link_open,
    .call = link_call,
    .cancel = link_cancel,
    .close = link_close,
    .watch = link_watch,
    .queued = link_queued,
};
