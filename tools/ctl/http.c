/*
 * http.c - see http.h.
 *
 * The socket does not block; poll() waits for what is left of the time.
 */
#define _GNU_SOURCE 1 /* SOCK_NONBLOCK, memmem() */

#include "tools/ctl/http.h"

#include "common/base/clock.h"
#include "config/address.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct get {
    int fd;
    int64_t end_us; /* 0: never */
    size_t body_max;
    struct tfd_bytes head; /* and what came behind it */
    struct tfd_bytes *body;
    struct tfd_status *st;
};

/* ---- Time ---------------------------------------------------------------- */

static enum tfd_code wait_for(const struct get *g, short events)
{
    struct pollfd p = {.fd = g->fd, .events = events};
    int64_t left_ms = -1;
    int got;

    do {
        if (g->end_us) {
            left_ms = (g->end_us - tfd_clock_now_us() + 999) / 1000;
            left_ms = left_ms < 0           ? 0
                      : left_ms > INT32_MAX ? INT32_MAX
                                            : left_ms;
        }
        got = poll(&p, 1, (int)left_ms);
    } while (got < 0 && errno == EINTR);
    if (got > 0)
        return TFD_OK;
    if (got == 0)
        return tfd_fail(g->st, TFD_DEADLINE_EXCEEDED,
                        "no whole page within --timeout");
    return tfd_fail(g->st, TFD_UNAVAILABLE, "%s", strerror(errno));
}

/* ---- The connection ------------------------------------------------------ */

static enum tfd_code connect_one(struct get *g, const struct addrinfo *a)
{
    int error = 0;
    socklen_t size = sizeof(error);

    g->fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (g->fd < 0)
        return tfd_fail(g->st, TFD_UNAVAILABLE, "%s", strerror(errno));
    if (connect(g->fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)
        error = errno;
    if (error == 0) {
        TFD_TRY(wait_for(g, POLLOUT));
        if (getsockopt(g->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            error = errno;
    }
    if (error == 0)
        return TFD_OK;
    return tfd_fail(g->st, TFD_UNAVAILABLE, "%s", strerror(error));
}

/* The first address of the name that takes the connection. */
static enum tfd_code connect_to(struct get *g, const char *address)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct tfd_address to;
    enum tfd_code rc = TFD_UNAVAILABLE;
    char port[16];
    int error;

    TFD_TRY(tfd_address_parse(address, &to, g->st));
    snprintf(port, sizeof(port), "%d", to.port);
    error = getaddrinfo(to.host, port, &hints, &found);
    if (error != 0)
        return tfd_fail(g->st, TFD_UNAVAILABLE, "%s: %s", to.host,
                        gai_strerror(error));
    for (const struct addrinfo *a = found; a && rc != TFD_OK; a = a->ai_next) {
        *g->st = (struct tfd_status)TFD_STATUS_INIT;
        rc = connect_one(g, a);
        if (rc == TFD_OK || rc == TFD_DEADLINE_EXCEEDED)
            break;
        if (g->fd >= 0)
            close(g->fd);
        g->fd = -1;
    }
    freeaddrinfo(found);
    return rc;
}

static enum tfd_code send_all(struct get *g, struct tfd_str text)
{
    while (text.size > 0) {
        ssize_t sent = send(g->fd, text.data, text.size, MSG_NOSIGNAL);

        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            TFD_TRY(wait_for(g, POLLOUT));
            continue;
        }
        if (sent < 0)
            return tfd_fail(g->st, TFD_UNAVAILABLE, "%s", strerror(errno));
        text = (struct tfd_str){text.data + sent, text.size - (size_t)sent};
    }
    return TFD_OK;
}

/* *size is 0 at the end. */
static enum tfd_code receive(struct get *g, char *part, size_t max,
                             size_t *size)
{
    for (;;) {
        ssize_t got = recv(g->fd, part, max, 0);

        if (got >= 0) {
            *size = (size_t)got;
            return TFD_OK;
        }
        if (errno != EAGAIN && errno != EINTR)
            return tfd_fail(g->st, TFD_UNAVAILABLE, "%s", strerror(errno));
        TFD_TRY(wait_for(g, POLLIN));
    }
}

/* ---- The answer ---------------------------------------------------------- */

/* The value of a field of the head; NULL where there is none. */
static const char *field_of(const char *head, const char *name)
{
    size_t size = strlen(name);

    while ((head = strstr(head, "\r\n"))) {
        head += 2;
        if (strncasecmp(head, name, size) == 0 && head[size] == ':')
            return head + size + 1 + strspn(head + size + 1, " \t");
    }
    return NULL;
}

/* Takes the head, whose end is at `size`, and leaves the rest to the body. */
static enum tfd_code take_head(struct get *g, size_t size, int64_t *length)
{
    const char *text = g->head.data, *value;
    char *end;
    long status;

