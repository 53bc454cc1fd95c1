/*
 * partial_run.c - see partial_run.h.
 *
 *     setup -> planned -> [step: begin] -> feeds put, fetches taken -> ended
 *
 * A call is answered when its values are there; after a failure, or when it is
 * the last, not before the step has ended, whose status is the answer.
 */
#include "daemon/master/session/partial_run.h"

#include "common/base/container.h"
#include "config/limits.h"
#include "daemon/master/session/master_step.h"
#include "daemon/master/session/partial_ends.h"
#include "daemon/master/session/run_options.h"

#include <stddef.h>
#include <stdlib.h>

/* One call under way. */
struct tfd_partial_call {
    struct tfd_partial_run *partial;
    struct tfd_run_step *run;
    struct tfd_partial_call *next;
    struct tfd_timer timer;
    struct tfd_tensor *values;
    int pending; /* values that have not come, and one while it starts */
    bool failed; /* the end of the step says why */
    bool last;
};

struct partial_value {
    struct tfd_partial_call *call;
    int index;
};

static void go_on(struct tfd_partial_run *p);

/* ---- Life ---------------------------------------------------------------- */

static void unlist(struct tfd_partial_run *p)
{
    struct tfd_partial_run **at = &p->session->partial_runs;

    if (!p->listed)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->listed = false;
    p->session->partial_run_count--;
}

static void forget_fed(struct tfd_partial_run *p)
{
    p->session->fed_size -= p->fed_size;
    p->fed_size = 0;
}

static void free_partial(struct tfd_partial_run *p)
{
    forget_fed(p);
    tfd_run_trace_free(p->run.trace);
    tfd_map_deinit(&p->feed_at);
    tfd_map_deinit(&p->fetch_at);
    tfd_arena_deinit(&p->arena);
    free(p);
}

void tfd_partial_run_free_all(struct tfd_session *s)
{
    while (s->partial_runs) {
        struct tfd_partial_run *p = s->partial_runs;

        unlist(p);
        free_partial(p);
    }
}

/* ---- Setup --------------------------------------------------------------- */

/* Alone with the graph. */
static void set_up(struct tfd_build *gate)
{
    struct tfd_partial_run *p = (struct tfd_partial_run *)gate;
    struct tfd_session *s = p->session;
    struct tfd_status own = p->status;

    tfd_status_clear(&p->status);
    if (own.code == TFD_OK)
        (void)!tfd_partial_ends_resolve(p, &own);
    if (own.code == TFD_OK) {
        p->handle = s->next_partial_run++;
        p->next = s->partial_runs;
        s->partial_runs = p;
        s->free_partial_runs = tfd_partial_run_free_all;
        p->listed = true;
    } else {
        s->partial_run_count--;
    }
    p->setup_done(p->setup_ctx, &own, p->handle);
    if (own.code != TFD_OK)
        free_partial(p);
}

static void planned(struct tfd_run_step *run, const struct tfd_status *st,
                    struct tfd_tensor *fetches, uint32_t plan)
{
    struct tfd_partial_run *p = run->ctx;

    (void)fetches;
    (void)plan;
    p->status = *st;
    p->gate = (struct tfd_build){.done = set_up};
    tfd_build_start(p->session, &p->gate);
}

void tfd_partial_run_setup(struct tfd_session *s,
                           const struct tfd_run_step *names,
                           tfd_partial_setup_fn *done, void *ctx)
{
    struct tfd_partial_run *p = calloc(1, sizeof(*p));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!p || s->partial_run_count >= TFD_PARTIAL_RUNS_MAX) {
        free(p);
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "No memory for a partial run, or %d are set up in "
                       "session %s",
                       TFD_PARTIAL_RUNS_MAX, s->handle);
        done(ctx, &st, 0);
        return;
    }
    p->session = s;
    p->setup_done = done;
    p->setup_ctx = ctx;
    tfd_arena_init(&p->arena, TFD_SIGNATURE_SIZE_MAX);
    tfd_map_init(&p->feed_at);
    tfd_map_init(&p->fetch_at);
    if (tfd_partial_ends_copy(p, names, &st) != TFD_OK) {
        free_partial(p);
        done(ctx, &st, 0);
        return;
    }
    s->partial_run_count++;
    p->run.only_plan = true;
    p->run.done = planned;
    p->run.ctx = p;
    tfd_session_run(s, &p->run);
}

