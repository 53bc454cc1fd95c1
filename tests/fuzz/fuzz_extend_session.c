/*
 * fuzz_extend_session.c - libFuzzer target: any bytes as an
 * ExtendSessionRequest, through the row of MasterService, on a new session of
 * calls.h's graph.
 *
 * What was refused changed nothing: an ordinary extension comes after it.
 */
#include "tests/fuzz/calls.h"

#define EXTEND(field) tensorflow_ExtendSessionRequest_##field##_tag

/* An extension that adds nothing, for whoever knows this version. */
static void check_version(const char *handle, int64_t version)
{
    struct tfd_bytes b;
    size_t mark;

    tfd_bytes_init(&b, 1000);
    tfd_pb_put_str(&b, EXTEND(session_handle), tfd_str_of(handle));
    tfd_pb_put_int(&b, EXTEND(current_graph_version), version);
    mark = tfd_pb_begin(&b, EXTEND(graph_def));
    calls_put_versions(&b);
    tfd_pb_finish(&b, mark);
    calls_must(TFD_METHOD_ExtendSession, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str bytes = {(const char *)data, size};
    char handle[64];
    struct tfd_bytes b;
    enum tfd_code rc;

    (void)calls_server();
    calls_open(handle, sizeof(handle));
    tfd_bytes_init(&b, size + 1000);
    tfd_bytes_add_str(&b, bytes);
    calls_set_handle(&b, EXTEND(session_handle), "S", handle);
    rc =
        calls_ask(TFD_METHOD_ExtendSession, tfd_bytes_view(&b), size % 2, NULL);
    check_version(handle, rc == TFD_OK);
    calls_close(tfd_str_of(handle));
    tfd_bytes_deinit(&b);
    return 0;
}
