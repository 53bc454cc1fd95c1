/*
 * collective_calls.h - calls of other tasks that wait: for the members of a
 * group, or for a value.  Each ends when its caller gives up, too.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_COLLECTIVE_CALLS_H
#define TFD_DAEMON_WORKER_COLLECTIVE_CALLS_H

#include "daemon/worker/collective/collectives.h"
#include "rpc/core/service.h"

struct tfd_collective_call {
    struct tfd_collectives *all;
    struct tfd_call *call;
    int32_t group_key;
    struct tfd_group_wait wait;
    void (*ready)(struct tfd_collective_call *c); /* answers the call */
    struct tfd_buf_end end; /* of one that wants a value */
    struct tfd_post post;
    struct tfd_tensor value;
    struct tfd_collective_call *next, **at; /* among those of `all` */
};

/* Answers the call by ready(), when those in the list are called. */
void tfd_collective_call_wait(struct tfd_collectives *all,
                              struct tfd_call *call,
                              struct tfd_group_wait **list, int32_t group_key,
                              void (*ready)(struct tfd_collective_call *c));
/* Answers it with the value of the step under this key, of its request. */
void tfd_collective_call_want(struct tfd_collectives *all,
                              struct tfd_call *call, int64_t step,
                              struct tfd_str key);
/* Fails all of them. */
void tfd_collective_calls_fail(struct tfd_collectives *all,
                               const struct tfd_status *why);

#endif