/* ---- The step ------------------------------------------------------------ */

/* Before the step has begun, too: its calls wait in a rendezvous. */
static void abort_step(struct tfd_partial_run *p, const struct tfd_status *why)
{
    if (p->started && !p->ended)
        tfd_session_abort(p->session, &p->run, why);
}

static void step_ended(struct tfd_run_step *run, const struct tfd_status *st,
                       struct tfd_tensor *fetches, uint32_t plan)
{
    struct tfd_partial_run *p = run->ctx;
    struct tfd_worker *w = p->session->workers[0];

    (void)fetches;
    (void)plan;
    p->ended = true;
    p->status = *st;
    forget_fed(p);
    if (st->code != TFD_OK) {
        p->busy++; /* calls that wait for values are told of the end now */
        w->ops->cleanup_graph(w, p->run.step_id);
        p->busy--;
    }
    go_on(p);
}

static void begin_partial(struct tfd_partial_run *p,
                          const struct tfd_run_step *first,
                          struct tfd_status *st)
{
    const struct tfd_run_trace *t = first->trace;
    struct tfd_run_options o = {.timeout_us = 0};

    if (t) {
        o.timeline = t->timeline;
        o.partition_graphs = t->partition_graphs;
    }
    if (tfd_run_trace_new(&o, &p->run.trace, st) != TFD_OK)
        return;
    p->run.only_plan = false;
    p->run.step_id = tfd_master_step_id(p->session->master);
    p->run.done = step_ended;
    p->started = true;
    p->busy++;
    tfd_session_run(p->session, &p->run);
    p->busy--;
}

/* ---- A call's end -------------------------------------------------------- */

static struct tfd_partial_call *find_answerable(struct tfd_partial_run *p)
{
    struct tfd_partial_call *c = p->calls;

    while (c && (c->pending > 0 || ((c->failed || c->last) && !p->ended)))
        c = c->next;
    return c;
}

static void end_call(struct tfd_partial_call *c)
{
    struct tfd_partial_call **at = &c->partial->calls;
    struct tfd_run_step *run = c->run;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    tfd_timer_stop(&c->timer);
    run->partial_call = NULL;
    for (int i = 0; i < run->fetch_count; i++)
        tfd_tensor_unref(&c->values[i]);
    free(c->values);
    tfd_session_unref(c->partial->session);
    free(c);
}

static void answer_partial(struct tfd_partial_call *c)
{
    struct tfd_partial_run *p = c->partial;
    struct tfd_run_step *run = c->run;
    bool ok = !c->failed && (!c->last || p->status.code == TFD_OK);
    struct tfd_tensor *values = c->values;
    int count = run->fetch_count;
    struct tfd_status st = TFD_STATUS_INIT;

    if (!ok)
        st = p->status;
    if (!ok && st.code == TFD_OK)
        (void)tfd_fail(&st, TFD_INTERNAL, "%s", p->value_error.text);
    if (!ok || c->last)
        unlist(p);
    if (ok && c->last && run->trace && p->run.trace) {
        tfd_bytes_add_str(&run->trace->stats,
                          tfd_bytes_view(&p->run.trace->stats));
        tfd_bytes_add_str(&run->trace->graphs,
                          tfd_bytes_view(&p->run.trace->graphs));
    }
    c->values = NULL;
    run->fetch_count = 0;
    end_call(c);
    run->fetch_count = count;
    run->done(run, &st, ok ? values : NULL, 0);
    for (int i = 0; i < count; i++)
        tfd_tensor_unref(&values[i]);
    free(values);
}

