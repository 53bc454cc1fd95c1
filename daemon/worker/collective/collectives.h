/*
 * collectives.h - the collectives of a worker: who is in which group, values
 * that wait to be fetched, and the members' kernels that are under way.
 *
 *     kernel                      worker                       leader
 *
 *     tfd_collective_start() ---> join.c: CompleteGroup -----> groups.h
 *                                 CompleteInstance ----------> (of a broadcast)
 *     run(), on a thread of <---- all have come
 *     the crew:
 *       send, ask, wait --------> exchange.c: RecvBuf -------> other members
 *       returns ----------------> what was sent has been fetched: k finishes
 *
 * The leader is one task of the cluster, which all others ask for groups: the
 * chief, else worker 0, else the first task.  TensorFlow's servers are told by
 * ConfigProto.experimental.collective_group_leader.
 *
 * Threads: said at each function.
 */
#ifndef TFD_DAEMON_WORKER_COLLECTIVE_COLLECTIVES_H
#define TFD_DAEMON_WORKER_COLLECTIVE_COLLECTIVES_H

#include "common/thread/crew.h"
#include "daemon/worker/collective/buf_rendezvous.h"
#include "daemon/worker/collective/groups.h"
#include "daemon/worker/collective/step_sequences.h"
#include "daemon/worker/run/step.h"
#include "kernels/core/collective_member.h"
#include "rpc/core/peers.h"

struct tfd_collectives {
    struct tfd_loop *loop;
    struct tfd_peers *peers; /* NULL: this task alone */
    struct tfd_service *service;
    struct tfd_devices *devices;
    int leader; /* a peer; -1: this task */
    struct tfd_peers_follower follower;
    struct tfd_groups groups;
    struct tfd_step_sequences steps;
    struct tfd_buf_rendezvous bufs;
    struct tfd_collective_call *calls; /* of other tasks, that wait */
};

/* Everything is borrowed.  service may be NULL.  Binds CompleteGroup,
 * CompleteInstance, RecvBuf and GetStepSequence.  Loop thread. */
void tfd_collectives_init(struct tfd_collectives *all, struct tfd_loop *loop,
                          struct tfd_peers *peers, struct tfd_service *service,
                          struct tfd_devices *devices);
/* Other tasks wait in vain.  Loop thread. */
void tfd_collectives_stop(struct tfd_collectives *all,
                          const struct tfd_status *why);
/* The same; no step runs any more. */
void tfd_collectives_deinit(struct tfd_collectives *all);

/* ---- One member's part --------------------------------------------------- */

struct tfd_collective_send {
    struct tfd_buf_end end;
    struct tfd_collective *c;
    struct tfd_collective_send *next; /* of the collective's */
    bool fetched;                     /* the lock's */
    char key[];
};

struct tfd_collective_part {
    struct tfd_buf_end end; /* of a member of this task */
    struct tfd_collective *c;
    struct tfd_collective_part *next;
    int from;
    int64_t n;
    struct tfd_post post, cancel; /* of another task's: asks; gives up */
    struct tfd_outcall *call;     /* loop thread */
    bool arrived;                 /* the lock's, as what follows */
    struct tfd_tensor value;      /* of a member of this task */
    struct tfd_incoming answer;   /* of another task's: its references */
    struct tfd_status st;
    char key[];
};

struct tfd_collective {
    struct tfd_collectives *all;
    struct tfd_kctx *k;
    struct tfd_collective_spec spec;
    tfd_collective_run_fn *run;
    int64_t step;
    uint64_t frame, iteration;
    int64_t deadline_us; /* tfd_clock_now_us(); 0: none */

    /* Joining: the loop thread's. */
    struct tfd_post join;
    struct tfd_group_wait wait;
    struct tfd_outcall *call;
    struct tfd_timer timer;
    bool joining, timed_out;

    /* Of the group, once it has joined. */
    int rank, source;
    int32_t *task;                        /* by rank */
    struct tfd_device_attributes *member; /* by rank */

    struct tfd_job job;
    struct tfd_cancel cancel;
    struct tfd_post cancel_post;

    struct tfd_lock lock;
    struct tfd_cond changed;
    int refs; /* the lock's, as what follows */
    bool cancelled;
    int pending; /* sends, parts and posts that are under way */
    struct tfd_collective_send *sends;
    struct tfd_collective_part *parts;
};

/* join.c: becomes a member; then submits c->job, or ends c.  Loop thread. */
void tfd_collective_join(struct tfd_collective *c);
/* The step has failed: joining ends with CANCELLED.  Loop thread. */
void tfd_collective_join_cancel(struct tfd_collective *c);

/* exchange.c: waits until what was sent has been fetched; after a failure,
 * takes back what was not.  Then nothing is under way.  Crew thread. */
enum tfd_code tfd_collective_settle(struct tfd_collective *c, bool failed,
                                    struct tfd_status *st);

/* member.c: frees c and finishes its kernel.  Loop thread or crew thread. */
void tfd_collective_end(struct tfd_collective *c, const struct tfd_status *st);

/* collective_methods.c */
void tfd_collectives_bind(struct tfd_collectives *all);

/* The attributes of the device that a kernel runs on. */
const struct tfd_device_attributes *
tfd_collective_device(const struct tfd_kctx *k);

#endif
