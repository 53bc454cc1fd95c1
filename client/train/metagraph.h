/*
 * metagraph.h - a MetaGraphDef as a trainer reads it: views of its bytes.
 *
 * Field numbers: TensorFlow's meta_graph.proto.  Ownership: everything borrows
 * from the bytes.  Threads: any; nothing is shared.
 */
#ifndef TFD_CLIENT_METAGRAPH_H
#define TFD_CLIENT_METAGRAPH_H

#include "common/base/pbio.h"

struct tfd_saver_def {
    struct tfd_str filename_tensor, save_tensor, restore_op; /* "": no saver */
    int32_t max_to_keep;                                     /* 0: all */
};

struct tfd_meta_graph {
    struct tfd_str bytes;
    struct tfd_str graph_def;
    struct tfd_saver_def saver;
};

/* VariableDef. */
struct tfd_variable_names {
    struct tfd_str variable, initializer, snapshot;
    bool is_resource;
};

/* INVALID_ARGUMENT when it is damaged or has no graph. */
enum tfd_code tfd_meta_graph_read(struct tfd_str bytes,
                                  struct tfd_meta_graph *out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* Steps over the names of a node_list or the messages of a bytes_list; a
 * collection that there is not, or of another kind, is empty. */
struct tfd_meta_list {
    struct tfd_pb_reader reader;
};
struct tfd_meta_list tfd_meta_graph_list(const struct tfd_meta_graph *m,
                                         const char *collection);
bool tfd_meta_list_next(struct tfd_meta_list *l, struct tfd_str *value);

enum tfd_code tfd_variable_names_read(struct tfd_str variable_def,
                                      struct tfd_variable_names *out,
                                      struct tfd_status *st) TFD_MUST_USE;

#endif
