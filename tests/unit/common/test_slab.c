/*
 * test_slab.c - common/memory/slab.c: blocks of every size begin on a page, do
 * not meet, keep what is written into them, and go back to the system.
 */
#define _GNU_SOURCE 1 /* mincore() */
#include "common/memory/slab.h"

#include "common/thread/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define BLOCKS 100
#define PAGE 4096

struct owned {
    unsigned char *data;
    size_t size;
    unsigned char mark;
};

static void take(struct owned *o, size_t size, unsigned char mark)
{
    *o = (struct owned){tfd_slab_take(size), size, mark};
    assert_non_null(o->data);
    assert_int_equal((uintptr_t)o->data % PAGE, 0);
    memset(o->data, mark, size);
}

static void give(struct owned *o)
{
    for (size_t i = 0; i < o->size; i += 61)
        assert_int_equal(o->data[i], o->mark);
    assert_int_equal(o->data[o->size - 1], o->mark);
    tfd_slab_give(o->data);
    o->data = NULL;
}

/* Sizes from the least to the largest, some of whole pages. */
static size_t size_of(int i)
{
    const size_t most = TFD_SLAB_BLOCK_MAX - TFD_SLAB_BLOCK_MIN;

    return TFD_SLAB_BLOCK_MIN +
           (i % 3 ? (size_t)i * 7919 % most : (size_t)i % 10 * (most / 9));
}

static void test_every_size(void **state)
{
    static struct owned o[BLOCKS];

    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        take(&o[i], size_of(i), (unsigned char)(i + 1));
    for (int i = 0; i < BLOCKS; i++)
        give(&o[i * 37 % BLOCKS]);
}

/* Many of one size fill several slabs; what is given back is taken again. */
static void test_one_size(void **state)
{
    static struct owned o[BLOCKS];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = round ? 1 : 0; i < BLOCKS; i += round ? 2 : 1)
            take(&o[i], TFD_SLAB_BLOCK_MIN + 64, (unsigned char)(i + round));
        for (int i = 1; i < BLOCKS; i += 2)
            give(&o[i]);
    }
    for (int i = 0; i < BLOCKS; i += 2)
        give(&o[i]);
}

static void test_the_ends(void **state)
{
    struct owned least, most;

    (void)state;
    take(&least, TFD_SLAB_BLOCK_MIN, 1);
    take(&most, TFD_SLAB_BLOCK_MAX, 2);
    give(&least);
    give(&most);
}

/* Another block of the slab stays, but the pages are the system's again: what
 * is taken next is zero.  After the last block nothing is mapped. */
static void test_what_goes_back(void **state)
{
    const size_t size = 300 << 10;
    unsigned char core[1];
    unsigned char *where;
    struct owned a, b;

    (void)state;
    take(&a, size, 1);
    take(&b, size, 2);
    where = b.data;
    give(&b);
    b.data = tfd_slab_take(size);
    assert_ptr_equal(b.data, where);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(b.data[i], 0);
    tfd_slab_give(b.data);
    give(&a);
    assert_int_equal(mincore(where, PAGE, core), -1);
}

static void churn(void *arg, int64_t begin, int64_t end)
{
    struct owned o[8] = {{0}};

    (void)arg;
    for (int64_t i = begin * 200; i < end * 200; i++) {
        struct owned *one = &o[i * 5 % 8];

        if (one->data)
            give(one);
        take(one, size_of((int)(i % 40)), (unsigned char)i);
    }
    for (int i = 0; i < 8; i++)
        if (o[i].data)
            give(&o[i]);
}

static void test_threads(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_pool *pool = tfd_pool_new(4, &st);

    (void)state;
    assert_non_null(pool);
    tfd_pool_parallel(pool, 8, 1, churn, NULL);
    tfd_pool_free(pool);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size),     cmocka_unit_test(test_one_size),
        cmocka_unit_test(test_the_ends),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_what_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
