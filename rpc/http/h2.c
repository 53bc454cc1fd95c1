/*
 * h2.c - nghttp2 behind our own interface.
 *
 * nghttp2 parses, compresses headers and keeps the flow control windows; what
 * it calls back is turned into tfd_h2_events in h2_in.c.  Its callbacks must
 * not enter it again, so `busy` says that we are inside: a pump asked for then
 * is made by whoever is outside, who always pumps next.
 *
 * Windows.  Everything received is consumed at once into memory that the
 * message limits bound, so a window protects nothing and is only made large
 * enough not to stop a sender: nghttp2 re-opens it when half is used, and
 * tfd_h2_expect() widens it for a message known to be larger.
 *
 * Sending.  The body of a stream is a tfd_h2_source.  nghttp2 asks how much of
 * it may go into the next frame (read_source) and says when that frame's turn
 * has come (send_frame); the bytes never pass through nghttp2.
 */
#include "rpc/http/h2.h"

#include "config/limits.h"
#include "rpc/http/h2_impl.h"

#include <assert.h>
#include <stdlib.h>

/* A sender of less never waits for a window, and is not woken by the news that
 * there is more.  Half of the connection's is used before it is told so. */
#define STREAM_WINDOW (64 << 20)
#define CONNECTION_WINDOW (256 << 20)
#define FRAME_SIZE_MAX (4 << 20) /* what TensorFlow's own servers announce */
#define WINDOW_MAX INT32_MAX

/* Largest DATA frame sent: streams take turns frame by frame, and 1 MiB is
 * under a millisecond on a fast link. */
#define FRAME_OUT_MAX (1 << 20)

#define HEADERS_MAX 16 /* we send at once */
/* What we send in headers repeats itself within a few hundred bytes. */
#define HEADER_TABLE_OUT 1024

/* ---- Sending ------------------------------------------------------------- */

