/*
 * status_page.c - pages written anew for each request, from counters that are
 * kept anyway.
 */
#include "daemon/status/status_page.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "config/version.h"
#include "daemon/gpu.h"
#include "daemon/eager/eager.h"
#include "daemon/status/kernels_page.h"
#include "daemon/master/session/master.h"
#include "daemon/worker/service/worker.h"
#include "rpc/core/peers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char text_plain[] = "text/plain; charset=utf-8";
static const char text_metrics[] = "text/plain; version=0.0.4; charset=utf-8";

static int health_page(void *self, struct tfd_bytes *body,
                       const char **content_type)
{
    (void)self;
    *content_type = text_plain;
    tfd_bytes_printf(body, "ok\n");
    return 200;
}

static int ready_page(void *self, struct tfd_bytes *body,
                      const char **content_type)
{
    struct tfd_server *s = self;
    bool draining = tfd_service_draining(tfd_server_service(s));

    *content_type = text_plain;
    tfd_bytes_printf(body, "%s\n", draining ? "draining" : "ok");
    return draining ? 503 : 200;
}

/* ---- Metrics ------------------------------------------------------------- */

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
static void rpc_family(struct tfd_bytes *b, struct tfd_server *s,
                       const char *name, const char *help,
                       double (*value)(const struct tfd_method_stats *m))
{
    tfd_bytes_printf(b, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
    for (int m = 1; m < TFD_METHOD_END; m++) {
        const char *path = tfd_service_path((enum tfd_method_number)m);
        const struct tfd_method_stats *stats;

        if (!path)
            continue;
        stats =
            tfd_service_stats(tfd_server_service(s), (enum tfd_method_number)m);
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
    return (double)m->total_us / 1e6;
}

static void build_info(struct tfd_bytes *b, struct tfd_server *s)
{
    const struct tfd_cluster *c = &tfd_server_config(s)->cluster;

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
static void gpu_family(struct tfd_bytes *b, struct tfd_server *s,
                       const char *name, const char *type, const char *help,
                       size_t offset)
{
    struct tfd_gpus *g = tfd_server_gpus(s);

    if (tfd_gpus_count(g) == 0)
        return;
    tfd_bytes_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
    for (int i = 0; i < tfd_gpus_count(g); i++) {
        struct gpu_figures f = gpu_figures(tfd_gpus_at(g, i));

        tfd_bytes_printf(b, "%s{device=\"GPU:%d\"} %zu\n", name, i,
                         *(const size_t *)((const char *)&f + offset));
    }
}

#define OF(member) offsetof(struct gpu_figures, memory.member)

static void gpu_metrics(struct tfd_bytes *b, struct tfd_server *s)
{
    gpu_family(b, s, "tfd_gpu_memory_limit_bytes", "gauge",
               "what may be taken of a GPU", OF(limit));
    gpu_family(b, s, "tfd_gpu_memory_reserved_bytes", "gauge",
               "taken from the driver", OF(reserved));
    gpu_family(b, s, "tfd_gpu_memory_bytes", "gauge", "of live tensors",
               OF(in_use));
    gpu_family(b, s, "tfd_gpu_memory_peak_bytes", "gauge",
               "the most there was of them", OF(peak));
    gpu_family(b, s, "tfd_gpu_memory_largest_free_bytes", "gauge",
               "the largest tensor that fits what is taken", OF(largest_free));
    gpu_family(b, s, "tfd_gpu_allocs_total", "counter", "buffers given out",
               OF(allocs));
    gpu_family(b, s, "tfd_gpu_oom_total", "counter",
               "requests that found no room", OF(failures));
    gpu_family(b, s, "tfd_gpu_graphs_total", "counter",
               "parts of steps captured as CUDA graphs",
               offsetof(struct gpu_figures, graphs));
    gpu_family(b, s, "tfd_gpu_graph_launches_total", "counter",
               "launches of CUDA graphs",
               offsetof(struct gpu_figures, graph_launches));
    gpu_family(b, s, "tfd_gpu_peer_bytes_total", "counter",
               "copied from GPUs of other processes",
               offsetof(struct gpu_figures, peer_bytes));
}

/* Of a task that trains; only a chief's counters ever grow. */
static void save_metrics(struct tfd_bytes *b, struct tfd_server *s)
{
    if (!tfd_server_config(s)->train)
        return;
    metric(b, "tfd_checkpoint_saves_total", "counter",
           "checkpoints that the training of --train tried to save",
           (double)tfd_server_saves(s));
    metric(b, "tfd_checkpoint_save_failures_total", "counter",
           "of those, not saved, because the disk is full for example",
           (double)tfd_server_save_failures(s));
}

/* Of TensorFlow 2's coordinators. */
static void eager_metrics(struct tfd_bytes *b, struct tfd_server *s)
{
    struct tfd_eager_counts n = tfd_eager_counts(tfd_server_eager(s));

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

static int metrics_page(void *self, struct tfd_bytes *b,
                        const char **content_type)
{
    struct tfd_server *s = self;
    struct tfd_master *m = tfd_server_master(s);
    struct tfd_service *service = tfd_server_service(s);
    struct tfd_worker_counts worker = tfd_worker_counts(tfd_server_worker(s));
    const struct tfd_admission *admission = tfd_service_admission(service);
    struct tfd_alloc_stats memory;
    uint64_t up = tfd_loop_now_us(tfd_server_loop(s)) - tfd_server_start_us(s);

    *content_type = text_metrics;
    tfd_alloc_stats(&memory);
    build_info(b, s);
    metric(b, "tfd_up_seconds", "gauge", "time since the start",
           (double)up / 1e6);
    metric(b, "tfd_connections", "gauge", "accepted connections",
           tfd_server_connections(s));
    metric(b, "tfd_connections_refused_total", "counter",
           "connections closed at once, being too many",
           (double)tfd_server_refused(s));
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
           tfd_service_in_flight(service));
    metric(b, "tfd_tensor_bytes", "gauge", "memory of live tensors",
           (double)memory.in_use);
    metric(b, "tfd_tensor_cached_bytes", "gauge", "memory kept for reuse",
           (double)memory.cached);
    metric(b, "tfd_memory_limit_bytes", "gauge", "--memory_limit; 0: none",
           (double)tfd_server_config(s)->memory_limit);
    eager_metrics(b, s);
    gpu_metrics(b, s);
    save_metrics(b, s);
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
    rpc_family(b, s, "tfd_rpc_requests_total", "calls by method", calls_of);
    rpc_family(b, s, "tfd_rpc_failures_total", "failed calls by method",
               failures_of);
    rpc_family(b, s, "tfd_rpc_duration_seconds_total",
               "time from request to answer by method", seconds_of);
    return 200;
}

/* ---- In words ------------------------------------------------------------ */

static int overview_page(void *self, struct tfd_bytes *b,
                         const char **content_type)
{
    struct tfd_server *s = self;
    const struct tfd_cluster *c = &tfd_server_config(s)->cluster;
    struct tfd_peers *peers = tfd_server_peers(s);
    struct tfd_eager_counts eager = tfd_eager_counts(tfd_server_eager(s));

    *content_type = text_plain;
    tfd_bytes_printf(
        b,
        "tfd %s, /job:%s/task:%d\n\nsessions %d, steps running "
        "%d, done %llu\ncontexts %d, values %zu\n\npeers\n",
        TFD_VERSION, c->job_name, c->task_index,
        tfd_master_session_count(tfd_server_master(s)),
        tfd_master_step_count(tfd_server_master(s)),
        (unsigned long long)tfd_master_steps_done(tfd_server_master(s)),
        eager.contexts, eager.handles);
    for (int i = 0; i < tfd_peers_count(peers); i++)
        tfd_bytes_printf(b, "  %s%s\n", tfd_peers_task(peers, i),
                         i == tfd_peers_self(peers) ? " (this server)" : "");
    return 200;
}

static int kernels_page(void *self, struct tfd_bytes *b,
                        const char **content_type)
{
    *content_type = text_plain;
    tfd_kernels_page_write(tfd_server_registry(self), b);
    return 200;
}

enum tfd_code tfd_status_page_bind(struct tfd_server *s, struct tfd_status *st)
{
    static const struct {
        const char *path;
        tfd_page_fn *page;
    } rows[] = {
        {"/", overview_page},       {"/healthz", health_page},
        {"/livez", health_page},    {"/readyz", ready_page},
        {"/metrics", metrics_page}, {"/kernels", kernels_page},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        TFD_TRY(tfd_service_page(tfd_server_service(s), rows[i].path,
                                 rows[i].page, s, st));
    return TFD_OK;
}
