/*
 * test_ordered_code.c - kernels/checkpoint/ordered_code.c against keys
 * TensorFlow 2.21 wrote, and its order against that of the values.
 */
#include "kernels/checkpoint/ordered_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_bytes(struct tfd_bytes *b, const char *want, size_t size)
{
    assert_false(b->failed);
    assert_int_equal(b->size, size);
    assert_memory_equal(b->data, want, size);
    tfd_bytes_clear(b);
}

#define ASSERT_BYTES(b, literal) assert_bytes(b, literal, sizeof(literal) - 1)

static void test_signed_numbers_as_tensorflow_writes_them(void **state)
{
    static const struct {
        int64_t value;
        const char *bytes;
        size_t size;
    } cases[] = {
        {0, "\x80", 1},
        {1, "\x81", 1},
        {-1, "\x7f", 1},
        {63, "\xbf", 1},
        {-64, "\x40", 1},
        {64, "\xc0\x40", 2},
        {100, "\xc0\x64", 2},
        {8191, "\xdf\xff", 2},
        {8192, "\xe0\x20\x00", 3},
        {20000, "\xe0\x4e\x20", 3},
        {1048575, "\xef\xff\xff", 3},
        {1048576, "\xf0\x10\x00\x00", 4},
        {134217727, "\xf7\xff\xff\xff", 4},
        {134217728, "\xf8\x08\x00\x00\x00", 5},
        {17179869183, "\xfb\xff\xff\xff\xff", 5},
        {17179869184, "\xfc\x04\x00\x00\x00\x00", 6},
        {2199023255552, "\xfe\x02\x00\x00\x00\x00\x00", 7},
        {281474976710656, "\xff\x01\x00\x00\x00\x00\x00\x00", 8},
        {36028797018963967, "\xff\x7f\xff\xff\xff\xff\xff\xff", 8},
        {36028797018963968, "\xff\x80\x80\x00\x00\x00\x00\x00\x00", 9},
        {4611686018427387903, "\xff\xbf\xff\xff\xff\xff\xff\xff\xff", 9},
        {4611686018427387904, "\xff\xc0\x40\x00\x00\x00\x00\x00\x00\x00", 10},
        {INT64_MAX - 1, "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xfe", 10},
        {INT64_MIN, "\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00", 10},
    };
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 64);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tfd_ordered_code_put_signed(&b, cases[i].value);
        assert_bytes(&b, cases[i].bytes, cases[i].size);
    }
    tfd_bytes_deinit(&b);
}

static void test_strings_escape_their_first_and_last_byte_values(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 64);
    tfd_ordered_code_put_str(&b, TFD_STR("p"));
    ASSERT_BYTES(&b, "p\x00\x01");
    tfd_ordered_code_put_str(&b, TFD_STR(""));
    ASSERT_BYTES(&b, "\x00\x01");
    tfd_ordered_code_put_str(&b, TFD_STR("a\0b\xff"
                                         "c"));
    ASSERT_BYTES(&b, "a\x00\xff"
                     "b\xff\x00"
                     "c\x00\x01");
    tfd_bytes_deinit(&b);
}

static void test_numbers_have_their_length_first(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 64);
    tfd_ordered_code_put_num(&b, 0);
    ASSERT_BYTES(&b, "\x00");
    tfd_ordered_code_put_num(&b, 2);
    ASSERT_BYTES(&b, "\x01\x02");
    tfd_ordered_code_put_num(&b, 0x100);
    ASSERT_BYTES(&b, "\x02\x01\x00");
    tfd_ordered_code_put_num(&b, UINT64_MAX);
    ASSERT_BYTES(&b, "\x08\xff\xff\xff\xff\xff\xff\xff\xff");
    tfd_bytes_deinit(&b);
}

static void test_order_of_bytes_is_order_of_values(void **state)
{
    struct tfd_bytes before, after;
    int64_t step[130];
    size_t n = 0;

    (void)state;
    for (int bit = 62; bit >= 0; bit--)
        step[n++] = -(1ll << bit) - 1;
    for (int bit = 0; bit <= 62; bit++)
        step[n++] = 1ll << bit;
    tfd_bytes_init(&before, 64);
    tfd_bytes_init(&after, 64);
    for (size_t i = 1; i < n; i++) {
        assert_true(step[i - 1] < step[i]);
        tfd_ordered_code_put_signed(&before, step[i - 1]);
        tfd_ordered_code_put_signed(&after, step[i]);
        assert_true(
            tfd_str_cmp(tfd_bytes_view(&before), tfd_bytes_view(&after)) < 0);
        tfd_bytes_clear(&before);
        tfd_bytes_clear(&after);
    }
    tfd_bytes_deinit(&before);
    tfd_bytes_deinit(&after);
}

static void test_a_full_buffer_is_noticed(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 3);
    tfd_ordered_code_put_str(&b, TFD_STR("ab"));
    assert_true(b.failed);
    tfd_bytes_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signed_numbers_as_tensorflow_writes_them),
        cmocka_unit_test(test_strings_escape_their_first_and_last_byte_values),
        cmocka_unit_test(test_numbers_have_their_length_first),
        cmocka_unit_test(test_order_of_bytes_is_order_of_values),
        cmocka_unit_test(test_a_full_buffer_is_noticed),
    };

    return cmocka_run_group_tests_name("ordered_code", tests, NULL, NULL);
}
