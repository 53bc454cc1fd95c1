/*
 * test_remote_worker.c - daemon/master/remote_worker.c over real connections,
 * native and gRPC: what it says to a peer, and what it makes of the answers.
 */
#include "daemon/master/remote_worker.h"

#include "common/pbio.h"
#include "common/proto/device.pb.h"
#include "common/proto/worker.pb.h"
#include "config/limits.h"
#include "tests/support/rig.h"

/* Too long for a line of code. */
#define ISOLATE_TAG \
    tensorflow_CreateWorkerSessionRequest_isolate_session_state_tag
#define CALLED_TAG \
    tensorflow_RegisterGraphRequest_create_worker_session_called_tag

/* ---- A peer that answers what it is told --------------------------------- */

struct peer {
    struct rig *rig;
    struct tfd_channel *channel;
    struct tfd_worker *worker;
    struct tfd_bytes request;  /* the last one */
    struct tfd_bytes answer;   /* to every call */
    struct tfd_status failure; /* instead */
    int calls;
};

static void answers(void *self, struct tfd_call *call)
{
    struct peer *p = self;
    struct tfd_message m;

    p->calls++;
    tfd_bytes_clear(&p->request);
    tfd_bytes_add_str(&p->request, call->in.proto);
    if (p->failure.code != TFD_OK) {
        tfd_call_fail(call, &p->failure);
    } else {
        tfd_message_init(&m, call->native);
        tfd_bytes_add_str(&m.proto, tfd_bytes_view(&p->answer));
        tfd_call_respond(call, &m);
    }
    rig_tick(p->rig);
}

static struct peer *open_peer(enum tfd_protocol protocol)
{
    static const enum tfd_method_number methods[] = {
        TFD_METHOD_GetStatus,       TFD_METHOD_CreateWorkerSession,
        TFD_METHOD_RegisterGraph,   TFD_METHOD_DeleteWorkerSession,
        TFD_METHOD_DeregisterGraph, TFD_METHOD_RunGraph,
        TFD_METHOD_CleanupGraph,    TFD_METHOD_CleanupAll,
    };
    struct peer *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->rig = rig_new();
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        tfd_service_bind(p->rig->service, methods[i], answers, p);
    tfd_bytes_init(&p->request, 1 << 20);
    tfd_bytes_init(&p->answer, 1 << 20);
    p->channel = rig_channel(p->rig, p->rig->address, protocol);
    p->worker = tfd_remote_worker_new(p->rig->loop, p->channel,
                                      "/job:ps/replica:0/task:3");
    assert_non_null(p->worker);
    return p;
}

static void close_peer(struct peer *p)
{
    tfd_channel_free(p->channel);
    tfd_remote_worker_free(p->worker);
    rig_free(p->rig);
    tfd_bytes_deinit(&p->request);
    tfd_bytes_deinit(&p->answer);
    free(p);
}

static const enum tfd_protocol protocols[] = {TFD_PROTO_NATIVE, TFD_PROTO_GRPC};

/* The field of the last request; "?" when it is not there. */
static struct tfd_str sent(const struct peer *p, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&p->request));
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire == TFD_PB_BYTES)
            return f.bytes;
    return TFD_STR("?");
}

static uint64_t sent_number(const struct peer *p, uint32_t tag)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&p->request));
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tag && f.wire != TFD_PB_BYTES)
            return f.number;
    return UINT64_MAX;
}

/* ---- What came of a call ------------------------------------------------- */

struct result {
    struct peer *peer;
    int done;
    struct tfd_status status;
    struct tfd_device_attributes devices[TFD_DEVICES_PER_TYPE_MAX];
    int count;
    uint64_t graph;
};

static void got(struct result *r, const struct tfd_status *st)
{
    r->done++;
    r->status = *st;
    rig_tick(r->peer->rig);
}

static void got_done(void *ctx, const struct tfd_status *st)
{
    got(ctx, st);
}

static void got_status(void *ctx, const struct tfd_status *st,
                       const struct tfd_device_attributes *devices, int count)
{
    struct result *r = ctx;

    r->count = count;
    if (count > 0)
        memcpy(r->devices, devices, sizeof(*devices) * (size_t)count);
    got(r, st);
}

static void got_graph(void *ctx, const struct tfd_status *st, uint64_t graph)
{
    struct result *r = ctx;

    assert_true((st->code == TFD_OK) == (graph != 0));
    r->graph = graph;
    got(r, st);
}