static size_t fill_headers(nghttp2_nv *nv, const struct tfd_h2_header *headers,
                           size_t count)
{
    assert(count <= HEADERS_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct tfd_h2_header *h = &headers[i];

        /* nghttp2 copies; its interface only lacks the const. */
        nv[i] = (nghttp2_nv){
            (uint8_t *)(uintptr_t)h->name.data,
            (uint8_t *)(uintptr_t)h->value.data, h->name.size, h->value.size,
            h->unique ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
    }
    return count;
}

/* How much of the source goes into the next frame. */
static ssize_t read_source(nghttp2_session *session, int32_t id, uint8_t *buf,
                           size_t length, uint32_t *data_flags,
                           nghttp2_data_source *source, void *user_data)
{
    struct tfd_h2_source *s = source->ptr;
    size_t n = length < s->left ? length : (size_t)s->left;
    nghttp2_nv nv[HEADERS_MAX];
    size_t count;

    (void)buf;
    (void)user_data;
    if (n == 0 && s->open)
        return NGHTTP2_ERR_DEFERRED;
    s->left -= n;
    *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (s->left > 0 || s->open)
        return (ssize_t)n;
    *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    if (s->trailer_count == 0)
        return (ssize_t)n;
    *data_flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    count = fill_headers(nv, s->trailers, s->trailer_count);
    if (nghttp2_submit_trailer(session, id, nv, count) != 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return (ssize_t)n;
}

static int send_frame(nghttp2_session *session, nghttp2_frame *frame,
                      const uint8_t *head, size_t length,
                      nghttp2_data_source *source, void *user_data)
{
    struct tfd_h2 *h = user_data;
    struct tfd_h2_source *s = source->ptr;

    (void)session;
    assert(frame->data.padlen == 0); /* we select none */
    if (h->events->full(h->ctx))
        return NGHTTP2_ERR_WOULDBLOCK;
    h->events->write(h->ctx, head, 9);
    s->write(s, length);
    tfd_h2_guard_sent(&h->guard, length);
    return 0;
}

static ssize_t frame_length(nghttp2_session *session, uint8_t type, int32_t id,
                            int32_t session_window, int32_t stream_window,
                            uint32_t frame_max, void *user_data)
{
    (void)session;
    (void)type;
    (void)id;
    (void)session_window;
    (void)stream_window;
    (void)frame_max;
    (void)user_data;
    return FRAME_OUT_MAX; /* nghttp2 takes the least of all */
}

/* A stream that the peer makes us reset cost us as much as one that it does. */
static void count_reset(struct tfd_h2 *h, const nghttp2_frame *frame)
{
    if (h->role == TFD_H2_SERVER && frame->hd.type == NGHTTP2_RST_STREAM &&
        frame->rst_stream.error_code != TFD_H2_NO_ERROR)
        tfd_h2_count(h, TFD_H2_GUARD_RESET);
}

/* A server that has said everything has no use for the rest of a request. */
static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame,
                         void *user_data)
{
    struct tfd_h2 *h = user_data;
    int32_t id = frame->hd.stream_id;

    if (frame->hd.type == NGHTTP2_GOAWAY)
        h->closing = true;
    count_reset(h, frame);
    if (h->role != TFD_H2_SERVER || frame->hd.type != NGHTTP2_HEADERS ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    if (nghttp2_session_get_stream_remote_close(session, id) == 0)
        tfd_h2_reset(h, id, TFD_H2_NO_ERROR);
    return 0;
}

void tfd_h2_pump(struct tfd_h2 *h)
{
    const uint8_t *at;
    ssize_t n = 1;

    if (h->busy || h->over)
        return;
    h->busy = true;
    while (n > 0 && !h->events->full(h->ctx)) {
        n = nghttp2_session_mem_send(h->session, &at);
        if (n > 0)
            h->events->write(h->ctx, at, (size_t)n);
    }
    h->busy = false;
    if (n < 0)
        h->over = true; /* no memory: nothing can be sent any more */
}

enum tfd_code tfd_h2_respond(struct tfd_h2 *h, int32_t id,
                             const struct tfd_h2_header *headers, size_t count,
                             struct tfd_h2_source *source,
                             struct tfd_status *st)
{
    nghttp2_data_provider body = {{.ptr = source}, read_source};
    nghttp2_nv nv[HEADERS_MAX];
    int rv;

    assert(h->role == TFD_H2_SERVER && id > 0);
    count = fill_headers(nv, headers, count);
    rv = nghttp2_submit_response(h->session, id, nv, count,
                                 source ? &body : NULL);
    if (rv != 0)
        return tfd_fail(st, TFD_INTERNAL, "HTTP/2 stream %d: %s", (int)id,
                        nghttp2_strerror(rv));
    return TFD_OK;
}

void tfd_h2_resume(struct tfd_h2 *h, int32_t id)
{
    /* Fails where the stream was not waiting, which is as well. */
    (void)nghttp2_session_resume_data(h->session, id);
}

enum tfd_code tfd_h2_request(struct tfd_h2 *h,
                             const struct tfd_h2_header *headers, size_t count,
                             struct tfd_h2_source *source, void *stream,
                             int32_t *id, struct tfd_status *st)
{
    nghttp2_data_provider body = {{.ptr = source}, read_source};
    nghttp2_nv nv[HEADERS_MAX];
    int32_t rv;

    assert(h->role == TFD_H2_CLIENT && source && stream);
    if (tfd_h2_closing(h))
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "no new calls can be made on this connection");
    count = fill_headers(nv, headers, count);
    rv = nghttp2_submit_request(h->session, NULL, nv, count, &body, stream);
    h->used_up = rv == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE;
    if (rv < 0)
        return tfd_fail(st, TFD_UNAVAILABLE, "HTTP/2: %s",
                        nghttp2_strerror(rv));
    *id = rv;
    h->streams++;
    return TFD_OK;
}

void tfd_h2_reset(struct tfd_h2 *h, int32_t id, uint32_t error)
{
    /* Fails only for lack of memory; the connection's end then ends the
     * stream, and until then the peer wastes its own time. */
    (void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, id, error);
}

void tfd_h2_ping(struct tfd_h2 *h)
{
    /* Fails only for lack of memory: one question less. */
    (void)nghttp2_submit_ping(h->session, NGHTTP2_FLAG_NONE, NULL);
}

void tfd_h2_terminate(struct tfd_h2 *h, uint32_t error)
{
    if (nghttp2_session_terminate_session(h->session, error) != 0)
        h->over = true;
    h->closing = true;
}

void tfd_h2_expect(struct tfd_h2 *h, int32_t id, uint64_t size)
{
    int32_t window = size < WINDOW_MAX ? (int32_t)size : WINDOW_MAX;

    /* Failures: no memory (the message then comes more slowly). */
    if (window >
        nghttp2_session_get_stream_effective_local_window_size(h->session, id))
        (void)nghttp2_session_set_local_window_size(
            h->session, NGHTTP2_FLAG_NONE, id, window);
    if (window > nghttp2_session_get_effective_local_window_size(h->session))
        (void)nghttp2_session_set_local_window_size(
            h->session, NGHTTP2_FLAG_NONE, 0, window);
}

/* ---- Receiving ----------------------------------------------------------- */

enum tfd_code tfd_h2_receive(struct tfd_h2 *h, const uint8_t *data, size_t n,
                             uint64_t now_us, struct tfd_status *st)
{
    ssize_t rv;

    assert(!h->busy);
    if (h->over)
        return tfd_fail(st, TFD_UNAVAILABLE, "the HTTP/2 session is over");
    h->now_us = now_us;
    h->busy = true;
    rv = nghttp2_session_mem_recv(h->session, data, n);
    h->busy = false;
    if (rv >= 0)
        return TFD_OK;
    h->over = true;
    return tfd_fail(st,
                    rv == NGHTTP2_ERR_NOMEM ? TFD_RESOURCE_EXHAUSTED
                                            : TFD_INVALID_ARGUMENT,
                    "HTTP/2: %s", nghttp2_strerror((int)rv));
}

bool tfd_h2_done(const struct tfd_h2 *h)
{
    return h->over || (h->used_up && h->streams == 0) ||
           (!nghttp2_session_want_read(h->session) &&
            !nghttp2_session_want_write(h->session));
}

bool tfd_h2_greeted(const struct tfd_h2 *h)
{
    return h->greeted;
}

bool tfd_h2_owed(const struct tfd_h2 *h)
{
    return !h->greeted || h->in_head;
}

bool tfd_h2_closing(const struct tfd_h2 *h)
{
    return h->closing || h->used_up || h->over;
}

size_t tfd_h2_data_left(const struct tfd_h2 *h, void **stream)
{
    *stream = h->data_stream;
    return h->data_stream ? h->data_left : 0;
}

/* ---- A session ----------------------------------------------------------- */

static void set_callbacks(nghttp2_session_callbacks *c)
{
    nghttp2_session_callbacks_set_send_data_callback(c, send_frame);
    nghttp2_session_callbacks_set_data_source_read_length_callback(
        c, frame_length);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_send);
    tfd_h2_in_callbacks(c);
}

