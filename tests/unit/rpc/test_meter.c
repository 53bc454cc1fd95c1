/*
 * test_meter.c - rpc/core/meter.c: bytes of calls, by what they are made for.
 */
#include "rpc/core/meter.h"

#include "common/base/alloc.h"
#include "rpc/core/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct tfd_loop *loop;
static struct tfd_service *service;
static struct tfd_meter *meter;
static struct tfd_call *held; /* by the handler, until the test answers it */
static int answered;

/* What a session's handler does. */
static void handle(void *self, struct tfd_call *call)
{
    (void)self;
    tfd_call_meter(call, meter);
    held = call;
}

static void answer(struct tfd_call *call, const struct tfd_status *st,
                   struct tfd_message *take_response)
{
    (void)call;
    (void)st;
    (void)take_response;
    answered++;
}

static int setup(void **state)
{
    (void)state;
    loop = tfd_loop_new(NULL);
    assert_non_null(loop);
    service = tfd_service_new(loop, NULL);
    assert_non_null(service);
    tfd_service_bind(service, TFD_METHOD_RunStep, handle, NULL);
    meter = tfd_meter_new();
    assert_non_null(meter);
    answered = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tfd_meter_unref(meter);
    meter = NULL;
    tfd_service_free(service);
    tfd_loop_free(loop);
    return 0;
}

static struct tfd_call call_of(struct tfd_str proto)
{
    return (struct tfd_call){
        .method = TFD_METHOD_RunStep, .in.proto = proto, .answer = answer};
}

static void respond(struct tfd_call *call, struct tfd_str text)
{
    struct tfd_message m;

    tfd_message_init(&m, false);
    tfd_bytes_add_str(&m.proto, text);
    tfd_call_respond(call, &m);
}

static void test_a_call_counts_until_it_is_answered(void **state)
{
    struct tfd_call call = call_of(TFD_STR("seven b"));

    (void)state;
    tfd_service_dispatch(service, &call);
    assert_ptr_equal(held, &call);
    assert_int_equal(meter->received, 7);
    assert_int_equal(meter->under_way, 7);
    assert_int_equal(meter->sent, 0);
    respond(&call, TFD_STR("three"));
    assert_int_equal(answered, 1);
    assert_int_equal(meter->received, 7);
    assert_int_equal(meter->under_way, 0);
    assert_int_equal(meter->sent, 5);
}

/* Handlers take tensors out of a request. */
static void test_tensors_count_also_once_they_are_taken(void **state)
{
    struct tfd_call call = call_of(TFD_STR("four"));
    struct tfd_buffer *payload[2] = {tfd_buffer_new(1000), NULL};

    (void)state;
    call.in.payload = payload;
    call.in.payload_count = 2;
    tfd_service_dispatch(service, &call);
    assert_int_equal(meter->under_way, 1004);
    tfd_buffer_unref(payload[0]);
    payload[0] = NULL;
    respond(&call, TFD_STR(""));
    assert_int_equal(meter->under_way, 0);
    assert_int_equal(meter->received, 1004);
}

static void test_failures_are_not_sent(void **state)
{
    struct tfd_call call = call_of(TFD_STR("1234"));
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    tfd_service_dispatch(service, &call);
    (void)tfd_fail(&st, TFD_INTERNAL, "a long text about it");
    tfd_call_fail(&call, &st);
    assert_int_equal(meter->received, 4);
    assert_int_equal(meter->sent, 0);
    assert_int_equal(meter->under_way, 0);
}

static void test_a_call_has_one_meter(void **state)
{
    struct tfd_call call = call_of(TFD_STR("1234"));
    struct tfd_meter *other = tfd_meter_new();

    (void)state;
    tfd_service_dispatch(service, &call);
    tfd_call_meter(&call, other);
    tfd_call_meter(&call, meter);
    tfd_call_meter(&call, NULL);
    assert_int_equal(other->received, 0);
    assert_int_equal(meter->received, 4);
    respond(&call, TFD_STR("12"));
    assert_int_equal(other->sent, 0);
    assert_int_equal(meter->sent, 2);
    tfd_meter_unref(other);
}

/* As when a session is closed whose steps run. */
static void test_a_call_outlives_what_it_was_made_for(void **state)
{
    struct tfd_call calls[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        calls[i] = call_of(TFD_STR("1234"));
        tfd_service_dispatch(service, &calls[i]);
    }
    assert_int_equal(meter->under_way, 12);
    tfd_meter_unref(meter);
    for (int i = 0; i < 3; i++)
        respond(&calls[i], TFD_STR("12"));
    meter = NULL;
    assert_int_equal(answered, 3);
}

/* One that nobody counts, as for a session that is not there. */
static void test_calls_of_nobody(void **state)
{
    struct tfd_call call = call_of(TFD_STR("1234"));

    (void)state;
    tfd_meter_unref(meter);
    meter = NULL;
    tfd_service_dispatch(service, &call);
    assert_null(call.meter);
    respond(&call, TFD_STR("12"));
    assert_int_equal(answered, 1);
    tfd_meter_unref(NULL);
}

static void test_messages_of_a_stream(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 100; i++)
        tfd_meter_take(meter, i);
    assert_int_equal(meter->under_way, 5050);
    for (uint64_t i = 1; i <= 100; i++)
        tfd_meter_give_back(meter, i);
    assert_int_equal(meter->under_way, 0);
    assert_int_equal(meter->received, 5050);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_counts_until_it_is_answered),
        TEST(test_tensors_count_also_once_they_are_taken),
        TEST(test_failures_are_not_sent),
        TEST(test_a_call_has_one_meter),
        TEST(test_a_call_outlives_what_it_was_made_for),
        TEST(test_calls_of_nobody),
        TEST(test_messages_of_a_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
