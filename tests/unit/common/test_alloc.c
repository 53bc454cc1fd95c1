/*
 * test_alloc.c - common/base/alloc.c: sizes, reuse, the sums and the two
 * limits.
 */
#include "common/base/alloc.h"

#include "common/thread/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CACHE_MAX ((size_t)1 << 20)

static struct tfd_alloc_stats stats(void)
{
    struct tfd_alloc_stats s;

    tfd_alloc_stats(&s);
    return s;
}

/* Every test starts and ends with nothing in use. */
static int setup(void **state)
{
    (void)state;
    tfd_alloc_limit(0);
    tfd_alloc_cache_limit(CACHE_MAX);
    tfd_alloc_trim();
    return stats().in_use || stats().cached;
}

static int teardown(void **state)
{
    (void)state;
    return stats().in_use != 0;
}

static void test_buffers_of_any_size_are_aligned_and_writable(void **state)
{
    static const size_t sizes[] = {
        0,   1,   63,  64,   65,      96,      97,      128,
        129, 192, 193, 4096, 1 << 20, 4 << 20, 5000001, (9 << 20) + 1,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct tfd_buffer *b = tfd_buffer_new(sizes[i]);

        assert_non_null(b);
        assert_int_equal(b->size, sizes[i]);
        assert_int_equal(b->refs, 1);
        assert_int_equal((uintptr_t)b->data % TFD_BUFFER_ALIGN, 0);
        memset(b->data, 0xff, b->size);
        assert_int_equal(stats().in_use, sizes[i]);
        tfd_buffer_unref(b);
    }
}

static void test_large_buffers_lie_alike_in_their_pages(void **state)
{
    static const size_t sizes[] = {64 << 10, (64 << 10) + 1, 100000, 256000,
                                   1 << 20,  3 << 20,        4 << 20};
    struct tfd_buffer *b[sizeof(sizes) / sizeof(sizes[0])];

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        b[i] = tfd_buffer_new(sizes[i]);
        assert_non_null(b[i]);
        assert_int_equal((uintptr_t)b[i]->data % 4096,
                         (uintptr_t)b[0]->data % 4096);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        tfd_buffer_unref(b[i]);
}

static void test_sizes_that_cannot_be(void **state)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2 + 1,
                                   SIZE_MAX / 8 + 1};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_null(tfd_buffer_new(sizes[i]));
}

static void test_a_freed_buffer_comes_back(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(1000);
    void *data = b->data;
    uint64_t allocs = stats().allocs;

    (void)state;
    tfd_buffer_unref(b);
    assert_int_equal(stats().cached, 1024);
    b = tfd_buffer_new(900); /* same class: over 768, at most 1024 */
    assert_ptr_equal(b->data, data);
    assert_int_equal(b->size, 900);
    assert_int_equal(stats().cached, 0);
    assert_int_equal(stats().allocs, allocs);
    tfd_buffer_unref(b);
}

static void test_a_steady_step_does_not_allocate(void **state)
{
    struct tfd_buffer *b[8];
    uint64_t allocs = 0;

    (void)state;
    for (int step = 0; step < 10; step++) {
        for (size_t i = 0; i < 8; i++)
            b[i] = tfd_buffer_new(i * 1000);
        for (size_t i = 0; i < 8; i++)
            tfd_buffer_unref(b[i]);
        if (step == 0)
            allocs = stats().allocs;
    }
    assert_int_equal(stats().allocs, allocs);
}

static void test_other_classes_are_not_taken(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(1024);
    uint64_t allocs = stats().allocs;

    (void)state;
    tfd_buffer_unref(b);
    b = tfd_buffer_new(1025);
    assert_int_equal(stats().allocs, allocs + 1);
    tfd_buffer_unref(b);
}

static void test_trim_gives_everything_back(void **state)
{
    (void)state;
    for (size_t size = 1; size < 100000; size = size * 3 + 1)
        tfd_buffer_unref(tfd_buffer_new(size));
    assert_true(stats().cached > 0);
    tfd_alloc_trim();
    assert_int_equal(stats().cached, 0);
}

