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
#include "daemon/worker/run/lasting.h"

#include <stddef.h>
#include <stdlib.h>

struct tfd_function_run {
    struct tfd_function_call *call;
    struct tfd_rt_function *f;
    struct tfd_step *caller, *outermost; /* NULL: of a lasting function */
    struct tfd_step *step;
    struct tfd_job job;        /* compiles */
    struct tfd_post begin;     /* on the loop thread */
    struct tfd_post cancelled; /* likewise, after the caller's word */
    struct tfd_cancel cancel;
    bool is_cancelled; /* loop thread */
    int refs;          /* atomic: the run's own, and of `cancelled` under way */
    struct tfd_tensor *fetches;
    struct tfd_status st;
};

static void unref(struct tfd_function_run *r)
{
    if (tfd_refs_drop(&r->refs))
        free(r);
}

void tfd_function_drop(struct tfd_tensor *t, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        tfd_tensor_unref(&t[i]);
}

/* ---- The end ------------------------------------------------------------- */

static void finish_run(struct tfd_function_run *r, const struct tfd_status *st)
{
    struct tfd_function_call *call = r->call;

    tfd_function_drop(call->in, r->f->in_count);
    if (st->code != TFD_OK)
        tfd_function_drop(call->out, r->f->out_count);
    if (r->outermost)
        TFD_PENDING_SUB(&r->outermost->calls, 1);
    call->done(call, st);
    if (!r->caller)
        tfd_lasting_end(r->f);
}

static void put_back(struct tfd_rt_function *f, struct tfd_step *s)
{
    if (f->idle_count == TFD_FUNCTION_IDLE_STEPS_MAX) {
        tfd_step_free(s);
        return;
    }
    tfd_step_reset(s);
    s->next = f->idle;
    f->idle = s;
    f->idle_count++;
}

/* Where the steps of calls are found while they run. */
static struct tfd_step **list_of(const struct tfd_function_run *r)
{
    return r->outermost ? &r->outermost->called : &r->f->table->host->running;
}

static void list_call(struct tfd_function_run *r, struct tfd_step *s)
{
    struct tfd_step **list = list_of(r);

    s->function = r->f;
    s->caller = r->call->k;
    s->previous = NULL;
    s->next = *list;
    if (s->next)
        s->next->previous = s;
    *list = s;
    if (s->caller)
        TFD_CONTAINER_OF(s->caller, struct tfd_async, k)->calls++;
}

static void unlist_call(const struct tfd_function_run *r, struct tfd_step *s)
{
    if (s->previous)
        s->previous->next = s->next;
    else
        *list_of(r) = s->next;
    if (s->next)
        s->next->previous = s->previous;
    if (s->caller)
        TFD_CONTAINER_OF(s->caller, struct tfd_async, k)->calls--;
}

static void ended(struct tfd_step *s)
{
    struct tfd_function_run *r = s->owner;

    if (r->caller)
        tfd_step_off_cancel(r->caller, &r->cancel);
    r->step = NULL;
    unlist_call(r, s);
    if (s->status.code != TFD_OK)
        tfd_status_copy(&r->st, &s->status);
    TFD_STORE_RELEASE(&r->f->is_quick, tfd_executor_is_quick(s->exec));
    put_back(r->f, s);
    if (r->st.code == TFD_OK)
        (void)!tfd_function_check_results(r->call, &r->st);
    finish_run(r, &r->st);
    unref(r);
}

/* ---- Cancelling ---------------------------------------------------------- */

static void cancel_posted(struct tfd_post *p)
{
    struct tfd_function_run *r =
        TFD_CONTAINER_OF(p, struct tfd_function_run, cancelled);
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_CANCELLED, "Function was cancelled: its caller ended");
    r->is_cancelled = true;
    if (r->step)
        tfd_executor_fail(r->step, &st);
    unref(r);
}

static void cancel(struct tfd_cancel *c)
{
    struct tfd_function_run *r =
        TFD_CONTAINER_OF(c, struct tfd_function_run, cancel);

    tfd_refs_add(&r->refs, 1);
    tfd_loop_post(r->f->table->loop, &r->cancelled);
}

/* Callers of lasting functions pass on what a dataset yields, which a graph
 * may say anything of. */
enum tfd_code tfd_function_check_args(const struct tfd_rt_function *f,
                                      const struct tfd_tensor *in,
                                      struct tfd_status *st)
{
    const struct tfd_exec *e = TFD_LOAD_ACQUIRE(&f->exec);

