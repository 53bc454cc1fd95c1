/*
 * test_json_out.c - daemon/status/json_out.c, read back by jansson; and
 * task_state.c, whose messages come from anybody.
 */
#include "daemon/status/json_out.h"

#include "common/base/pbio.h"
#include "common/proto/peer.pb.h"
#include "config/limits.h"
#include "daemon/status/task_state.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static json_t *parsed(struct tfd_bytes *b)
{
    json_error_t error;
    json_t *doc;

    assert_int_equal(tfd_bytes_ok(b, "it", NULL), TFD_OK);
    doc = json_loadb(b->data, b->size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
                     &error);
    if (!doc)
        fail_msg("%s: %.*s", error.text, (int)b->size, b->data);
    tfd_bytes_deinit(b);
    return doc;
}

static void test_values_of_each_kind(void **state)
{
    struct tfd_bytes b;
    struct tfd_json_out j = {.out = &b};
    json_t *doc;

    (void)state;
    tfd_bytes_init(&b, 1000);
    tfd_json_out_open(&j, NULL, '{');
    tfd_json_out_number(&j, "n", INT64_MIN);
    tfd_json_out_id(&j, "id", UINT64_MAX);
    tfd_json_out_real(&j, "r", 1.25, 3);
    tfd_json_out_real(&j, "nan", NAN, 3);
    tfd_json_out_bool(&j, "yes", true);
    tfd_json_out_null(&j, "none");
    tfd_json_out_open(&j, "empty", '[');
    tfd_json_out_close(&j, ']');
    tfd_json_out_open(&j, "list", '[');
    tfd_json_out_number(&j, NULL, 1);
    tfd_json_out_open(&j, NULL, '{');
    tfd_json_out_close(&j, '}');
    tfd_json_out_close(&j, ']');
    tfd_json_out_close(&j, '}');
    doc = parsed(&b);
    assert_true(json_integer_value(json_object_get(doc, "n")) == INT64_MIN);
    assert_string_equal(json_string_value(json_object_get(doc, "id")),
                        "18446744073709551615");
    assert_true(json_real_value(json_object_get(doc, "r")) == 1.25);
    assert_true(json_is_null(json_object_get(doc, "nan")));
    assert_true(json_is_true(json_object_get(doc, "yes")));
    assert_int_equal(json_array_size(json_object_get(doc, "empty")), 0);
    assert_int_equal(json_array_size(json_object_get(doc, "list")), 2);
    json_decref(doc);
}

#define BAD "\xef\xbf\xbd"

