/*
 * h2_in.c - what nghttp2 says of the frames it reads becomes tfd_h2_events, and
 * is counted where a peer could overdo it.
 */
#include "rpc/http/h2_impl.h"

#include "config/limits.h"

#include <assert.h>

/* Headers past the limit are dropped, so that the answer can say so; a list
 * this large is not even worth an answer. */
#define HEADER_LIST_ABSURD (8 * TFD_HEADER_LIST_SIZE_MAX)
#define FIRST_UNKNOWN (NGHTTP2_CONTINUATION + 1)
#define HEADER_COST 32 /* RFC 9113 6.5.2 adds it to each header */

static void *stream_of(struct tfd_h2 *h, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h->session, id);
}

static enum tfd_h2_guarded data_kind(const nghttp2_frame_hd *hd)
{
    if (hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM))
        return TFD_H2_GUARD_EMPTY_DATA;
    return hd->length < TFD_SMALL_DATA_SIZE || (hd->flags & NGHTTP2_FLAG_PADDED)
               ? TFD_H2_GUARD_SMALL_DATA
               : TFD_H2_GUARD_COUNT;
}

/* Headers that begin no request are trailers, or for a stream that is over. */
static enum tfd_h2_guarded headers_kind(struct tfd_h2 *h,
                                        const nghttp2_frame_hd *hd)
{
    if (hd->stream_id <= h->last_id)
        return TFD_H2_GUARD_TRAILERS;
    h->last_id = hd->stream_id;
    return TFD_H2_GUARD_COUNT;
}

/* The event a frame of a client counts as, or TFD_H2_GUARD_COUNT. */
static enum tfd_h2_guarded client_kind(struct tfd_h2 *h,
                                       const nghttp2_frame_hd *hd)
{
    switch (hd->type) {
    case NGHTTP2_RST_STREAM:
        return TFD_H2_GUARD_RESET;
    case NGHTTP2_HEADERS:
        return headers_kind(h, hd);
    case NGHTTP2_DATA:
        return data_kind(hd);
    case NGHTTP2_WINDOW_UPDATE:
        return TFD_H2_GUARD_WINDOW;
    case NGHTTP2_CONTINUATION:
        return TFD_H2_GUARD_COUNT; /* counted apart */
    default:
        return TFD_H2_GUARD_UNKNOWN;
    }
}

/* A server's reset only ends what we began, gRPC's sends one behind every
 * error, and it answers as it likes. */
static enum tfd_h2_guarded guarded_kind(struct tfd_h2 *h,
                                        const nghttp2_frame_hd *hd)
{
    bool ack = hd->flags & NGHTTP2_FLAG_ACK;

    switch (hd->type) {
    case NGHTTP2_PING:
        return ack ? TFD_H2_GUARD_COUNT : TFD_H2_GUARD_PING;
    case NGHTTP2_SETTINGS:
        return ack ? TFD_H2_GUARD_COUNT : TFD_H2_GUARD_SETTINGS;
    case NGHTTP2_PRIORITY:
        return TFD_H2_GUARD_PRIORITY;
    default:
        break;
    }
    if (h->role == TFD_H2_SERVER)
        return client_kind(h, hd);
    return hd->type == NGHTTP2_DATA && data_kind(hd) == TFD_H2_GUARD_EMPTY_DATA
               ? TFD_H2_GUARD_EMPTY_DATA
               : TFD_H2_GUARD_COUNT;
}

void tfd_h2_count(struct tfd_h2 *h, enum tfd_h2_guarded what)
{
    if (!tfd_h2_guard_count(&h->guard, what, h->streams, h->now_us))
        tfd_h2_terminate(h, TFD_H2_ENHANCE_YOUR_CALM);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd,
                          void *user_data)
{
    struct tfd_h2 *h = user_data;
    enum tfd_h2_guarded kind = guarded_kind(h, hd);

    (void)session;
    h->data_left = 0;
    if (hd->type == NGHTTP2_DATA && !(hd->flags & NGHTTP2_FLAG_PADDED)) {
        h->data_left = hd->length;
        h->data_id = hd->stream_id;
        h->data_stream = stream_of(h, hd->stream_id);
    }
    if (hd->type == NGHTTP2_CONTINUATION)
        h->continuations++;
    else
        h->continuations = 0;
    if (h->continuations > TFD_CONTINUATIONS_MAX)
        tfd_h2_terminate(h, TFD_H2_ENHANCE_YOUR_CALM);
    if (kind != TFD_H2_GUARD_COUNT)
        tfd_h2_count(h, kind);
    return 0;
}