static void test_the_cache_stays_below_its_limit(void **state)
{
    struct tfd_buffer *b[64];

    (void)state;
    for (int i = 0; i < 64; i++)
        b[i] = tfd_buffer_new(65536);
    for (int i = 0; i < 64; i++) {
        tfd_buffer_unref(b[i]);
        assert_true(stats().cached <= CACHE_MAX);
    }
    assert_int_equal(stats().cached, CACHE_MAX);
    tfd_alloc_cache_limit(CACHE_MAX / 2);
    assert_int_equal(stats().cached, CACHE_MAX / 2);
    tfd_alloc_cache_limit(0);
    assert_int_equal(stats().cached, 0);
    tfd_buffer_unref(tfd_buffer_new(64));
    assert_int_equal(stats().cached, 0);
}

static void test_a_buffer_larger_than_the_cache_is_not_kept(void **state)
{
    (void)state;
    tfd_buffer_unref(tfd_buffer_new(64));
    tfd_buffer_unref(tfd_buffer_new(CACHE_MAX + 1));
    assert_int_equal(stats().cached, 64);
}

/* A full cache of one size must not keep out another for ever. */
static void test_sizes_nobody_wants_make_way(void **state)
{
    struct tfd_buffer *b;
    uint64_t allocs;

    (void)state;
    tfd_buffer_unref(tfd_buffer_new(CACHE_MAX));
    assert_int_equal(stats().cached, CACHE_MAX);
    tfd_buffer_unref(tfd_buffer_new(128));
    allocs = stats().allocs;
    b = tfd_buffer_new(128);
    assert_int_equal(stats().allocs, allocs);
    tfd_buffer_unref(b);
}

static void test_the_limit_is_on_what_is_in_use(void **state)
{
    struct tfd_buffer *a, *b;

    (void)state;
    tfd_alloc_limit(1000);
    a = tfd_buffer_new(600);
    assert_non_null(a);
    assert_null(tfd_buffer_new(401));
    b = tfd_buffer_new(400);
    assert_non_null(b);
    assert_null(tfd_buffer_new(1));
    tfd_buffer_unref(a);
    assert_null(tfd_buffer_new(601));
    tfd_buffer_unref(b);
    assert_null(tfd_buffer_new(SIZE_MAX / 8));
}

static void test_cached_buffers_make_way_for_the_limit(void **state)
{
    struct tfd_buffer *b;

    (void)state;
    tfd_buffer_unref(tfd_buffer_new(4096));
    tfd_alloc_limit(5000);
    b = tfd_buffer_new(2000);
    assert_non_null(b);
    assert_int_equal(stats().cached, 0);
    tfd_buffer_unref(b);
}

/* Filled altogether, in part or not at all; sizes that are those of a class and
 * sizes in between. */
static void test_the_sum_of_the_cache_is_exact(void **state)
{
    (void)state;
    tfd_alloc_cache_limit((size_t)64 << 20);
    for (int round = 0; round < 3; round++)
        for (size_t size = 1; size < 1 << 20; size += size / 3 + 1) {
            struct tfd_buffer *whole = tfd_buffer_new_empty(size);
            struct tfd_buffer *part = tfd_buffer_new_empty(size);
            struct tfd_buffer *none = tfd_buffer_new_in_pages(size);

            assert_true(whole && part && none);
            assert_true(tfd_buffer_charge(whole, size / 2));
            assert_true(tfd_buffer_charge(whole, size));
            assert_true(tfd_buffer_charge(part, size / 3));
            assert_int_equal(stats().in_use, size + size / 3);
            tfd_buffer_unref(none);
            tfd_buffer_unref(whole);
            tfd_buffer_unref(part);
            assert_int_equal(stats().in_use, 0);
        }
    assert_true(stats().cached > 0);
    tfd_alloc_trim();
    assert_int_equal(stats().cached, 0);
}

/* What could not be charged still counts as kept for reuse. */
static void test_a_refused_charge_changes_no_sum(void **state)
{
    struct tfd_buffer *b;

    (void)state;
    tfd_buffer_unref(tfd_buffer_new(1000));
    b = tfd_buffer_new_empty(1000);
    assert_int_equal(stats().cached, 1024);
    tfd_alloc_limit(500);
    assert_false(tfd_buffer_charge(b, 600));
    assert_int_equal(stats().cached, 1024);
    assert_int_equal(stats().in_use, 0);
    tfd_alloc_limit(0);
    assert_true(tfd_buffer_charge(b, 600));
    assert_int_equal(stats().cached, 424);
    tfd_buffer_unref(b);
    assert_int_equal(stats().cached, 1024);
    tfd_alloc_trim();
    assert_int_equal(stats().cached, 0);
}

