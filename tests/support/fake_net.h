/*
 * fake_net.h - the loop and connections of rpc/ in memory, with a clock that
 * only moves when told.  Included once by a test that runs transports without
 * sockets; it replaces loop.c, conn.c and conn_io.c, whose objects are then not
 * linked.
 *
 *     struct tfd_loop net;
 *     net_open(&net);
 *     net_pair(&net, &a, &b);        what a writes, b reads
 *     net_run(&net);                 until nothing moves any more
 *     net_advance(&net, us);         fires timers
 */
#ifndef TFD_TESTS_SUPPORT_FAKE_NET_H
#define TFD_TESTS_SUPPORT_FAKE_NET_H

#include "rpc/conn/conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NET_TIMERS_MAX 5000
#define NET_CONNS_MAX 8

struct tfd_conn {
    struct tfd_loop *loop;
    struct tfd_conn *to; /* NULL: nobody reads */
    const struct tfd_conn_handler *handler;
    void *self;
    struct tfd_bytes out;
    size_t written; /* ever */
    bool closing;   /* tfd_conn_close(): what is written still arrives */
    bool closed;
    bool stuck; /* the peer reads nothing */
    bool was_full;
    bool paused;              /* reads nothing: what is written to it stays */
    struct tfd_status broken; /* by tfd_conn_break() */
};

struct tfd_loop {
    uint64_t now_us;
    size_t chunk; /* bytes per delivery; 0: all */
    struct tfd_timer *timers[NET_TIMERS_MAX];
    int timer_count;
    struct tfd_post *deferred;
    struct tfd_conn *conns[NET_CONNS_MAX];
    int conn_count;
    uint8_t scratch[TFD_LOOP_SCRATCH_SIZE];
};

/* ---- loop.h ----------------------------------------------------------------
 */

uint64_t tfd_loop_now_us(struct tfd_loop *l)
{
    return l->now_us;
}

uint8_t *tfd_loop_scratch(struct tfd_loop *l)
{
    return l->scratch;
}

void tfd_loop_defer(struct tfd_loop *l, struct tfd_post *p)
{
    p->next = l->deferred;
    l->deferred = p;
}

/* There is one thread. */
void tfd_loop_post(struct tfd_loop *l, struct tfd_post *p)
{
    tfd_loop_defer(l, p);
}

void tfd_timer_init(struct tfd_timer *t, struct tfd_loop *l,
                    void (*fire)(struct tfd_timer *t))
{
    *t = (struct tfd_timer){.fire = fire, .loop = l, .slot = -1};
}

void tfd_timer_stop(struct tfd_timer *t)
{
    struct tfd_loop *l = t->loop;

    if (t->slot < 0)
        return;
    l->timers[t->slot] = l->timers[--l->timer_count];
    l->timers[t->slot]->slot = t->slot;
    t->slot = -1;
}

enum tfd_code tfd_timer_start(struct tfd_timer *t, uint64_t delay_us,
                              struct tfd_status *st)
{
    struct tfd_loop *l = t->loop;

    tfd_timer_stop(t);
    if (l->timer_count == NET_TIMERS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "too many timers");
    t->due_us = l->now_us + delay_us;
    t->slot = l->timer_count;
    l->timers[l->timer_count++] = t;
    return TFD_OK;
}

/* ---- conn.h ----------------------------------------------------------------
 */

void tfd_conn_write(struct tfd_conn *c, const void *data, size_t size)
{
    if (c->closing || c->closed)
        return;
    tfd_bytes_add(&c->out, data, size);
    c->written += size;
    c->was_full = c->was_full || c->out.size >= TFD_CONN_LOW;
}

void tfd_conn_write_buffer(struct tfd_conn *c, struct tfd_buffer *b,
                           size_t offset, size_t size)
{
    assert(offset <= b->size && size <= b->size - offset);
    tfd_conn_write(c, (const char *)b->data + offset, size);
}

void tfd_conn_write_bytes(struct tfd_conn *c, struct tfd_bytes *take_b)
{
    tfd_conn_write(c, take_b->data, take_b->size);
    tfd_bytes_deinit(take_b);
}

size_t tfd_conn_queued(const struct tfd_conn *c)
{
    return c->out.size;
}

void tfd_conn_close(struct tfd_conn *c, uint64_t grace_us)
{
    if (grace_us == 0)
        tfd_bytes_clear(&c->out);
    c->closing = true;
}

void tfd_conn_break(struct tfd_conn *c, const struct tfd_status *why)
{
    c->broken = *why;
    tfd_conn_close(c, 0);
}

void tfd_conn_outgoing(const struct tfd_conn *c, uint64_t *acknowledged,
                       uint64_t *queued)
{
    *queued = c->out.size;
    *acknowledged = c->written - c->out.size;
}

void tfd_conn_count(struct tfd_conn *c, struct tfd_traffic *t)
{
    (void)c;
    (void)t;
}

void tfd_conn_pause(struct tfd_conn *c)
{
    c->paused = true;
}

void tfd_conn_resume(struct tfd_conn *c)
{
    c->paused = false;
}

void tfd_conn_patient(struct tfd_conn *c)
{
    (void)c;
}

void tfd_conn_known(struct tfd_conn *c)
{
    (void)c;
}

void tfd_conn_handle(struct tfd_conn *c, const struct tfd_conn_handler *h,
                     void *self)
{
    c->handler = h;
    c->self = self;
}

