/*
 * slow_ops.h - the slowest ops of what runs here, as the document has them.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_SLOW_OPS_H
#define TFD_DAEMON_STATUS_SLOW_OPS_H

#include "daemon/status/json_out.h"
#include "daemon/worker/service/graph_facts.h"

/* A list under `key`, the slowest first. */
void tfd_slow_ops_put(struct tfd_json_out *j, const char *key,
                      const struct tfd_graph_facts *f);
/* The same of the graph of that number; empty where there is none. */
void tfd_slow_ops_put_of(struct tfd_json_out *j, const char *key,
                         const struct tfd_worker_service *w, uint64_t graph);

#endif
