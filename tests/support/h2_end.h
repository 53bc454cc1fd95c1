/*
 * h2_end.h - one end of an HTTP/2 connection without a network: a session, what
 * it wants to send, and its events written down as text.
 */
#ifndef TFD_TESTS_SUPPORT_H2_END_H
#define TFD_TESTS_SUPPORT_H2_END_H

#include "rpc/http/h2.h"
#include "tests/support/h2_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define STREAMS_MAX 5000

struct end {
    struct tfd_h2 *h2;
    struct tfd_bytes in; /* what a hand-made peer sends next */
    struct tfd_bytes out;
    struct tfd_bytes log;
    bool quiet; /* no log, only counters */
    bool full;
    bool refuse;
    uint32_t begun, ended, closed;
    size_t data;
    uint64_t now_us;
    int32_t last_id;
};

struct body {
    struct tfd_h2_source source;
    struct end *end;
    char letter;
};

/* Streams are known by number: a pointer into this array. */
static char stream_ids[2 * STREAMS_MAX];

static inline int id_of(void *stream)
{
    return (int)((char *)stream - stream_ids);
}

static inline void note(struct end *e, const char *fmt, ...) TFD_PRINTF(2, 3);

static inline void note(struct end *e, const char *fmt, ...)
{
    char text[256];
    va_list args;

    if (e->quiet)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    tfd_bytes_add(&e->log, text, strlen(text));
}

static const char *log_of(struct end *e)
{
    tfd_bytes_add(&e->log, "", 1);
    e->log.size--;
    return e->log.data;
}

static inline void on_write(void *ctx, const uint8_t *data, size_t n)
{
    struct end *e = ctx;

    tfd_bytes_add(&e->out, data, n);
}

static inline bool is_full(void *ctx)
{
    struct end *e = ctx;

    return e->full;
}

static inline void *on_begin(void *ctx, int32_t id)
{
    struct end *e = ctx;

    assert_true(id > 0);
    note(e, "begin %d\n", (int)id);
    e->begun++;
    e->last_id = id;
    return e->refuse ? NULL : &stream_ids[id % (2 * STREAMS_MAX)];
}

static inline void on_header(void *ctx, void *stream, struct tfd_str name,
                             struct tfd_str value)
{
    note(ctx, "%d " TFD_STR_FMT "=" TFD_STR_FMT "\n", id_of(stream),
         TFD_STR_ARG(name), TFD_STR_ARG(value));
}

static inline void on_headers(void *ctx, void *stream, bool cut)
{
    note(ctx, "%d headers%s\n", id_of(stream), cut ? " cut" : "");
}

/* Byte by byte, since where they were cut must not matter. */
static inline void on_data(void *ctx, void *stream, const uint8_t *data,
                           size_t n)
{
    struct end *e = ctx;

    e->data += n;
    for (size_t i = 0; i < n && n < 100; i++)
        if (data[i] > ' ' && data[i] <= '~')
            note(e, "%d %c\n", id_of(stream), data[i]);
        else
            note(e, "%d #%02x\n", id_of(stream), data[i]);
}

static inline void on_end(void *ctx, void *stream)
{
    struct end *e = ctx;

    e->ended++;
    note(e, "%d end\n", id_of(stream));
}

static inline void on_closed(void *ctx, void *stream, uint32_t error)
{
    struct end *e = ctx;

    e->closed++;
    note(e, "%d closed %u\n", id_of(stream), error);
}

static const struct tfd_h2_events events = {
    on_write,   is_full, on_begin, on_header,
    on_headers, on_data, on_end,   on_closed,
};

static inline void put_body(struct tfd_h2_source *s, size_t n)
{
    struct body *b = (struct body *)s;
    char *at = tfd_bytes_extend(&b->end->out, n);

    assert_non_null(at);
    memset(at, b->letter, n);
}

static inline struct body body_of(struct end *e, char letter, uint64_t size)
{
    return (struct body){{.left = size, .write = put_body}, e, letter};
}

static inline void open_end(struct end *e, enum tfd_h2_role role)
{
    *e = (struct end){0};
    tfd_bytes_init(&e->in, 1u << 24);
    tfd_bytes_init(&e->out, 1u << 30);
    tfd_bytes_init(&e->log, 1u << 24);
    assert_int_equal(tfd_h2_new(role, &events, e, &e->h2, NULL), TFD_OK);
    tfd_h2_pump(e->h2);
}

/* A server whose peer begins as it must. */
static inline void open_server(struct end *e)
{
    open_end(e, TFD_H2_SERVER);
    put_magic(&e->in);
}

static inline void close_end(struct end *e)
{
    tfd_h2_free(e->h2);
    tfd_bytes_deinit(&e->in);
    tfd_bytes_deinit(&e->out);
    tfd_bytes_deinit(&e->log);
}

static inline enum tfd_code feed(struct end *e, const void *data, size_t n)
{
    enum tfd_code code = tfd_h2_receive(e->h2, data, n, e->now_us, NULL);

    tfd_h2_pump(e->h2);
    return code;
}

/* Feeds what a hand-made peer wrote, and forgets it. */
static inline enum tfd_code feed_in(struct end *e)
{
    enum tfd_code code = feed(e, e->in.data, e->in.size);

    tfd_bytes_clear(&e->in);
    return code;
}

/* Moves bytes both ways until there are none. */
static inline void exchange(struct end *a, struct end *b)
{
    while (a->out.size > 0 || b->out.size > 0) {
        struct tfd_bytes from_a = a->out, from_b = b->out;

        tfd_bytes_init(&a->out, 1u << 30);
        tfd_bytes_init(&b->out, 1u << 30);
        if (from_a.size > 0)
            feed(b, from_a.data, from_a.size);
        if (from_b.size > 0)
            feed(a, from_b.data, from_b.size);
        tfd_bytes_deinit(&from_a);
        tfd_bytes_deinit(&from_b);
    }
}

static inline int32_t request(struct end *e, struct body *b)
{
    static const struct tfd_h2_header headers[] = {
        {{":path", 5}, {"/a", 2}, false},
        {{":authority", 10}, {"here:1", 6}, false},
        {{":method", 7}, {"POST", 4}, false},
        {{":scheme", 7}, {"http", 4}, false},
        {{"x-unique", 8}, {"1", 1}, true},
    };
    int32_t id = 0;
    static int next;

    next = (next + 1) % (2 * STREAMS_MAX);
    assert_int_equal(tfd_h2_request(e->h2, headers, COUNT(headers),
                                    b ? &b->source : NULL, &stream_ids[next],
                                    &id, NULL),
                     TFD_OK);
    return id;
}

static const struct tfd_h2_header ok = {{":status", 7}, {"200", 3}, false};
static const struct tfd_h2_header trailer = {
    {"grpc-status", 11}, {"0", 1}, false};

static inline void respond(struct end *e, int32_t id, struct body *b)
{
    if (b) {
        b->source.trailers = &trailer;
        b->source.trailer_count = 1;
    }
    assert_int_equal(
        tfd_h2_respond(e->h2, id, &ok, 1, b ? &b->source : NULL, NULL), TFD_OK);
    tfd_h2_pump(e->h2);
}

#endif
