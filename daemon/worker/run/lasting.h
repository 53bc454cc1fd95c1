/*
 * lasting.h - functions that outlive the graph whose kernel named them
 * (kernels/core/function_call.h): those that iterators of datasets call.
 *
 *     graph's table --> world: a table of its own, states of its own
 *                         ^  ^
 *               dataset --+  +-- call under way
 *
 * A world is made when a graph's first kernel names a lasting function; it has
 * the graph's library and the session's devices, and none of the session's
 * states, which may hold an iterator that holds the world.  Kernels in bodies
 * of the world name functions of the same world, which they do not hold.
 *
 * Threads: hold and let go, any; a world is freed by the loop thread.
 */
#ifndef TFD_DAEMON_WORKER_LASTING_H
#define TFD_DAEMON_WORKER_LASTING_H

#include "daemon/worker/compile/shared_states.h"
#include "daemon/worker/run/called_functions.h"

struct tfd_lasting_world {
    int refs; /* atomic */
    struct tfd_function_table *table;
    struct tfd_shared_states states;
    struct tfd_lasting_host *host;
    void *session;
    uint64_t *calls; /* of that session's worlds, so far; atomic */
    struct tfd_post freed;
};

/* With the library of `library`, and what else a graph's table has. */
struct tfd_lasting_world *
tfd_lasting_world_new(const struct tfd_function_table *of,
                      struct tfd_graph *library, struct tfd_status *st);
void tfd_lasting_world_let_go(struct tfd_lasting_world *w);

/* A call begins: UNAVAILABLE when the worker stops.  It ends on the loop
 * thread. */
enum tfd_code tfd_lasting_begin(struct tfd_rt_function *f,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_lasting_end(struct tfd_rt_function *f);
int64_t tfd_lasting_step_id(struct tfd_rt_function *f);

#endif
