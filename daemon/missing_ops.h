/*
 * missing_ops.h - `tfd --missing_ops=GRAPH`: what the graphs of a file want and
 * this build lacks, before a cluster finds out.
 *
 *     op Foo: 3 nodes (first: a/b)
 *     type double of Bar: 1 node (first: c of function f)
 *     attribute padding of Baz: ...   a value that its definition does not know
 *     gradient of Qux: ...            in a function that is differentiated
 *     model.pb: a GraphDef: looked at 120 nodes of 14 ops, found 4 things
 * lacking
 *
 * Each node is asked of the registry as a session asks.  Bodies of the
 * library's functions are looked at whether they are called or not; where a
 * type is an attribute of the function, with the values of its calls.  Of a
 * function that is differentiated each op with an input counts, though no
 * gradient may reach it.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_DAEMON_MISSING_OPS_H
#define TFD_DAEMON_MISSING_OPS_H

#include "kernels/core/registry.h"

#include <stdio.h>

enum tfd_missing {
    TFD_MISSING_NOTHING = 0,
    TFD_MISSING_SOMETHING = 1,
    TFD_MISSING_UNREADABLE = 2, /* the file, or memory ran out */
};

/* Prints what it finds to `to`, and what is wrong with the file to `err`. */
enum tfd_missing tfd_missing_ops(const char *path, FILE *to, FILE *err);
/* The same with a registry that is there. */
enum tfd_missing tfd_missing_ops_with(const struct tfd_registry *r,
                                      const char *path, FILE *to, FILE *err);

#endif
