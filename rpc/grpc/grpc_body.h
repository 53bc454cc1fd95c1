/*
 * grpc_body.h - the body of a unary gRPC call: the one message that each side
 * sends.
 *
 *   0          1                5
 *   +----------+----------------+-----------------
 *   | flag     | size, big-end. | size bytes of protobuf ...
 *   +----------+----------------+-----------------
 *
 * The flag is 1 where the bytes are compressed (grpc_inflate.h), else 0.
 *
 * The reader collects an incoming message in one buffer, allocated when its
 * size is known and has been checked.  A large buffer is given only when a part
 * of the message has really come, so that a few bytes cannot claim 2 GiB.  The
 * writer is a source of HTTP/2 data (rpc/http/h2.h) that puts out an outgoing
 * message with its tensors, which it does not copy.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_GRPC_BODY_H
#define TFD_RPC_GRPC_BODY_H

#include "rpc/conn/conn.h"
#include "rpc/grpc/grpc_wire.h"
#include "rpc/http/h2.h"
#include "rpc/core/message.h"

/* ---- Incoming ------------------------------------------------------------ */

/* Zero is the initial state. */
struct tfd_grpc_reader {
    uint8_t prefix[TFD_GRPC_PREFIX_SIZE];
    uint32_t prefix_have;
    uint32_t size;           /* of the message, once the prefix is there */
    uint32_t have;           /* received of it */
    uint32_t capacity;       /* of the buffer, for the message */
    size_t start;            /* of the message in the buffer */
    struct tfd_buffer *body; /* NULL while nothing of it has arrived */
    bool may_be_compressed;  /* whoever reads it says so */
};

void tfd_grpc_reader_deinit(struct tfd_grpc_reader *r);

/* Takes n more bytes; those already lying where room() pointed are not copied.
 * RESOURCE_EXHAUSTED: larger than size_max or than memory; INTERNAL:
 * compressed where it may not be, more than one message. */
enum tfd_code tfd_grpc_reader_feed(struct tfd_grpc_reader *r,
                                   const uint8_t *data, size_t n,
                                   int64_t size_max,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Where the socket may put the next bytes of the connection, of which data_left
 * belong to a DATA frame of this message, and how many; 0 when that is not
 * known yet or not worth a read of its own.  Where more of the message must
 * follow, that is room for the head of the next frame too: it is read with the
 * rest of this one, and what comes behind it goes over it, to its place.
 *
 * Until those bytes have been handled a reference to r->body is needed: what
 * the first of them say may end the message. */
size_t tfd_grpc_reader_room(const struct tfd_grpc_reader *r, size_t data_left,
                            uint8_t **at);

/* Once a byte is there. */
bool tfd_grpc_reader_compressed(const struct tfd_grpc_reader *r);
bool tfd_grpc_reader_complete(const struct tfd_grpc_reader *r);

/* Moves a complete message out; the reader is empty afterwards. */
void tfd_grpc_reader_take(struct tfd_grpc_reader *r, struct tfd_incoming *out);

/* ---- Outgoing ------------------------------------------------------------ */

struct tfd_grpc_writer {
    struct tfd_h2_source source; /* first: write() gets a pointer to it */
    struct tfd_conn *conn;
    struct tfd_message message;
    struct tfd_buffer *shared; /* owns the bytes of a large message.proto */
    uint8_t prefix[TFD_GRPC_PREFIX_SIZE];
    uint32_t prefix_at; /* bytes put out of each part */
    size_t proto_at;
    uint32_t splice; /* the next one, and bytes put out of it */
    size_t splice_at;
};

/* take_message is emptied, also on failure (RESOURCE_EXHAUSTED: larger than
 * gRPC's messages can be, or it could not be built for lack of memory). */
enum tfd_code tfd_grpc_writer_init(struct tfd_grpc_writer *w,
                                   struct tfd_conn *conn,
                                   struct tfd_message *take_message,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_grpc_writer_deinit(struct tfd_grpc_writer *w); /* zeroed is allowed */

#endif
