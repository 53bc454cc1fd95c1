/*
 * lock.h - mutexes with a rank, and condition variables.
 *
 * A thread takes locks in the order of their ranks only, outer ones first, and
 * never two of one rank.  That is checked at each tfd_lock(), always: a wrong
 * order that deadlocks once a month aborts in the first test that takes it.
 *
 *     struct tfd_lock lock = TFD_LOCK_INIT(TFD_LOCK_STEP);
 *
 * A lock is not held across a callback, nor while bytes move.
 *
 * Threads: any.  Errors: none; memory is not allocated and misuse aborts.
 */
#ifndef TFD_COMMON_LOCK_H
#define TFD_COMMON_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* From the outermost to the innermost. */
enum tfd_lock_rank {
    TFD_LOCK_CLIENT,       /* a client's session: what of its graph was sent */
    TFD_LOCK_CLIENT_GRAPH, /* a client's graph: its growth */
    TFD_LOCK_SERVER,       /* lists of sessions, peers, connections */
    TFD_LOCK_SESSION,      /* one session: its graph and plans */
    TFD_LOCK_GRAPH,        /* one registered graph: its pool of steps */
    TFD_LOCK_STEP,         /* one step: ready nodes, failure */
    TFD_LOCK_RENDEZVOUS,   /* keys that wait or are waited for */
    TFD_LOCK_CONTAINER,    /* names of resources */
    TFD_LOCK_RESOURCE,     /* one variable, queue, accumulator */
    TFD_LOCK_REFERENCE,    /* a reference variable, which resources keep */
    TFD_LOCK_CANCEL,       /* who wants to hear of a cancellation */
    TFD_LOCK_DEVICE,       /* streams, events, memory of a device */
    TFD_LOCK_TRACE,        /* what a traced step has recorded */
    TFD_LOCK_LOOP,         /* what waits for the loop thread */
    TFD_LOCK_POOL,         /* what waits for a compute thread */
    TFD_LOCK_NESTED,       /* free parts of buffers */
    TFD_LOCK_DEFINITION,   /* definitions of operations that are parsed */
    TFD_LOCK_ALLOC,        /* free buffers */
    TFD_LOCK_SLAB,         /* free blocks of slabs */
    TFD_LOCK_TEXT,         /* memory of the last large string */
    TFD_LOCK_RANK_COUNT
};

struct tfd_lock {
    pthread_mutex_t mutex;
    enum tfd_lock_rank rank;
};

#define TFD_LOCK_INIT(rank)             \
    {                                   \
        PTHREAD_MUTEX_INITIALIZER, rank \
    }

void tfd_lock_init(struct tfd_lock *l, enum tfd_lock_rank rank);
void tfd_lock_deinit(struct tfd_lock *l);
void tfd_lock(struct tfd_lock *l);
void tfd_unlock(struct tfd_lock *l);
/* The calling thread holds a lock of this rank: for assertions. */
bool tfd_lock_held(const struct tfd_lock *l);

/* What waits until the calling thread holds no lock: the end of an object that
 * takes locks of its own, wherever its last reference was dropped. */
struct tfd_deferred {
    struct tfd_deferred *next;
    void (*run)(struct tfd_deferred *u); /* may free u */
};

/* At once where the thread holds none; else by the tfd_unlock() of its last
 * one. */
void tfd_lock_defer(struct tfd_deferred *u);

/* Waits may end without a signal, so they stand in a loop. */
struct tfd_cond {
    pthread_cond_t cond;
};

void tfd_cond_init(struct tfd_cond *c);
void tfd_cond_deinit(struct tfd_cond *c);
void tfd_cond_wait(struct tfd_cond *c, struct tfd_lock *l);
/* False when tfd_clock_now_us() has reached until_us. */
bool tfd_cond_wait_until(struct tfd_cond *c, struct tfd_lock *l,
                         int64_t until_us);
void tfd_cond_signal(struct tfd_cond *c);
void tfd_cond_broadcast(struct tfd_cond *c);

#endif
