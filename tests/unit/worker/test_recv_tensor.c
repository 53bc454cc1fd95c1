/*
 * test_recv_tensor.c - tensors that other tasks ask for with RecvTensor, early
 * or for nothing, and pushes that are wrong.
 */
#include "tests/support/two_tasks.h"

#include "common/proto/config.pb.h"
#include "daemon/worker/service/worker_service.h"

/* ---- RecvTensor ---------------------------------------------------------- */

/* What was sent to task 0 has come when it answers what was sent behind it. */
static void wait_for_arrival(void)
{
    struct answer other;
    struct tfd_message status;

    begin(&status);
    call(&task[0], TFD_METHOD_GetStatus, &status, &other);
}

static void test_an_early_recv_is_parked(void **state)
{
    uint64_t graph = producer("e", -1);
    struct tfd_message m;
    struct answer a;

    (void)state;
    put_recv(&m, key_of("e"), 50, 1);
    start_call(&task[0], TFD_METHOD_RecvTensor, &m, &a, tensor_answered);
    wait_for_arrival();
    assert_false(a.done);
    task[0].w.step = 50;
    task[0].w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
    wrig_start(&task[0].w, graph);
    wrig_wait(&task[0].w);
    wait_for(&a);
    assert_int_equal(a.st.code, TFD_OK);
    assert_false(a.dead);
    assert_true(wrig_float_at(&a.tensor) == 2);
    tfd_tensor_unref(&a.tensor);
    cleanup(&task[0], 50);
}

static void test_a_parked_recv_ends_with_the_cleanup(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    for (int i = 0; i < 2; i++) { /* the second comes after it */
        put_recv(&m, key_of("e"), 51, 0);
        start_call(&task[0], TFD_METHOD_RecvTensor, &m, &a, tensor_answered);
        if (i == 0)
            cleanup(&task[0], 51);
        wait_for(&a);
        assert_int_equal(a.st.code, TFD_ABORTED);
        assert_string_equal(a.st.text, "Cleanup 51");
    }
}

static void test_a_parked_recv_is_cancelled(void **state)
{
    struct tfd_message m;
    struct answer a;

    (void)state;
    put_recv(&m, key_of("e"), 52, 0);
    start_call(&task[0], TFD_METHOD_RecvTensor, &m, &a, tensor_answered);
    wait_for_arrival();
    tfd_channel_cancel(a.call);
    wait_for(&a);
    assert_int_equal(a.st.code, TFD_CANCELLED);
    cleanup(&task[0], 52);
}

