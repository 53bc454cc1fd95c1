/*
 * test_channel.c - rpc/channel.c: which protocol, when to dial again, what a
 * call is told when the peer is not there, not ours, or gone.
 */
#include "tests/support/rig.h"

#include "config/limits.h"
#include "rpc/peer_info.h"

static const struct tfd_outcall_options patient = {.wait_ready = true};
static const struct tfd_outcall_options hasty = {.wait_ready = false};

/* ---- A peer that plays a part -------------------------------------------- */

#define SCENES_MAX 4

struct scene { /* of one connection */
    const void *says;
    size_t says_size;
    bool says_at_once; /* or when the first bytes have come */
    bool leaves;       /* after it has spoken */
};

struct actor {
    struct rig *rig;
    struct tfd_listener *listener;
    struct scene scene[SCENES_MAX];
    int accepted;
    char address[32];
    struct role {
        struct actor *actor;
        struct tfd_conn *conn;
        const struct scene *scene;
        bool spoke;
        uint8_t heard[4096];
        size_t heard_size;
    } role[SCENES_MAX];
};

static void speak(struct role *p)
{
    if (p->spoke)
        return;
    p->spoke = true;
    tfd_conn_write(p->conn, p->scene->says, p->scene->says_size);
    if (p->scene->leaves)
        tfd_conn_close(p->conn, 1000 * 1000);
}

static size_t actor_space(void *self, uint8_t **at)
{
    struct role *p = self;

    if (p->heard_size > sizeof(p->heard) / 2)
        p->heard_size = sizeof(p->heard) / 2; /* the beginning is enough */
    *at = p->heard + p->heard_size;
    return sizeof(p->heard) - p->heard_size;
}

static enum tfd_code actor_commit(void *self, size_t n, struct tfd_status *st)
{
    struct role *p = self;

    (void)st;
    p->heard_size += n;
    speak(p);
    return TFD_OK;
}

static void actor_closed(void *self, const struct tfd_status *why)
{
    struct role *p = self;

    (void)why;
    p->conn = NULL;
}

static const struct tfd_conn_handler actor_handler = {
    .space = actor_space,
    .commit = actor_commit,
    .closed = actor_closed,
};

static void actor_accept(void *ctx, struct tfd_conn *c)
{
    struct actor *a = ctx;
    struct role *p = &a->role[a->accepted];

    if (a->accepted == SCENES_MAX)
        return;
    p->actor = a;
    p->conn = c;
    p->scene = &a->scene[a->accepted++];
    tfd_conn_handle(c, &actor_handler, p);
    if (p->scene->says_at_once)
        speak(p);
}

static void actor_listen(struct actor *a, int port)
{
    assert_int_equal(tfd_listener_new(a->rig->loop, "127.0.0.1", port, 10,
                                      actor_accept, a, &a->listener, NULL),
                     TFD_OK);
    snprintf(a->address, sizeof(a->address), "127.0.0.1:%d",
             tfd_listener_port(a->listener));
}

static struct actor *actor_new(struct rig *r)
{
    struct actor *a = calloc(1, sizeof(*a));

    assert_non_null(a);
    a->rig = r;
    actor_listen(a, 0);
    return a;
}

/* Runs the loop on until the actor's connections are closed. */
struct curtain {
    struct tfd_timer timer;
    struct actor *actor;
};

static void check_curtain(struct tfd_timer *t)
{
    struct curtain *c = (struct curtain *)t;

    if (tfd_listener_connections(c->actor->listener) == 0)
        rig_tick(c->actor->rig);
    else
        assert_int_equal(tfd_timer_start(t, 1000, NULL), TFD_OK);
}

static void actor_free(struct actor *a)
{
    struct curtain c = {.actor = a};

    for (int i = 0; i < a->accepted; i++)
        if (a->role[i].conn)
            tfd_conn_close(a->role[i].conn, 0);
    tfd_timer_init(&c.timer, a->rig->loop, check_curtain);
    assert_int_equal(tfd_timer_start(&c.timer, 0, NULL), TFD_OK);
    a->rig->awaited = 0;
    rig_run(a->rig, 1);
    tfd_listener_close(a->listener);
    free(a);
}

