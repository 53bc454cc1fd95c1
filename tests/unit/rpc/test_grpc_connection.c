/*
 * test_grpc_connection.c - rpc/grpc/grpc.c and admission.c: connections that
 * are slow, idle, no gRPC at all, or ask for more memory than there is.
 */
#include "tests/support/grpc_rig.h"

#include "common/base/alloc.h"

/* ---- Peers that are slow, or no peers ------------------------------------ */

static void test_a_silent_peer_is_dropped(void **state)
{
    (void)state;
    rig_open();
    net_advance(&rig.net, TFD_HANDSHAKE_MS * 1000 - 1);
    assert_false(rig.server->closed);
    rig_close();
    rig_open();
    rig.client->stuck = true;
    /* The first bytes decide when the wait begins. */
    assert_int_equal(rig.net.timer_count, 2);
    net_advance(&rig.net, TFD_HANDSHAKE_MS * 1000);
    assert_true(rig.server->closed);
    rig_close();
}

static void test_a_slow_head_is_dropped(void **state)
{
    struct tfd_bytes b;

    (void)state;
    rig_open();
    tfd_bytes_init(&b, 1 << 20);
    put_magic(&b);
    put_request(&b, 1, FLAG_NONE, MASTER "Reset");
    rig.server->to = NULL; /* our session has not sent this */
    tfd_conn_write(rig.client, b.data, b.size - 5);
    net_run(&rig.net);
    net_advance(&rig.net, TFD_HANDSHAKE_MS * 1000 - 1);
    assert_false(rig.server->closed);
    net_advance(&rig.net, 1);
    assert_true(rig.server->closed);
    rig_close();
    tfd_bytes_deinit(&b);
}

static void test_garbage_ends_the_connection(void **state)
{
    (void)state;
    rig_open();
    tfd_conn_write(rig.client, "GET / HTTP/1.1\r\nHost: here\r\n\r\n", 30);
    net_run(&rig.net);
    assert_true(rig.server->closed);
    rig_close();
}

static void test_first_bytes_may_come_from_elsewhere(void **state)
{
    struct tfd_bytes b;
    struct tfd_conn *a, *s;

    (void)state;
    rig_open();
    tfd_bytes_init(&b, 1 << 20);
    put_magic(&b);
    put_request(&b, 1, FLAG_NONE, MASTER "Reset");
    put_frame(&b, F_DATA, FLAG_END_STREAM, 1, "\0\0\0\0\0", 5);
    net_pair(&rig.net, &a, &s);
    assert_int_equal(tfd_grpc_serve(rig.service, s, tfd_bytes_view(&b), NULL),
                     TFD_OK);
    assert_int_equal(rig.held_count, 1);
    net_pair(&rig.net, &a, &s);
    assert_int_equal(
        tfd_grpc_serve(rig.service, s, TFD_STR("PRI * HTTP/1.0"), NULL),
        TFD_OK);
    net_run(&rig.net);
    assert_true(s->closed);
    rig_close();
    tfd_bytes_deinit(&b);
}

#define IDLE_US (TFD_CONNECTION_IDLE_MS * UINT64_C(1000))

static void test_an_idle_connection_is_ended(void **state)
{
    (void)state;
    rig_open();
    send_request(&(struct request){EMPTY_BODY});
    net_run(&rig.net);
    net_advance(&rig.net, IDLE_US); /* something had come */
    assert_false(rig.server->closed);
    net_advance(&rig.net, IDLE_US);
    assert_true(rig.server->closed);
    rig_close();
}

static void test_a_connection_is_not_idle_while_a_call_is_open(void **state)
{
    (void)state;
    rig_open();
    send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    net_run(&rig.net);
    net_advance(&rig.net, 10 * IDLE_US);
    assert_false(rig.server->closed);
    answer_held(0);
    net_run(&rig.net);
    net_advance(&rig.net, 2 * IDLE_US);
    assert_true(rig.server->closed);
    rig_close();
}

static void
test_a_connection_is_not_idle_while_something_is_kept_for_it(void **state)
{
    struct tfd_links *links;
    uint64_t link;

    (void)state;
    rig_open();
    links = tfd_service_links(rig.service);
    send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    net_run(&rig.net);
    link = rig.held[0]->link;
    tfd_links_hold(links, link);
    answer_held(0);
    net_run(&rig.net);
    net_advance(&rig.net, 10 * IDLE_US);
    assert_false(rig.server->closed);
    assert_true(tfd_links_open(links, link));
    tfd_links_unhold(links, link);
    net_advance(&rig.net, 2 * IDLE_US);
    assert_true(rig.server->closed);
    assert_false(tfd_links_open(links, link));
    rig_close();
}

/* ---- Memory for requests ------------------------------------------------- */

static bool all_compute(void *ctx)
{
    (void)ctx;
    return true;
}

enum { BIG = 1 << 20 };
static char big[BIG + 5] = {0, 0, 0x10, 0, 0};

static void test_a_request_that_does_not_fit_waits_unread(void **state)
{
    struct tfd_admission *admission;
    struct tfd_buffer *other = tfd_buffer_new(8 * BIG);

    (void)state;
    rig_open();
    rig.c.quiet = true;
    admission = tfd_service_admission(rig.service);
    tfd_admission_limit(admission, 16 * BIG, all_compute, NULL);
    for (int i = 0; i < 3; i++)
        send_request(&(struct request){.body = big, .size = sizeof(big)});
    net_run(&rig.net);
    assert_int_equal(rig.c.closed, 3); /* each fitted alone */
    tfd_admission_limit(admission, 8 * BIG, all_compute, NULL);
    for (int i = 0; i < 3; i++)
        send_request(&(struct request){.body = big, .size = sizeof(big)});
    net_run(&rig.net);
    net_advance(&rig.net, 5 * 1000 * 1000);
    assert_int_equal(rig.c.closed, 3);
    assert_int_equal(admission->waiting, 1); /* for all of its connection */
    assert_true(rig.server->paused);
    tfd_buffer_unref(other);
    net_advance(&rig.net, 10 * 1000);
    assert_int_equal(rig.c.closed, 6);
    assert_int_equal(admission->waiting, 0);
    assert_int_equal(admission->reserved, 0);
    assert_false(rig.server->paused);
    rig_close();
}

