/*
 * test_loop.c - rpc/conn/loop.c: posts from threads, the order of timers, work
 * that runs before the loop sleeps.
 */
#include "rpc/conn/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

/* Everything is run with a loop that sleeps at once and with one that looks
 * for work before it does. */
static int64_t spin_us;

static struct tfd_loop *new_loop(void)
{
    struct tfd_loop *l = tfd_loop_new(NULL);

    assert_non_null(l);
    tfd_loop_spin(l, spin_us);
    return l;
}

/* ---- Posts --------------------------------------------------------------- */

#define THREADS 4
#define POSTS_EACH 2000

struct posted {
    struct tfd_post post;
    struct posts *all;
    int thread, number;
};

struct posts {
    struct tfd_loop *loop;
    struct posted item[THREADS][POSTS_EACH];
    int next[THREADS]; /* the number that must come next */
    int seen;
    bool in_order, inside;
};

static void count_post(struct tfd_post *p)
{
    struct posted *item = (struct posted *)p;
    struct posts *all = item->all;

    if (all->next[item->thread]++ != item->number)
        all->in_order = false;
    if (!tfd_loop_inside(all->loop))
        all->inside = false;
    if (++all->seen == THREADS * POSTS_EACH)
        tfd_loop_stop(all->loop);
}

static void *post_all(void *arg)
{
    struct posted *first = arg;

    for (int i = 0; i < POSTS_EACH; i++)
        tfd_loop_post(first->all->loop, &first[i].post);
    return NULL;
}

static void test_posts_of_a_thread_run_in_their_order(void **state)
{
    struct posts *all = calloc(1, sizeof(*all));
    pthread_t thread[THREADS];

    (void)state;
    assert_non_null(all);
    all->loop = new_loop();
    all->in_order = all->inside = true;
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < POSTS_EACH; i++)
            all->item[t][i] = (struct posted){{.run = count_post}, all, t, i};
        assert_int_equal(
            pthread_create(&thread[t], NULL, post_all, all->item[t]), 0);
    }
    assert_false(tfd_loop_inside(all->loop));
    tfd_loop_run(all->loop);
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    assert_int_equal(all->seen, THREADS * POSTS_EACH);
    assert_true(all->in_order);
    assert_true(all->inside);
    tfd_loop_free(all->loop);
    free(all);
}

struct again {
    struct tfd_post post;
    struct tfd_loop *loop;
    int left;
};

static void post_again(struct tfd_post *p)
{
    struct again *a = (struct again *)p;

    if (--a->left > 0)
        tfd_loop_post(a->loop, p);
    else
        tfd_loop_stop(a->loop);
}

static void test_a_post_may_post_itself_again(void **state)
{
    struct again a = {{.run = post_again}, new_loop(), 100};

    (void)state;
    tfd_loop_post(a.loop, &a.post);
    tfd_loop_run(a.loop);
    assert_int_equal(a.left, 0);
    tfd_loop_free(a.loop);
}

/* ---- Timers -------------------------------------------------------------- */

struct alarm {
    struct tfd_timer timer;
    char name;
    char *log;
    struct alarm *stops; /* when it fires */
    int restarts;
};

static void log_alarm(struct tfd_timer *t)
{
    struct alarm *a = (struct alarm *)t;
    size_t used = strlen(a->log);

    a->log[used] = a->name;
    a->log[used + 1] = '\0';
    if (a->stops)
        tfd_timer_stop(&a->stops->timer);
    if (a->restarts-- > 0)
        assert_int_equal(tfd_timer_start(t, 0, NULL), TFD_OK);
    if (a->name == '.')
        tfd_loop_stop(t->loop);
}

static void init_alarms(struct alarm *a, int count, struct tfd_loop *l,
                        char *log)
{
    for (int i = 0; i < count; i++) {
        a[i] = (struct alarm){.name = (char)('a' + i), .log = log};
        tfd_timer_init(&a[i].timer, l, log_alarm);
    }
}

