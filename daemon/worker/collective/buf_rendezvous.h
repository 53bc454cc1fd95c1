/*
 * buf_rendezvous.h - where values of collectives meet: one end is the member of
 * this task that offers a value, the other the member that wants it, of this
 * task or behind a RecvBuf call.  Whichever comes second completes the pair.
 *
 * A value is known by a step and a key.  At most one of each end may be there
 * for one of them, as in TensorFlow: an op that runs twice at once in one step
 * is a mistake of its graph.
 *
 *     struct offer { struct tfd_buf_end end; ... };
 *     tfd_buf_offer(b, &o->end, &value, st);     o->end.met(): it is fetched
 *     tfd_buf_want(b, &w->end, st);              w->end.met() with the value
 *
 * An end is embedded by its owner, who keeps it and its key until met() or a
 * successful tfd_buf_forget().
 *
 * Threads: any.  met() is called without a lock, by the thread of the other
 * end.
 */
#ifndef TFD_DAEMON_WORKER_COLLECTIVE_BUF_RENDEZVOUS_H
#define TFD_DAEMON_WORKER_COLLECTIVE_BUF_RENDEZVOUS_H

#include "common/base/str.h"
#include "common/base/tensor.h"
#include "common/thread/lock.h"

struct tfd_buf_end {
    int64_t step;
    struct tfd_str key;
    /* take_value: empty for who offered it. */
    void (*met)(struct tfd_buf_end *e, struct tfd_tensor *take_value);
    struct tfd_tensor value; /* the rest is the rendezvous': offered */
    bool offers;
    uint64_t hash;
    struct tfd_buf_end *next;
};

#define TFD_BUF_BUCKETS 256

struct tfd_buf_rendezvous {
    struct tfd_lock lock;
    struct tfd_buf_end *bucket[TFD_BUF_BUCKETS];
    int count; /* ends that wait */
};

void tfd_buf_rendezvous_init(struct tfd_buf_rendezvous *b);
/* No end waits any more. */
void tfd_buf_rendezvous_deinit(struct tfd_buf_rendezvous *b);

/* Adds a reference to the value until met() or forget().  met() may come before
 * it returns.  INTERNAL when one is offered under this key already. */
enum tfd_code tfd_buf_offer(struct tfd_buf_rendezvous *b, struct tfd_buf_end *e,
                            const struct tfd_tensor *value,
                            struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_buf_want(struct tfd_buf_rendezvous *b, struct tfd_buf_end *e,
                           struct tfd_status *st) TFD_MUST_USE;
/* False: its met() has been called, or is about to be. */
bool tfd_buf_forget(struct tfd_buf_rendezvous *b, struct tfd_buf_end *e);

#endif
