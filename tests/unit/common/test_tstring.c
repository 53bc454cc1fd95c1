/*
 * test_tstring.c - elements of string tensors: TensorFlow's layout, and values
 * around the length that an element keeps within itself.
 */
#include "common/base/tstring.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct tfd_str null_view = {NULL, 0};
static const size_t lengths[] = {0, 1, 2, 7, 8, 21, 22, 23, 24, 25, 63, 1000};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char letters[1001];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(letters); i++)
        letters[i] = (char)(i * 7 + i / 251);
    return 0;
}

static struct tfd_str text_of(size_t size)
{
    return (struct tfd_str){letters + sizeof(letters) - 1 - size, size};
}

static void check(const struct tfd_tstring *t, struct tfd_str want)
{
    assert_true(tfd_str_eq(tfd_tstring_view(t), want));
    assert_non_null(tfd_tstring_view(t).data);
}

static void test_the_layout_is_tensorflows(void **state)
{
    static const unsigned char abc[] = {12, 'a', 'b', 'c'};
    struct tfd_tstring t = {0};
    size_t word[3];

    (void)state;
    check(&t, TFD_STR(""));
    assert_int_equal(tfd_tstring_set(&t, TFD_STR("abc"), NULL), TFD_OK);
    assert_memory_equal(&t, abc, sizeof(abc));
    assert_int_equal(tfd_tstring_set(&t, text_of(23), NULL), TFD_OK);
    memcpy(word, &t, sizeof(word));
    assert_int_equal(word[0], 23 * 4 + 1);
    assert_true(word[1] >= 23);
    assert_memory_equal((char *)word[2], text_of(23).data, 23);
    tfd_tstring_deinit(&t);
    tfd_tstring_borrow(&t, TFD_STR("lent"));
    memcpy(word, &t, sizeof(word));
    assert_int_equal(word[0], 4 * 4 + 3);
    tfd_tstring_deinit(&t);
    check(&t, TFD_STR(""));
}

static void test_any_bytes_after_any_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (size_t j = 0; j < COUNT(lengths); j++) {
            struct tfd_tstring t = {0}, copy = {0}, moved;

            assert_int_equal(tfd_tstring_set(&t, text_of(lengths[i]), NULL),
                             TFD_OK);
            assert_int_equal(tfd_tstring_copy(&copy, &t, NULL), TFD_OK);
            assert_int_equal(tfd_tstring_set(&t, text_of(lengths[j]), NULL),
                             TFD_OK);
            assert_true(tfd_tstring_capacity(&t) >= lengths[j]);
            check(&copy, text_of(lengths[i]));
            check(&t, text_of(lengths[j]));
            moved = t;
            assert_int_equal(tfd_tstring_copy(&copy, &moved, NULL), TFD_OK);
            check(&copy, text_of(lengths[j]));
            tfd_tstring_deinit(&moved);
            tfd_tstring_deinit(&copy);
        }
}

static void test_a_part_of_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (size_t from = 0; from < lengths[i]; from += 3) {
            size_t size = (lengths[i] - from) / 2;
            struct tfd_str part = {text_of(lengths[i]).data + from, size};
            struct tfd_tstring t = {0};

            assert_int_equal(tfd_tstring_set(&t, text_of(lengths[i]), NULL),
                             TFD_OK);
            assert_int_equal(
                tfd_tstring_set(
                    &t,
                    (struct tfd_str){tfd_tstring_view(&t).data + from, size},
                    NULL),
                TFD_OK);
            check(&t, part);
            tfd_tstring_deinit(&t);
        }
}

static void test_no_bytes_may_be_anywhere(void **state)
{
    struct tfd_tstring t = {0};

    (void)state;
    assert_int_equal(tfd_tstring_set(&t, null_view, NULL), TFD_OK);
    check(&t, TFD_STR(""));
    tfd_tstring_borrow(&t, null_view);
    check(&t, TFD_STR(""));
    tfd_tstring_take(&t, NULL, 0, 0);
    check(&t, TFD_STR(""));
    assert_int_equal(tfd_tstring_set(&t, text_of(63), NULL), TFD_OK);
    assert_int_equal(tfd_tstring_set(&t, null_view, NULL), TFD_OK);
    check(&t, TFD_STR(""));
    tfd_tstring_deinit(&t);
    tfd_tstring_deinit(&t);
}

