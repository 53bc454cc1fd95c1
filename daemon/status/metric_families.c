/*
 * metric_families.c - see metric_families.h.
 */
#include "daemon/status/metric_families.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "config/limits.h"
#include "config/version.h"
#include "cuda/device/cuda_device.h"
#include "daemon/master/session/master.h"
#include "rpc/conn/loop_turns.h"
#include "rpc/core/peers.h"

#include <stdio.h>

/* One sample with one label, whose value is terminated. */
static void put_one(struct tfd_metric_text *out, const char *label,
                    const char *text, double value)
{
    const struct tfd_metric_label l = {label, tfd_str_of(text)};

    tfd_metric_text_put(out, &l, 1, value);
}

/* ---- What it is ---------------------------------------------------------- */

void tfd_metric_families_build(struct tfd_metric_text *out,
                               const struct tfd_metrics_scrape *s, size_t at)
{
    (void)s;
    (void)at;
    put_one(out, "version", TFD_VERSION, 1);
}

void tfd_metric_families_role(struct tfd_metric_text *out,
                              const struct tfd_metrics_scrape *s, size_t at)
{
    const struct tfd_cluster *c = &s->v->config->cluster;
    char task[16];
    struct tfd_metric_label labels[] = {{"job", tfd_str_of(c->job_name)},
                                        {"task", {task, 0}}};

    (void)at;
    labels[1].value.size =
        (size_t)snprintf(task, sizeof(task), "%d", c->task_index);
    tfd_metric_text_put(out, labels, 2, 1);
}

/* ---- Steps and what they work on ----------------------------------------- */

void tfd_metric_families_step_times(struct tfd_metric_text *out,
                                    const struct tfd_metrics_scrape *s,
                                    size_t at)
{
    (void)at;
    tfd_metric_text_histogram(out, NULL, 0,
                              tfd_master_step_times(s->v->master));
}

void tfd_metric_families_turns(struct tfd_metric_text *out,
                               const struct tfd_metrics_scrape *s, size_t at)
{
    (void)at;
    tfd_metric_text_histogram(out, NULL, 0, tfd_loop_turns(s->v->loop));
}

void tfd_metric_families_global_step(struct tfd_metric_text *out,
                                     const struct tfd_metrics_scrape *s,
                                     size_t at)
{
    (void)at;
    for (int i = 0; s->resources && i < s->resources->step_count; i++)
        put_one(out, "container", s->resources->steps[i].container,
                (double)s->resources->steps[i].value);
}

void tfd_metric_families_variables(struct tfd_metric_text *out,
                                   const struct tfd_metrics_scrape *s,
                                   size_t at)
{
    (void)at;
    if (s->resources)
        tfd_metric_text_put(out, NULL, 0, s->resources->variables);
}

void tfd_metric_families_variable_bytes(struct tfd_metric_text *out,
                                        const struct tfd_metrics_scrape *s,
                                        size_t at)
{
    (void)at;
    if (s->resources)
        tfd_metric_text_put(out, NULL, 0, (double)s->resources->variable_bytes);
}

void tfd_metric_families_queues(struct tfd_metric_text *out,
                                const struct tfd_metrics_scrape *s, size_t at)
{
    (void)at;
    for (int i = 0; s->resources && i < s->resources->queue_count; i++) {
        const struct tfd_queue_sum *q = &s->resources->queues[i];
        const struct tfd_metric_label labels[] = {
            {"device", tfd_str_of(q->device)},
            {"container", tfd_str_of(q->container)},
            {"queue", tfd_str_of(q->name)}};

        tfd_metric_text_put(out, labels, 3, (double)q->elements);
    }
}

void tfd_metric_families_memory(struct tfd_metric_text *out,
                                const struct tfd_metrics_scrape *s, size_t at)
{
    (void)at;
    put_one(out, "kind", "tensors", (double)s->memory.in_use);
    put_one(out, "kind", "cached", (double)s->memory.cached);
    if (s->resources)
        put_one(out, "kind", "variables", (double)s->resources->variable_bytes);
    put_one(out, "kind", "pushed", (double)s->worker.parked_size);
}

/* ---- Peers and calls ----------------------------------------------------- */

void tfd_metric_families_peer_up(struct tfd_metric_text *out,
                                 const struct tfd_metrics_scrape *s, size_t at)
{
    struct tfd_peers *peers = s->v->peers;
    int told = 0;

    (void)at;
    for (int i = 0; i < tfd_peers_count(peers); i++) {
        const struct tfd_channel *ch = tfd_peers_made(peers, i);

        if (!ch)
            continue;
        if (told++ < TFD_METRIC_PEERS_MAX)
            put_one(out, "peer", tfd_peers_task(peers, i), tfd_channel_up(ch));
        else
            out->left_out++;
    }
}

static void put_traffic(struct tfd_metric_text *out, const char *peer,
                        const struct tfd_traffic *t)
{
    struct tfd_metric_label labels[] = {{"peer", tfd_str_of(peer)},
                                        {"direction", TFD_STR("sent")}};

    tfd_metric_text_put(out, labels, 2, (double)t->sent);
    labels[1].value = TFD_STR("received");
    tfd_metric_text_put(out, labels, 2, (double)t->received);
}