/* Of a type that neither nghttp2 nor we know: it was counted as it began, and
 * is dropped. */
static int on_unknown_frame(nghttp2_session *session, void **payload,
                            const nghttp2_frame_hd *hd, void *user_data)
{
    (void)session;
    (void)payload;
    (void)hd;
    (void)user_data;
    return NGHTTP2_ERR_CANCEL;
}

static int on_begin_headers(nghttp2_session *session,
                            const nghttp2_frame *frame, void *user_data)
{
    struct tfd_h2 *h = user_data;
    int32_t id = frame->hd.stream_id;
    void *stream;

    h->in_head = true;
    h->head_size = 0;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    stream = h->events->begin(h->ctx, id);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    tfd_h2_guard_opened(&h->guard, ++h->streams);
    return nghttp2_session_set_stream_user_data(session, id, stream);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user_data)
{
    struct tfd_h2 *h = user_data;
    void *stream = stream_of(h, frame->hd.stream_id);

    (void)session;
    (void)flags;
    h->head_size += name_size + value_size + HEADER_COST;
    if (h->head_size > HEADER_LIST_ABSURD)
        tfd_h2_terminate(h, TFD_H2_ENHANCE_YOUR_CALM);
    else if (stream && h->head_size <= TFD_HEADER_LIST_SIZE_MAX)
        h->events->header(h->ctx, stream,
                          (struct tfd_str){(const char *)name, name_size},
                          (struct tfd_str){(const char *)value, value_size});
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t n, void *user_data)
{
    struct tfd_h2 *h = user_data;
    void *stream = stream_of(h, id);

    (void)session;
    (void)flags;
    if (h->data_left > 0) {
        assert(n <= h->data_left);
        h->data_left -= n;
    }
    if (stream)
        h->events->data(h->ctx, stream, data, n);
    return 0;
}

static void received_stream_frame(struct tfd_h2 *h, const nghttp2_frame *frame)
{
    void *stream = stream_of(h, frame->hd.stream_id);

    if (frame->hd.type == NGHTTP2_HEADERS) {
        h->in_head = false;
        if (stream)
            h->events->headers(h->ctx, stream,
                               h->head_size > TFD_HEADER_LIST_SIZE_MAX);
    }
    if (stream && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        h->events->end(h->ctx, stream);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame,
                         void *user_data)
{
    struct tfd_h2 *h = user_data;

    (void)session;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        received_stream_frame(h, frame);
        break;
    case NGHTTP2_SETTINGS:
        h->greeted = true;
        break;
    case NGHTTP2_GOAWAY:
        h->closing = true;
        break;
    default:
        break;
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error,
                           void *user_data)
{
    struct tfd_h2 *h = user_data;
    void *stream = stream_of(h, id);

    (void)session;
    if (h->data_id == id) {
        h->data_left = 0;
        h->data_stream = NULL;
    }
    h->in_head = false; /* of this stream or of none */
    if (!stream)
        return 0;
    assert(h->streams > 0);
    h->streams--;
    h->events->closed(h->ctx, stream, error);
    return 0;
}

void tfd_h2_in_options(nghttp2_option *o)
{
    for (int type = FIRST_UNKNOWN; type <= UINT8_MAX; type++)
        nghttp2_option_set_user_recv_extension_type(o, (uint8_t)type);
}

void tfd_h2_in_callbacks(nghttp2_session_callbacks *c)
{
    nghttp2_session_callbacks_set_unpack_extension_callback(c,
                                                            on_unknown_frame);
    nghttp2_session_callbacks_set_on_begin_frame_callback(c, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c,
                                                            on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
}
