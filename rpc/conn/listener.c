/*
 * listener.c - a listening socket, the one for this host beside it, and the
 * count of what they accepted.
 *
 * When the process is out of descriptors accept() keeps failing while the
 * socket stays readable; the listener then rests a while instead of spinning.
 */
#define _GNU_SOURCE 1

#include "rpc/conn/conn_impl.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "config/limits.h"
#include "rpc/conn/listener_hosts.h"
#include "rpc/conn/loop_uv.h"
#include "rpc/conn/same_host.h"
#include "rpc/conn/tcp_owner.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 511
/* What one turn of the loop gives to those who come: to accept one takes 20 to
 * 40 microseconds. */
#define ACCEPT_US 200
#define REST_US (100 * 1000)
/* No connection made room, so none is asked again for so long. */
#define FULL_US (100 * 1000)
/* One line about users who may not connect in so long. */
#define TELL_US (1000 * 1000)
/* ... and about the number of connections of one host. */
#define TELL_HOST_US (UINT64_C(600) * 1000 * 1000)

/* By TCP, and the short way (same_host.h). */
enum { BY_TCP, BY_UNIX, SOCKETS };

struct socket {
    struct tfd_listener *listener;
    uv_poll_t poll;
    int fd; /* -1: closed */
};

struct tfd_listener {
    struct tfd_loop *loop;
    struct socket socket[SOCKETS];
    struct tfd_timer rest;
    struct tfd_tcp_owners owners;
    uint64_t told_us, untold; /* of users who may not connect */
    int port;
    int connections, connections_max, per_peer_max;
    struct tfd_listener_hosts hosts;
    uint64_t refused;
    int holds; /* connections and sockets */
    void (*accepted)(void *ctx, struct tfd_conn *c);
    void *ctx;
};

static void drop_hold(struct tfd_listener *l)
{
    if (--l->holds > 0)
        return;
    tfd_listener_hosts_deinit(&l->hosts);
    tfd_tcp_owners_deinit(&l->owners);
    free(l);
}

/* ---- Hosts --------------------------------------------------------------- */

static void forget_host(struct tfd_listener *l, struct tfd_listener_host *h)
{
    tfd_listener_hosts_leave(&l->hosts, h);
    l->connections--;
    drop_hold(l);
}

int tfd_listener_host_size(const struct tfd_listener_host *h)
{
    return h->connections;
}

/* A host that knocks all the time is told of now and then. */
static bool is_time_to_tell(uint64_t *told_us, uint64_t now)
{
    if (*told_us != 0 && now - *told_us < TELL_HOST_US)
        return false;
    *told_us = now;
    return true;
}

/* One that is idle goes; false when there is none.  To look for one takes a
 * walk over all, so it is not done for every one of many that knock in vain. */
static bool make_connection_room(struct tfd_listener *l,
                                 struct tfd_listener_host *h, bool of_host)
{
    uint64_t now = tfd_loop_now_us(l->loop);
    struct tfd_conn *c;

    if (now < h->full_until_us)
        return false;
    c = tfd_conn_victim(l->loop, l, of_host ? h : NULL);
    if (!c) {
        h->full_until_us = now + FULL_US;
        return false;
    }
    if (is_time_to_tell(&h->told_displaced_us, now))
        tfd_log(TFD_LOG_WARN, "connection_displaced",
                "peer=%s counted_as=\"%s\" open=%d of_peer=%d idle_s=%llu "
                "why=\"another one needs its place\"",
                c->peer, c->host->key, l->connections, h->connections - 1,
                (unsigned long long)((now - c->heard_us) / 1000000));
    tfd_conn_close(c, 0);
    return true;
}

/* NULL when one more is too many. */
static struct tfd_listener_host *admit(struct tfd_listener *l, const char *peer,
                                       const struct tfd_origin *from)
{
    struct tfd_listener_host *h = tfd_listener_hosts_enter(&l->hosts, from);
    bool of_host;

    if (!h)
        return NULL;
    of_host = h->connections > l->per_peer_max;
    if ((l->connections < l->connections_max && !of_host) ||
        make_connection_room(l, h, of_host))
        return h;
    if (is_time_to_tell(&h->told_us, tfd_loop_now_us(l->loop)))
        tfd_log(TFD_LOG_WARN, "connection_refused",
                "peer=%s counted_as=\"%s\" open=%d most=%d of_peer=%d "
                "most_of_peer=%d",
                peer, h->key, l->connections, l->connections_max,
                h->connections - 1, l->per_peer_max);
    tfd_listener_hosts_leave(&l->hosts, h);
    return NULL;
}

/* ---- Users of this host -------------------------------------------------- */

/* False when the peer has ended the connection before its user was asked for:
 * a probe of the port, which nobody need hear of. */
