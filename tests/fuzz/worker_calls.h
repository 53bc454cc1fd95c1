/*
 * worker_calls.h - calls.h for requests of WorkerService: a session of the
 * worker, and graphs registered in it.
 */
#ifndef TFD_TESTS_FUZZ_WORKER_CALLS_H
#define TFD_TESTS_FUZZ_WORKER_CALLS_H

#include "tests/fuzz/calls.h"

#define WORKER_SESSION "S"

static inline void calls_open_worker(void)
{
    static bool open;
    struct tfd_bytes b;

    if (open)
        return;
    open = true;
    tfd_bytes_init(&b, 1000);
    tfd_pb_put_str(&b, tensorflow_CreateWorkerSessionRequest_session_handle_tag,
                   TFD_STR(WORKER_SESSION));
    calls_must(TFD_METHOD_CreateWorkerSession, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

static inline void calls_deregister(struct tfd_str graph)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 1000);
    tfd_pb_put_str(&b, tensorflow_DeregisterGraphRequest_session_handle_tag,
                   TFD_STR(WORKER_SESSION));
    tfd_pb_put_bool(
        &b, tensorflow_DeregisterGraphRequest_create_worker_session_called_tag,
        true);
    tfd_pb_put_str(&b, tensorflow_DeregisterGraphRequest_graph_handle_tag,
                   graph);
    calls_must(TFD_METHOD_DeregisterGraph, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

#endif
