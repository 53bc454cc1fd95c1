/*
 * test_channel.c - rpc/core/channel.c: which protocol, when to dial again, what
 * a call is told when the peer is not there, not ours, or breaks off.
 */
#include "tests/support/actor.h"

/* ---- Protocols ----------------------------------------------------------- */

/* What a TensorFlow server sends as soon as a connection is accepted. */
static const uint8_t http2_settings[] = {
    0, 0,    24, 4, 0, 0, 0, 0, 0,    0, 4,    0, 0x40, 0, 0, 0, 5,
    0, 0x40, 0,  0, 0, 6, 0, 0, 0x40, 0, 0xfe, 3, 0,    0, 0, 1};

static void test_a_peer_that_speaks_http2_is_dialled_with_grpc(void **state)
{
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        struct rig *r = rig_new();
        struct actor *a = actor_new(r);
        struct tfd_channel *ch = watched_channel(r, a->address);
        struct rig_result result = {.rig = r};

        for (int i = 0; i < SCENES_MAX; i++)
            a->scene[i] = (struct scene){http2_settings, sizeof(http2_settings),
                                         at_once, false};
        call(ch, &rig_patient, &result);
        rig_run(r, 1); /* up */
        assert_int_equal(tfd_channel_protocol(ch), TFD_PROTO_GRPC);
        assert_int_equal(a->accepted, 2);
        assert_memory_equal(a->role[0].heard, "TFD1", at_once ? 0 : 4);
        assert_int_equal(result.done, 0);
        tfd_channel_free(ch);
        rig_run(r, 1);
        assert_told(&result, TFD_CANCELLED, a->address);
        actor_free(a);
        rig_free(r);
    }
}

static void test_both_protocols_reach_the_same_handlers(void **state)
{
    static const enum tfd_protocol protocols[] = {TFD_PROTO_NATIVE,
                                                  TFD_PROTO_GRPC};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig *r = rig_new();
        struct tfd_channel *ch = rig_channel(r, r->address, protocols[i]);
        struct rig_result result = {.rig = r};

        call(ch, &rig_patient, &result);
        rig_run(r, 1);
        assert_told(&result, TFD_OK, "");
        assert_int_equal(result.size, strlen("text"));
        tfd_channel_free(ch);
        rig_free(r);
    }
}

static void test_a_native_channel_takes_no_other_protocol(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_NATIVE);
    struct rig_result result = {.rig = r};

    (void)state;
    a->scene[0] =
        (struct scene){http2_settings, sizeof(http2_settings), true, false};
    call(ch, &rig_hasty, &result);
    rig_run(r, 1);
    assert_told(&result, TFD_UNAVAILABLE, "does not speak tfd's native");
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

static void test_a_message_for_another_protocol_is_not_sent(void **state)
{
    struct rig *r = rig_new();
    struct tfd_channel *ch = rig_channel(r, r->address, TFD_PROTO_NATIVE);
    struct rig_result result = {.rig = r};
    struct tfd_buffer *b = rig_buffer(2000);
    struct tfd_message m;

    (void)state;
    tfd_message_init(&m, false);
    tfd_message_splice(&m, b, b->size);
    tfd_channel_call(ch, TFD_METHOD_RunGraph, &m, &rig_patient, rig_done,
                     &result);
    rig_run(r, 1);
    assert_told(&result, TFD_UNAVAILABLE, "another protocol");
    assert_true(tfd_buffer_sole(b));
    tfd_buffer_unref(b);
    tfd_channel_free(ch);
    rig_free(r);
}

/* ---- Dialling ------------------------------------------------------------ */

static void test_a_hasty_call_fails_with_its_own_dial(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
    struct line hello = greeting();

    (void)state;
    tfd_listener_close(a->listener);
    for (int i = 0; i < 3; i++) {
        struct rig_result result = {.rig = r};

        call(ch, &rig_hasty, &result);
        assert_int_equal(result.done, 0); /* never from inside */
        rig_run(r, 1);
        assert_told(&result, TFD_UNAVAILABLE, "Connection refused");
        assert_non_null(strstr(tfd_channel_trouble(ch), "Connection refused"));
    }
    actor_listen(a, atoi(strchr(a->address, ':') + 1));
    script(a, 0, &hello, false, false);
    struct rig_result result = {.rig = r};
    call(ch, &rig_hasty, &result); /* the old failures are forgotten */
    tfd_channel_free(ch);
    rig_run(r, 1);
    assert_told(&result, TFD_CANCELLED, "was closed");
    actor_free(a);
    rig_free(r);
}

