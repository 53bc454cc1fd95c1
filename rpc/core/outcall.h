/*
 * outcall.h - the pool of a channel's pending calls, and the queues they stand
 * in.  A call's number, by which a link and the peer know it, is its index in
 * the pool; calls that have ended are used again.  Only channel.c includes
 * this.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_OUTCALL_H
#define TFD_RPC_OUTCALL_H

#include "rpc/core/channel.h"

enum tfd_outcall_state {
    TFD_OUTCALL_FREE,
    TFD_OUTCALL_QUEUED, /* in the channel's queue */
    TFD_OUTCALL_SENT,   /* the link's */
    TFD_OUTCALL_ENDING, /* its failure is known and not yet told */
};

struct tfd_outcall {
    struct tfd_channel *channel;
    uint32_t id; /* index in the pool, the link's name of it */
    enum tfd_outcall_state state;
    enum tfd_method_number method;
    struct tfd_message request; /* while queued */
    struct tfd_outcall_options options;
    tfd_outcall_fn *done;
    void *ctx;
    struct tfd_timer timer;
    struct tfd_outcall *next; /* in a list, or among the free */
    enum tfd_code code;       /* of one that is ending ... */
    struct tfd_status *text;  /* ... NULL when there was no memory for it */
};

struct tfd_outcall_list {
    struct tfd_outcall *first, *last;
};

void tfd_outcall_append(struct tfd_outcall_list *l, struct tfd_outcall *c);
struct tfd_outcall *tfd_outcall_pop(struct tfd_outcall_list *l); /* or NULL */
void tfd_outcall_take_out(struct tfd_outcall_list *l, struct tfd_outcall *c);

/* All zero is an empty pool. */
struct tfd_outcall_pool {
    struct tfd_outcall **calls; /* in use or free */
    uint32_t count, capacity;
    struct tfd_outcall *free;
};

struct tfd_outcall *tfd_outcall_take(struct tfd_outcall_pool *p); /* or NULL */
void tfd_outcall_give_back(struct tfd_outcall_pool *p, struct tfd_outcall *c);
void tfd_outcall_pool_deinit(struct tfd_outcall_pool *p);

#endif
