/*
 * worker_service.h - the state of a worker, and what the files that implement
 * worker.h offer each other, one section for each file.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_WORKER_SERVICE_H
#define TFD_DAEMON_WORKER_WORKER_SERVICE_H

#include "common/base/id_map.h"
#include "rpc/core/request_ids.h"
#include "daemon/worker/collective/collectives.h"
#include "daemon/worker/exchange/transfer.h"
#include "daemon/worker/run/lasting.h"
#include "daemon/worker/service/graphs.h"
#include "daemon/worker/service/worker.h"
#include "rpc/core/service.h"

struct tfd_registration;
struct tfd_run_call;
struct tfd_idle_question;
struct tfd_lost_peer;
struct tfd_partial_step;

struct tfd_worker_service {
    struct tfd_worker local; /* first: what a master in this process holds */
    struct tfd_worker_options options;
    struct tfd_devices devices;
    struct tfd_device_attributes attributes[TFD_DEVICES_MAX];
    struct tfd_map sessions; /* handle -> struct tfd_task_session */
    struct tfd_task_session *default_session;
    struct tfd_id_map graphs;
    uint64_t next_graph;
    struct tfd_rendezvous_table *rendezvous;
    struct tfd_transfer *transfer;
    struct tfd_peer_memory *peer_memory;
    struct tfd_lasting_host lasting;
    struct tfd_crew *crew;
    struct tfd_collectives collectives;
    struct tfd_post crew_idle;
    bool crew_told; /* crew_idle is to come */
    bool lasts;     /* the loop is to stop when nothing of these is left */
    struct tfd_step *steps; /* running */
    int step_count;
    uint64_t steps_done;
    struct tfd_registration *registrations; /* of graphs, under way */
    int registering;                        /* how many */
    bool stopping;                          /* nothing new is begun */
    bool waiting; /* the loop is to stop when nothing is under way */
    struct tfd_request_ids run_ids, recv_ids;
    struct tfd_run_call *idle_calls;
    struct tfd_timer idle_timer;
    struct tfd_timer stuck_timer;
    struct tfd_stuck_question *stuck_questions; /* stuck_ask.c */
    struct tfd_idle_question *questions;
    uint64_t abandoned;
    struct tfd_peers_follower follower; /* lost_peers.c */
    uint64_t last_session;              /* number */
    struct tfd_lost_peer *lost_peers;
    struct tfd_partial_step *partial_steps;
};

/* A step or a registration has ended. */
void tfd_worker_one_less(struct tfd_worker_service *w);
/* UNAVAILABLE when the worker stops. */
enum tfd_code tfd_worker_check(const struct tfd_worker_service *w,
                               struct tfd_status *st) TFD_MUST_USE;
/* Steps run, or graphs are being registered. */
bool tfd_worker_has_work(const struct tfd_worker_service *w);

/* worker_lasting.c: threads that wait, and functions that outlive graphs. */
enum tfd_code tfd_worker_make_lasting(struct tfd_worker_service *w,
                                      struct tfd_status *st) TFD_MUST_USE;
/* Runs the loop until they have ended, once nothing holds them. */
void tfd_worker_end_lasting(struct tfd_worker_service *w);

/* task_sessions.c.  NULL: of this task. */
struct tfd_task_session *
tfd_worker_new_session(struct tfd_worker_service *w,
                       const struct tfd_worker_session *request,
                       struct tfd_status *st);
/* With its graphs; it may be NULL. */
void tfd_worker_drop_session(struct tfd_task_session *s);
enum tfd_code tfd_worker_create_session(struct tfd_worker_service *w,
                                        const struct tfd_worker_session *s,
                                        struct tfd_status *st) TFD_MUST_USE;
/* Unknown ones are ignored. */
void tfd_worker_delete_session(struct tfd_worker_service *w,
                               struct tfd_str handle, enum tfd_session_end end);
/* Empties containers on every device; none names the default one. */
void tfd_worker_cleanup_all(struct tfd_worker_service *w,
                            const struct tfd_str *containers, int count);

/* client_ends.c: of the operations of a local worker. */
enum tfd_code tfd_worker_put_value(struct tfd_worker *w, int64_t step,
                                   struct tfd_str key,
                                   struct tfd_tensor *take_value,
                                   struct tfd_status *st);
void tfd_worker_take_value(struct tfd_worker *w, int64_t step,
                           struct tfd_str key, tfd_worker_value_fn *done,
                           void *ctx);

/* local_worker.c */
extern const struct tfd_worker_ops tfd_worker_local_ops;

/* worker_methods.c, run_call.c, recv_call.c: the rows of WorkerService. */
void tfd_worker_bind(struct tfd_worker_service *w);
void tfd_worker_run_graph(void *self, struct tfd_call *call);
void tfd_worker_free_run_calls(struct tfd_worker_service *w);
void tfd_worker_recv_tensor(void *self, struct tfd_call *call);
void tfd_worker_push_tensors(void *self, struct tfd_call *call);

#endif
