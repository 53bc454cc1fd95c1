/*
 * status_page.h - what people, probes and Prometheus read over HTTP:
 *
 *     /healthz /livez   200 while the loop turns
 *     /readyz           200 while the server takes calls, else 503
 *     /metrics          Prometheus text format
 *     /kernels          the kernels there are: kernels_page.h
 *     /steps            the last steps: steps_page.h
 *     /                 the same in words
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_PAGE_H
#define TFD_DAEMON_STATUS_PAGE_H

#include "daemon/status/view.h"

/* *v lives as long as its service. */
enum tfd_code tfd_status_page_bind(const struct tfd_view *v,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
