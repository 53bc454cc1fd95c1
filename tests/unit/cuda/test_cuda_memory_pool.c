/*
 * test_cuda_memory_pool.c - cuda/device/memory_pool.c over a source that
 * counts.
 */
#include "cuda/device/memory_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB ((size_t)1 << 20)

struct source {
    size_t left;
    size_t asked[16];
    int asks, out;
};

static void *get(void *ctx, size_t size)
{
    struct source *s = ctx;
    void *at = NULL;

    assert_true(s->asks < 16);
    s->asked[s->asks++] = size;
    if (size > s->left)
        return NULL;
    at = aligned_alloc(256, (size + 255) / 256 * 256);
    assert_non_null(at);
    s->left -= size;
    s->out++;
    return at;
}

static void put(void *ctx, void *at)
{
    struct source *s = ctx;

    s->out--;
    free(at);
}

static void make_pool(struct tfd_cuda_memory_pool *p, struct source *s,
                      size_t limit, bool grows)
{
    const struct tfd_cuda_memory_pool_options o = {
        .source = {get, put, s, "GPU:0"}, .limit = limit, .grows = grows};

    tfd_cuda_memory_pool_init(p, &o);
}

static struct tfd_buffer *make(struct tfd_cuda_memory_pool *p, size_t size)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_buffer *b = tfd_cuda_memory_pool_make(p, size, &st);

    assert_non_null(b);
    assert_int_equal((uintptr_t)b->data % TFD_CUDA_CHUNK, 0);
    assert_int_equal(b->size, size);
    memset(b->data, 7, size);
    return b;
}

static struct tfd_cuda_memory_pool_stats stats(struct tfd_cuda_memory_pool *p)
{
    struct tfd_cuda_memory_pool_stats s;

    tfd_cuda_memory_pool_stats(p, &s);
    return s;
}

static void test_memory_is_taken_at_first_use_and_whole(void **state)
{
    struct source s = {.left = 64 * MIB};
    struct tfd_cuda_memory_pool p;
    struct tfd_buffer *b;

    (void)state;
    make_pool(&p, &s, 8 * MIB, false);
    assert_int_equal(s.asks, 0);
    b = make(&p, 1);
    assert_int_equal(s.asked[0], 8 * MIB);
    assert_int_equal(stats(&p).in_use, 256);
    tfd_buffer_unref(b);
    b = make(&p, 4 * MIB);
    tfd_buffer_unref(b);
    assert_int_equal(s.asks, 1);
    tfd_cuda_memory_pool_deinit(&p);
    assert_int_equal(s.out, 0);
}

static void test_growing_pool_asks_for_ever_larger_regions(void **state)
{
    struct source s = {.left = 64 * MIB};
    struct tfd_cuda_memory_pool p;
    struct tfd_buffer *a, *b, *c;

    (void)state;
    make_pool(&p, &s, 32 * MIB, true);
    a = make(&p, 100);
    b = make(&p, 3 * MIB);
    c = make(&p, 9 * MIB);
    assert_int_equal(s.asked[0], 2 * MIB);
    assert_int_equal(s.asked[1], 4 * MIB);
    assert_int_equal(s.asked[2], 16 * MIB);
    assert_int_equal(stats(&p).reserved, 22 * MIB);
    tfd_buffer_unref(a);
    tfd_buffer_unref(b);
    tfd_buffer_unref(c);
    tfd_cuda_memory_pool_deinit(&p);
}

static void test_best_fit_is_taken_and_cut(void **state)
{
    struct source s = {.left = 64 * MIB};
    struct tfd_cuda_memory_pool p;
    struct tfd_buffer *b[5];
    void *hole;

    (void)state;
    make_pool(&p, &s, MIB, false);
    b[0] = make(&p, 64 * 1024);
    b[1] = make(&p, 256);
    b[2] = make(&p, 8 * 1024);
    b[3] = make(&p, 256);
    hole = b[2]->data;
    tfd_buffer_unref(b[0]);
    tfd_buffer_unref(b[2]);
    b[2] = make(&p, 8000);
    assert_ptr_equal(b[2]->data, hole); /* and not of the larger ones */
    b[0] = make(&p, 16 * 1024);
    b[4] = make(&p, 48 * 1024);
    assert_ptr_equal((char *)b[0]->data + 16 * 1024, b[4]->data);
    for (int i = 0; i < 5; i++)
        tfd_buffer_unref(b[i]);
    assert_int_equal(stats(&p).largest_free, MIB);
    tfd_cuda_memory_pool_deinit(&p);
}

