/*
 * grpc.c - serves gRPC on an accepted connection (declared in link.h): passes
 * its bytes to the HTTP/2 session, ends it when it has been idle or silent for
 * too long, and frees it when the last call has ended.  The calls are in
 * grpc_call.h.
 */
#include "rpc/grpc/grpc_call.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>

/* For the last frames of a connection that ends, GOAWAY above all. */
#define CLOSE_GRACE_US 1000000

static void close_server(struct tfd_grpc_server *v)
{
    if (v->closing)
        return;
    v->closing = true;
    tfd_conn_close(v->conn, CLOSE_GRACE_US); /* v may be gone now */
}

void tfd_grpc_server_go_on(struct tfd_grpc_server *v)
{
    bool owed;

    if (v->closing || v->inside)
        return;
    v->inside = true;
    tfd_h2_pump(v->h2);
    v->inside = false;
    tfd_grpc_server_count_small(v);
    owed = tfd_h2_owed(v->h2);
    if (!owed)
        tfd_timer_stop(&v->patience);
    /* Without memory for a timer there is one limit less. */
    if (owed && !v->patience_on)
        (void)!tfd_timer_start(&v->patience, TFD_HANDSHAKE_MS * 1000u, NULL);
    v->patience_on = owed;
    if (tfd_h2_done(v->h2))
        close_server(v);
}

static void patience_over(struct tfd_timer *t)
{
    struct tfd_grpc_server *v =
        TFD_CONTAINER_OF(t, struct tfd_grpc_server, patience);

    v->patience_on = false;
    tfd_h2_terminate(v->h2, TFD_H2_ENHANCE_YOUR_CALM);
    tfd_grpc_server_go_on(v);
}

/* Without memory for a timer there is one limit less. */
static void start_idle(struct tfd_grpc_server *v)
{
    v->received = false;
    (void)!tfd_timer_start(&v->idle, TFD_CONNECTION_IDLE_MS * UINT64_C(1000),
                           NULL);
}

/* A call in the hands of its handler may be silent for ever, and a client with
 * a session may think for long; who has neither can dial again. */
static void idle_over(struct tfd_timer *t)
{
    struct tfd_grpc_server *v =
        TFD_CONTAINER_OF(t, struct tfd_grpc_server, idle);
    bool busy =
        v->received || tfd_links_held(tfd_service_links(v->service), v->link);

    for (struct tfd_grpc_call *s = v->streams; s && !busy; s = s->next)
        busy = s->handed;
    start_idle(v);
    if (busy)
        return;
    tfd_h2_terminate(v->h2, TFD_H2_NO_ERROR);
    tfd_grpc_server_go_on(v);
}

/* ---- Bytes -------------------------------------------------------------- */

static size_t conn_space(void *self, uint8_t **at)
{
    struct tfd_grpc_server *v = self;
    void *stream;
    size_t left = tfd_h2_data_left(v->h2, &stream);
    struct tfd_grpc_reader *in =
        left ? &((struct tfd_grpc_call *)stream)->in : NULL;
    size_t room = in ? tfd_grpc_reader_room(in, left, &v->read_at) : 0;

    if (room > v->ticket.reserved && v->ticket.reserved > 0)
        room = v->ticket.reserved; /* the rest when there is memory for it */
    v->read_into = room ? in->body : NULL;
    if (room == 0) {
        room = TFD_LOOP_SCRATCH_SIZE;
        v->read_at = tfd_loop_scratch(v->loop);
    }
    *at = v->read_at;
    return room;
}

static enum tfd_code receive(struct tfd_grpc_server *v, const void *data,
                             size_t n, struct tfd_status *st)
{
    enum tfd_code code;

    if (v->closing)
        return TFD_OK;
    v->received = true;
    v->inside = true;
    code = tfd_h2_receive(v->h2, data, n, tfd_loop_now_us(v->loop), st);
    v->inside = false;
    if (code == TFD_OK)
        tfd_grpc_server_go_on(v);
    return code;
}

static enum tfd_code conn_commit(void *self, size_t n, struct tfd_status *st)
{
    struct tfd_grpc_server *v = self;
    struct tfd_buffer *b = tfd_buffer_ref(v->read_into);
    enum tfd_code code = receive(v, v->read_at, n, st);

    tfd_buffer_unref(b);
    return code;
}

static void conn_drained(void *self)
{
    tfd_grpc_server_go_on(self);
}

static enum tfd_conn_use conn_use(void *self)
{
    struct tfd_grpc_server *v = self;

    if (v->inside || v->ticket.owed > 0)
        return TFD_CONN_BUSY;
    for (struct tfd_grpc_call *s = v->streams; s; s = s->next)
        if (s->handed)
            return TFD_CONN_BUSY;
    return tfd_links_held(tfd_service_links(v->service), v->link)
               ? TFD_CONN_KEPT
               : TFD_CONN_IDLE;
}

static void conn_closed(void *self, const struct tfd_status *why)
{
    struct tfd_grpc_server *v = self;

    (void)why;
    assert(!v->inside);
    v->closing = true;
    tfd_timer_stop(&v->patience);
    tfd_timer_stop(&v->idle);
    tfd_links_remove(tfd_service_links(v->service), v->link);
    tfd_h2_free(v->h2);
    /* All first: one cancelled call may make its handler answer another. */
    for (struct tfd_grpc_call *s = v->streams; s; s = s->next)
        tfd_grpc_call_detach(s);
    tfd_admission_leave(tfd_service_admission(v->service), &v->ticket);
    while (v->streams)
        tfd_grpc_call_let_go(v->streams);
    free(v);
}

static const struct tfd_conn_handler handler = {
    .space = conn_space,
    .commit = conn_commit,
    .drained = conn_drained,
    .use = conn_use,
    .closed = conn_closed,
};

enum tfd_code tfd_grpc_serve(struct tfd_service *service, struct tfd_conn *c,
                             struct tfd_str prefix, struct tfd_status *st)
{
    struct tfd_grpc_server *v = calloc(1, sizeof(*v));

    if (!v)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a gRPC connection");
    v->service = service;
    v->conn = c;
    v->loop = tfd_conn_loop(c);
    tfd_timer_init(&v->patience, v->loop, patience_over);
    if (tfd_h2_new(TFD_H2_SERVER, &tfd_grpc_events, v, &v->h2, st) != TFD_OK) {
        free(v);
        return TFD_RESOURCE_EXHAUSTED;
    }
    v->link = tfd_links_add(tfd_service_links(service));
    v->ticket.admitted = tfd_grpc_server_admitted;
    v->ticket.late = tfd_grpc_server_late;
    tfd_timer_init(&v->idle, v->loop, idle_over);
    start_idle(v);
    tfd_conn_handle(c, &handler, v);
    tfd_conn_known(c);
    if (receive(v, prefix.data, prefix.size, NULL) != TFD_OK)
        close_server(v);
    return TFD_OK;
}
