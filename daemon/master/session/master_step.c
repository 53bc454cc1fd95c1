/*
 * master_step.c - starts the parts, gathers their ends, merges their failures.
 *
 * The first failure that is not merely the echo of another cancels the other
 * parts; the step ends when all of them have.
 */
#include "daemon/master/session/master_step.h"

#include "common/base/container.h"
#include "daemon/master/session/run_options.h"
#include "daemon/master/session/step_times.h"

#include <stddef.h>

#include <stdlib.h>
#include <string.h>

struct tfd_master_step {
    struct tfd_plan *plan;
    struct tfd_run_step *run;
    struct tfd_master_step *next; /* idle: of the plan; running: of session */
    struct tfd_master_step *previous;
    int64_t id;
    uint64_t number; /* of the master's steps, as they began */
    struct tfd_step_times times;
    struct tfd_watched_step *watched; /* NULL: nobody watches it */
    int pending;                      /* parts that have not ended */
    bool aborted;
    enum tfd_step_stuck stuck;
    bool merged;   /* several parts failed on their own */
    bool starting; /* parts are still being started */
    bool ending;   /* cancel is deferred, and counts as a part */
    struct tfd_post cancel;
    struct tfd_timer timer;
    struct tfd_status error;
    struct tfd_tensor *fetches;
    struct tfd_run_graph *parts;
    bool *ended; /* by part */
};

/* ---- The session's running steps ----------------------------------------- */

static void link_step(struct tfd_session *s, struct tfd_master_step *step)
{
    step->previous = NULL;
    step->next = s->steps;
    if (s->steps)
        s->steps->previous = step;
    s->steps = step;
}

static void unlink_step(struct tfd_session *s, struct tfd_master_step *step)
{
    if (step->previous)
        step->previous->next = step->next;
    else
        s->steps = step->next;
    if (step->next)
        step->next->previous = step->previous;
    step->next = step->previous = NULL;
}

static struct tfd_worker *worker_of(const struct tfd_plan *p, int part)
{
    return p->session->workers[p->parts[part].worker];
}

/* ---- The pool ------------------------------------------------------------ */

static void free_step(struct tfd_master_step *step)
{
    free(step->fetches);
    free(step->parts);
    free(step->ended);
    free(step);
}

static void part_done(struct tfd_run_graph *run, const struct tfd_status *st);
static void timed_out(struct tfd_timer *t);
static void end_step(struct tfd_master_step *step);

static struct tfd_master_step *new_step(struct tfd_plan *p)
{
    struct tfd_master_step *step = calloc(1, sizeof(*step));

    if (!step)
        return NULL;
    step->plan = p;
    step->fetches =
        calloc((size_t)p->signature.fetch_count + 1, sizeof(*step->fetches));
    step->parts = calloc((size_t)p->part_count, sizeof(*step->parts));
    step->ended = calloc((size_t)p->part_count, sizeof(*step->ended));
    if (!step->fetches || !step->parts || !step->ended) {
        free_step(step);
        return NULL;
    }
    for (int i = 0; i < p->part_count; i++) {
        struct tfd_run_graph *run = &step->parts[i];

        run->session = tfd_str_of(p->session->handle);
        run->graph = p->parts[i].graph;
        run->done = part_done;
        run->master = step;
        run->master_tells = !p->partial;
        run->fetches = i == p->client_part ? step->fetches : NULL;
    }
    tfd_timer_init(&step->timer, p->session->master->o.loop, timed_out);
    return step;
}

static struct tfd_master_step *acquire(struct tfd_plan *p)
{
    struct tfd_master_step *step = p->idle;

    if (!step)
        return new_step(p);
    p->idle = step->next;
    return step;
}

void tfd_master_step_free_idle(struct tfd_plan *p)
{
    while (p->idle) {
        struct tfd_master_step *step = p->idle;

        p->idle = step->next;
        free_step(step);
    }
}

/* ---- Failures ------------------------------------------------------------ */

/* Of a part that mostly ends so because another has failed. */
static bool is_echo(enum tfd_code code)
{
    return code == TFD_CANCELLED || code == TFD_ABORTED;
}

