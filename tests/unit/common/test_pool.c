/*
 * test_pool.c - common/thread/pool.c: every job runs once, every element is in
 * one piece, and waiting inside of the pool ends.
 */
#include "common/base/atomic.h"
#include "common/thread/lock.h"
#include "common/thread/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Everything is run with threads that sleep at once and with such that look
 * for work before they do. */
static int64_t spin_us;

static struct tfd_pool *make(int threads)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_pool *p = tfd_pool_new(threads, &st);

    assert_string_equal(st.text, "");
    assert_non_null(p);
    tfd_pool_spin(p, spin_us);
    return p;
}

/* ---- Denormals ----------------------------------------------------------- */

struct product {
    struct tfd_job job; /* first */
    volatile float of, by;
    volatile double wide;
    bool done;
};

static void multiply(struct tfd_job *job)
{
    struct product *x = (struct product *)job;

    x->of *= x->by;
    x->wide *= (double)x->by;
    TFD_STORE_RELEASE(&x->done, true);
}

/* As operands, and as results, also of doubles; not for who submits. */
static void test_denormals_are_zero_to_its_threads(void **state)
{
    static const struct {
        float of, by, product;
        double wide, wide_product;
    } cases[] = {
        {1e-40f, 1, 0, 1e-310, 0},           {1e-40f, 1e30f, 0, 1e-310, 0},
        {1e-20f, 1e-20f, 0, 1e-300, 0},      {-1e-40f, 1, -0.0f, -1e-310, 0},
        {1e-30f, 2, 2e-30f, 1e-300, 2e-300}, {3, 0.5f, 1.5f, 3, 1.5},
    };
    struct product own = {.of = 1e-40f, .by = 1, .wide = 1e-310};
    struct tfd_pool *p = make(2);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct product x = {.job = {multiply, NULL},
                            .of = cases[i].of,
                            .by = cases[i].by,
                            .wide = cases[i].wide};

        tfd_pool_submit(p, &x.job);
        while (!TFD_LOAD_ACQUIRE(&x.done))
            ;
        assert_true(x.of == cases[i].product);
        assert_true(x.wide == cases[i].wide_product);
    }
    multiply(&own.job);
    assert_true(own.of > 0 && own.wide > 0);
    tfd_pool_free(p);
}

/* ---- Jobs ---------------------------------------------------------------- */

struct counted {
    struct tfd_job job; /* first */
    struct tfd_pool *pool;
    int again; /* submits itself so many times */
};

static int runs;

static void run_counted(struct tfd_job *job)
{
    struct counted *c = (struct counted *)job;

    TFD_COUNTER_ADD(&runs, 1);
    if (c->again-- > 0)
        tfd_pool_submit(c->pool, job);
    else
        free(c);
}

static void submit_counted(struct tfd_pool *p, int again)
{
    struct counted *c = malloc(sizeof(*c));

    *c = (struct counted){{run_counted, NULL}, p, again};
    tfd_pool_submit(p, &c->job);
}

static void test_every_job_runs_before_the_pool_is_gone(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct tfd_pool *p = make(threads);

        TFD_STORE_RELEASE(&runs, 0);
        for (int i = 0; i < 1000; i++)
            submit_counted(p, 0);
        tfd_pool_free(p);
        assert_int_equal(TFD_LOAD_ACQUIRE(&runs), 1000);
    }
}

static void test_jobs_may_submit_themselves_again(void **state)
{
    struct tfd_pool *p = make(3);

    (void)state;
    TFD_STORE_RELEASE(&runs, 0);
    for (int i = 0; i < 10; i++)
        submit_counted(p, 99);
    tfd_pool_free(p);
    assert_int_equal(TFD_LOAD_ACQUIRE(&runs), 1000);
}

struct ordered {
    struct tfd_job job; /* first */
    int number;
};

static int order[100], order_count;

static void run_ordered(struct tfd_job *job)
{
    order[order_count++] = ((struct ordered *)job)->number;
}

