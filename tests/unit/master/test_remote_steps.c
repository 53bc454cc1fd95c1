/*
 * test_remote_steps.c - daemon/master/remote/remote_worker.c over real
 * connections, native and gRPC: graphs that are registered with a peer, and
 * their steps.
 */
#include "tests/support/remote_rig.h"

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
    p->worker->ops->delete_session(p->worker, TFD_STR("s1"), TFD_SESSION_LAST,
                                   1000000, got_done, &r);
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
        cmocka_unit_test(test_sessions_and_graphs_may_be_taken_back),
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

    return cmocka_run_group_tests_name("remote_steps", tests, NULL, NULL);
}