/* ---- Lines --------------------------------------------------------------- */

struct line {
    uint8_t bytes[512];
    size_t size;
};

static void add_frame(struct line *l, enum tfd_frame_kind kind, uint8_t flags,
                      uint32_t call, const void *body, uint32_t size)
{
    struct tfd_frame_header h = {kind, flags, 0, call, size};

    assert_true(l->size + TFD_FRAME_HEADER_SIZE + size <= sizeof(l->bytes));
    tfd_frame_encode(&h, l->bytes + l->size);
    memcpy(l->bytes + l->size + TFD_FRAME_HEADER_SIZE, body, size);
    l->size += TFD_FRAME_HEADER_SIZE + size;
}

/* The answer to Hello, which is always call 1. */
static struct line greeting(void)
{
    struct line l = {.size = 0};
    struct tfd_bytes b;

    tfd_bytes_init(&b, 400);
    tfd_bytes_add(&b, "\0\0\0\0", 4);
    tfd_peer_info_encode(&b, &rig_self);
    add_frame(&l, TFD_FRAME_RESPONSE, 0, 1, b.data, (uint32_t)b.size);
    tfd_bytes_deinit(&b);
    return l;
}

static void script(struct actor *a, int scene, const struct line *l,
                   bool at_once, bool leaves)
{
    a->scene[scene] = (struct scene){l->bytes, l->size, at_once, leaves};
}

static struct tfd_message text_message(const char *text)
{
    struct tfd_message m;

    tfd_message_init(&m, true);
    tfd_bytes_add_str(&m.proto, tfd_str_of(text));
    return m;
}

static struct tfd_outcall *call(struct tfd_channel *ch,
                                const struct tfd_outcall_options *o,
                                struct rig_result *result)
{
    struct tfd_message m = text_message("text");

    return tfd_channel_call(ch, TFD_METHOD_RunGraph, &m, o, rig_done, result);
}

static void assert_told(const struct rig_result *result, enum tfd_code code,
                        const char *part)
{
    assert_int_equal(result->done, 1);
    if (result->code != code || !strstr(result->text, part))
        fail_msg("told %d \"%s\", not %d \"%s\"", result->code, result->text,
                 code, part);
}

/* ---- Protocols ----------------------------------------------------------- */

/* What a TensorFlow server sends as soon as a connection is accepted. */
static const uint8_t http2_settings[] = {
    0, 0,    24, 4, 0, 0, 0, 0, 0,    0, 4,    0, 0x40, 0, 0, 0, 5,
    0, 0x40, 0,  0, 0, 6, 0, 0, 0x40, 0, 0xfe, 3, 0,    0, 0, 1};

static void up_or_down(void *ctx, struct tfd_channel *ch, bool up,
                       const struct tfd_status *why)
{
    struct rig *r = ctx;

    assert_int_equal(up, tfd_channel_up(ch));
    assert_int_equal(up, why->code == TFD_OK);
    rig_tick(r);
}

static struct tfd_channel *watched_channel(struct rig *r, const char *address)
{
    struct tfd_channel_options o = {.address = address,
                                    .self = &rig_self,
                                    .dial_timeout_us = 1000 * 1000,
                                    .changed = up_or_down,
                                    .ctx = r};
    struct tfd_channel *ch = NULL;

    assert_int_equal(tfd_channel_new(r->loop, &o, &ch, NULL), TFD_OK);
    return ch;
}

static void test_a_peer_that_speaks_http2_is_dialled_with_grpc(void **state)
{
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        struct rig *r = rig_new();
        struct actor *a = actor_new(r);
        struct tfd_channel *ch = watched_channel(r, a->address);
        struct rig_result result = {.rig = r};

        for (int i = 0; i < SCENES_MAX; i++)
            a->scene[i] = (struct scene){http2_settings, sizeof(http2_settings),
                                         at_once, false};
        call(ch, &patient, &result);
        rig_run(r, 1); /* up */
        assert_int_equal(tfd_channel_protocol(ch), TFD_PROTO_GRPC);
        assert_int_equal(a->accepted, 2);
        assert_memory_equal(a->role[0].heard, "TFD1", at_once ? 0 : 4);
        assert_int_equal(result.done, 0);
        tfd_channel_free(ch);
        rig_run(r, 1);
        assert_told(&result, TFD_CANCELLED, a->address);
        actor_free(a);
        rig_free(r);
    }
}