static void test_one_thread_runs_jobs_in_order(void **state)
{
    struct tfd_pool *p = make(1);
    struct ordered jobs[100];

    (void)state;
    order_count = 0;
    for (int i = 0; i < 100; i++) {
        jobs[i] = (struct ordered){{run_ordered, NULL}, i};
        tfd_pool_submit(p, &jobs[i].job);
    }
    tfd_pool_free(p);
    assert_int_equal(order_count, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(order[i], i);
}

/* A thread is kept busy until everything waits behind it. */
struct gate {
    struct tfd_job job; /* first */
    int reached, open;
};

static void run_gate(struct tfd_job *job)
{
    struct gate *g = (struct gate *)job;

    TFD_STORE_RELEASE(&g->reached, 1);
    while (!TFD_LOAD_ACQUIRE(&g->open))
        ;
}

/* Of those that had a turn one begins for three new ones, in the order that
 * they came; without new ones all do. */
static void test_jobs_that_had_a_turn_wait_longer(void **state)
{
    static const int wanted[] = {0, 1, 2, 100, 3, 4, 5, 101, 6, 102, 103, 104};
    struct tfd_pool *p = make(1);
    struct gate gate = {.job = {run_gate, NULL}};
    struct ordered jobs[12];

    (void)state;
    order_count = 0;
    tfd_pool_submit(p, &gate.job);
    while (!TFD_LOAD_ACQUIRE(&gate.reached))
        ;
    for (int i = 0; i < 12; i++) {
        jobs[i] =
            (struct ordered){{run_ordered, NULL}, i < 5 ? 100 + i : i - 5};
        if (i < 5)
            tfd_pool_yield(p, &jobs[i].job);
        else
            tfd_pool_submit(p, &jobs[i].job);
    }
    assert_int_equal(tfd_pool_waiting(p), 12);
    TFD_STORE_RELEASE(&gate.open, 1);
    tfd_pool_free(p);
    assert_int_equal(tfd_pool_waiting(NULL), 0);
    assert_int_equal(order_count, 12);
    for (int i = 0; i < 12; i++)
        assert_int_equal(order[i], wanted[i]);
}

/* Two that wait for each other need two threads, both awake. */
struct pair {
    struct tfd_lock lock;
    struct tfd_cond cond;
    int present;
};

static void pair_init(struct pair *pair)
{
    pair->present = 0;
    tfd_lock_init(&pair->lock, TFD_LOCK_STEP);
    tfd_cond_init(&pair->cond);
}

static void pair_deinit(struct pair *pair)
{
    tfd_cond_deinit(&pair->cond);
    tfd_lock_deinit(&pair->lock);
}

static void meet(void *arg, int64_t begin, int64_t end)
{
    struct pair *pair = arg;

    (void)begin;
    (void)end;
    tfd_lock(&pair->lock);
    pair->present++;
    tfd_cond_broadcast(&pair->cond);
    while (pair->present < 2)
        tfd_cond_wait(&pair->cond, &pair->lock);
    tfd_unlock(&pair->lock);
}

struct meeting {
    struct tfd_job job; /* first */
    struct pair *pair;
};

static void run_meeting(struct tfd_job *job)
{
    meet(((struct meeting *)job)->pair, 0, 1);
}

static void test_each_submit_wakes_a_thread(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct tfd_pool *p = make(2);
        struct pair pair;
        struct meeting m[2] = {
            {{run_meeting, NULL}, &pair},
            {{run_meeting, NULL}, &pair},
        };

        pair_init(&pair);
        tfd_pool_submit(p, &m[0].job);
        tfd_pool_submit(p, &m[1].job);
        tfd_pool_free(p);
        assert_int_equal(pair.present, 2);
        pair_deinit(&pair);
    }
}

/* ---- Ranges -------------------------------------------------------------- */

struct touched {
    unsigned char *count; /* per element */
    int64_t grain, n;
    int short_pieces;
};

static void touch(void *arg, int64_t begin, int64_t end)
{
    struct touched *t = arg;

    if (end - begin < t->grain)
        TFD_COUNTER_ADD(&t->short_pieces, 1);
    if (begin < 0 || begin >= end || end > t->n)
        abort();
    for (int64_t i = begin; i < end; i++)
        t->count[i]++;
}

static void check_parallel(struct tfd_pool *p, int64_t n, int64_t grain)
{
    struct touched t = {calloc(1, (size_t)n + 1), grain, n, 0};

    tfd_pool_parallel(p, n, grain, touch, &t);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(t.count[i], 1);
    assert_true(TFD_LOAD_ACQUIRE(&t.short_pieces) <= 1);
    tfd_pool_parallel_back(p, n, grain, touch, &t);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(t.count[i], 2);
    assert_true(TFD_LOAD_ACQUIRE(&t.short_pieces) <= 2);
    free(t.count);
}

