/*
 * link.h - what a channel needs of the protocol its connection speaks: native.c
 * and grpc_client.c each provide one.
 *
 * The channel owns the pending calls; a link only carries them.  It is made on
 * a connection that is up (the link becomes its handler) and ends with the
 * connection: failed() is its last call, after which the channel forgets it.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_LINK_H
#define TFD_RPC_LINK_H

#include "rpc/core/channel.h"
#include "rpc/conn/conn.h"
#include "rpc/core/heartbeat.h"

struct tfd_link;

/* What a peer had said when its connection went. */
enum tfd_link_heard {
    TFD_LINK_HEARD,         /* something, or it does not matter */
    TFD_LINK_HEARD_OTHER,   /* its first bytes were not of our protocol */
    TFD_LINK_HEARD_NOTHING, /* it accepted us and closed */
};

struct tfd_link_events {
    /* The call with this id ended.  response is NULL when st is a failure and
     * borrowed otherwise. */
    void (*ended)(void *ctx, uint32_t call, const struct tfd_status *st,
                  const struct tfd_incoming *response);
    /* Native only: Hello was answered. */
    void (*hello)(void *ctx, const struct tfd_peer_info *peer);
    /* The connection is gone, and with it every call that has not ended. */
    void (*failed)(void *ctx, const struct tfd_status *why,
                   enum tfd_link_heard heard);
};

struct tfd_link_ops {
    enum tfd_protocol protocol;
    /* conn becomes the link's. */
    enum tfd_code (*open)(struct tfd_conn *conn, const char *authority,
                          const struct tfd_peer_info *self,
                          const struct tfd_link_events *events, void *ctx,
                          struct tfd_link **out, struct tfd_status *st);
    /* Sends a request; call is the channel's id, unique among open ones.
     * timeout_us goes along (grpc-timeout) and is enforced by the channel. */
    enum tfd_code (*call)(struct tfd_link *link, uint32_t call,
                          enum tfd_method_number method,
                          struct tfd_message *take_request, uint64_t timeout_us,
                          bool want_answer, struct tfd_status *st);
    void (*cancel)(struct tfd_link *link, uint32_t call); /* no ended() */
    /* Closes the connection; no event follows. */
    void (*close)(struct tfd_link *link);
    /* Breaks the connection when the peer falls silent. */
    void (*watch)(struct tfd_link *link, const struct tfd_heartbeat_options *o);
    size_t (*queued)(const struct tfd_link *link);
};

extern const struct tfd_link_ops
    tfd_native_link;                            /* rpc/native/native_client.c */
extern const struct tfd_link_ops tfd_grpc_link; /* rpc/grpc/grpc_client.c */

/* The serving sides: take over an accepted connection whose first bytes
 * `prefix` have been read already.  After a failure it is still the caller's to
 * close. */
enum tfd_code tfd_native_serve(struct tfd_service *s, struct tfd_conn *c,
                               const struct tfd_peer_info *self,
                               struct tfd_str prefix, struct tfd_status *st);
enum tfd_code tfd_grpc_serve(struct tfd_service *s, struct tfd_conn *c,
                             struct tfd_str prefix, struct tfd_status *st);
enum tfd_code tfd_http_serve(struct tfd_service *s, struct tfd_conn *c,
                             struct tfd_str prefix, struct tfd_status *st);

#endif
