/*
 * data_sharding.h - the part of a dataset that one of several workers reads.
 *
 *     FILE   the list of files that a reader reads is split: a shard goes in
 *            before the reader, and what shuffles the list comes behind it
 *     DATA   elements are split: a shard goes in at the end
 *     AUTO   FILE where there is a reader, else DATA
 *     HINT   shards that were written with the hint become the worker's
 *     OFF    nothing
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_DATA_GRAPH_DATA_SHARDING_H
#define TFD_KERNELS_DATA_GRAPH_DATA_SHARDING_H

#include "kernels/data_graph/data_library.h"

enum tfd_data_policy {
    TFD_DATA_SHARD_OFF = -1,
    TFD_DATA_SHARD_AUTO,
    TFD_DATA_SHARD_FILE,
    TFD_DATA_SHARD_DATA,
    TFD_DATA_SHARD_HINT,
};

struct tfd_data_sharding {
    struct tfd_data_nodes *g;
    const struct tfd_data_library *library;
    enum tfd_data_policy policy;
    /* Scalars of INT64, which outlive the nodes. */
    const struct tfd_tensor *workers, *index, *replicas;
};

/* Changes the nodes.  NOT_FOUND in TensorFlow's words where FILE finds no
 * reader. */
enum tfd_code tfd_data_shard(const struct tfd_data_sharding *s,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
