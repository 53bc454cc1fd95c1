/*
 * graph_text.h - the text form of a GraphDef, MetaGraphDef or SavedModel, as
 * tf.io.write_graph() writes it (graph.pbtxt), into its bytes.
 *
 * What has no bearing on a graph's nodes and functions is read over.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_COMMON_GRAPH_TEXT_H
#define TFD_COMMON_GRAPH_TEXT_H

#include "common/base/str.h"

enum tfd_graph_form {
    TFD_GRAPH_FORM_GRAPH,
    TFD_GRAPH_FORM_META,
    TFD_GRAPH_FORM_SAVED_MODEL,
};

/* INVALID_ARGUMENT naming line and column.  `out` has a part of the message
 * after a failure. */
enum tfd_code tfd_graph_text_read(struct tfd_str text,
                                  enum tfd_graph_form *form,
                                  struct tfd_bytes *out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* "DT_FLOAT", "DT_INT32_REF", and the types that TensorFlow has and we have
 * not. */
bool tfd_graph_text_type(const char *name, int *number);

#endif
