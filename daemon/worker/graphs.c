/*
 * graphs.c - see graphs.h.
 *
 *     register -> compile (compute thread) -> links up -> number
 *     run      -> a step from the pool -> executor -> ended -> back
 */
#include "daemon/worker/graphs.h"

#include "common/graphdef.h"
#include "common/proto/config.pb.h"
#include "daemon/worker/executor.h"
#include "daemon/worker/function.h"
#include "daemon/worker/trace.h"
#include "daemon/worker/worker_service.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of one graph, those that are kept for the next run. */
#define IDLE_STEPS_MAX 64
#define IDLE_STEPS_SIZE_MAX ((size_t)64 << 20)

/* ---- A graph ------------------------------------------------------------- */

static void entry_unref(struct tfd_graph_entry *g)
{
    if (--g->refs > 0)
        return;
    while (g->idle) {
        struct tfd_step *next = g->idle->next;

        tfd_step_free(g->idle);
        g->idle = next;
    }
    tfd_map_deinit(&g->feeds);
    tfd_map_deinit(&g->fetches);
    tfd_exec_free(g->exec);
    tfd_task_session_unref(g->session);
    free(g);
}

uint64_t tfd_graphs_number(struct tfd_str handle)
{
    uint64_t number = 0;

    if (handle.size != 16)
        return 0;
    for (size_t i = 0; i < handle.size; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *at = memchr(digits, handle.data[i], sizeof(digits) - 1);

        if (!at)
            return 0;
        number = number << 4 | (uint64_t)(at - digits);
    }
    return number;
}

struct tfd_graph_entry *tfd_graphs_find(struct tfd_worker_service *w,
                                        uint64_t id)
{
    return tfd_id_map_get(&w->graphs, id);
}

void tfd_graphs_remove(struct tfd_graph_entry *g)
{
    tfd_id_map_remove(&g->worker->graphs, g->id);
    if (g->previous)
        g->previous->next = g->next;
    else
        g->session->graphs = g->next;
    if (g->next)
        g->next->previous = g->previous;
    entry_unref(g);
}

/* ---- Registering --------------------------------------------------------- */

struct tfd_registration;

/* A link that a registration waits for. */
struct dialled {
    struct tfd_registration *registration;
    int32_t peer;
    struct tfd_outcall *call;
    struct dialled *next;
};

struct tfd_registration {
    struct tfd_job job;
    struct tfd_post post;
    struct tfd_worker_service *worker;
    const struct tfd_register_graph *request;
    struct tfd_task_session *session;
    struct tfd_exec *exec;
    bool by_name;
    int links;               /* that are not up yet, and one */
    struct dialled *dialled; /* those */
    bool cancelled;
    tfd_worker_registered_fn *done;
    void *ctx;
    struct tfd_status st;
    struct tfd_registration *next; /* of the worker */
};

static enum tfd_code check_names(const struct tfd_register_graph *r,
                                 const struct tfd_exec *e,
                                 struct tfd_status *st)
{
    if (e->feed_count > r->feed_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s is fed and not among the %d feeds",
                        e->feeds[r->feed_count].key, r->feed_count);
    if (e->fetch_count > r->fetch_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s is fetched and not among the %d fetches",
                        e->fetches[r->fetch_count].key, r->fetch_count);
    return TFD_OK;
}

/* What the graph's kernels may call, if there is a library. */
static enum tfd_code make_functions(struct tfd_registration *r,
                                    struct tfd_graph *g,
                                    struct tfd_compile_env *env,
                                    struct tfd_status *st)
{
    const struct tfd_worker_service *w = r->worker;

    if (!g->functions)
        return TFD_OK;
    env->functions = tfd_function_table_new(g, env, st);
    if (!env->functions)
        return TFD_RESOURCE_EXHAUSTED;
    env->functions->loop = w->options.loop;
    env->functions->pool = w->options.pool;
    env->functions->transfer = w->transfer;
    return TFD_OK;
}

static enum tfd_code compile(struct tfd_registration *r, struct tfd_status *st)
{
    const struct tfd_register_graph *q = r->request;
    const struct tfd_graphdef_options options = {.require_full_device = true};
    struct tfd_compile_env env = {
        .registry = r->worker->options.registry,
        .devices = r->session->devices,
        .rts = r->session->rt,
        .shared = tfd_task_session_state,
        .session = r->session,
        .feeds = q->feeds,
        .fetches = q->fetches,
        .feed_count = q->feed_count,
        .fetch_count = q->fetch_count,
    };
    struct tfd_graph *g = tfd_graph_new(&env.registry->ops, st);
    int32_t first;

