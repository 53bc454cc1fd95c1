/*
 * shared_states.h - kernels' states that several graphs share by the names of
 * their nodes (TFD_KERNEL_SHARED): random streams, queues.
 *
 * Nodes of one name share a state only if their attributes are the same, too:
 * a kernel trusts that its state is of its types.  Within one master's session
 * they always are, but the default session is everybody's.
 *
 * Threads: any.
 */
#ifndef TFD_DAEMON_WORKER_SHARED_STATES_H
#define TFD_DAEMON_WORKER_SHARED_STATES_H

#include "common/thread/lock.h"
#include "daemon/worker/compile/compile.h"

struct tfd_shared_states {
    struct tfd_lock lock;
    struct tfd_map by_name; /* node name -> shared state */
};

void tfd_shared_states_init(struct tfd_shared_states *s);
void tfd_shared_states_deinit(struct tfd_shared_states *s);
/* Releases all; nobody has one in use. */
void tfd_shared_states_clear(struct tfd_shared_states *s);

/* The state of p's node, made when there is none: what a tfd_shared_state_fn
 * does. */
enum tfd_code tfd_shared_states_get(struct tfd_shared_states *s,
                                    const struct tfd_kernel *kernel,
                                    const struct tfd_prepare *p,
                                    struct tfd_graph *graph, void **state,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
