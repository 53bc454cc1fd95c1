/*
 * test_cuda_lru_cache.c - cuda/device/lru_cache.c: a shape is asked for once,
 * until more others came than are kept.
 */
#include "cuda/device/lru_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LIMIT 100

/* An odd number of words, so that a value does not follow at once. */
struct shape {
    int size[5];
};

static struct shape shape_of(int i)
{
    return (struct shape){{i, 3, i / 7, 0, -i}};
}

struct rig {
    struct tfd_cuda_lru_cache memo;
    struct tfd_cuda_lru_cache_entry *last; /* of one node */
    int asked;
};

static int set_up(void **state)
{
    static struct rig rig;

    rig = (struct rig){0};
    tfd_cuda_lru_cache_init(&rig.memo, sizeof(struct shape), sizeof(double),
                            LIMIT);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    tfd_cuda_lru_cache_deinit(&((struct rig *)*state)->memo);
    return 0;
}

/* As a node does with a library that answers i + 0.5. */
static double answer(struct rig *r, struct tfd_cuda_lru_cache_entry **last,
                     int i)
{
    struct shape shape = shape_of(i);
    double *value = tfd_cuda_lru_cache_find(&r->memo, &shape, last);

    if (!value) {
        value = tfd_cuda_lru_cache_add(&r->memo, &shape, last);
        assert_non_null(value);
        assert_true(*value == 0);
        *value = i + 0.5;
        r->asked++;
    }
    assert_int_equal((uintptr_t)value % sizeof(*value), 0);
    return *value;
}

static void check(struct rig *r, int from, int to)
{
    for (int i = from; i < to; i++)
        assert_true(answer(r, &r->last, i) == i + 0.5);
}

static void test_five_shapes_are_asked_for_once_each(void **state)
{
    struct rig *r = *state;

    for (int step = 0; step < 20; step++)
        check(r, 0, 5);
    assert_int_equal(r->asked, 5);
}

static void test_as_many_as_the_limit_are_kept(void **state)
{
    struct rig *r = *state;

    check(r, 0, LIMIT);
    check(r, 0, LIMIT);
    assert_int_equal(r->asked, LIMIT);
    assert_int_equal(r->memo.count, LIMIT);
}

static void test_beyond_the_limit_what_was_not_used_longest_goes(void **state)
{
    struct rig *r = *state;

    check(r, 0, LIMIT);
    check(r, 0, 1); /* used again */
    check(r, LIMIT, LIMIT + 10);
    assert_int_equal(r->memo.count, LIMIT);
    assert_int_equal(r->asked, LIMIT + 10);
    check(r, 11, LIMIT + 10);
    check(r, 0, 1);
    assert_int_equal(r->asked, LIMIT + 10);
    check(r, 1, 11);
    assert_int_equal(r->asked, LIMIT + 20);
}

static void test_more_than_the_limit_in_turn_are_all_asked_for(void **state)
{
    struct rig *r = *state;

    for (int step = 0; step < 3; step++)
        check(r, 0, LIMIT + 1);
    assert_int_equal(r->asked, 3 * (LIMIT + 1));
    assert_int_equal(r->memo.count, LIMIT);
}

static void test_nodes_share_what_is_known(void **state)
{
    struct tfd_cuda_lru_cache_entry *others = NULL;
    struct rig *r = *state;

    assert_true(answer(r, &r->last, 7) == 7.5);
    assert_true(answer(r, &others, 7) == 7.5);
    assert_ptr_equal(r->last, others);
    assert_int_equal(r->asked, 1);
}

/* An entry that is replaced is another key's. */
static void test_what_a_node_found_last_may_be_replaced(void **state)
{
    struct tfd_cuda_lru_cache_entry *others = NULL;
    struct rig *r = *state;

    assert_true(answer(r, &others, 0) == 0.5);
    check(r, 1, LIMIT + 1); /* over it */
    assert_int_equal(r->asked, LIMIT + 1);
    assert_true(answer(r, &others, 0) == 0.5);
    assert_int_equal(r->asked, LIMIT + 2);
}

static void test_keys_that_differ_in_one_byte_are_two(void **state)
{
    struct rig *r = *state;
    struct shape a = shape_of(1), b = a;
    double *value = tfd_cuda_lru_cache_add(&r->memo, &a, &r->last);

    assert_non_null(value);
    ((char *)&b)[sizeof(b) - 1] ^= 1;
    assert_null(tfd_cuda_lru_cache_find(&r->memo, &b, &r->last));
    assert_ptr_equal(tfd_cuda_lru_cache_find(&r->memo, &a, &r->last), value);
}

static void test_an_empty_memo_knows_nothing(void **state)
{
    struct shape shape = shape_of(0);
    struct rig *r = *state;

    assert_null(tfd_cuda_lru_cache_find(&r->memo, &shape, &r->last));
    assert_null(r->last);
}

static void test_one_is_enough_of_a_limit(void **state)
{
    struct tfd_cuda_lru_cache_entry *last = NULL;
    struct tfd_cuda_lru_cache m;

    (void)state;
    tfd_cuda_lru_cache_init(&m, 1, 0, 1);
    for (char key = 'a'; key <= 'z'; key++) {
        assert_null(tfd_cuda_lru_cache_find(&m, &key, &last));
        assert_non_null(tfd_cuda_lru_cache_add(&m, &key, &last));
        assert_non_null(tfd_cuda_lru_cache_find(&m, &key, &last));
    }
    assert_int_equal(m.count, 1);
    tfd_cuda_lru_cache_deinit(&m);
}

#define WITH_MEMO(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_MEMO(test_five_shapes_are_asked_for_once_each),
        WITH_MEMO(test_as_many_as_the_limit_are_kept),
        WITH_MEMO(test_beyond_the_limit_what_was_not_used_longest_goes),
        WITH_MEMO(test_more_than_the_limit_in_turn_are_all_asked_for),
        WITH_MEMO(test_nodes_share_what_is_known),
        WITH_MEMO(test_what_a_node_found_last_may_be_replaced),
        WITH_MEMO(test_keys_that_differ_in_one_byte_are_two),
        WITH_MEMO(test_an_empty_memo_knows_nothing),
        cmocka_unit_test(test_one_is_enough_of_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
