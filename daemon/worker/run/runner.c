/*
 * runner.c - see runner.h.
 *
 * A runner has its own list of ready nodes and works it off.  It leaves the
 * step when that and what lies there for any runner is empty; the last one to
 * leave, while no asynchronous kernel is under way, ends the step.
 */
#include "daemon/worker/run/runner.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/thread/cost.h"

#include <assert.h>
#include <stddef.h>

/* A step that was thought small gives the loop thread back after this, ... */
#define INLINE_MAX_NS (100 * TFD_COST_HOP_NS)
/* ... and any step its compute thread, when other steps wait for one: many
 * times what handing over costs, and less than anybody notices.  The more wait,
 * the sooner, so that they all have had a turn within a moment. */
#define SLICE_NS (100 * TFD_COST_HOP_NS)
#define SLICE_MIN_NS (40 * TFD_COST_HOP_NS)
#define SLICE_JOBS 8 /* that it is shared by */
/* Others have their turn after this many nodes, where a loop never ends. */
#define TURN_NODES 64
/* The clock, which may be a system call, is read after this many nodes, and
 * after one that is known to take long. */
#define CLOCK_NODES 16
/* Sends are not put off for a node that takes longer (late_send.c). */
#define SLOW_NS 200000

/* ---- Failure ------------------------------------------------------------- */

static bool has_failed(const struct tfd_step *s)
{
    return TFD_LOAD_ACQUIRE(&s->failed) != 0;
}

/* Tells everything that waits.  Once; by a runner, so the step stays. */
static void abort_once(struct tfd_step *s)
{
    bool first;

    tfd_lock(&s->lock);
    first = !s->aborted;
    s->aborted = true;
    tfd_unlock(&s->lock);
    if (!first)
        return;
    if (s->rendezvous)
        tfd_rendezvous_abort(s->rendezvous, &s->status);
    tfd_step_cancel_all(s);
}

/* ---- Ready nodes --------------------------------------------------------- */

static struct tfd_ready *pop_ready(struct tfd_runner *r)
{
    struct tfd_ready *item = r->first;

    if (item) {
        r->first = item->next;
        if (!r->first)
            r->last = NULL;
        return item;
    }
    item = r->expensive;
    if (item)
        r->expensive = item->next;
    return item;
}

/* ---- A runner ------------------------------------------------------------ */

static void runner_init(struct tfd_runner *r, struct tfd_step *s,
                        struct tfd_helper *h)
{
    r->step = s;
    r->helper = h;
    r->first = r->last = r->expensive = NULL;
    r->shared = s->shared;
    r->turn_over = false;
    r->begun_ns = tfd_clock_now_ns();
    r->node_ns = 0;
    r->nodes = 0;
    r->kept_count = 0;
    r->k.stream = NULL;
    r->k.memory = NULL;
    for (int i = 0; i < TFD_EXEC_STACK_OUTPUTS; i++) {
        r->out[i].dtype = TFD_DTYPE_INVALID;
        r->out[i].buffer = NULL;
        r->out_refs[i] = NULL;
    }
    r->st.code = TFD_OK;
    r->st.text[0] = '\0';
}

static void push_roots(struct tfd_runner *r)
{
    const struct tfd_exec *e = r->step->exec;
    struct tfd_iter *root = r->step->root;

    for (int32_t i = 0; i < e->root_count; i++)
        tfd_runner_push(r, &root->ready[e->roots[i]->local]);
    if (r->expensive)
        tfd_runner_share(r);
}

/* Everything is left to a compute thread, which becomes the runner instead. */
static void hand_over(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;

    tfd_late_send_all(r);
    tfd_lock(&s->lock);
    assert(!s->common && !r->expensive);
    s->common = r->first;
    s->common_last = r->last;
    s->on_loop = false;
    s->busy_ns += tfd_clock_now_ns() - r->begun_ns;
    tfd_runner_wake(s);
    tfd_unlock(&s->lock);
}

/* Other steps have their turn on this thread.  The runner is still counted;
 * what it had to do lies where it, or another one, finds it. */
static void yield(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_ready *item;

    tfd_late_send_all(r);
    tfd_lock(&s->lock);
    while ((item = pop_ready(r)))
        tfd_runner_share_put(s, item);
    s->busy_ns += tfd_clock_now_ns() - r->begun_ns;
    tfd_pool_yield(s->pool, &r->helper->job);
    tfd_unlock(&s->lock);
}

static void take_finished(struct tfd_runner *r, struct tfd_async *a)
{
    while (a) {
        struct tfd_async *next = a->next;

        tfd_runner_finished(r, a, !has_failed(r->step));
        TFD_PENDING_SUB(&r->step->async, 1);
        a = next;
    }
}

/* What this runner goes on with, a loop perhaps, does not keep the oldest node
 * that is there for any runner from its turn, nor what has finished. */
static void give_turn(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_async *finished;

    tfd_late_send_all(r);
    if (r->expensive)
        tfd_runner_share(r);
    tfd_lock(&s->lock);
    finished = s->inbox;
    s->inbox = NULL;
    if (s->common) {
        struct tfd_ready *item = tfd_runner_share_pop(s);

        item->next = r->first;
        r->first = item;
        if (!r->last)
            r->last = item;
    }
    tfd_unlock(&s->lock);
    take_finished(r, finished);
}

