/*
 * conn.h - one byte stream: reads into the place its handler names, a write
 * queue with backpressure, one orderly end.
 *
 * A listener accepts connections and lets the first bytes choose their handler
 * (sniff.h).  An outgoing connection has its handler from the start.
 *
 * The handler is told closed() exactly once, after which the connection is
 * gone.  Whatever was queued for writing is released then, written or not.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_CONN_H
#define TFD_RPC_CONN_H

#include "common/base/str.h"
#include "common/base/tensor.h"
#include "rpc/conn/loop.h"
#include "rpc/conn/origin.h"
#include "rpc/conn/traffic.h"

struct tfd_conn;

/* What depends on a connection: something that goes on now, or may at any time;
 * only what its peer left here, so that it would dial again; nothing. */
enum tfd_conn_use { TFD_CONN_BUSY, TFD_CONN_KEPT, TFD_CONN_IDLE };

struct tfd_conn_handler {
    /* Where the next bytes belong and how many fit there, at least 1. */
    size_t (*space)(void *self, uint8_t **at);
    /* n bytes were written there.  A failure closes the connection. */
    enum tfd_code (*commit)(void *self, size_t n, struct tfd_status *st);
    /* An outgoing connection is up.  May be NULL. */
    void (*connected)(void *self);
    /* The write queue has fallen below TFD_CONN_LOW bytes.  May be NULL. */
    void (*drained)(void *self);
    /* Whether it may be closed to make room for another.  NULL: it is busy. */
    enum tfd_conn_use (*use)(void *self);
    /* The last call: why is OK when the peer ended the stream or we closed it;
     * whether a message was cut, the handler knows. */
    void (*closed)(void *self, const struct tfd_status *why);
};

#define TFD_CONN_LOW (256u << 10) /* bytes queued: writers go on below ... */
#define TFD_CONN_HIGH (4u << 20)  /* ... and pause above */

/* Dials host:port (the name is resolved anew each time, IPv6 too; proxies are
 * never used).  Failures, also of the name, arrive at closed() with UNAVAILABLE
 * and a text that tells a name not resolved, a refusal and a time-out apart. */
enum tfd_code tfd_conn_dial(struct tfd_loop *l, const char *address,
                            uint64_t timeout_us,
                            const struct tfd_conn_handler *h, void *self,
                            struct tfd_conn **out,
                            struct tfd_status *st) TFD_MUST_USE;

/* Right after tfd_conn_dial(): TCP, also where the Unix socket of same_host.h
 * leads there. */
void tfd_conn_by_tcp(struct tfd_conn *c);
/* Whether it came or went through that socket. */
bool tfd_conn_is_unix(const struct tfd_conn *c);

/* Copies and queues; sent at the latest when the loop goes to sleep. */
void tfd_conn_write(struct tfd_conn *c, const void *data, size_t size);
/* Queues without a copy; holds a reference until written. */
void tfd_conn_write_buffer(struct tfd_conn *c, struct tfd_buffer *b,
                           size_t offset, size_t size);
/* Takes the bytes (b is empty afterwards). */
void tfd_conn_write_bytes(struct tfd_conn *c, struct tfd_bytes *take_b);
size_t tfd_conn_queued(const struct tfd_conn *c); /* bytes not yet written */

/* Stops reading until resumed: backpressure towards the peer. */
void tfd_conn_pause(struct tfd_conn *c);
void tfd_conn_resume(struct tfd_conn *c);

/* Writes what is queued, then closes; at most grace_us, 0: at once. */
void tfd_conn_close(struct tfd_conn *c, uint64_t grace_us);
/* Closes every connection of the loop, which no longer runs, and tells their
 * handlers; for shutting down. */
void tfd_conn_close_all(struct tfd_loop *l);
/* The end, for a reason that its handler is told. */
void tfd_conn_break(struct tfd_conn *c, const struct tfd_status *why);
/* Bytes that the peer's kernel has acknowledged, ever, and those it has not. */
void tfd_conn_outgoing(const struct tfd_conn *c, uint64_t *acknowledged,
                       uint64_t *queued);
/* What it sends and receives from now on counts for t; NULL: for nobody. */
void tfd_conn_count(struct tfd_conn *c, struct tfd_traffic *t);
/* Its peer has said that it is one of calls, and is read as soon as something
 * comes.  Until then one that was accepted waits for its turn with all that are
 * as new (conn_line.c), and one for a page, which asks once, always does. */
void tfd_conn_known(struct tfd_conn *c);
/* Its owner watches the peer: one that reads nothing for long stays. */
void tfd_conn_patient(struct tfd_conn *c);
/* Changes the handler (sniffing, protocol fallback). */
void tfd_conn_handle(struct tfd_conn *c, const struct tfd_conn_handler *h,
                     void *self);
/* "127.0.0.1:4711", or "unix:PID" of one that came the short way. */
const char *tfd_conn_peer(const struct tfd_conn *c);
/* Who has connected, of an accepted connection; lives as long as that. */
const struct tfd_origin *tfd_conn_origin(const struct tfd_conn *c);
/* Its bytes go over a network: neither a Unix socket nor an address of this
 * host at both ends.  Asks the kernel. */
bool tfd_conn_leaves_host(const struct tfd_conn *c);
struct tfd_loop *tfd_conn_loop(const struct tfd_conn *c);

/* ---- Listening ----------------------------------------------------------- */

struct tfd_listener;

/* accepted() sets the first handler of each connection (or closes it).  It does
 * not hear of those of this host whose user may not connect (tfd_loop_allow()):
 * they are closed before a byte of theirs is read.  address NULL or "": every
 * interface; port 0: any that is free.  Beyond connections_max, or
 * TFD_CONNECTIONS_PER_PEER_MAX from one address, a connection is closed as soon
 * as it is accepted. */
enum tfd_code tfd_listener_new(struct tfd_loop *l, const char *address,
                               int port, int connections_max,
                               void (*accepted)(void *ctx, struct tfd_conn *c),
                               void *ctx, struct tfd_listener **out,
                               struct tfd_status *st) TFD_MUST_USE;
/* From now on so many from one address. */
void tfd_listener_per_peer(struct tfd_listener *l, int connections_max);
int tfd_listener_port(const struct tfd_listener *l);
void tfd_listener_close(struct tfd_listener *l); /* accepted ones live on */
/* Closed at once because there were too many, of all or of one address. */
uint64_t tfd_listener_refused(const struct tfd_listener *l);
int tfd_listener_connections(const struct tfd_listener *l);

#endif
