/*
 * actor.h - a peer that plays a part, for tests of rpc/core/channel.c: what it
 * says on each connection is written down before.
 */
#ifndef TFD_TESTS_SUPPORT_ACTOR_H
#define TFD_TESTS_SUPPORT_ACTOR_H

#include "rpc/core/peer_info.h"
#include "tests/support/rig.h"

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

static inline void speak(struct role *p)
{
    if (p->spoke)
        return;
    p->spoke = true;
    tfd_conn_write(p->conn, p->scene->says, p->scene->says_size);
    if (p->scene->leaves)
        tfd_conn_close(p->conn, 1000 * 1000);
}

static inline size_t actor_space(void *self, uint8_t **at)
{
    struct role *p = self;

    if (p->heard_size > sizeof(p->heard) / 2)
        p->heard_size = sizeof(p->heard) / 2; /* the beginning is enough */
    *at = p->heard + p->heard_size;
    return sizeof(p->heard) - p->heard_size;
}

static inline enum tfd_code actor_commit(void *self, size_t n,
                                         struct tfd_status *st)
{
    struct role *p = self;

    (void)st;
    p->heard_size += n;
    speak(p);
    return TFD_OK;
}

static inline void actor_closed(void *self, const struct tfd_status *why)
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

static inline void actor_accept(void *ctx, struct tfd_conn *c)
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

static inline void actor_listen(struct actor *a, int port)
{
    assert_int_equal(tfd_listener_new(a->rig->loop, "127.0.0.1", port, 10,
                                      actor_accept, a, &a->listener, NULL),
                     TFD_OK);
    snprintf(a->address, sizeof(a->address), "127.0.0.1:%d",
             tfd_listener_port(a->listener));
}

static inline struct actor *actor_new(struct rig *r)
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

static inline void check_curtain(struct tfd_timer *t)
{
    struct curtain *c = (struct curtain *)t;

    if (tfd_listener_connections(c->actor->listener) == 0)
        rig_tick(c->actor->rig);
    else
        assert_int_equal(tfd_timer_start(t, 1000, NULL), TFD_OK);
}

static inline void actor_free(struct actor *a)
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

static inline void add_frame(struct line *l, enum tfd_frame_kind kind,
                             uint8_t flags, uint32_t call, const void *body,
                             uint32_t size)
{
    struct tfd_frame_header h = {kind, flags, 0, call, size};

    assert_true(l->size + TFD_FRAME_HEADER_SIZE + size <= sizeof(l->bytes));
    tfd_frame_encode(&h, l->bytes + l->size);
    memcpy(l->bytes + l->size + TFD_FRAME_HEADER_SIZE, body, size);
    l->size += TFD_FRAME_HEADER_SIZE + size;
}

/* The answer to Hello, which is always call 1. */
static inline struct line greeting(void)
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

static inline void script(struct actor *a, int scene, const struct line *l,
                          bool at_once, bool leaves)
{
    a->scene[scene] = (struct scene){l->bytes, l->size, at_once, leaves};
}

static inline struct tfd_outcall *call(struct tfd_channel *ch,
                                       const struct tfd_outcall_options *o,
                                       struct rig_result *result)
{
    struct tfd_message m = rig_text("text");

    return tfd_channel_call(ch, TFD_METHOD_RunGraph, &m, o, rig_done, result);
}

static inline void assert_told(const struct rig_result *result,
                               enum tfd_code code, const char *part)
{
    assert_int_equal(result->done, 1);
    if (result->code != code || !strstr(result->text, part))
        fail_msg("told %d \"%s\", not %d \"%s\"", result->code, result->text,
                 code, part);
}

static inline void up_or_down(void *ctx, struct tfd_channel *ch, bool up,
                              const struct tfd_status *why)
{
    struct rig *r = ctx;

    assert_int_equal(up, tfd_channel_up(ch));
    assert_int_equal(up, why->code == TFD_OK);
    rig_tick(r);
}

static inline struct tfd_channel *watched_channel(struct rig *r,
                                                  const char *address)
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

#endif
