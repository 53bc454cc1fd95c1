/*
 * graph_ends.h - the nodes that a graph of a context begins and ends with: its
 * arguments and its results.
 *
 * Threads: any.
 */
#ifndef TFD_DAEMON_EAGER_GRAPH_ENDS_H
#define TFD_DAEMON_EAGER_GRAPH_ENDS_H

#include "daemon/worker_api.h"

#define TFD_EAGER_END_NAME_MAX 32
#define TFD_EAGER_ARG_NAME "_arg/"
/* "_arg/3", "_result/0". */
const char *tfd_eager_end_name(char text[TFD_EAGER_END_NAME_MAX], bool is_arg,
                               int index);

/* Appends the node of argument `index` to a GraphDef. */
void tfd_eager_put_arg(struct tfd_bytes *def,
                       const struct tfd_device_attributes *on, int index,
                       int type);
/* Appends that of a result, which is the tensor `from` ("a:1"). */
void tfd_eager_put_result(struct tfd_bytes *def,
                          const struct tfd_device_attributes *on, int index,
                          struct tfd_str from);
/* The version that all graphs of contexts have. */
void tfd_eager_put_versions(struct tfd_bytes *def);

#endif