    if (!g)
        return TFD_RESOURCE_EXHAUSTED;
    if (tfd_graphdef_import(g, q->graph_def, &options, &first, st) != TFD_OK) {
        tfd_graph_unref(g);
        return TFD_INVALID_ARGUMENT;
    }
    if (make_functions(r, g, &env, st) != TFD_OK) {
        tfd_graph_unref(g);
        return TFD_RESOURCE_EXHAUSTED;
    }
    TFD_TRY(tfd_exec_compile(&env, g, &r->exec, st));
    return r->by_name ? check_names(q, r->exec, st) : TFD_OK;
}

static void compile_job(struct tfd_job *job)
{
    struct tfd_registration *r =
        (struct tfd_registration *)((char *)job -
                                    offsetof(struct tfd_registration, job));

    (void)compile(r, &r->st);
    tfd_loop_post(r->worker->options.loop, &r->post);
}

static bool map_keys(struct tfd_map *m, const struct tfd_exec_feed *ends,
                     int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (ends[i].node &&
            !tfd_map_put(m, tfd_str_of(ends[i].key), (uintptr_t)i))
            return false;
    return true;
}

static struct tfd_graph_entry *add_entry(struct tfd_registration *r)
{
    struct tfd_worker_service *w = r->worker;
    struct tfd_graph_entry *g = calloc(1, sizeof(*g));
    struct tfd_exec *e = r->exec;

    if (!g)
        return NULL;
    *g = (struct tfd_graph_entry){
        .id = w->next_graph,
        .refs = 1,
        .worker = w,
        .session = tfd_task_session_ref(r->session),
        .exec = e,
        .next = r->session->graphs,
    };
    r->exec = NULL;
    for (int32_t i = 0; i < e->channel_count; i++)
        g->pushes |= e->channels[i].pushes && e->channels[i].sends;
    if (!map_keys(&g->feeds, e->feeds, e->feed_count) ||
        !map_keys(&g->fetches, e->fetches, e->fetch_count) ||
        !tfd_id_map_put(&w->graphs, g->id, g)) {
        entry_unref(g);
        return NULL;
    }
    w->next_graph++;
    if (g->next)
        g->next->previous = g;
    r->session->graphs = g;
    return g;
}

static void delist_registration(struct tfd_registration *r)
{
    struct tfd_registration **at = &r->worker->registrations;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->worker->registering--;
}

static void registration_end(struct tfd_registration *r)
{
    struct tfd_graph_entry *g = NULL;

    if (r->st.code == TFD_OK && r->session->is_closed)
        tfd_fail(&r->st, TFD_ABORTED, "Session %s was closed",
                 r->session->handle);
    if (r->st.code == TFD_OK) {
        g = add_entry(r);
        if (!g)
            tfd_fail(&r->st, TFD_RESOURCE_EXHAUSTED, "no memory for a graph");
    }
    tfd_exec_free(r->exec);
    delist_registration(r);
    tfd_task_session_unref(r->session);
    r->done(r->ctx, &r->st, g ? g->id : 0);
    tfd_worker_one_less(r->worker);
    free(r);
}

/* ---- Links --------------------------------------------------------------- */

static void delist_dialled(struct dialled *d)
{
    struct dialled **at = &d->registration->dialled;

    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
}

static void link_up(void *ctx, const struct tfd_status *st,
                    const struct tfd_incoming *response)
{
    struct dialled *d = ctx;
    struct tfd_registration *r = d->registration;
    struct tfd_status own = *st;

    (void)response;
    delist_dialled(d);
    tfd_status_context(&own, "cannot push tensors to %s: ",
                       tfd_peers_task(r->worker->options.peers, d->peer));
    tfd_status_copy(&r->st, &own);
    free(d);
    if (--r->links == 0)
        registration_end(r);
}

static void dial(struct tfd_registration *r, int32_t peer,
                 struct tfd_channel *ch)
{
    struct dialled *d = malloc(sizeof(*d));
    struct tfd_outcall_options options = {r->worker->options.peer_wait_us,
                                          true};
    struct tfd_message m;

    if (!d) {
        tfd_fail(&r->st, TFD_RESOURCE_EXHAUSTED, "no memory for a link");
        return;
    }
    *d = (struct dialled){r, peer, NULL, r->dialled};
    r->dialled = d;
    r->links++;
    tfd_message_init(&m, tfd_channel_protocol(ch) == TFD_PROTO_NATIVE);
    d->call =
        tfd_channel_call(ch, TFD_METHOD_GetStatus, &m, &options, link_up, d);
    tfd_message_deinit(&m);
}

static bool seen_before(const struct tfd_exec *e, int32_t at)
{
    for (int32_t i = 0; i < at; i++)
        if (e->channels[i].peer == e->channels[at].peer &&
            e->channels[i].sends && e->channels[i].pushes)
            return true;
    return false;
}

