/*
 * rig.c - see rig.h.
 */
#include "tests/support/rig.h"

const struct tfd_peer_info rig_self = {"/job:test/replica:0/task:0", 7};

void rig_tick(struct rig *r)
{
    if (--r->awaited == 0)
        tfd_loop_stop(r->loop);
}

void rig_bark(struct tfd_timer *t)
{
    struct rig *r = TFD_CONTAINER_OF(t, struct rig, watchdog);

    r->timed_out = true;
    tfd_loop_stop(r->loop);
}

void rig_run(struct rig *r, int events)
{
    r->awaited += events;
    if (r->awaited <= 0)
        return;
    assert_int_equal(tfd_timer_start(&r->watchdog, RIG_WATCHDOG_US, NULL),
                     TFD_OK);
    tfd_loop_run(r->loop);
    tfd_timer_stop(&r->watchdog);
    assert_false(r->timed_out);
}

void rig_echo(void *self, struct tfd_call *call)
{
    struct tfd_message m;

    (void)self;
    tfd_message_init(&m, call->native);
    tfd_bytes_add_str(&m.proto, call->in.proto);
    for (uint32_t i = 0; i < call->in.payload_count; i++)
        tfd_message_splice(&m, call->in.payload[i], call->in.payload[i]->size);
    tfd_call_respond(call, &m);
}

static void rig_hold_cancelled(void *ctx, struct tfd_call *call)
{
    struct rig *r = ctx;

    (void)call;
    r->cancelled_count++;
    rig_tick(r);
}

void rig_hold(void *self, struct tfd_call *call)
{
    struct rig *r = self;

    assert_true(r->held_count < RIG_HELD_MAX);
    call->cancelled = rig_hold_cancelled;
    call->ctx = r;
    r->held[r->held_count++] = call;
    rig_tick(r);
}

void rig_release(struct rig *r)
{
    for (int i = 0; i < r->held_count; i++) {
        struct tfd_message m;

        tfd_message_init(&m, r->held[i]->native);
        tfd_call_respond(r->held[i], &m);
    }
    r->held_count = 0;
}

static void rig_fail(void *self, struct tfd_call *call)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)self;
    (void)tfd_fail(&st, TFD_NOT_FOUND, "no such thing");
    tfd_call_fail(call, &st);
}

static void rig_count(void *self, struct tfd_call *call)
{
    struct rig *r = self;
    struct tfd_message m;

    r->one_way_count++;
    r->one_way_size += call->in.proto.size;
    for (uint32_t i = 0; i < call->in.payload_count; i++)
        r->one_way_size += call->in.payload[i]->size;
    tfd_message_init(&m, call->native);
    tfd_call_respond(call, &m);
    rig_tick(r);
}

struct rig *rig_new(void)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct rig *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    r->loop = tfd_loop_new(&st);
    assert_non_null(r->loop);
    r->service = tfd_service_new(r->loop, &st);
    assert_non_null(r->service);
    r->sniff = (struct tfd_sniff){r->service, &rig_self};
    tfd_timer_init(&r->watchdog, r->loop, rig_bark);
    tfd_service_bind(r->service, TFD_METHOD_RunGraph, rig_echo, r);
    tfd_service_bind(r->service, TFD_METHOD_RecvTensor, rig_hold, r);
    tfd_service_bind(r->service, TFD_METHOD_GetStatus, rig_fail, r);
    tfd_service_bind(r->service, TFD_METHOD_PushTensors, rig_count, r);
    assert_int_equal(tfd_listener_new(r->loop, "127.0.0.1", 0, 5000,
                                      tfd_sniff_accept, &r->sniff, &r->listener,
                                      &st),
                     TFD_OK);
    snprintf(r->address, sizeof(r->address), "127.0.0.1:%d",
             tfd_listener_port(r->listener));
    return r;
}

static void rig_check_end(struct tfd_timer *t)
{
    struct rig_end *e = (struct rig_end *)t;

    rig_release(e->rig);
    if (tfd_listener_connections(e->rig->listener) == 0)
        rig_tick(e->rig);
    else
        assert_int_equal(tfd_timer_start(t, 1000, NULL), TFD_OK);
}

