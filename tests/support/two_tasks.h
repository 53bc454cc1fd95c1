/*
 * two_tasks.h - two workers and their caller on one loop, every call over a
 * socket: for tests of WorkerService and of tensors that cross tasks.
 */
#ifndef TFD_TESTS_SUPPORT_TWO_TASKS_H
#define TFD_TESTS_SUPPORT_TWO_TASKS_H

#include "tests/support/worker_rig.h"

#include "common/proto/device.pb.h"
#include "common/proto/peer.pb.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/worker.pb.h"
#include "rpc/conn/conn.h"
#include "rpc/core/sniff.h"

#include <inttypes.h>
#include <sys/socket.h>

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
/* Devices beside the CPUs, for tests that have some. */
static const struct tfd_device *task_devices[2];
static int task_device_count;

/* ---- Two tasks ----------------------------------------------------------- */

static inline void listen_at(struct task *t, int i)
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

static inline void join(struct task *t, int own)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_worker_options o = {.loop = loop,
                                   .service = t->service,
                                   .task = t->self.task,
                                   .devices = task_devices[own],
                                   .device_count = task_device_count,
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

static inline void keep_incarnation(void *ctx, const struct tfd_status *st,
                                    const struct tfd_device_attributes *d,
                                    int count)
{
    struct task *t = ctx;

    assert_int_equal(st->code, TFD_OK);
    assert_int_equal(count, 2 + task_device_count);
    snprintf(t->incarnation, sizeof(t->incarnation), "%016" PRIx64,
             d[0].incarnation);
}

static inline int setup(void **state)
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

static inline int setup_grpc(void **state)
{
    protocol = TFD_PROTO_GRPC;
    return setup(state);
}

struct closing {
    struct tfd_timer timer;
    struct wrig *w;
};

static inline void check_closed(struct tfd_timer *t)
{
    struct closing *c = (struct closing *)t;

    if (tfd_listener_connections(task[0].listener) +
            tfd_listener_connections(task[1].listener) ==
        0)
        wrig_stop(c->w);
    else
        assert_int_equal(tfd_timer_start(t, 1000, NULL), TFD_OK);
}

static inline int teardown(void **state)
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

/* ---- Calls --------------------------------------------------------------- */

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

static inline void copy(char *to, size_t size, struct tfd_str s)
{
    snprintf(to, size, TFD_STR_FMT, TFD_STR_ARG(s));
}

/* Reads what any response of the tests has: fields are told by their tags. */
static inline void answered(void *ctx, const struct tfd_status *st,
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

static inline void tensor_answered(void *ctx, const struct tfd_status *st,
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

static inline void begin(struct tfd_message *m)
{
    tfd_message_init(m, protocol == TFD_PROTO_NATIVE);
}

static inline void start_call(struct task *t, enum tfd_method_number method,
                              struct tfd_message *m, struct answer *a,
                              tfd_outcall_fn *done)
{
    struct tfd_outcall_options o = {20 * 1000 * 1000, true};

    *a = (struct answer){.w = &task[0].w};
    a->w->done = false;
    a->call = tfd_channel_call(t->client, method, m, &o, done, a);
    tfd_message_deinit(m);
}

static inline void wait_for(struct answer *a)
{
    while (!a->done) {
        a->w->done = false;
        wrig_wait(a->w);
    }
}

static inline void call(struct task *t, enum tfd_method_number method,
                        struct tfd_message *m, struct answer *a)
{
    start_call(t, method, m, a, answered);
    wait_for(a);
}

static inline void create_session(struct task *t, const char *handle,
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
static inline void register_graph(struct task *t, const char *session,
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

static inline void put_run(struct tfd_message *m, const char *session,
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

static inline void put_recv(struct tfd_message *m, const char *key,
                            int64_t step, int64_t request)
{
    begin(m);
    tfd_pb_put_int(&m->proto, tensorflow_RecvTensorRequest_step_id_tag, step);
    tfd_pb_put_str(&m->proto, tensorflow_RecvTensorRequest_rendezvous_key_tag,
                   tfd_str_of(key));
    tfd_pb_put_int(&m->proto, tensorflow_RecvTensorRequest_request_id_tag,
                   request);
}

static inline void cleanup(struct task *t, int64_t step)
{
    struct tfd_message m;
    struct answer a;

    begin(&m);
    tfd_pb_put_int(&m.proto, tensorflow_CleanupGraphRequest_step_id_tag, step);
    call(t, TFD_METHOD_CleanupGraph, &m, &a);
    assert_int_equal(a.st.code, TFD_OK);
}

/* "SEND;INCARNATION;RECV;NAME;0:0" from task 0 to task 1. */
static inline const char *key_of(const char *name)
{
    static char key[512];

    snprintf(key, sizeof(key), "%s;%s;%s;%s;0:0", CPU(WRIG_TASK),
             task[0].incarnation, CPU(TASK1), name);
    return key;
}

/* ---- Graphs -------------------------------------------------------------- */

static inline void ends(struct wrig *w, const char *name, int channel)
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
static inline uint64_t producer(const char *name, int channel)
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
static inline uint64_t consumer(const char *name, int channel)
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

static inline void wait_both(void)
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

static inline void run_both(uint64_t graph0, uint64_t graph1, int64_t step,
                            float x, bool consumer_first)
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

static inline void clean_both(int64_t step)
{
    for (int i = 0; i < 2; i++)
        task[i].w.worker->ops->cleanup_graph(task[i].w.worker, step);
}

/* As when a cable is pulled: both ends of every connection are here. */
static inline void break_connections(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        int listens = 0;
        socklen_t size = sizeof(listens);

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
            !listens)
            shutdown(fd, SHUT_RDWR);
    }
}

#endif
