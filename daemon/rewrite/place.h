/*
 * place.h - placement: chooses a device for every node of a graph.
 *
 * The rules are TensorFlow's (runtime.md section 2): nodes joined by reference
 * or resource edges, or by `_class` attributes ("loc:@x"), are placed as one
 * group; partial requests merge; a node without inputs joins its only
 * consumers; an op that reads only metadata joins its input; what is left goes
 * to the best candidate, which is the master's own task.
 *
 * Iterative; time is linear in nodes and edges.  Threads: one at a time.
 */
#ifndef TFD_DAEMON_REWRITE_PLACE_H
#define TFD_DAEMON_REWRITE_PLACE_H

#include "daemon/rewrite/devices.h"
#include "kernels/core/registry.h"

struct tfd_place_request {
    const struct tfd_graph *graph;
    const struct tfd_registry *registry;
    const struct tfd_device_set *devices;
    const int32_t *pinned; /* by node: device it keeps, -1: free; NULL: all */
    int32_t pinned_count;  /* nodes at and after this are free */
    bool soft;             /* allow_soft_placement */
};

/* device_of has graph->count entries: indices into the device set. */
enum tfd_code tfd_place(const struct tfd_place_request *r, int32_t *device_of,
                        struct tfd_status *st) TFD_MUST_USE;

#endif
