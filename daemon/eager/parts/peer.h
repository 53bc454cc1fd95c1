/*
 * peer.h - makes another task's EagerService look like a worker (worker_api.h),
 * for the parts of functions that this task owns and that task runs.
 *
 *     register_graph   Enqueue{register_function}; the graph is a
 *                      RegisterFunctionOp (part_def.h)
 *     run_graph        RunComponentFunction; the run is that of a graph
 *                      (graph.h), which has the values' names
 *     cleanup_graph    Enqueue{cleanup_function}
 *
 * Runs of functions call no others.  A failure names the task that was asked,
 * in the words that coordinators look for.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_PEER_H
#define TFD_DAEMON_EAGER_PARTS_PEER_H

#include "daemon/worker_api.h"
#include "rpc/core/channel.h"

struct tfd_eager_tasks;

/* Of the task of this device.  The cluster has it; calls under way count the
 * cluster.  NULL without memory. */
struct tfd_worker *tfd_eager_peer_new(struct tfd_eager_tasks *c,
                                      struct tfd_channel *channel,
                                      const char *device);
/* done() follows when it is known what the task speaks, or why it cannot be
 * reached; at once when it is known already. */
void tfd_eager_peer_meet(struct tfd_worker *w, tfd_worker_done_fn *done,
                         void *ctx);
/* A failure of ours that says that the task cannot be reached becomes one of
 * the task's, in the words that coordinators look for. */
void tfd_eager_peer_blame(struct tfd_worker *w, struct tfd_status *st);
void tfd_eager_peer_free(struct tfd_worker *w); /* NULL is allowed */

#endif
