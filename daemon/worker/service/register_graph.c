/*
 * register_graph.c - graphs are registered: see graphs.h.
 *
 *     compiled on a compute thread -> links to peers up -> number
 */
#include "daemon/worker/service/graphs.h"

#include "common/base/container.h"
#include "common/proto/graphdef.h"
#include "daemon/worker/run/called_functions.h"
#include "daemon/worker/service/worker_service.h"

#include <stddef.h>
#include <stdlib.h>

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

static bool wants_home(const struct tfd_graph *g)
{
    for (int32_t i = 0; i < g->count; i++)
        if (g->nodes[i]->op->flags & TFD_OP_HOME)
            return true;
    return false;
}

/* What the graph's kernels may call, if there is a library. */
static enum tfd_code make_functions(struct tfd_registration *r,
                                    struct tfd_graph *g,
                                    struct tfd_compile_env *env,
                                    struct tfd_status *st)
{
    struct tfd_worker_service *w = r->worker;

    if (!g->functions && !wants_home(g))
        return TFD_OK;
    env->functions = tfd_function_table_new(g, env, st);
    if (!env->functions)
        return TFD_RESOURCE_EXHAUSTED;
    env->functions->loop = w->options.loop;
    env->functions->pool = w->options.pool;
    env->functions->transfer = w->transfer;
    env->functions->host = &w->lasting;
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
        .memory = &r->session->memory,
        .chains = r->worker->options.chains,
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
        TFD_CONTAINER_OF(job, struct tfd_registration, job);

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
        tfd_graph_entry_unref(g);
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
    tfd_status_context(&own, "cannot push tensors to %s",
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
        TFD_CONTAINER_OF(p, struct tfd_registration, post);
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
