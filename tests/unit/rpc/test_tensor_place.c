/*
 * test_tensor_place.c - rpc/core/tensor_place.c: the offset at which a message
 * must begin, from its first bytes; and bytes that tell nothing or lie.
 */
#include "common/base/pbio.h"
#include "rpc/core/tensor_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SIZE (1 << 20)
#define ALIGN 64

static char zeros[SIZE];

/* TensorProto{dtype, shape, content} inside `depth` messages, each with a name
 * of its own before it. */
static void write_message(struct tfd_bytes *b, int depth, const char *name)
{
    size_t marks[16];

    tfd_bytes_clear(b);
    for (int i = 0; i < depth; i++) {
        tfd_pb_put_str(b, 1, tfd_str_of(name));
        tfd_pb_put_fixed64(b, 9, 7);
        tfd_pb_put_fixed32(b, 10, 7);
        marks[i] = tfd_pb_begin(b, 2);
    }
    tfd_pb_put_int(b, 1, 1);
    tfd_pb_put_str(b, 2, TFD_STR("\x12\4\x08\x80\x80\x10"));
    tfd_pb_put_str(b, 4, (struct tfd_str){zeros, SIZE});
    for (int i = depth; i > 0; i--)
        tfd_pb_finish(b, marks[i - 1]);
}

/* Where the run of zeros begins. */
static size_t content_of(const struct tfd_bytes *b)
{
    return b->size - SIZE;
}

static void test_the_tensor_becomes_aligned(void **state)
{
    static const char *const names[] = {"x:0", "a/longer/name:0", ""};
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1 << 24);
    for (int depth = 0; depth <= 3; depth++)
        for (size_t i = 0; i < COUNT(names); i++)
            for (size_t have = 200; have < 4096; have += 333) {
                size_t start;

                write_message(&b, depth, names[i]);
                start = tfd_tensor_place((struct tfd_str){b.data, have}, b.size,
                                         ALIGN);
                assert_true(start < ALIGN);
                assert_int_equal((start + content_of(&b)) % ALIGN, 0);
            }
    tfd_bytes_deinit(&b);
}

static void test_too_few_bytes_tell_nothing(void **state)
{
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1 << 24);
    write_message(&b, 2, "name");
    for (size_t have = 0; have < content_of(&b); have++)
        assert_int_equal(
            tfd_tensor_place((struct tfd_str){b.data, have}, b.size, ALIGN), 0);
    tfd_bytes_deinit(&b);
}

static void test_other_messages_begin_at_the_beginning(void **state)
{
    static const char *const cases[] = {
        "",
        "\x22\x80\x80\x40",         /* field 4, but no dtype before */
        "\x08\x01\x2a\x80\x80\x40", /* dtype, but another field */
        "\x08\x01\x23",             /* a group */
        "\x08\x01\x26",             /* no wire type */
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", /* endless varint */
        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", /* endless length */
        "\x09",                                         /* fixed64 cut */
    };
    char deep[64];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(tfd_tensor_place(tfd_str_of(cases[i]), SIZE, ALIGN),
                         0);
    memset(deep, '\x0a', sizeof(deep)); /* messages in messages in ... */
    for (size_t i = 1; i < sizeof(deep); i += 2)
        deep[i] = '\x7f';
    assert_int_equal(
        tfd_tensor_place((struct tfd_str){deep, sizeof(deep)}, SIZE, ALIGN), 0);
}

static void test_small_messages_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(
        tfd_tensor_place(TFD_STR("\x08\1\x22\x80\x10"), 2053, ALIGN), 0);
    assert_int_equal(
        tfd_tensor_place(TFD_STR("\x08\1\x22\x80\x40"), 8197, ALIGN),
        ALIGN - 5);
}

static void test_any_bytes_give_a_small_offset(void **state)
{
    uint32_t seed = 1;
    char bytes[64];

    (void)state;
    for (int round = 0; round < 100000; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = (char)(seed >> 24);
        }
        bytes[0] = 8;
        assert_true(tfd_tensor_place((struct tfd_str){bytes, sizeof(bytes)},
                                     SIZE, ALIGN) < ALIGN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tensor_becomes_aligned),
        cmocka_unit_test(test_too_few_bytes_tell_nothing),
        cmocka_unit_test(test_other_messages_begin_at_the_beginning),
        cmocka_unit_test(test_small_messages_are_left_alone),
        cmocka_unit_test(test_any_bytes_give_a_small_offset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
