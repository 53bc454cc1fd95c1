/*
 * feed.h - a value for a tensor of a graph, from a file; compared with what the
 * graph's placeholder takes before it is sent.
 *
 * Threads: any.
 */
#ifndef TFD_TOOLS_CTL_FEED_H
#define TFD_TOOLS_CTL_FEED_H

#include "common/base/str.h"
#include "common/base/tensor.h"

/* INVALID_ARGUMENT when the node `name` of the graph ("x:0") is a placeholder
 * of another type or shape, NOT_FOUND when there is no such node.  Integers
 * become the quantised type of their size where the placeholder has one. */
enum tfd_code tfd_ctl_feed_check(struct tfd_str graph_def, struct tfd_str name,
                                 struct tfd_tensor *t,
                                 struct tfd_status *st) TFD_MUST_USE;

/* Whether the graph has the node of this tensor, or this operation. */
bool tfd_ctl_feed_known(struct tfd_str graph_def, struct tfd_str name);

#endif
