/*
 * conn_io.c - see conn_io.h.
 *
 * Sockets are polled through libuv and read and written here: a read goes where
 * the handler wants it, a write passes MSG_NOSIGNAL, and what the socket took
 * is known at once.  Everything queued in one turn of the loop leaves in one
 * sendmsg() just before the loop sleeps.
 */
#define _GNU_SOURCE 1

#include "rpc/conn/conn_io.h"

#include "common/base/container.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define IOV_COUNT 64
/* One connection's share of a turn, so that a fast peer does not starve the
 * others: about half a millisecond of copying.  What it reads, and what of it
 * is thrown away, conn_line.c says. */
#define WRITE_SIZE_PER_TURN (4u << 20)
/* A read of so many bytes is one of a stream. */
#define ACK_SIZE (32u << 10)
/* For what is queued when the peer ends its side. */
#define EOF_GRACE_US (1000 * 1000)

/* ---- Polling ------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

static int wanted_events(const struct tfd_conn *c)
{
    int events = c->blocked ? UV_WRITABLE : 0;
    bool waits = c->in_line && (c->stranger || c->state == TFD_CONN_LINGER);

    if (!waits && ((c->state == TFD_CONN_OPEN && !c->paused) ||
                   c->state == TFD_CONN_LINGER))
        events |= UV_READABLE;
    return events;
}

void tfd_conn_io_poll(struct tfd_conn *c)
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
    tfd_conn_line_leave(c); /* where it was to be read */
    c->state = TFD_CONN_LINGER;
    shutdown(c->fd, SHUT_WR);
    tfd_conn_io_poll(c);
}

void tfd_conn_io_start(struct tfd_conn *c)
{
    if (c->state == TFD_CONN_OPEN && c->queue.size > 0)
        tfd_conn_schedule(c);
    tfd_conn_io_poll(c);
}

void tfd_conn_io_drain(struct tfd_conn *c)
{
    c->state = TFD_CONN_DRAINING;
    if (c->queue.size == 0)
        linger(c);
    else
        tfd_conn_schedule(c);
    tfd_conn_io_poll(c);
}

void tfd_conn_pause(struct tfd_conn *c)
{
    c->paused = true;
    tfd_conn_io_poll(c);
}

void tfd_conn_resume(struct tfd_conn *c)
{
    c->paused = false;
    tfd_conn_io_poll(c);
}

void tfd_conn_handle(struct tfd_conn *c, const struct tfd_conn_handler *h,
                     void *self)
{
    c->handler = h;
    c->self = self;
    tfd_conn_io_poll(c);
}

/* ---- Reading ------------------------------------------------------------- */

static void end_of_stream(struct tfd_conn *c)
{
    if (c->queue.size == 0)
        tfd_conn_end(c);
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

bool tfd_conn_read_once(struct tfd_conn *c, size_t *got)
{
    struct tfd_status st;
    uint8_t *at;
    size_t room = tfd_conn_line_room(c, c->handler->space(c->self, &at));
    ssize_t n;

    assert(room > 0);
    do
        n = recv(c->fd, at, room, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno != EAGAIN)
            tfd_conn_fail_socket(c, "read from", errno);
        return false;
    }
    if (n == 0) {
        end_of_stream(c);
        return false;
    }
    *got = (size_t)n;
    if (c->traffic)
        c->traffic->received += (uint64_t)n;
    if ((size_t)n >= ACK_SIZE && !c->is_unix)
        acknowledge(c);
    tfd_status_clear(&st);
    if (c->handler->commit(c->self, (size_t)n, &st) != TFD_OK) {
        tfd_conn_break(c, &st);
        return false;
    }
    return (size_t)n == room;
}

/* MSG_TRUNC: of TCP nothing is copied, only freed; other sockets ignore it. */
bool tfd_conn_discard_once(struct tfd_conn *c)
{
    ssize_t n = recv(c->fd, tfd_loop_scratch(c->loop), TFD_LOOP_SCRATCH_SIZE,
                     MSG_TRUNC);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        tfd_conn_end(c);
    return n == TFD_LOOP_SCRATCH_SIZE;
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
        tfd_conn_fail_socket(c, "write to", errno);
        return false;
    }
    if (n > 0) {
        tfd_conn_queue_consume(&c->queue, (size_t)n);
        *written += (size_t)n;
        c->written += (uint64_t)n;
        if (c->traffic)
            c->traffic->sent += (uint64_t)n;
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
        tfd_conn_break(c, &st);
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
    tfd_conn_io_poll(c);
}

void tfd_conn_io_turn(struct tfd_post *p)
{
    struct tfd_conn *c = TFD_CONTAINER_OF(p, struct tfd_conn, turn);

    c->deferred = false;
    if (c->state == TFD_CONN_CLOSED) {
        if (!c->polling)
            tfd_conn_finalize(c);
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
    size_t n;

    c->events = 0;
    while (c->state == TFD_CONN_OPEN && !c->paused && tfd_conn_read_once(c, &n))
        ;
    if (c->fd >= 0)
        (void)getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    tfd_conn_fail_socket(c, "connection to", error ? error : ECONNRESET);
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
            tfd_conn_line_discard(c);
        else
            tfd_conn_line_read(c);
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
        tfd_conn_schedule(c);
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

void tfd_conn_count(struct tfd_conn *c, struct tfd_traffic *t)
{
    struct tfd_traffic *before = c->traffic;

    c->traffic = tfd_traffic_ref(t);
    tfd_traffic_unref(before);
}

size_t tfd_conn_queued(const struct tfd_conn *c)
{
    return c->queue.size;
}