static enum tfd_code find_peer(const struct tfd_registration *r,
                               struct tfd_exec_channel *ch,
                               struct tfd_status *st)
{
    struct tfd_peers *peers = r->worker->options.peers;

    if (ch->local)
        return TFD_OK;
    if (peers)
        ch->peer =
            tfd_peers_find_in(peers, r->session->peers, tfd_str_of(ch->device));
    if (ch->peer >= 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s unknown device.", ch->device);
}

static void compiled(struct tfd_post *p)
{
    struct tfd_registration *r =
        (struct tfd_registration *)((char *)p -
                                    offsetof(struct tfd_registration, post));
    struct tfd_exec *e = r->exec;

    if (r->cancelled)
        tfd_fail(&r->st, TFD_CANCELLED, "RegisterGraph was cancelled");
    r->links = 1;
    for (int32_t i = 0; r->st.code == TFD_OK && i < e->channel_count; i++) {
        struct tfd_exec_channel *ch = &e->channels[i];
        struct tfd_channel *link;

        if (find_peer(r, ch, &r->st) != TFD_OK || ch->local || !ch->pushes ||
            !ch->sends || seen_before(e, i))
            continue;
        link = tfd_peers_channel(r->worker->options.peers, ch->peer);
        if (!link)
            tfd_fail(&r->st, TFD_RESOURCE_EXHAUSTED, "no memory for a link");
        else if (!tfd_channel_up(link))
            dial(r, ch->peer, link);
    }
    if (--r->links == 0)
        registration_end(r);
}

/* One that is compiled right now hears of it afterwards. */
void tfd_graphs_cancel_register(struct tfd_worker_service *w, const void *ctx)
{
    struct tfd_registration *r = w->registrations;

    while (r && r->ctx != ctx)
        r = r->next;
    if (!r)
        return;
    r->cancelled = true;
    for (struct dialled *d = r->dialled; d; d = d->next)
        tfd_channel_cancel(d->call);
}

void tfd_graphs_register(struct tfd_worker_service *w,
                         const struct tfd_register_graph *request,
                         struct tfd_task_session *session, bool by_name,
                         tfd_worker_registered_fn *done, void *ctx)
{
    struct tfd_registration *r = calloc(1, sizeof(*r));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!r)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a graph");
    if (!r || tfd_worker_check(w, &st) != TFD_OK) {
        free(r);
        done(ctx, &st, 0);
        return;
    }
    *r = (struct tfd_registration){
        .job.run = compile_job,
        .post.run = compiled,
        .worker = w,
        .request = request,
        .session = tfd_task_session_ref(session),
        .by_name = by_name,
        .done = done,
        .ctx = ctx,
        .next = w->registrations,
    };
    w->registrations = r;
    w->registering++;
    if (w->options.pool)
        tfd_pool_submit(w->options.pool, &r->job);
    else
        compile_job(&r->job);
}

/* ---- Running ------------------------------------------------------------- */

static void enlist(struct tfd_worker_service *w, struct tfd_step *s)
{
    s->previous = NULL;
    s->next = w->steps;
    if (s->next)
        s->next->previous = s;
    w->steps = s;
    w->step_count++;
}

static void delist(struct tfd_worker_service *w, struct tfd_step *s)
{
    if (s->previous)
        s->previous->next = s->next;
    else
        w->steps = s->next;
    if (s->next)
        s->next->previous = s->previous;
    w->step_count--;
    w->steps_done++;
}

static void drop_tensors(struct tfd_tensor *t, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        tfd_tensor_unref(&t[i]);
}

static void put_back(struct tfd_graph_entry *g, struct tfd_step *s)
{
    size_t kept = (size_t)g->idle_count * tfd_step_size(s);

    if (g->idle_count == IDLE_STEPS_MAX ||
        (g->idle_count > 0 && kept > IDLE_STEPS_SIZE_MAX)) {
        tfd_step_free(s);
        return;
    }
    tfd_step_reset(s);
    s->next = g->idle;
    g->idle = s;
    g->idle_count++;
}

/* What the step's run asked for beside its results. */
static void describe(const struct tfd_graph_entry *g, struct tfd_step *s)
{
    struct tfd_run_trace *t = s->run->trace;
    size_t mark;

    if (s->trace && s->status.code == TFD_OK)
        tfd_trace_write(s->trace, &t->stats);
    tfd_trace_free(s->trace);
    s->trace = NULL;
    if (!t->partition_graphs || s->status.code != TFD_OK)
        return;
    mark =
        tfd_pb_begin(&t->graphs, tensorflow_RunMetadata_partition_graphs_tag);
    tfd_graphdef_export(&t->graphs, g->exec->graph);
    tfd_pb_finish(&t->graphs, mark);
}