static void assert_result(const struct result *r, enum tfd_code code,
                          const char *text)
{
    assert_int_equal(r->done, 1);
    if (r->status.code != code || !strstr(r->status.text, text))
        fail_msg("%s: %s, not %s: %s", tfd_code_name(r->status.code),
                 r->status.text, tfd_code_name(code), text);
}

/* ---- GetStatus ----------------------------------------------------------- */

static void put_device(struct tfd_bytes *b, const char *name)
{
    size_t mark =
        tfd_pb_begin(b, tensorflow_GetStatusResponse_device_attributes_tag);

    tfd_pb_put_str(b, tensorflow_DeviceAttributes_name_tag, tfd_str_of(name));
    tfd_pb_put_str(b, tensorflow_DeviceAttributes_device_type_tag,
                   TFD_STR("CPU"));
    tfd_pb_put_int(b, tensorflow_DeviceAttributes_memory_limit_tag, 268435456);
    tfd_pb_put_fixed64(b, tensorflow_DeviceAttributes_incarnation_tag,
                       UINT64_C(0xfedcba9876543210));
    tfd_pb_put_int(b, tensorflow_DeviceAttributes_xla_global_id_tag, -1);
    tfd_pb_finish(b, mark);
}

static void ask(struct peer *p, struct result *r)
{
    memset(r, 0, sizeof(*r));
    r->peer = p;
    p->worker->ops->get_status(p->worker, 5000000, got_status, r);
    rig_run(p->rig, 2);
}

static void test_devices_arrive_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct peer *p = open_peer(protocols[i]);
        struct result r;

        put_device(&p->answer, "/job:ps/replica:0/task:3/device:CPU:0");
        put_device(&p->answer, "/job:ps/replica:0/task:3/device:CPU:1");
        ask(p, &r);
        assert_result(&r, TFD_OK, "");
        assert_int_equal(r.count, 2);
        assert_string_equal(r.devices[1].name,
                            "/job:ps/replica:0/task:3/device:CPU:1");
        assert_string_equal(r.devices[1].type, "CPU");
        assert_int_equal(r.devices[1].memory_limit, 268435456);
        assert_true(r.devices[1].incarnation == UINT64_C(0xfedcba9876543210));
        assert_int_equal(p->worker->ops->is_native(p->worker), i == 0);
        assert_string_equal(p->worker->ops->trouble(p->worker), "");
        close_peer(p);
    }
}

static void test_answers_to_get_status_that_are_damaged(void **state)
{
    static const struct {
        struct tfd_str bytes;
        enum tfd_code code;
    } cases[] = {
        {TFD_STR_INIT(""), TFD_OK},
        {TFD_STR_INIT("\x0a"), TFD_INVALID_ARGUMENT},
        {TFD_STR_INIT("\x0a\x05\x0a\x09zz"), TFD_INVALID_ARGUMENT},
        {TFD_STR_INIT("\xff\xff\xff"), TFD_INVALID_ARGUMENT},
        {TFD_STR_INIT("\x0a\x02\x30\x07"), TFD_OK}, /* number, no fixed64 */
        {TFD_STR_INIT("\x0a\x02\x08\x07"), TFD_INVALID_ARGUMENT},
    };
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    struct result r;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tfd_bytes_clear(&p->answer);
        tfd_bytes_add_str(&p->answer, cases[i].bytes);
        ask(p, &r);
        if (cases[i].code == TFD_OK)
            assert_result(&r, TFD_OK, "");
        else
            assert_true(r.status.code != TFD_OK);
        assert_true(r.status.code == TFD_OK || r.count == 0);
    }
    close_peer(p);
}

static void test_a_worker_has_only_so_many_devices(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    struct result r;

    (void)state;
    for (int i = 0; i < TFD_DEVICES_PER_TYPE_MAX; i++)
        put_device(&p->answer, "/job:ps/replica:0/task:3/device:CPU:0");
    ask(p, &r);
    assert_result(&r, TFD_OK, "");
    assert_int_equal(r.count, TFD_DEVICES_PER_TYPE_MAX);
    put_device(&p->answer, "/job:ps/replica:0/task:3/device:CPU:0");
    ask(p, &r);
    assert_result(&r, TFD_RESOURCE_EXHAUSTED, "more than 64 devices");
    close_peer(p);
}

