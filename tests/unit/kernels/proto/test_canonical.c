/*
 * test_canonical.c - messages put in order by a description that was written
 * here, and bytes that are none.
 */
#include "kernels/proto/canonical.h"

#include "common/base/pbio.h"
#include "config/limits.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void put_field_of(struct tfd_bytes *b, const char *name, int number,
                         int label, int type, const char *type_name)
{
    size_t mark = tfd_pb_begin(b, 2);

    tfd_pb_put_str(b, 1, tfd_str_of(name));
    tfd_pb_put_int(b, 3, number);
    tfd_pb_put_int(b, 4, label);
    tfd_pb_put_int(b, 5, type);
    tfd_pb_put_str(b, 6, tfd_str_of(type_name));
    tfd_pb_finish(b, mark);
}

/* message M { optional int32 a = 1; repeated int32 r = 2; optional M m = 3; }
 */
static void describe(struct tfd_bytes *b, int number)
{
    size_t file, message;

    tfd_bytes_init(b, 4096);
    file = tfd_pb_begin(b, 1);
    tfd_pb_put_str(b, 1, TFD_STR("f"));
    message = tfd_pb_begin(b, 4);
    tfd_pb_put_str(b, 1, TFD_STR("M"));
    put_field_of(b, "a", number, 1, TFD_PROTO_INT32, "");
    put_field_of(b, "r", 2, 3, TFD_PROTO_INT32, "");
    put_field_of(b, "m", 3, 1, TFD_PROTO_MESSAGE, ".M");
    tfd_pb_finish(b, message);
    tfd_pb_finish(b, file);
}

static enum tfd_code order(struct tfd_str bytes, bool is_text,
                           struct tfd_bytes *out)
{
    struct tfd_proto_pool pool;
    struct tfd_bytes set;
    enum tfd_code rc;

    describe(&set, 1);
    tfd_bytes_init(out, 1 << 16);
    assert_int_equal(tfd_proto_pool_read(&pool, tfd_bytes_view(&set), NULL),
                     TFD_OK);
    rc = tfd_proto_canonical(&pool, tfd_proto_pool_message(&pool, TFD_STR("M")),
                             bytes, is_text, out, NULL);
    tfd_proto_pool_deinit(&pool);
    tfd_bytes_deinit(&set);
    return rc;
}

static void test_fields_come_in_order_and_once(void **state)
{
    struct tfd_bytes out;

    (void)state;
    assert_int_equal(
        order(TFD_STR("\x1a\x02\x08\x01\x10\x05\x08\x07\x12\x01\x06"
                      "\x1a\x02\x10\x02\x08\x09"),
              false, &out),
        TFD_OK);
    assert_true(tfd_str_eq(
        tfd_bytes_view(&out),
        TFD_STR("\x08\x09\x10\x05\x10\x06\x1a\x04\x08\x01\x10\x02")));
    tfd_bytes_deinit(&out);
}

static void test_what_is_cut_is_refused(void **state)
{
    static const struct tfd_str cut[] = {
        TFD_STR_INIT("\x08"),         TFD_STR_INIT("\x12\x05\x01"),
        TFD_STR_INIT("\x12\x01\x80"), TFD_STR_INIT("\x1a\x02\x08"),
        TFD_STR_INIT("\x0b"),         TFD_STR_INIT("\x0c"),
        TFD_STR_INIT("\x00"),         TFD_STR_INIT("\x0f"),
        TFD_STR_INIT("\x25\x01"),     TFD_STR_INIT("\x22\xff\xff\xff\xff\x0f"),
    };
    struct tfd_bytes out;

    (void)state;
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        assert_int_equal(order(cut[i], false, &out), TFD_DATA_LOSS);
        tfd_bytes_deinit(&out);
    }
}

static void test_text_gives_a_field_once(void **state)
{
    struct tfd_bytes out;

    (void)state;
    assert_int_equal(order(TFD_STR("\x08\x01\x08\x02"), true, &out),
                     TFD_DATA_LOSS);
    tfd_bytes_deinit(&out);
}

/* Groups that nobody knows, and messages, to the same depth. */
static void test_depth_is_bounded(void **state)
{
    char groups[2 * TFD_PROTO_DEPTH_MAX + 2];
    const size_t half = sizeof(groups) / 2;
    struct tfd_bytes out;

    (void)state;
    memset(groups, 0x23, half);
    memset(groups + half, 0x24, half);
    assert_int_equal(
        order((struct tfd_str){groups, sizeof(groups)}, false, &out),
        TFD_DATA_LOSS);
    tfd_bytes_deinit(&out);
    assert_int_equal(
        order((struct tfd_str){groups + 1, sizeof(groups) - 2}, false, &out),
        TFD_OK);
    tfd_bytes_deinit(&out);
}

static void test_two_fields_of_a_number_are_no_message(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_proto_pool pool;
    struct tfd_bytes set;

    (void)state;
    describe(&set, 2);
    assert_int_equal(tfd_proto_pool_read(&pool, tfd_bytes_view(&set), &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "Failed to load FileDescriptorProto: f"));
    tfd_proto_pool_deinit(&pool);
    tfd_bytes_deinit(&set);
}

static void test_a_set_that_is_cut_is_none(void **state)
{
    struct tfd_bytes set;

    (void)state;
    describe(&set, 1);
    for (size_t size = 1; size < set.size; size++) {
        struct tfd_proto_pool pool;

        assert_int_equal(
            tfd_proto_pool_read(&pool, (struct tfd_str){set.data, size}, NULL),
            TFD_DATA_LOSS);
        tfd_proto_pool_deinit(&pool);
    }
    tfd_bytes_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_come_in_order_and_once),
        cmocka_unit_test(test_what_is_cut_is_refused),
        cmocka_unit_test(test_text_gives_a_field_once),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_two_fields_of_a_number_are_no_message),
        cmocka_unit_test(test_a_set_that_is_cut_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
