/*
 * test_service.c - rpc/core/service.c: the table of methods, its counters,
 * drain.
 */
#include "tests/support/rig.h"

#include "config/limits.h"

/* A transport that writes down what it was told. */
struct told {
    struct tfd_call call; /* first */
    int answers;
    enum tfd_code code;
    char text[256];
    size_t size;
};

static void answer(struct tfd_call *call, const struct tfd_status *st,
                   struct tfd_message *take_response)
{
    struct told *t = (struct told *)call;

    t->answers++;
    t->code = st ? st->code : TFD_OK;
    snprintf(t->text, sizeof(t->text), "%.255s", st ? st->text : "");
    t->size = take_response ? take_response->proto.size : 0;
    tfd_incoming_deinit(&call->in);
}

static void dispatch(struct rig *r, struct told *t,
                     enum tfd_method_number method)
{
    *t = (struct told){.call = {.method = method, .answer = answer}};
    t->call.in.proto = TFD_STR("request");
    tfd_service_dispatch(r->service, &t->call);
}

static void test_paths_and_numbers_are_one_table(void **state)
{
    static const struct {
        const char *path;
        int method; /* 0: none */
    } cases[] = {
        {"/tensorflow.MasterService/RunStep", TFD_METHOD_RunStep},
        {"/tensorflow.WorkerService/RecvTensor", TFD_METHOD_RecvTensor},
        {"/grpc.health.v1.Health/Check", TFD_METHOD_Check},
        {"/tfd.Peer/PushTensors", TFD_METHOD_PushTensors},
        {"/tensorflow.MasterService/RunSte", 0},
        {"/tensorflow.MasterService/RunStep2", 0},
        {"tensorflow.MasterService/RunStep", 0},
        {"/tensorflow.WorkerService/RunStep", 0},
        {"/", 0},
        {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum tfd_method_number m = tfd_service_find(tfd_str_of(cases[i].path));

        assert_int_equal(m, cases[i].method);
        if (m)
            assert_string_equal(tfd_service_path(m), cases[i].path);
    }
    assert_string_equal(tfd_service_path((enum tfd_method_number)0),
                        "unknown method");
    assert_string_equal(tfd_service_path((enum tfd_method_number)1000),
                        "unknown method");
}

static void test_calls_are_counted(void **state)
{
    struct rig *r = rig_new();
    const struct tfd_method_stats *s;
    struct told t;

    (void)state;
    dispatch(r, &t, TFD_METHOD_RunGraph); /* echoes */
    assert_int_equal(t.answers, 1);
    assert_int_equal(t.size, strlen("request"));
    dispatch(r, &t, TFD_METHOD_GetStatus); /* fails */
    assert_int_equal(t.code, TFD_NOT_FOUND);
    s = tfd_service_stats(r->service, TFD_METHOD_RunGraph);
    assert_int_equal(s->calls, 1);
    assert_int_equal(s->failures, 0);
    assert_int_equal(s->request_bytes, strlen("request"));
    assert_int_equal(s->response_bytes, strlen("request"));
    s = tfd_service_stats(r->service, TFD_METHOD_GetStatus);
    assert_int_equal(s->failures, 1);
    assert_int_equal(tfd_service_in_flight(r->service), 0);
    rig_free(r);
}

static void test_a_method_nobody_serves_names_itself(void **state)
{
    struct rig *r = rig_new();
    struct told t;

    (void)state;
    dispatch(r, &t, TFD_METHOD_Logging);
    assert_int_equal(t.code, TFD_UNIMPLEMENTED);
    assert_non_null(strstr(t.text, "/tensorflow.WorkerService/Logging"));
    rig_free(r);
}

static void too_long(void *self, struct tfd_call *call)
{
    struct tfd_message m;

    (void)self;
    tfd_message_init(&m, call->native);
    m.proto.failed = true;
    tfd_call_respond(call, &m);
}

static void test_a_response_that_did_not_fit_is_a_failure(void **state)
{
    struct rig *r = rig_new();
    struct told t;

    (void)state;
    tfd_service_bind(r->service, TFD_METHOD_RunStep, too_long, NULL);
    dispatch(r, &t, TFD_METHOD_RunStep);
    assert_int_equal(t.answers, 1);
    assert_int_equal(t.code, TFD_RESOURCE_EXHAUSTED);
    rig_free(r);
}

static void on_drained(void *ctx)
{
    rig_tick(ctx);
}

static void test_draining_ends_with_the_last_call(void **state)
{
    struct rig *r = rig_new();
    static const enum tfd_method_number beginnings[] = {
        TFD_METHOD_CreateSession,
        TFD_METHOD_ExtendSession,
        TFD_METHOD_RunStep,
        TFD_METHOD_PartialRunSetup,
        TFD_METHOD_MakeCallable,
        TFD_METHOD_RunCallable,
        TFD_METHOD_CreateWorkerSession,
    };
    struct told running, late, health, refused;

    (void)state;
    r->awaited = 2; /* of the two that are held */
    dispatch(r, &running, TFD_METHOD_RecvTensor);
    assert_false(tfd_service_draining(r->service));
    tfd_service_bind(r->service, TFD_METHOD_Watch, rig_hold, r);
    tfd_service_drain(r->service, on_drained, r);
    assert_true(tfd_service_draining(r->service));
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        tfd_service_bind(r->service, beginnings[i], rig_echo, r);
        dispatch(r, &refused, beginnings[i]);
        assert_int_equal(refused.code, TFD_UNAVAILABLE);
        assert_non_null(strstr(refused.text, "shutting down"));
    }
    dispatch(r, &late, TFD_METHOD_RunGraph); /* of a step that runs */
    assert_int_equal(late.code, TFD_OK);
    dispatch(r, &health, TFD_METHOD_Watch); /* never ends, does not count */
    assert_int_equal(running.answers, 0);
    assert_int_equal(tfd_service_in_flight(r->service), 1);
    r->held[0] = r->held[1]; /* Watch is held on */
    r->held_count = 1;
    rig_echo(NULL, &running.call);
    assert_int_equal(running.answers, 1);
    r->awaited = 0;
    rig_run(r, 1); /* drained */
    rig_free(r);
    assert_int_equal(health.answers, 1);
}

