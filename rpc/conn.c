/*
 * conn.c - see conn.h and the states in conn_impl.h.
 *
 * Sockets are polled through libuv and read and written here: a read goes where
 * the handler wants it, a write passes MSG_NOSIGNAL, and what the socket took
 * is known at once.  Everything queued in one turn of the loop leaves in one
 * sendmsg() just before the loop sleeps.
 */
#define _GNU_SOURCE 1

#include "rpc/conn_impl.h"

#include "config/limits.h"
#include "rpc/loop_uv.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define IOV_COUNT 64
/* One connection's share of a turn, so that a fast peer does not starve the
 * others: about half a millisecond of copying each way. */
#define READS_PER_TURN 16
#define WRITE_SIZE_PER_TURN (8u << 20)
/* A read of so many bytes is one of a stream. */
#define ACK_SIZE (32u << 10)
/* For what is queued when the peer ends its side. */
#define EOF_GRACE_US (1000 * 1000)

static void run_turn(struct tfd_post *p);

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

static void finalize(struct tfd_conn *c)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    if (c->why != TFD_OK)
        (void)tfd_fail(&st, c->why, "%s",
                       c->why_text ? c->why_text->text : "connection lost");
    if (c->handler)
        c->handler->closed(c->self, &st);
    if (c->listener)
        tfd_listener_forget(c->listener, c->host);
    tfd_conn_queue_deinit(&c->queue);
    free(c->why_text);
    free_conn(c);
}

static void schedule_turn(struct tfd_conn *c)
{
    if (c->deferred)
        return;
    c->deferred = true;
    tfd_loop_defer(c->loop, &c->turn);
}

static void poll_closed(uv_handle_t *handle)
{
    struct tfd_conn *c = handle->data;

    c->polling = false;
    if (!c->deferred)
        finalize(c);
}

static void end(struct tfd_conn *c)
{
    if (c->state == TFD_CONN_CLOSED)
        return;
    c->state = TFD_CONN_CLOSED;
    tfd_timer_stop(&c->timer);
    if (c->dial)
        tfd_dial_cancel(c->dial);
    c->dial = NULL;
    if (c->polling)
        uv_close((uv_handle_t *)&c->poll, poll_closed);
    else
        schedule_turn(c);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static void fail(struct tfd_conn *c, const struct tfd_status *st)
{
    if (c->state == TFD_CONN_CLOSED)
        return;
    c->why = st->code;
    c->why_text = malloc(sizeof(*c->why_text));
    if (c->why_text)
        *c->why_text = *st;
    end(c);
}

void tfd_conn_break(struct tfd_conn *c, const struct tfd_status *why)
{
    fail(c, why);
}

static void fail_socket(struct tfd_conn *c, const char *what, int error)
{
    struct tfd_status st;

    tfd_status_clear(&st);
    (void)tfd_fail(&st, TFD_UNAVAILABLE, "%s %s: %s", what, c->peer,
                   strerror(error));
    fail(c, &st);
}

/* ---- Polling ------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

static int wanted_events(const struct tfd_conn *c)
{
    int events = c->blocked ? UV_WRITABLE : 0;

    if ((c->state == TFD_CONN_OPEN && !c->paused) ||
        c->state == TFD_CONN_LINGER)
        events |= UV_READABLE;
    return events;
}

static void update_poll(struct tfd_conn *c)
{
    int events = wanted_events(c);

    if (!c->polling || c->state == TFD_CONN_CLOSED || events == c->events)
        return;
    c->events = events;
    if (events)
        uv_poll_start(&c->poll, events, on_poll);
    else
        uv_poll_stop(&c->poll);
}

/* Nothing is left to write: end our side, wait for the peer to end its own. */
static void linger(struct tfd_conn *c)
{
    c->state = TFD_CONN_LINGER;
    shutdown(c->fd, SHUT_WR);
    update_poll(c);
}

static void grace_over(struct tfd_timer *t)
{
    struct tfd_conn *c =
        (struct tfd_conn *)((char *)t - offsetof(struct tfd_conn, timer));

    end(c);
}

void tfd_conn_close(struct tfd_conn *c, uint64_t grace_us)
{
    if (c->state == TFD_CONN_CLOSED)
        return;
    tfd_timer_stop(&c->timer); /* of the dial, or of an earlier grace */
    tfd_timer_init(&c->timer, c->loop, grace_over);
    if (grace_us == 0 || c->state == TFD_CONN_DIALING ||
        tfd_timer_start(&c->timer, grace_us, NULL) != TFD_OK) {
        end(c);
        return;
    }
    if (c->state != TFD_CONN_OPEN)
        return; /* on its way already; the newer grace counts */
    c->state = TFD_CONN_DRAINING;
    if (c->queue.size == 0)
        linger(c);
    else
        schedule_turn(c);
    update_poll(c);
}

void tfd_conn_close_all(struct tfd_loop *l)
{
    /* end() takes none out of the list: the loop does, once it turns. */
    for (struct tfd_conn *c = *tfd_loop_conns(l); c; c = c->next)
        end(c);
    while (*tfd_loop_conns(l))
        (void)uv_run(tfd_loop_uv(l), UV_RUN_ONCE);
}

/* ---- Reading ------------------------------------------------------------- */

static void end_of_stream(struct tfd_conn *c)
{
    if (c->queue.size == 0)
        end(c);
    else
        tfd_conn_close(c, EOF_GRACE_US);
}

/* The kernel holds an acknowledgement back for more to come; a sender of many
 * bytes may be waiting for it, and finds its pace by it. */
static void acknowledge(struct tfd_conn *c)
{
    int on = 1;

    (void)!setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* One read.  False: no more in this turn. */
static bool read_once(struct tfd_conn *c)
{
    struct tfd_status st;
    uint8_t *at;
    size_t room = c->handler->space(c->self, &at);
    ssize_t n;

    assert(room > 0);
    do
        n = recv(c->fd, at, room, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno != EAGAIN)
            fail_socket(c, "read from", errno);
        return false;
    }
    if (n == 0) {
        end_of_stream(c);
        return false;
    }
    if ((size_t)n >= ACK_SIZE)
        acknowledge(c);
    tfd_status_clear(&st);
    if (c->handler->commit(c->self, (size_t)n, &st) != TFD_OK) {
        fail(c, &st);
        return false;
    }
    return (size_t)n == room;
}

static void read_turn(struct tfd_conn *c)
{
    for (int i = 0; i < READS_PER_TURN; i++) {
        if (c->state != TFD_CONN_OPEN || c->paused || !read_once(c))
            return;
    }
}

static void discard(struct tfd_conn *c)
{
    uint8_t *scratch = tfd_loop_scratch(c->loop);

    for (int i = 0; i < READS_PER_TURN; i++) {
        ssize_t n = recv(c->fd, scratch, TFD_LOOP_SCRATCH_SIZE, 0);

        if (n > 0)
            continue;
        if (n == 0 || errno != EAGAIN)
            end(c);
        return;
    }
}

/* ---- Writing ------------------------------------------------------------- */

/* One system call.  False: the socket takes no more, or failed. */
static bool write_once(struct tfd_conn *c, size_t *written)
{
    struct iovec iov[IOV_COUNT];
    struct msghdr m = {.msg_iov = iov};
    size_t size = 0;
    ssize_t n;

    m.msg_iovlen = (size_t)tfd_conn_queue_peek(&c->queue, iov, IOV_COUNT);
    for (size_t i = 0; i < m.msg_iovlen; i++)
        size += iov[i].iov_len;
    do
        n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN) {
        fail_socket(c, "write to", errno);
        return false;
    }
    if (n > 0) {
        tfd_conn_queue_consume(&c->queue, (size_t)n);
        *written += (size_t)n;
        c->written += (uint64_t)n;
    }
    c->blocked = n < 0 || (size_t)n < size;
    return !c->blocked;
}

