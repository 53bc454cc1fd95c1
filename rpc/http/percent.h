/*
 * percent.h - percent encoding as gRPC uses it for the header grpc-message.
 *
 * Bytes from space to tilde stand for themselves, except '%' and a space at
 * either end; every other byte is "%XX".  Source: the gRPC over HTTP/2
 * protocol, section Responses.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_RPC_PERCENT_H
#define TFD_RPC_PERCENT_H

#include "common/base/str.h"

/* Both write at most room - 1 bytes and a terminator, and return the number of
 * bytes before it.  What does not fit is left out; an escape is never cut in
 * two.  room is at least 1. */
size_t tfd_percent_encode(struct tfd_str in, char *out, size_t room);

/* Never fails: a '%' that starts no escape stands for itself, as the protocol
 * asks, so that a damaged message can still be read. */
size_t tfd_percent_decode(struct tfd_str in, char *out, size_t room);

#endif
