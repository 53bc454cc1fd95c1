/*
 * graph.c - see graph.h.
 */
#include "daemon/eager/graph.h"

#include "daemon/eager/parts/tasks.h"
#include "common/base/container.h"
#include "daemon/eager/context.h"
#include "daemon/eager/graph_ends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Graphs -------------------------------------------------------------- */

/* In one block: views, then the names. */
static struct tfd_str *new_ends(int arg_count, int result_count)
{
    size_t count = (size_t)arg_count + (size_t)result_count;
    struct tfd_str *ends =
        malloc((sizeof(*ends) + TFD_EAGER_END_NAME_MAX) * count + 1);
    char *at = (char *)(ends + count);

    if (!ends)
        return NULL;
    for (size_t i = 0; i < count; i++, at += TFD_EAGER_END_NAME_MAX) {
        bool is_arg = i < (size_t)arg_count;

        ends[i] = tfd_str_of(tfd_eager_end_name(
            at, is_arg, (int)(is_arg ? i : i - (size_t)arg_count)));
    }
    return ends;
}

enum tfd_code tfd_eager_graph_new(struct tfd_eager_context *c,
                                  struct tfd_bytes *take_def, int arg_count,
                                  int result_count,
                                  struct tfd_eager_graph **out,
                                  struct tfd_status *st)
{
    struct tfd_eager_graph *g = calloc(1, sizeof(*g));
    struct tfd_str *ends = new_ends(arg_count, result_count);
    enum tfd_code rc = tfd_bytes_ok(take_def, "a graph", st);

    if (rc == TFD_OK && (!g || !ends))
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a graph");
    if (rc != TFD_OK) {
        tfd_bytes_deinit(take_def);
        free(ends);
        free(g);
        return rc;
    }
    *g = (struct tfd_eager_graph){
        .refs = 1,
        .context = c,
        .worker = c->eager->options.worker,
        .arg_count = arg_count,
        .result_count = result_count,
        .def = *take_def,
        .ends = ends,
    };
    tfd_bytes_init(take_def, take_def->max);
    *out = g;
    return TFD_OK;
}

enum tfd_code
tfd_eager_graph_new_at(struct tfd_eager_context *c,
                       struct tfd_eager_tasks *tasks, struct tfd_worker *at,
                       struct tfd_bytes *take_def, struct tfd_str name,
                       int arg_count, int result_count,
                       struct tfd_eager_graph **out, struct tfd_status *st)
{
    char *copy = malloc(name.size + 1);

    if (!copy) {
        tfd_bytes_deinit(take_def);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a graph");
    }
    memcpy(copy, name.data, name.size);
    copy[name.size] = '\0';
    if (tfd_eager_graph_new(c, take_def, arg_count, result_count, out, st) !=
        TFD_OK) {
        free(copy);
        return TFD_RESOURCE_EXHAUSTED;
    }
    (*out)->worker = at;
    (*out)->tasks = tfd_eager_tasks_ref(tasks);
    (*out)->name = copy;
    return TFD_OK;
}

/* The worker keeps a graph that still runs until its last step has ended. */
static void deregister(struct tfd_eager_graph *g)
{
    struct tfd_worker *w = g->worker;

    if (g->number)
        w->ops->deregister_graph(w, tfd_str_of(g->context->session), g->number);
    g->number = 0;
}

void tfd_eager_graph_unref(struct tfd_eager_graph *g)
{
    if (!g || --g->refs > 0)
        return;
    assert(!g->waiting);
    deregister(g);
    tfd_bytes_deinit(&g->def);
    tfd_eager_tasks_unref(g->tasks);
    free(g->name);
    free(g->ends);
    free(g);
}

/* ---- Runs ---------------------------------------------------------------- */

static void run_done(struct tfd_run_graph *run, const struct tfd_status *st);

static struct tfd_eager_run *allocate_run(size_t count)
{
    struct tfd_eager_run *r =
        calloc(1, sizeof(*r) + count * sizeof(struct tfd_tensor));

    if (r)
        r->args = (struct tfd_tensor *)(r + 1);
    return r;
}

struct tfd_eager_run *tfd_eager_run_new(struct tfd_eager_context *c,
                                        struct tfd_eager_graph *g,
                                        struct tfd_status *st)
{
    struct tfd_eager_run *r =
        allocate_run((size_t)g->arg_count + (size_t)g->result_count);

    if (!r) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                 "no memory to run an operation with %d arguments and %d "
                 "results",
                 g->arg_count, g->result_count);
        return NULL;
    }
    r->results = r->args + g->arg_count;
    r->context = tfd_eager_context_ref(c);
    r->graph = g;
    g->refs++;
    r->next = c->runs;
    if (r->next)
        r->next->previous = r;
    c->runs = r;
    c->eager->runs++;
    return r;
}

void tfd_eager_run_free(struct tfd_eager_run *r)
{
    struct tfd_eager_context *c = r->context;
    int count = r->graph->arg_count + r->graph->result_count;

    assert(!r->is_running);
    for (int i = 0; i < count; i++)
        tfd_tensor_unref(&r->args[i]);
    if (r->previous)
        r->previous->next = r->next;
    else
        c->runs = r->next;
    if (r->next)
        r->next->previous = r->previous;
    c->eager->runs--;
    c->eager->runs_done++;
    c->runs_done++;
    tfd_eager_graph_unref(r->graph);
    free(r);
    tfd_eager_context_unref(c);
}

static void begin_watched(struct tfd_eager_run *r)
{
    struct tfd_tracer *t = r->context->eager->options.tracer;

    r->watched = t->ops->begin(t, r->context->session, &r->run.trace);
}

