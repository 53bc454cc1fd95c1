/*
 * test_worker.c - WorkerService over sockets, and two workers that send each
 * other tensors: pushed where both ends are tfd, asked for where they are not.
 *
 * Both workers and their caller share one loop; every call crosses a socket.
 */
#include "tests/support/worker_rig.h"

#include "common/proto/device.pb.h"
#include "common/proto/peer.pb.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/worker.pb.h"
#include "rpc/conn.h"
#include "rpc/sniff.h"

#include <inttypes.h>

#define TASK1 "/job:t/replica:0/task:1"
#define CPU(task) task "/device:CPU:0"
#define SESSION "cafe"

struct task {
    struct wrig w;
    struct tfd_peer_info self;
    struct tfd_service *service;
    struct tfd_sniff sniff;
    struct tfd_listener *listener;
    struct tfd_cluster cluster;
    struct tfd_peers *peers;
    struct tfd_channel *client; /* the test's way to it */
    char incarnation[20];       /* of its CPU:0 */
};

static struct tfd_loop *loop;
static struct task task[2];
static enum tfd_protocol protocol = TFD_PROTO_NATIVE;

/* ---- Two tasks
 * ----------------------------------------------------------------- */

static void listen_at(struct task *t, int i)
{
    struct tfd_status st = TFD_STATUS_INIT;

    snprintf(t->self.task, sizeof(t->self.task), "/job:t/replica:0/task:%d", i);
    t->self.incarnation = (uint64_t)i + 1;
    t->service = tfd_service_new(loop, &st);
    t->sniff = (struct tfd_sniff){t->service, &t->self};
    assert_int_equal(tfd_listener_new(loop, "127.0.0.1", 0, 5000,
                                      tfd_sniff_accept, &t->sniff, &t->listener,
                                      &st),
                     TFD_OK);
}

static void join(struct task *t, int own)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_worker_options o = {.loop = loop,
                                   .service = t->service,
                                   .task = t->self.task,
                                   .peer_wait_us = 300 * 1000};
    struct tfd_channel_options client = {
        .self = &t->self, .protocol = protocol, .dial_timeout_us = 5000000};
    char address[64];

    tfd_cluster_init(&t->cluster);
    for (int i = 0; i < 2; i++) {
        snprintf(address, sizeof(address), "127.0.0.1:%d",
                 tfd_listener_port(task[i].listener));
        assert_int_equal(tfd_cluster_add(&t->cluster, "t", i, address, &st),
                         TFD_OK);
    }
    /* Port 1 is nobody's: a task that never comes. */
    assert_int_equal(tfd_cluster_add(&t->cluster, "t", 2, "127.0.0.1:1", &st),
                     TFD_OK);
    snprintf(t->cluster.job_name, sizeof(t->cluster.job_name), "t");
    t->cluster.task_index = own;
    assert_int_equal(tfd_peers_new(loop, &t->cluster, &t->self, &t->peers, &st),
                     TFD_OK);
    o.peers = t->peers;
    wrig_init_as(&t->w, 2, o);
    snprintf(address, sizeof(address), "127.0.0.1:%d",
             tfd_listener_port(t->listener));
    client.address = address;
    assert_int_equal(tfd_channel_new(loop, &client, &t->client, &st), TFD_OK);
}

static void keep_incarnation(void *ctx, const struct tfd_status *st,
                             const struct tfd_device_attributes *d, int count)
{
    struct task *t = ctx;

    assert_int_equal(st->code, TFD_OK);
    assert_int_equal(count, 2);
    snprintf(t->incarnation, sizeof(t->incarnation), "%016" PRIx64,
             d[0].incarnation);
}

static int setup(void **state)
{
    (void)state;
    memset(task, 0, sizeof(task));
    loop = tfd_loop_new(NULL);
    for (int i = 0; i < 2; i++)
        listen_at(&task[i], i);
    for (int i = 0; i < 2; i++) {
        join(&task[i], i);
        task[i].w.worker->ops->get_status(task[i].w.worker, 0, keep_incarnation,
                                          &task[i]);
    }
    return 0;
}

static int setup_grpc(void **state)
{
    protocol = TFD_PROTO_GRPC;
    return setup(state);
}

struct closing {
    struct tfd_timer timer;
    struct wrig *w;
};

static void check_closed(struct tfd_timer *t)
{
    struct closing *c = (struct closing *)t;

    if (tfd_listener_connections(task[0].listener) +
            tfd_listener_connections(task[1].listener) ==
        0)
        wrig_stop(c->w);
    else
        assert_int_equal(tfd_timer_start(t, 1000, NULL), TFD_OK);
}