static void merge_root(struct tfd_master_step *step,
                       const struct tfd_status *st)
{
    static const char rule[] = "\n=====================\n";
    struct tfd_status old = step->error;
    size_t n = strlen(old.text);

    if (strcmp(old.text, st->text) == 0)
        return;
    tfd_status_clear(&step->error);
    if (step->merged && n >= sizeof(rule) - 1) {
        old.text[n - (sizeof(rule) - 1)] = '\0'; /* one more before the rule */
        (void)tfd_fail(&step->error, old.code, "%s\n%s: %s%s", old.text,
                       tfd_code_name(st->code), st->text, rule);
    } else {
        (void)tfd_fail(&step->error, old.code, "%s%s: %s\n%s: %s%s", rule,
                       tfd_code_name(old.code), old.text,
                       tfd_code_name(st->code), st->text, rule);
    }
    step->merged = true;
}

static void cancel_parts(struct tfd_master_step *step)
{
    if (step->starting)
        return; /* begin_step() cancels once every part has been started */
    for (int i = 0; i < step->plan->part_count; i++) {
        struct tfd_worker *w = worker_of(step->plan, i);

        if (!step->ended[i])
            w->ops->cancel(w, &step->parts[i]);
    }
}

static void cancel_deferred(struct tfd_post *p)
{
    struct tfd_master_step *step =
        TFD_CONTAINER_OF(p, struct tfd_master_step, cancel);

    step->ending = false;
    cancel_parts(step);
    if (--step->pending == 0)
        end_step(step);
}

/* Failures that have arrived by now are the client's to see, too. */
static void cancel_soon(struct tfd_master_step *step)
{
    step->ending = true;
    step->pending++;
    step->cancel.run = cancel_deferred;
    tfd_loop_defer(step->timer.loop, &step->cancel);
}

/* Notes a failure; true when it is the first.  An echo that came before its
 * cause makes room for it. */
static bool note_failure(struct tfd_master_step *step,
                         const struct tfd_status *st)
{
    if (step->error.code == TFD_OK) {
        step->error = *st;
        return true;
    }
    if (is_echo(st->code) || step->aborted)
        return false;
    if (is_echo(step->error.code))
        step->error = *st;
    else
        merge_root(step, st);
    return false;
}

void tfd_master_step_abort(struct tfd_master_step *step,
                           const struct tfd_status *why)
{
    bool failed = step->error.code != TFD_OK; /* its parts are cancelled */

    step->aborted = true;
    if (failed)
        return;
    step->error = *why;
    step->pending++; /* cancel_parts() may end the last part */
    cancel_parts(step);
    if (--step->pending == 0)
        end_step(step);
}

static void from_worker(const char *task, const struct tfd_status *in,
                        struct tfd_status *out)
{
    tfd_status_clear(out);
    (void)tfd_fail(out, in->code, "From %s:\n%s", task, in->text);
}

/* ---- The end ------------------------------------------------------------- */

static void drop_fetches(struct tfd_master_step *step)
{
    for (int i = 0; i < step->plan->signature.fetch_count; i++)
        tfd_tensor_unref(&step->fetches[i]);
}

/* A fetch of a dead tensor is TensorFlow's error, not an empty answer. */
static void check_fetches(struct tfd_master_step *step)
{
    const struct tfd_plan *p = step->plan;
    const char *client = p->session->devices.devices[0].attributes.name;

    for (int i = 0; i < p->signature.fetch_count; i++) {
        if (step->fetches[i].dtype != TFD_DTYPE_INVALID)
            continue;
        tfd_fail(
            &step->error, TFD_INTERNAL,
            "From %s:\nFailed to fetch outputs for step %lld. (Original "
            "error message: The tensor returned for %s;%016llx;%s;" TFD_STR_FMT
            ";0:0 was not valid.)",
            tfd_session_task(p->session, 0), (long long)step->id, client,
            (unsigned long long)p->session->devices.devices[0]
                .attributes.incarnation,
            client, TFD_STR_ARG(p->signature.fetches[i]));
        return;
    }
}

/* What a failed step left on workers that pull is dropped there. */
static void clean_up(struct tfd_master_step *step)
{
    for (int i = 0; i < step->plan->part_count; i++) {
        struct tfd_worker *w = worker_of(step->plan, i);

        if (step->error.code != TFD_OK || !w->ops->is_native(w))
            w->ops->cleanup_graph(w, step->id);
    }
}

static void release_step(struct tfd_master_step *step)
{
    struct tfd_session *s = step->plan->session;

    drop_fetches(step);
    step->run = NULL;
    step->next = step->plan->idle;
    step->plan->idle = step;
    step->plan->running--;
    s->running--;
    s->master->running--;
    s->steps_done++;
    s->master->steps_done++;
    s->step_ended(s);
}

static void note_time(struct tfd_master_step *step)
{
    if (step->error.code == TFD_OK)
        tfd_histogram_add(&step->plan->times,
                          tfd_loop_now_us(step->timer.loop) -
                              step->times.begun_us);
}