static void test_bad_keys_are_refused(void **state)
{
    static const struct {
        const char *key, *text;
        enum tfd_code code;
    } cases[] = {
        {"", "Invalid  rendezvous key: ", TFD_INVALID_ARGUMENT},
        {"a;b;c;d", "Invalid  rendezvous key: a;b;c;d", TFD_INVALID_ARGUMENT},
        {"a;1;c;;0:0", "Invalid  rendezvous key: ", TFD_INVALID_ARGUMENT},
        {"a;1;c;d;", "Invalid  rendezvous key: ", TFD_INVALID_ARGUMENT},
        {"a;1;c;d;0", "Invalid  rendezvous key: ", TFD_INVALID_ARGUMENT},
        {"a;1;c;d;0:x", "Invalid  rendezvous key: ", TFD_INVALID_ARGUMENT},
        {"a;1;c;d;e;0:0", "Invalid  rendezvous key: ", TFD_INVALID_ARGUMENT},
        {"a;1;c;d;0:99999999999999999999",
         "Invalid  rendezvous key: ", TFD_INVALID_ARGUMENT},
        {"/device:GPU:7;0000000000000001;c;d;0:0",
         "/device:GPU:7 unknown device.", TFD_INVALID_ARGUMENT},
        {CPU(WRIG_TASK) ";0000000000000001;c;d;0:0",
         "RecvTensor expects a different device incarnation: 1 vs. ",
         TFD_ABORTED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_message m;
        struct answer a;

        put_recv(&m, cases[i].key, 53, 0);
        start_call(&task[0], TFD_METHOD_RecvTensor, &m, &a, tensor_answered);
        wait_for(&a);
        assert_int_equal(a.st.code, cases[i].code);
        assert_int_equal(
            strncmp(a.st.text, cases[i].text, strlen(cases[i].text)), 0);
    }
}

static void test_a_dead_tensor_is_received(void **state)
{
    struct wrig *w = &task[0].w;
    struct tfd_message m;
    struct answer a;
    uint64_t graph;

    (void)state;
    wrig_feed_of(w, "pred", TFD_BOOL);
    wrig_const(w, "one", 1);
    wrig_node(w, "switch", "Switch", "one,pred");
    ends(w, "e", -1);
    wrig_node(w, "send", "_Send", "switch:1");
    graph = wrig_register(w);
    w->step = 54;
    w->fed[0] = wrig_scalar(TFD_BOOL, 0);
    wrig_start(w, graph);
    wrig_wait(w);
    put_recv(&m, key_of("e"), 54, 0);
    start_call(&task[0], TFD_METHOD_RecvTensor, &m, &a, tensor_answered);
    wait_for(&a);
    assert_int_equal(a.st.code, TFD_OK);
    assert_true(a.dead);
    assert_int_equal(a.tensor.dtype, TFD_FLOAT);
    assert_int_equal(tfd_tensor_elements(&a.tensor), 0);
    cleanup(&task[0], 54);
}

/* ---- Pushes that are wrong ----------------------------------------------- */

static void push(struct task *t, int64_t step, struct tfd_str tensor)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;
    struct answer a;

    begin(&m);
    call(t, TFD_METHOD_GetStatus, &m, &a); /* the connection is up */
    begin(&m);
    tfd_pb_put_int(&m.proto, tfd_PushTensors_step_id_tag, step);
    tfd_pb_put_str_always(&m.proto, tfd_PushTensors_tensor_tag, tensor);
    assert_int_equal(
        tfd_channel_send(t->client, TFD_METHOD_PushTensors, &m, &st), TFD_OK);
    tfd_message_deinit(&m);
    begin(&m);
    call(t, TFD_METHOD_GetStatus, &m, &a); /* it has arrived */
}

static void test_a_damaged_push_fails_its_step(void **state)
{
    uint64_t graph = consumer("e", 5);

    (void)state;
    push(&task[1], 60, TFD_STR("\x0a\x7f junk"));
    task[1].w.step = 60;
    wrig_start(&task[1].w, graph);
    wrig_wait(&task[1].w);
    assert_int_equal(task[1].w.st.code, TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(task[1].w.st.text, "Unable to parse"));
    clean_both(60);
}

static void test_a_push_after_the_cleanup_is_dropped(void **state)
{
    uint64_t graph = consumer("e", 5);

    (void)state;
    clean_both(61);
    push(&task[1], 61, TFD_STR("\x08\x05\x10\x01"));
    assert_int_equal(tfd_worker_counts(task[1].w.service).parked_size, 0);
    push(&task[1], 62, TFD_STR("\x08\x05\x10\x01")); /* channel 5, dead */
    task[1].w.step = 62;
    wrig_start(&task[1].w, graph);
    wrig_wait(&task[1].w);
    assert_int_equal(task[1].w.st.code, TFD_OK);
    assert_true(wrig_is_dead(&task[1].w, 0));
    clean_both(62);
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_GRPC(f) cmocka_unit_test_setup_teardown(f, setup_grpc, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_early_recv_is_parked),
        TEST_GRPC(test_an_early_recv_is_parked),
        TEST(test_a_parked_recv_ends_with_the_cleanup),
        TEST(test_a_parked_recv_is_cancelled),
        TEST_GRPC(test_a_parked_recv_is_cancelled),
        TEST(test_bad_keys_are_refused),
        TEST_GRPC(test_bad_keys_are_refused),
        TEST(test_a_dead_tensor_is_received),
        TEST_GRPC(test_a_dead_tensor_is_received),
        TEST(test_a_damaged_push_fails_its_step),
        TEST(test_a_push_after_the_cleanup_is_dropped),
    };

    return cmocka_run_group_tests_name("recv_tensor", tests, NULL, NULL);
}
