/*
 * conn_dial.c - see conn_dial.h, and same_host.h for the first attempt.
 *
 * Numeric addresses resolve at once; names go to libuv's threads.  A name that
 * is being resolved cannot be called back, so a cancelled dial lives on until
 * its answer arrives, and frees itself then.
 */
#define _GNU_SOURCE 1

#include "rpc/conn/conn_dial.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/conn/loop_uv.h"
#include "rpc/conn/same_host.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

struct tfd_dial {
    struct tfd_loop *loop;
    tfd_dialled_fn *done; /* NULL: cancelled */
    void *ctx;
    uv_getaddrinfo_t lookup;
    uv_poll_t poll;
    struct tfd_post start;
    int holds; /* lookup, poll, start: what still points to this */
    int fd;    /* being connected, or -1 */
    bool tcp_only;
    struct addrinfo *found;
    const struct addrinfo *next; /* not yet tried */
    char host[TFD_ADDRESS_SIZE_MAX];
    char port[TFD_PORT_TEXT_MAX];
    char peer[TFD_PEER_TEXT_MAX];
    char doing[TFD_ADDRESS_SIZE_MAX + 32];
    struct tfd_status last; /* failure of the address before */
};

enum tfd_code tfd_dial_split(const char *address, char *host, char *port,
                             struct tfd_status *st)
{
    const char *colon = strrchr(address, ':');
    size_t size = colon ? (size_t)(colon - address) : 0;
    char *end = NULL;
    long number = colon ? strtol(colon + 1, &end, 10) : 0;

    if (size == 0 || !end || end == colon + 1 || *end || number < 1 ||
        number > 65535)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "address \"%s\" is not host:port", address);
    if (address[0] == '[' && size > 2 && address[size - 1] == ']') {
        address++;
        size -= 2;
    }
    if (size >= TFD_ADDRESS_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "host name of %zu bytes, at most %d", size,
                        TFD_ADDRESS_SIZE_MAX - 1);
    memcpy(host, address, size);
    host[size] = '\0';
    snprintf(port, TFD_PORT_TEXT_MAX, "%ld", number);
    return TFD_OK;
}

