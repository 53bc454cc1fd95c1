/*
 * plan.c - compiles a plan (plan.h): prunes and partitions the graph as a
 * build, registers the parts with their workers, then lets the waiting steps go
 * on; and empties a plan, which unregisters its parts.
 */
#include "daemon/master/session/plan.h"

#include "daemon/rewrite/collective_key.h"
#include "daemon/rewrite/partition.h"
#include "daemon/master/session/session_log.h"
#include "daemon/master/session/step_times.h"
#include "daemon/master/session/master_step.h"
#include "daemon/rewrite/twins.h"
#include "daemon/rewrite/unread.h"

#include "config/limits.h"

#include <stdlib.h>

/* ---- Emptying ------------------------------------------------------------ */

/* What was registered is forgotten; names and number stay. */
static void empty(struct tfd_plan *p)
{
    for (int i = 0; i < p->part_count; i++) {
        struct tfd_plan_part *part = &p->parts[i];
        struct tfd_worker *w = p->session->workers[part->worker];

        tfd_bytes_deinit(&part->graph_def);
        if (part->graph != 0)
            w->ops->deregister_graph(w, tfd_str_of(p->session->handle),
                                     part->graph);
    }
    tfd_master_step_free_idle(p);
    free(p->parts);
    p->parts = NULL;
    p->part_count = 0;
}

static bool is_idle(const struct tfd_plan *p, enum tfd_plan_state state)
{
    return p->state == state && p->running == 0;
}

uint32_t tfd_plan_oldest(const struct tfd_session *s, enum tfd_plan_state state)
{
    uint32_t found = s->plan_count;

    for (uint32_t i = 0; i < s->plan_count; i++)
        if (is_idle(s->plans[i], state) &&
            (found == s->plan_count ||
             s->plans[i]->used < s->plans[found]->used))
            found = i;
    return found;
}

/* All plans may be in use: those of steps that run are not counted strictly. */
static void empty_oldest(struct tfd_session *s)
{
    uint32_t at = tfd_plan_oldest(s, TFD_PLAN_READY);

    if (s->plans_built < TFD_PLANS_PER_SESSION_MAX || at == s->plan_count)
        return;
    empty(s->plans[at]);
    s->plans[at]->state = TFD_PLAN_EMPTY;
    s->plans_built--;
}

/* ---- Registering --------------------------------------------------------- */

static void fail_plan(struct tfd_plan *p, const struct tfd_status *st)
{
    if (p->status.code == TFD_OK)
        p->status = *st;
}

static void fail_waiter(struct tfd_plan *p, struct tfd_run_step *run,
                        const struct tfd_status *why)
{
    tfd_session_log_unbegun(p->session, why);
    tfd_session_heard(p->session, why->code);
    run->done(run, why, NULL, 0);
}

/* Steps that wait start, or fail, in the order they came. */
static void wake_waiters(struct tfd_plan *p)
{
    struct tfd_run_step *run;

    while ((run = p->waiters) != NULL) {
        p->waiters = run->next;
        run->next = NULL;
        run->waiting = NULL;
        p->session->waiting--;
        if (p->state == TFD_PLAN_READY)
            tfd_master_step_start(p, run);
        else
            fail_waiter(p, run, &p->status);
    }
}

void tfd_plan_fail_waiters(struct tfd_plan *p, const struct tfd_status *why)
{
    struct tfd_run_step *run;

    while ((run = p->waiters) != NULL) {
        p->waiters = run->next;
        run->next = NULL;
        run->waiting = NULL;
        p->session->waiting--;
        fail_waiter(p, run, why);
    }
}

static void built(struct tfd_plan *p)
{
    struct tfd_session *s = p->session;

    for (int i = 0; i < p->part_count; i++)
        tfd_bytes_deinit(&p->parts[i].graph_def);
    p->state = p->status.code == TFD_OK ? TFD_PLAN_READY : TFD_PLAN_FAILED;
    if (p->state == TFD_PLAN_FAILED) {
        empty(p);
        s->plans_built--;
    }
    tfd_session_ref(s);
    wake_waiters(p);
    s->running--; /* the plan's own, taken in tfd_plan_build() */
    s->step_ended(s);
    tfd_session_unref(s);
}

/* Those that a worker is about to register, or waits with for the link to
 * another one, which may be the one that is gone. */