static int make_session(struct tfd_h2 *h, nghttp2_session_callbacks *callbacks,
                        nghttp2_option *option)
{
    int rv;

    /* Without this nghttp2 remembers closed streams, for their priorities. */
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_deflate_dynamic_table_size(option, HEADER_TABLE_OUT);
    /* Until its SETTINGS say otherwise we may open this many. */
    nghttp2_option_set_peer_max_concurrent_streams(
        option, TFD_STREAMS_PER_CONNECTION_MAX);
    /* gRPC sends texts that end in a space, as grpc-message. */
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
    /* h2_guard.c counts these, with time; nghttp2 only bounds what is not yet
     * sent. */
    nghttp2_option_set_max_outbound_ack(option,
                                        2 * (TFD_PINGS_MAX + TFD_SETTINGS_MAX));
    nghttp2_option_set_stream_reset_rate_limit(
        option, 2 * TFD_STREAMS_PER_CONNECTION_MAX,
        TFD_STREAMS_PER_CONNECTION_MAX);
    tfd_h2_in_options(option);
    tfd_h2_memory_init(&h->memory);
    if (h->role == TFD_H2_SERVER)
        rv = nghttp2_session_server_new3(&h->session, callbacks, h, option,
                                         &h->memory.mem);
    else
        rv = nghttp2_session_client_new3(&h->session, callbacks, h, option,
                                         &h->memory.mem);
    tfd_h2_memory_made(&h->memory);
    return rv;
}

static int send_settings(struct tfd_h2 *h)
{
    nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
         TFD_STREAMS_PER_CONNECTION_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_SIZE_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, TFD_HEADER_LIST_SIZE_MAX},
    };
    int rv;

    if (h->role == TFD_H2_CLIENT) /* servers have nothing to open */
        entries[0] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    rv = nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, entries,
                                 sizeof(entries) / sizeof(entries[0]));
    if (rv == 0)
        rv = nghttp2_session_set_local_window_size(
            h->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
    return rv;
}

static int start_http2(struct tfd_h2 *h)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int rv = nghttp2_session_callbacks_new(&callbacks);

    if (rv == 0)
        rv = nghttp2_option_new(&option);
    if (rv == 0) {
        set_callbacks(callbacks);
        rv = make_session(h, callbacks, option);
    }
    if (rv == 0)
        rv = send_settings(h);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return rv;
}

enum tfd_code tfd_h2_new(enum tfd_h2_role role,
                         const struct tfd_h2_events *events, void *ctx,
                         struct tfd_h2 **out, struct tfd_status *st)
{
    struct tfd_h2 *h = calloc(1, sizeof(*h));
    int rv;

    if (!h)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an HTTP/2 session");
    h->role = role;
    h->events = events;
    h->ctx = ctx;
    rv = start_http2(h);
    if (rv != 0) {
        tfd_h2_free(h);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "HTTP/2: %s",
                        nghttp2_strerror(rv));
    }
    *out = h;
    return TFD_OK;
}

void tfd_h2_free(struct tfd_h2 *h)
{
    if (!h)
        return;
    nghttp2_session_del(h->session);
    tfd_h2_memory_deinit(&h->memory);
    free(h);
}