static int teardown(void **state)
{
    struct closing c = {.w = &task[0].w};

    (void)state;
    protocol = TFD_PROTO_NATIVE;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tfd_worker_counts(task[i].w.service).steps, 0);
        tfd_channel_free(task[i].client);
        tfd_peers_free(task[i].peers);
    }
    tfd_timer_init(&c.timer, loop, check_closed);
    assert_int_equal(tfd_timer_start(&c.timer, 0, NULL), TFD_OK);
    c.w->done = false;
    wrig_wait(c.w);
    for (int i = 0; i < 2; i++) {
        tfd_listener_close(task[i].listener);
        wrig_deinit(&task[i].w);
        tfd_service_free(task[i].service);
        tfd_cluster_deinit(&task[i].cluster);
    }
    tfd_loop_free(loop);
    return 0;
}

/* ---- Calls
 * --------------------------------------------------------------------- */

struct answer {
    struct tfd_status st;
    struct tfd_outcall *call;
    bool done;
    struct wrig *w;
    char text[512]; /* a string field */
    int code;
    char error[512];
    struct tfd_tensor tensor;
    bool dead;
};

static void copy(char *to, size_t size, struct tfd_str s)
{
    snprintf(to, size, TFD_STR_FMT, TFD_STR_ARG(s));
}

/* Reads what any response of the tests has: fields are told by their tags. */
static void answered(void *ctx, const struct tfd_status *st,
                     const struct tfd_incoming *in)
{
    struct answer *a = ctx;

    a->st = *st;
    a->done = true;
    if (in) {
        struct tfd_pb_reader r = tfd_pb_reader_of(in->proto);
        struct tfd_pb_field f;

        while (tfd_pb_next(&r, &f)) {
            if (f.tag == 1 && f.wire == TFD_PB_BYTES)
                copy(a->text, sizeof(a->text), f.bytes);
            if (f.tag == tensorflow_RunGraphResponse_status_code_tag)
                a->code = tfd_pb_int32(&r, &f);
            if (f.tag == tensorflow_RunGraphResponse_status_error_message_tag)
                copy(a->error, sizeof(a->error), f.bytes);
        }
    }
    wrig_stop(a->w);
}

static void tensor_answered(void *ctx, const struct tfd_status *st,
                            const struct tfd_incoming *in)
{
    struct answer *a = ctx;

    if (in) {
        struct tfd_pb_reader r = tfd_pb_reader_of(in->proto);
        struct tfd_pb_field f;

        while (tfd_pb_next(&r, &f)) {
            if (f.tag == tensorflow_RecvTensorResponse_is_dead_tag)
                a->dead = tfd_pb_bool(&r, &f);
            if (f.tag == tensorflow_RecvTensorResponse_tensor_tag)
                assert_int_equal(tfd_tensor_decode(in, f.bytes,
                                                   tfd_handle_decode,
                                                   &a->tensor, NULL),
                                 TFD_OK);
        }
    }
    a->st = *st;
    a->done = true;
    wrig_stop(a->w);
}

static void begin(struct tfd_message *m)
{
    tfd_message_init(m, protocol == TFD_PROTO_NATIVE);
}

static void start_call(struct task *t, enum tfd_method_number method,
                       struct tfd_message *m, struct answer *a,
                       tfd_outcall_fn *done)
{
    struct tfd_outcall_options o = {20 * 1000 * 1000, true};

    *a = (struct answer){.w = &task[0].w};
    a->w->done = false;
    a->call = tfd_channel_call(t->client, method, m, &o, done, a);
    tfd_message_deinit(m);
}

static void wait_for(struct answer *a)
{
    while (!a->done) {
        a->w->done = false;
        wrig_wait(a->w);
    }
}

static void call(struct task *t, enum tfd_method_number method,
                 struct tfd_message *m, struct answer *a)
{
    start_call(t, method, m, a, answered);
    wait_for(a);
}

static void create_session(struct task *t, const char *handle,
                           const char *master, int64_t incarnation,
                           bool isolate, struct answer *a)
{
    struct tfd_message m;

    begin(&m);
    tfd_pb_put_str(&m.proto,
                   tensorflow_CreateWorkerSessionRequest_session_handle_tag,
                   tfd_str_of(handle));
    tfd_pb_put_str(&m.proto,
                   tensorflow_CreateWorkerSessionRequest_master_task_tag,
                   tfd_str_of(master));
    tfd_pb_put_int(&m.proto,
                   tensorflow_CreateWorkerSessionRequest_master_incarnation_tag,
                   incarnation);
    tfd_pb_put_bool(
        &m.proto,
        tensorflow_CreateWorkerSessionRequest_isolate_session_state_tag,
        isolate);
    call(t, TFD_METHOD_CreateWorkerSession, &m, a);
}

