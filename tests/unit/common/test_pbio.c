/*
 * test_pbio.c - common/base/pbio.c: fields as they are, cut at every byte, of
 * the wrong type, and written so that they read back.
 */
#include "common/base/pbio.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- Reading ------------------------------------------------------------- */

/* One field of each wire type, as protoc --encode writes them. */
#define EACH_TYPE                                              \
    "\x08\x96\x01"                         /* 1: varint 150 */ \
    "\x11\x01\x02\x03\x04\x05\x06\x07\x08" /* 2: fixed64 */    \
    "\x1a\x07testing"                      /* 3: bytes */      \
    "\x25\x00\x00\x80\x3f"                 /* 4: 1.0f */       \
    "\xf8\xff\xff\xff\x0f\x00"             /* 2^29 - 1: varint 0 */

static void test_fields_come_in_order_with_their_values(void **state)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(TFD_STR(EACH_TYPE));
    struct tfd_pb_field f;

    (void)state;
    assert_true(tfd_pb_next(&r, &f));
    assert_true(f.tag == 1 && f.wire == TFD_PB_VARINT && f.number == 150);
    assert_int_equal(f.bytes.size, 0);
    assert_true(tfd_pb_next(&r, &f));
    assert_true(f.tag == 2 && f.wire == TFD_PB_FIXED64);
    assert_true(f.number == 0x0807060504030201u);
    assert_true(tfd_pb_next(&r, &f));
    assert_true(f.tag == 3 && f.wire == TFD_PB_BYTES);
    assert_true(tfd_str_is(tfd_pb_str(&r, &f), "testing"));
    assert_true(tfd_pb_next(&r, &f));
    assert_true(f.tag == 4 && f.wire == TFD_PB_FIXED32);
    assert_true(tfd_pb_float(&r, &f) == 1.0f);
    assert_true(tfd_pb_next(&r, &f));
    assert_true(f.tag == (1u << 29) - 1 && f.number == 0);
    assert_false(tfd_pb_next(&r, &f));
    assert_false(tfd_pb_next(&r, &f));
    assert_int_equal(tfd_pb_end(&r, "Message", NULL), TFD_OK);
}

static enum tfd_code read_all(struct tfd_str wire, int *fields,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(wire);
    struct tfd_pb_field f;

    *fields = 0;
    while (tfd_pb_next(&r, &f))
        ++*fields;
    return tfd_pb_end(&r, "Message", st);
}

/* A cut between fields gives a shorter message, any other is damage.  The copy
 * has the exact size, so the address sanitizer sees a read past the end. */
static void test_a_message_cut_at_any_byte(void **state)
{
    static const size_t ends[] = {0, 3, 12, 21, 26, 32};
    static const char wire[] = EACH_TYPE;
    size_t end = 0;

    (void)state;
    assert_int_equal(sizeof(wire) - 1, 32);
    for (size_t cut = 0; cut <= 32; cut++) {
        struct tfd_bytes b;
        int fields;
        enum tfd_code code;

        tfd_bytes_init(&b, cut);
        tfd_bytes_add(&b, wire, cut);
        code = read_all(tfd_bytes_view(&b), &fields, NULL);
        if (cut == ends[end]) {
            assert_int_equal(code, TFD_OK);
            assert_int_equal(fields, end++);
        } else {
            assert_int_equal(code, TFD_INVALID_ARGUMENT);
            assert_int_equal(fields, end - 1);
        }
        tfd_bytes_deinit(&b);
    }
}