static void test_every_element_is_in_one_piece(void **state)
{
    static const int64_t sizes[] = {1,  2,  3,   7,    15,   16,
                                    17, 64, 100, 1000, 65537};
    static const int64_t grains[] = {1, 2, 16, 1000, 1 << 20};

    (void)state;
    for (int threads = 0; threads <= 4; threads++) {
        struct tfd_pool *p = threads ? make(threads) : NULL;

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            for (size_t j = 0; j < sizeof(grains) / sizeof(grains[0]); j++)
                check_parallel(p, sizes[i], grains[j]);
        tfd_pool_free(p);
    }
}

static void test_nothing_to_do_calls_nothing(void **state)
{
    struct tfd_pool *p = make(2);

    (void)state;
    tfd_pool_parallel(p, 0, 1, touch, NULL);
    tfd_pool_parallel(p, -5, 1, touch, NULL);
    tfd_pool_parallel(NULL, 0, 1, touch, NULL);
    tfd_pool_parallel_back(p, 0, 1, touch, NULL);
    tfd_pool_parallel_back(NULL, -1, 1, touch, NULL);
    tfd_pool_free(p);
}

static void test_a_bad_grain_counts_as_one(void **state)
{
    struct tfd_pool *p = make(2);

    (void)state;
    check_parallel(p, 100, 0);
    check_parallel(p, 100, INT64_MIN);
    tfd_pool_free(p);
}

static void add_length(void *arg, int64_t begin, int64_t end)
{
    TFD_COUNTER_ADD((int64_t *)arg, end - begin);
}

static void test_ranges_up_to_the_largest_number(void **state)
{
    struct tfd_pool *p = make(3);
    int64_t sum = 0;

    (void)state;
    tfd_pool_parallel(p, INT64_MAX, 1, add_length, &sum);
    assert_true(TFD_LOAD_ACQUIRE(&sum) == INT64_MAX);
    TFD_STORE_RELEASE(&sum, 0);
    tfd_pool_parallel(p, INT64_MAX, INT64_MAX - 1, add_length, &sum);
    assert_true(TFD_LOAD_ACQUIRE(&sum) == INT64_MAX);
    tfd_pool_free(p);
}

struct nest {
    struct tfd_pool *pool;
    int depth;
    int64_t *sum;
};

static void nested(void *arg, int64_t begin, int64_t end)
{
    const struct nest *outer = arg;
    struct nest inner = {outer->pool, outer->depth - 1, outer->sum};

    for (int64_t i = begin; i < end; i++)
        if (outer->depth == 0)
            TFD_COUNTER_ADD(outer->sum, 1);
        else
            tfd_pool_parallel(inner.pool, 8, 1, nested, &inner);
}

static void test_loops_may_nest(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct tfd_pool *p = make(threads);
        int64_t sum = 0;
        struct nest n = {p, 3, &sum};

        tfd_pool_parallel(p, 8, 1, nested, &n);
        assert_int_equal(TFD_LOAD_ACQUIRE(&sum), 8 * 8 * 8 * 8);
        tfd_pool_free(p);
    }
}

struct looping {
    struct tfd_job job; /* first */
    struct tfd_pool *pool;
    int64_t sum;
};

static void run_looping(struct tfd_job *job)
{
    struct looping *l = (struct looping *)job;

    for (int i = 0; i < 20; i++)
        tfd_pool_parallel(l->pool, 1000, 10, add_length, &l->sum);
}

/* All threads are in jobs that loop in parallel: nobody idle is left, and each
 * has to do with itself. */
static void test_loops_from_every_thread_at_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct tfd_pool *p = make(threads);
        static struct looping l[16];

        for (int i = 0; i < 16; i++) {
            l[i].job.run = run_looping;
            l[i].pool = p;
            TFD_STORE_RELEASE(&l[i].sum, 0);
            tfd_pool_submit(p, &l[i].job);
        }
        tfd_pool_free(p);
        for (int i = 0; i < 16; i++)
            assert_int_equal(TFD_LOAD_ACQUIRE(&l[i].sum), 20 * 1000);
    }
}

static void test_an_idle_thread_helps(void **state)
{
    struct tfd_pool *p = make(1);

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct pair pair;

        pair_init(&pair);
        tfd_pool_parallel(p, 2, 1, meet, &pair);
        assert_int_equal(pair.present, 2);
        pair_deinit(&pair);
    }
    tfd_pool_free(p);
}

struct where {
    struct pair pair; /* first */
    pthread_t of[2];  /* who ran which */
};

static void meet_and_tell(void *arg, int64_t begin, int64_t end)
{
    struct where *w = arg;

    meet(&w->pair, begin, end);
    w->of[begin] = pthread_self();
}

