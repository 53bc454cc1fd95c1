/*
 * library.h - the functions that a context was given, by name.
 *
 * Registering looks at nothing but the name: who calls whom, and whether there
 * is a kernel for each node, is found when a function runs, since callers come
 * before those whom they call.
 *
 * Ownership: definitions are copied.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_LIBRARY_H
#define TFD_DAEMON_EAGER_LIBRARY_H

#include "common/base/map.h"
#include "common/graph/opdef.h"

struct tfd_eager_graph;
struct tfd_eager_spread;

struct tfd_eager_function {
    struct tfd_str name;              /* a view of def */
    struct tfd_str def;               /* FunctionDef */
    struct tfd_str library;           /* of a component: FunctionDefLibrary */
    struct tfd_eager_graph *graph;    /* function.h's; NULL: not compiled */
    struct tfd_eager_spread *spreads; /* parts/spread.h's, and how it ... */
    void (*forget)(struct tfd_eager_function *f); /* ... lets go of them */
    bool spans; /* its nodes name several tasks */
};

struct tfd_eager_library {        /* all zero: empty */
    const struct tfd_op_set *ops; /* whose names are taken; NULL: none */
    struct tfd_map by_name;       /* -> struct tfd_eager_function */
    size_t size;                  /* bytes of all definitions */
};

/* Graphs must have been let go of. */
void tfd_eager_library_deinit(struct tfd_eager_library *l);
/* The same again is fine.  INVALID_ARGUMENT "Attempting to add a duplicate
 * function ..." for another body, "Cannot add function ..." for the name of an
 * op, or for what has no name;
 * RESOURCE_EXHAUSTED beyond the limits. */
enum tfd_code tfd_eager_library_add(struct tfd_eager_library *l,
                                    struct tfd_str def, struct tfd_str library,
                                    struct tfd_status *st) TFD_MUST_USE;
/* NULL when there is none. */
struct tfd_eager_function *
tfd_eager_library_find(const struct tfd_eager_library *l, struct tfd_str name);
/* It forgets how it was compiled; it may not have been. */
void tfd_eager_library_forget_spreads(struct tfd_eager_function *f);
/* Its graph must have been let go of. */
void tfd_eager_library_remove(struct tfd_eager_library *l,
                              struct tfd_eager_function *f);

#endif