void tfd_dial_peer_text(const struct sockaddr *sa, char *text)
{
    char host[TFD_PEER_TEXT_MAX] = "?", port[TFD_PORT_TEXT_MAX] = "?";
    socklen_t size = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                               : sizeof(struct sockaddr_in);

    (void)getnameinfo(sa, size, host, sizeof(host), port, sizeof(port),
                      NI_NUMERICHOST | NI_NUMERICSERV);
    host[TFD_PEER_TEXT_MAX - TFD_PORT_TEXT_MAX - 4] = '\0'; /* a long scope */
    snprintf(text, TFD_PEER_TEXT_MAX,
             sa->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* ---- Life ---------------------------------------------------------------- */

static void drop_hold(struct tfd_dial *d)
{
    assert(d->holds > 0);
    if (--d->holds > 0 || d->done)
        return;
    if (d->fd >= 0)
        close(d->fd);
    if (d->found)
        freeaddrinfo(d->found);
    free(d);
}

static void finish_dial(struct tfd_dial *d, int fd)
{
    tfd_dialled_fn *done = d->done;

    assert(done);
    d->done = NULL;
    done(d->ctx, fd, d->peer, &d->last);
}

static void poll_closed(uv_handle_t *handle)
{
    drop_hold(handle->data);
}

void tfd_dial_cancel(struct tfd_dial *d)
{
    d->done = NULL;
    d->holds++;
    if (d->fd >= 0)
        uv_close((uv_handle_t *)&d->poll, poll_closed);
    else
        uv_cancel((uv_req_t *)&d->lookup); /* or its answer finds nobody */
    drop_hold(d);
}

void tfd_dial_by_tcp(struct tfd_dial *d)
{
    assert(d->fd < 0);
    d->tcp_only = true;
}

const char *tfd_dial_doing(const struct tfd_dial *d)
{
    return d->doing;
}

/* ---- Connecting ---------------------------------------------------------- */

static void try_next(struct tfd_dial *d);

static void fail_address(struct tfd_dial *d, int error)
{
    tfd_status_clear(&d->last);
    (void)tfd_fail(&d->last, TFD_UNAVAILABLE, "connect to %s: %s", d->peer,
                   strerror(error));
}

/* The handle of this attempt is closed: another address may use it. */
static void retry(uv_handle_t *handle)
{
    struct tfd_dial *d = handle->data;

    if (d->done)
        try_next(d);
    drop_hold(d);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct tfd_dial *d = poll->data;
    socklen_t size = sizeof(int);
    int error = 0, fd = d->fd;

    (void)status; /* the socket knows better */
    (void)events;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    d->fd = -1;
    if (error == 0) {
        uv_close((uv_handle_t *)&d->poll, poll_closed);
        tfd_status_clear(&d->last);
        finish_dial(d, fd);
        return;
    }
    fail_address(d, error);
    uv_close((uv_handle_t *)&d->poll, retry);
    close(fd);
}

/* A socket that is connected or about to be; -1 and errno. */
static int begin_connect(struct tfd_dial *d, const struct addrinfo *a)
{
    int fd = -1, error;

    if (!d->tcp_only)
        fd = tfd_same_host_connect(a->ai_addr, tfd_loop_allow(d->loop));
    if (fd >= 0)
        return fd;
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                IPPROTO_TCP);
    if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
        errno == EINPROGRESS)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* False when the address fails at once. */
static bool try_address(struct tfd_dial *d, const struct addrinfo *a)
{
    int fd;

    tfd_dial_peer_text(a->ai_addr, d->peer);
    snprintf(d->doing, sizeof(d->doing), "connecting to %s", d->peer);
    fd = begin_connect(d, a);
    if (fd < 0) {
        fail_address(d, errno);
        return false;
    }
    if (uv_poll_init(tfd_loop_uv(d->loop), &d->poll, fd) != 0) {
        fail_address(d, ENOMEM);
        close(fd);
        return false;
    }
    d->poll.data = d;
    d->fd = fd;
    d->holds++;
    uv_poll_start(&d->poll, UV_WRITABLE, on_writable);
    return true;
}

static void try_next(struct tfd_dial *d)
{
    while (d->next) {
        const struct addrinfo *a = d->next;

        d->next = a->ai_next;
        if (try_address(d, a))
            return;
    }
    (void)tfd_fail(&d->last, TFD_UNAVAILABLE, "%s has no address", d->host);
    finish_dial(d, -1);
}

/* ---- Resolving ----------------------------------------------------------- */

static void on_resolved(uv_getaddrinfo_t *req, int status,
                        struct addrinfo *found)
{
    struct tfd_dial *d = req->data;

    d->found = found;
    d->next = found;
    if (d->done && status != 0) {
        (void)tfd_fail(&d->last, TFD_UNAVAILABLE,
                       "cannot resolve the name %s: %s", d->host,
                       uv_strerror(status));
        finish_dial(d, -1);
    } else if (d->done) {
        try_next(d);
    }
    drop_hold(d);
}

/* A numeric address needs no thread, but done() must not come from inside
 * tfd_dial_start(), so the way goes on after the events at hand. */
static void on_numeric(struct tfd_post *p)
{
    struct tfd_dial *d = TFD_CONTAINER_OF(p, struct tfd_dial, start);

    if (d->done)
        try_next(d);
    drop_hold(d);
}

static int resolve_name(struct tfd_dial *d)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};

    if (getaddrinfo(d->host, d->port, &hints, &d->found) == 0) {
        d->next = d->found;
        d->start.run = on_numeric;
        tfd_loop_defer(d->loop, &d->start);
        return 0;
    }
    d->found = NULL;
    d->lookup.data = d;
    hints.ai_flags = AI_NUMERICSERV;
    return uv_getaddrinfo(tfd_loop_uv(d->loop), &d->lookup, on_resolved,
                          d->host, d->port, &hints);
}

enum tfd_code tfd_dial_start(struct tfd_loop *l, const char *address,
                             tfd_dialled_fn *done, void *ctx,
                             struct tfd_dial **out, struct tfd_status *st)
{
    struct tfd_dial *d = calloc(1, sizeof(*d));
    enum tfd_code rc;
    int error;

    if (!d)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to dial %s",
                        address);
    rc = tfd_dial_split(address, d->host, d->port, st);
    if (rc != TFD_OK)
        goto out;
    d->loop = l;
    d->done = done;
    d->ctx = ctx;
    d->fd = -1;
    d->holds = 1;
    snprintf(d->doing, sizeof(d->doing), "resolving %s", d->host);
    error = resolve_name(d);
    if (error != 0) {
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT, "cannot resolve %s: %s",
                      address, uv_strerror(error));
        goto out;
    }
    *out = d;
    return TFD_OK;
out:
    free(d);
    return rc;
}
