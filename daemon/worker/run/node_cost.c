/*
 * node_cost.c - how long each node of a graph takes, by the steps that are
 * timed, and by that which nodes are worth another thread.
 */
#include "daemon/worker/run/runner.h"

#include "common/base/atomic.h"
#include "common/thread/cost.h"

/* A node that is worth another thread. */
#define EXPENSIVE_NS (2 * TFD_COST_HOP_NS)

uint32_t tfd_runner_cost_of(const struct tfd_exec *e,
                            const struct tfd_exec_node *n)
{
    return TFD_LOAD_RELAXED(&e->node_costs[n - e->nodes].ns);
}

bool tfd_runner_is_expensive(const struct tfd_exec *e,
                             const struct tfd_exec_node *n)
{
    return (n->flags & TFD_EXEC_EXPENSIVE) ||
           tfd_runner_cost_of(e, n) > EXPENSIVE_NS;
}

/* A thread that loses its processor within a node makes it look a thousand
 * times as long, and so does a first run with cold caches: what one run alone
 * took says nothing.  Costs rise by a quarter of the difference, since a node
 * whose work varies is no better for changing its thread, and fall at once. */
void tfd_runner_cost(const struct tfd_exec *e, const struct tfd_exec_node *n,
                     uint64_t took)
{
    struct tfd_node_cost *cost = &e->node_costs[n - e->nodes];
    uint32_t ns = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    uint32_t last = TFD_LOAD_RELAXED(&cost->last_ns);
    uint32_t before = TFD_LOAD_RELAXED(&cost->ns);

    TFD_STORE_RELAXED(&cost->last_ns, ns);
    if (ns > last)
        ns = last;
    if (before && ns > before)
        ns = before + (ns - before) / 4;
    TFD_STORE_RELAXED(&cost->ns, ns);
}
