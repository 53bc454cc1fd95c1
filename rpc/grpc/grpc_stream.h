/*
 * grpc_stream.h - the messages that a server sends in answer to one call, one
 * after the other, while the call goes on.
 *
 * A source of HTTP/2 data (h2.h) that stays open between them.  Messages are
 * copied: this is for small ones (health, shapes of results), not for tensors.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_GRPC_STREAM_H
#define TFD_RPC_GRPC_STREAM_H

#include "rpc/conn/conn.h"
#include "rpc/http/h2.h"
#include "rpc/core/message.h"

struct tfd_grpc_stream {
    struct tfd_h2_source source; /* first: write() gets a pointer to it */
    struct tfd_conn *conn;
    struct tfd_bytes bytes; /* queued */
    size_t at;              /* of those, given to the connection */
    size_t unread_max;
    struct tfd_h2_header trailers[2]; /* code, text */
    char code[8];
    char *text; /* percent-encoded; NULL: none */
};

/* unread_max: bytes of what the peer has not read, and of one message. */
void tfd_grpc_stream_init(struct tfd_grpc_stream *s, struct tfd_conn *conn,
                          size_t unread_max);
void tfd_grpc_stream_deinit(struct tfd_grpc_stream *s);
/* RESOURCE_EXHAUSTED when the peer does not read what there is. */
enum tfd_code tfd_grpc_stream_add(struct tfd_grpc_stream *s,
                                  const struct tfd_message *m,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Nothing follows but the status; NULL: all went well. */
void tfd_grpc_stream_end(struct tfd_grpc_stream *s,
                         const struct tfd_status *st);

#endif
