/*
 * compile.h - turns the graph of a partition, as the master registered it, into
 * the arrays that the executor runs (exec.h).
 *
 * Threads: a compute thread; the graph, the registry and the devices are only
 * read, the session takes its own lock.
 */
#ifndef TFD_DAEMON_WORKER_COMPILE_H
#define TFD_DAEMON_WORKER_COMPILE_H

#include "common/base/atomic.h"
#include "daemon/worker/compile/exec.h"

/* Makes the state of a kernel that the session's graphs share by node name, or
 * finds it.  It may point into the node's graph. */
typedef enum tfd_code tfd_shared_state_fn(void *session,
                                          const struct tfd_kernel *kernel,
                                          const struct tfd_prepare *p,
                                          struct tfd_graph *graph, void **state,
                                          struct tfd_status *st);

struct tfd_compile_env {
    const struct tfd_registry *registry;
    struct tfd_devices *devices;
    struct tfd_rt *rts; /* by device, as the session sees it */
    tfd_shared_state_fn *shared;
    void *session;
    /* Positions of feeds and fetches, by tensor_name of client-terminated
     * nodes; those that are not named here follow. */
    const struct tfd_str *feeds, *fetches;
    int feed_count, fetch_count;
    struct tfd_function_table *functions; /* that kernels call; may be NULL */
    size_t *memory;   /* of the session; atomic; NULL: nobody counts */
    bool chains;      /* elementwise nodes may run as one (chains.h) */
    bool is_function; /* a body: _Arg and _Retval are fed and fetched */
};

/* Takes over graph's reference, and env->functions unless it is a body, also on
 * failure. */
enum tfd_code tfd_exec_compile(const struct tfd_compile_env *env,
                               struct tfd_graph *take_graph,
                               struct tfd_exec **out,
                               struct tfd_status *st) TFD_MUST_USE;
void tfd_exec_free(struct tfd_exec *e);
/* Something of so many bytes is kept with it, and is not any more. */
static inline void tfd_exec_count(const struct tfd_exec *e, size_t size)
{
    if (e->memory)
        (void)TFD_COUNTER_ADD(e->memory, size);
}

static inline void tfd_exec_uncount(const struct tfd_exec *e, size_t size)
{
    if (e->memory)
        (void)TFD_COUNTER_SUB(e->memory, size);
}

/* Runs prepare(); *state has state_size bytes or is NULL when that is 0. */
enum tfd_code tfd_exec_prepare(const struct tfd_kernel *k,
                               const struct tfd_prepare *p, void **state,
                               struct tfd_status *st) TFD_MUST_USE;
void tfd_exec_release(const struct tfd_kernel *k, void *state);

/* TensorFlow's Hash64, which is in the frame numbers of rendezvous keys. */
uint64_t tfd_exec_hash(struct tfd_str s);

#endif
