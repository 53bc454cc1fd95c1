/*
 * test_master_service.c - daemon/master/service/master_service.c, run_step.c,
 * callable_calls.c: requests as bytes, whole, damaged and cut, answered exactly
 * once each.
 */
#include "tests/support/master_rig.h"

#include "common/proto/config.pb.h"
#include "common/proto/master.pb.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/tensor_proto.h"
#include "daemon/master/service/master_service.h"

#define GRAPH "p Placeholder; i Identity p; d Identity i /job:ps; n NoOp"
#define RUN(field) tensorflow_RunStepRequest_##field##_tag

/* A transport that writes down what it was told. */
struct told {
    struct tfd_call call; /* first */
    int answers;
    struct tfd_status status;
    struct tfd_bytes response;
};

struct service_rig {
    struct mrig m;
    struct tfd_service *service;
    struct tfd_master_service *master;
    char handle[TFD_SESSION_HANDLE_MAX];
};

static struct service_rig rig;

/* ---- The rig ------------------------------------------------------------- */

static void answer(struct tfd_call *call, const struct tfd_status *st,
                   struct tfd_message *take_response)
{
    struct told *t = (struct told *)call;

    t->answers++;
    if (st)
        t->status = *st;
    if (take_response)
        tfd_bytes_add_str(&t->response, tfd_bytes_view(&take_response->proto));
    tfd_incoming_deinit(&call->in);
}

static void rig_open(void)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *s;

    memset(&rig, 0, sizeof(rig));
    mrig_open(&rig.m, 2);
    rig.service = tfd_service_new(&rig.m.loop, &st);
    assert_non_null(rig.service);
    assert_int_equal(
        tfd_master_service_new(rig.m.master, rig.service, &rig.master, &st),
        TFD_OK);
    s = mrig_session(&rig.m, GRAPH);
    snprintf(rig.handle, sizeof(rig.handle), "%s", tfd_session_handle(s));
}

static void rig_close(void)
{
    mrig_close(&rig.m);
    tfd_master_service_free(rig.master);
    assert_int_equal(tfd_service_in_flight(rig.service), 0);
    tfd_service_free(rig.service);
}

/* The answer must come at once: workers hold nothing. */
static void ask(struct told *t, enum tfd_method_number method,
                struct tfd_str request)
{
    memset(t, 0, sizeof(*t));
    t->call.method = method;
    t->call.answer = answer;
    t->call.in.proto = request;
    tfd_bytes_init(&t->response, 1 << 20);
    tfd_service_dispatch(rig.service, &t->call);
    assert_int_equal(t->answers, 1);
    assert_false(t->response.failed);
}

static void forget(struct told *t)
{
    tfd_bytes_deinit(&t->response);
}

/* ---- Requests ------------------------------------------------------------ */

static struct tfd_tensor scalar_of(enum tfd_dtype type)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, type, &scalar, NULL), TFD_OK);
    memset(tfd_tensor_data(&t), 0, tfd_tensor_size(&t));
    return t;
}

static void put_tensor(struct tfd_bytes *b, uint32_t tag)
{
    struct tfd_tensor t = scalar_of(TFD_FLOAT);
    size_t mark = tfd_pb_begin(b, tag);

    tfd_tensor_proto_encode(b, &t, NULL);
    tfd_pb_finish(b, mark);
    tfd_tensor_unref(&t);
}

static void put_feed(struct tfd_bytes *b, const char *name)
{
    size_t mark = tfd_pb_begin(b, RUN(feed));

    tfd_pb_put_str(b, tensorflow_NamedTensorProto_name_tag, tfd_str_of(name));
    put_tensor(b, tensorflow_NamedTensorProto_tensor_tag);
    tfd_pb_finish(b, mark);
}

static void put_options(struct tfd_bytes *b, uint32_t tag)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_pb_put_int(b, tensorflow_RunOptions_trace_level_tag, 3);
    tfd_pb_put_int(b, tensorflow_RunOptions_timeout_in_ms_tag, 5000);
    tfd_pb_put_bool(b, tensorflow_RunOptions_output_partition_graphs_tag, true);
    tfd_pb_finish(b, mark);
}

