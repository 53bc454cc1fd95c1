/*
 * graph_truncate.c - takes the last nodes out again; their memory stays in the
 * arena until the graph goes.
 */
#include "common/graph.h"

#include <assert.h>

void tfd_graph_truncate(struct tfd_graph *g, int32_t count)
{
    assert(count >= 0 && count <= g->count);
    for (int32_t i = count; i < g->count; i++)
        tfd_map_remove(&g->by_name, g->nodes[i]->name);
    g->count = count;
}
