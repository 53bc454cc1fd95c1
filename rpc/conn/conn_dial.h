/*
 * conn_dial.h - from "host:port" to a connected socket: resolves the name
 * without blocking the loop, then tries one address after the other.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_CONN_DIAL_H
#define TFD_RPC_CONN_DIAL_H

#include "rpc/conn/loop.h"

struct tfd_dial;

/* Exactly one call, never from inside tfd_dial_start(), none after
 * tfd_dial_cancel().  fd is the caller's, or -1 and st says why; peer is the
 * numeric address that answered. */
typedef void tfd_dialled_fn(void *ctx, int fd, const char *peer,
                            const struct tfd_status *st);

enum tfd_code tfd_dial_start(struct tfd_loop *l, const char *address,
                             tfd_dialled_fn *done, void *ctx,
                             struct tfd_dial **out,
                             struct tfd_status *st) TFD_MUST_USE;
/* Not through the Unix socket of same_host.h; said right after the start. */
void tfd_dial_by_tcp(struct tfd_dial *d);
/* Ends it early; after done() it has ended by itself. */
void tfd_dial_cancel(struct tfd_dial *d);
/* "resolving ps-0" or "connecting to 10.0.0.1:2222": for a time-out's text. */
const char *tfd_dial_doing(const struct tfd_dial *d);

#define TFD_PEER_TEXT_MAX 64 /* "[IPv6 with scope]:65535" */

struct sockaddr;
/* "127.0.0.1:4711" or "[::1]:4711"; text has TFD_PEER_TEXT_MAX bytes. */
void tfd_dial_peer_text(const struct sockaddr *sa, char *text);

/* Splits "host:port", "[::1]:port".  host has TFD_ADDRESS_SIZE_MAX bytes. */
enum tfd_code tfd_dial_split(const char *address, char *host, char *port,
                             struct tfd_status *st) TFD_MUST_USE;
#define TFD_PORT_TEXT_MAX 8

#endif
