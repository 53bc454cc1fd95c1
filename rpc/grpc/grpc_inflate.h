/*
 * grpc_inflate.h - decompresses a gRPC message a slice at a time, so that the
 * loop thread never blocks.
 *
 * The stream is decompressed twice: first only to count, then into a buffer of
 * just that size.  A message that grows beyond TFD_GRPC_INFLATED_SIZE_MAX has
 * taken no memory by the time that it is refused.  rpc/core/inflate_line.h
 * decides whose slice is next.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_GRPC_INFLATE_H
#define TFD_RPC_GRPC_INFLATE_H

#include "rpc/core/message.h"

/* The values of grpc-encoding. */
enum tfd_grpc_encoding {
    TFD_GRPC_IDENTITY,
    TFD_GRPC_DEFLATE, /* zlib's format, RFC 1950 */
    TFD_GRPC_GZIP,
    TFD_GRPC_OTHER,
};
enum tfd_grpc_encoding tfd_grpc_encoding_of(struct tfd_str name);

struct tfd_grpc_inflate;

/* Takes the message, also on failure. */
enum tfd_code tfd_grpc_inflate_new(enum tfd_grpc_encoding encoding,
                                   struct tfd_incoming *take_in,
                                   struct tfd_grpc_inflate **out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* A slice; *done once it was the last.  RESOURCE_EXHAUSTED: the message is
 * larger than the limit or than memory; INTERNAL: damaged, cut short, or
 * followed by other bytes. */
enum tfd_code tfd_grpc_inflate_go_on(struct tfd_grpc_inflate *z, bool *done,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Moves the plain message out when it is done. */
void tfd_grpc_inflate_take(struct tfd_grpc_inflate *z,
                           struct tfd_incoming *out);
void tfd_grpc_inflate_free(struct tfd_grpc_inflate *z); /* NULL is allowed */

#endif