static bool is_turn_over(struct tfd_runner *r)
{
    return ++r->nodes % TURN_NODES == 0 || r->turn_over;
}

static uint64_t slice_ns(int waiting)
{
    uint64_t slice = SLICE_NS / (1 + (uint64_t)waiting / SLICE_JOBS);

    return slice > SLICE_MIN_NS ? slice : SLICE_MIN_NS;
}

/* After n has run.  Costs a read of memory where nobody waits. */
static bool is_slice_over(const struct tfd_runner *r,
                          const struct tfd_exec_node *n)
{
    int waiting = r->helper ? tfd_pool_waiting(r->step->pool) : 0;

    return waiting > 0 &&
           (r->nodes % CLOCK_NODES == 0 || r->turn_over ||
            tfd_runner_is_expensive(r->step->exec, n)) &&
           tfd_clock_now_ns() - r->begun_ns > slice_ns(waiting);
}

/* The step has been on the loop thread for too long. */
static bool is_late(const struct tfd_runner *r)
{
    return r->step->on_loop && r->step->pool && r->first &&
           (r->turn_over || tfd_clock_now_ns() - r->begun_ns > INLINE_MAX_NS);
}

/* A node that is not quick is seen by who puts off Sends. */
static void run_node(struct tfd_runner *r, struct tfd_ready *item)
{
    struct tfd_step *s = r->step;
    bool slow = s->exec->late_sends &&
                tfd_runner_cost_of(s->exec, item->node) > SLOW_NS;

    if (slow) {
        tfd_late_send_all(r);
        TFD_COUNTER_ADD(&s->slow, 1);
    }
    tfd_runner_node(r, item);
    if (slow)
        TFD_COUNTER_ADD(&s->slow, -1);
}

/* False when the step was handed over, or goes on later. */
static bool run_list(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_ready *item;

    while (!has_failed(s) && (item = pop_ready(r))) {
        const struct tfd_exec_node *n = item->node; /* the item may go */
        bool turn_over;

        run_node(r, item);
        turn_over = is_turn_over(r);
        if (is_slice_over(r, n) && !has_failed(s)) {
            yield(r);
            return false;
        }
        if (!turn_over)
            continue;
        if (is_late(r)) {
            hand_over(r);
            return false;
        }
        r->turn_over = false;
        give_turn(r);
    }
    if (has_failed(s)) {
        abort_once(s);
        tfd_late_send_drop(r);
        r->first = r->last = r->expensive = NULL;
    }
    return true;
}

/* Ready nodes that are there for any runner: one of them, or all for a runner
 * that is the only one. */
static void take_common(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;

    if (s->shared) {
        r->first = r->last = tfd_runner_share_pop(s);
        return;
    }
    r->first = r->last = s->common;
    s->common = NULL;
    while (r->last->next)
        r->last = r->last->next;
}

/* Sends that were put off wait for the last runner, but for none that is at
 * work on something slow.  False: they are to run.  The lock is held. */
static bool leave_kept(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    int slow = TFD_LOAD_RELAXED(&s->slow);
    struct tfd_ready *item;

    if (r->kept_count > 0 && s->runners - 1 <= slow)
        return false;
    while ((item = tfd_late_send_back(r)))
        tfd_runner_share_put(s, item);
    return true;
}

enum leaving { STAYS, LEAVES, ENDS };

/* Finds more to do, or leaves the step; after that it may be gone. */
static enum leaving refill(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_helper *h = r->helper;
    struct tfd_async *finished;
    enum leaving leaving = STAYS;
    bool sends = false;

    tfd_lock(&s->lock);
    finished = s->inbox;
    s->inbox = NULL;
    if (!finished && s->common && !has_failed(s)) {
        take_common(r);
    } else if (!finished && !leave_kept(r)) {
        sends = true;
    } else if (!finished) {
        s->busy_ns += tfd_clock_now_ns() - r->begun_ns;
        if (h) {
            h->next = s->idle;
            s->idle = h;
        }
        s->is_ended = --s->runners == 0 && TFD_LOAD_ACQUIRE(&s->async) == 0;
        leaving = s->is_ended ? ENDS : LEAVES;
    }
    tfd_unlock(&s->lock);
    if (sends)
        tfd_late_send_all(r);
    take_finished(r, finished);
    return leaving;
}

/* True when the step has ended. */
static bool work_once(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    enum leaving leaving = STAYS;

    while (leaving == STAYS) {
        if (!run_list(r))
            return false;
        if (s->on_loop && !s->exec->has_async) {
            tfd_late_send_all(r);
            s->busy_ns += tfd_clock_now_ns() - r->begun_ns;
            s->is_ended = true;
            return true;
        }
        leaving = refill(r);
    }
    return leaving == ENDS;
}

/* ---- One thread ---------------------------------------------------------- */

bool tfd_runner_run(struct tfd_step *s, bool begin)
{
    struct tfd_runner r;

    runner_init(&r, s, NULL);
    if (begin)
        push_roots(&r);
    return work_once(&r);
}

bool tfd_runner_help(struct tfd_helper *h)
{
    struct tfd_step *s = h->step;
    struct tfd_runner r;
    bool begin;

    runner_init(&r, s, h);
    tfd_lock(&s->lock);
    begin = s->begin;
    s->begin = false;
    tfd_unlock(&s->lock);
    if (begin)
        push_roots(&r);
    return work_once(&r);
}
