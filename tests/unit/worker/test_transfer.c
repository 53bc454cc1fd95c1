/*
 * test_transfer.c - tensors that cross tasks: pushed where both ends are tfd,
 * asked for with RecvTensor where they are not.
 */
#include "tests/support/two_tasks.h"

#include "common/proto/config.pb.h"
#include "daemon/worker/service/worker_service.h"

static void test_values_are_pushed(void **state)
{
    uint64_t graph0 = producer("edge_1_sum", 5);
    uint64_t graph1 = consumer("edge_1_sum", 5);

    (void)state;
    assert_true(graph0 && graph1);
    for (int i = 0; i < 60; i++) {
        run_both(graph0, graph1, 100 + i, (float)i, i % 2);
        assert_int_equal(task[0].w.st.code, TFD_OK);
        assert_int_equal(task[1].w.st.code, TFD_OK);
        assert_true(wrig_result(&task[1].w, 0) == 2 * (i + 1));
        clean_both(100 + i);
    }
    assert_int_equal(tfd_worker_counts(task[1].w.service).parked_size, 0);
}

static void test_values_are_asked_for(void **state)
{
    uint64_t graph0 = producer("edge_1_sum", -1);
    uint64_t graph1 = consumer("edge_1_sum", -1);

    (void)state;
    assert_true(graph0 && graph1);
    for (int i = 0; i < 60; i++) {
        run_both(graph0, graph1, 100 + i, (float)i, i % 2);
        assert_int_equal(task[0].w.st.code, TFD_OK);
        assert_int_equal(task[1].w.st.code, TFD_OK);
        assert_true(wrig_result(&task[1].w, 0) == 2 * (i + 1));
        clean_both(100 + i);
    }
}

/* Large values travel beside the message. */
static void test_many_and_large_values_are_pushed(void **state)
{
    const struct tfd_shape shape = {1, {100000}};
    struct wrig *w0 = &task[0].w, *w1 = &task[1].w;
    uint64_t graph0, graph1;
    char name[16];

    (void)state;
    w0->device = CPU(WRIG_TASK);
    w1->device = CPU(TASK1);
    wrig_feed(w0, "x");
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "e%d", i);
        ends(w0, name, i);
        wrig_node(w0, name, "_Send", "x");
        ends(w1, name, i);
        wrig_attr_type(w1, "tensor_type", TFD_FLOAT);
        wrig_node(w1, name, "_Recv", "");
        wrig_fetch(w1, name);
    }
    graph0 = wrig_register(w0);
    graph1 = wrig_register(w1);
    for (int n = 0; n < 5; n++) {
        w0->step = w1->step = 100 + n;
        assert_int_equal(tfd_tensor_new(&w0->fed[0], TFD_FLOAT, &shape, NULL),
                         TFD_OK);
        for (int i = 0; i < 100000; i++)
            ((float *)tfd_tensor_data(&w0->fed[0]))[i] = (float)(i + n);
        wrig_start(w0, graph0);
        wrig_start(w1, graph1);
        wait_both();
        assert_int_equal(w1->st.code, TFD_OK);
        for (int i = 0; i < 40; i++) {
            const float *y = tfd_tensor_data(&w1->fetched[i]);

            assert_int_equal(tfd_tensor_elements(&w1->fetched[i]), 100000);
            assert_true(y[0] == (float)n && y[99999] == (float)(99999 + n));
        }
        clean_both(100 + n);
    }
}

static void test_a_dead_value_is_pushed(void **state)
{
    struct wrig *w0 = &task[0].w;
    uint64_t graph0, graph1;

    (void)state;
    w0->device = CPU(WRIG_TASK);
    wrig_feed_of(w0, "pred", TFD_BOOL);
    wrig_const(w0, "one", 1);
    wrig_node(w0, "switch", "Switch", "one,pred");
    ends(w0, "e", 3);
    wrig_node(w0, "send", "_Send", "switch:1");
    graph0 = wrig_register(w0);
    graph1 = consumer("e", 3);
    for (int i = 0; i < 6; i++) {
        w0->step = task[1].w.step = 100 + i;
        w0->fed[0] = wrig_scalar(TFD_BOOL, i % 2);
        wrig_start(w0, graph0);
        wrig_start(&task[1].w, graph1);
        wait_both();
        assert_int_equal(task[1].w.st.code, TFD_OK);
        assert_true(wrig_is_dead(&task[1].w, 0) == (i % 2 == 0));
        clean_both(100 + i);
    }
}

