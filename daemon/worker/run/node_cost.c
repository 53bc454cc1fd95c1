/*
 * node_cost.c - averages how long each node of a graph takes, over the steps
 * that are timed, and decides by that which nodes are worth another thread.
 */
#include "daemon/worker/run/runner.h"

#include "common/base/atomic.h"
#include "common/thread/cost.h"

/* A node that is worth another thread. */
#define EXPENSIVE_NS (2 * TFD_COST_HOP_NS)

uint32_t tfd_runner_cost_of(const struct tfd_exec *e,
                            const struct tfd_exec_node *n)
{
    return TFD_LOAD_RELAXED(&e->node_cost_ns[n - e->nodes]);
}

bool tfd_runner_is_expensive(const struct tfd_exec *e,
                             const struct tfd_exec_node *n)
{
    return (n->flags & TFD_EXEC_EXPENSIVE) ||
           tfd_runner_cost_of(e, n) > EXPENSIVE_NS;
}

/* Costs move by a quarter, both ways. */
void tfd_runner_cost(const struct tfd_exec *e, const struct tfd_exec_node *n,
                     uint32_t took)
{
    uint32_t *cost = &e->node_cost_ns[n - e->nodes];
    uint32_t before = TFD_LOAD_RELAXED(cost);

    TFD_STORE_RELAXED(cost, before ? before - before / 4 + took / 4 : took);
}