static void test_damage_is_refused(void **state)
{
    static const struct tfd_str cases[] = {
        TFD_STR_INIT("\x00\x01"),                 /* field 0 */
        TFD_STR_INIT("\x80\x00\x01"),             /* the same, longer */
        TFD_STR_INIT("\x80\x80\x80\x80\x10\x01"), /* field 2^29 */
        TFD_STR_INIT(
            "\x88\x80\x80\x80\x80\x80\x80\x80\x80\x01"), /* a tag of 64 bits */
        TFD_STR_INIT("\x0b"),                            /* group begins */
        TFD_STR_INIT("\x0c"),                            /* group ends */
        TFD_STR_INIT("\x0e\x00"),                        /* wire type 6 */
        TFD_STR_INIT("\x0f\x00"),                        /* wire type 7 */
        TFD_STR_INIT(
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), /* 70 bits */
        TFD_STR_INIT(
            "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), /* 11 bytes */
        TFD_STR_INIT("\x0a\x02x"),                 /* 2 of 1 byte */
        TFD_STR_INIT("\x0a\xff\xff\xff\xff\x0fx"), /* 4 GiB */
        TFD_STR_INIT(
            "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"), /* 2^64 - 1 */
        TFD_STR_INIT("\x0a"),                                 /* no length */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        int fields;

        if (read_all(cases[i], &fields, &st) != TFD_INVALID_ARGUMENT)
            fail_msg("case %zu was accepted", i);
        assert_int_equal(fields, 0);
        assert_string_equal(st.text, "Unable to parse Message");
    }
}

static void test_what_other_encoders_may_write(void **state)
{
    static const struct {
        struct tfd_str wire;
        uint64_t number;
    } cases[] = {
        {TFD_STR_INIT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         UINT64_MAX},
        {TFD_STR_INIT("\x08\x81\x80\x00"), 1},     /* padded */
        {TFD_STR_INIT("\x88\x80\x80\x00\x05"), 5}, /* padded tag */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_pb_reader r = tfd_pb_reader_of(cases[i].wire);
        struct tfd_pb_field f;

        assert_true(tfd_pb_next(&r, &f));
        assert_int_equal(f.tag, 1);
        assert_true(f.number == cases[i].number);
        assert_false(tfd_pb_next(&r, &f));
        assert_int_equal(tfd_pb_end(&r, "Message", NULL), TFD_OK);
    }
}

static void test_an_empty_message_is_whole(void **state)
{
    struct tfd_str null_view = {NULL, 0};
    int fields;

    (void)state;
    assert_int_equal(read_all(null_view, &fields, NULL), TFD_OK);
    assert_int_equal(fields, 0);
    assert_int_equal(read_all(TFD_STR("\x0a\x00"), &fields, NULL), TFD_OK);
    assert_int_equal(fields, 1);
}

static void read_as(int type, struct tfd_pb_reader *r,
                    const struct tfd_pb_field *f)
{
    switch (type) {
    case 0:
        assert_int_equal(tfd_pb_int64(r, f), 0);
        break;
    case 1:
        assert_int_equal(tfd_pb_int32(r, f), 0);
        break;
    case 2:
        assert_false(tfd_pb_bool(r, f));
        break;
    case 3:
        assert_true(tfd_pb_float(r, f) == 0);
        break;
    case 4:
        assert_true(tfd_pb_double(r, f) == 0);
        break;
    default:
        assert_int_equal(tfd_pb_str(r, f).size, 0);
    }
}

static void test_a_field_of_another_type_is_damage(void **state)
{
    static const enum tfd_pb_wire right[] = {TFD_PB_VARINT,  TFD_PB_VARINT,
                                             TFD_PB_VARINT,  TFD_PB_FIXED32,
                                             TFD_PB_FIXED64, TFD_PB_BYTES};
    static const enum tfd_pb_wire wires[] = {TFD_PB_VARINT, TFD_PB_FIXED64,
                                             TFD_PB_BYTES, TFD_PB_FIXED32};

    (void)state;
    for (int type = 0; type < 6; type++)
        for (int i = 0; i < 4; i++) {
            struct tfd_pb_reader r = tfd_pb_reader_of(TFD_STR("\x08\x01"));
            struct tfd_pb_field f = {1, wires[i], 77, TFD_STR("77")};

            if (wires[i] == right[type])
                continue;
            read_as(type, &r, &f);
            assert_int_equal(tfd_pb_end(&r, "M", NULL), TFD_INVALID_ARGUMENT);
            assert_false(tfd_pb_next(&r, &f));
        }
}

static void test_numbers_are_cut_to_their_type(void **state)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(TFD_STR_EMPTY);
    struct tfd_pb_field f = {1, TFD_PB_VARINT, UINT64_MAX, TFD_STR_EMPTY};

    (void)state;
    assert_int_equal(tfd_pb_int64(&r, &f), -1);
    assert_int_equal(tfd_pb_int32(&r, &f), -1);
    f.number = 0x1ffffffffu;
    assert_int_equal(tfd_pb_int32(&r, &f), -1);
    f.number = (uint64_t)1 << 40;
    assert_int_equal(tfd_pb_int32(&r, &f), 0);
    assert_true(tfd_pb_bool(&r, &f));
    assert_int_equal(tfd_pb_end(&r, "M", NULL), TFD_OK);
}

