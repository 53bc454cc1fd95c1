/*
 * plan.c - signatures to plans.
 *
 * The key of a signature is its names, each after its length, feeds before
 * fetches before targets.  The order is the client's: another order is another
 * plan, which costs memory but never a sort per step.
 */
#include "daemon/master/plan.h"

#include "daemon/master/partition.h"
#include "daemon/master/step.h"

#include "common/pbio.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Keys ---------------------------------------------------------------- */

static void key_names(struct tfd_bytes *key, const struct tfd_str *names,
                      int count)
{
    tfd_pb_put_varint(key, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        tfd_pb_put_varint(key, names[i].size);
        tfd_bytes_add_str(key, names[i]);
    }
}

static struct tfd_str key_of(struct tfd_session *s,
                             const struct tfd_run_step *run)
{
    tfd_bytes_clear(&s->key);
    key_names(&s->key, run->feed_names, run->feed_count);
    key_names(&s->key, run->fetch_names, run->fetch_count);
    key_names(&s->key, run->target_names, run->target_count);
    return tfd_bytes_view(&s->key);
}

/* ---- Registering --------------------------------------------------------- */

static void fail_plan(struct tfd_plan *p, const struct tfd_status *st)
{
    if (p->status.code == TFD_OK)
        p->status = *st;
}

/* Steps that wait start, or fail, in the order they came. */
static void wake_waiters(struct tfd_plan *p)
{
    struct tfd_status closed = TFD_STATUS_INIT;
    struct tfd_run_step *run;

    (void)tfd_fail(&closed, TFD_CANCELLED,
                   "Step was cancelled by an explicit call to "
                   "`Session::Close()`.");
    while ((run = p->waiters) != NULL) {
        p->waiters = run->next;
        run->next = NULL;
        run->waiting = NULL;
        if (p->state == TFD_PLAN_READY && p->session->state == TFD_SESSION_OPEN)
            tfd_step_start(p, run);
        else
            run->done(run, p->state == TFD_PLAN_READY ? &closed : &p->status,
                      NULL, 0);
    }
}

static void forget_graphs(struct tfd_plan *p)
{
    for (int i = 0; i < p->part_count; i++) {
        struct tfd_worker *w = p->session->workers[p->parts[i].worker];

        if (p->parts[i].graph != 0)
            w->ops->deregister_graph(w, tfd_str_of(p->session->handle),
                                     p->parts[i].graph);
        p->parts[i].graph = 0;
    }
}

static void built(struct tfd_plan *p)
{
    struct tfd_session *s = p->session;

    for (int i = 0; i < p->part_count; i++)
        tfd_bytes_deinit(&p->parts[i].graph_def);
    p->state = p->status.code == TFD_OK ? TFD_PLAN_READY : TFD_PLAN_FAILED;
    if (p->state == TFD_PLAN_FAILED)
        forget_graphs(p);
    tfd_session_ref(s);
    wake_waiters(p);
    s->running--; /* the plan's own, taken in build() */
    tfd_session_step_ended(s);
    tfd_session_unref(s);
}

static void registered(void *ctx, const struct tfd_status *st, uint64_t graph)
{
    struct tfd_plan_part *part = ctx;
    struct tfd_plan *p = part->plan;

    part->graph = graph;
    if (st->code != TFD_OK) {
        struct tfd_status named = TFD_STATUS_INIT;

        (void)tfd_fail(&named, st->code, "From %s:\n%s",
                       p->session->workers[part->worker]->task, st->text);
        fail_plan(p, &named);
    }
    if (--p->registering == 0)
        built(p);
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

    if (part == &p->parts[p->client_part < 0 ? 0 : p->client_part] &&
        p->client_part >= 0) {
        r->feeds = p->signature.feeds;
        r->feed_count = p->signature.feed_count;
        r->fetches = p->signature.fetches;
        r->fetch_count = p->signature.fetch_count;
    }
    w->ops->register_graph(w, r, registered, part);
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
        .devices = &s->devices,
        .device_of = s->device_of,
        .native = s->native,
        .worker_count = s->worker_count,
        .arena = arena,
    };

    TFD_TRY(tfd_prune(s->graph, &p->signature, arena, &pruned, st));
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

/* Counts as a running step of the session, so that the session outlives it. */
static void build(struct tfd_plan *p)
{
    struct tfd_status st = TFD_STATUS_INIT;

    p->state = TFD_PLAN_BUILDING;
    p->session->running++;
    p->registering = 1;
    if (split(p, &st) != TFD_OK) {
        fail_plan(p, &st);
    } else {
        p->registering += p->part_count;
        for (int i = 0; i < p->part_count; i++)
            register_part(p, &p->parts[i]);
    }
    if (--p->registering == 0)
        built(p);
}