static void ended(struct tfd_step *s)
{
    struct tfd_graph_entry *g = s->owner;
    struct tfd_worker_service *w = g->worker;
    struct tfd_run_graph *run = s->run;
    struct tfd_status st = TFD_STATUS_INIT;

    if (g->pushes) {
        tfd_transfer_flush(w->transfer);
        tfd_transfer_forget(w->transfer, s);
    }
    if (s->status.code != TFD_OK) {
        tfd_status_copy(&st, &s->status);
        drop_tensors(s->fetches, g->exec->fetch_count);
    }
    drop_tensors(s->feeds, g->exec->feed_count);
    if (run->trace)
        describe(g, s);
    if (s->rendezvous)
        tfd_rendezvous_end(w->rendezvous, s->rendezvous);
    delist(w, s);
    put_back(g, s);
    entry_unref(g);
    run->worker = NULL;
    run->done(run, &st);
    tfd_worker_one_less(w);
}

static void deadline(struct tfd_timer *t)
{
    struct tfd_step *s =
        (struct tfd_step *)((char *)t - offsetof(struct tfd_step, deadline));
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_DEADLINE_EXCEEDED, "Operation timed out.");
    tfd_executor_fail(s, &st);
}

static struct tfd_step *new_step(struct tfd_graph_entry *g,
                                 struct tfd_status *st)
{
    struct tfd_worker_service *w = g->worker;
    struct tfd_step *s = g->idle;

    if (s) {
        g->idle = s->next;
        g->idle_count--;
        return s;
    }
    s = tfd_step_new(g->exec, w->options.loop, w->options.pool, st);
    if (!s)
        return NULL;
    s->owner = g;
    s->ended = ended;
    s->transfer = w->transfer;
    tfd_timer_init(&s->deadline, w->options.loop, deadline);
    return s;
}

static enum tfd_code begin(struct tfd_graph_entry *g, struct tfd_step *s,
                           struct tfd_run_graph *run, struct tfd_status *st)
{
    struct tfd_worker_service *w = g->worker;

    s->id = run->step_id;
    s->run = run;
    s->feeds = run->feeds;
    s->fetches = run->fetches;
    s->rendezvous = NULL;
    if (run->trace && run->trace->timeline) {
        s->trace = tfd_trace_new(g->session->rt, g->session->device_count, st);
        if (!s->trace)
            return TFD_RESOURCE_EXHAUSTED;
    }
    if (g->exec->local_channels > 0)
        TFD_TRY(tfd_rendezvous_begin(
            w->rendezvous, s->id, g->exec->local_channels, &s->rendezvous, st));
    if (run->deadline_us > 0) {
        uint64_t now = tfd_loop_now_us(w->options.loop);
        uint64_t left = run->deadline_us > now ? run->deadline_us - now : 0;

        TFD_TRY(tfd_timer_start(&s->deadline, left, st));
    }
    return TFD_OK;
}

void tfd_graphs_run(struct tfd_graph_entry *g, struct tfd_run_graph *run)
{
    struct tfd_status st;
    struct tfd_step *s;

    tfd_status_clear(&st);
    run->worker = NULL;
    s = tfd_worker_check(g->worker, &st) == TFD_OK ? new_step(g, &st) : NULL;
    if (!s || begin(g, s, run, &st) != TFD_OK) {
        if (s && s->rendezvous)
            tfd_rendezvous_end(g->worker->rendezvous, s->rendezvous);
        if (s) {
            tfd_trace_free(s->trace);
            s->trace = NULL;
            put_back(g, s);
        }
        drop_tensors(run->feeds, g->exec->feed_count);
        run->done(run, &st);
        return;
    }
    g->refs++;
    run->worker = s;
    enlist(g->worker, s);
    s->alone = g->worker->step_count == 1;
    tfd_executor_start(s);
}

void tfd_graphs_cancel(struct tfd_run_graph *run, const struct tfd_status *st)
{
    if (run->worker)
        tfd_executor_fail(run->worker, st);
}

/* ---- Many steps at once -------------------------------------------------- */

static bool pushes_with(const struct tfd_exec *e, int32_t peer)
{
    for (int32_t i = 0; i < e->channel_count; i++)
        if (!e->channels[i].local && e->channels[i].pushes &&
            e->channels[i].peer == peer)
            return true;
    return false;
}

/* Each may end at once and take others of the list along; one that waits for
 * its threads stays, and is passed over. */
void tfd_graphs_fail(struct tfd_worker_service *w, int32_t peer,
                     const struct tfd_status *why)
{
    struct tfd_step *s = w->steps;

    while (s) {
        if (__atomic_load_n(&s->failed, __ATOMIC_ACQUIRE) ||
            (peer >= 0 && !pushes_with(s->exec, peer))) {
            s = s->next;
        } else {
            tfd_executor_fail(s, why);
            s = w->steps;
        }
    }
}
