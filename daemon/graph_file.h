/*
 * graph_file.h - the GraphDefs of a file: a GraphDef, a MetaGraphDef or a
 * SavedModel, binary or text.  Which it is its content says, not its name.
 *
 * Ownership: the graphs are views of what the file owns.
 * Threads: any; nothing is shared.
 */
#ifndef TFD_DAEMON_GRAPH_FILE_H
#define TFD_DAEMON_GRAPH_FILE_H

#include "common/base/str.h"
#include "config/limits.h"

struct tfd_graph_file {
    const char *form;       /* "a GraphDef", "the text of a MetaGraphDef" */
    struct tfd_bytes bytes; /* of the message */
    struct tfd_str graphs[TFD_META_GRAPHS_MAX];
    int count;
};

/* The caller frees it in either case.  A failure names the file; NOT_FOUND,
 * PERMISSION_DENIED, RESOURCE_EXHAUSTED, or INVALID_ARGUMENT for one that is no
 * graph. */
enum tfd_code tfd_graph_file_read(struct tfd_graph_file *f, const char *path,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The same of bytes that are there already, which it copies. */
enum tfd_code tfd_graph_file_parse(struct tfd_graph_file *f,
                                   struct tfd_str bytes,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_graph_file_deinit(struct tfd_graph_file *f);

#endif
