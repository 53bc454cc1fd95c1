/*
 * test_health.c - rpc/core/health.c, over gRPC.
 */
#include "tests/support/grpc_rig.h"

static void test_health(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Check";

    (void)state;
    rig_open();
    send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #01\n1 grpc-status=0\n")); /* SERVING */
    send_request(&(struct request){
        .path = path, BODY("\0\0\0\0\x1a\x0a\x18tensorflow.WorkerService")});
    net_run(&rig.net);
    assert_int_equal(rig.c.data, 2 * 7);
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\3\x0a\1x")});
    net_run(&rig.net);
    assert_true(said("grpc-status=5\n"));
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\2\x0a\7")});
    net_run(&rig.net);
    assert_true(said("grpc-status=3\n"));
    rig_close();
}

static void test_health_is_watched(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Watch";

    (void)state;
    rig_open();
    send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #01\n")); /* SERVING, and no end */
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\3\x0a\1x")});
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #03\n")); /* SERVICE_UNKNOWN */
    send_request(&(struct request){.path = path, BODY("\0\0\0\0\2\x0a\7")});
    net_run(&rig.net);
    assert_true(said("grpc-status=3\n"));
    tfd_service_drain(rig.service, NULL, NULL);
    net_run(&rig.net);
    assert_true(said("1 #08\n1 #02\n")); /* NOT_SERVING */
    assert_non_null(rig.health.watchers);
    rig_close();
    assert_null(rig.health.watchers);
}

static void test_a_watch_ends_with_its_deadline_or_its_client(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Watch";
    int32_t id;

    (void)state;
    rig_open();
    send_request(&(struct request){.path = path, .timeout = "1S", EMPTY_BODY});
    net_run(&rig.net);
    assert_non_null(rig.health.watchers);
    net_advance(&rig.net, 1000000);
    assert_true(said("grpc-status=4\n"));
    assert_null(rig.health.watchers);
    id = send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    assert_non_null(rig.health.watchers);
    tfd_h2_reset(rig.c.h2, id, TFD_H2_CANCEL);
    flush();
    net_run(&rig.net);
    assert_null(rig.health.watchers);
    rig_close();
}

static void test_health_while_draining(void **state)
{
    static const char path[] = "/grpc.health.v1.Health/Check";

    (void)state;
    rig_open();
    tfd_service_drain(rig.service, NULL, NULL);
    send_request(&(struct request){.path = path, EMPTY_BODY});
    net_run(&rig.net);
    /* field 1, varint 2: NOT_SERVING */
    assert_true(said("1 #08\n1 #02\n1 grpc-status=0\n"));
    rig_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_health_is_watched),
        cmocka_unit_test(test_a_watch_ends_with_its_deadline_or_its_client),
        cmocka_unit_test(test_health_while_draining),
    };

    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