static void put_run_step(struct tfd_bytes *b)
{
    tfd_pb_put_str(b, RUN(session_handle), tfd_str_of(rig.handle));
    put_feed(b, "p:0");
    tfd_pb_put_str(b, RUN(fetch), TFD_STR("i:0"));
    tfd_pb_put_str(b, RUN(fetch), TFD_STR("d:0"));
    tfd_pb_put_str(b, RUN(target), TFD_STR("n"));
    put_options(b, RUN(options));
    tfd_pb_put_bool(b, RUN(store_errors_in_response_body), true);
}

static void put_create(struct tfd_bytes *b)
{
    struct tfd_bytes graph = nodes_bytes(GRAPH);

    tfd_pb_put_str(b, tensorflow_CreateSessionRequest_graph_def_tag,
                   tfd_bytes_view(&graph));
    tfd_pb_put_str(b, tensorflow_CreateSessionRequest_config_tag,
                   TFD_STR("\x22\x07/job:ps\x38\x01\x40\x00\x58\x64"));
    tfd_pb_put_str(b, tensorflow_CreateSessionRequest_target_tag,
                   TFD_STR("grpc://h:1"));
    tfd_bytes_deinit(&graph);
}

static void put_extend(struct tfd_bytes *b)
{
    struct tfd_bytes graph = nodes_bytes("more Const");

    tfd_pb_put_str(b, tensorflow_ExtendSessionRequest_session_handle_tag,
                   tfd_str_of(rig.handle));
    tfd_pb_put_str(b, tensorflow_ExtendSessionRequest_graph_def_tag,
                   tfd_bytes_view(&graph));
    tfd_bytes_deinit(&graph);
}

static void put_make(struct tfd_bytes *b)
{
    size_t mark;

    tfd_pb_put_str(b, tensorflow_MakeCallableRequest_session_handle_tag,
                   tfd_str_of(rig.handle));
    mark = tfd_pb_begin(b, tensorflow_MakeCallableRequest_options_tag);
    tfd_pb_put_str(b, tensorflow_CallableOptions_feed_tag, TFD_STR("p:0"));
    tfd_pb_put_str(b, tensorflow_CallableOptions_fetch_tag, TFD_STR("d:0"));
    tfd_pb_put_str(b, tensorflow_CallableOptions_target_tag, TFD_STR("n"));
    put_options(b, tensorflow_CallableOptions_run_options_tag);
    tfd_pb_finish(b, mark);
}

static void put_run_callable(struct tfd_bytes *b)
{
    tfd_pb_put_str(b, tensorflow_RunCallableRequest_session_handle_tag,
                   tfd_str_of(rig.handle));
    tfd_pb_put_int(b, tensorflow_RunCallableRequest_handle_tag, 0);
    put_tensor(b, tensorflow_RunCallableRequest_feed_tag);
}

static void put_setup(struct tfd_bytes *b)
{
    tfd_pb_put_str(b, tensorflow_PartialRunSetupRequest_session_handle_tag,
                   tfd_str_of(rig.handle));
    tfd_pb_put_str(b, tensorflow_PartialRunSetupRequest_feed_tag,
                   TFD_STR("p:0"));
    tfd_pb_put_str(b, tensorflow_PartialRunSetupRequest_fetch_tag,
                   TFD_STR("d:0"));
    tfd_pb_put_str(b, tensorflow_PartialRunSetupRequest_target_tag,
                   TFD_STR("n"));
}

static void put_part(struct tfd_bytes *b)
{
    tfd_pb_put_str(b, RUN(session_handle), tfd_str_of(rig.handle));
    put_feed(b, "p:0");
    tfd_pb_put_str(b, RUN(fetch), TFD_STR("d:0"));
    tfd_pb_put_str(b, RUN(partial_run_handle), TFD_STR("0"));
}

static void put_reset(struct tfd_bytes *b)
{
    tfd_pb_put_str(b, tensorflow_ResetRequest_container_tag, TFD_STR("box"));
    tfd_pb_put_str(b, tensorflow_ResetRequest_device_filters_tag,
                   TFD_STR("/job:ps"));
}

