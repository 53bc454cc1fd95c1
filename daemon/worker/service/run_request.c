/*
 * run_request.c - finds the graph that a RunGraph request names, and answers a
 * request that failed; for whole steps (run_call.c) and partial ones
 * (partial_call.c).
 */
#include "common/proto/worker.pb.h"
#include "daemon/worker/service/partial_call.h"
#include "daemon/worker/service/task_session_use.h"

#define RAN(field) tensorflow_RunGraphResponse_##field##_tag

enum tfd_code tfd_run_call_graph(struct tfd_worker_service *w,
                                 const struct tfd_run_request *q,
                                 struct tfd_graph_entry **out,
                                 struct tfd_status *st)
{
    uint64_t number = q->number ? q->number : tfd_graphs_number(q->graph);
    struct tfd_str handle = q->has_session ? q->session : TFD_STR_EMPTY;
    struct tfd_graph_entry *g = tfd_graphs_find(w, number);
    struct tfd_task_session *session;

    if (g && tfd_str_is(handle, g->session->handle)) {
        tfd_worker_session_used(w, g->session);
        g->session->stepped_us = g->session->used_us;
        *out = g;
        return TFD_OK;
    }
    TFD_TRY(tfd_worker_find_session(w, handle, &session, st));
    return tfd_fail(st, TFD_ABORTED, "Graph handle is not found: " TFD_STR_FMT,
                    TFD_STR_ARG(q->graph));
}

void tfd_run_call_fail(struct tfd_call *call, bool errors_in_body,
                       const struct tfd_status *st)
{
    struct tfd_message m;

    if (!errors_in_body) {
        tfd_call_fail(call, st);
        return;
    }
    tfd_message_init(&m, call->native);
    tfd_pb_put_int(&m.proto, RAN(status_code), (int64_t)st->code);
    tfd_pb_put_str(&m.proto, RAN(status_error_message), tfd_str_of(st->text));
    tfd_call_respond(call, &m);
}