static void start(struct alarm *a, uint64_t delay_us)
{
    assert_int_equal(tfd_timer_start(&a->timer, delay_us, NULL), TFD_OK);
}

/* Between two starts a busy machine may take milliseconds. */
static void test_timers_fire_by_due_time_then_by_start(void **state)
{
    static const struct {
        uint64_t delay_us[6]; /* of a, b, ... */
        const char *order;
    } cases[] = {
        {{0, 0, 0, 0, 0, 0}, "abcdef"},
        {{50000, 40000, 30000, 20000, 10000, 0}, "fedcba"},
        {{30000, 1, 30000, 1, 30000, 1}, "bdface"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_loop *l = new_loop();
        struct alarm a[7];
        char log[16] = "";

        init_alarms(a, 7, l, log);
        a[6].name = '.';
        for (int k = 0; k < 6; k++)
            start(&a[k], cases[i].delay_us[k]);
        start(&a[6], 80000);
        tfd_loop_run(l);
        log[6] = '\0';
        assert_string_equal(log, cases[i].order);
        tfd_loop_free(l);
    }
}

static void test_a_timer_is_not_early(void **state)
{
    struct tfd_loop *l = new_loop();
    char log[8] = "";
    struct alarm a;
    uint64_t begin = tfd_loop_now_us(l);

    (void)state;
    init_alarms(&a, 1, l, log);
    a.name = '.';
    start(&a, 2500);
    tfd_loop_run(l);
    assert_true(tfd_loop_now_us(l) - begin >= 2500);
    tfd_loop_free(l);
}

static void test_stopped_and_restarted_timers(void **state)
{
    struct tfd_loop *l = new_loop();
    char log[16] = "";
    struct alarm a[5];

    (void)state;
    init_alarms(a, 5, l, log);
    a[4].name = '.';
    for (int i = 0; i < 5; i++)
        start(&a[i], 20000);
    tfd_timer_stop(&a[1].timer);
    tfd_timer_stop(&a[1].timer); /* again: nothing */
    start(&a[0], 10000);         /* earlier than it was */
    a[2].stops = &a[3];          /* one that is due in the same turn */
    start(&a[4], 30000);
    tfd_loop_run(l);
    assert_string_equal(log, "ac.");
    tfd_loop_free(l);
}

static void test_a_timer_that_restarts_itself_lets_others_run(void **state)
{
    struct tfd_loop *l = new_loop();
    char log[64] = "";
    struct alarm a[2];

    (void)state;
    init_alarms(a, 2, l, log);
    a[0].restarts = 20; /* each in a turn of its own */
    a[1].name = '.';
    start(&a[0], 0);
    start(&a[1], 0);
    tfd_loop_run(l);
    log[2] = '\0'; /* a turn that takes long has room for one more */
    assert_string_equal(log, "a.");
    tfd_timer_stop(&a[0].timer);
    tfd_loop_free(l);
}

/* A heap that is wrong somewhere is seen only with many. */
static void test_many_timers_stay_sorted(void **state)
{
    enum { COUNT = 500 };
    struct tfd_loop *l = new_loop();
    struct tfd_timer *t = calloc(COUNT, sizeof(*t));
    uint64_t random = 1;

    (void)state;
    assert_non_null(t);
    for (int i = 0; i < COUNT; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        tfd_timer_init(&t[i], l, NULL);
        assert_int_equal(tfd_timer_start(&t[i], 1000000 + (random >> 44), NULL),
                         TFD_OK);
    }
    for (int i = 0; i < COUNT; i += 3)
        tfd_timer_stop(&t[i]);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(t[i].slot < 0, i % 3 == 0);
        tfd_timer_stop(&t[i]);
        assert_int_equal(t[i].slot, -1);
    }
    free(t);
    tfd_loop_free(l);
}

/* ---- Deferred work and signals ------------------------------------------- */

struct deferred {
    struct tfd_post post;
    struct tfd_loop *loop;
    int left;
};