static bool find_user(struct tfd_listener *l, int fd,
                      const struct sockaddr *peer, struct tfd_origin *o)
{
    uint32_t uid = TFD_UID_UNKNOWN;
    enum tfd_tcp_owner owner = tfd_tcp_owners_find(&l->owners, fd, peer, &uid);

    if (owner == TFD_OWNER_USER)
        tfd_origin_set_user(o, uid);
    else if (owner != TFD_OWNER_REMOTE)
        tfd_origin_set_user(o, TFD_UID_UNKNOWN);
    return owner != TFD_OWNER_GONE || tfd_loop_allow(l->loop)->any;
}

/* Anybody can make us refuse as often as they like, but not fill the log. */
static void tell_refused(struct tfd_listener *l, const char *peer,
                         const struct tfd_origin *from)
{
    uint64_t now = tfd_loop_now_us(l->loop);

    if (l->told_us && now - l->told_us < TELL_US) {
        l->untold++;
        return;
    }
    tfd_log(TFD_LOG_WARN, "user_refused",
            "peer=%s user=\"%s\" untold=%llu hint=\"users of this host other "
            "than the server's own and root need --allow_uid\"",
            peer, from->key, (unsigned long long)l->untold);
    l->told_us = now;
    l->untold = 0;
}

static bool may_connect(struct tfd_listener *l, const char *peer,
                        const struct tfd_origin *from)
{
    if (!from->same_host || tfd_allow_has(tfd_loop_allow(l->loop), from->uid))
        return true;
    tell_refused(l, peer, from);
    return false;
}

/* ---- Accepting ----------------------------------------------------------- */

static void welcome(struct tfd_listener *l, int fd, const char *peer,
                    const struct tfd_origin *from)
{
    struct tfd_listener_host *h =
        may_connect(l, peer, from) ? admit(l, peer, from) : NULL;
    struct tfd_conn *c;

    if (!h) {
        l->refused++;
        close(fd);
        return;
    }
    c = tfd_conn_adopt(l->loop, fd, peer, from);
    if (!c) {
        tfd_listener_hosts_leave(&l->hosts, h);
        return;
    }
    c->listener = l;
    c->host = h;
    c->forget = forget_host;
    l->connections++;
    l->holds++;
    l->accepted(l->ctx, c);
    if (!c->handler)
        tfd_conn_close(c, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void rest_over(struct tfd_timer *t)
{
    struct tfd_listener *l = TFD_CONTAINER_OF(t, struct tfd_listener, rest);

    for (int i = 0; i < SOCKETS; i++)
        if (l->socket[i].fd >= 0)
            uv_poll_start(&l->socket[i].poll, UV_READABLE, on_readable);
}

static void accept_failed(struct tfd_listener *l, int error)
{
    if (error != EMFILE && error != ENFILE && error != ENOMEM &&
        error != ENOBUFS)
        return; /* that connection is gone, the next may be well */
    if (tfd_timer_start(&l->rest, REST_US, NULL) != TFD_OK)
        return;
    for (int i = 0; i < SOCKETS; i++)
        if (l->socket[i].fd >= 0)
            uv_poll_stop(&l->socket[i].poll);
}

/* Takes fd. */
static void introduce(struct socket *s, int fd, const struct sockaddr *from)
{
    struct tfd_listener *l = s->listener;
    struct tfd_origin origin;
    char peer[TFD_PEER_TEXT_MAX];

    if (s == &l->socket[BY_UNIX]) {
        tfd_same_host_peer_text(fd, peer);
        tfd_origin_of_unix(&origin, fd);
    } else {
        tfd_dial_peer_text(from, peer);
        tfd_origin_of_tcp(&origin, from);
        if (!find_user(l, fd, from, &origin)) {
            close(fd);
            return;
        }
    }
    welcome(l, fd, peer, &origin);
}

/* False: there is nobody, or nobody can be accepted. */
static bool accept_one(struct socket *s)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof(from);
    int fd = accept4(s->fd, (struct sockaddr *)&from, &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        accept_failed(s->listener, errno);
        return false;
    }
    introduce(s, fd, (struct sockaddr *)&from);
    return true;
}

/* Who was accepted and has not been read yet comes first: to accept more would
 * only fill the places of their host.  One a turn comes in nevertheless, or who
 * never stops sending would shut the door. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct socket *s = poll->data;
    struct tfd_loop *loop = s->listener->loop;
    uint64_t until = tfd_loop_now_us(loop) + ACCEPT_US;

    (void)status;
    (void)events;
    while (s->fd >= 0 && accept_one(s))
        if (tfd_loop_line(loop)->strangers.first ||
            tfd_loop_now_us(loop) >= until)
            return;
}

/* ---- The sockets --------------------------------------------------------- */

static int listen_on(const struct addrinfo *a)
{
    int one = 1, zero = 0, error;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    IPPROTO_TCP);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (a->ai_family == AF_INET6) /* "::" takes IPv4 too */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* The first address that can be listened on.  With no name, every interface:
 * IPv6 with IPv4 in it, or IPv4 alone where there is no IPv6. */
static int open_socket(const char *address, int port, struct tfd_status *st)
{
    bool any = !address || !*address;
    const char *names[] = {any ? "::" : address, any ? "0.0.0.0" : NULL};
    char service[TFD_PORT_TEXT_MAX];
    int fd = -1, error = 0;

    snprintf(service, sizeof(service), "%u", (unsigned)port & 0xffff);
    for (int i = 0; i < 2 && names[i] && fd < 0; i++) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
        struct addrinfo *found = NULL;
        int rc = getaddrinfo(names[i], service, &hints, &found);

        if (rc != 0) {
            (void)tfd_fail(st, TFD_INVALID_ARGUMENT, "cannot resolve %s: %s",
                           names[i], gai_strerror(rc));
            return -1;
        }
        for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
            fd = listen_on(a);
            error = errno;
        }
        freeaddrinfo(found);
        if (fd < 0 && error == EADDRINUSE)
            break; /* another family would only hide it */
    }
    if (fd < 0)
        (void)tfd_fail(st, TFD_UNAVAILABLE, "cannot listen on %s:%d: %s",
                       any ? "*" : address, port, strerror(error));
    return fd;
}

