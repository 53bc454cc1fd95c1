/*
 * function_run.c - calls of functions: see called_functions.h.
 *
 *     compile (compute thread, the first time) -> begin -> ended -> done
 *
 * Beginning and ending are the loop thread's, so a call that is cancelled is
 * told so there, too, and nothing of it is touched by two threads at once.  The
 * outermost step counts the calls under way within it: a function that calls
 * itself twice would have them without end.
 */
#include "daemon/worker/run/called_functions.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "config/limits.h"
#include "daemon/worker/run/executor.h"

#include <stddef.h>
#include <stdlib.h>

/* Of one function, those that are kept for the next call. */
#define IDLE_STEPS_MAX 8

struct run {
    struct tfd_function_call *call;
    struct tfd_rt_function *f;
    struct tfd_step *caller, *outermost, *step;
    struct tfd_job job;        /* compiles */
    struct tfd_post begin;     /* on the loop thread */
    struct tfd_post cancelled; /* likewise, after the caller's word */
    struct tfd_cancel cancel;
    int refs; /* atomic: the run's own, and of `cancelled` under way */
    struct tfd_tensor *fetches;
    struct tfd_status st;
};

static void unref(struct run *r)
{
    if (tfd_refs_drop(&r->refs))
        free(r);
}

static void drop_tensors(struct tfd_tensor *t, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        tfd_tensor_unref(&t[i]);
}

/* ---- The end ------------------------------------------------------------- */

static void finish_run(struct run *r, const struct tfd_status *st)
{
    struct tfd_function_call *call = r->call;

    drop_tensors(call->in, r->f->in_count);
    if (st->code != TFD_OK)
        drop_tensors(call->out, r->f->out_count);
    TFD_PENDING_SUB(&r->outermost->calls, 1);
    call->done(call, st);
}

static void put_back(struct tfd_rt_function *f, struct tfd_step *s)
{
    if (f->idle_count == IDLE_STEPS_MAX) {
        tfd_step_free(s);
        return;
    }
    tfd_step_reset(s);
    s->next = f->idle;
    f->idle = s;
    f->idle_count++;
}

/* A result that is dead comes from a branch that was not taken. */
static void check_results(struct run *r)
{
    for (int32_t i = 0; i < r->f->out_count; i++)
        if (r->st.code == TFD_OK && r->call->out[i].dtype == TFD_DTYPE_INVALID)
            tfd_fail(&r->st, TFD_INVALID_ARGUMENT,
                     "Retval[%d] does not have value", i);
}

static void ended(struct tfd_step *s)
{
    struct run *r = s->owner;

    tfd_step_off_cancel(r->caller, &r->cancel);
    r->step = NULL;
    if (s->status.code != TFD_OK)
        tfd_status_copy(&r->st, &s->status);
    put_back(r->f, s);
    check_results(r);
    finish_run(r, &r->st);
    unref(r);
}

/* ---- Cancelling ---------------------------------------------------------- */

static void cancel_posted(struct tfd_post *p)
{
    struct run *r = TFD_CONTAINER_OF(p, struct run, cancelled);
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_CANCELLED, "Function was cancelled: its caller ended");
    if (r->step)
        tfd_executor_fail(r->step, &st);
    unref(r);
}

static void cancel(struct tfd_cancel *c)
{
    struct run *r = TFD_CONTAINER_OF(c, struct run, cancel);

    tfd_refs_add(&r->refs, 1);
    tfd_loop_post(r->f->table->loop, &r->cancelled);
}

/* ---- The beginning ------------------------------------------------------- */

static struct tfd_step *new_step(struct run *r)
{
    struct tfd_function_table *t = r->f->table;
    struct tfd_step *s = r->f->idle;

    if (s) {
        r->f->idle = s->next;
        r->f->idle_count--;
        return s;
    }
    s = tfd_executor_step(r->f->exec, t->loop, t->pool, &r->st);
    if (!s)
        return NULL;
    s->transfer = t->transfer;
    s->ended = ended;
    tfd_timer_init(&s->deadline, t->loop, NULL);
    return s;
}

static void begin_run(struct tfd_post *p)
{
    struct run *r = TFD_CONTAINER_OF(p, struct run, begin);
    struct tfd_step *s = NULL;

    if (r->st.code == TFD_OK && !tfd_step_on_cancel(r->caller, &r->cancel))
        tfd_fail(&r->st, TFD_CANCELLED,
                 "Function was cancelled before it was started");
    else if (r->st.code == TFD_OK && !(s = new_step(r)))
        tfd_step_off_cancel(r->caller, &r->cancel);
    if (!s) {
        finish_run(r, &r->st);
        unref(r);
        return;
    }
    s->owner = r;
    s->id = r->caller->id;
    s->outermost = r->outermost;
    s->call_depth = r->caller->call_depth + 1;
    s->feeds = r->call->in;
    s->fetches = r->call->out;
    r->step = s;
    tfd_executor_start(s);
}

static void compile_job(struct tfd_job *job)
{
    struct run *r = TFD_CONTAINER_OF(job, struct run, job);

    (void)!tfd_function_compile(r->f, &r->st);
    tfd_loop_post(r->f->table->loop, &r->begin);
}

/* ---- Calls --------------------------------------------------------------- */

static enum tfd_code check_run(const struct run *r, struct tfd_status *st)
{
    int calls = TFD_LOAD_ACQUIRE(&r->outermost->calls);

    if (r->caller->call_depth >= TFD_FUNCTION_CALLS_DEPTH_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "Function " TFD_STR_FMT " is called %d calls deep, "
                        "which is the limit: does it call itself?",
                        TFD_STR_ARG(r->f->func.name), r->caller->call_depth);
    if (calls > TFD_FUNCTION_CALLS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "Function " TFD_STR_FMT ": %d calls are under way in "
                        "one step; the limit is %d",
                        TFD_STR_ARG(r->f->func.name), calls,
                        TFD_FUNCTION_CALLS_MAX);
    return TFD_OK;
}

static void refuse_call(struct tfd_function_call *c,
                        const struct tfd_status *st)
{
    drop_tensors(c->in, c->function->in_count);
    c->done(c, st);
}

void tfd_function_run(struct tfd_function_call *c)
{
    struct tfd_rt_function *f = c->function;
    struct tfd_step *caller = c->k->step;
    struct tfd_status st = TFD_STATUS_INIT;
    struct run *r = calloc(1, sizeof(*r));

    if (!r) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
        refuse_call(c, &st);
        return;
    }
    r->call = c;
    r->f = f;
    r->caller = caller;
    r->outermost = caller->outermost ? caller->outermost : caller;
    r->refs = 1;
    r->job.run = compile_job;
    r->begin.run = begin_run;
    r->cancelled.run = cancel_posted;
    r->cancel.fn = cancel;
    if (check_run(r, &st) != TFD_OK) {
        free(r);
        refuse_call(c, &st);
        return;
    }
    TFD_COUNTER_ADD(&r->outermost->calls, 1);
    if (TFD_LOAD_ACQUIRE(&f->exec))
        tfd_loop_post(f->table->loop, &r->begin);
    else if (f->table->pool)
        tfd_pool_submit(f->table->pool, &r->job);
    else
        compile_job(&r->job);
}