static void test_what_is_borrowed_is_not_written(void **state)
{
    static const size_t sizes[] = {1, 22, 40};
    char constant[41] = "a constant of more than twenty-two bytes";

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct tfd_tstring t = {0};

        tfd_tstring_borrow(&t, (struct tfd_str){constant, 40});
        assert_ptr_equal(tfd_tstring_view(&t).data, constant);
        assert_int_equal(tfd_tstring_capacity(&t), 0);
        assert_int_equal(tfd_tstring_resize(&t, sizes[i], NULL), TFD_OK);
        memset(tfd_tstring_room(&t), '!', sizes[i]);
        assert_string_equal(constant,
                            "a constant of more than twenty-two bytes");
        tfd_tstring_deinit(&t);
        tfd_tstring_borrow(&t, (struct tfd_str){constant, 40});
        assert_int_equal(
            tfd_tstring_set(&t, (struct tfd_str){constant + 2, sizes[i] - 1},
                            NULL),
            TFD_OK);
        check(&t, (struct tfd_str){constant + 2, sizes[i] - 1});
        tfd_tstring_deinit(&t);
    }
}

static void test_what_is_taken_is_freed(void **state)
{
    struct tfd_tstring t = {0};
    char *data = malloc(5);

    (void)state;
    assert_non_null(data);
    memcpy(data, "taken", 5);
    assert_int_equal(tfd_tstring_set(&t, text_of(63), NULL), TFD_OK);
    tfd_tstring_take(&t, data, 5, 5);
    assert_ptr_equal(tfd_tstring_view(&t).data, data);
    check(&t, TFD_STR("taken"));
    assert_int_equal(tfd_tstring_capacity(&t), 4);
    assert_int_equal(tfd_tstring_set(&t, text_of(5), NULL), TFD_OK);
    check(&t, text_of(5));
    assert_true(tfd_tstring_capacity(&t) >= 5);
    tfd_tstring_deinit(&t);
}

static void test_resize_gives_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct tfd_tstring t = {0};

        assert_int_equal(tfd_tstring_resize(&t, lengths[i], NULL), TFD_OK);
        memset(tfd_tstring_room(&t), 'x', lengths[i]);
        assert_int_equal(tfd_tstring_view(&t).size, lengths[i]);
        assert_int_equal(tfd_tstring_resize(&t, 0, NULL), TFD_OK);
        check(&t, TFD_STR(""));
        tfd_tstring_deinit(&t);
    }
}

/* TensorFlow's inline functions end what fills the capacity with a zero. */
static void test_a_byte_is_behind_the_capacity(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct tfd_tstring t = {0};
        size_t capacity;

        assert_int_equal(tfd_tstring_set(&t, text_of(lengths[i]), NULL),
                         TFD_OK);
        capacity = tfd_tstring_capacity(&t);
        assert_true(capacity >= lengths[i]);
        if (tfd_tstring_kind_of(&t) == TFD_TSTRING_LARGE)
            assert_true(malloc_usable_size(t.u.large.data) > capacity);
        tfd_tstring_room(&t)[capacity] = 0;
        check(&t, text_of(lengths[i]));
        tfd_tstring_deinit(&t);
    }
}

static void test_without_memory_the_old_value_stays(void **state)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (SIZE_MAX >> 2) + 1};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_tstring t = {0};

        assert_int_equal(tfd_tstring_set(&t, TFD_STR("old"), NULL), TFD_OK);
        assert_int_equal(tfd_tstring_resize(&t, sizes[i], &st),
                         TFD_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(st.text, "no memory for a string of"));
        check(&t, TFD_STR("old"));
        tfd_tstring_deinit(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_layout_is_tensorflows),
        cmocka_unit_test(test_any_bytes_after_any_others),
        cmocka_unit_test(test_a_part_of_itself),
        cmocka_unit_test(test_no_bytes_may_be_anywhere),
        cmocka_unit_test(test_what_is_borrowed_is_not_written),
        cmocka_unit_test(test_what_is_taken_is_freed),
        cmocka_unit_test(test_resize_gives_room),
        cmocka_unit_test(test_a_byte_is_behind_the_capacity),
        cmocka_unit_test(test_without_memory_the_old_value_stays),
    };

    return cmocka_run_group_tests_name("tstring", tests, setup, NULL);
}