static void test_texts_of_anybody(void **state)
{
    static const struct {
        struct tfd_str in;
        const char *out;
    } cases[] = {
        {TFD_STR_INIT(""), ""},
        {TFD_STR_INIT("a\"b\\c/d"), "a\"b\\c/d"},
        {TFD_STR_INIT("\n\t\x1b\x7f"), "\n\t\x1b\x7f"},
        {TFD_STR_INIT("\xc2\x85"), "\xc2\x85"},
        {TFD_STR_INIT("caf\xc3\xa9 \xf0\x9f\x98\x80"),
         "caf\xc3\xa9 \xf0\x9f\x98\x80"},
        {TFD_STR_INIT("\xff\xfe"), BAD BAD},
        {TFD_STR_INIT("\xc3"), BAD},
        {TFD_STR_INIT("\xc3("), BAD "("},
        {TFD_STR_INIT("\xc0\xaf"), BAD BAD},                 /* too long */
        {TFD_STR_INIT("\xe0\x80\xaf"), BAD BAD BAD},         /* likewise */
        {TFD_STR_INIT("\xed\xa0\x80"), BAD BAD BAD},         /* a surrogate */
        {TFD_STR_INIT("\xf4\x90\x80\x80"), BAD BAD BAD BAD}, /* too large */
        {TFD_STR_INIT("\x80x"), BAD "x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_bytes b;
        struct tfd_json_out j = {.out = &b};
        json_t *doc;

        tfd_bytes_init(&b, 1000);
        tfd_json_out_text(&j, NULL, cases[i].in);
        for (size_t k = 0; k < b.size; k++)
            assert_true((unsigned char)b.data[k] >= 0x20 && b.data[k] != 0x7f);
        doc = parsed(&b);
        assert_string_equal(json_string_value(doc), cases[i].out);
        json_decref(doc);
    }
}

static void test_a_text_with_a_zero_and_a_long_one(void **state)
{
    char text[TFD_STATUS_TEXT_SIZE_MAX + 100];
    struct tfd_bytes b;
    struct tfd_json_out j = {.out = &b};
    json_t *doc;

    (void)state;
    memset(text, 'x', sizeof(text));
    /* A character of two bytes lies across the end. */
    text[TFD_STATUS_TEXT_SIZE_MAX - 1] = '\xc3';
    text[TFD_STATUS_TEXT_SIZE_MAX] = '\xa9';
    tfd_bytes_init(&b, 10000);
    tfd_json_out_open(&j, NULL, '[');
    tfd_json_out_text(&j, NULL, TFD_STR("a\0b"));
    tfd_json_out_text(&j, NULL, (struct tfd_str){text, sizeof(text)});
    tfd_json_out_close(&j, ']');
    doc = json_loadb(b.data, b.size, JSON_ALLOW_NUL, NULL);
    assert_non_null(doc);
    assert_int_equal(json_string_length(json_array_get(doc, 0)), 3);
    assert_int_equal(json_string_length(json_array_get(doc, 1)),
                     TFD_STATUS_TEXT_SIZE_MAX + 1 + 3);
    json_decref(doc);
    tfd_bytes_deinit(&b);
}

/* ---- What a task says of itself ------------------------------------------ */

static void test_a_state_comes_back(void **state)
{
    struct tfd_task_state in = {.task = "/job:ps/replica:0/task:0",
                                .version = "1.2",
                                .incarnation = UINT64_MAX,
                                .steps_done = 7,
                                .draining = 1,
                                .waiting_count = 1,
                                .waiting = {{-1, 5, "take: of queue q"}},
                                .warnings = UINT64_MAX};
    struct tfd_task_state out;
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1000);
    tfd_task_state_encode(&b, &in);
    assert_int_equal(tfd_task_state_decode(tfd_bytes_view(&b), &out, NULL),
                     TFD_OK);
    assert_memory_equal(&in, &out, sizeof(in));
    for (size_t i = 1; i < b.size; i++) { /* cut, and nothing beyond is read */
        struct tfd_str part = {b.data, i};

        if (tfd_task_state_decode(part, &out, NULL) == TFD_OK)
            assert_true(out.incarnation == 0 || out.incarnation == UINT64_MAX);
    }
    tfd_bytes_deinit(&b);
}

static void test_states_that_are_refused_or_cut(void **state)
{
    struct tfd_task_state out;
    struct tfd_bytes b;
    char large[5000];

    (void)state;
    assert_int_equal(tfd_task_state_decode(TFD_STR("\xff\xff\xff"), &out, NULL),
                     TFD_INVALID_ARGUMENT);
    /* A number where a text belongs, and the other way round. */
    assert_int_equal(tfd_task_state_decode(TFD_STR("\x08\x01"), &out, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_task_state_decode(TFD_STR("\x22\x01x"), &out, NULL),
                     TFD_INVALID_ARGUMENT);
    /* A waiting step that is none. */
    assert_int_equal(
        tfd_task_state_decode(TFD_STR("\x92\x01\x01\xff"), &out, NULL),
        TFD_INVALID_ARGUMENT);
    memset(large, 'v', sizeof(large));
    tfd_bytes_init(&b, 100000);
    tfd_pb_put_str(&b, tfd_TaskState_version_tag,
                   (struct tfd_str){large, sizeof(large)});
    tfd_pb_put_str(&b, 1000, TFD_STR("a field of a later version"));
    for (int i = 0; i < 100; i++) {
        size_t mark = tfd_pb_begin(&b, tfd_TaskState_waiting_tag);

        tfd_pb_put_int(&b, tfd_WaitingStep_step_tag, i + 1);
        tfd_pb_put_str(&b, tfd_WaitingStep_waits_tag,
                       (struct tfd_str){large, i == 0 ? 300 : 2});
        tfd_pb_finish(&b, mark);
    }
    assert_int_equal(tfd_task_state_decode(tfd_bytes_view(&b), &out, NULL),
                     TFD_OK);
    assert_int_equal(strlen(out.version), sizeof(out.version) - 1);
    assert_int_equal(out.waiting_count, TFD_TASK_STATE_WAITING_MAX);
    assert_int_equal(strlen(out.waiting[0].waits),
                     TFD_TASK_STATE_WAITS_SIZE - 1);
    assert_int_equal(out.waiting[3].step, 4);
    tfd_bytes_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_each_kind),
        cmocka_unit_test(test_texts_of_anybody),
        cmocka_unit_test(test_a_text_with_a_zero_and_a_long_one),
        cmocka_unit_test(test_a_state_comes_back),
        cmocka_unit_test(test_states_that_are_refused_or_cut),
    };

    return cmocka_run_group_tests_name("json_out", tests, NULL, NULL);
}
