/*
 * metrics.c - see metrics.h: the page, and one row for each metric.  What has
 * labels is put together in metric_families.c.
 */
#include "daemon/status/metrics.h"

#include "daemon/master/facts/session_facts.h"
#include "daemon/master/session/master.h"
#include "daemon/status/metric_families.h"

/* The figure of a metric without labels. */
#define VALUE(name, expression)                                    \
    static double name##_value(const struct tfd_metrics_scrape *s) \
    {                                                              \
        return (double)(expression);                               \
    }

VALUE(up, (double)(tfd_loop_now_us(s->v->loop) - s->v->start_us) / 1e6)
VALUE(connections, tfd_view_connections(s->v))
VALUE(refused, tfd_view_refused(s->v))
VALUE(sessions, tfd_master_session_count(s->v->master))
VALUE(session_memory, tfd_session_facts_memory_of_all(s->v->master))
VALUE(context_memory, tfd_eager_memory(s->v->eager))
VALUE(abandoned, tfd_master_abandoned(s->v->master))
VALUE(steps_running, tfd_master_step_count(s->v->master))
VALUE(steps, tfd_master_steps_done(s->v->master))
VALUE(steps_failed, tfd_master_steps_failed(s->v->master))
VALUE(steps_timed_out, tfd_master_steps_timed_out(s->v->master))
VALUE(worker_sessions, s->worker.sessions)
VALUE(worker_graphs, s->worker.graphs)
VALUE(worker_steps_running, s->worker.steps)
VALUE(worker_steps, s->worker.steps_done)
VALUE(worker_abandoned, s->worker.abandoned)
VALUE(rpc_inflight, tfd_service_in_flight(s->v->service))
VALUE(tensor_bytes, s->memory.in_use)
VALUE(tensor_cached, s->memory.cached)
VALUE(memory_limit, s->v->config->memory_limit)
VALUE(contexts, s->eager.contexts)
VALUE(contexts_abandoned, s->eager.abandoned)
VALUE(handles, s->eager.handles)
VALUE(functions, s->eager.functions)
VALUE(eager_graphs, s->eager.graphs)
VALUE(runs_running, s->eager.runs)
VALUE(runs, s->eager.runs_done)
VALUE(intake_waiting, tfd_service_admission(s->v->service)->waiting)
VALUE(admission_waiting, tfd_service_admission(s->v->service)->waiting_size)
VALUE(intake_pauses, tfd_service_admission(s->v->service)->pauses)
VALUE(intake_late, tfd_service_admission(s->v->service)->late)
VALUE(writes, s->saves.saves)
VALUE(write_failures, s->saves.failures)
VALUE(write_bytes, s->saves.bytes)
VALUE(cpu, s->process.cpu_seconds)
VALUE(open_fds, s->process.open_fds)
VALUE(max_fds, s->process.max_fds)
VALUE(virtual_bytes, s->process.virtual_bytes)
VALUE(resident_bytes, s->process.resident_bytes)
VALUE(threads, s->process.threads)
VALUE(start_seconds, s->process.start_seconds)

#define COUNTER TFD_METRIC_COUNTER
#define GAUGE TFD_METRIC_GAUGE
#define HISTOGRAM TFD_METRIC_HISTOGRAM
#define GPU(member) \
    .put = tfd_metric_families_gpu, .at = TFD_METRIC_GPU_##member
#define RPC(member) \
    .put = tfd_metric_families_rpc, .at = TFD_METRIC_RPC_##member

