/*
 * task_session.h - what a worker keeps for one session: its view of the devices
 * and the kernels' states that its graphs share.
 *
 * Named apart from the master's session.h: the same session has one of these on
 * every task.
 *
 * Ownership: counted; the worker's table holds one reference, each graph one.
 * Threads: the loop thread, but for tfd_task_session_state().
 */
#ifndef TFD_DAEMON_WORKER_TASK_SESSION_H
#define TFD_DAEMON_WORKER_TASK_SESSION_H

#include "daemon/worker/compile/shared_states.h"
#include "rpc/conn/origin.h"
#include "rpc/core/peers.h"

struct tfd_graph_entry;

struct tfd_task_session {
    int refs;
    int holds; /* atomic: of those who need its devices alone, and one */
    char handle[TFD_SESSION_HANDLE_MAX + 1]; /* "": the default session */
    char master_task[TFD_DEVICE_NAME_MAX];
    uint64_t master_incarnation;
    char peer[TFD_ORIGIN_KEY_MAX]; /* its master's; "": of this process */
    uint64_t link;                 /* which it calls over; 0: none */
    /* The task's own, or, in a cluster that the session brought along, the
     * same devices by other names. */
    struct tfd_devices *devices;
    struct tfd_devices *renamed; /* NULL: the task's own */
    struct tfd_peers *all_peers;
    struct tfd_peers_range peers; /* of that cluster, which it holds */
    struct tfd_rt rt[TFD_DEVICES_MAX];
    struct tfd_containers *own[TFD_DEVICES_MAX]; /* where it is isolated */
    int device_count;
    uint64_t number;                /* of the worker's sessions, from 1 */
    uint64_t stepped_us;            /* the last step began; 0: none */
    uint64_t used_us;               /* task_session_idle.c: by the last call */
    uint64_t lost_us;               /* its master is unreachable since */
    bool asked;                     /* the master, whether it still is */
    bool is_closed;                 /* takes no more graphs */
    struct tfd_graph_entry *graphs; /* registered */
    struct tfd_shared_states states;
    size_t memory; /* atomic: of its graphs, their functions and steps */
    uint64_t lasting_calls; /* atomic: that datasets have made (lasting.h) */
};

struct tfd_task_session_options {
    const struct tfd_worker_session *request; /* NULL: the default session */
    struct tfd_devices *devices;
    struct tfd_peers *peers; /* NULL: there are none */
    const char *container;   /* the default's name; outlives the session */
    struct tfd_file_access *files;
    struct tfd_pool *pool;
    struct tfd_crew *crew;
    struct tfd_loop *loop;
    struct tfd_collectives *collectives;
};

struct tfd_task_session *
tfd_task_session_new(const struct tfd_task_session_options *o,
                     struct tfd_status *st);
struct tfd_task_session *tfd_task_session_ref(struct tfd_task_session *s);
void tfd_task_session_unref(struct tfd_task_session *s);
/* Only its devices and their names stay; any thread, while there is a reference
 * or another hold. */
void tfd_task_session_hold(struct tfd_task_session *s);
void tfd_task_session_let_go(struct tfd_task_session *s);

/* A tfd_shared_state_fn.  Any thread. */
enum tfd_code tfd_task_session_state(void *session,
                                     const struct tfd_kernel *kernel,
                                     const struct tfd_prepare *p,
                                     struct tfd_graph *graph, void **state,
                                     struct tfd_status *st);

#endif
