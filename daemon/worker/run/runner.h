/*
 * runner.h - a runner executes ready nodes of one step on one thread: it takes
 * a node, runs its kernel, passes the outputs to the consumers, and takes the
 * next node that this has made ready.
 *
 *     push --> first..last --> tfd_runner_node() --> kernel
 *      ^                                               |
 *      +------ tfd_runner_complete(): slots are filled,+
 *              counts go down, consumers become ready
 *
 * A step begins with one runner (executor.c).  Where nodes are worth another
 * thread, the runner offers them to the step's helpers, each of which becomes
 * a runner too (runner_share.c).  The header is shared by the files that make
 * up a runner, one section each.
 *
 * A runner lies on its thread's stack and owns the ready nodes in its lists,
 * and every value between the kernel that made it and the slot that gets it.
 * The first failure is recorded in the step and ends all of its runners.
 *
 * Threads: a runner is its thread's own; what runners share is in step.h.
 */
#ifndef TFD_DAEMON_WORKER_RUNNER_H
#define TFD_DAEMON_WORKER_RUNNER_H

#include "daemon/worker/run/step.h"

#include <assert.h>

/* An output on its way: a tensor or a reference, both owned; neither: dead. */
struct tfd_value {
    struct tfd_tensor tensor;
    struct tfd_variable *ref;
};

/* A Send that is put off (late_send.c), and what it refers to. */
struct tfd_kept_send {
    struct tfd_ready *item;
    struct tfd_variable *ref;
};

#define TFD_RUNNER_KEPT_MAX 32

struct tfd_runner {
    struct tfd_step *step;
    struct tfd_helper *helper; /* whose thread it is on; NULL: the loop's */
    struct tfd_ready *first;   /* ready nodes, in the order they became so */
    struct tfd_ready *last;
    struct tfd_ready *expensive; /* worth another thread */
    bool shared;
    bool turn_over; /* its time on the loop thread is used up, or a compute
                     * thread has taken the step over */
    uint32_t nodes; /* run so far */
    uint64_t begun_ns;
    uint64_t node_ns; /* of a traced step: when its node began */
    struct tfd_kctx k;
    struct tfd_tensor out[TFD_EXEC_STACK_OUTPUTS];
    struct tfd_variable *out_refs[TFD_EXEC_STACK_OUTPUTS];
    struct tfd_kept_send kept[TFD_RUNNER_KEPT_MAX];
    int kept_count;
    struct tfd_status st;
};

/* ---- runner.c ------------------------------------------------------------ */

/* Works on the step, as a runner that is counted already, until there is
 * nothing to do; begin: from the roots.  True: the step has ended, and the
 * caller says so; else it may be gone.  Loop thread. */
bool tfd_runner_run(struct tfd_step *s, bool begin);
/* The same on a compute thread; the helper is idle again afterwards. */
bool tfd_runner_help(struct tfd_helper *h);

/* ---- runner_share.c ------------------------------------------------------ */

/* Offers expensive nodes to other threads. */
void tfd_runner_share(struct tfd_runner *r);
/* Where any runner takes them from, in their order.  The lock is held; there is
 * one to take. */
void tfd_runner_share_put(struct tfd_step *s, struct tfd_ready *item);
struct tfd_ready *tfd_runner_share_pop(struct tfd_step *s);

/* An idle helper gets a thread and becomes a runner, which is counted already.
 * The lock is held. */
static inline void tfd_runner_wake(struct tfd_step *s)
{
    struct tfd_helper *h = s->idle;

    assert(h && tfd_lock_held(&s->lock));
    s->idle = h->next;
    tfd_pool_submit(s->pool, &h->job);
}

/* ---- node_cost.c --------------------------------------------------------- */

/* How long a run of the node takes, in nanoseconds: the shorter of two runs in
 * a row, smoothed; 0: not known yet. */
uint32_t tfd_runner_cost_of(const struct tfd_exec *e,
                            const struct tfd_exec_node *n);
/* Whether the node is worth another thread, by its cost or by its kind. */
bool tfd_runner_is_expensive(const struct tfd_exec *e,
                             const struct tfd_exec_node *n);
/* Records that the node took so many nanoseconds. */
void tfd_runner_cost(const struct tfd_exec *e, const struct tfd_exec_node *n,
                     uint64_t took);

/* ---- flow.c -------------------------------------------------------------- */

/* Queues a node whose inputs have all arrived. */
void tfd_runner_push(struct tfd_runner *r, struct tfd_ready *item);
/* Queues a node that has yielded behind all other ready nodes. */
void tfd_runner_again(struct tfd_runner *r, struct tfd_ready *item);
/* An input of a node arrives: value NULL is dead, else taken.  from_enter: the
 * producer is an Enter. */