/* The caller has the same part each time, and the other one backwards. */
static void test_parts_stay_with_their_threads(void **state)
{
    struct tfd_pool *p = make(1);

    (void)state;
    for (int round = 0; round < 100; round++) {
        struct where w = {.of = {0}};
        const bool back = round % 3 == 2;

        pair_init(&w.pair);
        (back ? tfd_pool_parallel_back : tfd_pool_parallel)(p, 2, 1,
                                                            meet_and_tell, &w);
        assert_true(pthread_equal(w.of[back], pthread_self()));
        assert_false(pthread_equal(w.of[!back], pthread_self()));
        assert_true(tfd_pool_had_help());
        pair_deinit(&w.pair);
    }
    tfd_pool_free(p);
}

/* The only thread is in a job until the ranges are done. */
static void test_a_range_without_help_is_known(void **state)
{
    struct tfd_pool *p = make(1);
    struct pair pair;
    struct meeting m = {{run_meeting, NULL}, &pair};
    int64_t sum = 0;

    (void)state;
    pair_init(&pair);
    tfd_pool_submit(p, &m.job);
    while (tfd_pool_waiting(p) > 0)
        ;
    for (int i = 0; i < 100; i++) {
        (i % 2 ? tfd_pool_parallel_back : tfd_pool_parallel)(p, 1000, 10,
                                                             add_length, &sum);
        assert_false(tfd_pool_had_help());
    }
    assert_int_equal(TFD_LOAD_ACQUIRE(&sum), 100 * 1000);
    meet(&pair, 0, 1);
    tfd_pool_free(p);
    pair_deinit(&pair);
}

/* The first element takes long: another thread is at the rest meanwhile. */
static void meet_after_long(void *arg, int64_t begin, int64_t end)
{
    if (begin == 0) {
        clock_t until = clock() + CLOCKS_PER_SEC / 1000;

        while (clock() < until)
            ;
        return;
    }
    meet(arg, begin, end);
}

static void test_a_long_range_of_many_is_shared(void **state)
{
    struct tfd_pool *p = make(1);

    (void)state;
    for (int round = 0; round < 50; round++) {
        struct pair pair;

        pair_init(&pair);
        tfd_pool_parallel(p, 64, 1, meet_after_long, &pair);
        assert_true(pair.present >= 2);
        pair_deinit(&pair);
    }
    tfd_pool_free(p);
}

/* ---- Making one ---------------------------------------------------------- */

static void test_numbers_of_threads_that_are_refused(void **state)
{
    static const int bad[] = {0, -1, INT32_MIN, TFD_POOL_THREADS_MAX + 1,
                              INT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        assert_null(tfd_pool_new(bad[i], &st));
        assert_int_equal(st.code, TFD_INVALID_ARGUMENT);
    }
}

static void test_a_pool_knows_its_threads(void **state)
{
    struct tfd_pool *p = make(3);

    (void)state;
    assert_int_equal(tfd_pool_threads(p), 3);
    assert_int_equal(tfd_pool_threads(NULL), 0);
    tfd_pool_free(p);
    tfd_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denormals_are_zero_to_its_threads),
        cmocka_unit_test(test_every_job_runs_before_the_pool_is_gone),
        cmocka_unit_test(test_jobs_may_submit_themselves_again),
        cmocka_unit_test(test_one_thread_runs_jobs_in_order),
        cmocka_unit_test(test_jobs_that_had_a_turn_wait_longer),
        cmocka_unit_test(test_each_submit_wakes_a_thread),
        cmocka_unit_test(test_every_element_is_in_one_piece),
        cmocka_unit_test(test_nothing_to_do_calls_nothing),
        cmocka_unit_test(test_a_bad_grain_counts_as_one),
        cmocka_unit_test(test_ranges_up_to_the_largest_number),
        cmocka_unit_test(test_loops_may_nest),
        cmocka_unit_test(test_loops_from_every_thread_at_once),
        cmocka_unit_test(test_an_idle_thread_helps),
        cmocka_unit_test(test_parts_stay_with_their_threads),
        cmocka_unit_test(test_a_range_without_help_is_known),
        cmocka_unit_test(test_a_long_range_of_many_is_shared),
        cmocka_unit_test(test_numbers_of_threads_that_are_refused),
        cmocka_unit_test(test_a_pool_knows_its_threads),
    };

    int failed = cmocka_run_group_tests_name("pool", tests, NULL, NULL);

    spin_us = 50;
    return failed +
           cmocka_run_group_tests_name("pool that looks", tests, NULL, NULL);
}
