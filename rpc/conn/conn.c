/*
 * conn.c - see conn.h and the states in conn_impl.h: how a connection begins
 * and how it ends.  What happens between is conn_io.c's.
 */
#define _GNU_SOURCE 1

#include "rpc/conn/conn_io.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/conn/loop_uv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- End ----------------------------------------------------------------- */

static void link_conn(struct tfd_conn *c)
{
    struct tfd_conn **head = tfd_loop_conns(c->loop);

    c->next = *head;
    if (*head)
        (*head)->previous = c;
    *head = c;
}

static void free_conn(struct tfd_conn *c)
{
    if (c->previous)
        c->previous->next = c->next;
    else
        *tfd_loop_conns(c->loop) = c->next;
    if (c->next)
        c->next->previous = c->previous;
    free(c);
}

void tfd_conn_finalize(struct tfd_conn *c)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    if (c->why != TFD_OK)
        (void)tfd_fail(&st, c->why, "%s",
                       c->why_text ? c->why_text->text : "connection lost");
    if (c->handler)
        c->handler->closed(c->self, &st);
    if (c->listener)
        c->forget(c->listener, c->host);
    tfd_conn_queue_deinit(&c->queue);
    tfd_traffic_unref(c->traffic);
    free(c->why_text);
    free_conn(c);
}

static void poll_closed(uv_handle_t *handle)
{
    struct tfd_conn *c = handle->data;

    c->polling = false;
    if (!c->deferred)
        tfd_conn_finalize(c);
}

void tfd_conn_end(struct tfd_conn *c)
{
    if (c->state == TFD_CONN_CLOSED)
        return;
    c->state = TFD_CONN_CLOSED;
    tfd_conn_line_leave(c);
    tfd_timer_stop(&c->timer);
    if (c->dial)
        tfd_dial_cancel(c->dial);
    c->dial = NULL;
    if (c->polling)
        uv_close((uv_handle_t *)&c->poll, poll_closed);
    else
        tfd_conn_schedule(c);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

void tfd_conn_break(struct tfd_conn *c, const struct tfd_status *why)
{
    if (c->state == TFD_CONN_CLOSED)
        return;
    c->why = why->code;
    c->why_text = malloc(sizeof(*c->why_text));
    if (c->why_text)
        *c->why_text = *why;
    tfd_conn_end(c);
}

void tfd_conn_fail_socket(struct tfd_conn *c, const char *what, int error)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    (void)tfd_fail(&st, TFD_UNAVAILABLE, "%s %s: %s", what, c->peer,
                   strerror(error));
    tfd_conn_break(c, &st);
}

static void grace_over(struct tfd_timer *t)
{
    struct tfd_conn *c = TFD_CONTAINER_OF(t, struct tfd_conn, timer);

    tfd_conn_end(c);
}

void tfd_conn_close(struct tfd_conn *c, uint64_t grace_us)
{
    if (c->state == TFD_CONN_CLOSED)
        return;
    tfd_timer_stop(&c->timer); /* of the dial, or of an earlier grace */
    tfd_timer_init(&c->timer, c->loop, grace_over);
    if (grace_us == 0 || c->state == TFD_CONN_DIALING ||
        tfd_timer_start(&c->timer, grace_us, NULL) != TFD_OK) {
        tfd_conn_end(c);
        return;
    }
    if (c->state != TFD_CONN_OPEN)
        return; /* on its way already; the newer grace counts */
    tfd_conn_io_drain(c);
}

void tfd_conn_close_all(struct tfd_loop *l)
{
    /* This takes none out of the list: the loop does, once it turns. */
    for (struct tfd_conn *c = *tfd_loop_conns(l); c; c = c->next)
        tfd_conn_end(c);
    while (*tfd_loop_conns(l))
        (void)uv_run(tfd_loop_uv(l), UV_RUN_ONCE);
}

/* ---- Begin --------------------------------------------------------------- */

