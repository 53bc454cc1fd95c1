/*
 * grpc_wire.h - the small texts and numbers of gRPC over HTTP/2: time-outs,
 * status codes, and what other layers' failures mean as one.
 *
 * Sources: the gRPC over HTTP/2 protocol and its statuses table;
 * protocol.md section 2 for what TensorFlow sends of it.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_RPC_GRPC_WIRE_H
#define TFD_RPC_GRPC_WIRE_H

#include "common/base/str.h"

/* One byte "compressed", then the size of the message, big-endian. */
#define TFD_GRPC_PREFIX_SIZE 5

/* grpc-timeout: at most eight digits and one of H M S m u n, in microseconds
 * rounded up.  False when the text is none. */
bool tfd_grpc_timeout_parse(struct tfd_str text, uint64_t *timeout_us);

#define TFD_GRPC_TIMEOUT_TEXT_MAX 12
/* The finest unit that fits in eight digits, rounded up, so that a peer never
 * gives up before we do.  Returns text. */
const char *tfd_grpc_timeout_text(uint64_t timeout_us,
                                  char text[TFD_GRPC_TIMEOUT_TEXT_MAX]);

/* "5" -> TFD_NOT_FOUND; UNKNOWN for anything that is no code. */
enum tfd_code tfd_grpc_code_parse(struct tfd_str text);

/* What a response without grpc-status means, by its HTTP status. */
enum tfd_code tfd_grpc_code_of_http(int status);

/* What a stream reset by the peer means, by its HTTP/2 error number. */
enum tfd_code tfd_grpc_code_of_reset(uint32_t error);

/* application/grpc, also with "+proto" or ";..." behind it. */
bool tfd_grpc_is_content_type(struct tfd_str value);

#endif
