/*
 * test_map.c - common/base/map.c, against a plain array that does the same.
 */
#include "common/base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_put_get_remove(void **state)
{
    struct tfd_map m;
    uintptr_t v = 42;

    (void)state;
    tfd_map_init(&m);
    assert_true(tfd_map_put(&m, TFD_STR("a"), 1));
    assert_true(tfd_map_put(&m, TFD_STR("b"), 2));
    assert_true(tfd_map_get(&m, TFD_STR("a"), &v) && v == 1);
    assert_true(tfd_map_get(&m, TFD_STR("b"), &v) && v == 2);
    assert_true(tfd_map_remove(&m, TFD_STR("a")));
    assert_false(tfd_map_get(&m, TFD_STR("a"), &v));
    assert_int_equal(v, 2);
    assert_int_equal(m.count, 1);
    tfd_map_deinit(&m);
}

static void test_what_is_not_there(void **state)
{
    const struct tfd_map_entry *e;
    struct tfd_map m;
    uintptr_t v = 42;
    size_t at = 0;

    (void)state;
    tfd_map_init(&m);
    assert_false(tfd_map_get(&m, TFD_STR("a"), &v));
    assert_false(tfd_map_remove(&m, TFD_STR("a")));
    assert_false(tfd_map_next(&m, &at, &e));
    assert_true(tfd_map_put(&m, TFD_STR("a"), 1));
    assert_false(tfd_map_get(&m, TFD_STR(""), &v));
    assert_false(tfd_map_get(&m, TFD_STR("aa"), &v));
    assert_false(tfd_map_remove(&m, TFD_STR("b")));
    assert_true(tfd_map_remove(&m, TFD_STR("a")));
    assert_false(tfd_map_remove(&m, TFD_STR("a")));
    assert_int_equal(v, 42);
    tfd_map_deinit(&m);
}

static void test_a_second_put_replaces_the_value_not_the_key(void **state)
{
    char first[] = "key", second[] = "key";
    const struct tfd_map_entry *e = NULL;
    struct tfd_map m;
    size_t at = 0;

    (void)state;
    tfd_map_init(&m);
    assert_true(tfd_map_put(&m, tfd_str_of(first), 1));
    assert_true(tfd_map_put(&m, tfd_str_of(second), 2));
    assert_int_equal(m.count, 1);
    assert_true(tfd_map_next(&m, &at, &e));
    assert_ptr_equal(e->key.data, first);
    assert_int_equal(e->value, 2);
    assert_false(tfd_map_next(&m, &at, &e));
    tfd_map_deinit(&m);
}

static void test_the_empty_key_is_a_key(void **state)
{
    struct tfd_str null_view = {NULL, 0};
    struct tfd_map m;
    uintptr_t v;

    (void)state;
    tfd_map_init(&m);
    assert_true(tfd_map_put(&m, null_view, 7));
    assert_true(tfd_map_get(&m, TFD_STR_EMPTY, &v) && v == 7);
    assert_true(tfd_map_get(&m, null_view, &v) && v == 7);
    assert_true(tfd_map_remove(&m, TFD_STR_EMPTY));
    assert_int_equal(m.count, 0);
    tfd_map_deinit(&m);
}

static void test_keys_may_contain_any_byte(void **state)
{
    struct tfd_str a = {"x\0a", 3}, b = {"x\0b", 3};
    struct tfd_map m;
    uintptr_t v;

    (void)state;
    tfd_map_init(&m);
    assert_true(tfd_map_put(&m, a, 1) && tfd_map_put(&m, b, 2));
    assert_true(tfd_map_get(&m, a, &v) && v == 1);
    assert_true(tfd_map_get(&m, b, &v) && v == 2);
    tfd_map_deinit(&m);
}

#define KEYS 500

static void compare(const struct tfd_map *m, char key[][16],
                    const uintptr_t *model)
{
    const struct tfd_map_entry *e;
    size_t at = 0, seen = 0, expected = 0;

    for (int i = 0; i < KEYS; i++) {
        uintptr_t v = 0;
        bool there = tfd_map_get(m, tfd_str_of(key[i]), &v);

        assert_int_equal(there, model[i] != 0);
        assert_true(v == model[i]);
        expected += model[i] != 0;
    }
    while (tfd_map_next(m, &at, &e)) {
        assert_true(e->value != 0);
        seen++;
    }
    assert_int_equal(seen, expected);
    assert_int_equal(m->count, expected);
}

/* Gaps of all kinds come and go, around the end of the table as well. */
static void test_any_order_of_puts_and_removals(void **state)
{
    static char key[KEYS][16];
    static uintptr_t model[KEYS];
    struct tfd_map m;
    uint32_t random = 1;

    (void)state;
    for (int i = 0; i < KEYS; i++)
        snprintf(key[i], sizeof(key[i]), "k%d", i);
    tfd_map_init(&m);
    for (uint32_t round = 1; round <= 20000; round++) {
        /* Fills up to all keys, then empties, then fills again. */
        bool put = (random >> 8) % 10 < (round / 4000 % 2 ? 3 : 7);
        uint32_t i;

        random = random * 1664525u + 1013904223u;
        i = (random >> 16) % KEYS;
        if (put)
            assert_true(tfd_map_put(&m, tfd_str_of(key[i]), round));
        else
            assert_int_equal(tfd_map_remove(&m, tfd_str_of(key[i])),
                             model[i] != 0);
        model[i] = put ? round : 0;
        if (round % 500 == 0)
            compare(&m, key, model);
    }
    tfd_map_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_get_remove),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_a_second_put_replaces_the_value_not_the_key),
        cmocka_unit_test(test_the_empty_key_is_a_key),
        cmocka_unit_test(test_keys_may_contain_any_byte),
        cmocka_unit_test(test_any_order_of_puts_and_removals),
    };

    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
