/*
 * native_call.h - a connection of the native protocol that is served, and the
 * calls that are open on it.
 *
 * A caller numbers its open calls from 1, taking the lowest that is free, so
 * the table of calls is an array by that number.  A number is free again when
 * its answer has arrived; cancelled calls are answered too.  The connection
 * lives until it is closed and no call is open.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_NATIVE_CALL_H
#define TFD_RPC_NATIVE_CALL_H

#include "rpc/core/heartbeat.h"
#include "rpc/native/native_guard.h"
#include "rpc/native/native_io.h"
#include "rpc/core/peer_info.h"
#include "rpc/core/service.h"

struct tfd_native_call {
    struct tfd_call call; /* first: a call is its native_call */
    struct tfd_native *native;
    uint32_t number; /* 0: one way */
    bool dispatched;
    uint64_t size;  /* of the request, while it counts */
    uint64_t owed;  /* of it, as the ticket has it ... */
    uint64_t come;  /* ... and what has come of that */
    uint64_t small; /* what has come of it and was too little to announce */
    uint64_t seen;  /* of all of it */
    struct tfd_native_in in;
    struct tfd_native_call *next; /* while free */
};

struct tfd_native {
    struct tfd_service *service;
    const struct tfd_peer_info *self;
    struct tfd_conn *conn; /* NULL: closed */
    struct tfd_native_reader reader;
    struct tfd_native_out out;
    struct tfd_native_call **calls; /* by number; [0] is the one-way message */
    uint32_t calls_capacity;
    uint32_t open;       /* calls that exist */
    uint64_t unanswered; /* bytes of dispatched requests */
    uint64_t assembling; /* announced bytes of incomplete requests */
    struct tfd_native_call *free_calls;
    bool paused;
    struct tfd_admission_ticket ticket; /* of all requests on their way */
    bool held;                          /* they wait for memory */
    struct tfd_bytes unread;            /* what had been read by then */
    uint64_t link;
    bool ending; /* no more frames are looked at */
    struct tfd_native_guard guard;
    uint64_t called_us; /* when the last request came */
    struct tfd_heartbeat heartbeat;
    struct tfd_timer handshake; /* until the first frame is complete */
    char peer[TFD_PEER_TEXT_MAX];
    struct tfd_origin origin;
    uint32_t current; /* call of the frame being read, 0: of none */
    uint8_t small[8]; /* of PING and PONG */
};

/* NULL when no call has this number. */
struct tfd_native_call *tfd_native_call_of(const struct tfd_native *n,
                                           uint32_t number);
/* The call that a frame begins; RESOURCE_EXHAUSTED when too many are open or
 * there is no memory. */
enum tfd_code tfd_native_call_new(struct tfd_native *n,
                                  const struct tfd_frame_header *h,
                                  struct tfd_native_call **out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The request is complete, or will not be. */
void tfd_native_call_settle(struct tfd_native *n, struct tfd_native_call *c);
/* Sends the answer, an error where st is not NULL, and ends the call.  The
 * connection may be gone when this returns. */
void tfd_native_call_answer(struct tfd_call *call, const struct tfd_status *st,
                            struct tfd_message *take_response);
/* Tells the handler. */
void tfd_native_call_cancel(struct tfd_native_call *c);
/* Ends a call without an answer.  The connection may be gone when this
 * returns. */
void tfd_native_call_free(struct tfd_native_call *c);

/* Reads on, or no more, by what is unanswered and unsent. */
void tfd_native_update_reading(struct tfd_native *n);
void tfd_native_free_when_done(struct tfd_native *n);

#endif