static void test_neighbours_become_one(void **state)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct source s = {.left = 64 * MIB};
    struct tfd_cuda_memory_pool p;

    (void)state;
    make_pool(&p, &s, MIB, false);
    for (size_t i = 0; i < 6; i++) {
        struct tfd_buffer *b[3] = {make(&p, 1000), make(&p, 5000),
                                   make(&p, 70000)};

        for (int j = 0; j < 3; j++)
            tfd_buffer_unref(b[orders[i][j]]);
        assert_int_equal(stats(&p).in_use, 0);
        assert_int_equal(stats(&p).largest_free, MIB);
    }
    tfd_cuda_memory_pool_deinit(&p);
}

/* Nothing overlaps and nothing is lost over many rounds. */
static void test_random_sizes_do_not_overlap(void **state)
{
    struct source s = {.left = 64 * MIB};
    struct tfd_buffer *b[64] = {NULL};
    struct tfd_cuda_memory_pool p;
    uint32_t seed = 1;

    (void)state;
    make_pool(&p, &s, 16 * MIB, true);
    for (int round = 0; round < 4000; round++) {
        int i = (int)(seed >> 8) & 63;

        seed = seed * 1664525 + 1013904223;
        if (b[i]) {
            const unsigned char *at = b[i]->data;

            assert_int_equal(at[0], i);
            assert_int_equal(at[b[i]->size - 1], i);
            tfd_buffer_unref(b[i]);
            b[i] = NULL;
        } else {
            b[i] = tfd_cuda_memory_pool_make(&p, seed % 200000 + 1, NULL);
            if (b[i])
                memset(b[i]->data, i, b[i]->size);
        }
    }
    for (int i = 0; i < 64; i++)
        tfd_buffer_unref(b[i]);
    assert_int_equal(stats(&p).in_use, 0);
    tfd_cuda_memory_pool_deinit(&p);
    assert_int_equal(s.out, 0);
}

