/*
 * fuzz_eager_context.c - libFuzzer target: any bytes as each of the requests of
 * EagerService that contexts are made, updated, kept and closed by.
 *
 *     context 7    is there, at view 0, and is what requests are about
 *     context 8    is what the bytes make, if they make one
 */
#include "tests/fuzz/eager_calls.h"

#define MADE 8u

/* The bytes, then the fields that make them reach: the last ones count. */
static void ask(enum tfd_method_number method, struct tfd_str bytes,
                uint32_t id_tag, uint64_t id, uint32_t view_tag)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, bytes.size + 100);
    tfd_bytes_add_str(&b, bytes);
    tfd_pb_put_fixed64(&b, id_tag, id);
    if (view_tag)
        tfd_pb_put_fixed64(&b, view_tag, 1);
    (void)calls_ask(method, tfd_bytes_view(&b), false, NULL);
    tfd_bytes_deinit(&b);
}

static void close_context(uint64_t id)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 100);
    tfd_pb_put_fixed64(&b, tensorflow_eager_CloseContextRequest_context_id_tag,
                       id);
    tfd_pb_put_fixed64(&b,
                       tensorflow_eager_CloseContextRequest_context_view_id_tag,
                       UINT64_MAX);
    calls_must(TFD_METHOD_CloseContext, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str bytes = {(const char *)data, size};

    (void)calls_server();
    eager_create_context();
    ask(TFD_METHOD_CreateContext, bytes,
        tensorflow_eager_CreateContextRequest_context_id_tag, MADE, 0);
    ask(TFD_METHOD_UpdateContext, bytes,
        tensorflow_eager_UpdateContextRequest_context_id_tag, EAGER_CONTEXT,
        tensorflow_eager_UpdateContextRequest_context_view_id_tag);
    ask(TFD_METHOD_KeepAlive, bytes,
        tensorflow_eager_KeepAliveRequest_context_id_tag, EAGER_CONTEXT, 0);
    ask(TFD_METHOD_WaitQueueDone, bytes,
        tensorflow_eager_WaitQueueDoneRequest_context_id_tag, EAGER_CONTEXT, 0);
    ask(TFD_METHOD_CloseContext, bytes,
        tensorflow_eager_CloseContextRequest_context_id_tag, EAGER_CONTEXT, 0);
    close_context(EAGER_CONTEXT);
    close_context(MADE);
    return 0;
}
