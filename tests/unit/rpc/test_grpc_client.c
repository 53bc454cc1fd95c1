/*
 * test_grpc_client.c - rpc/grpc/grpc_client.c: calls of a link whose peer is an
 * HTTP/2 session that answers whatever the case says, or our own server.
 */
#include "tests/support/grpc_link_rig.h"

#include "config/limits.h"

/* ---- Calls --------------------------------------------------------------- */

static void test_a_request_looks_like_tensorflows(void **state)
{
    (void)state;
    rig_open(true);
    assert_int_equal(call(7, "abc", 5010000), TFD_OK);
    net_run(&rig.net);
    assert_string_equal(log_of(&rig.s),
                        "begin 1\n"
                        "1 :path=/tensorflow.MasterService/RunStep\n"
                        "1 :authority=there:2222\n"
                        "1 :method=POST\n"
                        "1 :scheme=http\n"
                        "1 content-type=application/grpc\n"
                        "1 te=trailers\n"
                        "1 grpc-accept-encoding=identity\n"
                        "1 user-agent=grpc-c-tfd/0.1\n"
                        "1 grpc-timeout=5010000u\n"
                        "1 headers\n"
                        "1 #00\n1 #00\n1 #00\n1 #00\n1 #03\n"
                        "1 a\n1 b\n1 c\n"
                        "1 end\n");
    respond_with(1, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[7].count, 1);
    assert_true(tfd_str_is(rig.ended[7].response, "ok"));
    rig_close();
}

static void test_a_response_survives_any_cut(void **state)
{
    (void)state;
    for (size_t chunk = 1; chunk < 50; chunk++) {
        rig_open(true);
        rig.net.chunk = chunk;
        for (uint32_t i = 0; i < 3; i++)
            call(i, "abc", 0);
        net_run(&rig.net);
        for (int32_t id = 5; id > 0; id -= 2)
            respond_with(id, &good);
        net_run(&rig.net);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(rig.ended[i].count, 1);
            assert_true(tfd_str_is(rig.ended[i].response, "ok"));
        }
        rig_close();
    }
}