/* Answers what can be answered; frees what nobody knows any more. */
static void go_on(struct tfd_partial_run *p)
{
    struct tfd_session *s = p->session;
    struct tfd_partial_call *c;

    if (p->busy > 0)
        return;
    p->busy++;
    tfd_session_ref(s);
    while ((c = find_answerable(p)))
        answer_partial(c);
    p->busy--;
    if (!p->listed && !p->calls && p->ended)
        free_partial(p);
    tfd_session_unref(s);
}

/* ---- A call -------------------------------------------------------------- */

static void value_came(void *ctx, const struct tfd_status *st,
                       struct tfd_tensor *take_value)
{
    struct partial_value v = *(struct partial_value *)ctx;
    struct tfd_partial_run *p = v.call->partial;

    free(ctx);
    v.call->pending--;
    if (st->code != TFD_OK) {
        v.call->failed = true;
    } else if (take_value->dtype == TFD_DTYPE_INVALID) {
        v.call->failed = true;
        tfd_status_clear(&p->value_error);
        (void)tfd_fail(&p->value_error, TFD_INTERNAL,
                       "The tensor returned for " TFD_STR_FMT " was not valid.",
                       TFD_STR_ARG(v.call->run->fetch_names[v.index]));
    } else {
        v.call->values[v.index] = *take_value;
    }
    if (v.call->failed && !p->ended)
        abort_step(p, p->value_error.code != TFD_OK ? &p->value_error : st);
    go_on(p);
}

static void timed_out(struct tfd_timer *t)
{
    struct tfd_partial_call *c =
        TFD_CONTAINER_OF(t, struct tfd_partial_call, timer);
    struct tfd_status why = TFD_STATUS_INIT;

    (void)tfd_fail(&why, TFD_DEADLINE_EXCEEDED, "Operation timed out.");
    c->failed = true;
    abort_step(c->partial, &why);
}

static enum tfd_code new_call(struct tfd_partial_run *p,
                              struct tfd_run_step *run,
                              struct tfd_partial_call **out,
                              struct tfd_status *st)
{
    struct tfd_partial_call *c = calloc(1, sizeof(*c));

    if (c)
        c->values = calloc((size_t)run->fetch_count + 1, sizeof(*c->values));
    if (!c || !c->values) {
        free(c);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a step");
    }
    c->partial = p;
    c->run = run;
    c->pending = 1;
    tfd_timer_init(&c->timer, p->session->master->o.loop, timed_out);
    c->next = p->calls;
    p->calls = c;
    run->partial_call = c;
    tfd_session_ref(p->session);
    *out = c;
    return run->timeout_us > 0 ? tfd_timer_start(&c->timer, run->timeout_us, st)
                               : TFD_OK;
}

static enum tfd_code put_feed(struct tfd_partial_run *p, struct tfd_str name,
                              struct tfd_tensor *take, struct tfd_status *st)
{
    struct tfd_worker *w = p->session->workers[0];
    size_t size = tfd_tensor_size(take);
    struct tfd_bytes key;
    enum tfd_code rc;

    TFD_TRY(tfd_partial_ends_feed(p, name, take, st));
    rc = tfd_partial_ends_key(p, name, &key, st);
    if (rc == TFD_OK)
        rc = w->ops->put(w, p->run.step_id, tfd_bytes_view(&key), take, st);
    tfd_bytes_deinit(&key);
    if (rc == TFD_OK && !p->ended) {
        p->fed_size += size;
        p->session->fed_size += size;
    }
    return rc;
}

static enum tfd_code take_fetch(struct tfd_partial_call *c, int index,
                                struct tfd_status *st)
{
    struct tfd_partial_run *p = c->partial;
    struct tfd_worker *w = p->session->workers[0];
    struct tfd_str name = c->run->fetch_names[index];
    struct partial_value *v = malloc(sizeof(*v));
    struct tfd_bytes key;

