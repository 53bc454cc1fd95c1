/*
 * function_here.c - calls of functions that run on the thread that calls: see
 * called_functions.h.
 *
 * Those of datasets do where a kernel may wait.  Those of a step do where the
 * body is known to be quick: handing it to the loop thread and its end back
 * would take longer than the body.  Such a body has no kernel that waits, so no
 * call is within another on a thread's stack.
 */
#include "daemon/worker/run/called_functions.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "config/limits.h"
#include "daemon/worker/run/executor.h"
#include "daemon/worker/run/lasting.h"

/* Of the calls of a quick function one in so many is a step of the loop's,
 * which tells whether the function is quick still. */
#define SAMPLE_CALLS 32

/* ---- Steps --------------------------------------------------------------- */

static struct tfd_step *take_here(struct tfd_rt_function *f,
                                  struct tfd_status *st)
{
    struct tfd_function_table *t = f->table;
    struct tfd_step *s;

    tfd_lock(&t->lock);
    s = f->idle_here;
    if (s) {
        f->idle_here = s->next;
        f->idle_here_count--;
    }
    tfd_unlock(&t->lock);
    if (s)
        return s;
    s = tfd_executor_step(TFD_LOAD_ACQUIRE(&f->exec), t->loop, NULL, st);
    if (s)
        s->transfer = t->transfer;
    return s;
}

static void put_here(struct tfd_rt_function *f, struct tfd_step *s)
{
    struct tfd_function_table *t = f->table;
    bool kept;

    tfd_step_reset(s);
    tfd_lock(&t->lock);
    kept = f->idle_here_count < TFD_FUNCTION_IDLE_STEPS_MAX;
    if (kept) {
        s->next = f->idle_here;
        f->idle_here = s;
        f->idle_here_count++;
    }
    tfd_unlock(&t->lock);
    if (!kept)
        tfd_step_free(s);
}

enum tfd_code tfd_function_check_results(const struct tfd_function_call *c,
                                         struct tfd_status *st)
{
    for (int32_t i = 0; i < c->function->out_count; i++)
        if (c->out[i].dtype == TFD_DTYPE_INVALID)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Retval[%d] does not have value", i);
    return TFD_OK;
}

/* ---- Of a lasting function ----------------------------------------------- */

static enum tfd_code run_here(struct tfd_function_call *c,
                              struct tfd_status *st)
{
    struct tfd_rt_function *f = c->function;
    struct tfd_step *s = take_here(f, st);

    if (!s)
        return TFD_RESOURCE_EXHAUSTED;
    s->id = tfd_lasting_step_id(f);
    s->feeds = c->in;
    s->fetches = c->out;
    tfd_executor_run(s);
    if (s->status.code != TFD_OK)
        tfd_status_copy(st, &s->status);
    put_here(f, s);
    return st->code == TFD_OK ? tfd_function_check_results(c, st) : st->code;
}

bool tfd_function_run_here(struct tfd_function_call *c, struct tfd_status *st)
{
    struct tfd_rt_function *f = c->function;
    enum tfd_code rc = TFD_OK;

    if (!TFD_LOAD_ACQUIRE(&f->exec))
        rc = tfd_function_compile(f, st);
    if (rc == TFD_OK && !tfd_executor_may_run(TFD_LOAD_ACQUIRE(&f->exec)))
        return false;
    if (rc == TFD_OK && TFD_LOAD_ACQUIRE(&f->table->host->stopping))
        rc = tfd_fail(st, TFD_UNAVAILABLE,
                      "Function " TFD_STR_FMT
                      " is not called: its task is shutting down",
                      TFD_STR_ARG(f->func.name));
    if (rc == TFD_OK)
        rc = tfd_function_check_args(f, c->in, st);
    if (rc == TFD_OK)
        rc = run_here(c, st);
    tfd_function_drop(c->in, f->in_count);
    if (rc != TFD_OK)
        tfd_function_drop(c->out, f->out_count);
    return true;
}

/* ---- Of a step ----------------------------------------------------------- */

struct quick_call {
    struct tfd_cancel cancel;
    struct tfd_step *step;
};

/* The caller's step has failed; this one ends after the node that runs. */
static void cancel_quick(struct tfd_cancel *c)
{
    struct quick_call *q = TFD_CONTAINER_OF(c, struct quick_call, cancel);
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_CANCELLED, "Function was cancelled: its caller ended");
    tfd_executor_record(q->step, &st);
}

static void run_quick(struct tfd_function_call *c, struct tfd_step *s,
                      struct tfd_status *st)
{
    struct tfd_step *caller = c->k->step;
    struct quick_call q = {.cancel.fn = cancel_quick, .step = s};

    s->id = caller->id;
    s->outermost = caller->outermost ? caller->outermost : caller;
    s->call_depth = caller->call_depth + 1;
    s->feeds = c->in;
    s->fetches = c->out;
    if (!tfd_step_on_cancel(caller, &q.cancel)) {
        tfd_fail(st, TFD_CANCELLED,
                 "Function was cancelled before it was started");
        return;
    }
    tfd_executor_run(s);
    tfd_step_off_cancel(caller, &q.cancel);
    if (s->status.code != TFD_OK)
        tfd_status_copy(st, &s->status);
    else
        (void)!tfd_function_check_results(c, st);
}

static bool may_stay(const struct tfd_function_call *c)
{
    struct tfd_rt_function *f = c->function;

    return c->may_stay && c->k && TFD_LOAD_ACQUIRE(&f->is_quick) &&
           c->k->step->call_depth < TFD_FUNCTION_CALLS_DEPTH_MAX &&
           !tfd_loop_inside(f->table->loop) &&
           TFD_COUNTER_ADD(&f->quick_calls, 1) % SAMPLE_CALLS != 0;
}

bool tfd_function_run_quick(struct tfd_function_call *c)
{
    struct tfd_rt_function *f = c->function;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_step *s;

    if (!may_stay(c))
        return false;
    s = take_here(f, &st);
    if (s) {
        run_quick(c, s, &st);
        put_here(f, s);
    }
    tfd_function_drop(c->in, f->in_count);
    if (st.code != TFD_OK)
        tfd_function_drop(c->out, f->out_count);
    c->done(c, &st);
    return true;
}
