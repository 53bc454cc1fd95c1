/*
 * order.h - who waits for whom among the requests of one context.
 *
 * A coordinator that streams its operations does not wait for their answers,
 * and sends elsewhere, at once, that it needs a value no more.  That may come
 * before the operation that makes or reads it has run.  So such a request waits
 * until what came in streams before it has ended.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_ORDER_H
#define TFD_DAEMON_EAGER_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* Embedded in a request of a stream. */
struct tfd_eager_place {
    uint64_t number;
    struct tfd_eager_place *next, *previous;
};

/* Embedded in a request that waits. */
struct tfd_eager_turn {
    uint64_t after; /* number of the last request that it waits for */
    void (*comes)(struct tfd_eager_turn *t);
    struct tfd_eager_turn *next;
};

struct tfd_eager_order { /* all zero: nobody */
    uint64_t last;       /* number */
    struct tfd_eager_place *oldest, *newest;
    struct tfd_eager_turn *first; /* oldest first */
};

/* A request of a stream has come; it has ended, which may call comes(). */
void tfd_eager_order_enter(struct tfd_eager_order *o,
                           struct tfd_eager_place *p);
void tfd_eager_order_leave(struct tfd_eager_order *o,
                           struct tfd_eager_place *p);
/* False when there is nothing to wait for; else comes() follows. */
bool tfd_eager_order_wait(struct tfd_eager_order *o, struct tfd_eager_turn *t);
/* It waits no more; it may not have waited. */
void tfd_eager_order_forget(struct tfd_eager_order *o,
                            struct tfd_eager_turn *t);

#endif
