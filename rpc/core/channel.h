/*
 * channel.h - the calling side: one peer, its connection, pending calls.
 *
 * A channel dials when the first call needs it, in native first: it sends a
 * frame for tfd.Peer/Hello, and a peer that answers anything but frames (a
 * TensorFlow server answers HTTP/2 SETTINGS) is dialled again with gRPC; what
 * it spoke is remembered until a dial fails.  Redials back off from at once
 * over 50 ms to 1 s; a call never gets the error of an older dial.
 *
 * When the connection ends, calls in flight fail UNAVAILABLE "... Socket
 * closed ..."; those with wait_ready and not yet sent stay queued.
 *
 * Calls are numbered by an array with a free list: no hashing, and in steady
 * state no malloc.
 *
 * Threads: loop thread.  done() is never called from inside tfd_channel_call().
 */
#ifndef TFD_RPC_CHANNEL_H
#define TFD_RPC_CHANNEL_H

#include "rpc/core/heartbeat.h"
#include "rpc/core/service.h"

struct tfd_channel;
struct tfd_outcall; /* a call in flight; valid until done() */

enum tfd_protocol { TFD_PROTO_UNKNOWN, TFD_PROTO_NATIVE, TFD_PROTO_GRPC };

/* What a peer says of itself in Hello. */
struct tfd_peer_info {
    char task[256];       /* "/job:worker/replica:0/task:1" */
    uint64_t incarnation; /* of this run of the process */
};

struct tfd_channel_options {
    const char *address; /* "host:port" */
    const char *task;    /* whose it is, for errors; borrowed; NULL: unknown */
    const struct tfd_peer_info *self; /* what we say in Hello; borrowed */
    enum tfd_protocol protocol;       /* UNKNOWN: native first */
    uint64_t dial_timeout_us;
    struct tfd_heartbeat_options heartbeat;
    struct tfd_traffic *traffic; /* of its connections; borrowed, or NULL */
    /* The connection came up or went away.  May be NULL. */
    void (*changed)(void *ctx, struct tfd_channel *ch, bool up,
                    const struct tfd_status *why);
    void *ctx;
};

enum tfd_code tfd_channel_new(struct tfd_loop *l,
                              const struct tfd_channel_options *o,
                              struct tfd_channel **out,
                              struct tfd_status *st) TFD_MUST_USE;
/* Fails what is pending with CANCELLED, and every call from now on, and does
 * not dial again: for shutting down, while others still hold the channel. */
void tfd_channel_stop(struct tfd_channel *ch);
/* The same, then frees. */
void tfd_channel_free(struct tfd_channel *ch);

/* Exactly one call of done(); response is NULL when st is a failure, else
 * borrowed for the call (take its buffers with _ref). */
typedef void tfd_outcall_fn(void *ctx, const struct tfd_status *st,
                            const struct tfd_incoming *response);

struct tfd_outcall_options {
    uint64_t timeout_us; /* 0: none; passing it gives DEADLINE_EXCEEDED */
    bool wait_ready;     /* wait for the connection instead of failing */
};

/* take_request is emptied.  A message with splices must have been written for
 * the protocol the channel speaks (tfd_channel_protocol()); otherwise the call
 * fails UNAVAILABLE.  Never returns NULL; lack of memory arrives at done(). */
struct tfd_outcall *tfd_channel_call(struct tfd_channel *ch,
                                     enum tfd_method_number method,
                                     struct tfd_message *take_request,
                                     const struct tfd_outcall_options *o,
                                     tfd_outcall_fn *done, void *ctx);
/* done() follows with CANCELLED; the peer is told. */
void tfd_channel_cancel(struct tfd_outcall *call);

/* Native only, no answer: a request the peer does not acknowledge (pushes).
 * UNAVAILABLE when the native connection is not up. */
enum tfd_code tfd_channel_send(struct tfd_channel *ch,
                               enum tfd_method_number method,
                               struct tfd_message *take_request,
                               struct tfd_status *st) TFD_MUST_USE;

enum tfd_protocol tfd_channel_protocol(const struct tfd_channel *ch);
bool tfd_channel_up(const struct tfd_channel *ch);
const struct tfd_peer_info *tfd_channel_peer(const struct tfd_channel *ch);
const char *tfd_channel_address(const struct tfd_channel *ch);
/* Why the last dial failed; "" when none did. */
const char *tfd_channel_trouble(const struct tfd_channel *ch);
size_t tfd_channel_queued(const struct tfd_channel *ch);

#endif