static void tell_drained(struct tfd_conn *c)
{
    if (!c->above_low || c->queue.size >= TFD_CONN_LOW)
        return;
    c->above_low = false;
    if (c->state == TFD_CONN_OPEN && c->handler->drained)
        c->handler->drained(c->self);
}

static void write_turn(struct tfd_conn *c)
{
    size_t written = 0;

    if (c->queue.failed) {
        struct tfd_status st;

        tfd_status_clear(&st);
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "no memory to queue bytes for %s", c->peer);
        fail(c, &st);
        return;
    }
    while (c->queue.size > 0 && written < WRITE_SIZE_PER_TURN)
        if (!write_once(c, &written))
            break;
    if (c->state == TFD_CONN_CLOSED)
        return;
    if (c->queue.size > 0)
        c->blocked = true; /* the others first */
    tell_drained(c);
    if (c->state == TFD_CONN_DRAINING && c->queue.size == 0)
        linger(c);
    update_poll(c);
}

static void run_turn(struct tfd_post *p)
{
    struct tfd_conn *c =
        (struct tfd_conn *)((char *)p - offsetof(struct tfd_conn, turn));

    c->deferred = false;
    if (c->state == TFD_CONN_CLOSED) {
        if (!c->polling)
            finalize(c);
        return;
    }
    if (c->state != TFD_CONN_DIALING && !c->blocked)
        write_turn(c);
}

/* libuv saw POLLERR and stopped.  What the peer sent before may still be read:
 * an answer, or the first bytes of another protocol. */
static void poll_failed(struct tfd_conn *c)
{
    socklen_t size = sizeof(int);
    int error = 0;

    c->events = 0;
    while (c->state == TFD_CONN_OPEN && !c->paused && read_once(c))
        ;
    if (c->fd >= 0)
        (void)getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    fail_socket(c, "connection to", error ? error : ECONNRESET);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct tfd_conn *c = poll->data;

    if (status < 0) {
        poll_failed(c);
        return;
    }
    if (events & UV_READABLE) {
        if (c->state == TFD_CONN_LINGER)
            discard(c);
        else
            read_turn(c);
    }
    if ((events & UV_WRITABLE) && c->state != TFD_CONN_CLOSED && c->blocked) {
        c->blocked = false;
        write_turn(c);
    }
}