/* The loop of task 0 sends in each iteration; task 1 counts along. */
static void test_values_are_pushed_from_iterations(void **state)
{
    struct wrig *w = &task[0].w;
    uint64_t graph0;

    (void)state;
    w->device = CPU(WRIG_TASK);
    wrig_feed(w, "x");
    wrig_attr_str(w, "frame_name", "while/while_context");
    wrig_node(w, "enter", "Enter", "x");
    ends(w, "in loop", -1);
    wrig_node(w, "send", "_Send", "enter");
    wrig_node(w, "exit", "Exit", "enter");
    graph0 = wrig_register(w);
    assert_true(graph0 != 0);
    w->fed[0] = wrig_scalar(TFD_FLOAT, 8);
    w->step = 7;
    assert_int_equal(wrig_run(w, graph0), TFD_OK);
    {
        struct tfd_message m;
        struct answer a;
        char key[512];

        /* Again, and this time ask before it is cleaned up. */
        w->fed[0] = wrig_scalar(TFD_FLOAT, 8);
        w->step = 8;
        wrig_start(w, graph0);
        wrig_wait(w);
        snprintf(key, sizeof(key), "%s;%s;%s;in loop;18186195969791715286:0",
                 CPU(WRIG_TASK), task[0].incarnation, CPU(TASK1));
        put_recv(&m, key, 8, 1);
        start_call(&task[0], TFD_METHOD_RecvTensor, &m, &a, tensor_answered);
        wait_for(&a);
        assert_int_equal(a.st.code, TFD_OK);
        assert_true(wrig_float_at(&a.tensor) == 8);
        tfd_tensor_unref(&a.tensor);
        cleanup(&task[0], 8);
    }
}

static void test_a_consumer_hears_of_the_producers_failure(void **state)
{
    struct wrig *w0 = &task[0].w;
    uint64_t graph0, graph1 = consumer("e", -1);

    (void)state;
    w0->device = CPU(WRIG_TASK);
    wrig_const(w0, "one", 1);
    wrig_node(w0, "bad", "TestFail", "one");
    ends(w0, "e", -1);
    wrig_node(w0, "send", "_Send", "bad");
    graph0 = wrig_register(w0);
    for (int i = 0; i < 6; i++) {
        run_both(graph0, graph1, 100 + i, 0, i % 2);
        tfd_tensor_unref(&w0->fed[0]);
        assert_int_equal(task[1].w.st.code, TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(task[1].w.st.text, "bad luck"));
        clean_both(100 + i);
    }
}

/* More than sockets take: the end of it is still here when they close. */
static void feed_much(struct wrig *w)
{
    const struct tfd_shape shape = {1, {16 << 20}};

    assert_int_equal(tfd_tensor_new(&w->fed[0], TFD_FLOAT, &shape, NULL),
                     TFD_OK);
    memset(tfd_tensor_data(&w->fed[0]), 0, tfd_tensor_size(&w->fed[0]));
}

static void test_a_push_that_is_lost_fails_its_consumer(void **state)
{
    struct wrig *w0 = &task[0].w, *w1 = &task[1].w;
    uint64_t graph0, graph1 = consumer("e", 1);

    (void)state;
    w0->device = CPU(WRIG_TASK);
    wrig_feed(w0, "x");
    ends(w0, "e", 1);
    wrig_node(w0, "send", "_Send", "x");
    graph0 = wrig_register(w0);
    for (int i = 0; i < 4; i++) {
        bool consumer_first = i % 2 == 0;

        w0->step = w1->step = 100 + i;
        feed_much(w0);
        if (consumer_first)
            wrig_start(w1, graph1);
        wrig_start(w0, graph0);
        wrig_wait(w0);
        assert_int_equal(w0->st.code, TFD_OK); /* it has ended long since */
        break_connections();
        if (!consumer_first)
            wrig_start(w1, graph1);
        wait_both();
        assert_int_equal(w1->st.code, TFD_UNAVAILABLE);
        assert_non_null(strstr(w1->st.text, WRIG_TASK));
        clean_both(100 + i);
    }
    /* The connection is there again. */
    run_both(graph0, graph1, 200, 1, true);
    assert_int_equal(w1->st.code, TFD_OK);
}

static void test_a_lost_connection_fails_steps_that_use_it(void **state)
{
    struct wrig *w0 = &task[0].w;
    uint64_t graph;

    (void)state;
    w0->device = CPU(WRIG_TASK);
    wrig_const(w0, "one", 1);
    wrig_node(w0, "hold", "TestHold", "one");
    ends(w0, "e", 1);
    wrig_node(w0, "send", "_Send", "hold");
    graph = wrig_register(w0);
    w0->step = 300;
    wrig_start(w0, graph);
    break_connections();
    wrig_wait(w0);
    assert_int_equal(w0->st.code, TFD_UNAVAILABLE);
    assert_non_null(strstr(w0->st.text, "the connection to " TASK1));
    clean_both(300);
}