static void test_draining_an_idle_service_ends_at_once(void **state)
{
    struct rig *r = rig_new();

    (void)state;
    tfd_service_drain(r->service, on_drained, r);
    rig_run(r, 1);
    rig_free(r);
}

static int no_page(void *self, struct tfd_page *p)
{
    (void)self;
    (void)p;
    return 404;
}

static void test_pages_are_limited(void **state)
{
    static const char *const path[] = {"/a", "/b", "/c", "/d"};
    struct rig *r = rig_new();
    void *self = NULL;

    (void)state;
    for (int i = 0; i < TFD_PAGES_MAX; i++)
        assert_int_equal(
            tfd_service_page(r->service, path[i % 4], no_page, &r, NULL),
            TFD_OK);
    assert_int_equal(tfd_service_page(r->service, "/e", no_page, NULL, NULL),
                     TFD_RESOURCE_EXHAUSTED);
    assert_non_null(tfd_service_find_page(r->service, TFD_STR("/c"), &self));
    assert_ptr_equal(self, &r);
    assert_null(tfd_service_find_page(r->service, TFD_STR("/e"), &self));
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_and_numbers_are_one_table),
        cmocka_unit_test(test_calls_are_counted),
        cmocka_unit_test(test_a_method_nobody_serves_names_itself),
        cmocka_unit_test(test_a_response_that_did_not_fit_is_a_failure),
        cmocka_unit_test(test_draining_ends_with_the_last_call),
        cmocka_unit_test(test_draining_an_idle_service_ends_at_once),
        cmocka_unit_test(test_pages_are_limited),
    };

    return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