static void test_both_protocols_reach_the_same_handlers(void **state)
{
    static const enum tfd_protocol protocols[] = {TFD_PROTO_NATIVE,
                                                  TFD_PROTO_GRPC};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig *r = rig_new();
        struct tfd_channel *ch = rig_channel(r, r->address, protocols[i]);
        struct rig_result result = {.rig = r};

        call(ch, &patient, &result);
        rig_run(r, 1);
        assert_told(&result, TFD_OK, "");
        assert_int_equal(result.size, strlen("text"));
        tfd_channel_free(ch);
        rig_free(r);
    }
}

static void test_a_native_channel_takes_no_other_protocol(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_NATIVE);
    struct rig_result result = {.rig = r};

    (void)state;
    a->scene[0] =
        (struct scene){http2_settings, sizeof(http2_settings), true, false};
    call(ch, &hasty, &result);
    rig_run(r, 1);
    assert_told(&result, TFD_UNAVAILABLE, "does not speak tfd's native");
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

static void test_a_message_for_another_protocol_is_not_sent(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct rig_result result = {.rig = r};
    struct tfd_buffer *b = rig_buffer(2000);
    struct tfd_message m;

    (void)state;
    tfd_message_init(&m, false);
    tfd_message_splice(&m, b, b->size);
    tfd_channel_call(ch, TFD_METHOD_RunGraph, &m, &patient, rig_done, &result);
    rig_run(r, 1);
    assert_told(&result, TFD_UNAVAILABLE, "another protocol");
    assert_true(tfd_buffer_sole(b));
    tfd_buffer_unref(b);
    tfd_channel_free(ch);
    rig_free(r);
}

/* ---- Dialling ------------------------------------------------------------ */

static void test_a_hasty_call_fails_with_its_own_dial(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
    struct line hello = greeting();

    (void)state;
    tfd_listener_close(a->listener);
    for (int i = 0; i < 3; i++) {
        struct rig_result result = {.rig = r};

        call(ch, &hasty, &result);
        assert_int_equal(result.done, 0); /* never from inside */
        rig_run(r, 1);
        assert_told(&result, TFD_UNAVAILABLE, "Connection refused");
        assert_non_null(strstr(tfd_channel_trouble(ch), "Connection refused"));
    }
    actor_listen(a, atoi(strchr(a->address, ':') + 1));
    script(a, 0, &hello, false, false);
    struct rig_result result = {.rig = r};
    call(ch, &hasty, &result); /* the old failures are forgotten */
    tfd_channel_free(ch);
    rig_run(r, 1);
    assert_told(&result, TFD_CANCELLED, "was closed");
    actor_free(a);
    rig_free(r);
}

static void test_a_patient_call_waits_for_the_peer(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = watched_channel(r, a->address);
    struct rig_result waits = {.rig = r}, hurries = {.rig = r};
    struct line hello = greeting();

    (void)state;
    tfd_listener_close(a->listener);
    call(ch, &patient, &waits);
    call(ch, &hasty, &hurries);
    rig_run(r, 1);
    assert_told(&hurries, TFD_UNAVAILABLE, "refused");
    assert_int_equal(waits.done, 0);
    actor_listen(a, atoi(strchr(a->address, ':') + 1));
    script(a, 0, &hello, false, false);
    rig_run(r, 1); /* up */
    assert_int_equal(waits.done, 0);
    tfd_channel_free(ch);
    rig_run(r, 1);
    actor_free(a);
    rig_free(r);
}