static void test_packed_numbers(void **state)
{
    struct tfd_str packed = TFD_STR("\x03\x8e\x02\x9e\xa7\x05");
    struct tfd_str cut = TFD_STR("\x03\x8e");
    uint64_t v = 0;

    (void)state;
    assert_true(tfd_pb_packed_varint(&packed, &v) && v == 3);
    assert_true(tfd_pb_packed_varint(&packed, &v) && v == 270);
    assert_true(tfd_pb_packed_varint(&packed, &v) && v == 86942);
    assert_false(tfd_pb_packed_varint(&packed, &v));
    assert_int_equal(packed.size, 0);

    assert_true(tfd_pb_packed_varint(&cut, &v));
    assert_false(tfd_pb_packed_varint(&cut, &v));
    assert_false(tfd_pb_packed_varint(&cut, &v));
    assert_int_equal(cut.size, 1);
}

static void test_map_entries(void **state)
{
    struct tfd_pb_entry e;

    (void)state;
    assert_true(tfd_pb_map_entry(TFD_STR("\x0a\x01T\x12\x02\x30\x01"), &e));
    assert_true(tfd_str_is(e.key, "T") && e.value.size == 2);
    /* The other way round, a number as value, and a field of the future. */
    assert_true(tfd_pb_map_entry(TFD_STR("\x10\x07\x1a\x01?\x0a\x01T"), &e));
    assert_true(tfd_str_is(e.key, "T") && e.number == 7);
    assert_true(tfd_pb_map_entry(TFD_STR("\x08\x05\x12\x03"
                                         "h:1"),
                                 &e));
    assert_true(e.key_number == 5 && tfd_str_is(e.value, "h:1"));
    assert_true(tfd_pb_map_entry(TFD_STR(""), &e));
    assert_true(e.key.size == 0 && e.value.size == 0 && e.number == 0);
}

static void test_damaged_map_entries(void **state)
{
    struct tfd_pb_entry e;

    (void)state;
    assert_false(tfd_pb_map_entry(TFD_STR("\x0a\x02T"), &e));
    assert_false(tfd_pb_map_entry(TFD_STR("\x0a\x01T\x12"), &e));
    assert_false(tfd_pb_map_entry(TFD_STR("\x0d\x01\x02\x03\x04"), &e));
    assert_false(tfd_pb_map_entry(TFD_STR("\x0b"), &e));
}

/* ---- Writing ------------------------------------------------------------- */

static void check_written(struct tfd_bytes *b, struct tfd_str wire)
{
    assert_int_equal(tfd_bytes_ok(b, "message", NULL), TFD_OK);
    assert_int_equal(b->size, wire.size);
    assert_memory_equal(b->data, wire.data, wire.size);
    tfd_bytes_deinit(b);
}

static void test_fields_are_written_as_every_encoder_does(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1000);
    tfd_pb_put_int(&b, 1, 150);
    tfd_pb_put_fixed64(&b, 2, 0x0807060504030201u);
    tfd_pb_put_str(&b, 3, TFD_STR("testing"));
    tfd_pb_put_float(&b, 4, 1.0f);
    tfd_pb_put_int_always(&b, (1u << 29) - 1, 0);
    check_written(&b, TFD_STR(EACH_TYPE));
}

