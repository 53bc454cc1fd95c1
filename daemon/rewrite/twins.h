/*
 * twins.h - common subexpression elimination: ops of a pruned graph that would
 * compute the same are computed once.
 *
 * Two nodes are twins when they have the same op on the same device, the same
 * attributes, the same inputs, and wait for the same nodes.  The second goes,
 * and its readers read the first; then readers that have become twins by that
 * do likewise.  TensorFlow's master does so by default (the arithmetic
 * optimizer of its graph rewriter, "grappler"), and its workers once more.
 *
 * Kept as they are: targets, fed nodes, whatever unread.h keeps but constants,
 * ops of resources and variants, nodes with attributes that their op does not
 * know or with long ones, and graphs of under 4 nodes.  A session's config can
 * turn it off (rewrite_options: disable_meta_optimizer, arithmetic_optimization
 * OFF).
 *
 * Threads: one for a request.
 */
#ifndef TFD_DAEMON_REWRITE_TWINS_H
#define TFD_DAEMON_REWRITE_TWINS_H

#include "daemon/rewrite/prune.h"

/* device_of: by graph node.  Rewrites the list in place; what is kept of it
 * stays in its order. */
enum tfd_code tfd_twins_join(const struct tfd_graph *g,
                             const int32_t *device_of, struct tfd_pruned *p,
                             struct tfd_arena *arena,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