static void end_watched(struct tfd_tracer *t, struct tfd_eager_run *r,
                        const struct tfd_status *st)
{
    struct tfd_step_watched x = {r->run.step_id, r->context->session, st};

    t->ops->end(t, r->watched, &x);
    r->watched = NULL;
    r->run.trace = NULL;
}

static void run_done(struct tfd_run_graph *run, const struct tfd_status *st)
{
    struct tfd_eager_run *r = (struct tfd_eager_run *)run;

    struct tfd_tracer *t = r->context->eager->options.tracer;
    bool watched = r->watched != NULL;

    if (watched)
        end_watched(t, r, st);
    r->is_running = false;
    r->done(r, st);
    if (watched)
        t->ops->check(t);
}

/* What runs on other tasks is traced there, if somebody wants it. */
static bool is_watched(const struct tfd_eager_run *r)
{
    const struct tfd_tracer *t = r->context->eager->options.tracer;

    return t && t->wants && r->graph->is_function && !r->graph->tasks;
}

static void run_registered(struct tfd_eager_run *r)
{
    struct tfd_worker *w = r->graph->worker;

    r->run.graph = r->graph->number;
    r->run.session = tfd_str_of(r->context->session);
    r->run.feeds = r->args;
    r->run.fetches = r->results;
    r->run.shares_step = true;
    r->run.done = run_done;
    if (is_watched(r))
        begin_watched(r);
    w->ops->run_graph(w, &r->run);
}

static void fail_run(struct tfd_eager_run *r, const struct tfd_status *st)
{
    r->is_running = false;
    r->done(r, st);
}

static void fail_cancelled(struct tfd_eager_run *r)
{
    struct tfd_status cancelled = TFD_STATUS_INIT;

    tfd_fail(&cancelled, TFD_CANCELLED, "The operation was cancelled.");
    fail_run(r, &cancelled);
}

static void go_on_registered(struct tfd_eager_run *r,
                             const struct tfd_status *st)
{
    if (r->is_cancelled)
        fail_cancelled(r);
    else if (st->code != TFD_OK)
        fail_run(r, st);
    else
        run_registered(r);
}

/* ---- Registering --------------------------------------------------------- */

static void go_on_waiting(struct tfd_eager_graph *g,
                          const struct tfd_status *st)
{
    struct tfd_eager_run *r = g->waiting;

    g->waiting = NULL;
    while (r) {
        struct tfd_eager_run *next = r->next_waiting;

        go_on_registered(r, st);
        r = next;
    }
}

static void register_graph(struct tfd_eager_graph *g);

/* The context has got another session meanwhile, and those who wait ran in the
 * old one if they had been quicker. */
static bool is_to_follow(const struct tfd_eager_graph *g)
{
    const struct tfd_eager_context *c = g->context;

    return g->state == TFD_EAGER_WRITTEN && g->waiting && !c->is_closed &&
           g->worker == c->eager->options.worker &&
           g->session_number != c->session_number;
}

static void registered(void *ctx, const struct tfd_status *st, uint64_t number)
{
    struct tfd_eager_graph *g = ctx;
    struct tfd_eager_context *c = g->context;

    g->state = number ? TFD_EAGER_REGISTERED : TFD_EAGER_WRITTEN;
    g->number = number;
    if (number)
        tfd_bytes_deinit(&g->def);
    if (is_to_follow(g))
        register_graph(g);
    else
        go_on_waiting(g, st);
    tfd_eager_graph_unref(g);
    tfd_eager_context_unref(c);
}

/* Those who wait may leave before the answer has come. */
static void register_graph(struct tfd_eager_graph *g)
{
    struct tfd_worker *w = g->worker;

    g->state = TFD_EAGER_REGISTERING;
    g->refs++;
    tfd_eager_context_ref(g->context);
    g->session_number = g->context->session_number;
    g->request = (struct tfd_register_graph){
        .session = tfd_str_of(g->context->session),
        .graph_def = tfd_bytes_view(&g->def),
        .feeds = g->ends,
        .feed_count = g->arg_count,
        .fetches = g->ends + g->arg_count,
        .fetch_count = g->result_count,
        .config_proto = TFD_STR_EMPTY,
    };
    w->ops->register_graph(w, &g->request, registered, g);
}

void tfd_eager_run_begin(struct tfd_eager_run *r, int64_t step_id)
{
    struct tfd_eager_graph *g = r->graph;
    struct tfd_eager_run **last = &g->waiting;

    r->run.step_id = step_id;
    r->is_running = true;
    if (g->state == TFD_EAGER_REGISTERED) {
        run_registered(r);
        return;
    }
    while (*last)
        last = &(*last)->next_waiting;
    *last = r;
    if (g->state == TFD_EAGER_WRITTEN)
        register_graph(g);
}

/* It waits no more; false when it did not. */
static bool leave_waiting(struct tfd_eager_run *r)
{
    struct tfd_eager_run **at = &r->graph->waiting;

    while (*at && *at != r)
        at = &(*at)->next_waiting;
    if (!*at)
        return false;
    *at = r->next_waiting;
    return true;
}

static void cancelled_waiting(struct tfd_post *p)
{
    fail_cancelled(TFD_CONTAINER_OF(p, struct tfd_eager_run, post));
}

void tfd_eager_run_cancel(struct tfd_eager_run *r)
{
    struct tfd_worker *w = r->graph->worker;

    r->is_cancelled = true;
    if (r->is_running && r->run.worker) {
        w->ops->cancel(w, &r->run);
    } else if (leave_waiting(r)) {
        r->post.run = cancelled_waiting;
        tfd_loop_defer(r->context->eager->options.loop, &r->post);
    }
}