void tfd_runner_data(struct tfd_runner *r, struct tfd_iter *it,
                     const struct tfd_exec_edge *e, struct tfd_value *value,
                     bool from_enter);
void tfd_runner_control(struct tfd_runner *r, struct tfd_iter *it,
                        const struct tfd_exec_edge *e, bool dead);
/* Takes one value, NULL for dead, along all edges of a node with one output. */
void tfd_runner_spread(struct tfd_runner *r, struct tfd_iter *it,
                       const struct tfd_exec_node *n, struct tfd_value *value);
/* The node is done: its outputs travel, or deadness does. */
void tfd_runner_complete(struct tfd_runner *r, struct tfd_ready *item,
                         struct tfd_tensor *out, struct tfd_variable **refs,
                         bool dead);
void tfd_value_drop(struct tfd_value *v);
struct tfd_value tfd_value_ref(const struct tfd_value *v);

/* ---- node.c -------------------------------------------------------------- */

void tfd_runner_node(struct tfd_runner *r, struct tfd_ready *item);
/* Takes over from a kernel that has finished; live false: the step failed. */
void tfd_runner_finished(struct tfd_runner *r, struct tfd_async *a, bool live);

/* ---- node_kernel.c ------------------------------------------------------- */

/* Inputs and whatever else but outputs a ready node's kernel gets. */
void tfd_runner_fill(struct tfd_kctx *k, struct tfd_step *s,
                     struct tfd_ready *item);
/* The kernel's promise: every output is there and of its type. */
enum tfd_code tfd_runner_check(const struct tfd_kctx *k,
                               struct tfd_status *st) TFD_MUST_USE;
/* Where node n leaves its outputs; all are empty. */
static inline void tfd_runner_outputs(struct tfd_runner *r, struct tfd_iter *it,
                                      const struct tfd_exec_node *n,
                                      struct tfd_tensor **out,
                                      struct tfd_variable ***refs)
{
    *out = n->out < 0 ? r->out : it->out + n->out;
    *refs = n->out < 0 ? r->out_refs : it->out_refs + n->out;
}
/* Fills in r->k: inputs, outputs and whatever else a ready node's kernel gets.
 */
void tfd_runner_prepare(struct tfd_runner *r, struct tfd_ready *item);
/* Runs the kernel of n on r->k, with its checks. */
void tfd_runner_compute(struct tfd_runner *r, const struct tfd_exec_node *n);
/* The output that a Switch chooses; of _SwitchN the last, where the number is
 * none of an output. */
enum tfd_code tfd_node_side(const struct tfd_exec_node *n,
                            const struct tfd_tensor *pred, int32_t *side,
                            struct tfd_status *st) TFD_MUST_USE;

/* ---- late_send.c --------------------------------------------------------- */

/* Puts a Send of a reference off until the runner has nothing quick left to run
 * (late_send.c says why).  False: its input is no reference, and it runs as any
 * node. */
bool tfd_late_send_keep(struct tfd_runner *r, struct tfd_ready *item);
/* Runs those that were put off; a failure is the step's.  Not under a lock. */
void tfd_late_send_all(struct tfd_runner *r);
/* One that was put off is as it was before; NULL: there is none. */
struct tfd_ready *tfd_late_send_back(struct tfd_runner *r);
/* Forgets them: the step has failed. */
void tfd_late_send_drop(struct tfd_runner *r);

/* ---- step_record.c ------------------------------------------------------- */

/* Makes the step fail, naming the node (NULL: none); the first failure counts.
 * tfd_step_record() does the same where there is no runner. */
void tfd_step_record(struct tfd_step *s, const struct tfd_exec_node *n,
                     const struct tfd_status *st);
void tfd_runner_fail(struct tfd_runner *r, const struct tfd_exec_node *n,
                     const struct tfd_status *st);

/* ---- while_frames.c ------------------------------------------------------ */

/* Routes the output (NULL: dead) of an Enter, Exit or NextIteration. */
void tfd_while_route(struct tfd_runner *r, struct tfd_ready *item,
                     struct tfd_value *value);
/* Runs a loop as code; false when it goes on later or has failed. */
bool tfd_while_run_unit(struct tfd_runner *r, struct tfd_ready *item);
/* A node of a loop's iteration is done: retires what is complete. */
void tfd_while_node_done(struct tfd_runner *r, struct tfd_iter *it);
/* The frame's part of rendezvous keys. */
uint64_t tfd_while_frame_id(const struct tfd_iter *it);
/* The iterations of a step, from its root on, those within one behind it; NULL
 * after the last.  Nobody works on the step. */
const struct tfd_iter *tfd_while_next_iter(const struct tfd_iter *it);
/* After a failure: frees the loops that did not end. */
void tfd_while_drop(struct tfd_step *s);
/* Frees the first of the frames kept for reuse. */
void tfd_frame_pop_free(struct tfd_frame **free_list);

#endif