static void cancel_parts(struct tfd_plan *p)
{
    struct tfd_worker *local = p->session->workers[0];

    local->ops->cancel_call(local, p);
    for (int i = 0; i < p->part_count; i++) {
        struct tfd_worker *w = p->session->workers[p->parts[i].worker];

        if (p->parts[i].asked)
            w->ops->cancel_call(w, &p->parts[i]);
    }
}

/* Of a worker that is gone.  What others register meanwhile goes with their
 * session, which is of no use any more. */
static bool is_loss(enum tfd_code code)
{
    return code == TFD_UNAVAILABLE || code == TFD_ABORTED ||
           code == TFD_DEADLINE_EXCEEDED;
}

static void registered(void *ctx, const struct tfd_status *st, uint64_t graph)
{
    struct tfd_plan_part *part = ctx;
    struct tfd_plan *p = part->plan;
    bool first = p->status.code == TFD_OK;

    part->asked = false;
    part->graph = graph;
    if (st->code != TFD_OK) {
        struct tfd_status named = TFD_STATUS_INIT;

        (void)tfd_fail(&named, st->code, "From %s:\n%s",
                       tfd_session_task(p->session, part->worker), st->text);
        fail_plan(p, &named);
        if (first && is_loss(st->code))
            cancel_parts(p);
    }
    if (--p->registering == 0)
        built(p);
}

void tfd_plan_lost(struct tfd_plan *p, const struct tfd_worker *w,
                   const struct tfd_status *why)
{
    struct tfd_status named = TFD_STATUS_INIT;
    int part = 0;

    if (p->state != TFD_PLAN_BUILDING || p->splitting)
        return;
    while (part < p->part_count &&
           p->session->workers[p->parts[part].worker] != w)
        part++;
    if (part == p->part_count)
        return;
    (void)tfd_fail(&named, TFD_UNAVAILABLE, "From %s:\n%s",
                   tfd_session_task(p->session, p->parts[part].worker),
                   why->text);
    fail_plan(p, &named);
    p->registering++; /* the last answer empties the plan */
    cancel_parts(p);
    if (--p->registering == 0)
        built(p);
}

/* ---- Steps that are shared ----------------------------------------------- */

static void steps_learned(void *ctx, const struct tfd_status *st)
{
    struct tfd_plan *p = ctx;

    if (st->code != TFD_OK)
        fail_plan(p, st);
    if (--p->registering == 0)
        built(p);
}

static void learn_steps(struct tfd_plan *p)
{
    struct tfd_worker *local = p->session->workers[0];

    if (p->collective_key == 0)
        return;
    p->registering++;
    local->ops->learn_steps(local, p->collective_key, steps_learned, p);
}

static void register_part(struct tfd_plan *p, struct tfd_plan_part *part)
{
    struct tfd_worker *w = p->session->workers[part->worker];
    struct tfd_register_graph *r = &part->request;

    *r = (struct tfd_register_graph){
        .session = tfd_str_of(p->session->handle),
        .graph_def = tfd_bytes_view(&part->graph_def),
        .config_proto = tfd_bytes_view(&p->session->config_proto),
    };

    if (part->worker == 0 && !p->partial) {
        r->feeds = p->signature.feeds;
        r->feed_count = p->signature.feed_count;
        r->fetches = p->signature.fetch_labels;
        r->fetch_count = p->signature.fetch_count;
    }
    part->asked = true;
    w->ops->register_graph(w, r, registered, part);
}

void tfd_plan_cancel(struct tfd_plan *p)
{
    if (p->state != TFD_PLAN_BUILDING)
        return;
    if (p->splitting) {
        tfd_build_stop(&p->build);
        return;
    }
    p->registering++; /* the last answer empties the plan */
    cancel_parts(p);
    if (--p->registering == 0)
        built(p);
}

/* ---- Building ------------------------------------------------------------ */

static enum tfd_code take_parts(struct tfd_plan *p, struct tfd_bytes *defs,
                                struct tfd_status *st)
{
    int workers = p->session->worker_count;

    p->client_part = -1;
    p->parts = calloc((size_t)workers, sizeof(*p->parts));
    if (!p->parts)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a plan");
    for (int w = 0; w < workers; w++) {
        struct tfd_plan_part *part = &p->parts[p->part_count];

        if (defs[w].size == 0)
            continue;
        if (w == 0)
            p->client_part = p->part_count;
        part->worker = w;
        part->plan = p;
        part->graph_def = defs[w];
        tfd_bytes_init(&defs[w], 0);
        p->part_count++;
    }
    return TFD_OK;
}

