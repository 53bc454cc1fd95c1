/*
 * executor.c - see executor.h.
 *
 *     ready nodes -> run -> outputs into slots of consumers, counts down
 *          ^                                    |
 *          +------------- count is 0 -----------+
 *
 * A runner (runner.c) is a thread with a list of ready nodes.  Here is where
 * runners run, how a step begins, what it costs and how it ends.
 *
 * Deadness (an untaken side of a Switch) travels like a value: a node with a
 * dead input does not run and its outputs are dead.  Merge takes the first live
 * input.  After a failure nothing new is started; runners leave, asynchronous
 * kernels are told, and what lies in slots is dropped when the step is reset.
 */
#include "daemon/worker/run/executor.h"

#include "common/base/clock.h"
#include "common/base/container.h"
#include "common/thread/cost.h"
#include "daemon/worker/run/captures.h"
#include "daemon/worker/run/node_sample.h"
#include "daemon/worker/run/runner.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Below this a step stays on the loop thread: a few times what a hop costs.  A
 * step that nobody else waits for stays there longer, a few wake-ups. */
#define INLINE_NS (4 * TFD_COST_HOP_NS)
#define INLINE_ALONE_NS (5 * TFD_COST_WAKE_NS)
/* One step counts no more than this, so that a thread that was not scheduled
 * for a while does not send a small graph to the pool for long. */
#define COST_MAX_NS 800000
/* Steps between those whose nodes are timed. */
#define SAMPLE_STEPS 32

/* Runners and batches on this thread's stack; steps that go on when there are
 * none. */
static _Thread_local int depth;
static _Thread_local struct tfd_step *resumable;

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
    if (s->sampled)
        tfd_node_sample_end(e, tfd_clock_now_ns() - s->begun_ns);
    if (e->parts && s->status.code == TFD_OK)
        tfd_captures_end(e->parts, s->parts_mode, s->parts_launched,
                         tfd_clock_now_ns() - s->begun_ns);
}

/* Once it is not too far ahead of any device. */
static void leave_executor(struct tfd_step *s)
{
    const struct tfd_exec *e = s->exec;

    while (s->paced < e->ahead_count) {
        const struct tfd_exec_ahead *a = &e->ahead[s->paced++];

        if (!a->device->run_ahead(a->device, a->nodes, &s->turn))
            return;
    }
    tfd_timer_stop(&s->deadline);
    s->ended(s);
}

static void may_end_posted(struct tfd_post *p)
{
    leave_executor(TFD_CONTAINER_OF(p, struct tfd_step, may_end));
}

static void turn_comes(struct tfd_continuation *t)
{
    struct tfd_step *s = TFD_CONTAINER_OF(t, struct tfd_step, turn);

    tfd_loop_post(s->loop, &s->may_end);
}

static void end_executor(struct tfd_step *s)
{
    account(s);
    s->paced = 0;
    leave_executor(s);
}

static void end_posted(struct tfd_post *p)
{
    end_executor(TFD_CONTAINER_OF(p, struct tfd_step, end));
}

/* ---- Where a step runs --------------------------------------------------- */

void tfd_executor_enter(void)
{
    depth++;
}

static void run_here(struct tfd_step *s, bool begin)
{
    bool ended;

    depth++;
    ended = tfd_runner_run(s, begin);
    depth--;
    if (!ended)
        return;
    tfd_step_read_late(s);
    end_executor(s);
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
    run_here(TFD_CONTAINER_OF(p, struct tfd_step, resume), false);
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
    struct tfd_helper *h = TFD_CONTAINER_OF(job, struct tfd_helper, job);
    struct tfd_step *s = h->step;

    depth++;
    if (tfd_runner_help(h)) {
        tfd_step_read_late(s);
        tfd_loop_post(s->loop, &s->end);
    }
    depth--;
}

void tfd_kctx_finish(struct tfd_kctx *k, const struct tfd_status *st)
{
    struct tfd_async *a = TFD_CONTAINER_OF(k, struct tfd_async, k);
    struct tfd_step *s = k->step;
    bool start, on_loop;

    if (st && st->code != TFD_OK)
        tfd_step_record(s, a->item->node, st);
    tfd_lock(&s->lock);
    a->next = s->inbox;
    s->inbox = a;
    on_loop = s->on_loop;
    start = s->runners == 0;
    if (start) {
        s->runners = 1;
        if (!on_loop)
            tfd_runner_wake(s);
    }
    tfd_unlock(&s->lock);
    if (start && on_loop)
        resume_on_loop(s);
}

/* ---- Beginning and failing ----------------------------------------------- */

static void init_step(struct tfd_step *s)
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

struct tfd_step *tfd_executor_step(struct tfd_exec *e, struct tfd_loop *loop,
                                   struct tfd_pool *pool, struct tfd_status *st)
{
    struct tfd_step *s = tfd_step_new(e, loop, pool, st);

    if (s)
        init_step(s);
    return s;
}

const struct tfd_iter *tfd_executor_place(const struct tfd_kctx *k, bool *dead)
{
    const struct tfd_ready *item = k->async;

    *dead = item->it->dead[item->node->local] != 0;
    return item->it;
}

static void begin_parts(struct tfd_step *s, bool *on_thread)
{
    s->begun_ns = tfd_clock_now_ns();
    s->parts_launched = 0;
    s->parts_mode =
        tfd_captures_begin(s->exec->parts, s->trace != NULL, on_thread);
}

/* Whether the time of its nodes is taken. */
static void choose_timing(struct tfd_step *s)
{
    struct tfd_exec *e = s->exec;

    s->sampled = tfd_node_sample_wanted(e->steps);
    s->timed = s->sampled || s->trace ||
               (!s->on_loop && (e->steps < 2 || e->steps % SAMPLE_STEPS == 0));
    if (!s->sampled)
        return;
    if (!e->parts)
        s->begun_ns = tfd_clock_now_ns();
    tfd_node_sample_begin(e);
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
    choose_timing(s);
    s->runners = 1;
    if (s->on_loop) {
        tfd_executor_enter();
        run_here(s, true);
        tfd_executor_leave();
        return;
    }
    s->begin = true;
    tfd_lock(&s->lock);
    tfd_runner_wake(s);
    tfd_unlock(&s->lock);
}

bool tfd_executor_may_run(const struct tfd_exec *e)
{
    return !e->has_async && !e->has_loops && e->ahead_count == 0 && !e->parts;
}

bool tfd_executor_is_quick(const struct tfd_exec *e)
{
    return tfd_executor_may_run(e) && e->steps > 0 && e->cost_ns < INLINE_NS;
}

void tfd_executor_run(struct tfd_step *s)
{
    bool ended;

    assert(!s->pool && tfd_executor_may_run(s->exec));
    s->on_loop = true;
    s->shared = s->timed = s->sampled = false;
    s->runners = 1;
    depth++;
    ended = tfd_runner_run(s, true);
    depth--;
    assert(ended);
    (void)ended;
    tfd_step_read_late(s);
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
    tfd_step_record(s, NULL, st);
    if (over)
        return; /* the owner, who is to be told of the end, will see it */
    tfd_executor_enter();
    run_here(s, false);
    tfd_executor_leave();
}
