/*
 * status_page.h - what people, probes and Prometheus read over HTTP:
 *
 *     /healthz /livez   200 while the loop turns
 *     /readyz           200 while the server takes calls, else 503
 *     /metrics          Prometheus text format
 *     /kernels          the kernels there are: kernels_page.h
 *     /steps            the last steps: steps_page.h
 *     /status.json      what there is to know, with the cluster: document.h
 *     /                 for browsers a page that shows that document and renews
 *                       itself (page.html), for others the gist in words
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_PAGE_H
#define TFD_DAEMON_STATUS_PAGE_H

#include "daemon/status/view.h"

struct tfd_status_page; /* the state of the pages of one server */

/* *v lives as long as its service. */
enum tfd_code tfd_status_page_new(const struct tfd_view *v,
                                  struct tfd_status_page **out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The connections of its readers are closed, and the peers freed. */
void tfd_status_page_free(struct tfd_status_page *p); /* NULL is allowed */

#endif