/* In an order in which each finds what it needs. */
static const struct request {
    enum tfd_method_number method;
    void (*put)(struct tfd_bytes *b);
} requests[] = {
    {TFD_METHOD_RunStep, put_run_step},
    {TFD_METHOD_CreateSession, put_create},
    {TFD_METHOD_ExtendSession, put_extend},
    {TFD_METHOD_MakeCallable, put_make},
    {TFD_METHOD_RunCallable, put_run_callable},
    {TFD_METHOD_PartialRunSetup, put_setup},
    {TFD_METHOD_RunStep, put_part},
    {TFD_METHOD_Reset, put_reset},
};

/* ---- Whole --------------------------------------------------------------- */

static void test_whole_requests_are_answered(void **state)
{
    (void)state;
    rig_open();
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct tfd_bytes b;
        struct told t;

        tfd_bytes_init(&b, 1 << 20);
        requests[i].put(&b);
        ask(&t, requests[i].method, tfd_bytes_view(&b));
        if (t.status.code != TFD_OK)
            fail_msg("%s: %s", tfd_service_path(requests[i].method),
                     t.status.text);
        forget(&t);
        tfd_bytes_deinit(&b);
    }
    rig_close();
}

/* The fetches of a RunStepResponse, "name ... ", and its error. */
static int read_response(struct tfd_str proto, char *names, int *code)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f, name;
    int metadata = 0;

    names[0] = '\0';
    *code = 0;
    while (tfd_pb_next(&r, &f)) {
        struct tfd_pb_reader inner = tfd_pb_reader_of(f.bytes);

        if (f.tag == tensorflow_RunStepResponse_tensor_tag &&
            tfd_pb_next(&inner, &name))
            snprintf(names + strlen(names), 16, TFD_STR_FMT " ",
                     TFD_STR_ARG(name.bytes));
        else if (f.tag == tensorflow_RunStepResponse_metadata_tag)
            metadata++;
        else if (f.tag == tensorflow_RunStepResponse_status_code_tag)
            *code = (int)f.number;
    }
    assert_false(r.failed);
    return metadata;
}

static void test_a_step_answers_its_fetches_once(void **state)
{
    struct tfd_bytes b;
    struct told t;
    char names[256];
    int code;

    (void)state;
    rig_open();
    tfd_bytes_init(&b, 1 << 20);
    put_run_step(&b);
    tfd_pb_put_str(&b, RUN(fetch), TFD_STR("i:0")); /* again */
    ask(&t, TFD_METHOD_RunStep, tfd_bytes_view(&b));
    assert_int_equal(read_response(tfd_bytes_view(&t.response), names, &code),
                     1);
    assert_string_equal(names, "i:0 d:0 ");
    assert_int_equal(code, 0);
    forget(&t);
    tfd_bytes_deinit(&b);
    rig_close();
}

static void test_errors_stand_where_the_client_wants_them(void **state)
{
    char names[256];
    int code;

    (void)state;
    rig_open();
    for (int in_body = 0; in_body < 2; in_body++) {
        struct tfd_bytes b;
        struct told t;

        tfd_bytes_init(&b, 1 << 20);
        tfd_pb_put_bool(&b, RUN(store_errors_in_response_body), in_body);
        tfd_pb_put_str(&b, RUN(session_handle), TFD_STR("nope"));
        tfd_pb_put_str(&b, RUN(fetch), TFD_STR("i:0"));
        ask(&t, TFD_METHOD_RunStep, tfd_bytes_view(&b));
        read_response(tfd_bytes_view(&t.response), names, &code);
        assert_int_equal(code, in_body ? TFD_ABORTED : 0);
        assert_int_equal(t.status.code, in_body ? TFD_OK : TFD_ABORTED);
        forget(&t);
        tfd_bytes_deinit(&b);
    }
    rig_close();
}

/* ---- Damaged ------------------------------------------------------------- */

