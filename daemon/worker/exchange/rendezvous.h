/*
 * rendezvous.h - the rendezvous of a step: where a Send node leaves its value
 * and the Recv node of the same edge takes it, whichever comes first.
 *
 *     key     a number: the hash of the rendezvous key, or the number of the
 *             channel, mixed with the loop's frame and iteration
 *     value   a tensor; an empty one means that the edge is dead
 *
 *     Send first:  value is kept under its key    Recv takes it at once
 *     Recv first:  a waiter is kept               Send calls its arrived()
 *
 * Several values or waiters on one key queue up.  After an abort everything
 * ends with the abort's status.
 *
 * Peers may be earlier than the step itself: their pushes and RecvTensor calls
 * create the rendezvous, bounded in bytes and in time.  After CleanupGraph
 * whatever still comes for that step is dropped; the last few thousand steps
 * are remembered for that.
 *
 * Threads: the table and the functions that take it, the loop thread; a
 * rendezvous, any.
 */
#ifndef TFD_DAEMON_WORKER_RENDEZVOUS_H
#define TFD_DAEMON_WORKER_RENDEZVOUS_H

#include "common/base/tensor.h"
#include "rpc/conn/loop.h"

struct tfd_rendezvous;
struct tfd_rendezvous_table;

struct tfd_waiter {
    /* Called once, from any thread, without locks.  st is NULL, or why there is
     * no value. */
    void (*arrived)(struct tfd_waiter *w, struct tfd_tensor *take_value,
                    const struct tfd_status *st);
    struct tfd_waiter *next;
};

/* Hash of a channel that pushes; its other end is known by the same number. */
uint64_t tfd_rendezvous_push_hash(uint32_t number);
uint64_t tfd_rendezvous_key(uint64_t hash, uint64_t frame, uint64_t iteration);

enum tfd_code tfd_rendezvous_send(struct tfd_rendezvous *r, uint64_t key,
                                  struct tfd_tensor *take_value,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_rendezvous_recv(struct tfd_rendezvous *r, uint64_t key,
                         struct tfd_waiter *w);
/* Forgets a waiter; false when it was called, or is just about to be. */
bool tfd_rendezvous_forget(struct tfd_rendezvous *r, uint64_t key,
                           struct tfd_waiter *w);
void tfd_rendezvous_abort(struct tfd_rendezvous *r,
                          const struct tfd_status *st);

/* ---- Of all steps -------------------------------------------------------- */

struct tfd_rendezvous_table *tfd_rendezvous_table_new(struct tfd_loop *l,
                                                      struct tfd_status *st);
/* Cleans up after every step. */
void tfd_rendezvous_clear(struct tfd_rendezvous_table *t);
/* No step runs any more. */
void tfd_rendezvous_table_free(struct tfd_rendezvous_table *t);

/* The step begins; keys is about how many it will use.  ABORTED when a step of
 * this id runs already. */
enum tfd_code tfd_rendezvous_begin(struct tfd_rendezvous_table *t, int64_t step,
                                   int keys, struct tfd_rendezvous **out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* The same, but others of the step may run, too. */
enum tfd_code tfd_rendezvous_join(struct tfd_rendezvous_table *t, int64_t step,
                                  int keys, struct tfd_rendezvous **out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The step is there until it is cleaned up, whoever joins and ends. */
enum tfd_code tfd_rendezvous_hold(struct tfd_rendezvous_table *t, int64_t step,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The step, or one that joined it, has ended; what was sent stays until it is
 * fetched or cleaned up. */
void tfd_rendezvous_end(struct tfd_rendezvous_table *t,
                        struct tfd_rendezvous *r);
/* For a peer: the step's, made when it is new.  ABORTED "Cleanup <step>" when
 * it was cleaned up. */
enum tfd_code tfd_rendezvous_find(struct tfd_rendezvous_table *t, int64_t step,
                                  struct tfd_rendezvous **out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* A peer's value, counted while the step has not begun. */
void tfd_rendezvous_push(struct tfd_rendezvous_table *t,
                         struct tfd_rendezvous *r, uint64_t key,
                         struct tfd_tensor *take_value);
/* ABORTED "Cleanup <step>" for who still waits. */
void tfd_rendezvous_cleanup(struct tfd_rendezvous_table *t, int64_t step);

struct tfd_rendezvous_stats {
    size_t count;       /* steps that are known */
    size_t parked_size; /* bytes pushed for steps that have not begun */
};
struct tfd_rendezvous_stats
tfd_rendezvous_stats(const struct tfd_rendezvous_table *t);

#endif
