/*
 * body.h - writes a function's body into a GraphDef, with the names and edges
 * of the body.  The nodes that stand for its arguments are the caller's.
 *
 *     init, fill in library   what the function calls, and itself
 *     read                    the body is there: types, arguments, results
 *     put_nodes, edge         into def
 *     deinit
 *
 * To resolve names and attributes the body is first read into a temporary graph
 * that has nothing but its library.
 *
 * Ownership: embedded.  Threads: one at a time.
 */
#ifndef TFD_DAEMON_EAGER_BODY_H
#define TFD_DAEMON_EAGER_BODY_H

#include "common/graph/function_body.h"

/* The device that a node gets, which asks for one or ("") for none. */
typedef enum tfd_code tfd_eager_device_fn(void *ctx, struct tfd_str asked,
                                          struct tfd_str *out,
                                          struct tfd_status *st);

struct tfd_eager_body {
    const char *arg_name;  /* with the number behind it: an argument's node */
    const int *arg_number; /* by argument: that number; NULL: its own */
    tfd_eager_device_fn *device;
    void *ctx;
    struct tfd_bytes library, def;
    struct tfd_body body;
    struct tfd_status *st;
    /* -- */
    struct tfd_graph *graph; /* has the library */
    struct tfd_arena arena;
    struct tfd_bytes text;
};

void tfd_eager_body_init(struct tfd_eager_body *b, struct tfd_status *st);
void tfd_eager_body_deinit(struct tfd_eager_body *b);
/* Of the function of this name in the library. */
enum tfd_code tfd_eager_body_read(struct tfd_eager_body *b,
                                  const struct tfd_op_set *ops,
                                  struct tfd_str name) TFD_MUST_USE;
/* All nodes but those of arguments. */
enum tfd_code tfd_eager_body_put_nodes(struct tfd_eager_body *b) TFD_MUST_USE;
/* "node:1", "^node" */
enum tfd_code tfd_eager_body_edge(struct tfd_eager_body *b, struct tfd_edge e,
                                  struct tfd_str *out) TFD_MUST_USE;
/* Versions and library; the GraphDef is whole. */
enum tfd_code tfd_eager_body_end(struct tfd_eager_body *b) TFD_MUST_USE;

#endif
