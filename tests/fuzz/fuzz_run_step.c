/*
 * fuzz_run_step.c - libFuzzer target: any bytes as a RunStepRequest, through
 * the row of MasterService, on a session of calls.h's graph.
 *
 * Whatever it was, an ordinary step runs after it.
 */
#include "tests/fuzz/calls.h"

static char handle[64];

/* An echo of p, as a client asks for it. */
static void check_session(void)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 1 << 10);
    tfd_pb_put_str(&b, tensorflow_RunStepRequest_session_handle_tag,
                   tfd_str_of(handle));
    tfd_pb_put_str(&b, tensorflow_RunStepRequest_target_tag, TFD_STR("q"));
    calls_must(TFD_METHOD_RunStep, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str bytes = {(const char *)data, size};
    struct tfd_bytes b;

    (void)calls_server();
    if (!handle[0])
        calls_open(handle, sizeof(handle));
    tfd_bytes_init(&b, size + 1000);
    tfd_bytes_add_str(&b, bytes);
    calls_set_handle(&b, tensorflow_RunStepRequest_session_handle_tag, "S",
                     handle);
    (void)calls_ask(TFD_METHOD_RunStep, tfd_bytes_view(&b), size % 2, NULL);
    check_session();
    tfd_bytes_deinit(&b);
    return 0;
}