/* Registers what t->w has in its graph; a->text is the handle. */
static void register_graph(struct task *t, const char *session,
                           struct answer *a)
{
    struct tfd_message m;

    begin(&m);
    tfd_pb_put_str(&m.proto, tensorflow_RegisterGraphRequest_session_handle_tag,
                   tfd_str_of(session));
    tfd_pb_put_bool(
        &m.proto,
        tensorflow_RegisterGraphRequest_create_worker_session_called_tag, true);
    tfd_pb_put_str_always(&m.proto,
                          tensorflow_RegisterGraphRequest_graph_def_tag,
                          tfd_bytes_view(&t->w.graph));
    call(t, TFD_METHOD_RegisterGraph, &m, a);
    wrig_clear(&t->w);
}

static void put_run(struct tfd_message *m, const char *session,
                    const char *graph, int64_t step, int64_t request)
{
    begin(m);
    tfd_pb_put_str(&m->proto, tensorflow_RunGraphRequest_session_handle_tag,
                   tfd_str_of(session));
    tfd_pb_put_bool(&m->proto,
                    tensorflow_RunGraphRequest_create_worker_session_called_tag,
                    true);
    tfd_pb_put_str(&m->proto, tensorflow_RunGraphRequest_graph_handle_tag,
                   tfd_str_of(graph));
    tfd_pb_put_bool(
        &m->proto, tensorflow_RunGraphRequest_store_errors_in_response_body_tag,
        true);
    tfd_pb_put_int(&m->proto, tensorflow_RunGraphRequest_step_id_tag, step);
    tfd_pb_put_int(&m->proto, tensorflow_RunGraphRequest_request_id_tag,
                   request);
}

static void put_recv(struct tfd_message *m, const char *key, int64_t step,
                     int64_t request)
{
    begin(m);
    tfd_pb_put_int(&m->proto, tensorflow_RecvTensorRequest_step_id_tag, step);
    tfd_pb_put_str(&m->proto, tensorflow_RecvTensorRequest_rendezvous_key_tag,
                   tfd_str_of(key));
    tfd_pb_put_int(&m->proto, tensorflow_RecvTensorRequest_request_id_tag,
                   request);
}

static void cleanup(struct task *t, int64_t step)
{
    struct tfd_message m;
    struct answer a;

    begin(&m);
    tfd_pb_put_int(&m.proto, tensorflow_CleanupGraphRequest_step_id_tag, step);
    call(t, TFD_METHOD_CleanupGraph, &m, &a);
    assert_int_equal(a.st.code, TFD_OK);
}

/* "SEND;INCARNATION;RECV;NAME;0:0" from task 0 to task 1. */
static const char *key_of(const char *name)
{
    static char key[512];

    snprintf(key, sizeof(key), "%s;%s;%s;%s;0:0", CPU(WRIG_TASK),
             task[0].incarnation, CPU(TASK1), name);
    return key;
}

/* ---- Graphs
 * -------------------------------------------------------------------- */

static void ends(struct wrig *w, const char *name, int channel)
{
    wrig_attr_str(w, "tensor_name", name);
    wrig_attr_str(w, "send_device", CPU(WRIG_TASK));
    wrig_attr_int(w, "send_device_incarnation",
                  (int64_t)strtoull(task[0].incarnation, NULL, 16));
    wrig_attr_str(w, "recv_device", CPU(TASK1));
    if (channel >= 0)
        wrig_attr_int(w, "_tfd_channel", channel);
}

/* Task 0 sends x + 1 as `name`. */
static uint64_t producer(const char *name, int channel)
{
    struct wrig *w = &task[0].w;

    w->device = CPU(WRIG_TASK);
    wrig_feed(w, "x");
    wrig_const(w, "one", 1);
    wrig_node(w, "sum", "TestAdd", "x,one");
    ends(w, name, channel);
    wrig_node(w, "send", "_Send", "sum");
    return wrig_register(w);
}

/* Task 1 receives it and doubles it. */
static uint64_t consumer(const char *name, int channel)
{
    struct wrig *w = &task[1].w;

    w->device = CPU(TASK1);
    ends(w, name, channel);
    wrig_attr_type(w, "tensor_type", TFD_FLOAT);
    wrig_node(w, "recv", "_Recv", "");
    wrig_node(w, "twice", "TestAdd", "recv,recv");
    wrig_fetch(w, "twice");
    return wrig_register(w);
}

