/*
 * metrics.h - /metrics: what is counted anyway, in Prometheus' text format.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_METRICS_H
#define TFD_DAEMON_STATUS_METRICS_H

#include "rpc/core/service.h"

/* self: a struct tfd_view. */
int tfd_metrics_page(void *self, struct tfd_page *p);

#endif
