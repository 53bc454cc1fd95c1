/*
 * unread.h - dead code elimination: ops of a pruned graph whose outputs nobody
 * reads become NoOps.
 *
 * What a graph holds by control edges alone is waited for, not read: the
 * gradient by an image that tf.gradients() groups with the one by the filter,
 * a tensor in tf.control_dependencies().  As TensorFlow's master does by
 * default (the dependency optimizer of its graph rewriter, "grappler"), such an
 * op is not computed: in its place a NoOp waits for what the op would have
 * read.  Whoever waited for it still runs after all that, and an error that
 * only the op could have found is not found.
 *
 * Kept as they are: fetches, targets, fed nodes, ops with a state or a
 * reference among their inputs, control flow and what reads it directly,
 * constants, placeholders, and graphs of under 4 nodes, which TensorFlow does
 * not rewrite either.  A session's config can turn all of it off
 * (rewrite_options: disable_meta_optimizer, dependency_optimization OFF).
 *
 * Threads: one for a request.
 */
#ifndef TFD_DAEMON_REWRITE_UNREAD_H
#define TFD_DAEMON_REWRITE_UNREAD_H

#include "daemon/rewrite/prune.h"

#define TFD_UNREAD_NODES_MIN 4 /* RewriterConfig.min_graph_nodes */

/* Whether an op computes its outputs from its inputs and does nothing besides.
 */
bool tfd_unread_may(const struct tfd_op *op);

/* Rewrites the list in place; lists of control edges come from the arena. */
enum tfd_code tfd_unread_drop(const struct tfd_graph *g, struct tfd_pruned *p,
                              struct tfd_arena *arena,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