static void set_option(int fd, int level, int option, int value)
{
    /* Fails only where the kernel lacks it, and then it works without. */
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

void tfd_conn_patient(struct tfd_conn *c)
{
    if (!c->is_unix)
        set_option(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

static bool is_unix(int fd)
{
    socklen_t size = sizeof(int);
    int domain = 0;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           domain == AF_UNIX;
}

static void set_tcp_options(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, TFD_KEEPALIVE_IDLE_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, TFD_KEEPALIVE_INTERVAL_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, TFD_KEEPALIVE_PROBES_MAX);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, TFD_TCP_USER_TIMEOUT_MS);
}

static bool attach(struct tfd_conn *c, int fd)
{
    c->fd = fd;
    c->is_unix = is_unix(fd);
    if (!c->is_unix)
        set_tcp_options(fd);
    if (uv_poll_init(tfd_loop_uv(c->loop), &c->poll, fd) != 0)
        return false;
    c->poll.data = c;
    c->polling = true;
    c->state = TFD_CONN_OPEN;
    return true;
}

static struct tfd_conn *conn_new(struct tfd_loop *l)
{
    struct tfd_conn *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->loop = l;
    c->fd = -1;
    c->turn.run = tfd_conn_io_turn;
    tfd_conn_queue_init(&c->queue);
    tfd_timer_init(&c->timer, l, grace_over);
    link_conn(c);
    return c;
}

struct tfd_conn *tfd_conn_adopt(struct tfd_loop *l, int take_fd,
                                const char *peer,
                                const struct tfd_origin *origin)
{
    struct tfd_conn *c = conn_new(l);

    if (!c || !attach(c, take_fd)) {
        if (c)
            free_conn(c);
        close(take_fd);
        return NULL;
    }
    memcpy(c->peer, peer, sizeof(c->peer));
    c->heard_us = tfd_loop_now_us(l);
    c->origin = *origin;
    c->stranger = true;
    return c;
}

static void dial_timeout(struct tfd_timer *t)
{
    struct tfd_conn *c = TFD_CONTAINER_OF(t, struct tfd_conn, timer);
    struct tfd_status st = TFD_STATUS_INIT;

    (void)tfd_fail(&st, TFD_UNAVAILABLE, "%s: timed out after %llu ms",
                   tfd_dial_doing(c->dial),
                   (unsigned long long)(c->timeout_us / 1000));
    tfd_conn_break(c, &st);
}

static void on_dialled(void *ctx, int fd, const char *peer,
                       const struct tfd_status *st)
{
    struct tfd_conn *c = ctx;

    c->dial = NULL;
    tfd_timer_stop(&c->timer);
    if (fd < 0) {
        tfd_conn_break(c, st);
        return;
    }
    memcpy(c->peer, peer, sizeof(c->peer));
    if (!attach(c, fd)) {
        tfd_conn_fail_socket(c, "poll", ENOMEM);
        return;
    }
    if (c->handler->connected)
        c->handler->connected(c->self);
    tfd_conn_io_start(c);
}

enum tfd_code tfd_conn_dial(struct tfd_loop *l, const char *address,
                            uint64_t timeout_us,
                            const struct tfd_conn_handler *h, void *self,
                            struct tfd_conn **out, struct tfd_status *st)
{
    struct tfd_conn *c = conn_new(l);
    enum tfd_code rc;

    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to dial %s",
                        address);
    c->handler = h;
    c->self = self;
    c->timeout_us = timeout_us;
    tfd_timer_init(&c->timer, l, dial_timeout);
    rc = tfd_timer_start(&c->timer, timeout_us, st);
    if (rc == TFD_OK)
        rc = tfd_dial_start(l, address, on_dialled, c, &c->dial, st);
    if (rc != TFD_OK) {
        tfd_timer_stop(&c->timer);
        free_conn(c);
        return rc;
    }
    *out = c;
    return TFD_OK;
}

void tfd_conn_by_tcp(struct tfd_conn *c)
{
    if (c->dial)
        tfd_dial_by_tcp(c->dial);
}

void tfd_conn_known(struct tfd_conn *c)
{
    c->stranger = false;
}

bool tfd_conn_is_unix(const struct tfd_conn *c)
{
    return c->is_unix;
}

const char *tfd_conn_peer(const struct tfd_conn *c)
{
    return c->peer;
}

const struct tfd_origin *tfd_conn_origin(const struct tfd_conn *c)
{
    return &c->origin;
}

struct tfd_loop *tfd_conn_loop(const struct tfd_conn *c)
{
    return c->loop;
}
