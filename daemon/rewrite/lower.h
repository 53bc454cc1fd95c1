/*
 * lower.h - one function for each kind of node that is inlined (a call, If,
 * Case, While): it adds the nodes that take its place; for functions.c.
 *
 * The graphs are those that TensorFlow makes (lower_*.cc, inline_function_*.cc
 * of its core/common_runtime), names included but for their numbers.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_REWRITE_LOWER_H
#define TFD_DAEMON_REWRITE_LOWER_H

#include "daemon/rewrite/edit.h"

/* Node id is a call of this function, with its inputs and outputs.  `several`:
 * nodes of the body keep the devices they ask for, and what counts as its end
 * is said by the function; else everything runs where the call is and its end
 * is that of all outputs. */
void tfd_lower_call(struct tfd_edit *e, int32_t id, const struct tfd_func *f,
                    bool several);

/* If and Case: Switch before, Merge behind the branches; one value chooses.
 * branches: 2 with `boolean` (then, else), any number else. */
void tfd_lower_branches(struct tfd_edit *e, int32_t id,
                        const struct tfd_func *branches, int32_t count,
                        bool boolean);
/* False when the node cannot be a loop of the graph and stays as it is. */
bool tfd_lower_while(struct tfd_edit *e, int32_t id,
                     const struct tfd_func *cond, const struct tfd_func *body);

/* A node that calls f, to be expanded in its turn. */
int32_t tfd_lower_add_call(struct tfd_edit *e, struct tfd_str name,
                           const struct tfd_func *f, int32_t like,
                           const struct tfd_edge *in, int32_t in_count);
/* Input i of node id, followed. */
struct tfd_edge tfd_lower_input(const struct tfd_edit *e, int32_t id,
                                int32_t i);
/* `to` waits for everything that `from` waits for. */
void tfd_lower_copy_control(struct tfd_edit *e, int32_t from, int32_t to);

#endif
