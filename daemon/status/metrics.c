/*
 * metrics.c - see metrics.h.
 */
#include "daemon/status/metrics.h"

#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "config/version.h"
#include "cuda/device/cuda_device.h"
#include "daemon/eager/eager.h"
#include "daemon/master/session/master.h"
#include "daemon/status/view.h"
#include "daemon/worker/service/worker.h"

#include <stdio.h>
#include <unistd.h>

static const char text_metrics[] = "text/plain; version=0.0.4; charset=utf-8";

static void metric(struct tfd_bytes *b, const char *name, const char *type,
                   const char *help, double value)
{
    tfd_bytes_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help,
                     name, type, name, value);
}

static size_t resident_bytes(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f)
        return 0;
    if (fscanf(f, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    fclose(f);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* One family of samples by method. */
static void rpc_family(struct tfd_bytes *b, const struct tfd_view *v,
                       const char *name, const char *help,
                       double (*value)(const struct tfd_method_stats *m))
{
    tfd_bytes_printf(b, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
    for (int m = 1; m < TFD_METHOD_END; m++) {
        const char *path = tfd_service_path((enum tfd_method_number)m);
        const struct tfd_method_stats *stats;

        if (!path)
            continue;
        stats = tfd_service_stats(v->service, (enum tfd_method_number)m);
        if (stats && stats->calls > 0)
            tfd_bytes_printf(b, "%s{method=\"%s\"} %.17g\n", name, path + 1,
                             value(stats));
    }
}

static double calls_of(const struct tfd_method_stats *m)
{
    return (double)m->calls;
}

static double failures_of(const struct tfd_method_stats *m)
{
    return (double)m->failures;
}

static double seconds_of(const struct tfd_method_stats *m)
{
    return (double)m->durations.sum_us / 1e6;
}

static void build_info(struct tfd_bytes *b, const struct tfd_view *v)
{
    const struct tfd_cluster *c = &v->config->cluster;

    tfd_bytes_printf(b,
                     "# HELP tfd_build_info version of this server\n"
                     "# TYPE tfd_build_info gauge\n"
                     "tfd_build_info{version=\"%s\"} 1\n"
                     "# HELP tfd_role_info the task this server is\n"
                     "# TYPE tfd_role_info gauge\n"
                     "tfd_role_info{job=\"%s\",task=\"%d\"} 1\n",
                     TFD_VERSION, c->job_name, c->task_index);
}

/* What there is of one GPU. */
struct gpu_figures {
    struct tfd_cuda_memory_pool_stats memory;
    size_t graphs, graph_launches, peer_bytes;
};

static struct gpu_figures gpu_figures(struct tfd_cuda_device *d)
{
    struct gpu_figures f;

    tfd_cuda_memory_pool_stats(&d->pool, &f.memory);
    f.graphs = TFD_LOAD_RELAXED(&d->captures.made);
    f.graph_launches = TFD_LOAD_RELAXED(&d->captures.launches);
    f.peer_bytes = TFD_LOAD_RELAXED(&d->peer_bytes);
    return f;
}

/* One sample for each GPU; nothing where there is none. */
static void gpu_family(struct tfd_bytes *b, const struct tfd_view *v,
                       const char *name, const char *type, const char *help,
                       size_t offset)
{
    if (v->gpu_count == 0)
        return;
    tfd_bytes_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
    for (int i = 0; i < v->gpu_count; i++) {
        struct gpu_figures f = gpu_figures(&v->gpus[i]);

        tfd_bytes_printf(b, "%s{device=\"GPU:%d\"} %zu\n", name, i,
                         *(const size_t *)((const char *)&f + offset));
    }
}

#define OF(member) offsetof(struct gpu_figures, memory.member)

static void gpu_metrics(struct tfd_bytes *b, const struct tfd_view *v)
{
    gpu_family(b, v, "tfd_gpu_memory_limit_bytes", "gauge",
               "what may be taken of a GPU", OF(limit));
    gpu_family(b, v, "tfd_gpu_memory_reserved_bytes", "gauge",
               "taken from the driver", OF(reserved));
    gpu_family(b, v, "tfd_gpu_memory_bytes", "gauge", "of live tensors",
               OF(in_use));
    gpu_family(b, v, "tfd_gpu_memory_peak_bytes", "gauge",
               "the most there was of them", OF(peak));
    gpu_family(b, v, "tfd_gpu_memory_largest_free_bytes", "gauge",
               "the largest tensor that fits what is taken", OF(largest_free));
    gpu_family(b, v, "tfd_gpu_allocs_total", "counter", "buffers given out",
               OF(allocs));
    gpu_family(b, v, "tfd_gpu_oom_total", "counter",
               "requests that found no room", OF(failures));
    gpu_family(b, v, "tfd_gpu_graphs_total", "counter",
               "parts of steps captured as CUDA graphs",
               offsetof(struct gpu_figures, graphs));
    gpu_family(b, v, "tfd_gpu_graph_launches_total", "counter",
               "launches of CUDA graphs",
               offsetof(struct gpu_figures, graph_launches));
    gpu_family(b, v, "tfd_gpu_peer_bytes_total", "counter",
               "copied from GPUs of other processes",
               offsetof(struct gpu_figures, peer_bytes));
}

/* Of a task that trains; only a chief's counters ever grow. */
static void save_metrics(struct tfd_bytes *b, const struct tfd_view *v)
{
    if (!v->config->train)
        return;
    metric(b, "tfd_checkpoint_saves_total", "counter",
           "checkpoints that the training of --train tried to save",
           (double)TFD_LOAD_RELAXED(v->saves));
    metric(b, "tfd_checkpoint_save_failures_total", "counter",
           "of those, not saved, because the disk is full for example",
           (double)TFD_LOAD_RELAXED(v->save_failures));
}

/* Of TensorFlow 2's coordinators. */
static void eager_metrics(struct tfd_bytes *b, const struct tfd_view *v)
{
    struct tfd_eager_counts n = tfd_eager_counts(v->eager);

    metric(b, "tfd_eager_contexts", "gauge",
           "coordinators of TensorFlow 2 that work with this task", n.contexts);
    metric(b, "tfd_eager_contexts_abandoned_total", "counter",
           "contexts closed because nobody spoke to them any more",
           (double)n.abandoned);
    metric(b, "tfd_eager_handles", "gauge", "values kept for coordinators",
           (double)n.handles);
    metric(b, "tfd_eager_functions", "gauge", "functions of coordinators",
           (double)n.functions);
    metric(b, "tfd_eager_graphs", "gauge", "single ops kept compiled",
           (double)n.graphs);
    metric(b, "tfd_eager_runs_running", "gauge",
           "ops and functions of coordinators under way", n.runs);
    metric(b, "tfd_eager_runs_total", "counter",
           "ops and functions of coordinators that ended", (double)n.runs_done);
}

int tfd_metrics_page(void *self, struct tfd_page *p)
{
    const struct tfd_view *v = self;
    struct tfd_bytes *b = p->body;
    struct tfd_master *m = v->master;
    struct tfd_worker_counts worker = tfd_worker_counts(v->worker);
    const struct tfd_admission *admission = tfd_service_admission(v->service);
    struct tfd_alloc_stats memory;
    uint64_t up = tfd_loop_now_us(v->loop) - v->start_us;

    p->content_type = text_metrics;
    tfd_alloc_stats(&memory);
    build_info(b, v);
    metric(b, "tfd_up_seconds", "gauge", "time since the start",
           (double)up / 1e6);
    metric(b, "tfd_connections", "gauge", "accepted connections",
           tfd_view_connections(v));
    metric(b, "tfd_connections_refused_total", "counter",
           "connections closed at once, being too many",
           (double)tfd_view_refused(v));
    metric(b, "tfd_sessions", "gauge", "sessions open on this master",
           tfd_master_session_count(m));
    metric(b, "tfd_sessions_abandoned_total", "counter",
           "sessions closed because their clients had left",
           (double)tfd_master_abandoned(m));
    metric(b, "tfd_worker_sessions", "gauge",
           "sessions of all masters that this worker takes part in",
           worker.sessions);
    metric(b, "tfd_worker_graphs", "gauge", "graphs registered here",
           worker.graphs);
    metric(b, "tfd_worker_steps_running", "gauge",
           "steps of all masters that compute here", worker.steps);
    metric(b, "tfd_worker_steps_total", "counter",
           "steps of all masters that this worker took part in",
           (double)worker.steps_done);
    metric(b, "tfd_worker_sessions_abandoned_total", "counter",
           "of those, dropped because their masters had left",
           (double)worker.abandoned);
    metric(b, "tfd_steps_running", "gauge", "steps of those sessions",
           tfd_master_step_count(m));
    metric(b, "tfd_steps_total", "counter", "steps that ended",
           (double)tfd_master_steps_done(m));
    metric(b, "tfd_rpc_inflight", "gauge", "calls not yet answered",
           tfd_service_in_flight(v->service));
    metric(b, "tfd_tensor_bytes", "gauge", "memory of live tensors",
           (double)memory.in_use);
    metric(b, "tfd_tensor_cached_bytes", "gauge", "memory kept for reuse",
           (double)memory.cached);
    metric(b, "tfd_memory_limit_bytes", "gauge", "--memory_limit; 0: none",
           (double)v->config->memory_limit);
    eager_metrics(b, v);
    gpu_metrics(b, v);
    save_metrics(b, v);
    metric(b, "tfd_intake_waiting", "gauge",
           "connections not read because memory is short", admission->waiting);
    metric(b, "tfd_admission_waiting_bytes", "gauge",
           "size of the requests that wait there",
           (double)admission->waiting_size);
    metric(b, "tfd_intake_pauses_total", "counter",
           "requests that had to wait for memory", (double)admission->pauses);
    metric(b, "tfd_intake_late_total", "counter",
           "connections ended because requests on them did not come on",
           (double)admission->late);
    metric(b, "process_resident_memory_bytes", "gauge", "resident memory",
           (double)resident_bytes());
    rpc_family(b, v, "tfd_rpc_requests_total", "calls by method", calls_of);
    rpc_family(b, v, "tfd_rpc_failures_total", "failed calls by method",
               failures_of);
    rpc_family(b, v, "tfd_rpc_duration_seconds_total",
               "time from request to answer by method", seconds_of);
    return 200;
}