static void test_a_waiting_request_may_go_away(void **state)
{
    struct tfd_buffer *other = tfd_buffer_new(8 * BIG);
    struct tfd_admission *admission;

    (void)state;
    for (int deadline = 0; deadline < 2; deadline++) {
        rig_open();
        admission = tfd_service_admission(rig.service);
        tfd_admission_limit(admission, BIG, all_compute, NULL);
        send_request(&(struct request){.body = big,
                                       .size = sizeof(big),
                                       .timeout = deadline ? "1S" : NULL});
        net_run(&rig.net);
        assert_int_equal(admission->waiting, 1);
        if (deadline) {
            net_advance(&rig.net, 1000 * 1000);
            assert_true(said("grpc-status=4\n"));
            assert_int_equal(admission->waiting, 0);
            assert_int_equal(admission->reserved, 0);
        }
        rig_close();
    }
    tfd_buffer_unref(other);
}

/* ---- Requests that stop on their way ------------------------------------- */

static const char half_message[] = "\0\0\0\0\7abc";

/* So many requests, and of the message of each so many bytes. */
static void begin_requests(int count, int size)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 1 << 20);
    put_magic(&b);
    for (int i = 0; i < count; i++) {
        uint32_t id = 2 * (uint32_t)i + 1;

        put_request(&b, id, FLAG_NONE, MASTER "Reset");
        if (size > 0)
            put_frame(&b, F_DATA, FLAG_NONE, id, half_message, (size_t)size);
    }
    rig.server->to = NULL; /* our session has not sent this */
    tfd_conn_write(rig.client, b.data, b.size);
    net_run(&rig.net);
    tfd_bytes_deinit(&b);
}

static void pass_delivery_time(void)
{
    for (int ms = 0; ms <= TFD_DELIVERY_MS + 2000; ms += 1000)
        net_advance(&rig.net, 1000 * 1000);
}

static void test_small_requests_that_stop_end_the_connection(void **state)
{
    static const struct {
        int count, size;
    } cases[] = {{1, 0}, {1, 3}, {1, 5}, {1, 8}, {1000, 8}, {4000, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_admission *admission;

        rig_open();
        admission = tfd_service_admission(rig.service);
        begin_requests(cases[i].count, cases[i].size);
        assert_non_null(admission->active);
        assert_int_equal(admission->active->incomplete, cases[i].count);
        net_advance(&rig.net, (TFD_DELIVERY_MS - 2000) * 1000);
        assert_false(rig.server->closed);
        pass_delivery_time();
        assert_true(rig.server->closed);
        assert_int_equal(admission->late, 1);
        assert_null(admission->active);
        rig_close();
    }
}

/* The message is there, but the peer does not say that it was all. */
static void test_a_request_without_an_end_ends_the_connection(void **state)
{
    struct tfd_bytes b;

    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        rig_open();
        tfd_bytes_init(&b, 1 << 20);
        put_magic(&b);
        put_request(&b, 1, FLAG_NONE, MASTER "Reset");
        put_frame(&b, F_DATA, ended ? FLAG_END_STREAM : FLAG_NONE, 1,
                  "\0\0\0\0\3abc", 8);
        rig.server->to = NULL;
        tfd_conn_write(rig.client, b.data, b.size);
        net_run(&rig.net);
        pass_delivery_time();
        assert_int_equal(rig.server->closed, !ended);
        assert_int_equal(rig.held_count, ended);
        rig_close();
        tfd_bytes_deinit(&b);
    }
}

/* What was refused or has its answer is not incomplete. */
static void test_requests_that_are_over_are_not_late(void **state)
{
    struct tfd_admission *admission;

    (void)state;
    rig_open();
    admission = tfd_service_admission(rig.service);
    send_request(&(struct request){EMPTY_BODY});
    send_request(&(struct request){.path = "/no/such", EMPTY_BODY});
    send_request(&(struct request){.method = "GET", EMPTY_BODY});
    send_request(&(struct request){.body = "\0\0\0\0\7abc", .size = 8});
    send_request(&(struct request){.path = MASTER "Reset", EMPTY_BODY});
    net_run(&rig.net);
    assert_null(admission->active);
    pass_delivery_time();
    assert_int_equal(admission->late, 0);
    assert_false(rig.server->closed);
    rig_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_peer_is_dropped),
        cmocka_unit_test(test_a_slow_head_is_dropped),
        cmocka_unit_test(test_an_idle_connection_is_ended),
        cmocka_unit_test(test_a_connection_is_not_idle_while_a_call_is_open),
        cmocka_unit_test(
            test_a_connection_is_not_idle_while_something_is_kept_for_it),
        cmocka_unit_test(test_a_request_that_does_not_fit_waits_unread),
        cmocka_unit_test(test_a_waiting_request_may_go_away),
        cmocka_unit_test(test_small_requests_that_stop_end_the_connection),
        cmocka_unit_test(test_a_request_without_an_end_ends_the_connection),
        cmocka_unit_test(test_requests_that_are_over_are_not_late),
        cmocka_unit_test(test_garbage_ends_the_connection),
        cmocka_unit_test(test_first_bytes_may_come_from_elsewhere),
    };

    return cmocka_run_group_tests_name("grpc_connection", tests, NULL, NULL);
}
