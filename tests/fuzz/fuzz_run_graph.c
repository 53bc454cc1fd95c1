/*
 * fuzz_run_graph.c - libFuzzer target: any bytes as a RunGraphRequest, through
 * the row of WorkerService, for the graph "G" of its session "S":
 *
 *     x -> Square -> y    x is sent and y received under the keys of KEY()
 */
#include "tests/fuzz/worker_calls.h"

#define RUN(field) tensorflow_RunGraphRequest_##field##_tag
#define DEVICE "/job:local/replica:0/task:0/device:CPU:0"

static char graph[64];

static void put_end(struct tfd_bytes *out, bool sends)
{
    struct tfd_bytes value[6];
    struct tfd_attr attrs[6] = {
        {.name = TFD_STR_INIT("T")},
        {.name = TFD_STR_INIT("tensor_name")},
        {.name = TFD_STR_INIT("send_device")},
        {.name = TFD_STR_INIT("send_device_incarnation")},
        {.name = TFD_STR_INIT("recv_device")},
        {.name = TFD_STR_INIT("client_terminated")},
    };
    struct tfd_str in = TFD_STR("s");
    struct tfd_nodedef def = {
        .name = tfd_str_of(sends ? "send" : "recv"),
        .op = tfd_str_of(sends ? "_Send" : "_Recv"),
        .device = TFD_STR(DEVICE),
        .in = &in,
        .in_count = sends,
        .attrs = attrs,
        .attr_count = 6,
    };

    for (int i = 0; i < 6; i++)
        tfd_bytes_init(&value[i], 1000);
    if (!sends)
        attrs[0].name = TFD_STR("tensor_type");
    tfd_attr_put_type(&value[0], TFD_FLOAT);
    tfd_attr_put_str(&value[1], tfd_str_of(sends ? "y:0" : "x:0"));
    tfd_attr_put_str(&value[2], TFD_STR(DEVICE));
    tfd_attr_put_int(&value[3], 1);
    tfd_attr_put_str(&value[4], TFD_STR(DEVICE));
    tfd_attr_put_bool(&value[5], true);
    for (int i = 0; i < 6; i++)
        attrs[i].value = tfd_bytes_view(&value[i]);
    tfd_graphdef_put(out, &def);
    for (int i = 0; i < 6; i++)
        tfd_bytes_deinit(&value[i]);
}

static void put_square(struct tfd_bytes *out)
{
    struct tfd_str in = TFD_STR("recv");
    struct tfd_bytes type;
    struct tfd_attr attr;

    tfd_bytes_init(&type, 100);
    tfd_attr_put_type(&type, TFD_FLOAT);
    attr = (struct tfd_attr){TFD_STR("T"), tfd_bytes_view(&type)};
    tfd_graphdef_put(out, &(struct tfd_nodedef){.name = TFD_STR("s"),
                                                .op = TFD_STR("Square"),
                                                .device = TFD_STR(DEVICE),
                                                .in = &in,
                                                .in_count = 1,
                                                .attrs = &attr,
                                                .attr_count = 1});
    tfd_bytes_deinit(&type);
}

static void open_graph(void)
{
    struct tfd_str response, handle;
    struct tfd_bytes b;
    size_t mark;

    if (graph[0])
        return;
    tfd_bytes_init(&b, 1 << 16);
    tfd_pb_put_str(&b, tensorflow_RegisterGraphRequest_session_handle_tag,
                   TFD_STR(WORKER_SESSION));
    tfd_pb_put_bool(
        &b, tensorflow_RegisterGraphRequest_create_worker_session_called_tag,
        true);
    mark = tfd_pb_begin(&b, tensorflow_RegisterGraphRequest_graph_def_tag);
    put_end(&b, false);
    put_square(&b);
    put_end(&b, true);
    tfd_pb_finish(&b, mark);
    calls_must(TFD_METHOD_RegisterGraph, tfd_bytes_view(&b), &response);
    handle = calls_field(response,
                         tensorflow_RegisterGraphResponse_graph_handle_tag);
    assert(handle.size > 0 && handle.size < sizeof(graph));
    memcpy(graph, handle.data, handle.size);
    tfd_bytes_deinit(&b);
}

/* What the step left, as a master has it cleaned up. */
static void clean_up(int64_t step)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 1000);
    tfd_pb_put_int(&b, tensorflow_CleanupGraphRequest_step_id_tag, step);
    (void)calls_ask(TFD_METHOD_CleanupGraph, tfd_bytes_view(&b), false, NULL);
    tfd_bytes_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str bytes = {(const char *)data, size};
    struct tfd_bytes b;

    (void)calls_server();
    calls_open_worker();
    open_graph();
    tfd_bytes_init(&b, size + 1000);
    tfd_bytes_add_str(&b, bytes);
    calls_set_handle(&b, RUN(graph_handle), "G", graph);
    (void)calls_ask(TFD_METHOD_RunGraph, tfd_bytes_view(&b), size % 2, NULL);
    clean_up(calls_number(bytes, RUN(step_id)));
    tfd_bytes_deinit(&b);
    return 0;
}