static void test_a_name_that_is_too_long_is_cut(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    char name[1000];
    struct result r;

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    put_device(&p->answer, name);
    ask(p, &r);
    assert_result(&r, TFD_OK, "");
    assert_int_equal(strlen(r.devices[0].name), TFD_DEVICE_NAME_MAX - 1);
    close_peer(p);
}

static void test_a_peer_that_is_not_there_is_waited_for_so_long(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    struct tfd_channel *dead;
    struct tfd_worker *w;
    struct result r = {.peer = p};

    (void)state;
    dead = rig_channel(p->rig, "127.0.0.1:1", TFD_PROTO_UNKNOWN);
    w = tfd_remote_worker_new(p->rig->loop, dead, "/job:ps/replica:0/task:4");
    w->ops->get_status(w, 100000, got_status, &r);
    rig_run(p->rig, 1);
    assert_result(&r, TFD_DEADLINE_EXCEEDED, "127.0.0.1:1");
    assert_non_null(strstr(w->ops->trouble(w), "refused"));
    assert_false(w->ops->is_native(w));
    r.done = 0;
    w->ops->delete_session(w, TFD_STR("h"), 5000000, got_done, &r);
    rig_run(p->rig, 1); /* others do not wait */
    assert_result(&r, TFD_UNAVAILABLE, "refused");
    tfd_channel_free(dead);
    tfd_remote_worker_free(w);
    close_peer(p);
}

static void test_a_question_may_be_taken_back(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    struct result r[3];

    (void)state;
    tfd_service_bind(p->rig->service, TFD_METHOD_GetStatus, rig_hold, p->rig);
    for (int i = 0; i < 3; i++) {
        memset(&r[i], 0, sizeof(r[i]));
        r[i].peer = p;
        p->worker->ops->get_status(p->worker, 5000000, got_status, &r[i]);
    }
    rig_run(p->rig, 3);
    p->worker->ops->cancel_call(p->worker, &r[1]);
    p->worker->ops->cancel_call(p->worker, p); /* nobody's */
    rig_run(p->rig, 2);                        /* here and there */
    assert_result(&r[1], TFD_CANCELLED, "GetStatus was cancelled");
    assert_int_equal(r[0].done + r[2].done, 0);
    rig_release(p->rig);
    rig_run(p->rig, 2);
    assert_result(&r[0], TFD_OK, "");
    assert_result(&r[2], TFD_OK, "");
    close_peer(p);
}

/* ---- Sessions ------------------------------------------------------------ */

static void test_a_session_is_described_as_tensorflow_does(void **state)
{
    const struct tfd_worker_session spec = {
        .handle = TFD_STR("0123456789abcdef"),
        .master_task = TFD_STR("/job:worker/replica:0/task:0"),
        .master_incarnation = UINT64_C(0xfedcba9876543210),
        .isolate = true,
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct peer *p = open_peer(protocols[i]);
        struct result r = {.peer = p};

        p->worker->ops->create_session(p->worker, &spec, got_done, &r);
        rig_run(p->rig, 2);
        assert_result(&r, TFD_OK, "");
        assert_true(tfd_str_is(
            sent(p, tensorflow_CreateWorkerSessionRequest_session_handle_tag),
            "0123456789abcdef"));
        /* job_name, task_index, protocol */
        assert_true(tfd_str_is(
            sent(p, tensorflow_CreateWorkerSessionRequest_server_def_tag),
            "\x12\x02ps\x18\x03\x2a\x04grpc"));
        assert_true(tfd_str_is(
            sent(p, tensorflow_CreateWorkerSessionRequest_master_task_tag),
            "/job:worker/replica:0/task:0"));
        assert_true(
            sent_number(
                p,
                tensorflow_CreateWorkerSessionRequest_master_incarnation_tag) ==
            UINT64_C(0xfedcba9876543210));
        assert_int_equal(sent_number(p, ISOLATE_TAG), 1);
        r.done = 0;
        (void)tfd_fail(&p->failure, TFD_ABORTED, "no such session");
        p->worker->ops->delete_session(p->worker, spec.handle, 1000000,
                                       got_done, &r);
        rig_run(p->rig, 2);
        assert_result(&r, TFD_ABORTED, "no such session");
        close_peer(p);
    }
}

