/*
 * enqueue.h - an EnqueueRequest: its items, one after the other.
 *
 * The first item that fails ends the request with its status; what came before
 * it has had its effect.  While an operation runs the loop does other work, and
 * so it does among many items (line.h).
 *
 * Ownership: embedded by who has the call; it counts its context.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_ENQUEUE_H
#define TFD_DAEMON_EAGER_ENQUEUE_H

#include "daemon/eager/context.h"

struct tfd_eager_request {
    struct tfd_eager_context *context;
    const struct tfd_incoming *in; /* lives until done */
    struct tfd_pb_reader items;
    struct tfd_message response; /* the caller's once it is done */
    struct tfd_status st;
    struct tfd_eager_run *run;           /* under way; NULL */
    struct tfd_eager_spread_run *spread; /* likewise, on several tasks */
    struct tfd_eager_waiter wait;        /* in the line, if it `waits` */
    struct tfd_str op; /* its name, and where its results go */
    int64_t op_id;
    bool is_function;
    struct tfd_pb_reader tensors; /* of a SendTensorOp, if it `sends` ... */
    int32_t output;               /* ... whose next one goes here */
    bool inside, cancelled, waits, sends;
    /* Once, possibly before tfd_eager_request_begin() returns; it may free the
     * request. */
    void (*done)(struct tfd_eager_request *q);
    void *ctx;
};

/* Only the request's own fields are read: whose it is, and whether its first
 * item lets go of a value. */
struct tfd_eager_request_head {
    uint64_t context;
    bool drops;
};
enum tfd_code tfd_eager_request_head(struct tfd_str proto,
                                     struct tfd_eager_request_head *out,
                                     struct tfd_status *st) TFD_MUST_USE;

void tfd_eager_request_begin(struct tfd_eager_request *q,
                             struct tfd_eager_context *c,
                             const struct tfd_incoming *in, bool native);
/* done() follows soon, with CANCELLED unless it ended otherwise. */
void tfd_eager_request_cancel(struct tfd_eager_request *q);

/* What it waited for has ended, with q->st and its answer written: the next
 * item. */
void tfd_eager_request_go_on(struct tfd_eager_request *q);

#endif
