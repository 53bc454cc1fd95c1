/*
 * worker_rpc.h - the calls of a remote worker (remote_worker.c, remote_graph.c)
 * and what they share.
 *
 * The state of calls is pooled.  The table of graphs and the pool outlive
 * tfd_remote_worker_free() until the last call has been answered.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_WORKER_RPC_H
#define TFD_DAEMON_MASTER_WORKER_RPC_H

#include "daemon/master/remote/remote_worker.h"
#include "rpc/core/channel.h"
#include "rpc/conn/loop.h"

/* For calls that a live peer answers at once. */
#define TFD_WORKER_RPC_PROMPT_US 60000000u

struct tfd_rpc_graph {
    char *handle; /* NULL: free */
    char session[TFD_SESSION_HANDLE_MAX];
    size_t next; /* number of the next free row, 0: none */
};

/* One call in flight. */
struct tfd_worker_rpc {
    struct tfd_rpc_worker *remote;
    struct tfd_outcall *outcall;
    struct tfd_worker_rpc *next; /* pooled, or of those to be cancelled */
    bool listed;                 /* there */
    struct tfd_run_graph *run;
    const struct tfd_register_graph *graph;
    union {
        tfd_worker_done_fn *done;
        tfd_worker_status_fn *status;
        tfd_worker_registered_fn *registered;
    };
    void *ctx;
};

struct tfd_rpc_worker {
    struct tfd_worker worker; /* first: what others see */
    struct tfd_loop *loop;
    struct tfd_channel *channel;
    struct tfd_rpc_graph *graphs; /* graph number n is graphs[n - 1] */
    size_t graph_count;
    size_t free_graph; /* number of a free row, 0: none */
    struct tfd_worker_rpc *idle;
    struct tfd_worker_rpc *cancellable;
    int calls; /* not yet answered */
    bool freed;
    int64_t request_id;
};

static inline struct tfd_rpc_worker *tfd_rpc_worker_of(struct tfd_worker *w)
{
    return (struct tfd_rpc_worker *)w;
}

/* Zeroed; NULL without memory. */
struct tfd_worker_rpc *tfd_worker_rpc_new(struct tfd_rpc_worker *r);
/* The last thing a call does; its worker may be gone afterwards. */
void tfd_worker_rpc_free(struct tfd_worker_rpc *c);
/* Among those that can be cancelled by their ctx; out again before its done()
 * is called. */
void tfd_worker_rpc_list(struct tfd_worker_rpc *c);
void tfd_worker_rpc_delist(struct tfd_worker_rpc *c);
void tfd_worker_rpc_no_memory(struct tfd_status *st);
/* A request in the protocol of the link. */
void tfd_worker_rpc_begin(struct tfd_rpc_worker *r, struct tfd_message *m);
void tfd_worker_rpc_send(struct tfd_worker_rpc *c,
                         enum tfd_method_number method, struct tfd_message *m,
                         uint64_t timeout_us, bool wait, tfd_outcall_fn *done);
/* One that answers nothing.  NULL without memory: done() was called. */
struct tfd_worker_rpc *
tfd_worker_rpc_empty(struct tfd_worker *w, enum tfd_method_number method,
                     struct tfd_message *m, uint64_t timeout_us,
                     tfd_worker_done_fn *done, void *ctx);
/* No call is left and nobody holds the worker. */
void tfd_worker_rpc_end_of(struct tfd_rpc_worker *r);

/* remote_graph.c: of the operations of a worker. */
void tfd_remote_run_graph(struct tfd_worker *w, struct tfd_run_graph *run);
void tfd_remote_run_cancel(struct tfd_worker *w, struct tfd_run_graph *run);

#endif
