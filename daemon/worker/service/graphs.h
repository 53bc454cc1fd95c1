/*
 * graphs.h - the table of graphs that masters have registered on this worker,
 * and the steps that run on each.
 *
 * Registering compiles a graph on a compute thread, then waits for the native
 * connections over which its steps will push tensors.  A graph is known by a
 * number; handles have it as 16 hexadecimal digits.
 *
 * Ownership: a graph is counted by its session and by each running step.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_GRAPHS_H
#define TFD_DAEMON_WORKER_GRAPHS_H

#include "daemon/worker/run/step.h"
#include "daemon/worker/service/task_session.h"
#include "daemon/worker_api.h"

struct tfd_worker_service;

struct tfd_graph_entry {
    uint64_t id;
    int refs;
    struct tfd_worker_service *worker;
    struct tfd_task_session *session;
    struct tfd_exec *exec;
    bool pushes;                   /* to other tasks */
    struct tfd_map feeds, fetches; /* key -> position */
    struct tfd_step *idle;
    int idle_count;
    struct tfd_graph_entry *next, *previous; /* of the session */
};

/* r is borrowed until done.  by_name: r names all feeds and fetches. */
void tfd_graphs_register(struct tfd_worker_service *w,
                         const struct tfd_register_graph *r,
                         struct tfd_task_session *session, bool by_name,
                         tfd_worker_registered_fn *done, void *ctx);
/* The registration with this ctx, if there is one, waits for no other task any
 * more: CANCELLED. */
void tfd_graphs_cancel_register(struct tfd_worker_service *w, const void *ctx);
/* Out of its session and the table; freed with its last step. */
void tfd_graphs_remove(struct tfd_graph_entry *g);
/* Drops a reference; the table's is the first. */
void tfd_graph_entry_unref(struct tfd_graph_entry *g);
/* The number in a handle; 0 when it is none. */
uint64_t tfd_graphs_number(struct tfd_str handle);
/* NULL when there is no such graph. */
struct tfd_graph_entry *tfd_graphs_find(struct tfd_worker_service *w,
                                        uint64_t id);
/* feeds and fetches of run have as many places as g->exec says. */
void tfd_graphs_run(struct tfd_graph_entry *g, struct tfd_run_graph *run);
/* Running steps fail: those that exchange tensors with the peer over native
 * links; -1: all. */
void tfd_graphs_fail(struct tfd_worker_service *w, int32_t peer,
                     const struct tfd_status *why);
void tfd_graphs_cancel(struct tfd_run_graph *run, const struct tfd_status *st);

#endif
