/*
 * partial_call.h - RunGraph of a partial run: one step over several calls of
 * its master.
 *
 * The first call begins the step and, unless it is the last, is answered at
 * once; the last one is answered when the step has ended.  Feeds and fetches
 * are the master's own affair: its partition has them, and where they come with
 * these calls they are UNIMPLEMENTED.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_PARTIAL_CALL_H
#define TFD_DAEMON_WORKER_PARTIAL_CALL_H

#include "daemon/worker/service/worker_service.h"

/* What a RunGraphRequest says; views of it. */
struct tfd_run_request {
    struct tfd_str session, graph;
    uint64_t number;
    int64_t step_id;
    uint64_t request_id;
    bool has_session, errors_in_body, is_partial, is_last;
    bool has_ends;          /* feeds or fetches */
    struct tfd_str options; /* ExecutorOpts */
};

void tfd_partial_call_run(struct tfd_worker_service *w, struct tfd_call *call,
                          const struct tfd_run_request *q);
/* The master has given the step up: CleanupGraph. */
void tfd_partial_call_drop(struct tfd_worker_service *w, int64_t step_id);
/* All steps of a session that is deleted. */
void tfd_partial_call_drop_session(struct tfd_worker_service *w,
                                   const struct tfd_task_session *s);
/* What is left when no step runs any more. */
void tfd_partial_call_free_all(struct tfd_worker_service *w);

/* ---- run_request.c ------------------------------------------------------- */

enum tfd_code tfd_run_call_graph(struct tfd_worker_service *w,
                                 const struct tfd_run_request *q,
                                 struct tfd_graph_entry **out,
                                 struct tfd_status *st) TFD_MUST_USE;
void tfd_run_call_fail(struct tfd_call *call, bool errors_in_body,
                       const struct tfd_status *st);

#endif
