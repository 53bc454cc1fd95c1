/*
 * metrics_page.c - writes docs/metrics.md from the table of metrics, so that
 * the page cannot lag behind it.  `make docs` runs it:
 *
 *     metrics_page >docs/metrics.md
 */
#include "daemon/status/metrics.h"

#include <stdio.h>
#include <string.h>

static const char head[] =
    "# Metrics\n"
    "\n"
    "`make docs` writes this page from the table of metrics; `make check` "
    "fails when it is\n"
    "stale. Each task answers `/metrics` on its port, in Prometheus' text "
    "format:\n"
    "\n"
    "    scrape_configs:\n"
    "      - job_name: tfd\n"
    "        static_configs:\n"
    "          - targets: [\"ps0:2222\", \"worker0:2222\", \"worker1:2222\"]\n"
    "\n"
    "[grafana/tfd.json](grafana/tfd.json) is a board over them,\n"
    "[grafana/alerts.yml](grafana/alerts.yml) are alerts.\n"
    "\n"
    "Durations are seconds and sizes bytes. The bounds of histograms are 1, 2 "
    "and 5 of each\n"
    "decade from 10 microseconds to 100 seconds; `histogram_quantile` of their "
    "`_bucket` gives\n"
    "quantiles. A figure that a task does not have, such as those of GPUs "
    "where there is none,\n"
    "or of a method that nobody has called, has no sample.\n"
    "\n"
    "Of labels whose values the cluster or clients choose there are so many "
    "(`config/limits.h`):\n"
    "1,000 peers and 100 queues. What is left out is counted.\n"
    "\n";

/* A row of the page ends a cell at '|', which no help text has. */
static void put_row(const struct tfd_metric *m)
{
    printf("| `%s` | %s | %s | %s |\n", m->name, tfd_metric_type_name(m->type),
           m->labels ? m->labels : "", m->help);
}

int main(void)
{
    fputs(head, stdout);
    fputs("| metric | type | labels | what |\n|---|---|---|---|\n", stdout);
    for (int i = 0; i < tfd_metrics_count; i++)
        put_row(&tfd_metrics[i]);
    return 0;
}