/* ---- Plans of a session -------------------------------------------------- */

static enum tfd_code copy_names(struct tfd_plan *p, const struct tfd_str *from,
                                int count, const struct tfd_str **out,
                                struct tfd_status *st)
{
    struct tfd_str *names =
        tfd_arena_array(&p->arena, (size_t)count + 1, sizeof(*names));

    TFD_TRY(tfd_arena_check(names, "a signature", st));
    for (int i = 0; i < count; i++) {
        names[i] = tfd_arena_str(&p->arena, from[i]);
        TFD_TRY(tfd_arena_check(names[i].data, "a signature", st));
    }
    *out = names;
    return TFD_OK;
}

static enum tfd_code copy_signature(struct tfd_plan *p,
                                    const struct tfd_run_step *run,
                                    struct tfd_str key, struct tfd_status *st)
{
    struct tfd_signature *sig = &p->signature;

    sig->feed_count = run->feed_count;
    sig->fetch_count = run->fetch_count;
    sig->target_count = run->target_count;
    TFD_TRY(copy_names(p, run->feed_names, run->feed_count, &sig->feeds, st));
    TFD_TRY(
        copy_names(p, run->fetch_names, run->fetch_count, &sig->fetches, st));
    TFD_TRY(
        copy_names(p, run->target_names, run->target_count, &sig->targets, st));
    p->key = tfd_arena_str(&p->arena, key);
    return tfd_arena_check(p->key.data, "a signature", st);
}

static enum tfd_code make_room(struct tfd_session *s, struct tfd_status *st)
{
    uint32_t capacity = s->plan_capacity ? s->plan_capacity * 2 : 16;
    struct tfd_plan **grown;

    if (s->plan_count < s->plan_capacity)
        return TFD_OK;
    if (s->plan_count >= TFD_PLANS_PER_SESSION_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "More than %d different combinations of feeds, fetches "
                        "and targets in session %s",
                        TFD_PLANS_PER_SESSION_MAX, s->handle);
    grown = realloc(s->plans, capacity * sizeof(struct tfd_plan *));
    if (!grown)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for plans");
    s->plans = grown;
    s->plan_capacity = capacity;
    return TFD_OK;
}

static enum tfd_code add_plan(struct tfd_session *s,
                              const struct tfd_run_step *run,
                              struct tfd_str key, struct tfd_plan **out,
                              struct tfd_status *st)
{
    struct tfd_plan *p;

    TFD_TRY(make_room(s, st));
    p = calloc(1, sizeof(*p));
    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a plan");
    tfd_arena_init(&p->arena, TFD_GRAPH_SIZE_MAX);
    p->session = s;
    p->number = s->plan_count + 1;
    if (copy_signature(p, run, key, st) != TFD_OK) {
        tfd_plan_free(p);
        return TFD_RESOURCE_EXHAUSTED;
    }
    if (!tfd_map_put(&s->plan_by_key, p->key, p->number)) {
        tfd_plan_free(p);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a plan");
    }
    s->plans[s->plan_count++] = p;
    *out = p;
    build(p);
    return TFD_OK;
}

void tfd_plan_free(struct tfd_plan *p)
{
    tfd_step_free_idle(p);
    for (int i = 0; i < p->part_count; i++)
        tfd_bytes_deinit(&p->parts[i].graph_def);
    free(p->parts);
    tfd_arena_deinit(&p->arena);
    free(p);
}

/* A plan that failed for lack of a peer is built anew. */
static void retry(struct tfd_plan *p)
{
    if (p->state != TFD_PLAN_FAILED ||
        (p->status.code != TFD_UNAVAILABLE && p->status.code != TFD_ABORTED))
        return;
    tfd_status_clear(&p->status);
    free(p->parts);
    p->parts = NULL;
    p->part_count = 0;
    tfd_step_free_idle(p);
    build(p);
}

enum tfd_code tfd_plan_get(struct tfd_session *s,
                           const struct tfd_run_step *run,
                           struct tfd_plan **out, struct tfd_status *st)
{
    struct tfd_str key;
    uintptr_t number;

    if (run->plan != 0) {
        if (run->plan > s->plan_count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Plan %u is unknown; session %s has %u", run->plan,
                            s->handle, s->plan_count);
        *out = s->plans[run->plan - 1];
        if ((*out)->signature.feed_count != run->feed_count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Plan %u takes %d feeds, %d were given", run->plan,
                            (*out)->signature.feed_count, run->feed_count);
    } else {
        key = key_of(s, run);
        TFD_TRY(tfd_bytes_ok(&s->key, "the names of a step", st));
        if (!tfd_map_get(&s->plan_by_key, key, &number))
            return add_plan(s, run, key, out, st);
        *out = s->plans[number - 1];
    }
    retry(*out);
    return TFD_OK;
}
