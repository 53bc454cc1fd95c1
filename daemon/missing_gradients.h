/*
 * missing_gradients.h - the functions of a graph that its nodes differentiate,
 * and the ops in them that have no gradient; for missing_ops.c.
 *
 * Threads: one at a time.
 */
#ifndef TFD_DAEMON_MISSING_GRADIENTS_H
#define TFD_DAEMON_MISSING_GRADIENTS_H

#include "common/graph/function.h"
#include "daemon/missing_lines.h"

struct tfd_missing_gradients {
    struct tfd_arena arena;
    struct tfd_map seen;
    struct tfd_missing_gradient *first, *last;
};

void tfd_missing_gradients_init(struct tfd_missing_gradients *m);
void tfd_missing_gradients_deinit(struct tfd_missing_gradients *m);
/* A node asks for the gradient of this function; again does nothing, nor does
 * one whose gradient the library names. */
enum tfd_code tfd_missing_gradients_add(struct tfd_missing_gradients *m,
                                        const struct tfd_graph *g,
                                        struct tfd_str function,
                                        struct tfd_status *st) TFD_MUST_USE;
/* A line "gradient of Op" for each op in them, and in what they call. */
enum tfd_code tfd_missing_gradients_find(struct tfd_missing_gradients *m,
                                         const struct tfd_graph *g, int number,
                                         struct tfd_missing_lines *lines,
                                         struct tfd_status *st) TFD_MUST_USE;

#endif