static struct sockaddr_storage address_of(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);

    (void)getsockname(fd, (struct sockaddr *)&own, &size);
    return own;
}

static int port_of(const struct sockaddr_storage *own)
{
    return ntohs(own->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)own)->sin6_port
                     : ((const struct sockaddr_in *)own)->sin_port);
}

/* Takes fd. */
static bool watch(struct tfd_listener *l, int which, int fd)
{
    struct socket *s = &l->socket[which];

    if (uv_poll_init(tfd_loop_uv(l->loop), &s->poll, fd) != 0) {
        close(fd);
        return false;
    }
    s->fd = fd;
    s->poll.data = s;
    l->holds++;
    uv_poll_start(&s->poll, UV_READABLE, on_readable);
    return true;
}

static struct tfd_listener *listener_make(struct tfd_loop *loop)
{
    struct tfd_listener *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->loop = loop;
    for (int i = 0; i < SOCKETS; i++)
        l->socket[i] = (struct socket){.listener = l, .fd = -1};
    tfd_timer_init(&l->rest, loop, rest_over);
    tfd_tcp_owners_init(&l->owners);
    return l;
}

void tfd_listener_per_peer(struct tfd_listener *l, int connections_max)
{
    l->per_peer_max = connections_max;
}

enum tfd_code tfd_listener_new(struct tfd_loop *l, const char *address,
                               int port, int connections_max,
                               void (*accepted)(void *ctx, struct tfd_conn *c),
                               void *ctx, struct tfd_listener **out,
                               struct tfd_status *st)
{
    struct tfd_listener *li = listener_make(l);
    struct sockaddr_storage own;
    int fd;

    if (!li)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory to listen");
    li->connections_max = connections_max;
    li->per_peer_max = TFD_CONNECTIONS_PER_PEER_MAX;
    li->accepted = accepted;
    li->ctx = ctx;
    fd = open_socket(address, port, st);
    if (fd < 0) {
        free(li);
        return st ? st->code : TFD_UNAVAILABLE;
    }
    own = address_of(fd);
    if (!watch(li, BY_TCP, fd)) {
        free(li);
        return tfd_fail(st, TFD_UNAVAILABLE, "cannot poll port %d", port);
    }
    li->port = port_of(&own);
    fd = tfd_same_host_listen((struct sockaddr *)&own, BACKLOG);
    if (fd >= 0)
        (void)watch(li, BY_UNIX, fd); /* TCP is there */
    else if (errno == EADDRINUSE)
        tfd_log(TFD_LOG_WARN, "unix_name_taken",
                "port=%d hint=\"another process holds the abstract socket "
                "beside this port; this host's peers come by TCP\"",
                li->port);
    *out = li;
    return TFD_OK;
}

static void poll_closed(uv_handle_t *handle)
{
    struct socket *s = handle->data;

    drop_hold(s->listener);
}

void tfd_listener_close(struct tfd_listener *l)
{
    if (!l)
        return;
    tfd_timer_stop(&l->rest);
    for (int i = 0; i < SOCKETS; i++) {
        struct socket *s = &l->socket[i];

        if (s->fd < 0)
            continue;
        uv_close((uv_handle_t *)&s->poll, poll_closed);
        close(s->fd);
        s->fd = -1;
    }
}

int tfd_listener_port(const struct tfd_listener *l)
{
    return l->port;
}

uint64_t tfd_listener_refused(const struct tfd_listener *l)
{
    return l->refused;
}

int tfd_listener_connections(const struct tfd_listener *l)
{
    return l->connections;
}