static void wait_both(void)
{
    while (!task[0].w.done || !task[1].w.done) {
        task[0].w.running = task[1].w.running = true;
        assert_int_equal(
            tfd_timer_start(&task[0].w.watchdog, WRIG_WATCHDOG_US, NULL),
            TFD_OK);
        tfd_loop_run(loop);
        tfd_timer_stop(&task[0].w.watchdog);
        task[0].w.running = task[1].w.running = false;
    }
}

static void run_both(uint64_t graph0, uint64_t graph1, int64_t step, float x,
                     bool consumer_first)
{
    struct wrig *first = &task[consumer_first ? 1 : 0].w;

    task[0].w.step = task[1].w.step = step;
    task[0].w.fed[0] = wrig_scalar(TFD_FLOAT, (double)x);
    wrig_start(first, consumer_first ? graph1 : graph0);
    if (!consumer_first)
        wrig_wait(first);
    wrig_start(&task[consumer_first ? 0 : 1].w,
               consumer_first ? graph0 : graph1);
    wait_both();
}

static void clean_both(int64_t step)
{
    for (int i = 0; i < 2; i++)
        task[i].w.worker->ops->cleanup_graph(task[i].w.worker, step);
}

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

/* A graph is not registered before the links are up that it pushes over. */
static void test_a_task_that_is_not_there_is_waited_for(void **state)
{
    struct wrig *w = &task[0].w;

    (void)state;
    w->device = CPU(WRIG_TASK);
    wrig_const(w, "c", 1);
    wrig_attr_str(w, "tensor_name", "e");
    wrig_attr_str(w, "send_device", CPU(WRIG_TASK));
    wrig_attr_int(w, "send_device_incarnation", 1);
    wrig_attr_str(w, "recv_device", CPU("/job:t/replica:0/task:2"));
    wrig_attr_int(w, "_tfd_channel", 1);
    wrig_node(w, "send", "_Send", "c");
    assert_int_equal(wrig_register(w), 0);
    assert_int_equal(w->st.code, TFD_DEADLINE_EXCEEDED);
    assert_non_null(strstr(w->st.text, "/job:t/replica:0/task:2: "));
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

/* ---- Rows of WorkerService
 * ------------------------------------------------------ */

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
    };

    (void)state;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct tfd_message m;
        struct answer a;

        begin(&m);
        tfd_bytes_add_str(&m.proto, TFD_STR("\x0a\x7f junk"));
        call(&task[0], methods[i], &m, &a);
        assert_int_equal(a.st.code, TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(a.st.text, "Unable to parse"));
    }
}

/* ---- RecvTensor
 * ------------------------------------------------------------------ */

static void test_an_early_recv_is_parked(void **state)
{
    uint64_t graph = producer("e", -1);
    struct tfd_message m;
    struct answer a;

    (void)state;
    put_recv(&m, key_of("e"), 50, 1);
    start_call(&task[0], TFD_METHOD_RecvTensor, &m, &a, tensor_answered);
    {
        struct answer other;
        struct tfd_message status;

        begin(&status);
        call(&task[0], TFD_METHOD_GetStatus, &status, &other);
    }
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
    {
        struct answer other;
        struct tfd_message status;

        begin(&status);
        call(&task[0], TFD_METHOD_GetStatus, &status, &other);
    }
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

/* ---- Pushes that are wrong
 * -------------------------------------------------------- */

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
        TEST(test_values_are_pushed),
        TEST(test_values_are_asked_for),
        TEST(test_many_and_large_values_are_pushed),
        TEST(test_a_dead_value_is_pushed),
        TEST(test_values_are_pushed_from_iterations),
        TEST(test_a_consumer_hears_of_the_producers_failure),
        TEST(test_a_task_that_is_not_there_is_waited_for),
        TEST(test_a_task_outside_the_cluster_is_refused),
        TEST(test_status_lists_devices),
        TEST_GRPC(test_status_lists_devices),
        TEST(test_sessions_are_created_and_deleted),
        TEST(test_what_a_restarted_worker_does_not_know),
        TEST_GRPC(test_what_a_restarted_worker_does_not_know),
        TEST(test_a_graph_is_run_with_keys),
        TEST_GRPC(test_a_graph_is_run_with_keys),
        TEST(test_a_request_is_not_carried_out_twice),
        TEST(test_a_run_is_cancelled_by_its_caller),
        TEST_GRPC(test_a_run_is_cancelled_by_its_caller),
        TEST(test_isolated_sessions_share_nothing),
        TEST(test_logging_is_empty_and_tracing_unknown),
        TEST(test_damaged_requests_are_refused),
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

    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
