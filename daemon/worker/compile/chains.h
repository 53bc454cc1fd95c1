/*
 * chains.h - chains of elementwise nodes (kernels/core/chain.h) in a registered
 * graph.
 *
 * chains.c finds them while a graph is compiled, chain_run.c runs one.  A step
 * that is traced, and one whose shapes a chain does not take, runs its nodes
 * one by one: so errors name the node that failed, and traces have every node.
 *
 * Ownership: the graph's arena.  Threads: read-only once compiled.
 */
#ifndef TFD_DAEMON_WORKER_CHAINS_H
#define TFD_DAEMON_WORKER_CHAINS_H

#include "common/graph/graph.h"
#include "kernels/core/chain.h"

struct tfd_runner;
struct tfd_ready;

struct tfd_exec_chain {
    struct tfd_chain chain;
    struct tfd_node node; /* name and output of the last node, all inputs */
    uint16_t flags[TFD_CHAIN_NODES_MAX]; /* enum tfd_exec_flag of each node */
};

/* Runs a ready node of kind CHAIN. */
void tfd_chain_node(struct tfd_runner *r, struct tfd_ready *item);

#endif