    for (int32_t i = 0; i < e->feed_count && i < f->in_count; i++) {
        const struct tfd_exec_node *n = e->feeds[i].node;

        if (n && n->node->out_types[0] != in[i].dtype)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Argument %d of function " TFD_STR_FMT " is %s, and not %s", i,
                TFD_STR_ARG(f->func.name), tfd_dtype_name((int)in[i].dtype),
                tfd_dtype_name(n->node->out_types[0]));
    }
    return TFD_OK;
}

/* ---- The beginning ------------------------------------------------------- */

static struct tfd_step *new_step(struct tfd_function_run *r)
{
    struct tfd_function_table *t = r->f->table;
    struct tfd_step *s = r->f->idle;

    if (s) {
        r->f->idle = s->next;
        r->f->idle_count--;
        return s;
    }
    s = tfd_executor_step(TFD_LOAD_ACQUIRE(&r->f->exec), t->loop, t->pool,
                          &r->st);
    if (!s)
        return NULL;
    s->transfer = t->transfer;
    s->ended = ended;
    tfd_timer_init(&s->deadline, t->loop, NULL);
    return s;
}

static void begin_run(struct tfd_post *p)
{
    struct tfd_function_run *r =
        TFD_CONTAINER_OF(p, struct tfd_function_run, begin);
    struct tfd_step *s = NULL;

    if (r->st.code == TFD_OK && !r->caller)
        (void)!tfd_function_check_args(r->f, r->call->in, &r->st);

    if (r->st.code == TFD_OK &&
        (r->is_cancelled ||
         (r->caller && !tfd_step_on_cancel(r->caller, &r->cancel))))
        tfd_fail(&r->st, TFD_CANCELLED,
                 "Function was cancelled before it was started");
    else if (r->st.code == TFD_OK && !(s = new_step(r)) && r->caller)
        tfd_step_off_cancel(r->caller, &r->cancel);
    if (!s) {
        finish_run(r, &r->st);
        unref(r);
        return;
    }
    s->owner = r;
    s->id = r->caller ? r->caller->id : tfd_lasting_step_id(r->f);
    s->outermost = r->outermost;
    s->call_depth = r->caller ? r->caller->call_depth + 1 : 0;
    s->feeds = r->call->in;
    s->fetches = r->call->out;
    r->step = s;
    list_call(r, s);
    tfd_executor_start(s);
}

static void compile_job(struct tfd_job *job)
{
    struct tfd_function_run *r =
        TFD_CONTAINER_OF(job, struct tfd_function_run, job);

    (void)!tfd_function_compile(r->f, &r->st);
    tfd_loop_post(r->f->table->loop, &r->begin);
}

/* ---- Calls --------------------------------------------------------------- */

static enum tfd_code check_nested(const struct tfd_function_run *r,
                                  struct tfd_status *st)
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
    TFD_COUNTER_ADD(&r->outermost->calls, 1);
    return TFD_OK;
}

static void refuse_call(struct tfd_function_call *c,
                        const struct tfd_status *st)
{
    tfd_function_drop(c->in, c->function->in_count);
    c->done(c, st);
}

static struct tfd_function_run *new_run(struct tfd_function_call *c)
{
    struct tfd_step *caller = c->k ? c->k->step : NULL;
    struct tfd_function_run *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->call = c;
    r->f = c->function;
    r->caller = caller;
    if (caller)
        r->outermost = caller->outermost ? caller->outermost : caller;
    r->refs = 1;
    r->job.run = compile_job;
    r->begin.run = begin_run;
    r->cancelled.run = cancel_posted;
    r->cancel.fn = cancel;
    return r;
}

void tfd_function_run(struct tfd_function_call *c)
{
    struct tfd_rt_function *f = c->function;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_function_run *r;

    if (tfd_function_run_quick(c))
        return;
    r = new_run(c);
    if (!r) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
        refuse_call(c, &st);
        return;
    }
    if ((r->caller ? check_nested(r, &st) : tfd_lasting_begin(f, &st)) !=
        TFD_OK) {
        free(r);
        refuse_call(c, &st);
        return;
    }
    c->run = r;
    if (TFD_LOAD_ACQUIRE(&f->exec))
        tfd_loop_post(f->table->loop, &r->begin);
    else if (f->table->pool)
        tfd_pool_submit(f->table->pool, &r->job);
    else
        compile_job(&r->job);
}

void tfd_function_cancel(struct tfd_function_call *c)
{
    if (c->run)
        cancel(&c->run->cancel);
}