static void test_containers_are_named_to_the_peer(void **state)
{
    const struct tfd_str names[] = {TFD_STR("a"), TFD_STR("")};
    struct peer *p = open_peer(TFD_PROTO_GRPC);
    struct result r = {.peer = p};

    (void)state;
    p->worker->ops->cleanup_all(p->worker, names, 2, got_done, &r);
    rig_run(p->rig, 2);
    assert_result(&r, TFD_OK, "");
    assert_int_equal(p->request.size, 5); /* the empty name is said too */
    assert_memory_equal(p->request.data,
                        "\x0a\x01"
                        "a\x0a\x00",
                        5);
    close_peer(p);
}

/* ---- Graphs and steps ---------------------------------------------------- */

static void put_handle(struct peer *p, const char *handle)
{
    tfd_bytes_clear(&p->answer);
    tfd_pb_put_str(&p->answer,
                   tensorflow_RegisterGraphResponse_graph_handle_tag,
                   tfd_str_of(handle));
}

static uint64_t register_graph(struct peer *p, const char *session,
                               const char *handle)
{
    const struct tfd_register_graph g = {
        .session = tfd_str_of(session),
        .graph_def = TFD_STR("graph"),
        .config_proto = TFD_STR_EMPTY,
    };
    struct result r = {.peer = p};

    put_handle(p, handle);
    p->worker->ops->register_graph(p->worker, &g, got_graph, &r);
    rig_run(p->rig, 2);
    assert_result(&r, TFD_OK, "");
    tfd_bytes_clear(&p->answer);
    return r.graph;
}

/* As when its session is closed while the worker is silent. */
static void test_sessions_and_graphs_may_be_taken_back(void **state)
{
    const struct tfd_worker_session spec = {.handle = TFD_STR("cafe")};
    const struct tfd_register_graph g = {.session = TFD_STR("cafe"),
                                         .graph_def = TFD_STR("graph"),
                                         .config_proto = TFD_STR_EMPTY};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct peer *p = open_peer(protocols[i]);
        struct result r[2] = {{.peer = p}, {.peer = p}};

        tfd_service_bind(p->rig->service, TFD_METHOD_CreateWorkerSession,
                         rig_hold, p->rig);
        tfd_service_bind(p->rig->service, TFD_METHOD_RegisterGraph, rig_hold,
                         p->rig);
        p->worker->ops->create_session(p->worker, &spec, got_done, &r[0]);
        p->worker->ops->register_graph(p->worker, &g, got_graph, &r[1]);
        rig_run(p->rig, 2);
        for (int k = 0; k < 2; k++) {
            p->worker->ops->cancel_call(p->worker, &r[k]);
            rig_run(p->rig, 2); /* here and there */
            assert_result(&r[k], TFD_CANCELLED, "was cancelled");
            p->worker->ops->cancel_call(p->worker, &r[k]); /* too late */
        }
        close_peer(p);
    }
}

struct running {
    struct tfd_run_graph run; /* first */
    struct result result;
};

static void ran(struct tfd_run_graph *run, const struct tfd_status *st)
{
    assert_null(run->worker);
    got(&((struct running *)run)->result, st);
}

static void start(struct peer *p, struct running *r, uint64_t graph)
{
    *r = (struct running){.run = {.session = TFD_STR("s1"),
                                  .graph = graph,
                                  .step_id = 42,
                                  .done = ran}};
    r->result.peer = p;
    p->worker->ops->run_graph(p->worker, &r->run);
}

static void test_graphs_are_known_by_the_peers_handles(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct peer *p = open_peer(protocols[i]);
        struct running run;
        uint64_t a = register_graph(p, "s1", "first"), b;

        assert_true(tfd_str_is(
            sent(p, tensorflow_RegisterGraphRequest_graph_def_tag), "graph"));
        assert_int_equal(sent_number(p, CALLED_TAG), 1);
        b = register_graph(p, "s1", "second");
        assert_true(a != b);
        start(p, &run, a);
        rig_run(p->rig, 2);
        assert_result(&run.result, TFD_OK, "");
        assert_true(tfd_str_is(
            sent(p, tensorflow_RunGraphRequest_graph_handle_tag), "first"));
        assert_int_equal(sent_number(p, tensorflow_RunGraphRequest_step_id_tag),
                         42);
        start(p, &run, b);
        rig_run(p->rig, 2);
        assert_true(tfd_str_is(
            sent(p, tensorflow_RunGraphRequest_graph_handle_tag), "second"));
        close_peer(p);
    }
}

