/*
 * unknown_ops.h - the error for op types that neither a family nor the graph's
 * library defines: TensorFlow's text, then all that are missing, so that a user
 * need not find them one by one.
 *
 *     struct tfd_unknown_ops u;
 *
 *     tfd_unknown_ops_begin(&u, g, n->op_name);
 *     for (...)
 *         tfd_unknown_ops_see(&u, other->op_name);
 *     return tfd_unknown_ops_fail(&u, TFD_STR_EMPTY, st);
 *
 * Ownership: names are borrowed until the end.
 * Threads: as for the graph (graph.h).
 */
#ifndef TFD_COMMON_UNKNOWN_OPS_H
#define TFD_COMMON_UNKNOWN_OPS_H

#include "common/graph/function.h"
#include "common/base/map.h"

struct tfd_unknown_ops {
    const struct tfd_graph *g;
    struct tfd_str first;
    struct tfd_map seen;
    struct tfd_bytes names; /* of the others: ", A, B" */
    int32_t count;          /* of all */
    int32_t listed;         /* of the others, in names */
};

/* `first` is an op type that is not defined. */
void tfd_unknown_ops_begin(struct tfd_unknown_ops *u, const struct tfd_graph *g,
                           struct tfd_str first);
/* Any op type; it counts once, and only if it is not defined. */
void tfd_unknown_ops_see(struct tfd_unknown_ops *u, struct tfd_str type);
/* Sees the bodies of the graph's functions, too; releases everything.
 * NOT_FOUND "Op type not registered 'X' in binary running on HOST. ...";
 * `function`: the one that was being built, or empty. */
enum tfd_code tfd_unknown_ops_fail(struct tfd_unknown_ops *u,
                                   struct tfd_str function,
                                   struct tfd_status *st);

#endif
