/*
 * partial_call.c - see partial_call.h.
 *
 * A step stands in the worker's list from its first call until its last one has
 * been answered, or until its master gives it up and it has ended.
 */
#include "daemon/worker/service/partial_call.h"

#include <stdlib.h>

struct tfd_partial_step {
    struct tfd_run_graph run; /* first: partial_done() finds us */
    struct tfd_worker_service *worker;
    struct tfd_task_session *session; /* only to be compared */
    struct tfd_call *last;            /* waits for the end */
    bool errors_in_body;
    bool running, ended, dropped;
    struct tfd_status status;
    struct tfd_partial_step *next;
};

static struct tfd_partial_step *
find_partial_call(const struct tfd_worker_service *w, int64_t step_id)
{
    struct tfd_partial_step *p = w->partial_steps;

    while (p && (p->run.step_id != step_id || p->dropped))
        p = p->next;
    return p;
}

static void free_step(struct tfd_partial_step *p)
{
    struct tfd_partial_step **at = &p->worker->partial_steps;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p);
}

static void answer_partial(struct tfd_call *call, bool errors_in_body,
                           const struct tfd_status *st)
{
    struct tfd_message m;

    if (st->code != TFD_OK) {
        tfd_run_call_fail(call, errors_in_body, st);
        return;
    }
    tfd_message_init(&m, call->native);
    tfd_call_respond(call, &m);
}

/* Nobody will ask for it, or the one who asked can be told. */
static void settle_partial(struct tfd_partial_step *p)
{
    struct tfd_call *call = p->last;
    struct tfd_status st = p->status;
    bool errors_in_body = p->errors_in_body;

    if (!p->ended || p->running || !(call || p->dropped))
        return;
    free_step(p);
    if (call) {
        call->cancelled = NULL;
        answer_partial(call, errors_in_body, &st);
    }
}

static void partial_done(struct tfd_run_graph *run, const struct tfd_status *st)
{
    struct tfd_partial_step *p = (struct tfd_partial_step *)run;

    p->ended = true;
    p->status = *st;
    settle_partial(p);
}

static void cancel(struct tfd_partial_step *p)
{
    struct tfd_status why = TFD_STATUS_INIT;

    tfd_fail(&why, TFD_CANCELLED, "RunGraph was cancelled by its caller.");
    tfd_graphs_cancel(&p->run, &why);
}

static void partial_cancelled(void *ctx, struct tfd_call *call)
{
    (void)call;
    cancel(ctx);
}

/* ---- Calls --------------------------------------------------------------- */

static enum tfd_code begin_partial(struct tfd_worker_service *w,
                                   const struct tfd_run_request *q,
                                   struct tfd_partial_step **out,
                                   struct tfd_status *st)
{
    struct tfd_partial_step *p;
    struct tfd_graph_entry *g;

    TFD_TRY(tfd_run_call_graph(w, q, &g, st));
    if (g->exec->feed_count + g->exec->fetch_count > 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a partial run that feeds or fetches at a worker");
    p = calloc(1, sizeof(*p));
    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a step");
    p->run.session = TFD_STR_EMPTY;
    p->run.graph = g->id;
    p->run.step_id = q->step_id;
    p->run.done = partial_done;
    p->worker = w;
    p->session = g->session;
    p->next = w->partial_steps;
    w->partial_steps = p;
    p->running = true; /* it must not go while we are here */
    tfd_graphs_run(g, &p->run);
    p->running = false;
    *out = p;
    return TFD_OK;
}

static enum tfd_code prepare_partial(struct tfd_worker_service *w,
                                     const struct tfd_run_request *q,
                                     struct tfd_partial_step **out,
                                     struct tfd_status *st)
{
    if (q->has_ends)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a partial run that feeds or fetches at a worker");
    TFD_TRY(tfd_request_ids_add(&w->run_ids, q->request_id, "RunGraph (Worker)",
                                st));
    *out = find_partial_call(w, q->step_id);
    if (*out && (*out)->last)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Step %lld has had its last partial run",
                        (long long)q->step_id);
    return *out ? TFD_OK : begin_partial(w, q, out, st);
}

void tfd_partial_call_run(struct tfd_worker_service *w, struct tfd_call *call,
                          const struct tfd_run_request *q)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_partial_step *p = NULL;

    if (prepare_partial(w, q, &p, &st) != TFD_OK) {
        tfd_run_call_fail(call, q->errors_in_body, &st);
        return;
    }
    if (!q->is_last && !(p->ended && p->status.code != TFD_OK)) {
        answer_partial(call, q->errors_in_body, &st);
        return;
    }
    p->last = call;
    p->errors_in_body = q->errors_in_body;
    call->ctx = p;
    call->cancelled = partial_cancelled;
    settle_partial(p);
}

/* ---- The end of those that nobody ends ----------------------------------- */

static void drop_partial(struct tfd_partial_step *p)
{
    p->dropped = true;
    p->running = true; /* cancelling may end it */
    if (!p->ended)
        cancel(p);
    p->running = false;
    settle_partial(p);
}

void tfd_partial_call_drop(struct tfd_worker_service *w, int64_t step_id)
{
    struct tfd_partial_step *p = find_partial_call(w, step_id);

    if (p)
        drop_partial(p);
}

void tfd_partial_call_drop_session(struct tfd_worker_service *w,
                                   const struct tfd_task_session *s)
{
    struct tfd_partial_step *p = w->partial_steps;

    while (p) {
        if (p->session != s || p->dropped) {
            p = p->next;
            continue;
        }
        drop_partial(p);
        p = w->partial_steps;
    }
}

void tfd_partial_call_free_all(struct tfd_worker_service *w)
{
    while (w->partial_steps)
        free_step(w->partial_steps);
}