void tfd_metric_families_peer_bytes(struct tfd_metric_text *out,
                                    const struct tfd_metrics_scrape *s,
                                    size_t at)
{
    const struct tfd_traffic *other = tfd_service_traffic(s->v->service);
    struct tfd_peers *peers = s->v->peers;
    int told = 0;

    (void)at;
    if (other)
        put_traffic(out, "other", other);
    for (int i = 0; i < tfd_peers_count(peers); i++) {
        const struct tfd_traffic *t = tfd_peers_traffic_made(peers, i);

        if (!t)
            continue;
        if (told++ < TFD_METRIC_PEERS_MAX)
            put_traffic(out, tfd_peers_task(peers, i), t);
        else
            out->left_out += 2;
    }
}

static double rpc_figure(const struct tfd_method_stats *m, size_t at)
{
    switch (at) {
    case TFD_METRIC_RPC_CALLS:
        return (double)m->calls;
    case TFD_METRIC_RPC_FAILURES:
        return (double)m->failures;
    case TFD_METRIC_RPC_REQUEST_BYTES:
        return (double)m->request_bytes;
    default:
        return (double)m->response_bytes;
    }
}

void tfd_metric_families_rpc(struct tfd_metric_text *out,
                             const struct tfd_metrics_scrape *s, size_t at)
{
    for (int m = 1; m < TFD_METHOD_END; m++) {
        enum tfd_method_number number = (enum tfd_method_number)m;
        const struct tfd_method_stats *stats =
            tfd_service_stats(s->v->service, number);
        const struct tfd_metric_label l = {
            "method", tfd_str_of(tfd_service_path(number) + 1)};

        if (stats->calls == 0)
            continue;
        if (at == TFD_METRIC_RPC_DURATION)
            tfd_metric_text_histogram(out, &l, 1, &stats->durations);
        else
            tfd_metric_text_put(out, &l, 1, rpc_figure(stats, at));
    }
}

/* ---- GPUs ---------------------------------------------------------------- */

static size_t gpu_figure(struct tfd_cuda_device *d, size_t at)
{
    struct tfd_cuda_memory_pool_stats m;

    tfd_cuda_memory_pool_stats(&d->pool, &m);
    switch (at) {
    case TFD_METRIC_GPU_LIMIT:
        return m.limit;
    case TFD_METRIC_GPU_RESERVED:
        return m.reserved;
    case TFD_METRIC_GPU_IN_USE:
        return m.in_use;
    case TFD_METRIC_GPU_PEAK:
        return m.peak;
    case TFD_METRIC_GPU_LARGEST_FREE:
        return m.largest_free;
    case TFD_METRIC_GPU_ALLOCS:
        return m.allocs;
    case TFD_METRIC_GPU_FAILURES:
        return m.failures;
    case TFD_METRIC_GPU_GRAPHS:
        return TFD_LOAD_RELAXED(&d->captures.made);
    case TFD_METRIC_GPU_GRAPH_LAUNCHES:
        return TFD_LOAD_RELAXED(&d->captures.launches);
    default:
        return TFD_LOAD_RELAXED(&d->peer_bytes);
    }
}

void tfd_metric_families_gpu(struct tfd_metric_text *out,
                             const struct tfd_metrics_scrape *s, size_t at)
{
    for (int i = 0; i < s->v->gpu_count; i++) {
        char name[24];

        snprintf(name, sizeof(name), "GPU:%d", i);
        put_one(out, "device", name, (double)gpu_figure(&s->v->gpus[i], at));
    }
}

/* ---- Checkpoints --------------------------------------------------------- */

void tfd_metric_families_saves(struct tfd_metric_text *out,
                               const struct tfd_metrics_scrape *s, size_t at)
{
    (void)at;
    if (s->v->config->train)
        tfd_metric_text_put(out, NULL, 0,
                            (double)TFD_LOAD_RELAXED(s->v->saves));
}

void tfd_metric_families_save_failures(struct tfd_metric_text *out,
                                       const struct tfd_metrics_scrape *s,
                                       size_t at)
{
    (void)at;
    if (s->v->config->train)
        tfd_metric_text_put(out, NULL, 0,
                            (double)TFD_LOAD_RELAXED(s->v->save_failures));
}

void tfd_metric_families_save_duration(struct tfd_metric_text *out,
                                       const struct tfd_metrics_scrape *s,
                                       size_t at)
{
    (void)at;
    if (s->saves.took_us > 0)
        tfd_metric_text_put(out, NULL, 0, (double)s->saves.took_us / 1e6);
}

void tfd_metric_families_save_age(struct tfd_metric_text *out,
                                  const struct tfd_metrics_scrape *s, size_t at)
{
    int64_t age_us = tfd_clock_wall_us() - (int64_t)s->saves.wall_us;

    (void)at;
    if (s->saves.took_us > 0)
        tfd_metric_text_put(out, NULL, 0,
                            age_us < 0 ? 0 : (double)age_us / 1e6);
}

/* ---- What is missing ----------------------------------------------------- */

void tfd_metric_families_left_out(struct tfd_metric_text *out,
                                  const struct tfd_metrics_scrape *s, size_t at)
{
    uint64_t more = s->resources ? s->resources->left_out : 0;

    (void)at;
    tfd_metric_text_put(out, NULL, 0, (double)(out->left_out + more));
}