/* Whether somebody watched it. */
static bool end_watched(struct tfd_master_step *step)
{
    struct tfd_session *s = step->plan->session;
    struct tfd_tracer *t = &s->master->watch.tracer;
    struct tfd_step_watched x = {step->id, s->handle, &step->error};

    if (!step->watched)
        return false;
    t->ops->end(t, step->watched, &x);
    step->watched = NULL;
    return true;
}

static void end_step(struct tfd_master_step *step)
{
    struct tfd_run_step *run = step->run;
    struct tfd_session *s = step->plan->session;
    struct tfd_worker *local = s->workers[0];
    bool watched;

    tfd_timer_stop(&step->timer);
    if (step->error.code == TFD_OK && !step->plan->partial)
        check_fetches(step);
    clean_up(step);
    if (step->plan->collective_key)
        local->ops->end_step(local, step->plan->collective_key, step->id,
                             step->error.code == TFD_OK);
    tfd_step_times_end(&step->times, step->plan, step->id, run,
                       step->error.code == TFD_OK ? step->fetches : NULL,
                       &step->error);
    note_time(step);
    tfd_session_heard(s, step->error.code);
    watched = end_watched(step);
    run->step = NULL;
    unlink_step(s, step); /* done() may close the session: not this step */
    tfd_session_ref(s);
    run->done(run, &step->error,
              step->error.code == TFD_OK ? step->fetches : NULL,
              step->plan->number);
    tfd_step_times_answered(&step->times, s->master);
    release_step(step);
    if (watched)
        s->master->watch.tracer.ops->check(&s->master->watch.tracer);
    tfd_session_unref(s);
}

static void part_done(struct tfd_run_graph *part, const struct tfd_status *st)
{
    struct tfd_master_step *step = part->master;
    int i = (int)(part - step->parts);

    step->ended[i] = true;
    tfd_step_times_part(&step->times, step->plan, i);
    if (st->code != TFD_OK) {
        struct tfd_status named;

        from_worker(
            tfd_session_task(step->plan->session, step->plan->parts[i].worker),
            st, &named);
        if (note_failure(step, &named) && step->pending > 1)
            cancel_soon(step);
    }
    if (--step->pending == 0)
        end_step(step);
}

static void timed_out(struct tfd_timer *t)
{
    struct tfd_master_step *step =
        TFD_CONTAINER_OF(t, struct tfd_master_step, timer);
    struct tfd_status why = TFD_STATUS_INIT;

    tfd_fail(&why, TFD_DEADLINE_EXCEEDED, "Operation timed out.");
    tfd_master_step_abort(step, &why);
}

/* ---- The beginning ------------------------------------------------------- */

/* 0: the leader of collectives went away amid the steps of the plan. */
static int64_t new_id(const struct tfd_plan *p, const struct tfd_run_step *run)
{
    struct tfd_worker *local = p->session->workers[0];

    if (run->step_id)
        return run->step_id;
    if (p->collective_key)
        return local->ops->begin_step(local, p->collective_key);
    return tfd_master_step_id(p->session->master);
}

static void begin_watched(struct tfd_master_step *step,
                          struct tfd_run_trace **trace)
{
    struct tfd_session *s = step->plan->session;
    struct tfd_tracer *t = &s->master->watch.tracer;

    step->watched = t->ops->begin(t, s->handle, trace);
}

static void prepare_step(struct tfd_master_step *step, struct tfd_run_step *run)
{
    struct tfd_plan *p = step->plan;
    struct tfd_run_trace *trace = run->trace;

    step->run = run;
    run->step = step;
    tfd_run_trace_begin(trace, p->session, p->started++);
    if (p->session->master->watch.tracer.wants)
        begin_watched(step, &trace);
    step->id = new_id(p, run);
    step->number = ++p->session->master->steps_begun;
    tfd_step_times_begin(&step->times, p, run, step->id);
    step->pending = p->part_count + 1; /* one for begin_step() itself */
    step->aborted = step->merged = step->ending = false;
    step->stuck = TFD_STEP_MOVES;
    tfd_status_clear(&step->error);
    for (int i = 0; i < p->part_count; i++) {
        step->ended[i] = false;
        step->parts[i].step_id = step->id;
        step->parts[i].feeds = i == p->client_part ? run->feeds : NULL;
        step->parts[i].trace = trace;
    }
    link_step(p->session, step);
    p->running++;
    p->session->running++;
    p->session->master->running++;
}

