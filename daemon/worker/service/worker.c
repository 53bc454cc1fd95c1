/*
 * worker.c - makes a worker of its parts (devices, resources, tables of
 * sessions and graphs, transfers), stops and frees it, and counts what it has:
 * see worker.h.
 */
#include "daemon/worker/service/partial_call.h"

#include "common/base/atomic.h"
#include "config/limits.h"
#include "daemon/worker/run/executor.h"
#include "daemon/worker/service/lost_peers.h"
#include "daemon/worker/service/stuck_steps.h"
#include "daemon/worker/service/task_session_idle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Windows of TensorFlow. */
#define RUN_IDS_MAX 10000
#define RECV_IDS_MAX 100000

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code make_parts(struct tfd_worker_service *w,
                                struct tfd_status *st)
{
    const struct tfd_worker_options *o = &w->options;

    TFD_TRY(tfd_devices_add_cpu(&w->devices, o->task, o->cpu_count, st));
    for (int i = 0; i < o->device_count; i++)
        TFD_TRY(tfd_devices_add(&w->devices, o->task, &o->devices[i], st));
    for (int i = 0; i < w->devices.count; i++)
        w->attributes[i] = w->devices.device[i].attributes;
    w->rendezvous = tfd_rendezvous_table_new(o->loop, st);
    if (!w->rendezvous)
        return TFD_RESOURCE_EXHAUSTED;
    w->transfer = tfd_transfer_new(o->loop, o->peers, st);
    w->peer_memory = tfd_peer_memory_new(w, st);
    if (!w->transfer || !w->peer_memory)
        return TFD_RESOURCE_EXHAUSTED;
    TFD_TRY(tfd_worker_make_lasting(w, st));
    tfd_collectives_init(&w->collectives, o->loop, o->peers, o->service,
                         &w->devices);
    w->default_session = tfd_worker_new_session(w, NULL, st);
    return w->default_session ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

enum tfd_code tfd_worker_service_new(const struct tfd_worker_options *o,
                                     struct tfd_worker_service **out,
                                     struct tfd_status *st)
{
    struct tfd_worker_service *w = calloc(1, sizeof(*w));
    enum tfd_code rc;

    if (!w)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a worker");
    w->options = *o;
    w->local.ops = &tfd_worker_local_ops;
    snprintf(w->local.task, sizeof(w->local.task), "%s", o->task);
    w->next_graph = 1;
    tfd_request_ids_init(&w->run_ids, RUN_IDS_MAX);
    tfd_request_ids_init(&w->recv_ids, RECV_IDS_MAX);
    rc = make_parts(w, st);
    if (rc != TFD_OK) {
        tfd_worker_service_free(w);
        return rc;
    }
    if (o->service)
        tfd_worker_bind(w);
    if (o->peers)
        tfd_lost_peers_follow(w);
    tfd_worker_watch_idle(w);
    tfd_stuck_steps_watch(w);
    *out = w;
    return TFD_OK;
}

/* ---- Ending -------------------------------------------------------------- */

void tfd_worker_stop(struct tfd_worker_service *w, const struct tfd_status *why)
{
    w->stopping = true;
    TFD_STORE_RELEASE(&w->lasting.stopping, 1);
    tfd_graphs_fail(w, -1, why);
    tfd_collectives_stop(&w->collectives, why);
}

void tfd_worker_finish(struct tfd_worker_service *w)
{
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_UNAVAILABLE, "%s is shutting down", w->local.task);
    tfd_worker_stop(w, &st);
    w->waiting = true;
    while (tfd_worker_has_work(w))
        tfd_loop_run(w->options.loop);
    w->waiting = false;
}

void tfd_worker_service_free(struct tfd_worker_service *w)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    tfd_worker_finish(w);
    tfd_stuck_steps_stop(w);
    tfd_worker_stop_watching(w);
    tfd_lost_peers_free(w);
    while (tfd_map_next(&w->sessions, &at, &e))
        tfd_worker_drop_session((struct tfd_task_session *)e->value);
    tfd_map_deinit(&w->sessions);
    tfd_worker_drop_session(w->default_session);
    for (int i = 0; i < w->devices.count; i++)
        tfd_containers_clear_all(w->devices.device[i].containers);
    tfd_worker_end_lasting(w);
    tfd_collectives_deinit(&w->collectives);
    if (w->rendezvous)
        tfd_rendezvous_clear(w->rendezvous);
    tfd_peer_memory_free(w->peer_memory);
    tfd_rendezvous_table_free(w->rendezvous);
    tfd_transfer_free(w->transfer);
    tfd_worker_free_run_calls(w);
    tfd_partial_call_free_all(w);
    tfd_id_map_deinit(&w->graphs);
    tfd_request_ids_deinit(&w->run_ids);
    tfd_request_ids_deinit(&w->recv_ids);
    tfd_devices_deinit(&w->devices);
    free(w);
}

struct tfd_worker *tfd_worker_local(struct tfd_worker_service *w)
{
    return &w->local;
}

/* ---- Numbers ------------------------------------------------------------- */

int tfd_worker_session_count(const struct tfd_worker_service *w)
{
    return (int)w->sessions.count;
}

struct tfd_worker_counts tfd_worker_counts(struct tfd_worker_service *w)
{
    struct tfd_worker_counts c = {
        .sessions = (int)w->sessions.count,
        .graphs = (int)w->graphs.count,
        .registering = w->registering,
        .steps = w->step_count,
        .steps_done = w->steps_done,
        .abandoned = w->abandoned,
        .parked_size = tfd_rendezvous_stats(w->rendezvous).parked_size,
    };

    for (int i = 0; i < w->devices.count; i++)
        c.resources += tfd_containers_count(w->devices.device[i].containers);
    return c;
}

void tfd_worker_each_resource(struct tfd_worker_service *w, int max,
                              void (*fn)(void *ctx, const char *device,
                                         struct tfd_containers_item *item),
                              void *ctx)
{
    struct tfd_containers_item *items = calloc((size_t)max, sizeof(*items));

    for (int d = 0; items && d < w->devices.count && max > 0; d++) {
        int n =
            tfd_containers_list(w->devices.device[d].containers, max, items);

        for (int i = 0; i < n; i++) {
            fn(ctx, w->devices.device[d].attributes.name, &items[i]);
            tfd_resource_unref(items[i].resource);
        }
        max -= n;
    }
    free(items);
}
