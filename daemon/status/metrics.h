/*
 * metrics.h - /metrics, in Prometheus' text format 0.0.4, and the table of all
 * metrics that it is made from: docs/metrics.md comes from the same rows.
 *
 * Names and units are Prometheus': seconds and bytes, _total behind what only
 * grows, labels for what is told apart.  Of labels whose values clients or the
 * cluster choose so many are told (config/limits.h); what is not counts in
 * tfd_metric_samples_left_out.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_METRICS_H
#define TFD_DAEMON_STATUS_METRICS_H

#include "common/base/alloc.h"
#include "daemon/eager/eager.h"
#include "daemon/status/metric_text.h"
#include "daemon/status/process_facts.h"
#include "daemon/status/resource_sums.h"
#include "daemon/status/view.h"
#include "daemon/worker/service/worker.h"
#include "kernels/checkpoint/save_counts.h"

/* What one request is answered from. */
struct tfd_metrics_scrape {
    const struct tfd_view *v;
    struct tfd_worker_counts worker;
    struct tfd_alloc_stats memory;
    struct tfd_eager_counts eager;
    struct tfd_process_facts process;
    struct tfd_save_counts saves;
    struct tfd_resource_sums *resources; /* NULL: no memory */
};

/* One of the two makes its samples. */
struct tfd_metric {
    const char *name;
    enum tfd_metric_type type;
    const char *labels; /* for the page; NULL: none */
    const char *help;   /* one line, of ours */
    double (*value)(const struct tfd_metrics_scrape *s);
    void (*put)(struct tfd_metric_text *out, const struct tfd_metrics_scrape *s,
                size_t at);
    size_t at; /* which of several figures that one put() knows */
};

extern const struct tfd_metric tfd_metrics[];
extern const int tfd_metrics_count;

/* self: a struct tfd_view. */
int tfd_metrics_page(void *self, struct tfd_page *p);

#endif