static void test_running_out_says_what_there_is(void **state)
{
    struct source s = {.left = 64 * MIB};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_memory_pool p;
    struct tfd_buffer *b;

    (void)state;
    make_pool(&p, &s, MIB, false);
    b = make(&p, 1000 * 1024);
    assert_null(tfd_cuda_memory_pool_make(&p, 100 * 1024, &st));
    assert_int_equal(st.code, TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(st.text,
                        "OOM when allocating 102400 bytes on GPU:0: the limit "
                        "is 1048576 bytes, 1048576 are reserved, 1048576 in "
                        "use, and the largest free block has 0");
    tfd_buffer_unref(b);
    b = make(&p, 100 * 1024);
    assert_int_equal(stats(&p).failures, 1);
    tfd_buffer_unref(b);
    tfd_cuda_memory_pool_deinit(&p);
}

static void test_more_than_the_limit_asks_nobody(void **state)
{
    static const size_t sizes[] = {MIB + 1, SIZE_MAX, SIZE_MAX - 255,
                                   SIZE_MAX / 2};
    struct source s = {.left = SIZE_MAX};
    struct tfd_cuda_memory_pool p;

    (void)state;
    make_pool(&p, &s, MIB, true);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_null(tfd_cuda_memory_pool_make(&p, sizes[i], NULL));
    assert_int_equal(s.asks, 0);
    tfd_cuda_memory_pool_deinit(&p);
}

static void test_less_is_taken_where_others_were_first(void **state)
{
    struct source s = {.left = 5 * MIB};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_memory_pool p;
    struct tfd_buffer *b;

    (void)state;
    make_pool(&p, &s, 8 * MIB, false);
    b = make(&p, 4 * MIB);
    assert_true(stats(&p).reserved >= 4 * MIB);
    assert_true(stats(&p).reserved <= 5 * MIB);
    assert_null(tfd_cuda_memory_pool_make(&p, 2 * MIB, &st));
    assert_int_equal(st.code, TFD_RESOURCE_EXHAUSTED);
    tfd_buffer_unref(b);
    tfd_cuda_memory_pool_deinit(&p);
}

static void test_no_memory_at_all_is_an_error(void **state)
{
    struct source s = {.left = 0};
    struct tfd_cuda_memory_pool p;

    (void)state;
    make_pool(&p, &s, MIB, false);
    assert_null(tfd_cuda_memory_pool_make(&p, MIB, NULL));
    assert_int_equal(s.asks, 1);
    assert_null(tfd_cuda_memory_pool_make(&p, 900 * 1024, NULL));
    assert_int_equal(s.asks, 4); /* 1024, 921, 900 KiB */
    tfd_cuda_memory_pool_deinit(&p);
}

static void test_limit_below_a_chunk_gives_nothing(void **state)
{
    struct source s = {.left = MIB};
    struct tfd_cuda_memory_pool p;

    (void)state;
    make_pool(&p, &s, 255, false);
    assert_null(tfd_cuda_memory_pool_make(&p, 1, NULL));
    assert_int_equal(s.asks, 0);
    tfd_cuda_memory_pool_deinit(&p);
}

static void test_buffers_know_their_pool(void **state)
{
    struct source s = {.left = 4 * MIB};
    struct tfd_buffer *mine, *other = tfd_buffer_new(16);
    struct tfd_cuda_memory_pool p;

    (void)state;
    make_pool(&p, &s, MIB, false);
    mine = make(&p, 16);
    assert_ptr_equal(tfd_cuda_memory_pool_of(mine), &p);
    assert_null(tfd_cuda_memory_pool_of(other));
    assert_null(tfd_cuda_memory_pool_of(NULL));
    tfd_buffer_unref(mine);
    tfd_buffer_unref(other);
    tfd_cuda_memory_pool_deinit(&p);
    tfd_alloc_trim();
}

static void test_closed_pool_waits_for_its_last_buffer(void **state)
{
    struct tfd_cuda_memory_pool *p = malloc(sizeof(*p));
    struct source s = {.left = 4 * MIB};
    struct tfd_buffer *a, *b;

    (void)state;
    make_pool(p, &s, MIB, false);
    a = make(p, 16);
    b = make(p, 16);
    tfd_cuda_memory_pool_close(p);
    tfd_buffer_unref(a);
    assert_int_equal(s.out, 1);
    tfd_buffer_unref(b);
    assert_int_equal(s.out, 0);
}

static void test_closed_pool_without_buffers_is_gone(void **state)
{
    struct tfd_cuda_memory_pool *p = malloc(sizeof(*p));
    struct source s = {.left = 4 * MIB};

    (void)state;
    make_pool(p, &s, MIB, false);
    tfd_buffer_unref(make(p, 16));
    tfd_cuda_memory_pool_close(p);
    assert_int_equal(s.out, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_taken_at_first_use_and_whole),
        cmocka_unit_test(test_growing_pool_asks_for_ever_larger_regions),
        cmocka_unit_test(test_best_fit_is_taken_and_cut),
        cmocka_unit_test(test_neighbours_become_one),
        cmocka_unit_test(test_random_sizes_do_not_overlap),
        cmocka_unit_test(test_running_out_says_what_there_is),
        cmocka_unit_test(test_more_than_the_limit_asks_nobody),
        cmocka_unit_test(test_less_is_taken_where_others_were_first),
        cmocka_unit_test(test_no_memory_at_all_is_an_error),
        cmocka_unit_test(test_limit_below_a_chunk_gives_nothing),
        cmocka_unit_test(test_buffers_know_their_pool),
        cmocka_unit_test(test_closed_pool_waits_for_its_last_buffer),
        cmocka_unit_test(test_closed_pool_without_buffers_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