static void test_the_peak_remembers(void **state)
{
    struct tfd_buffer *b = tfd_buffer_new(20 << 20);
    size_t peak = stats().peak;

    (void)state;
    assert_true(peak >= 20 << 20);
    tfd_buffer_unref(b);
    assert_int_equal(stats().peak, peak);
}

static void test_a_slice_shows_and_keeps_its_parent(void **state)
{
    struct tfd_buffer *parent = tfd_buffer_new(100);
    struct tfd_buffer *slice, *inner, *empty;

    (void)state;
    memcpy((char *)parent->data + 10, "0123456789", 10);
    slice = tfd_buffer_slice(parent, 10, 10);
    inner = tfd_buffer_slice(slice, 5, 5);
    empty = tfd_buffer_slice(parent, 100, 0);
    assert_int_equal(stats().in_use, 100);
    assert_false(tfd_buffer_sole(parent));
    tfd_buffer_unref(parent);
    tfd_buffer_unref(slice);
    tfd_buffer_unref(empty);
    assert_int_equal(inner->size, 5);
    assert_memory_equal(inner->data, "56789", 5);
    assert_int_equal(stats().in_use, 100);
    tfd_buffer_unref(inner);
    assert_int_equal(stats().in_use, 0);
}

static void test_a_slice_of_a_slice_keeps_the_whole(void **state)
{
    struct tfd_buffer *parent = tfd_buffer_new(100);
    struct tfd_buffer *slice = tfd_buffer_slice(parent, 10, 50);
    struct tfd_buffer *inner = tfd_buffer_slice(slice, 5, 20);

    (void)state;
    assert_true(tfd_buffer_sole(slice));
    assert_ptr_equal(inner->data, (char *)parent->data + 15);
    assert_true(tfd_buffer_is_slice(slice) && tfd_buffer_is_slice(inner));
    assert_false(tfd_buffer_is_slice(parent));
    assert_false(tfd_buffer_is_small_slice(parent));
    assert_false(tfd_buffer_is_small_slice(slice)); /* half */
    assert_true(tfd_buffer_is_small_slice(inner));
    tfd_buffer_unref(parent);
    tfd_buffer_unref(slice);
    memset(inner->data, 1, inner->size);
    tfd_buffer_unref(inner);
    assert_int_equal(stats().in_use, 0);
}

static void churn(void *arg, int64_t begin, int64_t end)
{
    struct tfd_buffer *shared = arg;

    for (int64_t i = begin; i < end; i++) {
        struct tfd_buffer *b = tfd_buffer_new((size_t)(i * 97 % 3000));
        struct tfd_buffer *slice = tfd_buffer_slice(shared, 8, 8);

        memset(b->data, (int)i, b->size);
        tfd_buffer_unref(slice);
        tfd_buffer_unref(tfd_buffer_ref(b));
        tfd_buffer_unref(b);
        if (i % 512 == 0)
            tfd_alloc_trim();
    }
}

static void test_threads_may_do_all_of_it_at_once(void **state)
{
    struct tfd_pool *p = tfd_pool_new(4, NULL);
    struct tfd_buffer *shared = tfd_buffer_new(64);

    (void)state;
    tfd_alloc_cache_limit(4096);
    tfd_pool_parallel(p, 20000, 1, churn, shared);
    tfd_pool_free(p);
    assert_true(tfd_buffer_sole(shared));
    tfd_buffer_unref(shared);
    tfd_alloc_trim();
    assert_int_equal(stats().cached, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_buffers_of_any_size_are_aligned_and_writable),
        TEST(test_large_buffers_lie_alike_in_their_pages),
        TEST(test_sizes_that_cannot_be),
        TEST(test_a_freed_buffer_comes_back),
        TEST(test_a_steady_step_does_not_allocate),
        TEST(test_other_classes_are_not_taken),
        TEST(test_trim_gives_everything_back),
        TEST(test_the_cache_stays_below_its_limit),
        TEST(test_a_buffer_larger_than_the_cache_is_not_kept),
        TEST(test_sizes_nobody_wants_make_way),
        TEST(test_the_limit_is_on_what_is_in_use),
        TEST(test_cached_buffers_make_way_for_the_limit),
        TEST(test_the_sum_of_the_cache_is_exact),
        TEST(test_a_refused_charge_changes_no_sum),
        TEST(test_the_peak_remembers),
        TEST(test_a_slice_shows_and_keeps_its_parent),
        TEST(test_a_slice_of_a_slice_keeps_the_whole),
        TEST(test_threads_may_do_all_of_it_at_once),
    };

    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