static void test_a_deadline_in_the_queue_says_what_it_waited_for(void **state)
{
    struct tfd_outcall_options o = {.timeout_us = 20 * 1000,
                                    .wait_ready = true};
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
    struct rig_result result = {.rig = r}, cancelled = {.rig = r};
    struct tfd_outcall *c;

    (void)state;
    tfd_listener_close(a->listener);
    c = call(ch, &patient, &cancelled);
    call(ch, &o, &result);
    tfd_channel_cancel(c);
    rig_run(r, 2);
    assert_told(&cancelled, TFD_CANCELLED, "RunGraph");
    assert_told(&result, TFD_DEADLINE_EXCEEDED, "Connection refused");
    tfd_channel_free(ch);
    actor_listen(a, 0);
    actor_free(a);
    rig_free(r);
}

static void test_a_silent_peer_is_given_up(void **state)
{
    struct tfd_channel_options o = {.self = &rig_self,
                                    .dial_timeout_us = 20 * 1000};
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = NULL;
    struct rig_result result = {.rig = r};

    (void)state;
    o.address = a->address;
    assert_int_equal(tfd_channel_new(r->loop, &o, &ch, NULL), TFD_OK);
    call(ch, &hasty, &result);
    rig_run(r, 1);
    assert_told(&result, TFD_UNAVAILABLE, "was silent for 20 ms");
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

static void test_addresses_are_checked_at_once(void **state)
{
    static const char *const bad[] = {
        "", "host", "host:", "host:0", ":1", "host:70000"};
    struct rig *r = rig_new();

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_channel_options o = {.address = bad[i], .self = &rig_self};
        struct tfd_channel *ch = NULL;

        assert_int_equal(tfd_channel_new(r->loop, &o, &ch, NULL),
                         TFD_INVALID_ARGUMENT);
        assert_null(ch);
    }
    rig_free(r);
}

/* ---- A peer that breaks off, or the protocol ----------------------------- */

static void test_every_way_to_break_off_fails_the_call(void **state)
{
    static const uint8_t announced[] = {1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t code[] = {8, 0, 0, 0, 'f', 'u', 'l', 'l'};
    struct line cases[8];
    const char *text[8];
    int count = 0;

    (void)state;
    cases[count] = greeting(); /* leaves with the call unanswered */
    text[count++] = "Socket closed";
    cases[count] = greeting(); /* in the middle of a payload */
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 1, 2, announced, 12);
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 1, 2, "1234", 4);
    text[count++] = "Socket closed";
    cases[count] = greeting(); /* in the middle of a frame */
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 0, 2, "\0\0\0\0abcdefgh", 12);
    cases[count].size -= 5;
    text[count++] = "Socket closed";
    cases[count] = greeting(); /* an answer to nobody */
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 0, 9, "\0\0\0\0", 4);
    text[count++] = "call 9, which is not open";
    cases[count] = greeting();
    add_frame(&cases[count], TFD_FRAME_CANCEL, 0, 2, "", 0);
    text[count++] = "a server cannot send";
    cases[count] = greeting();
    memset(cases[count].bytes + cases[count].size, 'g', 16);
    cases[count].size += 16;
    text[count++] = "no frame: begins";
    cases[count] = greeting(); /* an ERROR for the connection */
    add_frame(&cases[count], TFD_FRAME_ERROR, 0, 0, code, sizeof(code));
    text[count++] = "full";
    cases[count] = (struct line){.size = 0}; /* an ERROR for Hello */
    add_frame(&cases[count], TFD_FRAME_ERROR, 0, 1, code, sizeof(code));
    text[count++] = "full";

    for (int i = 0; i < count; i++) {
        struct rig *r = rig_new();
        struct actor *a = actor_new(r);
        struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
        struct rig_result result = {.rig = r};

        script(a, 0, &cases[i], false, true);
        call(ch, &hasty, &result);
        rig_run(r, 1);
        assert_told(&result, TFD_UNAVAILABLE, text[i]);
        assert_false(tfd_channel_up(ch));
        tfd_channel_free(ch);
        actor_free(a);
        rig_free(r);
    }
}

