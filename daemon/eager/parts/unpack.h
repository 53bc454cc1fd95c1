/*
 * unpack.h - replaces packed handles (daemon/eager/packed.h) in a function's
 * graph by plain values: each node that takes a packed handle gets the value of
 * its own device.
 *
 * The graph has a node for each value of a packed handle (part_def.h), and
 * edges from the first of them only.  As in TensorFlow, a node that names no
 * device and takes a packed resource becomes one node for each value, and so do
 * the nodes that pass the resource on; a consumer of such a node takes the one
 * on its own device.
 *
 * Iterative.  Threads: one at a time for a graph.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_UNPACK_H
#define TFD_DAEMON_EAGER_PARTS_UNPACK_H

#include "daemon/eager/parts/cut.h"

/* INVALID_ARGUMENT "Dst node should be assigned to an allowed device. ..." for
 * a node of a device that has no value; RESOURCE_EXHAUSTED for too many nodes.
 */
enum tfd_code tfd_eager_unpack(const struct tfd_eager_cut *c,
                               struct tfd_graph *g,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