static void test_defaults_are_left_out(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1000);
    tfd_pb_put_int(&b, 1, 0);
    tfd_pb_put_bool(&b, 1, false);
    tfd_pb_put_fixed64(&b, 1, 0);
    tfd_pb_put_fixed32(&b, 1, 0);
    tfd_pb_put_float(&b, 1, 0.0f);
    tfd_pb_put_double(&b, 1, 0.0);
    tfd_pb_put_str(&b, 1, TFD_STR_EMPTY);
    assert_int_equal(b.size, 0);
    tfd_pb_put_int_always(&b, 1, 0);
    tfd_pb_put_str_always(&b, 1, TFD_STR_EMPTY);
    tfd_pb_put_float(&b, 1, -0.0f); /* is none */
    check_written(&b, TFD_STR("\x08\x00\x0a\x00\x0d\x00\x00\x00\x80"));
}

static void test_numbers_read_back(void **state)
{
    static const int64_t numbers[] = {1,         127,       128,
                                      16383,     16384,     -1,
                                      INT32_MAX, INT32_MIN, (int64_t)1 << 35,
                                      INT64_MAX, INT64_MIN};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct tfd_pb_reader r;
        struct tfd_pb_field f;
        struct tfd_bytes b;

        tfd_bytes_init(&b, 11);
        tfd_pb_put_int(&b, 15, numbers[i]);
        r = tfd_pb_reader_of(tfd_bytes_view(&b));
        assert_true(tfd_pb_next(&r, &f));
        assert_true(tfd_pb_int64(&r, &f) == numbers[i]);
        assert_int_equal(tfd_pb_int32(&r, &f), (int32_t)numbers[i]);
        assert_false(tfd_pb_next(&r, &f));
        assert_int_equal(tfd_pb_end(&r, "M", NULL), TFD_OK);
        tfd_bytes_deinit(&b);
    }
}

static void test_floats_read_back(void **state)
{
    static const double numbers[] = {1.5, -0.0, INFINITY, 1e-310, 3.25e30};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct tfd_pb_reader r;
        struct tfd_pb_field f;
        struct tfd_bytes b;

        tfd_bytes_init(&b, 100);
        tfd_pb_put_double(&b, 1, numbers[i]);
        r = tfd_pb_reader_of(tfd_bytes_view(&b));
        assert_true(tfd_pb_next(&r, &f));
        assert_true(tfd_pb_double(&r, &f) == numbers[i]);
        tfd_bytes_deinit(&b);
    }
}

/* The same bytes by way of a buffer for each level. */
static void put_nested_by_copies(struct tfd_bytes *to, struct tfd_str body)
{
    struct tfd_bytes inner, outer;

    tfd_bytes_init(&inner, to->max);
    tfd_bytes_init(&outer, to->max);
    tfd_pb_put_str_always(&inner, 3, body);
    tfd_pb_put_str_always(&outer, 2, tfd_bytes_view(&inner));
    tfd_pb_put_int(&outer, 4, 4);
    tfd_pb_put_str_always(to, 1, tfd_bytes_view(&outer));
    tfd_bytes_deinit(&inner);
    tfd_bytes_deinit(&outer);
}

static void put_nested_in_place(struct tfd_bytes *to, struct tfd_str body)
{
    size_t outer = tfd_pb_begin(to, 1);
    size_t inner = tfd_pb_begin(to, 2);

    tfd_pb_put_str_always(to, 3, body);
    tfd_pb_finish(to, inner);
    tfd_pb_put_int(to, 4, 4);
    tfd_pb_finish(to, outer);
}

static void put_nested_of_about(struct tfd_bytes *to, struct tfd_str body,
                                size_t likely)
{
    size_t outer = tfd_pb_begin_large(to, 1, likely);
    size_t inner = tfd_pb_begin_large(to, 2, likely);

    tfd_pb_put_str_always(to, 3, body);
    tfd_pb_finish_large(to, inner, likely);
    tfd_pb_put_int(to, 4, 4);
    tfd_pb_finish_large(to, outer, likely);
}