static void test_after_a_loss_the_next_call_dials_again(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = watched_channel(r, a->address);
    struct rig_result first = {.rig = r}, second = {.rig = r};
    struct line hello = greeting();

    (void)state;
    script(a, 0, &hello, false, true);
    script(a, 1, &hello, false, true);
    call(ch, &patient, &first);
    rig_run(r, 3); /* up, down, told */
    assert_told(&first, TFD_UNAVAILABLE, "Socket closed");
    call(ch, &patient, &second);
    rig_run(r, 3);
    assert_told(&second, TFD_UNAVAILABLE, "Socket closed");
    assert_int_equal(a->accepted, 2);
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

static void test_errors_of_the_peer_are_for_one_call(void **state)
{
    static const uint8_t code[] = {3, 0, 0, 0, 'b', 'a', 'd'};
    static const uint8_t newer[] = {99, 0, 0, 0, 'n', 'e', 'w'};
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
    struct rig_result first = {.rig = r}, second = {.rig = r};
    struct line l = greeting();

    (void)state;
    call(ch, &patient, &first);
    call(ch, &patient, &second);
    add_frame(&l, TFD_FRAME_PING, 0, 0, "12345678", 8);
    /* Hello was answered, so the calls have the numbers 1 and 2. */
    add_frame(&l, TFD_FRAME_ERROR, 0, 1, code, sizeof(code));
    add_frame(&l, TFD_FRAME_ERROR, 0, 2, newer, sizeof(newer));
    script(a, 0, &l, false, false);
    rig_run(r, 2);
    assert_told(&first, TFD_INVALID_ARGUMENT, "bad");
    assert_told(&second, TFD_UNKNOWN, "new");
    assert_true(tfd_channel_up(ch));
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

/* ---- Limits and lives ---------------------------------------------------- */

static void test_the_calls_of_a_connection_are_limited(void **state)
{
    enum { COUNT = TFD_STREAMS_PER_CONNECTION_MAX + 3 };
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = watched_channel(r, a->address);
    struct rig_result *result = calloc(COUNT, sizeof(*result));
    struct line hello = greeting();
    int refused = 0;

    (void)state;
    assert_non_null(result);
    script(a, 0, &hello, false, false);
    for (int i = 0; i < COUNT; i++) {
        result[i].rig = r;
        call(ch, &patient, &result[i]);
    }
    rig_run(r, 1 + 3); /* up, three refused */
    for (int i = 0; i < COUNT; i++)
        if (result[i].done)
            refused += result[i].code == TFD_RESOURCE_EXHAUSTED;
    assert_int_equal(refused, 3);
    tfd_channel_free(ch);
    rig_run(r, COUNT - 3);
    free(result);
    actor_free(a);
    rig_free(r);
}

struct freeing {
    struct rig *rig;
    struct tfd_channel *channel;
    int done;
};

static void free_inside(void *ctx, const struct tfd_status *st,
                        const struct tfd_incoming *response)
{
    struct freeing *f = ctx;

    (void)st;
    (void)response;
    if (f->done++ == 0)
        tfd_channel_free(f->channel);
    rig_tick(f->rig);
}

static void test_a_channel_may_be_freed_by_its_caller(void **state)
{
    static const enum tfd_protocol protocols[] = {TFD_PROTO_NATIVE,
                                                  TFD_PROTO_GRPC};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig *r = rig_new();
        struct freeing f = {r, rig_channel(r, r->address, protocols[i]), 0};

        for (int k = 0; k < 3; k++) {
            struct tfd_message m = text_message("x");

            tfd_channel_call(f.channel, TFD_METHOD_RunGraph, &m, &patient,
                             free_inside, &f);
        }
        rig_run(r, 3);
        assert_int_equal(f.done, 3);
        rig_free(r);
    }
}

static void test_a_channel_may_be_freed_in_every_state(void **state)
{
    struct rig *r = rig_new();

    (void)state;
    tfd_channel_free(NULL);
    tfd_channel_free(rig_channel(r, r->address, TFD_PROTO_UNKNOWN)); /* idle */
    for (int turns = 0; turns < 6; turns++) {
        struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_UNKNOWN);
        struct rig_result result = {.rig = r};

        call(ch, &patient, &result);
        for (int i = 0; i < turns && !result.done; i++) {
            tfd_loop_stop(r->loop); /* ends after one turn */
            tfd_loop_run(r->loop);
        }
        tfd_channel_free(ch);
        rig_run(r, result.done ? 0 : 1);
        assert_int_equal(result.done, 1);
        r->awaited = 0;
    }
    rig_free(r);
}

