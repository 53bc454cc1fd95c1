/*
 * line.h - requests of EagerService share the loop thread.
 *
 * A request may hold millions of items, and each is served in place where it is
 * short, so what all requests take of one turn of the loop is bounded by time.
 * Who has more to do stands in a line, and so does who comes while somebody
 * stands there: requests begin in the order in which they came.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_LINE_H
#define TFD_DAEMON_EAGER_LINE_H

#include "rpc/conn/loop.h"

/* Embedded in a request. */
struct tfd_eager_waiter {
    void (*go)(struct tfd_eager_waiter *w);
    struct tfd_eager_waiter *next;
};

struct tfd_eager_line {
    struct tfd_loop *loop;
    struct tfd_eager_waiter *first, **last;
    struct tfd_post serve; /* in the next turn */
    struct tfd_post reset; /* at the end of this one */
    bool serves, resets;
    int64_t spent_us; /* in this turn */
};

void tfd_eager_line_init(struct tfd_eager_line *l, struct tfd_loop *loop);
/* A request that begins has to wait. */
bool tfd_eager_line_busy(const struct tfd_eager_line *l);
/* go() follows, in a later turn. */
void tfd_eager_line_wait(struct tfd_eager_line *l, struct tfd_eager_waiter *w);
/* All that wait go at once: what they do then must be short. */
void tfd_eager_line_end(struct tfd_eager_line *l);

/* Around what a request does at once; between, whether it has to wait. */
int64_t tfd_eager_line_enter(void);
bool tfd_eager_line_over(const struct tfd_eager_line *l, int64_t entered_us);
void tfd_eager_line_leave(struct tfd_eager_line *l, int64_t entered_us);

#endif
