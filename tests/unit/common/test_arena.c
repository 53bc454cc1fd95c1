/*
 * test_arena.c - common/base/arena.c: alignment, zeroes, the maximum, and what
 * a reset keeps.
 */
#include "common/base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool is_zero(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i])
            return false;
    return true;
}

static void test_pieces_are_aligned_zeroed_and_apart(void **state)
{
    struct tfd_arena a;
    char *before = NULL;

    (void)state;
    tfd_arena_init(&a, 1 << 20);
    for (size_t size = 0; size < 300; size++) {
        char *p = tfd_arena_alloc(&a, size);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_ptr_not_equal(p, before);
        assert_true(is_zero(p, size));
        memset(p, 0xff, size);
        before = p;
    }
    tfd_arena_deinit(&a);
}

static void test_pieces_survive_those_that_follow(void **state)
{
    struct tfd_arena a;
    int *number[2000];

    (void)state;
    tfd_arena_init(&a, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        number[i] = tfd_arena_alloc(&a, sizeof(int) * 10);
        *number[i] = i;
    }
    for (int i = 0; i < 2000; i++)
        assert_int_equal(*number[i], i);
    tfd_arena_deinit(&a);
}

static void test_a_piece_may_be_larger_than_a_block(void **state)
{
    struct tfd_arena a;
    char *p;

    (void)state;
    tfd_arena_init(&a, 1 << 20);
    assert_non_null(tfd_arena_alloc(&a, 10));
    p = tfd_arena_alloc(&a, 100000);
    assert_true(is_zero(p, 100000));
    assert_non_null(tfd_arena_alloc(&a, 10));
    tfd_arena_deinit(&a);
}

static void test_the_maximum_is_reached_but_not_passed(void **state)
{
    struct tfd_arena a;

    (void)state;
    tfd_arena_init(&a, 64);
    assert_non_null(tfd_arena_alloc(&a, 48));
    assert_null(tfd_arena_alloc(&a, 17));
    assert_non_null(tfd_arena_alloc(&a, 16));
    assert_int_equal(a.used, 64);
    assert_null(tfd_arena_alloc(&a, 1));
    assert_null(tfd_arena_alloc(&a, 0));
    tfd_arena_reset(&a);
    assert_null(tfd_arena_alloc(&a, 65));
    assert_non_null(tfd_arena_alloc(&a, 64));
    tfd_arena_deinit(&a);
}

static void test_absurd_sizes_do_not_wrap(void **state)
{
    static const struct {
        size_t count, size;
    } cases[] = {
        {1, SIZE_MAX},         {SIZE_MAX, 1},        {1, SIZE_MAX - 15},
        {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, SIZE_MAX}, {(size_t)1 << 60, 16},
    };
    struct tfd_arena a;

    (void)state;
    tfd_arena_init(&a, 1 << 20);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_null(tfd_arena_array(&a, cases[i].count, cases[i].size));
    assert_null(
        tfd_arena_str(&a, (struct tfd_str){"never read", SIZE_MAX}).data);
    assert_int_equal(a.used, 0);
    assert_non_null(tfd_arena_array(&a, 0, 8));
    assert_non_null(tfd_arena_array(&a, 8, 0));
    tfd_arena_deinit(&a);
}

static void test_strings_are_copied_and_terminated(void **state)
{
    struct tfd_arena a;
    char source[] = {'a', '\0', 'b', '!'};
    struct tfd_str s;

    (void)state;
    tfd_arena_init(&a, 48);
    s = tfd_arena_str(&a, (struct tfd_str){source, 3});
    memset(source, 'x', sizeof(source));
    assert_int_equal(s.size, 3);
    assert_memory_equal(s.data, "a\0b", 4);
    s = tfd_arena_str(&a, (struct tfd_str){NULL, 0});
    assert_string_equal(s.data, "");
    s = tfd_arena_str(&a, TFD_STR("sixteen bytes ..")); /* and its end */
    assert_null(s.data);
    tfd_arena_deinit(&a);
}

/* The second time every piece comes from the one block that was kept. */
static void test_after_a_reset_one_block_serves_all(void **state)
{
    struct tfd_arena a;

    (void)state;
    tfd_arena_init(&a, 1 << 20);
    for (int time = 0; time < 3; time++) {
        struct tfd_arena_block *head = a.head;

        for (int i = 0; i < 1000; i++) {
            char *p = tfd_arena_alloc(&a, 100);

            assert_true(is_zero(p, 100));
            memset(p, 0xff, 100);
        }
        if (time)
            assert_ptr_equal(a.head, head);
        tfd_arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    tfd_arena_deinit(&a);
}

static void test_an_arena_without_pieces(void **state)
{
    struct tfd_arena a;

    (void)state;
    tfd_arena_init(&a, 100);
    tfd_arena_reset(&a);
    tfd_arena_deinit(&a);
    tfd_arena_deinit(&a);
    assert_non_null(tfd_arena_alloc(&a, 1));
    tfd_arena_deinit(&a);
}

static void test_check_names_what_did_not_fit(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_arena_check(&st, "nodes", &st), TFD_OK);
    assert_int_equal(tfd_arena_check(NULL, "nodes", &st),
                     TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(st.text, "no room in the arena for nodes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_aligned_zeroed_and_apart),
        cmocka_unit_test(test_pieces_survive_those_that_follow),
        cmocka_unit_test(test_a_piece_may_be_larger_than_a_block),
        cmocka_unit_test(test_the_maximum_is_reached_but_not_passed),
        cmocka_unit_test(test_absurd_sizes_do_not_wrap),
        cmocka_unit_test(test_strings_are_copied_and_terminated),
        cmocka_unit_test(test_after_a_reset_one_block_serves_all),
        cmocka_unit_test(test_an_arena_without_pieces),
        cmocka_unit_test(test_check_names_what_did_not_fit),
    };

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