/* ---- Stopping ------------------------------------------------------------ */

static void test_a_stopped_channel_fails_every_call(void **state)
{
    (void)state;
    for (int is_up = 0; is_up < 2; is_up++) {
        struct rig *r = rig_new();
        struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
        struct rig_result first = {.rig = r}, sent = {.rig = r},
                          late = {.rig = r};
        struct tfd_message m = text_message("x");
        struct tfd_status st = TFD_STATUS_INIT;

        call(ch, &patient, &first);
        if (is_up)
            rig_run(r, 1);
        tfd_channel_call(ch, TFD_METHOD_RecvTensor, &m, &patient, rig_done,
                         &sent); /* it would be held */
        tfd_channel_stop(ch);
        tfd_channel_stop(ch); /* twice is once */
        call(ch, &patient, &late);
        rig_run(r, is_up ? 2 : 3);
        assert_told(&first, is_up ? TFD_OK : TFD_CANCELLED, "");
        assert_told(&sent, TFD_CANCELLED, r->address);
        assert_told(&late, TFD_CANCELLED, r->address);
        assert_false(tfd_channel_up(ch));
        m = text_message("push");
        assert_int_equal(tfd_channel_send(ch, TFD_METHOD_PushTensors, &m, &st),
                         TFD_UNAVAILABLE);
        tfd_channel_free(ch);
        rig_free(r);
    }
}

/* Nothing runs any more between the two. */
static void test_calls_are_told_when_the_loop_ends(void **state)
{
    static const char *const addresses[] = {"127.0.0.1:1", "localhost:1"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig r = {.loop = tfd_loop_new(NULL), .awaited = 3};
        struct rig_result results[2] = {{.rig = &r}, {.rig = &r}};
        struct tfd_channel *ch;

        assert_non_null(r.loop);
        ch = rig_channel(&r, addresses[i], TFD_PROTO_UNKNOWN);
        call(ch, &patient, &results[0]);
        call(ch, &hasty, &results[1]);
        tfd_channel_free(ch);
        tfd_loop_free(r.loop);
        for (int k = 0; k < 2; k++)
            assert_told(&results[k], TFD_CANCELLED, addresses[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_peer_that_speaks_http2_is_dialled_with_grpc),
        cmocka_unit_test(test_both_protocols_reach_the_same_handlers),
        cmocka_unit_test(test_a_native_channel_takes_no_other_protocol),
        cmocka_unit_test(test_a_message_for_another_protocol_is_not_sent),
        cmocka_unit_test(test_a_hasty_call_fails_with_its_own_dial),
        cmocka_unit_test(test_a_patient_call_waits_for_the_peer),
        cmocka_unit_test(test_a_deadline_in_the_queue_says_what_it_waited_for),
        cmocka_unit_test(test_a_silent_peer_is_given_up),
        cmocka_unit_test(test_addresses_are_checked_at_once),
        cmocka_unit_test(test_every_way_to_break_off_fails_the_call),
        cmocka_unit_test(test_after_a_loss_the_next_call_dials_again),
        cmocka_unit_test(test_errors_of_the_peer_are_for_one_call),
        cmocka_unit_test(test_the_calls_of_a_connection_are_limited),
        cmocka_unit_test(test_a_channel_may_be_freed_by_its_caller),
        cmocka_unit_test(test_a_channel_may_be_freed_in_every_state),
        cmocka_unit_test(test_a_stopped_channel_fails_every_call),
        cmocka_unit_test(test_calls_are_told_when_the_loop_ends),
    };

    return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