/* Sends to the task that never comes. */
static void build_for_nobody(struct wrig *w)
{
    w->device = CPU(WRIG_TASK);
    wrig_const(w, "c", 1);
    wrig_attr_str(w, "tensor_name", "e");
    wrig_attr_str(w, "send_device", CPU(WRIG_TASK));
    wrig_attr_int(w, "send_device_incarnation", 1);
    wrig_attr_str(w, "recv_device", CPU("/job:t/replica:0/task:2"));
    wrig_attr_int(w, "_tfd_channel", 1);
    wrig_node(w, "send", "_Send", "c");
}

/* A graph is not registered before the links are up that it pushes over. */
static void test_a_task_that_is_not_there_is_waited_for(void **state)
{
    struct wrig *w = &task[0].w;

    (void)state;
    build_for_nobody(w);
    assert_int_equal(wrig_register(w), 0);
    assert_int_equal(w->st.code, TFD_DEADLINE_EXCEEDED);
    assert_non_null(strstr(w->st.text, "/job:t/replica:0/task:2: "));
}

/* Once while it is compiled, once while it waits for the link. */
static void test_a_master_here_may_give_up_a_registration(void **state)
{
    struct wrig *w = &task[0].w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tfd_register_graph r = {.session = w->session};
        struct tfd_message m;
        struct answer a;

        build_for_nobody(w);
        r.graph_def = tfd_bytes_view(&w->graph);
        w->done = false;
        w->worker->ops->register_graph(w->worker, &r, wrig_registered, w);
        begin(&m);
        if (i == 1)
            call(&task[0], TFD_METHOD_GetStatus, &m, &a); /* takes a while */
        w->done = false; /* that call was the same rig's */
        tfd_status_clear(&w->st);
        w->worker->ops->cancel_call(w->worker, &a); /* nobody's */
        w->worker->ops->cancel_call(w->worker, w);
        wrig_wait(w);
        wrig_clear(w);
        assert_int_equal(w->registered, 0);
        assert_int_equal(w->st.code, TFD_CANCELLED);
        tfd_message_deinit(&m);
    }
}

static void test_a_master_elsewhere_may_give_up_a_registration(void **state)
{
    struct task *t = &task[0];
    struct tfd_message m;
    struct answer a;

    (void)state;
    build_for_nobody(&t->w);
    begin(&m);
    tfd_pb_put_str_always(&m.proto,
                          tensorflow_RegisterGraphRequest_graph_def_tag,
                          tfd_bytes_view(&t->w.graph));
    start_call(t, TFD_METHOD_RegisterGraph, &m, &a, answered);
    {
        struct answer other;

        begin(&m);
        call(t, TFD_METHOD_GetStatus, &m, &other);
    }
    tfd_channel_cancel(a.call);
    wait_for(&a);
    assert_int_equal(a.st.code, TFD_CANCELLED);
    while (tfd_worker_counts(t->w.service).registering > 0) {
        struct answer other;

        begin(&m);
        call(t, TFD_METHOD_GetStatus, &m, &other);
    }
    wrig_clear(&t->w);
}

static void test_a_task_outside_the_cluster_is_refused(void **state)
{
    struct wrig *w = &task[0].w;

    (void)state;
    w->device = CPU(WRIG_TASK);
    wrig_const(w, "c", 1);
    wrig_ends(w, CPU(WRIG_TASK), CPU("/job:other/replica:0/task:0"), "e");
    wrig_node(w, "send", "_Send", "c");
    assert_int_equal(wrig_register(w), 0);
    assert_string_equal(
        w->st.text, "/job:other/replica:0/task:0/device:CPU:0 unknown device.");
}

/* ---- Clusters that sessions bring ---------------------------------------- */