const char *tfd_conn_peer(const struct tfd_conn *c)
{
    (void)c;
    return "192.0.2.1:4711";
}

const struct tfd_origin *tfd_conn_origin(const struct tfd_conn *c)
{
    static const struct tfd_origin origin = {"192.0.2.1", "192.0.2.1",
                                             TFD_UID_UNKNOWN, false};

    (void)c;
    return &origin;
}

struct tfd_loop *tfd_conn_loop(const struct tfd_conn *c)
{
    return c->loop;
}

/* ---- The test's side -------------------------------------------------------
 */

static inline void net_open(struct tfd_loop *l)
{
    memset(l, 0, sizeof(*l));
    l->now_us = 1000000;
}

static inline struct tfd_conn *net_conn(struct tfd_loop *l)
{
    struct tfd_conn *c = calloc(1, sizeof(*c));

    assert(c && l->conn_count < NET_CONNS_MAX);
    c->loop = l;
    tfd_bytes_init(&c->out, SIZE_MAX / 2);
    l->conns[l->conn_count++] = c;
    return c;
}

static inline void net_pair(struct tfd_loop *l, struct tfd_conn **a,
                            struct tfd_conn **b)
{
    *a = net_conn(l);
    *b = net_conn(l);
    (*a)->to = *b;
    (*b)->to = *a;
}

static inline void net_finish(struct tfd_conn *c, const struct tfd_status *why)
{
    if (c->closed)
        return;
    c->closed = true;
    if (c->handler)
        c->handler->closed(c->self, why);
}

/* Gives c these bytes as its socket would; returns how many it did not read. */
static inline size_t net_deliver(struct tfd_conn *c, const char *data, size_t n)
{
    struct tfd_status st = TFD_STATUS_INIT;

    while (n > 0 && !c->closing && !c->closed && !c->paused) {
        uint8_t *at = NULL;
        size_t room = c->handler->space(c->self, &at);

        assert(room > 0 && at);
        if (room > n)
            room = n;
        if (c->loop->chunk > 0 && room > c->loop->chunk)
            room = c->loop->chunk;
        memcpy(at, data, room);
        data += room;
        n -= room;
        if (c->handler->commit(c->self, room, &st) != TFD_OK)
            net_finish(c, &st);
    }
    return n;
}

static inline bool net_move(struct tfd_conn *c)
{
    struct tfd_bytes out = c->out;
    size_t left = 0;

    if (c->stuck || out.size == 0 || (c->to && c->to->paused && !c->to->closed))
        return false;
    tfd_bytes_init(&c->out, SIZE_MAX / 2);
    if (c->to && c->to->handler)
        left = net_deliver(c->to, out.data, out.size);
    if (left > 0 && !c->closed) { /* before what was written meanwhile */
        struct tfd_bytes later = c->out;

        tfd_bytes_init(&c->out, SIZE_MAX / 2);
        tfd_bytes_add(&c->out, out.data + out.size - left, left);
        tfd_bytes_add(&c->out, later.data, later.size);
        tfd_bytes_deinit(&later);
    }
    tfd_bytes_deinit(&out);
    if (c->was_full && !c->closed && !c->closing && c->handler &&
        c->handler->drained) {
        c->was_full = false;
        c->handler->drained(c->self);
    }
    return true;
}

/* The end of one side is the end of the other. */
static inline bool net_end(struct tfd_conn *c)
{
    static const struct tfd_status ok = TFD_STATUS_INIT;

    if (c->closing && !c->closed && c->out.size == 0) {
        net_finish(c, &ok);
        return true;
    }
    if (c->closed && c->to && !c->to->closed) {
        net_finish(c->to, &ok);
        return true;
    }
    return false;
}

static inline bool net_step(struct tfd_loop *l)
{
    bool moved = false;

    for (int i = 0; i < l->conn_count; i++)
        moved = net_move(l->conns[i]) || moved;
    for (int i = 0; i < l->conn_count; i++)
        moved = net_end(l->conns[i]) || moved;
    while (l->deferred) {
        struct tfd_post *p = l->deferred;

        l->deferred = p->next;
        p->run(p);
        moved = true;
    }
    return moved;
}

static inline void net_run(struct tfd_loop *l)
{
    while (net_step(l)) {
    }
}

static inline struct tfd_timer *net_next_timer(struct tfd_loop *l)
{
    struct tfd_timer *first = NULL;

    for (int i = 0; i < l->timer_count; i++)
        if (!first || l->timers[i]->due_us < first->due_us)
            first = l->timers[i];
    return first;
}

static inline void net_advance(struct tfd_loop *l, uint64_t us)
{
    uint64_t until = l->now_us + us;
    struct tfd_timer *t;

    while ((t = net_next_timer(l)) && t->due_us <= until) {
        if (t->due_us > l->now_us) /* else it is late */
            l->now_us = t->due_us;
        tfd_timer_stop(t);
        t->fire(t);
        net_run(l);
    }
    l->now_us = until;
}

/* Ends every connection. */
static inline void net_close(struct tfd_loop *l)
{
    for (int i = 0; i < l->conn_count; i++)
        tfd_conn_close(l->conns[i], 0);
    net_run(l);
    for (int i = 0; i < l->conn_count; i++) {
        tfd_bytes_deinit(&l->conns[i]->out);
        free(l->conns[i]);
    }
    l->conn_count = 0;
}

#endif