static void test_every_step_has_another_request_id(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    uint64_t graph = register_graph(p, "s1", "g"), before = 0;
    struct running run;

    (void)state;
    for (int i = 0; i < 5; i++) {
        uint64_t id;

        start(p, &run, graph);
        rig_run(p->rig, 2);
        id = sent_number(p, tensorflow_RunGraphRequest_request_id_tag);
        assert_true(id != 0 && id != before && id < UINT64_C(1) << 63);
        before = id;
    }
    close_peer(p);
}

static void test_numbers_of_graphs_that_are_gone(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    uint64_t one = register_graph(p, "s1", "one");
    uint64_t two = register_graph(p, "s2", "two");
    const uint64_t unknown[] = {0, 3, UINT64_MAX};
    struct result r = {.peer = p};
    struct running run;

    (void)state;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        start(p, &run, unknown[i]); /* ends at once */
        p->rig->awaited = 0;
        assert_result(&run.result, TFD_INTERNAL,
                      "is not registered on "
                      "/job:ps/replica:0/task:3");
    }
    p->worker->ops->deregister_graph(p->worker, TFD_STR("s1"), one);
    rig_run(p->rig, 1);
    assert_true(tfd_str_is(
        sent(p, tensorflow_DeregisterGraphRequest_graph_handle_tag), "one"));
    p->worker->ops->deregister_graph(p->worker, TFD_STR("s1"), one);
    p->worker->ops->deregister_graph(p->worker, TFD_STR("s1"), 99);
    assert_int_equal(register_graph(p, "s1", "again"), one); /* reused */

    /* A session takes its graphs along, and only those. */
    p->worker->ops->delete_session(p->worker, TFD_STR("s1"), 1000000, got_done,
                                   &r);
    rig_run(p->rig, 2);
    start(p, &run, one);
    p->rig->awaited = 0;
    assert_result(&run.result, TFD_INTERNAL, "");
    start(p, &run, two);
    rig_run(p->rig, 2);
    assert_result(&run.result, TFD_OK, "");
    for (int i = 0; i < 3; i++)
        register_graph(p, "s3", "more");
    assert_int_equal(register_graph(p, "s3", "last"), 5);
    close_peer(p);
}

static void test_registrations_that_fail(void **state)
{
    static const struct {
        const char *bytes;
        enum tfd_code failure;
        const char *text;
    } cases[] = {
        {"", TFD_NOT_FOUND, "Op type not registered"},
        {"\x0a\x09zz", TFD_OK, "RegisterGraphResponse"},
        {"\x08\x01", TFD_OK, "RegisterGraphResponse"},
    };
    const struct tfd_register_graph g = {.session = TFD_STR("s"),
                                         .graph_def = TFD_STR("g"),
                                         .config_proto = TFD_STR("c")};
    struct peer *p = open_peer(TFD_PROTO_NATIVE);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct result r = {.peer = p};

        tfd_bytes_clear(&p->answer);
        tfd_bytes_add_str(&p->answer, tfd_str_of(cases[i].bytes));
        tfd_status_clear(&p->failure);
        if (cases[i].failure != TFD_OK)
            (void)tfd_fail(&p->failure, cases[i].failure, "%s", cases[i].text);
        p->worker->ops->register_graph(p->worker, &g, got_graph, &r);
        rig_run(p->rig, 2);
        assert_int_equal(r.done, 1);
        assert_true(r.status.code != TFD_OK);
        assert_non_null(strstr(r.status.text, cases[i].text));
        assert_int_equal(r.graph, 0);
    }
    close_peer(p);
}

static void test_failures_of_a_step_come_in_the_body(void **state)
{
    static const struct {
        int64_t code;
        const char *text;
        enum tfd_code want;
    } cases[] = {
        {3, "bad\n\t [[{{node n}}]]", TFD_INVALID_ARGUMENT},
        {10, "aborted", TFD_ABORTED},
        {0, "no failure", TFD_OK},
        {99, "from the future", TFD_UNKNOWN},
        {-1, "strange", TFD_UNKNOWN},
    };

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct peer *p = open_peer(protocols[k]);
        uint64_t graph = register_graph(p, "s1", "g");

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct running run;

            tfd_bytes_clear(&p->answer);
            tfd_pb_put_int(&p->answer,
                           tensorflow_RunGraphResponse_status_code_tag,
                           cases[i].code);
            tfd_pb_put_str(&p->answer,
                           tensorflow_RunGraphResponse_status_error_message_tag,
                           tfd_str_of(cases[i].text));
            start(p, &run, graph);
            rig_run(p->rig, 2);
            assert_result(&run.result, cases[i].want,
                          cases[i].want ? cases[i].text : "");
        }
        close_peer(p);
    }
}