/* Both tasks as those of a job of `spare` more, whom nobody calls. */
static void bring_cluster(int number, int spare)
{
    struct tfd_bytes b;
    char job[32], address[64], name[64];
    size_t at;

    snprintf(job, sizeof(job), "job%d", number);
    tfd_bytes_init(&b, 1 << 20);
    at = tfd_pb_begin(&b, tensorflow_ClusterDef_job_tag);
    tfd_pb_put_str(&b, tensorflow_JobDef_name_tag, tfd_str_of(job));
    for (int i = 0; i < spare + 2; i++) {
        int task_of = i - spare;
        size_t entry = tfd_pb_begin(&b, tensorflow_JobDef_tasks_tag);

        snprintf(address, sizeof(address), "127.0.0.1:%d",
                 task_of >= 0 ? tfd_listener_port(task[task_of].listener) : 1);
        tfd_pb_put_int(&b, 1, i);
        tfd_pb_put_str(&b, 2, tfd_str_of(address));
        tfd_pb_finish(&b, entry);
    }
    tfd_pb_finish(&b, at);
    for (int i = 0; i < 2; i++) {
        struct tfd_worker_session s = {.handle = tfd_str_of(job),
                                       .cluster_def = tfd_bytes_view(&b)};

        snprintf(name, sizeof(name), "/job:%s/replica:0/task:%d", job,
                 spare + i);
        s.task = tfd_str_of(name);
        assert_int_equal(
            tfd_worker_create_session(task[i].w.service, &s, &task[i].w.st),
            TFD_OK);
    }
    tfd_bytes_deinit(&b);
}

static void edge_of(struct wrig *w, int number, int spare)
{
    char name[2][96];

    for (int i = 0; i < 2; i++)
        snprintf(name[i], sizeof(name[i]),
                 "/job:job%d/replica:0/task:%d/device:CPU:0", number,
                 spare + i);
    wrig_ends(w, name[0], name[1], "e");
    wrig_attr_int(w, "_tfd_channel", 1);
}

static void device_of(struct wrig *w, char *device, int number, int index)
{
    snprintf(device, 96, "/job:job%d/replica:0/task:%d/device:CPU:0", number,
             index);
    w->device = device;
}

/* Each cluster gives the peer a higher number than both tasks started with. */
static void test_values_are_pushed_to_tasks_of_later_clusters(void **state)
{
    enum { SPARE = 40 };
    struct wrig *w0 = &task[0].w, *w1 = &task[1].w;
    char device[2][96], job[32];
    struct tfd_message m;
    struct answer a;

    (void)state;
    for (int n = 0; n < 12; n++) {
        uint64_t graph0, graph1;

        bring_cluster(n, SPARE);
        snprintf(job, sizeof(job), "job%d", n);
        w0->session = w1->session = tfd_str_of(job);
        device_of(w0, device[0], n, SPARE);
        wrig_const(w0, "c", n);
        edge_of(w0, n, SPARE);
        wrig_node(w0, "send", "_Send", "c");
        graph0 = wrig_register(w0);
        device_of(w1, device[1], n, SPARE + 1);
        edge_of(w1, n, SPARE);
        wrig_attr_type(w1, "tensor_type", TFD_FLOAT);
        wrig_node(w1, "recv", "_Recv", "");
        wrig_fetch(w1, "recv");
        graph1 = wrig_register(w1);
        assert_true(graph0 && graph1);
        w0->step = w1->step = 500 + n;
        wrig_start(w0, graph0);
        wrig_start(w1, graph1);
        wait_both();
        assert_int_equal(w1->st.code, TFD_OK);
        assert_true(wrig_result(w1, 0) == n);
        clean_both(500 + n);
    }
    break_connections(); /* the peers of all clusters are lost */
    for (int i = 0; i < 2; i++) {
        begin(&m);
        call(&task[i], TFD_METHOD_GetStatus, &m, &a);
    }
    w0->session = w1->session = TFD_STR_EMPTY;
    for (int n = 0; n < 12; n++) {
        snprintf(job, sizeof(job), "job%d", n);
        for (int i = 0; i < 2; i++)
            tfd_worker_delete_session(task[i].w.service, tfd_str_of(job),
                                      TFD_SESSION_LAST);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_GRPC(f) cmocka_unit_test_setup_teardown(f, setup_grpc, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values_are_pushed),
        TEST(test_values_are_asked_for),
        TEST(test_many_and_large_values_are_pushed),
        TEST(test_a_dead_value_is_pushed),
        TEST(test_values_are_pushed_from_iterations),
        TEST(test_a_consumer_hears_of_the_producers_failure),
        TEST(test_a_push_that_is_lost_fails_its_consumer),
        TEST(test_a_lost_connection_fails_steps_that_use_it),
        TEST(test_a_task_that_is_not_there_is_waited_for),
        TEST(test_a_master_here_may_give_up_a_registration),
        TEST(test_a_master_elsewhere_may_give_up_a_registration),
        TEST_GRPC(test_a_master_elsewhere_may_give_up_a_registration),
        TEST(test_a_task_outside_the_cluster_is_refused),
        TEST(test_values_are_pushed_to_tasks_of_later_clusters),
    };

    return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
