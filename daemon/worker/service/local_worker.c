/*
 * local_worker.c - worker_api.h as direct calls into this process's worker.
 */
#include "daemon/worker/service/task_session_memory.h"
#include "daemon/worker/service/task_session_use.h"

static const struct tfd_status ok = TFD_STATUS_INIT;

static struct tfd_worker_service *service_of(struct tfd_worker *w)
{
    return (struct tfd_worker_service *)w;
}

static void get_status(struct tfd_worker *w, uint64_t timeout_us,
                       tfd_worker_status_fn *done, void *ctx)
{
    struct tfd_worker_service *s = service_of(w);

    (void)timeout_us;
    done(ctx, &ok, s->attributes, s->devices.count);
}

/* The others were answered at once. */
static void cancel_call(struct tfd_worker *w, const void *ctx)
{
    tfd_graphs_cancel_register(service_of(w), ctx);
    tfd_step_sequences_cancel(&service_of(w)->collectives.steps, ctx);
}

static void create_session(struct tfd_worker *w,
                           const struct tfd_worker_session *s,
                           tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_worker_create_session(service_of(w), s, &st) != TFD_OK)
        done(ctx, &st);
    else
        done(ctx, &ok);
}

static void delete_session(struct tfd_worker *w, struct tfd_str handle,
                           enum tfd_session_end end, uint64_t timeout_us,
                           tfd_worker_done_fn *done, void *ctx)
{
    (void)timeout_us;
    tfd_worker_delete_session(service_of(w), handle, end);
    if (done)
        done(ctx, &ok);
}

/* ---- Graphs -------------------------------------------------------------- */

static void register_graph(struct tfd_worker *w,
                           const struct tfd_register_graph *request,
                           tfd_worker_registered_fn *done, void *ctx)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_task_session *session;

    if (tfd_worker_find_session(service_of(w), request->session, &session,
                                &st) == TFD_OK)
        tfd_graphs_register(service_of(w), request, session, true, done, ctx);
    else
        done(ctx, &st, 0);
}

static void deregister_graph(struct tfd_worker *w, struct tfd_str session,
                             uint64_t graph)
{
    struct tfd_graph_entry *g = tfd_graphs_find(service_of(w), graph);

    (void)session;
    if (g)
        tfd_graphs_remove(g);
}

static void run_graph(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct tfd_graph_entry *g = tfd_graphs_find(service_of(w), run->graph);
    struct tfd_status st;

    if (g) {
        tfd_graphs_run(g, run);
        return;
    }
    tfd_status_clear(&st);
    tfd_fail(&st, TFD_ABORTED, "Graph handle is not found: %016llx",
             (unsigned long long)run->graph);
    run->worker = NULL;
    run->done(run, &st);
}

static void cancel(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)w;
    tfd_fail(&st, TFD_CANCELLED, "Step was cancelled.");
    tfd_graphs_cancel(run, &st);
}

static enum tfd_code hold_step(struct tfd_worker *w, int64_t step,
                               struct tfd_status *st)
{
    return tfd_rendezvous_hold(service_of(w)->rendezvous, step, st);
}

static void learn_steps(struct tfd_worker *w, uint64_t graph_key,
                        tfd_worker_done_fn *done, void *ctx)
{
    tfd_step_sequences_learn(&service_of(w)->collectives.steps, graph_key, done,
                             ctx);
}

static int64_t begin_step(struct tfd_worker *w, uint64_t graph_key)
{
    return tfd_step_sequences_begin(&service_of(w)->collectives.steps,
                                    graph_key);
}

static void end_step(struct tfd_worker *w, uint64_t graph_key, int64_t step,
                     bool well)
{
    tfd_step_sequences_end(&service_of(w)->collectives.steps, graph_key, step,
                           well);
}

static void cleanup_graph(struct tfd_worker *w, int64_t step_id)
{
    tfd_rendezvous_cleanup(service_of(w)->rendezvous, step_id);
}

static void cleanup_all(struct tfd_worker *w, const struct tfd_str *containers,
                        int count, tfd_worker_done_fn *done, void *ctx)
{
    tfd_worker_cleanup_all(service_of(w), containers, count);
    if (done)
        done(ctx, &ok);
}

/* Looking is no use of it. */
static size_t session_memory(struct tfd_worker *w, struct tfd_str handle)
{
    uintptr_t found;

    return tfd_map_get(&service_of(w)->sessions, handle, &found)
               ? tfd_task_session_memory((struct tfd_task_session *)found)
               : 0;
}

static size_t resource_memory(struct tfd_worker *w, struct tfd_resource *r)
{
    (void)w;
    return tfd_task_session_resource_memory(r);
}

static bool is_native(const struct tfd_worker *w)
{
    (void)w;
    return true;
}

static const char *trouble(const struct tfd_worker *w)
{
    (void)w;
    return "";
}

const struct tfd_worker_ops tfd_worker_local_ops = {
    .get_status = get_status,
    .cancel_call = cancel_call,
    .create_session = create_session,
    .delete_session = delete_session,
    .register_graph = register_graph,
    .deregister_graph = deregister_graph,
    .run_graph = run_graph,
    .cancel = cancel,
    .put = tfd_worker_put_value,
    .take = tfd_worker_take_value,
    .hold_step = hold_step,
    .learn_steps = learn_steps,
    .begin_step = begin_step,
    .end_step = end_step,
    .cleanup_graph = cleanup_graph,
    .cleanup_all = cleanup_all,
    .session_memory = session_memory,
    .resource_memory = resource_memory,
    .is_native = is_native,
    .trouble = trouble,
};
