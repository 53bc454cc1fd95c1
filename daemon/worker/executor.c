/*
 * executor.c - see executor.h.
 *
 *     ready nodes -> run -> outputs into slots of consumers, counts down
 *          ^                                    |
 *          +------------- count is 0 -----------+
 *
 * A runner is a thread with a list of ready nodes.  It leaves the step when its
 * list and what lies there for any runner is empty; the last one to leave,
 * while no asynchronous kernel is under way, ends the step.
 *
 * Deadness (an untaken side of a Switch) travels like a value: a node with a
 * dead input does not run and its outputs are dead.  Merge takes the first live
 * input.  After a failure nothing new is started; runners leave, asynchronous
 * kernels are told, and what lies in slots is dropped when the step is reset.
 */
#define _GNU_SOURCE 1 /* clock_gettime() */

#include "daemon/worker/executor.h"

#include "daemon/worker/captures.h"
#include "daemon/worker/rendezvous.h"
#include "daemon/worker/runner.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Below this a step stays on the loop thread: a thread hop and back costs 5,
 * and ten times that where processors have to be woken.  A step that nobody
 * else waits for stays there longer. */
#define INLINE_NS 20000
#define INLINE_ALONE_NS 300000
/* A step that was thought small gives the loop thread back after this. */
#define INLINE_MAX_NS 500000
/* Others have their turn after this many nodes, where a loop never ends. */
#define TURN_NODES 64
/* One step counts no more than this, so that a thread that was not scheduled
 * for a while does not send a small graph to the pool for long. */
#define COST_MAX_NS 800000
/* Steps between those whose nodes are timed. */
#define SAMPLE_STEPS 32

/* Runners and batches on this thread's stack; steps that go on when there are
 * none. */
static _Thread_local int depth;
static _Thread_local struct tfd_step *resumable;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool has_failed(const struct tfd_step *s)
{
    return __atomic_load_n(&s->failed, __ATOMIC_ACQUIRE) != 0;
}

/* ---- Failure ------------------------------------------------------------- */

static void record(struct tfd_step *s, const struct tfd_exec_node *n,
                   const struct tfd_status *st)
{
    tfd_lock(&s->lock);
    if (s->status.code == TFD_OK) {
        size_t used;

        tfd_status_copy(&s->status, st);
        used = strlen(s->status.text);
        if (n)
            snprintf(s->status.text + used, sizeof(s->status.text) - used,
                     "\n\t [[{{node " TFD_STR_FMT "}}]]",
                     TFD_STR_ARG(n->node->name));
    }
    __atomic_store_n(&s->failed, 1, __ATOMIC_RELEASE);
    tfd_unlock(&s->lock);
}

void tfd_runner_fail(struct tfd_runner *r, const struct tfd_exec_node *n,
                     const struct tfd_status *st)
{
    record(r->step, n, st);
}

