/*
 * cost_graph.h - RunMetadata.cost_graph (GraphOptions.build_cost_model): what
 * each node of a step cost, and who needs whom.
 *
 * TensorFlow's workers keep a cost model and its master strings their graphs
 * together; here the master makes them of what a traced step says, the graphs
 * of its parts and its StepStats, so that the workers need not know of it.  Ids
 * begin with 0 in each part.  Costs are those of this step, where TensorFlow's
 * are the means of all so far; aliases of inputs are not known.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_COST_GRAPH_H
#define TFD_DAEMON_MASTER_COST_GRAPH_H

#include "common/base/str.h"

/* Appends the field `tag` with a CostGraphDef; nothing without memory.  stats:
 * fields of a StepStats; graphs: RunMetadata.partition_graphs, each a field. */
void tfd_cost_graph_put(struct tfd_bytes *b, uint32_t tag, struct tfd_str stats,
                        struct tfd_str graphs);

#endif
