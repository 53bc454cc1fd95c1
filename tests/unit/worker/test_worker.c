/*
 * test_worker.c - the rows of WorkerService over sockets.
 */
#include "tests/support/two_tasks.h"

#include "config/limits.h"
#include "daemon/worker/service/task_session_use.h"

/* ---- Rows of WorkerService ----------------------------------------------- */

static void test_status_lists_devices(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    begin(&m);
    call(&task[1], TFD_METHOD_GetStatus, &m, &a);
    assert_int_equal(a.st.code, TFD_OK);
    assert_non_null(strstr(a.text, TASK1 "/device:CPU:1"));
}

static void test_sessions_are_created_and_deleted(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    create_session(&task[0], "", "/job:t/task:0", 1, false, &a);
    assert_int_equal(a.st.code, TFD_INVALID_ARGUMENT);
    assert_string_equal(a.st.text, "Session must be non-empty.");
    create_session(&task[0], SESSION, "/job:t/task:0", 1, false, &a);
    assert_int_equal(a.st.code, TFD_OK);
    create_session(&task[0], SESSION, "/job:t/task:0", 1, false, &a);
    assert_int_equal(a.st.code, TFD_OK);
    create_session(&task[0], "other", "/job:t/task:1", 1, false, &a);
    assert_int_equal(tfd_worker_counts(task[0].w.service).sessions, 2);
    /* The same master, restarted: its sessions of before go. */
    create_session(&task[0], "new", "/job:t/task:0", 2, false, &a);
    assert_int_equal(tfd_worker_counts(task[0].w.service).sessions, 2);
    for (int i = 0; i < 2; i++) {
        begin(&m);
        tfd_pb_put_str(&m.proto,
                       tensorflow_DeleteWorkerSessionRequest_session_handle_tag,
                       TFD_STR("new"));
        call(&task[0], TFD_METHOD_DeleteWorkerSession, &m, &a);
        assert_int_equal(a.st.code, TFD_OK);
    }
    assert_int_equal(tfd_worker_counts(task[0].w.service).sessions, 1);
}

/* What a peer says over a connection: a session of the task that it names. */
static enum tfd_code claim(const char *peer, uint64_t link, int number,
                           const char *master, uint64_t incarnation,
                           struct tfd_status *st)
{
    struct tfd_worker_session s = {.master_task = tfd_str_of(master),
                                   .master_incarnation = incarnation,
                                   .peer = peer,
                                   .link = link};
    char handle[40];

    snprintf(handle, sizeof(handle), "%s/%d", peer, number);
    s.handle = tfd_str_of(handle);
    tfd_status_clear(st);
    return tfd_worker_create_session(task[0].w.service, &s, st);
}

static int session_count(void)
{
    return tfd_worker_counts(task[0].w.service).sessions;
}

static bool is_there(const char *handle)
{
    struct tfd_task_session *s;
    struct tfd_status st = TFD_STATUS_INIT;

    return tfd_worker_find_session(task[0].w.service, tfd_str_of(handle), &s,
                                   &st) == TFD_OK;
}