static void defer_again(struct tfd_post *p)
{
    struct deferred *d = (struct deferred *)p;

    if (--d->left > 0)
        tfd_loop_defer(d->loop, p);
    else
        tfd_loop_stop(d->loop);
}

/* More rounds than the loop does in one turn: it must not sleep on the rest. */
static void test_deferred_work_may_defer_itself(void **state)
{
    struct deferred d = {{.run = defer_again}, new_loop(), 100};

    (void)state;
    tfd_loop_defer(d.loop, &d.post);
    tfd_loop_run(d.loop);
    assert_int_equal(d.left, 0);
    tfd_loop_free(d.loop);
}

struct ordered {
    struct tfd_post post;
    struct tfd_loop *loop;
    const char *name;
    char *order;
};

static void note_order(struct tfd_post *p)
{
    struct ordered *o = (struct ordered *)p;

    strcat(o->order, o->name);
    if (*o->name == 'e')
        tfd_loop_stop(o->loop);
}

static void test_some_deferred_work_comes_first(void **state)
{
    struct tfd_loop *l = new_loop();
    char order[8] = "";
    struct ordered o[] = {
        {{.run = note_order}, l, "a", order},
        {{.run = note_order}, l, "b", order},
        {{.run = note_order}, l, "c", order},
        {{.run = note_order}, l, "d", order},
        {{.run = note_order}, l, "e", order},
    };

    (void)state;
    tfd_loop_defer_first(l, &o[1].post);
    tfd_loop_defer_first(l, &o[0].post);
    tfd_loop_defer(l, &o[2].post);
    tfd_loop_defer(l, &o[3].post);
    tfd_loop_defer(l, &o[4].post);
    tfd_loop_run(l);
    assert_string_equal(order, "abcde");
    tfd_loop_free(l);
}

/* Whoever waits for it would wait for ever. */
static void test_what_is_at_hand_runs_before_the_end(void **state)
{
    struct deferred d[2];
    struct tfd_loop *l = new_loop();

    (void)state;
    for (int i = 0; i < 2; i++) {
        d[i].post.run = defer_again;
        d[i].loop = l;
        d[i].left = 100;
    }
    tfd_loop_defer(l, &d[0].post);
    tfd_loop_post(l, &d[1].post);
    tfd_loop_free(l);
    assert_int_equal(d[0].left, 0);
    assert_int_equal(d[1].left, 0);
}

static void on_signal(void *ctx, int number)
{
    struct tfd_loop **l = ctx;

    assert_int_equal(number, SIGUSR1);
    tfd_loop_stop(*l);
}

static void test_a_signal_runs_on_the_loop(void **state)
{
    struct tfd_loop *l = new_loop();
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_loop_signal(l, SIGUSR1, on_signal, &l, &st), TFD_OK);
    raise(SIGUSR1);
    tfd_loop_run(l);
    assert_int_equal(tfd_loop_signal(l, SIGKILL, on_signal, &l, &st),
                     TFD_INVALID_ARGUMENT);
    tfd_loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posts_of_a_thread_run_in_their_order),
        cmocka_unit_test(test_a_post_may_post_itself_again),
        cmocka_unit_test(test_timers_fire_by_due_time_then_by_start),
        cmocka_unit_test(test_a_timer_is_not_early),
        cmocka_unit_test(test_stopped_and_restarted_timers),
        cmocka_unit_test(test_a_timer_that_restarts_itself_lets_others_run),
        cmocka_unit_test(test_many_timers_stay_sorted),
        cmocka_unit_test(test_deferred_work_may_defer_itself),
        cmocka_unit_test(test_some_deferred_work_comes_first),
        cmocka_unit_test(test_what_is_at_hand_runs_before_the_end),
        cmocka_unit_test(test_a_signal_runs_on_the_loop),
    };

    int failed = cmocka_run_group_tests_name("loop", tests, NULL, NULL);

    spin_us = 50;
    return failed +
           cmocka_run_group_tests_name("loop that looks", tests, NULL, NULL);
}
