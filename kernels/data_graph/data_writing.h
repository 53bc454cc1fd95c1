/*
 * data_writing.h - nodes of a dataset as a GraphDef, named as TensorFlow names
 * them: "Const/_0", "RangeDataset/_3"; its result is the node "dataset".
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_GRAPH_DATA_WRITING_H
#define TFD_KERNELS_DATA_GRAPH_DATA_WRITING_H

#include "kernels/data_graph/data_library.h"

/* All nodes; values are constants.  Appends. */
enum tfd_code tfd_data_write(const struct tfd_data_nodes *g,
                             const struct tfd_data_library *l,
                             struct tfd_bytes *out,
                             struct tfd_status *st) TFD_MUST_USE;
/* The nodes that have changed, and what they need: values, and datasets that
 * have not changed, are arguments.  *args, in the arena of g, are borrowed. */
enum tfd_code tfd_data_write_changed(struct tfd_data_nodes *g,
                                     const struct tfd_data_library *l,
                                     struct tfd_bytes *out,
                                     struct tfd_tensor **args,
                                     int32_t *arg_count,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
