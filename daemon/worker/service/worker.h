/*
 * worker.h - the worker of one task: its devices and resources, the graphs that
 * masters register, the steps they run.
 *
 * A master in this process calls tfd_worker_local() (daemon/worker_api.h);
 * others come through WorkerService, whose rows are bound to the service.
 *
 * Which thread computes what: daemon/worker/run/executor.h.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_WORKER_H
#define TFD_DAEMON_WORKER_WORKER_H

#include "daemon/worker_api.h"
#include "kernels/core/registry.h"
#include "rpc/core/peers.h"

struct tfd_device;
struct tfd_file_access;
struct tfd_pool;
struct tfd_worker_service;

/* Everything is borrowed and outlives the worker. */
struct tfd_worker_options {
    struct tfd_loop *loop;
    struct tfd_pool *pool;       /* NULL: everything on the loop thread */
    struct tfd_service *service; /* NULL: no calls from outside */
    struct tfd_peers *peers;     /* NULL: a cluster of this task alone */
    const struct tfd_registry *registry;
    struct tfd_file_access *files; /* NULL: file ops fail */
    const char *task;              /* "/job:worker/replica:0/task:1" */
    const char *container;         /* the default's name: the job's */
    int cpu_count;                 /* --device_count=CPU:n */
    /* Devices of other kinds: see tfd_devices_add(). */
    const struct tfd_device *devices;
    int device_count;
    bool chains;              /* elementwise nodes may run as one (chains.h) */
    uint64_t session_idle_us; /* see task_session_idle.h; 0: for ever */
    uint64_t stuck_after_us;  /* see stuck_steps.h; 0: no step is stuck */
    uint64_t peer_wait_us; /* for links that a graph pushes over; 0: for ever */
    /* A task's master opened a session here, and it has ended; for exit rules.
     * Numbers grow.  *stepped_us, the last step's time, lives as long as the
     * session.  May be NULL. */
    void (*session_opened)(void *ctx, const char *master_task, uint64_t number,
                           const uint64_t *stepped_us);
    void (*session_ended)(void *ctx, const char *master_task, uint64_t number,
                          enum tfd_session_end end);
    /* The number of sessions has changed; for exit rules.  May be NULL. */
    void (*activity)(void *ctx);
    void *ctx;
};

enum tfd_code tfd_worker_service_new(const struct tfd_worker_options *o,
                                     struct tfd_worker_service **out,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Stops the worker if it was not, and runs the loop until nothing is under way
 * any more: a kernel that computes is waited for. */
void tfd_worker_finish(struct tfd_worker_service *w);
/* The same, then frees. */
void tfd_worker_service_free(struct tfd_worker_service *w);

/* The calls of a master in this process. */
struct tfd_worker *tfd_worker_local(struct tfd_worker_service *w);

/* Fails all steps that run and refuses new ones, UNAVAILABLE. */
void tfd_worker_stop(struct tfd_worker_service *w,
                     const struct tfd_status *why);

/* The default one is not counted. */
int tfd_worker_session_count(const struct tfd_worker_service *w);

/* Calls fn for each session of another task's master that has an open
 * connection to here, with that task's peer number. */
void tfd_worker_each_master(struct tfd_worker_service *w,
                            void (*fn)(void *ctx, int peer), void *ctx);

/* For status pages and tests. */
struct tfd_worker_counts {
    int sessions; /* the default one is not counted */
    int graphs;
    int registering;
    int steps; /* running */
    uint64_t steps_done;
    uint64_t abandoned; /* sessions dropped because their masters had left */
    int resources;
    size_t parked_size; /* bytes pushed for steps that have not begun */
};
struct tfd_worker_counts tfd_worker_counts(struct tfd_worker_service *w);
/* Bytes that it keeps for the sessions of all masters
 * (task_session_memory.h). */
size_t tfd_worker_memory(const struct tfd_worker_service *w);

/* Resources of the task's devices, `max` at most of all; those of isolated
 * sessions are not among them. */
struct tfd_containers_item;
void tfd_worker_each_resource(struct tfd_worker_service *w, int max,
                              void (*fn)(void *ctx, const char *device,
                                         struct tfd_containers_item *item),
                              void *ctx);

#endif
