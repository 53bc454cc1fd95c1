/*
 * native_io.h - messages as frames (frame.h), for both ends of a connection;
 * only native_call.h and native_client.c include it.
 *
 * The first frame of a message and, for each payload, one or more frames:
 *
 *     [u32 payload_count][u64 size of each][protobuf]      flag MORE: payloads
 *     [bytes of payload 0] [more of payload 0] [bytes of payload 1] ...
 *
 * A frame never holds bytes of two payloads, no payload is empty, and MORE is
 * set on all frames of a message but the last.  Frames of different calls may
 * take turns, so a small message waits for one chunk of a large one, not for
 * all of it.  Call 0 is answered by nobody: it carries one message after the
 * other.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_NATIVE_IO_H
#define TFD_RPC_NATIVE_IO_H

#include "rpc/conn/conn.h"
#include "rpc/native/frame.h"
#include "rpc/core/message.h"

/* ---- In (native_in.c) ---------------------------------------------------- */

/* One message on its way in.  All zero is an empty one. */
struct tfd_native_in {
    struct tfd_incoming message;
    uint64_t *sizes; /* of the payloads */
    uint32_t at;     /* the payload being read ... */
    uint64_t have;   /* ... and how much of it is here */
    uint64_t total;  /* bytes of all of it, as far as they are announced */
    uint64_t done;   /* of it: the first frame, payloads that are complete */
};

/* For the frame reader's sink: where a frame's body goes, what it completes. */
enum tfd_code tfd_native_in_begin(struct tfd_native_in *in,
                                  const struct tfd_frame_header *h,
                                  uint8_t **body,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_native_in_end(struct tfd_native_in *in,
                                const struct tfd_frame_header *h,
                                bool *complete,
                                struct tfd_status *st) TFD_MUST_USE;
/* Of the frame that is being read `have` bytes are there; they count as memory
 * from now on.  RESOURCE_EXHAUSTED: there is none. */
enum tfd_code tfd_native_in_came(struct tfd_native_in *in, uint32_t have,
                                 struct tfd_status *st) TFD_MUST_USE;
void tfd_native_in_deinit(struct tfd_native_in *in);

/* The largest first frame. */
#define TFD_NATIVE_BODY_MAX                       \
    ((uint32_t)TFD_NATIVE_ENVELOPE_SIZE_MAX + 4 + \
     TFD_PAYLOADS_MAX * (uint32_t)sizeof(uint64_t))

/* ERROR, PING, PONG: no kind without a message has a larger body. */
#define TFD_NATIVE_SMALL_MAX 4096

/* Reading from the connection: small frames arrive many at once in the loop's
 * scratch, bodies of payloads where they belong. */
struct tfd_native_reader {
    struct tfd_frame_reader frames;
    struct tfd_loop *loop;
    bool scratch;       /* space() handed out the loop's */
    bool payload_comes; /* the last frame said MORE */
};

size_t tfd_native_reader_space(struct tfd_native_reader *r, uint8_t **at);
enum tfd_code tfd_native_reader_commit(struct tfd_native_reader *r, size_t n,
                                       struct tfd_status *st) TFD_MUST_USE;

/* Logs it where a checksum was the reason that reading ended. */
void tfd_native_reader_told(const struct tfd_native_reader *r,
                            const char *peer);

/* ERROR: [u32 code][text], see tfd_native_out_error(). */
void tfd_native_error_decode(const uint8_t *body, uint32_t size,
                             struct tfd_status *out);

/* ---- Out (native_out.c) -------------------------------------------------- */

struct tfd_native_send; /* a message whose payload is not all queued yet */

struct tfd_native_out {
    struct tfd_conn *conn;
    struct tfd_native_send *first, *last;     /* they take turns */
    struct tfd_native_send *waiting, *newest; /* of call 0, behind another */
    bool one_way_open;                        /* call 0 is in first..last */
    bool summed;      /* frames get checksums; its owner sets it at any time */
    uint64_t pending; /* bytes of all these that are not queued */
};

void tfd_native_out_init(struct tfd_native_out *o, struct tfd_conn *conn);
void tfd_native_out_deinit(struct tfd_native_out *o);
/* kind is REQUEST or RESPONSE; the message is emptied. */
enum tfd_code tfd_native_out_message(struct tfd_native_out *o,
                                     const struct tfd_frame_header *h,
                                     struct tfd_message *take_message,
                                     struct tfd_status *st) TFD_MUST_USE;
void tfd_native_out_error(struct tfd_native_out *o, uint32_t call,
                          const struct tfd_status *st);
/* CANCEL without a body; PING, PONG with one of 8 bytes. */
void tfd_native_out_small(struct tfd_native_out *o, enum tfd_frame_kind kind,
                          uint32_t call, const void *body, uint32_t size);
/* A question for a sign of life. */
void tfd_native_out_ping(struct tfd_native_out *o);
/* Forgets what is left of a call's message; the peer must be told. */
void tfd_native_out_drop(struct tfd_native_out *o, uint32_t call);
/* The connection has room again. */
void tfd_native_out_pump(struct tfd_native_out *o);
/* Queued or waiting to be. */
uint64_t tfd_native_out_size(const struct tfd_native_out *o);

#endif
