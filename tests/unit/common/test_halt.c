/*
 * test_halt.c - common/thread/halt.h, and who looks at it: loops of the pool,
 * copies of elements, new tensors of strings.
 */
#include "common/thread/halt.h"

#include "common/base/alloc.h"
#include "common/thread/pool.h"
#include "kernels/core/element.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int stop; /* atomic */

/* ---- Loops --------------------------------------------------------------- */

struct loop {
    int64_t stop_at; /* elements */
    int64_t done;    /* atomic */
};

static void count_range(void *arg, int64_t begin, int64_t end)
{
    struct loop *l = arg;

    if (__atomic_add_fetch(&l->done, end - begin, __ATOMIC_RELAXED) >=
        l->stop_at)
        __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
}

#define MANY (INT64_C(1) << 40)
#define GRAIN 1000
/* What may be under way on each thread when it is told to stop. */
#define SLACK (INT64_C(1) << 20)

static void test_a_loop_ends_early_on_every_thread(void **state)
{
    (void)state;
    for (int threads = 0; threads < 4; threads++) {
        struct tfd_pool *p = threads ? tfd_pool_new(threads, NULL) : NULL;
        struct loop l = {10000000, 0};

        stop = 0;
        tfd_halt_at(&stop);
        tfd_pool_parallel(p, MANY, GRAIN, count_range, &l);
        assert_in_range(l.done, l.stop_at,
                        l.stop_at + (threads + 1) * SLACK +
                            MANY / 64 * (threads > 0));
        assert_true(tfd_halted());
        tfd_halt_at(NULL);
        assert_false(tfd_halted());
        if (p)
            tfd_pool_free(p);
    }
}

static void test_a_loop_that_nobody_may_halt_is_whole(void **state)
{
    struct tfd_pool *p = tfd_pool_new(2, NULL);
    struct loop l = {1, 0};

    (void)state;
    stop = 0;
    tfd_pool_parallel(p, 100000000, GRAIN, count_range, &l);
    assert_int_equal(l.done, 100000000);
    /* Nor do helpers keep what an earlier caller told them. */
    stop = 0;
    l.done = 0;
    tfd_halt_at(&stop);
    tfd_pool_parallel(p, 100000000, GRAIN, count_range, &l);
    tfd_halt_at(NULL);
    l.done = 0;
    tfd_pool_parallel(p, 100000000, GRAIN, count_range, &l);
    assert_int_equal(l.done, 100000000);
    tfd_pool_free(p);
}

/* ---- Elements ------------------------------------------------------------ */

#define SIZE (3 * TFD_HALT_BLOCK_SIZE)
static uint8_t from[SIZE], to[SIZE];

static void test_elements_are_left_as_they_were(void **state)
{
    static const int stopped = 1;
    static const uint8_t seven = 7;

    (void)state;
    memset(to, 1, SIZE);
    tfd_halt_at(&stopped);
    assert_int_equal(tfd_elements_copy(TFD_UINT8, to, from, SIZE, NULL),
                     TFD_OK);
    assert_int_equal(tfd_elements_fill(TFD_UINT8, to, &seven, SIZE, NULL),
                     TFD_OK);
    assert_int_equal(
        tfd_elements_gather(TFD_UINT8, to, from, 2, SIZE / 2, NULL), TFD_OK);
    tfd_elements_zero(TFD_UINT8, to, SIZE);
    tfd_halt_clear(to, SIZE);
    tfd_halt_at(NULL);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(to[i], 1);
}

static void test_blocks_make_the_whole(void **state)
{
    static const uint8_t seven = 7;

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        from[i] = (uint8_t)(i * 31 >> 4);
    stop = 0;
    tfd_halt_at(&stop);
    assert_int_equal(tfd_elements_copy(TFD_UINT8, to, from, SIZE, NULL),
                     TFD_OK);
    assert_memory_equal(to, from, SIZE);
    assert_int_equal(
        tfd_elements_gather(TFD_UINT16, to, from, 2, SIZE / 4, NULL), TFD_OK);
    for (size_t i = 0; i < SIZE / 4; i++)
        assert_memory_equal(to + 2 * i, from + 4 * i, 2);
    assert_int_equal(tfd_elements_fill(TFD_UINT8, to, &seven, SIZE, NULL),
                     TFD_OK);
    assert_true(to[0] == 7 && to[SIZE / 2] == 7 && to[SIZE - 1] == 7);
    tfd_elements_zero(TFD_DOUBLE, to, SIZE / 8);
    assert_true(to[0] == 0 && to[SIZE / 2] == 0 && to[SIZE - 1] == 0);
    memset(to, 1, SIZE);
    tfd_halt_clear(to, SIZE - 1);
    assert_true(to[0] == 0 && to[SIZE / 2] == 0 && to[SIZE - 2] == 0);
    assert_true(to[SIZE - 1] == 1);
    tfd_halt_at(NULL);
}

/* ---- Tensors ------------------------------------------------------------- */

static void test_half_made_strings_are_no_tensor(void **state)
{
    static const int stopped = 1;
    const struct tfd_shape small = {1, {4}}, large = {1, {4000000}};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_alloc_stats stats;

    (void)state;
    tfd_halt_at(&stopped);
    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &large, &st),
                     TFD_CANCELLED);
    assert_string_equal(st.text, "the step has ended");
    assert_null(t.buffer);
    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &small, NULL), TFD_OK);
    tfd_halt_at(NULL);
    tfd_tensor_unref(&t);
    tfd_alloc_stats(&stats);
    assert_int_equal(stats.in_use, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loop_ends_early_on_every_thread),
        cmocka_unit_test(test_a_loop_that_nobody_may_halt_is_whole),
        cmocka_unit_test(test_elements_are_left_as_they_were),
        cmocka_unit_test(test_blocks_make_the_whole),
        cmocka_unit_test(test_half_made_strings_are_no_tensor),
    };

    return cmocka_run_group_tests_name("halt", tests, NULL, NULL);
}