/* A field of RunStepRequest in front of whole ones. */
static const struct {
    struct tfd_str bytes;
    enum tfd_code code;
    const char *text;
} damaged[] = {
    {TFD_STR_INIT("\x0a"), TFD_INTERNAL, "Unable to parse"},
    {TFD_STR_INIT("\x0a\x7f"), TFD_INTERNAL, "Unable to parse"},
    {TFD_STR_INIT("\x07"), TFD_INTERNAL, "Unable to parse"},
    {TFD_STR_INIT("\x08\x01"), TFD_INTERNAL, "Unable to parse"},
    {TFD_STR_INIT("\x18\x01"), TFD_INTERNAL, "Unable to parse"},
    {TFD_STR_INIT("\x3a\x00"), TFD_INTERNAL, "Unable to parse"},
    {TFD_STR_INIT("\x12\x01\x0a"), TFD_INVALID_ARGUMENT, "NamedTensorProto"},
    {TFD_STR_INIT("\x12\x02\x12\x00"), TFD_INVALID_ARGUMENT,
     "Invalid TensorProto for feed value 0"},
    {TFD_STR_INIT("\x12\x04\x12\x02\x08\x63"), TFD_INVALID_ARGUMENT,
     "Invalid TensorProto for feed value 0"},
    {TFD_STR_INIT("\x2a\x01\x08"), TFD_INVALID_ARGUMENT, "RunOptions"},
    {TFD_STR_INIT("\x2a\x02\x0a\x00"), TFD_INVALID_ARGUMENT, "RunOptions"},
    {TFD_STR_INIT("\x2a\x04\x32\x02\x22\x00"), TFD_UNIMPLEMENTED,
     "debug_options.debug_tensor_watch_opts has 1 entries"},
    {TFD_STR_INIT("\x2a\x03\x32\x01\x22"), TFD_INVALID_ARGUMENT,
     "DebugOptions"},
    {TFD_STR_INIT("\x32\x01\x35"), TFD_INVALID_ARGUMENT, "PartialRunSetup"},
};

static void test_damaged_fields_are_named(void **state)
{
    (void)state;
    rig_open();
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        struct tfd_bytes b;
        struct told t;

        tfd_bytes_init(&b, 1 << 20);
        tfd_pb_put_str(&b, RUN(session_handle), tfd_str_of(rig.handle));
        tfd_pb_put_str(&b, RUN(fetch), TFD_STR("i:0"));
        tfd_bytes_add_str(&b, damaged[i].bytes);
        ask(&t, TFD_METHOD_RunStep, tfd_bytes_view(&b));
        assert_ended(t.answers, &t.status, damaged[i].code, damaged[i].text);
        forget(&t);
        tfd_bytes_deinit(&b);
    }
    rig_close();
}

/* Sessions that a damaged request opened by chance. */
static void close_others(void)
{
    struct tfd_session *s = rig.m.master->sessions;

    while (s) {
        struct tfd_session *next = s->next;
        struct mrig_result result = {0};

        if (strcmp(s->handle, rig.handle) != 0) {
            tfd_session_close(s, mrig_done, &result);
            assert_int_equal(result.done, 1);
        }
        s = next;
    }
}

static void ask_and_forget(const struct request *q, struct tfd_str bytes)
{
    struct told t;

    ask(&t, q->method, bytes);
    forget(&t);
    if (q->method == TFD_METHOD_CreateSession)
        close_others();
}

static void test_requests_may_end_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct tfd_bytes b;

        rig_open();
        tfd_bytes_init(&b, 1 << 20);
        requests[i].put(&b);
        for (size_t n = 0; n < b.size; n++) {
            char *cut = malloc(n + 1); /* so that one byte more is noticed */

            assert_non_null(cut);
            memcpy(cut, b.data, n);
            ask_and_forget(&requests[i], (struct tfd_str){cut, n});
            free(cut);
        }
        tfd_bytes_deinit(&b);
        rig_close();
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void test_requests_may_be_damaged_anywhere(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct tfd_bytes b;

        rig_open();
        tfd_bytes_init(&b, 1 << 20);
        requests[i].put(&b);
        for (int round = 0; round < 400; round++) {
            char *copy = malloc(b.size);

            assert_non_null(copy);
            memcpy(copy, b.data, b.size);
            for (uint32_t k = 0; k <= next_random(&seed) % 3; k++)
                copy[next_random(&seed) % b.size] = (char)next_random(&seed);
            ask_and_forget(&requests[i], (struct tfd_str){copy, b.size});
            free(copy);
        }
        tfd_bytes_deinit(&b);
        rig_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_requests_are_answered),
        cmocka_unit_test(test_a_step_answers_its_fetches_once),
        cmocka_unit_test(test_errors_stand_where_the_client_wants_them),
        cmocka_unit_test(test_damaged_fields_are_named),
        cmocka_unit_test(test_requests_may_end_anywhere),
        cmocka_unit_test(test_requests_may_be_damaged_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