    g->head.data[size - 2] = '\0';
    status = strtol(text + strlen("HTTP/1.x "), &end, 10);
    value = field_of(text, "Content-Length");
    *length = -1;
    errno = 0;
    if (value)
        *length = strtoll(value, &end, 10);
    if (value && (end == value || errno != 0 || *length < 0))
        return tfd_fail(g->st, TFD_INTERNAL, "no Content-Length: %.40s", value);
    if (*length > (int64_t)g->body_max)
        return tfd_fail(g->st, TFD_RESOURCE_EXHAUSTED,
                        "a page of %lld bytes; the limit is %zu",
                        (long long)*length, g->body_max);
    if (field_of(text, "Transfer-Encoding"))
        return tfd_fail(g->st, TFD_UNIMPLEMENTED,
                        "the page is sent in chunks, which no tfd does");
    tfd_bytes_add(g->body, text + size, g->head.size - size);
    if (status == 404)
        return tfd_fail(g->st, TFD_NOT_FOUND, "there is no such page");
    if (status != 200)
        return tfd_fail(g->st, TFD_INTERNAL, "the page answers %ld", status);
    return TFD_OK;
}

/* Reads until the head is there; *size: of the head. */
static enum tfd_code read_head(struct get *g, size_t *size)
{
    for (;;) {
        char part[4096], *end;
        size_t got = 0;

        TFD_TRY(receive(g, part, sizeof(part), &got));
        tfd_bytes_add(&g->head, part, got);
        if (g->head.size >= 7 && memcmp(g->head.data, "HTTP/1.", 7) != 0)
            return tfd_fail(g->st, TFD_UNIMPLEMENTED,
                            "no HTTP/1 is spoken there");
        TFD_TRY(tfd_bytes_ok(&g->head, "the head of a page", g->st));
        end = memmem(g->head.data, g->head.size, "\r\n\r\n", 4);
        if (end && !memchr(g->head.data, 0, (size_t)(end - g->head.data))) {
            *size = (size_t)(end - g->head.data) + 4;
            return *size > 12 ? TFD_OK
                              : tfd_fail(g->st, TFD_UNIMPLEMENTED,
                                         "no HTTP/1 is spoken there");
        }
        if (got == 0 || end)
            return tfd_fail(g->st, TFD_UNIMPLEMENTED,
                            "the connection ends without a page");
    }
}

static enum tfd_code read_body(struct get *g, int64_t length)
{
    while (length < 0 || (int64_t)g->body->size < length) {
        char part[16384];
        size_t got = 0;

        TFD_TRY(receive(g, part, sizeof(part), &got));
        if (got == 0 && length >= 0)
            return tfd_fail(g->st, TFD_DATA_LOSS,
                            "%zu bytes came of a page of %lld", g->body->size,
                            (long long)length);
        if (got == 0)
            break;
        tfd_bytes_add(g->body, part, got);
        TFD_TRY(tfd_bytes_ok(g->body, "a page", g->st));
    }
    return tfd_bytes_ok(g->body, "a page", g->st);
}

static enum tfd_code exchange(struct get *g, const char *address,
                              const char *path)
{
    struct tfd_bytes request;
    size_t head_size = 0;
    int64_t length = -1;
    enum tfd_code rc;

    TFD_TRY(connect_to(g, address));
    tfd_bytes_init(&request, 4096);
    tfd_bytes_printf(&request,
                     "GET %s HTTP/1.1\r\nHost: %s\r\n"
                     "Accept: application/json\r\nConnection: close\r\n\r\n",
                     path, address);
    rc = tfd_bytes_ok(&request, "the request", g->st);
    if (rc == TFD_OK)
        rc = send_all(g, tfd_bytes_view(&request));
    tfd_bytes_deinit(&request);
    if (rc == TFD_OK)
        rc = read_head(g, &head_size);
    if (rc == TFD_OK)
        rc = take_head(g, head_size, &length);
    return rc == TFD_OK ? read_body(g, length) : rc;
}

enum tfd_code tfd_ctl_http_get(const char *address, const char *path,
                               int64_t timeout_ms, size_t body_max,
                               struct tfd_bytes *body, struct tfd_status *st)
{
    struct get g = {
        .fd = -1,
        .end_us = timeout_ms > 0 ? tfd_clock_now_us() + timeout_ms * 1000 : 0,
        .body_max = body_max,
        .body = body,
        .st = st};
    enum tfd_code rc;

    tfd_bytes_init(body, body_max);
    tfd_bytes_init(&g.head, TFD_HTTP_HEAD_SIZE_MAX);
    rc = exchange(&g, address, path);
    if (g.fd >= 0)
        close(g.fd);
    tfd_bytes_deinit(&g.head);
    return rc;
}