void tfd_executor_record(struct tfd_step *s, const struct tfd_status *st)
{
    record(s, NULL, st);
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

static struct tfd_ready *pop(struct tfd_runner *r)
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

static void submit_helper(struct tfd_step *s)
{
    struct tfd_helper *h = s->idle;

    assert(h && tfd_lock_held(&s->lock));
    s->idle = h->next;
    tfd_pool_submit(s->pool, &h->job);
}

static void put_common(struct tfd_step *s, struct tfd_ready *item)
{
    item->next = NULL;
    if (s->common)
        s->common_last->next = item;
    else
        s->common = item;
    s->common_last = item;
}

static struct tfd_ready *pop_common(struct tfd_step *s)
{
    struct tfd_ready *item = s->common;

    s->common = item->next;
    item->next = NULL;
    return item;
}

/* Puts all expensive nodes but one (all, if there are cheap ones to do) where
 * other threads find them, and wakes as many. */
void tfd_runner_share(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_ready *item = r->expensive;
    struct tfd_ready **kept = &r->expensive;

    if (!item || (!r->first && !item->next))
        return;
    if (!r->first)
        kept = &item->next;
    item = *kept;
    *kept = NULL;

    tfd_lock(&s->lock);
    while (item) {
        struct tfd_ready *next = item->next;

        put_common(s, item);
        if (s->idle && s->runners < tfd_pool_threads(s->pool)) {
            s->runners++;
            submit_helper(s);
        }
        item = next;
    }
    tfd_unlock(&s->lock);
}

/* ---- A runner ------------------------------------------------------------ */

static void runner_init(struct tfd_runner *r, struct tfd_step *s)
{
    r->step = s;
    r->first = r->last = r->expensive = NULL;
    r->shared = s->shared;
    r->turn_over = false;
    r->begun_ns = now_ns();
    r->node_ns = 0;
    r->nodes = 0;
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

    tfd_lock(&s->lock);
    assert(!s->common && !r->expensive);
    s->common = r->first;
    s->on_loop = false;
    s->busy_ns += now_ns() - r->begun_ns;
    submit_helper(s);
    tfd_unlock(&s->lock);
}

static void take_finished(struct tfd_runner *r, struct tfd_async *a)
{
    while (a) {
        struct tfd_async *next = a->next;

        tfd_runner_finished(r, a, !has_failed(r->step));
        __atomic_sub_fetch(&r->step->async, 1, __ATOMIC_ACQ_REL);
        a = next;
    }
}

/* What this runner goes on with, a loop perhaps, does not keep the oldest node
 * that is there for any runner from its turn, nor what has finished. */
static void give_turn(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_async *finished;

    if (r->expensive)
        tfd_runner_share(r);
    tfd_lock(&s->lock);
    finished = s->inbox;
    s->inbox = NULL;
    if (s->common) {
        struct tfd_ready *item = pop_common(s);

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

/* The step has been on the loop thread for too long. */
static bool is_late(const struct tfd_runner *r)
{
    return r->step->on_loop && r->step->pool && r->first &&
           (r->turn_over || now_ns() - r->begun_ns > INLINE_MAX_NS);
}

/* False when the step was handed over. */
static bool run_list(struct tfd_runner *r)
{
    struct tfd_step *s = r->step;
    struct tfd_ready *item;

    while (!has_failed(s) && (item = pop(r))) {
        tfd_runner_node(r, item);
        if (!is_turn_over(r))
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
        r->first = r->last = pop_common(s);
        return;
    }
    r->first = r->last = s->common;
    s->common = NULL;
    while (r->last->next)
        r->last = r->last->next;
}

enum leaving { STAYS, LEAVES, ENDS };

/* Finds more to do, or leaves the step; after that it may be gone. */
static enum leaving refill(struct tfd_runner *r, struct tfd_helper *h)
{
    struct tfd_step *s = r->step;
    struct tfd_async *finished;
    enum leaving leaving = STAYS;

    tfd_lock(&s->lock);
    finished = s->inbox;
    s->inbox = NULL;
    if (!finished && s->common && !has_failed(s)) {
        take_common(r);
    } else if (!finished) {
        s->busy_ns += now_ns() - r->begun_ns;
        if (h) {
            h->next = s->idle;
            s->idle = h;
        }
        s->is_ended = --s->runners == 0 &&
                      __atomic_load_n(&s->async, __ATOMIC_ACQUIRE) == 0;
        leaving = s->is_ended ? ENDS : LEAVES;
    }
    tfd_unlock(&s->lock);
    take_finished(r, finished);
    return leaving;
}

/* True when the step has ended. */
static bool work(struct tfd_runner *r, struct tfd_helper *h)
{
    struct tfd_step *s = r->step;
    enum leaving leaving = STAYS;

    while (leaving == STAYS) {
        if (!run_list(r))
            return false;
        if (s->on_loop && !s->exec->has_async) {
            s->busy_ns += now_ns() - r->begun_ns;
            s->is_ended = true;
            return true;
        }
        leaving = refill(r, h);
    }
    return leaving == ENDS;
}

/* ---- The end ------------------------------------------------------------- */

static void recount_expensive(struct tfd_exec *e)
{
    int32_t count = 0;

    for (int32_t i = 0; i < e->node_count; i++)
        count += tfd_runner_is_expensive(e, &e->nodes[i]);
    e->expensive = count;
}

static void account(struct tfd_step *s)
{
    struct tfd_exec *e = s->exec;
    uint64_t took = s->busy_ns < COST_MAX_NS ? s->busy_ns : COST_MAX_NS;
    uint32_t cost = e->cost_ns;

    if (e->steps == 0)
        cost = (uint32_t)took;
    else if (took > cost)
        cost += ((uint32_t)took - cost) / 2;
    else
        cost -= (cost - (uint32_t)took) / 4;
    e->cost_ns = cost;
    e->steps++;
    if (s->timed)
        recount_expensive(e);
    if (e->parts && s->status.code == TFD_OK)
        tfd_captures_end(e->parts, s->parts_mode, s->parts_launched,
                         now_ns() - s->begun_ns);
}

/* Once it is not too far ahead of any device. */
static void leave(struct tfd_step *s)
{
    const struct tfd_exec *e = s->exec;

    while (s->paced < e->ahead_count) {
        const struct tfd_exec_ahead *a = &e->ahead[s->paced++];

        if (!a->device->pace(a->device, a->nodes, &s->turn))
            return;
    }
    tfd_timer_stop(&s->deadline);
    s->ended(s);
}

static void may_end_posted(struct tfd_post *p)
{
    leave((struct tfd_step *)((char *)p - offsetof(struct tfd_step, may_end)));
}

static void turn_comes(struct tfd_turn *t)
{
    struct tfd_step *s =
        (struct tfd_step *)((char *)t - offsetof(struct tfd_step, turn));

    tfd_loop_post(s->loop, &s->may_end);
}

static void end(struct tfd_step *s)
{
    account(s);
    s->paced = 0;
    leave(s);
}

static void end_posted(struct tfd_post *p)
{
    end((struct tfd_step *)((char *)p - offsetof(struct tfd_step, end)));
}

/* ---- Where a step runs --------------------------------------------------- */

void tfd_executor_enter(void)
{
    depth++;
}

static void run_here(struct tfd_step *s, bool begin)
{
    struct tfd_runner r;
    bool ended;

    depth++;
    runner_init(&r, s);
    if (begin)
        push_roots(&r);
    ended = work(&r, NULL);
    depth--;
    if (ended)
        end(s);
}

void tfd_executor_leave(void)
{
    while (depth == 1 && resumable) {
        struct tfd_step *s = resumable;

        resumable = s->next_resumable;
        run_here(s, false);
    }
    depth--;
}

static void resume_posted(struct tfd_post *p)
{
    tfd_executor_enter();
    run_here((struct tfd_step *)((char *)p - offsetof(struct tfd_step, resume)),
             false);
    tfd_executor_leave();
}

/* A runner for a step on the loop thread; it is counted already. */
static void resume_on_loop(struct tfd_step *s)
{
    if (!tfd_loop_inside(s->loop)) {
        tfd_loop_post(s->loop, &s->resume);
        return;
    }
    s->next_resumable = resumable;
    resumable = s;
    if (depth == 0) {
        tfd_executor_enter();
        tfd_executor_leave();
    }
}

static void help(struct tfd_job *job)
{
    struct tfd_helper *h =
        (struct tfd_helper *)((char *)job - offsetof(struct tfd_helper, job));
    struct tfd_step *s = h->step;
    struct tfd_runner r;
    bool begin;

    depth++;
    runner_init(&r, s);
    tfd_lock(&s->lock);
    begin = s->begin;
    s->begin = false;
    tfd_unlock(&s->lock);
    if (begin)
        push_roots(&r);
    if (work(&r, h))
        tfd_loop_post(s->loop, &s->end);
    depth--;
}

void tfd_kctx_finish(struct tfd_kctx *k, const struct tfd_status *st)
{
    struct tfd_async *a =
        (struct tfd_async *)((char *)k - offsetof(struct tfd_async, k));
    struct tfd_step *s = k->step;
    bool start, on_loop;

    if (st && st->code != TFD_OK)
        record(s, a->item->node, st);
    tfd_lock(&s->lock);
    a->next = s->inbox;
    s->inbox = a;
    on_loop = s->on_loop;
    start = s->runners == 0;
    if (start) {
        s->runners = 1;
        if (!on_loop)
            submit_helper(s);
    }
    tfd_unlock(&s->lock);
    if (start && on_loop)
        resume_on_loop(s);
}

/* ---- Beginning and failing ----------------------------------------------- */

void tfd_executor_init_step(struct tfd_step *s)
{
    s->resume.run = resume_posted;
    s->end.run = end_posted;
    s->may_end.run = may_end_posted;
    s->turn.fn = turn_comes;
    for (int i = 0; i < TFD_HELPERS_MAX; i++) {
        s->helper[i].job.run = help;
        s->helper[i].step = s;
        s->helper[i].next = s->idle;
        s->idle = &s->helper[i];
    }
}

const struct tfd_iter *tfd_executor_place(const struct tfd_kctx *k, bool *dead)
{
    const struct tfd_ready *item = k->async;

    *dead = item->it->dead[item->node->local] != 0;
    return item->it;
}

static void begin_parts(struct tfd_step *s, bool *on_thread)
{
    s->begun_ns = now_ns();
    s->parts_launched = 0;
    s->parts_mode =
        tfd_captures_begin(s->exec->parts, s->trace != NULL, on_thread);
}

void tfd_executor_start(struct tfd_step *s)
{
    const struct tfd_exec *e = s->exec;
    uint32_t limit_ns = s->alone ? INLINE_ALONE_NS : INLINE_NS;
    bool on_thread = e->blocks;

    if (e->parts)
        begin_parts(s, &on_thread);
    s->on_loop =
        !s->pool || (!on_thread && e->steps > 0 && e->cost_ns < limit_ns);
    s->shared =
        !s->on_loop && e->expensive > 1 && tfd_pool_threads(s->pool) > 1;
    s->timed = s->trace ||
               (!s->on_loop && (e->steps < 2 || e->steps % SAMPLE_STEPS == 0));
    s->runners = 1;
    if (s->on_loop) {
        tfd_executor_enter();
        run_here(s, true);
        tfd_executor_leave();
        return;
    }
    s->begin = true;
    tfd_lock(&s->lock);
    submit_helper(s);
    tfd_unlock(&s->lock);
}

/* Becomes a runner for a moment, so that the step stays while everybody is
 * told. */
void tfd_executor_fail(struct tfd_step *s, const struct tfd_status *st)
{
    bool over;

    tfd_lock(&s->lock);
    over = s->is_ended;
    if (!over)
        s->runners++;
    tfd_unlock(&s->lock);
    record(s, NULL, st);
    if (over)
        return; /* the owner, who is to be told of the end, will see it */
    tfd_executor_enter();
    run_here(s, false);
    tfd_executor_leave();
}
