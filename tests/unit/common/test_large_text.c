/*
 * test_large_text.c - common/memory/large_text.c: what was given back is taken
 * again where it fits, nobody else has it meanwhile, and strings and growing
 * buffers are no longer than they were told to be.
 *
 * A sanitizer watches the ends of blocks, so none is kept under one.
 */
#include "common/memory/large_text.h"

#include "common/base/str.h"
#include "common/base/tstring.h"
#include "common/memory/watched.h"
#include "common/thread/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define IS_KEPT (!TFD_IS_WATCHED)
#define MB ((size_t)1 << 20)

static int drop_kept(void **state)
{
    (void)state;
    for (size_t size = TFD_LARGE_TEXT_MIN; size <= TFD_LARGE_TEXT_MAX;
         size *= 2) {
        size_t has = size;

        free(tfd_large_text_take(&has, SIZE_MAX));
    }
    return 0;
}

static void give(size_t size)
{
    char *data = malloc(size);

    assert_non_null(data);
    memset(data, 0xee, size);
    tfd_large_text_give(data, size);
}

static void test_what_fits_is_taken(void **state)
{
    static const struct {
        size_t given, asked, most;
        bool fits;
    } cases[] = {
        {4 * MB, 4 * MB, 4 * MB, true},
        {4 * MB, 4 * MB - 1, 4 * MB, true},
        {4 * MB, 4 * MB - 1, 4 * MB - 1, false},
        {4 * MB, 2 * MB, 5 * MB, true},
        {4 * MB, 2 * MB, 4 * MB - 1, false},
        {4 * MB, 4 * MB + 1, SIZE_MAX, false},
        {4 * MB, SIZE_MAX, SIZE_MAX, false},
        {4 * MB, 0, SIZE_MAX, false},
        {4 * MB, 4 * MB, 0, false},
        {MB, MB, MB, true},
        {MB - 1, MB - 1, MB, false},
        {MB + 1, MB - 1, SIZE_MAX, false},
        {64 * MB, 64 * MB, SIZE_MAX, true},
        {64 * MB, 33 * MB, 64 * MB, true},
        {64 * MB + 1, 64 * MB, SIZE_MAX, false},
        {64 * MB + 1, 64 * MB + 1, SIZE_MAX, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size = cases[i].asked;
        char *data;

        drop_kept(NULL);
        give(cases[i].given);
        data = tfd_large_text_take(&size, cases[i].most);
        assert_int_equal(data != NULL, IS_KEPT && cases[i].fits);
        assert_int_equal(size, data ? cases[i].given : cases[i].asked);
        if (data)
            memset(data, 0, size);
        free(data);
    }
}

/* The one that was given last; the other one is freed. */
static void test_one_is_kept(void **state)
{
    size_t size = 3 * MB;
    char *data;

    (void)state;
    tfd_large_text_give(NULL, 4 * MB);
    give(4 * MB);
    give(5 * MB);
    data = tfd_large_text_take(&size, SIZE_MAX);
    assert_int_equal(size, IS_KEPT ? 5 * MB : 3 * MB);
    assert_null(tfd_large_text_take(&size, SIZE_MAX));
    free(data);
}

static void test_a_string_after_another(void **state)
{
    struct tfd_tstring a = {0}, b = {0};
    struct tfd_status st = {0};
    char *text = malloc(3 * MB);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < 3 * MB; i++)
        text[i] = (char)(i * 31 + (i >> 8));
    assert_int_equal(tfd_tstring_resize(&a, 3 * MB + 99, &st), TFD_OK);
    tfd_tstring_deinit(&a);
    assert_int_equal(tfd_tstring_set(&b, (struct tfd_str){text, 3 * MB}, &st),
                     TFD_OK);
    assert_int_equal(tfd_tstring_view(&b).size, 3 * MB);
    assert_memory_equal(tfd_tstring_view(&b).data, text, 3 * MB);
    assert_int_equal(tfd_tstring_capacity(&b), 3 * MB + (IS_KEPT ? 99 : 0));
    /* More than it has: the old value goes where the next one comes from. */
    assert_int_equal(tfd_tstring_resize(&b, 5 * MB, &st), TFD_OK);
    assert_int_equal(tfd_tstring_set(&a, (struct tfd_str){text, 3 * MB}, &st),
                     TFD_OK);
    assert_memory_equal(tfd_tstring_view(&a).data, text, 3 * MB);
    tfd_tstring_deinit(&a);
    tfd_tstring_deinit(&b);
    free(text);
}

/* A string that may stay for long takes no block of much more than it needs. */
static void test_a_string_of_its_size(void **state)
{
    struct tfd_tstring a = {0};
    struct tfd_status st = {0};

    (void)state;
    give(5 * MB);
    assert_int_equal(tfd_tstring_resize(&a, 4 * MB - 4, &st), TFD_OK);
    assert_int_equal(tfd_tstring_capacity(&a), 4 * MB - 4);
    tfd_tstring_deinit(&a);
    drop_kept(NULL);
    give(5 * MB);
    assert_int_equal(tfd_tstring_resize(&a, 4 * MB, &st), TFD_OK);
    assert_int_equal(tfd_tstring_capacity(&a), IS_KEPT ? 5 * MB - 1 : 4 * MB);
    memset(tfd_tstring_room(&a), 1, tfd_tstring_capacity(&a));
    tfd_tstring_deinit(&a);
}

static void test_a_buffer_stays_within_its_maximum(void **state)
{
    struct tfd_bytes b;

    (void)state;
    for (size_t max = 3 * MB; max <= 5 * MB; max += MB) {
        drop_kept(NULL);
        give(4 * MB);
        tfd_bytes_init(&b, max);
        assert_non_null(tfd_bytes_extend(&b, 3 * MB));
        assert_true(b.capacity >= 3 * MB && b.capacity <= max);
        assert_true(!IS_KEPT || max < 4 * MB || b.capacity == 4 * MB);
        memset(b.data, 0x11, b.size);
        if (max > 3 * MB) {
            assert_non_null(tfd_bytes_extend(&b, max - 3 * MB));
            memset(b.data, 0x22, b.size);
        }
        assert_null(tfd_bytes_extend(&b, 1));
        tfd_bytes_deinit(&b);
    }
}

/* Each writes all of what it has and finds it again. */
static void trade(void *arg, int64_t begin, int64_t end)
{
    (void)arg;
    for (int64_t i = begin; i < end; i++) {
        size_t size = MB + (size_t)(i % 7) * 4096;
        char *data = tfd_large_text_take(&size, SIZE_MAX);

        if (!data)
            data = malloc(size);
        assert_non_null(data);
        memset(data, (int)(i % 251), size);
        for (size_t at = 0; at < size; at += 4099)
            assert_int_equal((unsigned char)data[at], i % 251);
        tfd_large_text_give(data, size);
    }
}

static void test_several_threads(void **state)
{
    struct tfd_pool *pool = tfd_pool_new(3, NULL);

    (void)state;
    tfd_pool_parallel(pool, 300, 10, trade, NULL);
    tfd_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_fits_is_taken, drop_kept),
        cmocka_unit_test_setup(test_one_is_kept, drop_kept),
        cmocka_unit_test_setup(test_a_string_after_another, drop_kept),
        cmocka_unit_test_setup(test_a_string_of_its_size, drop_kept),
        cmocka_unit_test_setup(test_a_buffer_stays_within_its_maximum,
                               drop_kept),
        cmocka_unit_test_setup(test_several_threads, drop_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
