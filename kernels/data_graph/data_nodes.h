/*
 * data_nodes.h - a dataset and all that it is made of as a list of nodes, which
 * is written as a graph or changed and made again.
 *
 *     datasets     Range <-- Shuffle <-- Batch
 *     nodes        0: RangeDataset(0, 9, 1)
 *                  1: ShuffleDatasetV3(node 0, 4, ...)
 *                  2: BatchDatasetV2(node 1, ...)
 *                  3: _Retval(node 2)                     the sink
 *
 * Inputs that are no datasets stay values, borrowed from the datasets.  A
 * dataset is one node, however often it is used; inputs come before what they
 * are for, but for nodes that were put in later.
 *
 * Ownership: nodes lie in the arena and hold nothing; the tensor with
 * the dataset outlives them.  Threads: one at a time.
 */
#ifndef TFD_KERNELS_DATA_GRAPH_DATA_NODES_H
#define TFD_KERNELS_DATA_GRAPH_DATA_NODES_H

#include "kernels/data/dataset.h"

struct tfd_data_input {
    int32_t node;                   /* -1: a value */
    const struct tfd_tensor *value; /* the dataset of a node, too; of what is
                                     * packed: NULL */
};

struct tfd_data_node {
    struct tfd_str op;
    const struct tfd_attr *attrs;
    int32_t attr_count;
    struct tfd_dataset *dataset; /* NULL: it is none, or a new one */
    struct tfd_data_input *in;
    int32_t in_count;
    bool changed; /* not as the dataset is */
};

struct tfd_data_nodes {
    struct tfd_arena arena;
    struct tfd_map by_dataset; /* -> node */
    struct tfd_data_node **node;
    int32_t count, capacity;
    int32_t sink;
};

void tfd_data_nodes_init(struct tfd_data_nodes *g);
void tfd_data_nodes_deinit(struct tfd_data_nodes *g);
/* UNIMPLEMENTED when one of them was made by no op. */
enum tfd_code tfd_data_nodes_fill(struct tfd_data_nodes *g,
                                  const struct tfd_tensor *dataset,
                                  struct tfd_status *st) TFD_MUST_USE;
/* One more, with room for inputs; the caller fills it in. */
enum tfd_code tfd_data_nodes_add(struct tfd_data_nodes *g, struct tfd_str op,
                                 int32_t in_count, struct tfd_data_node **out,
                                 struct tfd_status *st) TFD_MUST_USE;
bool tfd_data_node_attr(const struct tfd_data_node *n, const char *name,
                        struct tfd_str *value);

#endif