static void test_forged_sessions_keep_no_other_peer_out(void **state)
{
    struct tfd_links *links = tfd_service_links(task[0].service);
    uint64_t forger = tfd_links_add(links), honest = tfd_links_add(links);
    struct tfd_status st;
    int i;

    (void)state;
    for (i = 0; i < TFD_WORKER_SESSIONS_PER_PEER_MAX; i++)
        assert_int_equal(claim("10.6.6.6", forger, i, "", 1, &st), TFD_OK);
    for (int k = 0; k < 3; k++)
        assert_int_equal(claim("10.6.6.6", forger, i + k, "", 1, &st),
                         TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(st.text,
                        "2000 sessions of peer 10.6.6.6 are open on " WRIG_TASK
                        ", at most 2000 of one peer may be");
    for (int k = 0; k < 100; k++)
        assert_int_equal(claim("10.0.0.1", honest, k, "/job:t/task:1", 1, &st),
                         TFD_OK);
    /* Nor does it say for others that they have restarted. */
    assert_int_equal(claim("10.6.6.6", forger, 0, "/job:t/task:1", 666, &st),
                     TFD_OK);
    assert_int_equal(session_count(), TFD_WORKER_SESSIONS_PER_PEER_MAX + 100);
    tfd_links_remove(links, forger);
    forger = tfd_links_add(links);
    assert_int_equal(claim("10.6.6.6", forger, i, "", 1, &st), TFD_OK);
    assert_int_equal(session_count(), TFD_WORKER_SESSIONS_PER_PEER_MAX + 101 -
                                          TFD_SESSIONS_EVICTED_MAX);
    assert_true(is_there("10.0.0.1/0"));
    tfd_links_remove(links, forger);
    tfd_links_remove(links, honest);
}

static void test_abandoned_worker_sessions_make_room(void **state)
{
    struct tfd_links *links = tfd_service_links(task[0].service);
    uint64_t link[3];
    struct tfd_status st;

    (void)state;
    for (int i = 0; i < 3; i++)
        link[i] = tfd_links_add(links);
    for (int i = 0; i < TFD_WORKER_SESSIONS_PER_PEER_MAX; i++) {
        assert_int_equal(claim("10.0.0.1", link[0], i, "", 1, &st), TFD_OK);
        assert_int_equal(claim("10.0.0.2", link[1], i, "", 1, &st), TFD_OK);
    }
    assert_int_equal(claim("10.0.0.3", link[2], 0, "", 1, &st),
                     TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(st.text, "4000 sessions are open on " WRIG_TASK
                                 ", at most 4000 may be");
    tfd_links_remove(links, link[0]);
    for (int i = 0; i < 100; i++)
        assert_int_equal(claim("10.0.0.3", link[2], i, "", 1, &st), TFD_OK);
    for (int i = 0; i < TFD_WORKER_SESSIONS_PER_PEER_MAX; i++) {
        char handle[40];

        snprintf(handle, sizeof(handle), "10.0.0.2/%d", i);
        assert_true(is_there(handle)); /* its master is connected */
    }
    assert_true(tfd_links_held(links, link[1]));
    for (int i = 1; i < 3; i++)
        tfd_links_remove(links, link[i]);
}

static void test_who_has_restarted(void **state)
{
    struct tfd_links *links = tfd_service_links(task[0].service);
    uint64_t first = tfd_links_add(links), second = tfd_links_add(links);
    struct tfd_status st;

    (void)state;
    assert_int_equal(claim("10.0.0.1", first, 1, "/job:t/task:1", 1, &st),
                     TFD_OK);
    assert_int_equal(claim("10.0.0.2", second, 1, "/job:t/task:1", 2, &st),
                     TFD_OK);
    assert_true(is_there("10.0.0.1/1")); /* who knows who is right */
    assert_int_equal(claim("10.0.0.2", second, 2, "/job:t/task:1", 3, &st),
                     TFD_OK);
    assert_false(is_there("10.0.0.2/1")); /* where it was before */
    tfd_links_remove(links, first);
    assert_int_equal(claim("10.0.0.2", second, 3, "/job:t/task:1", 3, &st),
                     TFD_OK);
    assert_false(is_there("10.0.0.1/1")); /* elsewhere, and gone */
    assert_true(is_there("10.0.0.2/2"));
    tfd_links_remove(links, second);
}

static void test_what_a_restarted_worker_does_not_know(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    register_graph(&task[0], "gone", &a);
    assert_int_equal(a.st.code, TFD_ABORTED);
    assert_string_equal(a.st.text,
                        "Session handle is not found: gone. Possibly this "
                        "worker (\"" WRIG_TASK "\") just restarted.");
    put_run(&m, "gone", "0000000000000001", 1, 1);
    call(&task[0], TFD_METHOD_RunGraph, &m, &a);
    assert_int_equal(a.st.code, TFD_OK);
    assert_int_equal(a.code, TFD_ABORTED);
    assert_non_null(strstr(a.error, "Session handle is not found: gone."));
    create_session(&task[0], SESSION, "", 1, false, &a);
    put_run(&m, SESSION, "0000000000000001", 1, 2);
    call(&task[0], TFD_METHOD_RunGraph, &m, &a);
    assert_int_equal(a.code, TFD_ABORTED);
    assert_string_equal(a.error, "Graph handle is not found: 0000000000000001");
    begin(&m);
    tfd_pb_put_str(&m.proto, tensorflow_DeregisterGraphRequest_graph_handle_tag,
                   TFD_STR("0000000000000001"));
    call(&task[0], TFD_METHOD_DeregisterGraph, &m, &a);
    assert_int_equal(a.st.code, TFD_ABORTED);
    assert_string_equal(a.st.text,
                        "Graph handle is not found: 0000000000000001. "
                        "Possibly, this worker just restarted.");
    cleanup(&task[0], 12345);
}

/* Feeds and fetches by key, as in partial runs and remote calls. */
static void test_a_graph_is_run_with_keys(void **state)
{
    struct wrig *w = &task[0].w;
    struct tfd_tensor x = wrig_scalar(TFD_FLOAT, 4);
    char graph[512], feed[256], fetch[256];
    struct tfd_message m;
    struct answer a;
    size_t mark;

    (void)state;
    create_session(&task[0], SESSION, "", 1, false, &a);
    wrig_feed(w, "x");
    wrig_node(w, "y", "TestAdd", "x,x");
    wrig_fetch(w, "y");
    register_graph(&task[0], SESSION, &a);
    assert_int_equal(a.st.code, TFD_OK);
    assert_string_equal(a.text, "0000000000000001");
    snprintf(graph, sizeof(graph), "%s", a.text);
    snprintf(feed, sizeof(feed), "%s;%016x;%s;x;0:0", WRIG_CPU0, 1, WRIG_CPU0);
    snprintf(fetch, sizeof(fetch), "%s;%016x;%s;y;0:0", WRIG_CPU0, 1,
             WRIG_CPU0);
    for (int i = 0; i < 3; i++) { /* the third without its feed */
        put_run(&m, SESSION, graph, 10 + i, 0);
        if (i < 2) {
            mark = tfd_message_begin(&m, tensorflow_RunGraphRequest_send_tag);
            tfd_pb_put_str(&m.proto, tensorflow_NamedTensorProto_name_tag,
                           tfd_str_of(feed));
            tfd_message_put_tensor(&m, tensorflow_NamedTensorProto_tensor_tag,
                                   &x, NULL);
            tfd_message_finish(&m, mark);
        }
        tfd_pb_put_str(&m.proto, tensorflow_RunGraphRequest_recv_key_tag,
                       tfd_str_of(fetch));
        call(&task[0], TFD_METHOD_RunGraph, &m, &a);
        assert_int_equal(a.code, i < 2 ? TFD_OK : TFD_INVALID_ARGUMENT);
        if (i < 2)
            assert_non_null(strstr(a.text, ";y;0:0"));
    }
    assert_non_null(strstr(a.error, ";x;0:0 is not fed"));
    tfd_tensor_unref(&x);
}

static void test_a_request_is_not_carried_out_twice(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    create_session(&task[0], SESSION, "", 1, false, &a);
    wrig_const(&task[0].w, "c", 1);
    wrig_node(&task[0].w, "d", "TestCount", "c");
    register_graph(&task[0], SESSION, &a);
    for (int i = 0; i < 2; i++) {
        put_run(&m, SESSION, "0000000000000001", 10, 99);
        call(&task[0], TFD_METHOD_RunGraph, &m, &a);
        assert_int_equal(a.code, i ? TFD_ABORTED : TFD_OK);
    }
    assert_non_null(strstr(a.error,
                           "The same RunGraph (Worker) request was received "
                           "twice."));
    assert_int_equal(wrig_runs, 1);
}

static size_t memory_of(const char *session)
{
    struct tfd_worker *w = task[0].w.worker;

    return w->ops->session_memory(w, tfd_str_of(session));
}

/* Graphs, and the states of steps that are kept for the next; failures leave
 * nothing. */
static void test_the_memory_of_a_session(void **state)
{
    struct tfd_message m;
    struct answer a;
    size_t first = 0;

    (void)state;
    assert_int_equal(memory_of(SESSION), 0);
    create_session(&task[0], SESSION, "", 1, false, &a);
    assert_int_equal(memory_of(SESSION), 0);
    for (int i = 0; i < 200; i++) {
        char graph[512];

        wrig_node(&task[0].w, "bad", "NoSuchOp", "");
        register_graph(&task[0], SESSION, &a);
        assert_int_not_equal(a.st.code, TFD_OK);
        assert_int_equal(memory_of(SESSION), 0);
        wrig_const(&task[0].w, "c", 1);
        wrig_node(&task[0].w, "d", "TestCount", "c");
        register_graph(&task[0], SESSION, &a);
        assert_int_equal(a.st.code, TFD_OK);
        snprintf(graph, sizeof(graph), "%s", a.text);
        assert_int_not_equal(memory_of(SESSION), 0);
        for (int k = 0; k < 3; k++) {
            put_run(&m, SESSION, graph, 10 + k, 0);
            call(&task[0], TFD_METHOD_RunGraph, &m, &a);
            assert_int_equal(a.code, TFD_OK);
            if (i == 0 && k == 0)
                first = memory_of(SESSION);
            assert_int_equal(memory_of(SESSION), first);
        }
        task[0].w.worker->ops->deregister_graph(
            task[0].w.worker, tfd_str_of(SESSION),
            tfd_graphs_number(tfd_str_of(graph)));
        assert_int_equal(memory_of(SESSION), 0);
    }
}

static void test_a_run_is_cancelled_by_its_caller(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    create_session(&task[0], SESSION, "", 1, false, &a);
    wrig_const(&task[0].w, "c", 1);
    wrig_node(&task[0].w, "d", "TestHold", "c");
    register_graph(&task[0], SESSION, &a);
    put_run(&m, SESSION, "0000000000000001", 10, 99);
    start_call(&task[0], TFD_METHOD_RunGraph, &m, &a, answered);
    {
        struct answer other; /* it has begun when this is answered */
        struct tfd_message status;

        begin(&status);
        call(&task[0], TFD_METHOD_GetStatus, &status, &other);
    }
    (void)wrig_wait_held(0);
    tfd_channel_cancel(a.call);
    wait_for(&a);
    assert_int_equal(a.st.code, TFD_CANCELLED);
    while (tfd_worker_counts(task[0].w.service).steps > 0)
        cleanup(&task[0], 1);
    assert_int_equal(wrig_cancelled_count, 1);
}

static void test_isolated_sessions_share_nothing(void **state)
{
    static const char *const handles[] = {"shared", "alone"};
    const struct tfd_shape scalar = {0, {0}};
    struct wrig *w = &task[0].w;
    struct tfd_message m;
    struct answer a;

    (void)state;
    for (int i = 0; i < 2; i++) {
        create_session(&task[0], handles[i], "", 1, i == 1, &a);
        tfd_attr_put_shape(wrig_attr(w, "shape"), &scalar);
        wrig_attr_type(w, "dtype", TFD_FLOAT);
        wrig_node(w, "v", "VariableV2", "");
        wrig_const(w, "c", 1);
        wrig_node(w, "a", "Assign", "v,c");
        register_graph(&task[0], handles[i], &a);
        put_run(&m, handles[i], a.text, 10 + i, 0);
        call(&task[0], TFD_METHOD_RunGraph, &m, &a);
        assert_int_equal(a.code, TFD_OK);
    }
    assert_int_equal(tfd_worker_counts(w->service).resources, 1);
    begin(&m);
    tfd_pb_put_str_always(&m.proto, tensorflow_CleanupAllRequest_container_tag,
                          TFD_STR("another"));
    call(&task[0], TFD_METHOD_CleanupAll, &m, &a);
    assert_int_equal(tfd_worker_counts(w->service).resources, 1);
    begin(&m);
    call(&task[0], TFD_METHOD_CleanupAll, &m, &a);
    assert_int_equal(tfd_worker_counts(w->service).resources, 0);
}

static void test_logging_is_empty_and_tracing_unknown(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    begin(&m);
    call(&task[0], TFD_METHOD_Logging, &m, &a);
    assert_int_equal(a.st.code, TFD_OK);
    begin(&m);
    call(&task[0], TFD_METHOD_Tracing, &m, &a);
    assert_int_equal(a.st.code, TFD_UNIMPLEMENTED);
}

static void test_damaged_requests_are_refused(void **state)
{
    static const enum tfd_method_number methods[] = {
        TFD_METHOD_CreateWorkerSession,
        TFD_METHOD_DeleteWorkerSession,
        TFD_METHOD_RegisterGraph,
        TFD_METHOD_DeregisterGraph,
        TFD_METHOD_RunGraph,
        TFD_METHOD_RecvTensor,
        TFD_METHOD_CleanupGraph,
        TFD_METHOD_CleanupAll,
        TFD_METHOD_GetStatus,
        TFD_METHOD_Logging,
        TFD_METHOD_Tracing,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct tfd_message m;
        struct answer a;

        begin(&m);
        tfd_bytes_add_str(&m.proto, TFD_STR("\x0a\x7f junk"));
        call(&task[0], methods[i], &m, &a);
        assert_int_equal(a.st.code, TFD_INTERNAL);
        assert_string_equal(a.st.text, "Unable to parse request");
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_GRPC(f) cmocka_unit_test_setup_teardown(f, setup_grpc, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_status_lists_devices),
        TEST_GRPC(test_status_lists_devices),
        TEST(test_sessions_are_created_and_deleted),
        TEST(test_forged_sessions_keep_no_other_peer_out),
        TEST(test_abandoned_worker_sessions_make_room),
        TEST(test_who_has_restarted),
        TEST(test_what_a_restarted_worker_does_not_know),
        TEST_GRPC(test_what_a_restarted_worker_does_not_know),
        TEST(test_a_graph_is_run_with_keys),
        TEST_GRPC(test_a_graph_is_run_with_keys),
        TEST(test_a_request_is_not_carried_out_twice),
        TEST(test_the_memory_of_a_session),
        TEST(test_a_run_is_cancelled_by_its_caller),
        TEST_GRPC(test_a_run_is_cancelled_by_its_caller),
        TEST(test_isolated_sessions_share_nothing),
        TEST(test_logging_is_empty_and_tracing_unknown),
        TEST(test_damaged_requests_are_refused),
    };

    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
