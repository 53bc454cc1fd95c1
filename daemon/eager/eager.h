/*
 * eager.h - tensorflow.eager.EagerService: what TensorFlow 2's coordinator asks
 * of a task.  It is its own master: it sends single ops and functions, and
 * values stay here under handles until it lets go of them.
 *
 *     context.h      a coordinator's view of this task, and all that it keeps
 *     handles.h      its values, by operation and output
 *     packed.h       one that is a value for each of several devices
 *     library.h      its functions, by name
 *     operation.h    an operation as it is asked for
 *     single_op.h    an op -> a graph of one node, kept for the next time
 *     function.h     a function's body (body.h) -> a graph
 *     graph.h        such a graph, registered with the worker, and its runs
 *     enqueue.h      the items of a request, one after the other
 *     operate.h      an item that runs a function or an op
 *     component.h    a part of a function that another task owns
 *     parts/         a function of ours whose values lie on several tasks
 *     service.c      the rows of the table of methods
 *
 * It stands on the worker as a master in this process does (worker_api.h): a
 * context has a session there, in which its graphs are registered and run, so
 * its variables are those of the task's other sessions.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_EAGER_H
#define TFD_DAEMON_EAGER_EAGER_H

#include "daemon/worker_api.h"
#include "kernels/core/registry.h"
#include "rpc/core/peers.h"
#include "rpc/core/service.h"

struct tfd_eager;

/* Everything is borrowed and outlives it. */
struct tfd_eager_options {
    struct tfd_loop *loop;
    struct tfd_service *service; /* the rows are bound to it */
    struct tfd_peers *peers;
    struct tfd_worker *worker; /* of this process */
    const struct tfd_registry *registry;
    struct tfd_tracer *tracer; /* of functions that run here; NULL: none */
};

enum tfd_code tfd_eager_new(const struct tfd_eager_options *o,
                            struct tfd_eager **out,
                            struct tfd_status *st) TFD_MUST_USE;
/* Closes all contexts, which cancels their runs, and takes no new ones.  What
 * was cancelled ends with the worker's steps. */
void tfd_eager_stop(struct tfd_eager *e);
/* After the worker has finished and the connections are closed. */
void tfd_eager_free(struct tfd_eager *e); /* NULL is allowed */

/* For status pages and tests. */
struct tfd_eager_counts {
    int contexts;
    size_t handles;
    size_t functions;
    size_t graphs;      /* single ops and functions that are kept compiled */
    int runs;           /* ops and functions under way */
    uint64_t runs_done; /* also of contexts that are closed */
    uint64_t abandoned; /* contexts that nobody spoke to any more */
};
struct tfd_eager_counts tfd_eager_counts(const struct tfd_eager *e);
/* Bytes of all contexts: context_memory.h. */
size_t tfd_eager_memory(const struct tfd_eager *e);

struct tfd_eager_facts {
    uint64_t id;
    const char *client; /* as quotas count it; "": this process */
    uint64_t age_us, idle_us;
    size_t handles, functions, graphs;
    int calls; /* under way */
    uint64_t runs_done;
    uint64_t received, sent; /* bytes of calls in its name */
    size_t memory;           /* context_memory.h */
};
/* Calls fn for `max` contexts at most; texts are borrowed for the call. */
void tfd_eager_each(const struct tfd_eager *e, int max,
                    void (*fn)(void *ctx, const struct tfd_eager_facts *f),
                    void *ctx);

#endif