void rig_free(struct rig *r)
{
    struct rig_end e = {.rig = r};

    rig_release(r);
    tfd_timer_init(&e.timer, r->loop, rig_check_end);
    assert_int_equal(tfd_timer_start(&e.timer, 0, NULL), TFD_OK);
    r->awaited = 0;
    rig_run(r, 1);
    tfd_listener_close(r->listener);
    assert_int_equal(tfd_service_in_flight(r->service), 0);
    tfd_service_free(r->service);
    tfd_loop_free(r->loop);
    free(r);
}

size_t rig_raw_space(void *self, uint8_t **at)
{
    struct rig_raw *w = self;

    *at = w->part;
    return sizeof(w->part);
}

enum tfd_code rig_raw_commit(void *self, size_t n, struct tfd_status *st)
{
    struct rig_raw *w = self;
    size_t before = w->in.size;

    (void)st;
    tfd_bytes_add(&w->in, w->part, n);
    if (w->tick_at && before < w->tick_at && w->in.size >= w->tick_at)
        rig_tick(w->rig);
    return TFD_OK;
}

static void rig_raw_connected(void *self)
{
    struct rig_raw *w = self;

    w->connected = true;
    if (w->tick_connected)
        rig_tick(w->rig);
}

static void rig_raw_closed(void *self, const struct tfd_status *why)
{
    struct rig_raw *w = self;

    w->closed = true;
    w->why = *why;
    w->conn = NULL;
    rig_tick(w->rig);
}

const struct tfd_conn_handler rig_raw_handler = {
    .space = rig_raw_space,
    .commit = rig_raw_commit,
    .connected = rig_raw_connected,
    .closed = rig_raw_closed,
};

struct rig_raw *rig_raw_new(struct rig *r, const char *address)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct rig_raw *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->rig = r;
    tfd_bytes_init(&w->in, 64 << 20);
    assert_int_equal(tfd_conn_dial(r->loop, address, 2 * 1000 * 1000,
                                   &rig_raw_handler, w, &w->conn, &st),
                     TFD_OK);
    return w;
}

void rig_raw_free(struct rig_raw *w)
{
    if (w->conn) {
        tfd_conn_close(w->conn, 0);
        w->rig->awaited = 0;
        rig_run(w->rig, 1);
    }
    tfd_bytes_deinit(&w->in);
    free(w);
}

const struct tfd_outcall_options rig_patient = {.wait_ready = true};

const struct tfd_outcall_options rig_hasty = {.wait_ready = false};

struct tfd_message rig_text(const char *text)
{
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_bytes_add_str(&m.proto, tfd_str_of(text));
    return m;
}

void rig_done(void *ctx, const struct tfd_status *st,
              const struct tfd_incoming *response)
{
    struct rig_result *r = ctx;

    r->done++;
    r->code = st->code;
    snprintf(r->text, sizeof(r->text), "%.255s", st->text);
    assert_true((st->code == TFD_OK) == (response != NULL));
    if (response) {
        r->size = response->proto.size;
        r->payload_count = response->payload_count;
        for (uint32_t i = 0; i < response->payload_count; i++) {
            const struct tfd_buffer *b = response->payload[i];
            const uint8_t *at = b->data;

            r->size += b->size;
            for (size_t k = 0; k < b->size; k += 4093)
                r->sum += at[k] * (k + 1);
        }
    }
    rig_tick(r->rig);
}

struct tfd_channel *rig_channel(struct rig *r, const char *address,
                                enum tfd_protocol protocol)
{
    static const struct tfd_peer_info self = {"/job:test/replica:0/task:1", 9};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_channel_options o = {.address = address,
                                    .self = &self,
                                    .protocol = protocol,
                                    .dial_timeout_us = 1000 * 1000};
    struct tfd_channel *ch = NULL;

    assert_int_equal(tfd_channel_new(r->loop, &o, &ch, &st), TFD_OK);
    return ch;
}

struct tfd_buffer *rig_buffer(size_t size)
{
    enum { PERIOD = 1 << 16 };
    struct tfd_buffer *b = tfd_buffer_new(size);
    uint8_t *to;

    assert_non_null(b);
    to = b->data;
    for (size_t i = 0; i < size && i < PERIOD; i++)
        to[i] = (uint8_t)(i * 31 + (i >> 8));
    for (size_t at = PERIOD; at < size; at += PERIOD)
        memcpy(to + at, to, size - at < PERIOD ? size - at : PERIOD);
    return b;
}
