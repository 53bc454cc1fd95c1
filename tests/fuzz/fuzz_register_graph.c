/*
 * fuzz_register_graph.c - libFuzzer target: any bytes as a
 * RegisterGraphRequest, through the row of WorkerService, in its session "S".
 *
 * A graph that is taken can be given back.
 */
#include "tests/fuzz/worker_calls.h"

#define REGISTER(field) tensorflow_RegisterGraphRequest_##field##_tag

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str bytes = {(const char *)data, size}, response, graph;
    bool known;

    (void)calls_server();
    calls_open_worker();
    known = tfd_str_is(calls_field(bytes, REGISTER(session_handle)),
                       WORKER_SESSION) &&
            calls_number(bytes, REGISTER(create_worker_session_called)) != 0;
    if (calls_ask(TFD_METHOD_RegisterGraph, bytes, size % 2, &response) !=
            TFD_OK ||
        !known)
        return 0;
    graph = calls_field(response,
                        tensorflow_RegisterGraphResponse_graph_handle_tag);
    if (graph.size > 0) {
        char text[64] = "";

        assert(graph.size < sizeof(text));
        memcpy(text, graph.data, graph.size);
        calls_deregister(tfd_str_of(text));
    }
    return 0;
}
