/*
 * sniff.c - see sniff.h.  The four bytes are all that is read here; the
 * protocol's own handler gets them as the beginning of its stream.
 */
#include "rpc/core/sniff.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "rpc/core/link.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX_SIZE 4

struct first_bytes {
    const struct tfd_sniff *sniff;
    struct tfd_conn *conn;
    struct tfd_timer timer;
    char prefix[PREFIX_SIZE];
    size_t have;
};

static enum tfd_code serve_native(const struct tfd_sniff *s, struct tfd_conn *c,
                                  struct tfd_str prefix, struct tfd_status *st)
{
    return tfd_native_serve(s->service, c, s->self, prefix, st);
}

static enum tfd_code serve_grpc(const struct tfd_sniff *s, struct tfd_conn *c,
                                struct tfd_str prefix, struct tfd_status *st)
{
    return tfd_grpc_serve(s->service, c, prefix, st);
}

static enum tfd_code serve_http(const struct tfd_sniff *s, struct tfd_conn *c,
                                struct tfd_str prefix, struct tfd_status *st)
{
    return tfd_http_serve(s->service, c, prefix, st);
}

/* Methods of HTTP/1 that it does not serve are there for its answer, 405. */
static const struct protocol {
    char prefix[PREFIX_SIZE + 1];
    enum tfd_code (*serve)(const struct tfd_sniff *s, struct tfd_conn *c,
                           struct tfd_str prefix, struct tfd_status *st);
} protocols[] = {
    {"TFD1", serve_native}, {"PRI ", serve_grpc}, {"GET ", serve_http},
    {"HEAD", serve_http},   {"POST", serve_http}, {"PUT ", serve_http},
    {"DELE", serve_http},   {"OPTI", serve_http}, {"PATC", serve_http},
};

static enum tfd_code choose_protocol(struct first_bytes *f,
                                     struct tfd_status *st)
{
    struct tfd_str prefix = {f->prefix, PREFIX_SIZE};

    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
        if (memcmp(f->prefix, protocols[i].prefix, PREFIX_SIZE) == 0)
            return protocols[i].serve(f->sniff, f->conn, prefix, st);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "no protocol begins with 0x%02x%02x%02x%02x",
                    (uint8_t)f->prefix[0], (uint8_t)f->prefix[1],
                    (uint8_t)f->prefix[2], (uint8_t)f->prefix[3]);
}

static size_t on_space(void *self, uint8_t **at)
{
    struct first_bytes *f = self;

    *at = (uint8_t *)f->prefix + f->have;
    return PREFIX_SIZE - f->have;
}

static void forget_first_bytes(struct first_bytes *f)
{
    tfd_timer_stop(&f->timer);
    free(f);
}

/* After this the connection has another handler, whose closed() will be told,
 * or none at all. */
static void closed_nobody(void *self, const struct tfd_status *why)
{
    (void)self;
    (void)why;
}

static const struct tfd_conn_handler nobody = {.closed = closed_nobody};

static enum tfd_code on_commit(void *self, size_t n, struct tfd_status *st)
{
    struct first_bytes *f = self;
    enum tfd_code rc;

    f->have += n;
    if (f->have < PREFIX_SIZE)
        return TFD_OK;
    tfd_conn_handle(f->conn, &nobody, NULL);
    rc = choose_protocol(f, st);
    forget_first_bytes(f);
    return rc;
}

static void on_sniff_closed(void *self, const struct tfd_status *why)
{
    (void)why;
    forget_first_bytes(self);
}

/* It has not said what it is for. */
static enum tfd_conn_use sniff_use(void *self)
{
    (void)self;
    return TFD_CONN_IDLE;
}

static const struct tfd_conn_handler handler = {
    .space = on_space,
    .commit = on_commit,
    .use = sniff_use,
    .closed = on_sniff_closed,
};

static void too_slow(struct tfd_timer *t)
{
    struct first_bytes *f = TFD_CONTAINER_OF(t, struct first_bytes, timer);

    tfd_conn_close(f->conn, 0);
}

void tfd_sniff_accept(void *sniff, struct tfd_conn *c)
{
    struct first_bytes *f = calloc(1, sizeof(*f));

    if (!f)
        return; /* without a handler the listener closes it */
    f->sniff = sniff;
    f->conn = c;
    tfd_conn_count(c, tfd_service_traffic(f->sniff->service));
    tfd_timer_init(&f->timer, tfd_conn_loop(c), too_slow);
    if (tfd_timer_start(&f->timer, TFD_HANDSHAKE_MS * UINT64_C(1000), NULL) !=
        TFD_OK) {
        free(f);
        return;
    }
    tfd_conn_handle(c, &handler, f);
}
