/*
 * unpack.h - what takes a packed handle takes the value of its own device.
 *
 * The graph of a function has a node for each value (part_def.h), and edges
 * from the first only.  As TensorFlow does it, a node that names no device and
 * takes a packed resource becomes one for each of the values, and so does what
 * passes the resource on; whoever takes the results of such a node takes those
 * of its own device.
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
