/*
 * chain.h - fuses several elementwise kernels into one pass over memory.
 *
 * A chain is a group of nodes of which only the last one's result is wanted by
 * others: a GELU, a loss, the formula of an optimizer.  Run node by node, each
 * result goes to memory and comes back from there.  Run as a chain, all nodes
 * compute one block of elements before any of them computes the next, so what
 * one leaves for another is still in the first-level cache.  The loops are
 * those of the kernels, so values are the same to the bit.
 *
 * Operands may have the result's shape, be single elements, or be repeated
 * along one side of it, as in a layer norm:
 *
 *     [2, 3, 4]   full          [4] or [3, 4]   a row, repeated
 *     [] or [1]   an element    [2, 3, 1]       a column, repeated
 *
 * daemon/worker/compile/chains.c finds chains when a graph is compiled;
 * daemon/worker/run/chain_run.c runs one, or its nodes one by one where shapes
 * are others than these.
 *
 * Threads: a chain is read-only; tfd_chain_run() may be called on any.
 */
#ifndef TFD_KERNELS_CHAIN_H
#define TFD_KERNELS_CHAIN_H

#include "kernels/core/kernel.h"

#define TFD_CHAIN_NODES_MAX 24
/* Each node has two inputs at most, and all but the last are one's input. */
#define TFD_CHAIN_INPUTS_MAX (TFD_CHAIN_NODES_MAX + 1)
/* Results that are wanted at the same time. */
#define TFD_CHAIN_BLOCKS_MAX 8

struct tfd_chain_node {
    const struct tfd_kernel *kernel;
    const struct tfd_node *node;
    int in_count;
    int in[2];    /* an input of the chain, or ~n: the result of its node n */
    bool last[2]; /* nobody in the chain reads it after this */
    int block;    /* where its result waits; the last node's is the output */
};

struct tfd_chain {
    struct tfd_chain_node node[TFD_CHAIN_NODES_MAX]; /* inputs come first */
    int count;
    int in_count;
};

/* The node can be one of a chain: its kernel is a loop over a struct tfd_row
 * (TFD_KERNEL_ROW), without state, over numbers of at most eight bytes. */
bool tfd_chain_takes(const struct tfd_kernel *kernel,
                     const struct tfd_node *node);

/* Fills in `last` and `block`.  False: more blocks than there are. */
bool tfd_chain_finish(struct tfd_chain *c);

/* k: inputs of the chain, the one output of its last node.  False: shapes are
 * others than those above, and nothing was done; else *rc is the result. */
bool tfd_chain_run(struct tfd_kctx *k, const struct tfd_chain *c,
                   enum tfd_code *rc, struct tfd_status *st) TFD_MUST_USE;

#endif
