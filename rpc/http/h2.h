/*
 * h2.h - one HTTP/2 session (RFC 9113), bytes in, bytes out.
 *
 * No sockets and no clock: whoever owns the connection feeds what arrived,
 * with the time, and is handed what to send.  Only rpc/http/h2*.c know nghttp2.
 *
 *     received bytes --> tfd_h2_receive() --> begin, header, headers, data,
 *                                             end, closed
 *     write, source->write <-- tfd_h2_pump() <-- tfd_h2_respond(), _request()
 *
 * Messages are sent without being copied: a tfd_h2_source says how much there
 * is, flow control says when, and its write() puts the bytes out itself, right
 * behind the frame header that went to write().  While full() says yes, nothing
 * is produced; the owner pumps again when its queue has drained.
 *
 * What an attacker could overuse is counted (h2_guard.h); too much of it ends
 * the session with GOAWAY ENHANCE_YOUR_CALM.
 *
 * Every function but tfd_h2_free() may be called from an event; what it queues
 * goes out when the event's cause has been handled.  Call tfd_h2_pump() after
 * tfd_h2_receive() and after anything that sends.
 *
 * Threads: one at a time (the loop thread of the connection).
 */
#ifndef TFD_RPC_H2_H
#define TFD_RPC_H2_H

#include "common/base/str.h"

struct tfd_h2;

enum tfd_h2_role { TFD_H2_SERVER, TFD_H2_CLIENT };

/* The numbers of RFC 9113 section 7 that we send or tell apart. */
enum tfd_h2_error {
    TFD_H2_NO_ERROR = 0,
    TFD_H2_PROTOCOL_ERROR = 1,
    TFD_H2_INTERNAL_ERROR = 2,
    TFD_H2_REFUSED_STREAM = 7,
    TFD_H2_CANCEL = 8,
    TFD_H2_ENHANCE_YOUR_CALM = 11,
};

struct tfd_h2_header {
    struct tfd_str name; /* lower case */
    struct tfd_str value;
    bool unique; /* not worth a place in the compression table */
};

/* The body of one message to send, and the trailers behind it.  Must live
 * until the stream is closed(). */
struct tfd_h2_source {
    uint64_t left; /* bytes not yet framed */
    bool open;     /* more may come: tfd_h2_resume(), also when none will */
    const struct tfd_h2_header *trailers; /* servers; as long as the source */
    size_t trailer_count;                 /* 0: the body ends the stream */
    /* Puts out the next n bytes of the body. */
    void (*write)(struct tfd_h2_source *s, size_t n);
};

/* stream is what begin() returned or tfd_h2_request() was given. */
struct tfd_h2_events {
    void (*write)(void *ctx, const uint8_t *data, size_t n); /* copies */
    bool (*full)(void *ctx);
    /* Server: a request begins.  NULL resets it. */
    void *(*begin)(void *ctx, int32_t id);
    /* One header or trailer, then: these were all.  cut: there were more, past
     * TFD_HEADER_LIST_SIZE_MAX, and they were dropped. */
    void (*header)(void *ctx, void *stream, struct tfd_str name,
                   struct tfd_str value);
    void (*headers)(void *ctx, void *stream, bool cut);
    void (*data)(void *ctx, void *stream, const uint8_t *data, size_t n);
    void (*end)(void *ctx, void *stream); /* the peer has sent everything */
    /* The last event of a stream, however it ended (enum tfd_h2_error or a
     * newer number).  Not called by tfd_h2_free(). */
    void (*closed)(void *ctx, void *stream, uint32_t error);
};

/* Queues our SETTINGS.  events is borrowed for good. */
enum tfd_code tfd_h2_new(enum tfd_h2_role role,
                         const struct tfd_h2_events *events, void *ctx,
                         struct tfd_h2 **out,
                         struct tfd_status *st) TFD_MUST_USE;
void tfd_h2_free(struct tfd_h2 *h); /* NULL is allowed */

/* A failure means that the session is over: pump, then close. */
enum tfd_code tfd_h2_receive(struct tfd_h2 *h, const uint8_t *data, size_t n,
                             uint64_t now_us,
                             struct tfd_status *st) TFD_MUST_USE;
void tfd_h2_pump(struct tfd_h2 *h);

/* Nothing will be sent or wanted any more: close the connection. */
bool tfd_h2_done(const struct tfd_h2 *h);
/* The peer has sent its SETTINGS, so it does speak HTTP/2. */
bool tfd_h2_greeted(const struct tfd_h2 *h);
/* The peer owes the rest of a handshake or of a list of headers, which no
 * honest peer takes TFD_HANDSHAKE_MS for. */
bool tfd_h2_owed(const struct tfd_h2 *h);
/* No new streams can be opened on this connection. */
bool tfd_h2_closing(const struct tfd_h2 *h);

/* Payload bytes of the DATA frame being received that have not arrived yet,
 * and its stream.  Given back to tfd_h2_receive() from any place in memory,
 * data() gets them there, so a body can be read into its place. */
size_t tfd_h2_data_left(const struct tfd_h2 *h, void **stream);
/* Lets the peer send size bytes without waiting: a large message follows. */
void tfd_h2_expect(struct tfd_h2 *h, int32_t id, uint64_t size);

/* Server: the response; source NULL ends the stream with its headers.  A peer
 * that is still sending is told to stop (RST_STREAM NO_ERROR). */
enum tfd_code tfd_h2_respond(struct tfd_h2 *h, int32_t id,
                             const struct tfd_h2_header *headers, size_t count,
                             struct tfd_h2_source *source,
                             struct tfd_status *st) TFD_MUST_USE;
/* The source of this stream has more, or is not open any more. */
void tfd_h2_resume(struct tfd_h2 *h, int32_t id);
/* Client: a request with a body. */
enum tfd_code tfd_h2_request(struct tfd_h2 *h,
                             const struct tfd_h2_header *headers, size_t count,
                             struct tfd_h2_source *source, void *stream,
                             int32_t *id, struct tfd_status *st) TFD_MUST_USE;
/* closed() follows, not from inside this call. */
void tfd_h2_reset(struct tfd_h2 *h, int32_t id, uint32_t error);
/* A question for a sign of life; the answer is only seen as bytes received. */
void tfd_h2_ping(struct tfd_h2 *h);
/* GOAWAY with this error; the session is done once it is sent. */
void tfd_h2_terminate(struct tfd_h2 *h, uint32_t error);

#endif