static enum tfd_code partition(struct tfd_plan *p, struct tfd_arena *arena,
                               struct tfd_bytes *defs, struct tfd_status *st)
{
    struct tfd_session *s = p->session;
    struct tfd_pruned pruned;
    struct tfd_partition_request r = {
        .graph = s->graph,
        .pruned = &pruned,
        .signature = &p->signature,
        .partial = p->partial,
        .devices = &s->devices,
        .device_of = s->device_of,
        .native = s->native,
        .worker_count = s->worker_count,
        .suffix = &s->node_suffix,
        .stop = &p->build.stop,
        .arena = arena,
    };

    TFD_TRY(tfd_prune(s->graph, &p->signature, arena, &pruned, st));
    if (!p->partial && !s->config.keeps_twins)
        TFD_TRY(tfd_twins_join(s->graph, s->device_of, &pruned, arena, st));
    if (!p->partial && !s->config.keeps_unread)
        TFD_TRY(tfd_unread_drop(s->graph, &pruned, arena, st));
    if (p->asked_key)
        p->collective_key = p->asked_key;
    else if (!p->partial)
        TFD_TRY(tfd_collective_key(s->graph, &pruned, s->device_of, arena,
                                   &p->collective_key, st));
    p->node_count = pruned.count;
    TFD_TRY(tfd_partition(&r, defs, st));
    return take_parts(p, defs, st);
}

static enum tfd_code split(struct tfd_plan *p, struct tfd_status *st)
{
    int workers = p->session->worker_count;
    struct tfd_bytes *defs = calloc((size_t)workers, sizeof(*defs));
    struct tfd_arena arena;
    enum tfd_code rc;

    if (!defs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a plan");
    tfd_arena_init(&arena, TFD_GRAPH_SIZE_MAX);
    for (int w = 0; w < workers; w++)
        tfd_bytes_init(&defs[w], (size_t)TFD_GRAPH_SIZE_MAX);
    rc = partition(p, &arena, defs, st);
    for (int w = 0; w < workers; w++)
        tfd_bytes_deinit(&defs[w]);
    free(defs);
    tfd_arena_deinit(&arena);
    return rc;
}

static void build_plan(struct tfd_build *b)
{
    struct tfd_plan *p = (struct tfd_plan *)b;

    p->version = p->session->version;
    (void)!split(p, &p->status);
}

static void split_up(struct tfd_build *b)
{
    struct tfd_plan *p = (struct tfd_plan *)b;

    p->splitting = false;
    if (b->stop && p->status.code == TFD_OK)
        (void)tfd_fail(&p->status, TFD_CANCELLED, "Nobody waits for the plan");
    if (p->status.code == TFD_OK) {
        tfd_step_times_name(p);
        p->registering += p->part_count;
        for (int i = 0; i < p->part_count; i++)
            register_part(p, &p->parts[i]);
        learn_steps(p);
    }
    if (--p->registering == 0)
        built(p);
}

void tfd_plan_build(struct tfd_plan *p)
{
    struct tfd_session *s = p->session;

    empty_oldest(s);
    p->state = TFD_PLAN_BUILDING;
    tfd_status_clear(&p->status);
    s->plans_built++;
    s->running++;
    p->registering = 1;
    p->splitting = true;
    p->build = (struct tfd_build){.work = build_plan, .done = split_up};
    p->build.large = tfd_session_is_large(s, TFD_STR_EMPTY);
    tfd_build_start(s, &p->build);
}

/* Where the ids of its steps are known, this is over at once. */
void tfd_plan_learn(struct tfd_plan *p)
{
    p->state = TFD_PLAN_BUILDING;
    p->session->running++;
    p->registering = 1;
    learn_steps(p);
    if (--p->registering == 0)
        built(p);
}

void tfd_plan_free(struct tfd_plan *p)
{
    tfd_master_step_free_idle(p);
    for (int i = 0; i < p->part_count; i++)
        tfd_bytes_deinit(&p->parts[i].graph_def);
    free(p->parts);
    tfd_arena_deinit(&p->arena);
    free(p);
}
