/*
 * metric_families.h - the metrics that have labels, or are not always there:
 * the put() of the rows of metrics.c.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_METRIC_FAMILIES_H
#define TFD_DAEMON_STATUS_METRIC_FAMILIES_H

#include "daemon/status/metrics.h"

typedef void tfd_metric_put_fn(struct tfd_metric_text *out,
                               const struct tfd_metrics_scrape *s, size_t at);

/* Figures of a method, of which those that were called are told. */
enum {
    TFD_METRIC_RPC_CALLS,
    TFD_METRIC_RPC_FAILURES,
    TFD_METRIC_RPC_REQUEST_BYTES,
    TFD_METRIC_RPC_RESPONSE_BYTES,
    TFD_METRIC_RPC_DURATION,
};
/* Figures of a GPU. */
enum {
    TFD_METRIC_GPU_LIMIT,
    TFD_METRIC_GPU_RESERVED,
    TFD_METRIC_GPU_IN_USE,
    TFD_METRIC_GPU_PEAK,
    TFD_METRIC_GPU_LARGEST_FREE,
    TFD_METRIC_GPU_ALLOCS,
    TFD_METRIC_GPU_FAILURES,
    TFD_METRIC_GPU_GRAPHS,
    TFD_METRIC_GPU_GRAPH_LAUNCHES,
    TFD_METRIC_GPU_PEER_BYTES,
};

tfd_metric_put_fn tfd_metric_families_build, tfd_metric_families_role,
    tfd_metric_families_step_times, tfd_metric_families_turns,
    tfd_metric_families_global_step, tfd_metric_families_variables,
    tfd_metric_families_variable_bytes, tfd_metric_families_queues,
    tfd_metric_families_peer_up, tfd_metric_families_peer_bytes,
    tfd_metric_families_rpc, tfd_metric_families_memory,
    tfd_metric_families_gpu, tfd_metric_families_saves,
    tfd_metric_families_save_failures, tfd_metric_families_save_duration,
    tfd_metric_families_save_age, tfd_metric_families_left_out;

#endif
