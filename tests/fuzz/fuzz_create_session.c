/*
 * fuzz_create_session.c - libFuzzer target: any bytes as a
 * CreateSessionRequest, through the row of MasterService.
 *
 * A session that opens can list its devices and is closed.  Requests with a
 * cluster of their own are left out: they would dial whom the bytes name.
 */
#include "tests/fuzz/calls.h"

#include "common/proto/config.pb.h"

static bool has_cluster(struct tfd_str request)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(request);
    struct tfd_pb_field f;
    bool has = false;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_CreateSessionRequest_config_tag)
            has |= calls_field(tfd_pb_str(&r, &f),
                               tensorflow_ConfigProto_cluster_def_tag)
                       .size > 0;
    return has;
}

static void use(struct tfd_str response)
{
    char handle[64] = "";
    struct tfd_str found = calls_field(
        response, tensorflow_CreateSessionResponse_session_handle_tag);
    struct tfd_bytes b;

    assert(found.size > 0 && found.size < sizeof(handle));
    memcpy(handle, found.data, found.size);
    tfd_bytes_init(&b, 1000);
    tfd_pb_put_str(&b, tensorflow_ListDevicesRequest_session_handle_tag,
                   tfd_str_of(handle));
    calls_must(TFD_METHOD_ListDevices, tfd_bytes_view(&b), NULL);
    calls_close(tfd_str_of(handle));
    tfd_bytes_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str bytes = {(const char *)data, size}, response;

    (void)calls_server();
    if (has_cluster(bytes))
        return -1;
    if (calls_ask(TFD_METHOD_CreateSession, bytes, size % 2, &response) ==
        TFD_OK)
        use(response);
    return 0;
}