static void test_a_long_failure_is_cut(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    uint64_t graph = register_graph(p, "s1", "g");
    char text[10000];
    struct running run;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    tfd_pb_put_int(&p->answer, tensorflow_RunGraphResponse_status_code_tag, 13);
    tfd_pb_put_str(&p->answer,
                   tensorflow_RunGraphResponse_status_error_message_tag,
                   tfd_str_of(text));
    start(p, &run, graph);
    rig_run(p->rig, 2);
    assert_result(&run.result, TFD_INTERNAL, "xxx...");
    close_peer(p);
}

static void test_a_step_may_be_cancelled(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct peer *p = open_peer(protocols[i]);
        uint64_t graph = register_graph(p, "s1", "g");
        struct running run;

        tfd_service_bind(p->rig->service, TFD_METHOD_RunGraph, rig_hold,
                         p->rig);
        start(p, &run, graph);
        rig_run(p->rig, 1); /* it is there */
        p->worker->ops->cancel(p->worker, &run.run);
        p->worker->ops->cancel(p->worker, &run.run); /* once is enough */
        rig_run(p->rig, 2); /* done here, cancelled there */
        assert_result(&run.result, TFD_CANCELLED, "");
        assert_int_equal(p->rig->cancelled_count, 1);
        p->worker->ops->cancel(p->worker, &run.run); /* too late */
        close_peer(p);
    }
}

static void test_a_lost_connection_fails_the_step(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    uint64_t graph = register_graph(p, "s1", "g");
    struct running run;

    (void)state;
    tfd_service_bind(p->rig->service, TFD_METHOD_RunGraph, rig_hold, p->rig);
    start(p, &run, graph);
    rig_run(p->rig, 1);
    tfd_channel_free(p->channel);
    rig_run(p->rig, 2);
    assert_result(&run.result, TFD_CANCELLED, "closed");
    p->channel = NULL;
    close_peer(p);
}

/* As when a server stops: nobody may wait for the calls that are out. */
static void test_calls_outlive_their_worker(void **state)
{
    struct peer *p = open_peer(TFD_PROTO_NATIVE);
    uint64_t graph = register_graph(p, "s1", "g");
    struct result status = {.peer = p};
    struct running run;

    (void)state;
    tfd_service_bind(p->rig->service, TFD_METHOD_RunGraph, rig_hold, p->rig);
    tfd_service_bind(p->rig->service, TFD_METHOD_GetStatus, rig_hold, p->rig);
    start(p, &run, graph);
    p->worker->ops->get_status(p->worker, 1000000, got_status, &status);
    p->worker->ops->cleanup_graph(p->worker, 42);
    rig_run(p->rig, 3);
    tfd_channel_free(p->channel);
    tfd_remote_worker_free(p->worker);
    rig_run(p->rig, 2);
    assert_int_equal(run.result.done, 1);
    assert_int_equal(status.done, 1);
    rig_free(p->rig);
    tfd_bytes_deinit(&p->request);
    tfd_bytes_deinit(&p->answer);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_arrive_whole),
        cmocka_unit_test(test_answers_to_get_status_that_are_damaged),
        cmocka_unit_test(test_a_worker_has_only_so_many_devices),
        cmocka_unit_test(test_a_name_that_is_too_long_is_cut),
        cmocka_unit_test(test_a_peer_that_is_not_there_is_waited_for_so_long),
        cmocka_unit_test(test_a_question_may_be_taken_back),
        cmocka_unit_test(test_sessions_and_graphs_may_be_taken_back),
        cmocka_unit_test(test_a_session_is_described_as_tensorflow_does),
        cmocka_unit_test(test_containers_are_named_to_the_peer),
        cmocka_unit_test(test_graphs_are_known_by_the_peers_handles),
        cmocka_unit_test(test_every_step_has_another_request_id),
        cmocka_unit_test(test_numbers_of_graphs_that_are_gone),
        cmocka_unit_test(test_registrations_that_fail),
        cmocka_unit_test(test_failures_of_a_step_come_in_the_body),
        cmocka_unit_test(test_a_long_failure_is_cut),
        cmocka_unit_test(test_a_step_may_be_cancelled),
        cmocka_unit_test(test_a_lost_connection_fails_the_step),
        cmocka_unit_test(test_calls_outlive_their_worker),
    };

    return cmocka_run_group_tests_name("remote_worker", tests, NULL, NULL);
}