/* clang-format off */
const struct tfd_metric tfd_metrics[] = {
    {"tfd_build_info", GAUGE, "version", "version of this server; always 1",
     .put = tfd_metric_families_build},
    {"tfd_role_info", GAUGE, "job, task", "the task this server is; always 1",
     .put = tfd_metric_families_role},
    {"tfd_up_seconds", GAUGE, NULL, "time since the start", .value = up_value},

    {"tfd_sessions", GAUGE, NULL, "sessions open on this master",
     .value = sessions_value},
    {"tfd_sessions_abandoned_total", COUNTER, NULL,
     "sessions closed because their clients had left",
     .value = abandoned_value},
    {"tfd_session_memory_bytes", GAUGE, NULL,
     "memory that this task keeps for those sessions: graphs and what is "
     "compiled from them, constants, tensors behind session handles, requests "
     "under way; what two share counts twice",
     .value = session_memory_value},
    {"tfd_steps_running", GAUGE, NULL, "steps of those sessions",
     .value = steps_running_value},
    {"tfd_steps_total", COUNTER, NULL, "steps that ended",
     .value = steps_value},
    {"tfd_steps_failed_total", COUNTER, NULL, "of those, with an error",
     .value = steps_failed_value},
    {"tfd_steps_timed_out_total", COUNTER, NULL,
     "of those, because they had lasted as long as their client lets them",
     .value = steps_timed_out_value},
    {"tfd_step_duration_seconds", HISTOGRAM, NULL,
     "steps of this master, from the call to the end of the last part, with "
     "the wait for their plan; partial runs are left out",
     .put = tfd_metric_families_step_times},

    {"tfd_worker_sessions", GAUGE, NULL,
     "sessions of all masters that this worker takes part in",
     .value = worker_sessions_value},
    {"tfd_worker_sessions_abandoned_total", COUNTER, NULL,
     "of those, dropped because their masters had left",
     .value = worker_abandoned_value},
    {"tfd_worker_graphs", GAUGE, NULL, "graphs registered here",
     .value = worker_graphs_value},
    {"tfd_worker_steps_running", GAUGE, NULL,
     "steps of all masters that compute here",
     .value = worker_steps_running_value},
    {"tfd_worker_steps_total", COUNTER, NULL,
     "steps of all masters that this worker took part in",
     .value = worker_steps_value},

    {"tfd_global_step", GAUGE, "container",
     "value of the variable global_step where this task holds one as a whole "
     "number in host memory, read when it is asked for",
     .put = tfd_metric_families_global_step},
    {"tfd_variables", GAUGE, NULL, "variables of this task's devices",
     .put = tfd_metric_families_variables},
    {"tfd_variable_bytes", GAUGE, NULL, "memory of their values",
     .put = tfd_metric_families_variable_bytes},
    {"tfd_queue_elements", GAUGE, "device, container, queue",
     "elements in a queue of this task", .put = tfd_metric_families_queues},

    {"tfd_eager_contexts", GAUGE, NULL,
     "coordinators of TensorFlow 2 that work with this task",
     .value = contexts_value},
    {"tfd_eager_contexts_abandoned_total", COUNTER, NULL,
     "contexts closed because nobody spoke to them any more",
     .value = contexts_abandoned_value},
    {"tfd_context_memory_bytes", GAUGE, NULL,
     "memory that this task keeps for contexts: values behind handles, "
     "functions, ops and functions compiled, variables that they own, requests "
     "under way; what two share counts twice",
     .value = context_memory_value},
    {"tfd_eager_handles", GAUGE, NULL, "values kept for coordinators",
     .value = handles_value},
    {"tfd_eager_functions", GAUGE, NULL, "functions of coordinators",
     .value = functions_value},
    {"tfd_eager_graphs", GAUGE, NULL, "single ops kept compiled",
     .value = eager_graphs_value},
    {"tfd_eager_runs_running", GAUGE, NULL,
     "ops and functions of coordinators under way",
     .value = runs_running_value},
    {"tfd_eager_runs_total", COUNTER, NULL,
     "ops and functions of coordinators that ended", .value = runs_value},

    {"tfd_connections", GAUGE, NULL, "accepted connections",
     .value = connections_value},
    {"tfd_connections_refused_total", COUNTER, NULL,
     "connections closed at once, being too many", .value = refused_value},
    {"tfd_peer_up", GAUGE, "peer",
     "1 while this task has a connection to the other, 0 where it had one or "
     "tried; of tasks that it asked for something",
     .put = tfd_metric_families_peer_up},
    {"tfd_peer_bytes_total", COUNTER, "peer, direction",
     "sent to and received from a task, whichever of the two has connected; "
     "peer \"other\": clients, TensorFlow's servers and pages",
     .put = tfd_metric_families_peer_bytes},
    {"tfd_loop_turn_seconds", HISTOGRAM, NULL,
     "turns of the event loop, without the wait for something to do; every "
     "call waits for the turn that is under way when it comes",
     .put = tfd_metric_families_turns},
    {"tfd_rpc_inflight", GAUGE, NULL, "calls not yet answered",
     .value = rpc_inflight_value},
    {"tfd_rpc_requests_total", COUNTER, "method", "calls by method",
     RPC(CALLS)},
    {"tfd_rpc_failures_total", COUNTER, "method", "failed calls by method",
     RPC(FAILURES)},
    {"tfd_rpc_request_bytes_total", COUNTER, "method",
     "size of the requests by method", RPC(REQUEST_BYTES)},
    {"tfd_rpc_response_bytes_total", COUNTER, "method",
     "size of the answers by method", RPC(RESPONSE_BYTES)},
    {"tfd_rpc_duration_seconds", HISTOGRAM, "method",
     "time from request to answer by method; what waits, as RecvTensor does "
     "for its tensor, takes as long as it waits",
     RPC(DURATION)},
    {"tfd_intake_waiting", GAUGE, NULL,
     "connections not read because memory is short",
     .value = intake_waiting_value},
    {"tfd_admission_waiting_bytes", GAUGE, NULL,
     "size of the requests that wait there", .value = admission_waiting_value},
    {"tfd_intake_pauses_total", COUNTER, NULL,
     "requests that had to wait for memory", .value = intake_pauses_value},
    {"tfd_intake_late_total", COUNTER, NULL,
     "connections ended because requests on them did not come on",
     .value = intake_late_value},

    {"tfd_memory_bytes", GAUGE, "kind",
     "memory by kind: tensors that live, cached for reuse, variables (a part "
     "of the tensors), pushed for steps that have not begun",
     .put = tfd_metric_families_memory},
    {"tfd_tensor_bytes", GAUGE, NULL, "memory of live tensors",
     .value = tensor_bytes_value},
    {"tfd_tensor_cached_bytes", GAUGE, NULL, "memory kept for reuse",
     .value = tensor_cached_value},
    {"tfd_memory_limit_bytes", GAUGE, NULL, "--memory_limit; 0: none",
     .value = memory_limit_value},
    {"tfd_gpu_memory_limit_bytes", GAUGE, "device",
     "what may be taken of a GPU", GPU(LIMIT)},
    {"tfd_gpu_memory_reserved_bytes", GAUGE, "device",
     "taken from the driver", GPU(RESERVED)},
    {"tfd_gpu_memory_bytes", GAUGE, "device", "of live tensors",
     GPU(IN_USE)},
    {"tfd_gpu_memory_peak_bytes", GAUGE, "device",
     "the most there was of them", GPU(PEAK)},
    {"tfd_gpu_memory_largest_free_bytes", GAUGE, "device",
     "the largest tensor that fits what is taken", GPU(LARGEST_FREE)},
    {"tfd_gpu_allocs_total", COUNTER, "device", "buffers given out",
     GPU(ALLOCS)},
    {"tfd_gpu_oom_total", COUNTER, "device", "requests that found no room",
     GPU(FAILURES)},
    {"tfd_gpu_graphs_total", COUNTER, "device",
     "parts of steps captured as CUDA graphs", GPU(GRAPHS)},
    {"tfd_gpu_graph_launches_total", COUNTER, "device",
     "launches of CUDA graphs", GPU(GRAPH_LAUNCHES)},
    {"tfd_gpu_peer_bytes_total", COUNTER, "device",
     "copied from GPUs of other processes", GPU(PEER_BYTES)},

    {"tfd_checkpoint_saves_total", COUNTER, NULL,
     "checkpoints that the training of --train tried to save; of a task that "
     "trains",
     .put = tfd_metric_families_saves},
    {"tfd_checkpoint_save_failures_total", COUNTER, NULL,
     "of those, not saved, because the disk is full for example",
     .put = tfd_metric_families_save_failures},
    {"tfd_checkpoint_writes_total", COUNTER, NULL,
     "ops that write a checkpoint, or this task's part of one (SaveV2, "
     "SaveSlices, Save), whoever runs them",
     .value = writes_value},
    {"tfd_checkpoint_write_failures_total", COUNTER, NULL,
     "of those, with an error", .value = write_failures_value},
    {"tfd_checkpoint_write_bytes_total", COUNTER, NULL,
     "size of the tensors that they wrote", .value = write_bytes_value},
    {"tfd_checkpoint_duration_seconds", GAUGE, NULL,
     "how long the last one took that wrote all of it",
     .put = tfd_metric_families_save_duration},
    {"tfd_checkpoint_age_seconds", GAUGE, NULL, "time since it ended",
     .put = tfd_metric_families_save_age},

    {"tfd_metric_samples_left_out", GAUGE, NULL,
     "peers and queues that this answer does not tell of: too many, or names "
     "that cannot be a label; variables and queues that it did not look at",
     .put = tfd_metric_families_left_out},

    {"process_cpu_seconds_total", COUNTER, NULL,
     "processor time of this process", .value = cpu_value},
    {"process_open_fds", GAUGE, NULL, "open file descriptors",
     .value = open_fds_value},
    {"process_max_fds", GAUGE, NULL, "the most there may be; -1: no limit",
     .value = max_fds_value},
    {"process_virtual_memory_bytes", GAUGE, NULL, "virtual memory",
     .value = virtual_bytes_value},
    {"process_resident_memory_bytes", GAUGE, NULL, "resident memory",
     .value = resident_bytes_value},
    {"process_threads", GAUGE, NULL, "threads of this process",
     .value = threads_value},
    {"process_start_time_seconds", GAUGE, NULL,
     "when it was started, since 1970", .value = start_seconds_value},
};
/* clang-format on */

const int tfd_metrics_count = sizeof(tfd_metrics) / sizeof(tfd_metrics[0]);

static void gather_figures(struct tfd_metrics_scrape *s,
                           const struct tfd_view *v)
{
    s->v = v;
    s->worker = tfd_worker_counts(v->worker);
    s->eager = tfd_eager_counts(v->eager);
    tfd_alloc_stats(&s->memory);
    tfd_process_facts(&s->process);
    tfd_save_counts(&s->saves);
    s->resources = tfd_resource_sums_new(v->worker);
}

int tfd_metrics_page(void *self, struct tfd_page *p)
{
    struct tfd_metrics_scrape s;
    struct tfd_metric_text text = {.out = p->body};

    p->content_type = "text/plain; version=0.0.4; charset=utf-8";
    gather_figures(&s, self);
    for (int i = 0; i < tfd_metrics_count; i++) {
        const struct tfd_metric *m = &tfd_metrics[i];

        tfd_metric_text_begin(&text, m->name, m->type, m->help);
        if (m->put)
            m->put(&text, &s, m->at);
        else
            tfd_metric_text_put(&text, NULL, 0, m->value(&s));
    }
    tfd_resource_sums_free(s.resources);
    return 200;
}
