/*
 * remote.h - a TF_Session whose server is behind a connection: remote_session.c
 * opens, extends and closes it, remote_steps.c runs its steps.
 *
 * A program's thread posts each request to the loop thread of the clients
 * (loop_thread.h) and sleeps until it is answered.
 *
 * Threads: any call; fields that say so belong to the loop thread alone.
 */
#ifndef TFD_CLIENT_REMOTE_H
#define TFD_CLIENT_REMOTE_H

#include "client/session/backend.h"
#include "common/thread/event.h"
#include "rpc/core/channel.h"

#define TFD_REMOTE_INLINE_PAYLOADS 8

struct tfd_remote {
    struct tfd_backend backend; /* first */
    struct tfd_loop *loop;
    char *address;
    enum tfd_protocol protocol;
    struct tfd_channel *channel; /* the loop thread's */
    struct tfd_bytes config;
    uint64_t timeout_us; /* operation_timeout_in_ms; 0: none */
    struct tfd_bytes handle;
    int64_t version;
    struct tfd_remote_call *calls; /* under way; the loop thread's */
    bool cancelled;                /* the loop thread's */
};

struct tfd_remote_call {
    struct tfd_post post; /* first */
    struct tfd_remote *r;
    enum tfd_method_number method;
    struct tfd_message request;
    struct tfd_outcall_options options;
    struct tfd_outcall *outcall;
    struct tfd_remote_call *next, **at; /* in r->calls */
    struct tfd_incoming response;       /* owned */
    struct tfd_buffer *inline_payload[TFD_REMOTE_INLINE_PAYLOADS];
    struct tfd_status status;
    struct tfd_event ended;
};

void tfd_remote_call_init(struct tfd_remote_call *c, struct tfd_remote *r,
                          enum tfd_method_number method);
void tfd_remote_call_deinit(struct tfd_remote_call *c);
/* Sends the request and waits for the response, or its failure. */
enum tfd_code tfd_remote_call_run(struct tfd_remote_call *c,
                                  struct tfd_status *st) TFD_MUST_USE;

/* remote_steps.c: of tfd_backend_ops. */
enum tfd_code tfd_remote_run(struct tfd_backend *b, struct tfd_local_run *run,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
