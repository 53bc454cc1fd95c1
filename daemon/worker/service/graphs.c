/*
 * graphs.c - see graphs.h.
 *
 *     register register_graph.c
 *     run      -> a step from the pool -> executor -> ended -> back
 */
#include "daemon/worker/service/graphs.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/proto/config.pb.h"
#include "common/proto/graphdef.h"
#include "daemon/worker/run/executor.h"
#include "daemon/worker/run/trace.h"
#include "daemon/worker/service/worker_service.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of one graph, those that are kept for the next run. */
#define IDLE_STEPS_MAX 64
#define IDLE_STEPS_SIZE_MAX ((size_t)64 << 20)

/* ---- A graph ------------------------------------------------------------- */

void tfd_graph_entry_unref(struct tfd_graph_entry *g)
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
    tfd_graph_entry_unref(g);
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
static void describe_step(const struct tfd_graph_entry *g, struct tfd_step *s)
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
        describe_step(g, s);
    if (s->rendezvous)
        tfd_rendezvous_end(w->rendezvous, s->rendezvous);
    delist(w, s);
    put_back(g, s);
    tfd_graph_entry_unref(g);
    run->worker = NULL;
    run->done(run, &st);
    tfd_worker_one_less(w);
}

static void deadline(struct tfd_timer *t)
{
    struct tfd_step *s = TFD_CONTAINER_OF(t, struct tfd_step, deadline);
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
    s = tfd_executor_step(g->exec, w->options.loop, w->options.pool, st);
    if (!s)
        return NULL;
    s->owner = g;
    s->ended = ended;
    s->transfer = w->transfer;
    tfd_timer_init(&s->deadline, w->options.loop, deadline);
    return s;
}

static enum tfd_code begin_graph_step(struct tfd_graph_entry *g,
                                      struct tfd_step *s,
                                      struct tfd_run_graph *run,
                                      struct tfd_status *st)
{
    struct tfd_worker_service *w = g->worker;

    s->id = run->step_id;
    s->run = run;
    s->feeds = run->feeds;
    s->fetches = run->fetches;
    s->rendezvous = NULL;
    if (run->trace && run->trace->timeline) {
        /* Without memory the step counts, not its trace. */
        s->trace =
            tfd_trace_new(g->session->rt, g->session->device_count, NULL);
        if (s->trace)
            tfd_trace_left_out(s->trace, g->exec);
    }
    if (g->exec->local_channels > 0)
        TFD_TRY((run->shares_step ? tfd_rendezvous_join : tfd_rendezvous_begin)(
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
    if (!s || begin_graph_step(g, s, run, &st) != TFD_OK) {
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
        if (TFD_LOAD_ACQUIRE(&s->failed) ||
            (peer >= 0 && !pushes_with(s->exec, peer))) {
            s = s->next;
        } else {
            tfd_executor_fail(s, why);
            s = w->steps;
        }
    }
}