static void begin_step(struct tfd_master_step *step)
{
    struct tfd_plan *p = step->plan;

    /* Other tasks first: they start while this one computes. */
    step->starting = true;
    for (int i = p->part_count - 1; i >= 0; i--) {
        struct tfd_worker *w = worker_of(p, i);

        w->ops->run_graph(w, &step->parts[i]);
    }
    step->starting = false;
    tfd_step_times_started(&step->times, p, step->pending == 1);
    if (step->error.code != TFD_OK && !step->ending)
        cancel_parts(step);
    if (--step->pending == 0)
        end_step(step);
}

static enum tfd_code start_step_timer(struct tfd_master_step *step,
                                      const struct tfd_run_step *run,
                                      struct tfd_status *st)
{
    uint64_t left = run->timeout_us, waited = 0;

    if (left == 0)
        return TFD_OK;
    if (run->waited_from_us != 0)
        waited = tfd_loop_now_us(step->timer.loop) - run->waited_from_us;
    return tfd_timer_start(&step->timer, waited < left ? left - waited : 0, st);
}

void tfd_master_step_start(struct tfd_plan *p, struct tfd_run_step *run)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_master_step *step;

    if (run->only_plan) {
        run->done(run, &st, NULL, p->number);
        return;
    }
    step = acquire(p);
    if (!step) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory for a step");
        run->done(run, &st, NULL, 0);
        return;
    }
    prepare_step(step, run);
    if (step->id == 0)
        (void)tfd_fail(&st, TFD_UNAVAILABLE,
                       "The leader of collectives was restarted: which step "
                       "is next is not known");
    else
        (void)!start_step_timer(step, run, &st);
    if (st.code != TFD_OK)
        note_failure(step, &st);
    begin_step(step);
}

/* Steps may end, and others begin, while one is aborted: so each time the first
 * that is not yet aborted. */
void tfd_master_step_abort_all(struct tfd_session *s,
                               const struct tfd_status *why)
{
    struct tfd_master_step *step = s->steps;

    while (step) {
        if (step->aborted) {
            step = step->next;
            continue;
        }
        tfd_master_step_abort(step, why);
        step = s->steps;
    }
}

/* A part that is not ended fails by itself. */
static bool has_ended_on(const struct tfd_master_step *step,
                         const struct tfd_worker *w)
{
    const struct tfd_plan *p = step->plan;

    for (int i = 0; i < p->part_count; i++)
        if (step->ended[i] && worker_of(p, i) == w &&
            p->session->native[p->parts[i].worker])
            return true;
    return false;
}

void tfd_master_step_lost(struct tfd_session *s, const struct tfd_worker *w,
                          uint64_t last, const struct tfd_status *why)
{
    struct tfd_master_step *step = s->steps;

    while (step) {
        if (step->aborted || step->error.code != TFD_OK ||
            step->number > last || !has_ended_on(step, w)) {
            step = step->next;
            continue;
        }
        tfd_master_step_abort(step, why);
        step = s->steps;
    }
}

static bool has_part_on(const struct tfd_plan *p, const struct tfd_worker *w)
{
    for (int i = 0; i < p->part_count; i++)
        if (worker_of(p, i) == w)
            return true;
    return false;
}

bool tfd_master_step_needs(const struct tfd_session *s,
                           const struct tfd_worker *w, uint64_t last)
{
    for (const struct tfd_master_step *step = s->steps; step; step = step->next)
        if (!step->aborted && step->error.code == TFD_OK &&
            step->number <= last && !step->plan->partial &&
            has_part_on(step->plan, w))
            return true;
    return false;
}

/* ---- As a page shows it -------------------------------------------------- */

void tfd_master_step_facts(const struct tfd_session *s,
                           tfd_master_step_facts_fn *fn, void *ctx)
{
    uint64_t now = tfd_loop_now_us(s->master->o.loop);

    for (struct tfd_master_step *step = s->steps; step; step = step->next) {
        struct tfd_master_step_facts f = {
            .step = step,
            .plan = step->plan,
            .stuck = &step->stuck,
            .id = step->id,
            .age_us = now - step->times.begun_us,
            .parts = step->plan->part_count,
        };

        for (int i = 0; i < f.parts; i++)
            f.pending += !step->ended[i];
        fn(ctx, &f);
    }
}

const char *tfd_master_step_owes(const struct tfd_master_step *step, int i)
{
    const struct tfd_plan *p = step->plan;

    return step->ended[i] ? NULL
                          : tfd_session_task(p->session, p->parts[i].worker);
}