static void test_a_patient_call_waits_for_the_peer(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = watched_channel(r, a->address);
    struct rig_result waits = {.rig = r}, hurries = {.rig = r};
    struct line hello = greeting();

    (void)state;
    tfd_listener_close(a->listener);
    call(ch, &rig_patient, &waits);
    call(ch, &rig_hasty, &hurries);
    rig_run(r, 1);
    assert_told(&hurries, TFD_UNAVAILABLE, "refused");
    assert_int_equal(waits.done, 0);
    actor_listen(a, atoi(strchr(a->address, ':') + 1));
    script(a, 0, &hello, false, false);
    rig_run(r, 1); /* up */
    assert_int_equal(waits.done, 0);
    tfd_channel_free(ch);
    rig_run(r, 1);
    actor_free(a);
    rig_free(r);
}

static void test_a_deadline_in_the_queue_says_what_it_waited_for(void **state)
{
    struct tfd_outcall_options o = {.timeout_us = 20 * 1000,
                                    .wait_ready = true};
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
    struct rig_result result = {.rig = r}, cancelled = {.rig = r};
    struct tfd_outcall *c;

    (void)state;
    tfd_listener_close(a->listener);
    c = call(ch, &rig_patient, &cancelled);
    call(ch, &o, &result);
    tfd_channel_cancel(c);
    rig_run(r, 2);
    assert_told(&cancelled, TFD_CANCELLED, "RunGraph");
    assert_told(&result, TFD_DEADLINE_EXCEEDED, "Connection refused");
    tfd_channel_free(ch);
    actor_listen(a, 0);
    actor_free(a);
    rig_free(r);
}

static void test_a_silent_peer_is_given_up(void **state)
{
    struct tfd_channel_options o = {.self = &rig_self,
                                    .dial_timeout_us = 20 * 1000};
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = NULL;
    struct rig_result result = {.rig = r};

    (void)state;
    o.address = a->address;
    assert_int_equal(tfd_channel_new(r->loop, &o, &ch, NULL), TFD_OK);
    call(ch, &rig_hasty, &result);
    rig_run(r, 1);
    assert_told(&result, TFD_UNAVAILABLE, "was silent for 20 ms");
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

static void test_addresses_are_checked_at_once(void **state)
{
    static const char *const bad[] = {
        "", "host", "host:", "host:0", ":1", "host:70000"};
    struct rig *r = rig_new();

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_channel_options o = {.address = bad[i], .self = &rig_self};
        struct tfd_channel *ch = NULL;

        assert_int_equal(tfd_channel_new(r->loop, &o, &ch, NULL),
                         TFD_INVALID_ARGUMENT);
        assert_null(ch);
    }
    rig_free(r);
}

/* ---- A peer that breaks off, or the protocol ----------------------------- */

