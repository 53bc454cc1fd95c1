/*
 * placement.h - spreads a graph that names no tasks over ps tasks and a worker.
 *
 * - Variables, in the order of the graph, to /job:ps/task:0, 1, ... in turn;
 *   local ones stay with the worker.
 * - What must stand beside a variable goes with it: who takes its handle or
 *   reference, who is colocated with it by `_class`.
 * - Queues and accumulators that have a shared name and stand beside no
 *   variable, to the first ps task.
 * - Operations on checkpoint files, and the constants and the like that only
 *   they read, to the worker, whatever device they name: the trainer whose
 *   folder of checkpoints it is runs them.
 * - Constants and the like that only one ps task reads, and operations that
 *   only wait for one, to that task.
 * - Everything else to the worker.
 *
 * Any other device that names a job is left alone; of one that does not, what
 * it says stays.
 *
 * Threads: the graph belongs to the caller; nobody else reads it yet.
 */
#ifndef TFD_CLIENT_PLACEMENT_H
#define TFD_CLIENT_PLACEMENT_H

#include "common/graph/graph.h"
#include "config/device_name.h"

struct tfd_placement {
    struct tfd_graph *graph;
    int ps_tasks; /* at least 1 */
    struct tfd_device_name worker;
    const int32_t *local; /* nodes of local variables */
    int local_count;
};

enum tfd_code tfd_placement_apply(const struct tfd_placement *p,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