static void test_endings(void **state)
{
    static const struct {
        struct answer a;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {{.headers = {GRPC, "grpc-status=5",
                      "grpc-message=no%0Ax %25 %C3%A4 %zz"}},
         TFD_NOT_FOUND,
         "no\nx % \xc3\xa4 %zz"},
        {{.headers = {GRPC, "grpc-status=3", "grpc-message=Invalid key: "}},
         TFD_INVALID_ARGUMENT,
         "Invalid key: "},
        {{.headers = {GRPC, "grpc-status=10"}}, TFD_ABORTED, ""},
        {{.headers = {GRPC, "grpc-status=99"}}, TFD_UNKNOWN, ""},
        {{.headers = {GRPC}}, TFD_UNKNOWN, "no grpc-status"},
        {{.headers = {":status=200", "grpc-status=0"}},
         TFD_UNKNOWN,
         "no grpc-status"},
        {{.headers = {":status=503", "content-type=text/html"}},
         TFD_UNAVAILABLE,
         "503"},
        {{.headers = {":status=404"}}, TFD_UNIMPLEMENTED, "404"},
        {{{":status=500"}, {NULL}, BODY("oops")}, TFD_UNKNOWN, "500"},
        {{.headers = {GRPC, "grpc-status=0"}},
         TFD_INTERNAL,
         "ended after 0 of 0"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\0\0\0\0\3ab")},
         TFD_INTERNAL,
         "ended after 2 of 3"},
        {{{GRPC}, {"grpc-status=9", "grpc-message=late"}, BODY("\0\0\0\0\1a")},
         TFD_FAILED_PRECONDITION,
         "late"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\0\0\0\0\1ab")},
         TFD_INTERNAL,
         "more than one message"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\1\0\0\0\1a")},
         TFD_INTERNAL,
         "compressed"},
        {{{GRPC}, {"grpc-status=0"}, BODY("\0\xff\0\0\0a")},
         TFD_RESOURCE_EXHAUSTED,
         "4278190080 bytes"},
        {{{GRPC}, {NULL}, BODY("\0\0\0\0\1a")}, TFD_UNKNOWN, "no grpc-status"},
        {{{GRPC},
          {"grpc-status=0", "grpc-status-details-bin=AAAA"},
          BODY("\0\0\0\0\1a")},
         TFD_OK,
         ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig_open(true);
        call(1, "abc", 0);
        net_run(&rig.net);
        respond_with(1, &cases[i].a);
        net_run(&rig.net);
        assert_int_equal(rig.ended[1].count, 1);
        assert_int_equal(rig.ended[1].st.code, cases[i].code);
        if (!strstr(rig.ended[1].st.text, cases[i].text))
            fail_msg("case %zu: %s", i, rig.ended[1].st.text);
        call(2, "abc", 0); /* the connection goes on */
        net_run(&rig.net);
        respond_with(3, &good);
        net_run(&rig.net);
        assert_int_equal(rig.ended[2].st.code, TFD_OK);
        assert_int_equal(rig.ended[2].count, 1);
        rig_close();
    }
}

static void test_resets_have_codes(void **state)
{
    static const struct {
        uint32_t error;
        enum tfd_code code;
    } cases[] = {
        {TFD_H2_NO_ERROR, TFD_INTERNAL},
        {TFD_H2_REFUSED_STREAM, TFD_UNAVAILABLE},
        {TFD_H2_CANCEL, TFD_CANCELLED},
        {TFD_H2_ENHANCE_YOUR_CALM, TFD_RESOURCE_EXHAUSTED},
        {12345, TFD_INTERNAL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig_open(true);
        call(1, "abc", 0);
        net_run(&rig.net);
        tfd_h2_reset(rig.s.h2, 1, cases[i].error);
        flush();
        net_run(&rig.net);
        assert_int_equal(rig.ended[1].count, 1);
        assert_int_equal(rig.ended[1].st.code, cases[i].code);
        rig_close();
    }
}

static void test_an_answer_before_the_end_of_a_request(void **state)
{
    static char text[6 << 20];

    (void)state;
    memset(text, 'x', sizeof(text) - 1); /* more than the window */
    rig_open(true);
    rig.s.quiet = true;
    rig.far->stuck = true; /* no window updates */
    call(1, text, 0);
    net_run(&rig.net);
    rig.far->stuck = false;
    respond_with(1, &(struct answer){.headers = {GRPC, "grpc-status=8"}});
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].count, 1);
    assert_int_equal(rig.ended[1].st.code, TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(rig.s.closed, 1);
    rig_close();
}

static void test_a_cancelled_call_is_silent(void **state)
{
    (void)state;
    rig_open(true);
    call(1, "abc", 0);
    net_run(&rig.net);
    tfd_grpc_link.cancel(rig.link, 1);
    tfd_grpc_link.cancel(rig.link, 1);
    tfd_grpc_link.cancel(rig.link, 99);
    net_run(&rig.net);
    assert_true(heard("1 closed 8\n"));
    call(1, "abc", 0); /* the number is free again */
    net_run(&rig.net);
    respond_with(3, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[1].count, 1);
    assert_int_equal(rig.failed, 0);
    rig_close();
}

static void test_a_thousand_calls_pend(void **state)
{
    (void)state;
    rig_open(true);
    rig.s.quiet = true;
    for (uint32_t i = 0; i < 1500; i++)
        call(i, "abc", 0);
    net_run(&rig.net);
    assert_int_equal(rig.s.begun, 1500);
    for (uint32_t i = 0; i < 500; i++)
        tfd_grpc_link.cancel(rig.link, i);
    for (int32_t i = 1499; i >= 500; i--)
        respond_with(2 * i + 1, &good);
    net_run(&rig.net);
    for (uint32_t i = 0; i < 1500; i++)
        assert_int_equal(rig.ended[i].count, i >= 500);
    assert_int_equal(rig.s.closed, 1500);
    rig_close();
}

/* ---- What the channel does from inside ----------------------------------- */

static void test_ended_may_call_cancel_and_close(void **state)
{
    (void)state;
    rig_open(true);
    rig.then_call = 3;
    rig.then_cancel = 2;
    call(1, "abc", 0);
    call(2, "abc", 0);
    net_run(&rig.net);
    respond_with(1, &good);
    net_run(&rig.net);
    assert_true(heard("3 closed 8\n"));
    assert_true(heard("5 end\n"));
    rig.then_close = true;
    respond_with(5, &good);
    net_run(&rig.net);
    assert_int_equal(rig.ended[3].count, 1);
    assert_int_equal(rig.ended[2].count, 0);
    assert_int_equal(rig.failed, 0);
    assert_true(rig.conn->closed);
    rig_close();
}

/* ---- Against our own server ---------------------------------------------- */

static struct tfd_tensor make_tensor(int64_t floats)
{
    struct tfd_shape shape;
    struct tfd_tensor t;
    float *data;

    assert_int_equal(tfd_shape_make(&shape, &floats, 1, NULL), TFD_OK);
    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    data = tfd_tensor_data(&t);
    for (int64_t i = 0; i < floats; i++)
        data[i] = (float)i;
    return t;
}

/* Decodes the request's tensor and sends it back, in field 1. */
static void tensor_echo(void *self, struct tfd_call *c)
{
    struct ending *e = self;
    struct tfd_message m;
    struct tfd_tensor t;

    decode(e, &c->in);
    t = tfd_tensor_ref(&e->tensor);
    tfd_tensor_unref(&e->tensor);
    tfd_message_init(&m, c->native);
    tfd_message_put_tensor(&m, 1, &t, NULL);
    tfd_tensor_unref(&t);
    tfd_call_respond(c, &m);
}

static void send_tensor(int64_t floats)
{
    struct tfd_tensor t = make_tensor(floats);
    struct tfd_message m;

    tfd_message_init(&m, false);
    tfd_message_put_tensor(&m, 1, &t, NULL);
    tfd_tensor_unref(&t);
    assert_int_equal(
        tfd_grpc_link.call(rig.link, 1, TFD_METHOD_RunStep, &m, 0, true, NULL),
        TFD_OK);
    net_run(&rig.net);
}

static void check_tensor(const struct tfd_tensor *t, int64_t floats)
{
    const float *data = tfd_tensor_data(t);

    assert_int_equal(tfd_tensor_elements(t), floats);
    for (int64_t i = 0; i < floats; i++)
        if (data[i] != (float)i)
            fail_msg("element %lld", (long long)i);
}

static void test_tensors_arrive_where_they_are_used(void **state)
{
    static const int64_t sizes[] = {1, 100, 5000, 100000, 3000000};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct tfd_service *service;
        struct ending at_server = {0};
        bool large = sizes[i] >= 100000;

        rig_open(false);
        rig.decode = true;
        service = tfd_service_new(&rig.net, NULL);
        tfd_service_bind(service, TFD_METHOD_RunStep, tensor_echo, &at_server);
        assert_int_equal(tfd_grpc_serve(service, rig.far, TFD_STR_EMPTY, NULL),
                         TFD_OK);
        send_tensor(sizes[i]);
        assert_int_equal(rig.ended[1].st.code, TFD_OK);
        check_tensor(&rig.ended[1].tensor, sizes[i]);
        if (large) {
            assert_true(at_server.in_place);
            assert_true(rig.ended[1].in_place);
            assert_int_equal((uintptr_t)tfd_tensor_data(&rig.ended[1].tensor) %
                                 TFD_BUFFER_ALIGN,
                             0);
        }
        rig_close();
        tfd_service_free(service);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_looks_like_tensorflows),
        cmocka_unit_test(test_a_response_survives_any_cut),
        cmocka_unit_test(test_endings),
        cmocka_unit_test(test_resets_have_codes),
        cmocka_unit_test(test_an_answer_before_the_end_of_a_request),
        cmocka_unit_test(test_a_cancelled_call_is_silent),
        cmocka_unit_test(test_a_thousand_calls_pend),
        cmocka_unit_test(test_ended_may_call_cancel_and_close),
        cmocka_unit_test(test_tensors_arrive_where_they_are_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
