/*
 * added_node.h - writes a node that the master adds to a partition: its
 * attributes one after another, then the node.
 *
 *     struct tfd_added_node a;
 *
 *     tfd_added_node_init(&a);
 *     tfd_attr_put_int(tfd_added_node_attr(&a, "N"), 2);
 *     tfd_added_node_put(&a, out, &def);
 *
 * What fails is seen in `out` (tfd_bytes_ok).  Threads: any.
 */
#ifndef TFD_DAEMON_REWRITE_ADDED_NODE_H
#define TFD_DAEMON_REWRITE_ADDED_NODE_H

#include "common/proto/graphdef.h"
#include "common/base/pbio.h"

#define TFD_ADDED_NODE_ATTRS_MAX 12

struct tfd_added_node {
    struct tfd_attr list[TFD_ADDED_NODE_ATTRS_MAX];
    size_t at[TFD_ADDED_NODE_ATTRS_MAX];
    int count;
    struct tfd_bytes values;
};

void tfd_added_node_init(struct tfd_added_node *a);
/* Where the value of the next attribute is to be written, at once. */
struct tfd_bytes *tfd_added_node_attr(struct tfd_added_node *a,
                                      const char *name);
/* Appends the node with these attributes, def's are not looked at, and frees
 * them. */
void tfd_added_node_put(struct tfd_added_node *a, struct tfd_bytes *out,
                        const struct tfd_nodedef *def);

#endif