    if (!v)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a fetch");
    *v = (struct partial_value){c, index};
    tfd_partial_ends_fetch(p, name);
    if (tfd_partial_ends_key(p, name, &key, st) != TFD_OK) {
        free(v);
        return TFD_RESOURCE_EXHAUSTED;
    }
    c->pending++;
    w->ops->take(w, p->run.step_id, tfd_bytes_view(&key), value_came, v);
    tfd_bytes_deinit(&key);
    return TFD_OK;
}

static enum tfd_code move_values(struct tfd_partial_call *c,
                                 struct tfd_status *st)
{
    struct tfd_run_step *run = c->run;

    for (int i = 0; i < run->feed_count; i++)
        TFD_TRY(put_feed(c->partial, run->feed_names[i], &run->feeds[i], st));
    for (int i = 0; i < run->fetch_count; i++)
        TFD_TRY(take_fetch(c, i, st));
    return TFD_OK;
}

static void start_call(struct tfd_partial_run *p, struct tfd_run_step *run)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_partial_call *c = NULL;

    p->busy++;
    if (!p->started)
        begin_partial(p, run, &st);
    if (st.code == TFD_OK && new_call(p, run, &c, &st) == TFD_OK)
        (void)move_values(c, &st);
    if (c && st.code != TFD_OK) {
        c->failed = true;
        p->value_error = st;
        abort_step(p, &st);
    }
    if (c) {
        c->last = tfd_partial_ends_complete(p);
        c->pending--;
    } else {
        run->done(run, &st, NULL, 0);
    }
    p->busy--;
    go_on(p);
}

/* Handles are written as decimal numbers. */
static int64_t number_in_handle(struct tfd_str handle)
{
    int64_t n = 0;

    if (handle.size == 0 || handle.size > 18 ||
        (handle.size > 1 && handle.data[0] == '0'))
        return -1;
    for (size_t i = 0; i < handle.size; i++) {
        if (handle.data[i] < '0' || handle.data[i] > '9')
            return -1;
        n = n * 10 + (handle.data[i] - '0');
    }
    return n;
}

static struct tfd_partial_run *find_partial_run(const struct tfd_session *s,
                                                struct tfd_str handle)
{
    int64_t number = number_in_handle(handle);
    struct tfd_partial_run *p = s->partial_runs;

    while (p && p->handle != number)
        p = p->next;
    return p;
}

void tfd_partial_run_step(struct tfd_session *s, struct tfd_str handle,
                          struct tfd_run_step *run)
{
    struct tfd_partial_run *p = find_partial_run(s, handle);
    struct tfd_status st = TFD_STATUS_INIT;

    run->step = NULL;
    run->waiting = NULL;
    if (s->state != TFD_SESSION_OPEN)
        (void)tfd_fail(&st, TFD_FAILED_PRECONDITION, "Session is closed.");
    else if (!p)
        (void)tfd_fail(&st, TFD_INVALID_ARGUMENT,
                       "Must run PartialRunSetup before performing partial "
                       "runs");
    else if (p->ended && p->status.code != TFD_OK) /* since the last call */
        st = p->status;
    else
        (void)!tfd_partial_ends_check(p, run, &st);
    if (st.code == TFD_OK) {
        start_call(p, run);
        return;
    }
    if (p && p->ended && p->status.code != TFD_OK) {
        unlist(p);
        go_on(p);
    }
    run->done(run, &st, NULL, 0);
}

void tfd_partial_run_cancel(struct tfd_session *s, struct tfd_run_step *run)
{
    struct tfd_partial_call *c = run->partial_call;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)s;
    if (!c)
        return;
    (void)tfd_fail(&st, TFD_CANCELLED, "RunStep was cancelled by the client");
    c->failed = true;
    abort_step(c->partial, &st);
}
