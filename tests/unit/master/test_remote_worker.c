/*
 * test_remote_worker.c - daemon/master/remote/remote_worker.c over real
 * connections, native and gRPC: the status and the sessions of a peer.
 */
#include "tests/support/remote_rig.h"

#include "common/proto/device.pb.h"

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
    w->ops->delete_session(w, TFD_STR("h"), TFD_SESSION_LAST, 5000000, got_done,
                           &r);
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
        p->worker->ops->delete_session(p->worker, spec.handle, TFD_SESSION_ONE,
                                       1000000, got_done, &r);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_arrive_whole),
        cmocka_unit_test(test_answers_to_get_status_that_are_damaged),
        cmocka_unit_test(test_a_worker_has_only_so_many_devices),
        cmocka_unit_test(test_a_name_that_is_too_long_is_cut),
        cmocka_unit_test(test_a_peer_that_is_not_there_is_waited_for_so_long),
        cmocka_unit_test(test_a_question_may_be_taken_back),
        cmocka_unit_test(test_a_session_is_described_as_tensorflow_does),
        cmocka_unit_test(test_containers_are_named_to_the_peer),
    };

    return cmocka_run_group_tests_name("remote_worker", tests, NULL, NULL);
}