/* However many bytes were expected, the message is the same. */
static void expect_same_of_about(struct tfd_str body, struct tfd_str want)
{
    static const size_t likely[] = {0, 1, 127, 128, 20000, 3 << 20};

    for (size_t i = 0; i < sizeof(likely) / sizeof(likely[0]); i++) {
        struct tfd_bytes b;

        tfd_bytes_init(&b, 4 << 20);
        tfd_bytes_add_str(&b, TFD_STR("before"));
        put_nested_of_about(&b, body, likely[i]);
        assert_int_equal(tfd_bytes_ok(&b, "message", NULL), TFD_OK);
        assert_true(tfd_str_eq(tfd_bytes_view(&b), want));
        tfd_bytes_deinit(&b);
    }
}

/* Sizes around those where a length takes one byte more. */
static void test_nested_messages_of_any_size(void **state)
{
    static const size_t sizes[] = {0,     1,     119,     120,    121,
                                   127,   128,   129,     16370,  16383,
                                   16384, 16385, 2097140, 2097152};
    static char filler[2097152];

    (void)state;
    memset(filler, 'f', sizeof(filler));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct tfd_str body = {filler, sizes[i]};
        struct tfd_bytes a, b;

        tfd_bytes_init(&a, 4 << 20);
        tfd_bytes_init(&b, 4 << 20);
        tfd_bytes_add_str(&a, TFD_STR("before"));
        tfd_bytes_add_str(&b, TFD_STR("before"));
        put_nested_in_place(&a, body);
        put_nested_by_copies(&b, body);
        assert_int_equal(tfd_bytes_ok(&a, "message", NULL), TFD_OK);
        assert_true(tfd_str_eq(tfd_bytes_view(&a), tfd_bytes_view(&b)));
        expect_same_of_about(body, tfd_bytes_view(&b));
        tfd_bytes_deinit(&a);
        tfd_bytes_deinit(&b);
    }
}

/* Whatever the maximum, the writer fails or writes all of it. */
static void test_the_maximum_is_kept_everywhere(void **state)
{
    char filler[130];
    struct tfd_str body = {filler, sizeof(filler)};
    size_t whole = 0;

    (void)state;
    memset(filler, 'f', sizeof(filler));
    for (size_t max = 0; max < 200; max++) {
        struct tfd_bytes b;
        size_t mark;

        tfd_bytes_init(&b, max);
        tfd_pb_put_int(&b, 1, -1);
        mark = tfd_pb_begin(&b, 2);
        tfd_pb_put_double(&b, 3, 1.0);
        tfd_pb_put_str(&b, 4, body);
        tfd_pb_finish(&b, mark);
        assert_true(b.size <= max);
        if (tfd_bytes_ok(&b, "m", NULL) == TFD_OK && !whole)
            whole = b.size;
        assert_int_equal(tfd_bytes_ok(&b, "m", NULL),
                         whole ? TFD_OK : TFD_RESOURCE_EXHAUSTED);
        if (whole)
            assert_int_equal(b.size, whole);
        tfd_bytes_deinit(&b);
    }
    assert_int_equal(whole, 11 + 3 + 9 + 3 + 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_come_in_order_with_their_values),
        cmocka_unit_test(test_a_message_cut_at_any_byte),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_what_other_encoders_may_write),
        cmocka_unit_test(test_an_empty_message_is_whole),
        cmocka_unit_test(test_a_field_of_another_type_is_damage),
        cmocka_unit_test(test_numbers_are_cut_to_their_type),
        cmocka_unit_test(test_packed_numbers),
        cmocka_unit_test(test_map_entries),
        cmocka_unit_test(test_damaged_map_entries),
        cmocka_unit_test(test_fields_are_written_as_every_encoder_does),
        cmocka_unit_test(test_defaults_are_left_out),
        cmocka_unit_test(test_numbers_read_back),
        cmocka_unit_test(test_floats_read_back),
        cmocka_unit_test(test_nested_messages_of_any_size),
        cmocka_unit_test(test_the_maximum_is_kept_everywhere),
    };

    return cmocka_run_group_tests_name("pbio", tests, NULL, NULL);
}