static void test_every_way_to_break_off_fails_the_call(void **state)
{
    static const uint8_t announced[] = {1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t code[] = {8, 0, 0, 0, 'f', 'u', 'l', 'l'};
    struct line cases[8];
    const char *text[8];
    int count = 0;

    (void)state;
    cases[count] = greeting(); /* leaves with the call unanswered */
    text[count++] = "Socket closed";
    cases[count] = greeting(); /* in the middle of a payload */
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 1, 2, announced, 12);
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 1, 2, "1234", 4);
    text[count++] = "Socket closed";
    cases[count] = greeting(); /* in the middle of a frame */
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 0, 2, "\0\0\0\0abcdefgh", 12);
    cases[count].size -= 5;
    text[count++] = "Socket closed";
    cases[count] = greeting(); /* an answer to nobody */
    add_frame(&cases[count], TFD_FRAME_RESPONSE, 0, 9, "\0\0\0\0", 4);
    text[count++] = "call 9, which is not open";
    cases[count] = greeting();
    add_frame(&cases[count], TFD_FRAME_CANCEL, 0, 2, "", 0);
    text[count++] = "a server cannot send";
    cases[count] = greeting();
    memset(cases[count].bytes + cases[count].size, 'g', 16);
    cases[count].size += 16;
    text[count++] = "no frame: begins";
    cases[count] = greeting(); /* an ERROR for the connection */
    add_frame(&cases[count], TFD_FRAME_ERROR, 0, 0, code, sizeof(code));
    text[count++] = "full";
    cases[count] = (struct line){.size = 0}; /* an ERROR for Hello */
    add_frame(&cases[count], TFD_FRAME_ERROR, 0, 1, code, sizeof(code));
    text[count++] = "full";

    for (int i = 0; i < count; i++) {
        struct rig *r = rig_new();
        struct actor *a = actor_new(r);
        struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
        struct rig_result result = {.rig = r};

        script(a, 0, &cases[i], false, true);
        call(ch, &rig_hasty, &result);
        rig_run(r, 1);
        assert_told(&result, TFD_UNAVAILABLE, text[i]);
        assert_false(tfd_channel_up(ch));
        tfd_channel_free(ch);
        actor_free(a);
        rig_free(r);
    }
}

static void test_after_a_loss_the_next_call_dials_again(void **state)
{
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = watched_channel(r, a->address);
    struct rig_result first = {.rig = r}, second = {.rig = r};
    struct line hello = greeting();

    (void)state;
    script(a, 0, &hello, false, true);
    script(a, 1, &hello, false, true);
    call(ch, &rig_patient, &first);
    rig_run(r, 3); /* up, down, told */
    assert_told(&first, TFD_UNAVAILABLE, "Socket closed");
    call(ch, &rig_patient, &second);
    rig_run(r, 3);
    assert_told(&second, TFD_UNAVAILABLE, "Socket closed");
    assert_int_equal(a->accepted, 2);
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

static void test_errors_of_the_peer_are_for_one_call(void **state)
{
    static const uint8_t code[] = {3, 0, 0, 0, 'b', 'a', 'd'};
    static const uint8_t newer[] = {99, 0, 0, 0, 'n', 'e', 'w'};
    struct rig *r = rig_new();
    struct actor *a = actor_new(r);
    struct tfd_channel *ch = rig_channel(r, a->address, TFD_PROTO_UNKNOWN);
    struct rig_result first = {.rig = r}, second = {.rig = r};
    struct line l = greeting();

    (void)state;
    call(ch, &rig_patient, &first);
    call(ch, &rig_patient, &second);
    add_frame(&l, TFD_FRAME_PING, 0, 0, "12345678", 8);
    /* Hello was answered, so the calls have the numbers 1 and 2. */
    add_frame(&l, TFD_FRAME_ERROR, 0, 1, code, sizeof(code));
    add_frame(&l, TFD_FRAME_ERROR, 0, 2, newer, sizeof(newer));
    script(a, 0, &l, false, false);
    rig_run(r, 2);
    assert_told(&first, TFD_INVALID_ARGUMENT, "bad");
    assert_told(&second, TFD_UNKNOWN, "new");
    assert_true(tfd_channel_up(ch));
    tfd_channel_free(ch);
    actor_free(a);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_peer_that_speaks_http2_is_dialled_with_grpc),
        cmocka_unit_test(test_both_protocols_reach_the_same_handlers),
        cmocka_unit_test(test_a_native_channel_takes_no_other_protocol),
        cmocka_unit_test(test_a_message_for_another_protocol_is_not_sent),
        cmocka_unit_test(test_a_hasty_call_fails_with_its_own_dial),
        cmocka_unit_test(test_a_patient_call_waits_for_the_peer),
        cmocka_unit_test(test_a_deadline_in_the_queue_says_what_it_waited_for),
        cmocka_unit_test(test_a_silent_peer_is_given_up),
        cmocka_unit_test(test_addresses_are_checked_at_once),
        cmocka_unit_test(test_every_way_to_break_off_fails_the_call),
        cmocka_unit_test(test_after_a_loss_the_next_call_dials_again),
        cmocka_unit_test(test_errors_of_the_peer_are_for_one_call),
    };

    return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
