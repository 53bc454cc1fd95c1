/*
 * barrier_core.h - barriers: tuples whose components come one by one, by key.
 *
 * A key's first component makes an incomplete tuple; with its last one it moves
 * to a queue of priorities (queue_core.h), from which tuples are taken: index
 * of the insertion that brought the key, key, components.
 *
 *     close           no new keys; incomplete ones may be completed.  The queue
 *                     closes with the last of them
 *     close, cancel   drops what is incomplete and closes the queue at once
 *
 * Ownership: a barrier is a counted resource and holds its queue.  Threads:
 * any.
 */
#ifndef TFD_KERNELS_BARRIER_CORE_H
#define TFD_KERNELS_BARRIER_CORE_H

#include "common/base/map.h"
#include "kernels/state/queue_core.h"

/* Parts of a queue's row before the components. */
#define TFD_BARRIER_HEAD 2

struct tfd_barrier {
    struct tfd_resource resource;
    struct tfd_queue *queue;
    char *name;              /* for messages */
    struct tfd_lock lock;    /* of what follows; never held with the queue's */
    struct tfd_map elements; /* key -> what is incomplete */
    int64_t moving;          /* complete, but not in the queue yet */
    int64_t index;           /* of the next insertion that brings a key */
    bool closed, cancelled;
};

extern const struct tfd_resource_type tfd_barrier_type;

struct tfd_barrier_order {
    const struct tfd_queue_spec *spec; /* of the queue */
    struct tfd_str name;
};
/* A tfd_resource_make_fn; arg is a struct tfd_barrier_order. */
enum tfd_code tfd_barrier_make(void *arg, struct tfd_resource **out,
                               struct tfd_status *st) TFD_MUST_USE;

/* Each of these finishes k, sooner or later, and drops the reference. */

/* Inputs 1 and 2: as many keys as values, which have elements. */
void tfd_barrier_insert(struct tfd_barrier *take_b, struct tfd_kctx *k,
                        int component);
void tfd_barrier_take(struct tfd_barrier *take_b, struct tfd_kctx *k,
                      int64_t wanted, bool small);
void tfd_barrier_close(struct tfd_barrier *take_b, struct tfd_kctx *k,
                       bool cancel);

int64_t tfd_barrier_ready(struct tfd_barrier *b);
int64_t tfd_barrier_incomplete(struct tfd_barrier *b);

#endif