static void queued(struct tfd_conn *c)
{
    if (c->queue.size >= TFD_CONN_LOW)
        c->above_low = true;
    if (!c->blocked || c->queue.failed)
        schedule_turn(c);
}

static bool may_write(const struct tfd_conn *c)
{
    return c->state == TFD_CONN_OPEN || c->state == TFD_CONN_DIALING;
}

void tfd_conn_write(struct tfd_conn *c, const void *data, size_t size)
{
    if (!may_write(c))
        return;
    tfd_conn_queue_copy(&c->queue, data, size);
    queued(c);
}

void tfd_conn_write_buffer(struct tfd_conn *c, struct tfd_buffer *b,
                           size_t offset, size_t size)
{
    if (!may_write(c))
        return;
    tfd_conn_queue_buffer(&c->queue, b, offset, size);
    queued(c);
}

void tfd_conn_write_bytes(struct tfd_conn *c, struct tfd_bytes *take_b)
{
    if (!may_write(c)) {
        tfd_bytes_deinit(take_b);
        return;
    }
    tfd_conn_queue_bytes(&c->queue, take_b);
    queued(c);
}

void tfd_conn_outgoing(const struct tfd_conn *c, uint64_t *acknowledged,
                       uint64_t *queued)
{
    int unsent = 0; /* and what was sent and not yet acknowledged */

    if (c->fd < 0 || ioctl(c->fd, SIOCOUTQ, &unsent) != 0 ||
        (uint64_t)unsent > c->written)
        unsent = 0;
    *acknowledged = c->written - (uint64_t)unsent;
    *queued = c->queue.size + (uint64_t)unsent;
}

size_t tfd_conn_queued(const struct tfd_conn *c)
{
    return c->queue.size;
}

/* ---- Begin --------------------------------------------------------------- */

static void set_option(int fd, int level, int option, int value)
{
    /* Fails only where the kernel lacks it, and then it works without. */
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

void tfd_conn_patient(struct tfd_conn *c)
{
    set_option(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

static bool attach(struct tfd_conn *c, int fd)
{
    c->fd = fd;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, TFD_KEEPALIVE_IDLE_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, TFD_KEEPALIVE_INTERVAL_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, TFD_KEEPALIVE_PROBES_MAX);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, TFD_TCP_USER_TIMEOUT_MS);
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
    c->turn.run = run_turn;
    tfd_conn_queue_init(&c->queue);
    tfd_timer_init(&c->timer, l, grace_over);
    link_conn(c);
    return c;
}

struct tfd_conn *tfd_conn_adopt(struct tfd_loop *l, int take_fd,
                                const char *peer)
{
    struct tfd_conn *c = conn_new(l);

    if (!c || !attach(c, take_fd)) {
        if (c)
            free_conn(c);
        close(take_fd);
        return NULL;
    }
    memcpy(c->peer, peer, sizeof(c->peer));
    return c;
}

static void dial_timeout(struct tfd_timer *t)
{
    struct tfd_conn *c =
        (struct tfd_conn *)((char *)t - offsetof(struct tfd_conn, timer));
    struct tfd_status st = TFD_STATUS_INIT;

    (void)tfd_fail(&st, TFD_UNAVAILABLE, "%s: timed out after %llu ms",
                   tfd_dial_doing(c->dial),
                   (unsigned long long)(c->timeout_us / 1000));
    fail(c, &st);
}

static void on_dialled(void *ctx, int fd, const char *peer,
                       const struct tfd_status *st)
{
    struct tfd_conn *c = ctx;

    c->dial = NULL;
    tfd_timer_stop(&c->timer);
    if (fd < 0) {
        fail(c, st);
        return;
    }
    memcpy(c->peer, peer, sizeof(c->peer));
    if (!attach(c, fd)) {
        fail_socket(c, "poll", ENOMEM);
        return;
    }
    if (c->handler->connected)
        c->handler->connected(c->self);
    if (c->state == TFD_CONN_OPEN && c->queue.size > 0)
        schedule_turn(c);
    update_poll(c);
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

/* ---- The handler's side -------------------------------------------------- */

void tfd_conn_pause(struct tfd_conn *c)
{
    c->paused = true;
    update_poll(c);
}

void tfd_conn_resume(struct tfd_conn *c)
{
    c->paused = false;
    update_poll(c);
}

void tfd_conn_handle(struct tfd_conn *c, const struct tfd_conn_handler *h,
                     void *self)
{
    c->handler = h;
    c->self = self;
    update_poll(c);
}

const char *tfd_conn_peer(const struct tfd_conn *c)
{
    return c->peer;
}

struct tfd_loop *tfd_conn_loop(const struct tfd_conn *c)
{
    return c->loop;
}
