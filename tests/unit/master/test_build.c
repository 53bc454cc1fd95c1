/*
 * test_build.c - daemon/master/session/build.c with real threads and the real
 * loop.
 */
#include "daemon/master/session/build.h"

#include "common/thread/lock.h"
#include "daemon/master/session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUILDS_MAX 8

static struct tfd_master master;
static struct tfd_session session, other;
static char trace[256]; /* loop thread */

/* Opened by the test; large builds wait for it when they are told to. */
static struct tfd_lock lock;
static struct tfd_cond opened;
static bool open;

struct piece {
    struct tfd_build build; /* first */
    char name;
    bool waits;
    bool worked;
    struct piece *then; /* started by done() */
    struct tfd_session *of;
    bool last; /* stops the loop */
    int64_t thread_was_loop;
};

static void note(char what, char name)
{
    size_t used = strlen(trace);

    snprintf(trace + used, sizeof(trace) - used, "%c%c ", what, name);
}

static void let_go(void)
{
    tfd_lock(&lock);
    open = true;
    tfd_cond_broadcast(&opened);
    tfd_unlock(&lock);
}

static void work(struct tfd_build *b)
{
    struct piece *p = (struct piece *)b;

    p->thread_was_loop = tfd_loop_inside(master.o.loop);
    tfd_lock(&lock);
    while (p->waits && !open)
        tfd_cond_wait(&opened, &lock);
    tfd_unlock(&lock);
    p->worked = !__atomic_load_n(&b->stop, __ATOMIC_RELAXED);
}

static void done(struct tfd_build *b)
{
    struct piece *p = (struct piece *)b;

    note(b->stop ? 's' : 'd', p->name);
    if (p->then)
        tfd_build_start(p->of, &p->then->build);
    if (p->last)
        tfd_loop_stop(master.o.loop);
}

static struct piece make(char name, bool large)
{
    return (struct piece){
        .build = {.work = work, .done = done, .large = large},
        .name = name,
        .of = &session,
    };
}

/* What a test starts on the loop thread. */
static void (*begin)(void);

static void begin_on_loop(struct tfd_post *p)
{
    (void)p;
    begin();
}

static void run(void (*fn)(void))
{
    struct tfd_post post = {.run = begin_on_loop};

    trace[0] = '\0';
    open = false;
    begin = fn;
    tfd_loop_post(master.o.loop, &post);
    tfd_loop_run(master.o.loop);
    assert_null(session.building);
    assert_null(session.builds);
    assert_int_equal(session.refs, 1);
}

static struct piece a, b, c, d;

/* ---- Order --------------------------------------------------------------- */

static void start_small(void)
{
    a = make('a', false);
    tfd_build_start(&session, &a.build);
    note('-', '-');
    tfd_loop_stop(master.o.loop);
}

static void small_ones_are_done_at_once(void **state)
{
    (void)state;
    run(start_small);
    assert_string_equal(trace, "da -- ");
    assert_true(a.worked && a.thread_was_loop);
}

static void start_mixed(void)
{
    a = make('a', true);
    b = make('b', false);
    c = make('c', true);
    d = make('d', false);
    d.build.work = NULL;
    d.last = true;
    a.waits = true;
    tfd_build_start(&session, &a.build);
    tfd_build_start(&session, &b.build);
    tfd_build_start(&session, &c.build);
    tfd_build_start(&session, &d.build);
    note('-', '-');
    let_go();
}

static void whoever_comes_later_is_served_later(void **state)
{
    (void)state;
    run(start_mixed);
    assert_string_equal(trace, "-- da db dc dd ");
    assert_true(a.worked && b.worked && c.worked && !d.worked);
    assert_true(!a.thread_was_loop && b.thread_was_loop);
}

static void start_nested(void)
{
    a = make('a', true);
    b = make('b', false);
    c = make('c', false);
    a.then = &c; /* while b waits */
    c.last = true;
    tfd_build_start(&session, &a.build);
    tfd_build_start(&session, &b.build);
}

static void what_an_end_starts_waits_as_well(void **state)
{
    (void)state;
    run(start_nested);
    assert_string_equal(trace, "da db dc ");
}

/* ---- Others -------------------------------------------------------------- */

static struct tfd_timer timer;

static void later(struct tfd_timer *t)
{
    (void)t;
    note('t', '-');
    c = make('c', false);
    tfd_build_start(&other, &c.build); /* another session's */
    let_go();
}

static void start_blocked(void)
{
    a = make('a', true);
    a.waits = a.last = true;
    tfd_build_start(&session, &a.build);
    tfd_timer_init(&timer, master.o.loop, later);
    assert_int_equal(tfd_timer_start(&timer, 1000, NULL), TFD_OK);
}

/* Would hang if it did not. */
static void the_loop_goes_on_meanwhile(void **state)
{
    (void)state;
    run(start_blocked);
    assert_string_equal(trace, "t- dc da ");
}

/* ---- Stopping ------------------------------------------------------------ */

static void start_stopped(void)
{
    a = make('a', true);
    b = make('b', true);
    c = make('c', false);
    c.build.work = NULL;
    c.last = true;
    a.waits = true;
    tfd_build_start(&session, &a.build);
    tfd_build_start(&session, &b.build);
    tfd_build_start(&session, &c.build);
    tfd_build_stop_all(&session);
    let_go();
}

static void those_that_nobody_wants_are_told_so(void **state)
{
    (void)state;
    run(start_stopped);
    assert_string_equal(trace, "sa sb dc ");
    assert_false(a.worked || b.worked);
}

static void start_without_threads(void)
{
    a = make('a', true);
    a.waits = true;
    tfd_build_start(&session, &a.build);
    let_go();
    tfd_master_stop_building(&master);
    b = make('b', true);
    b.last = true;
    tfd_build_start(&session, &b.build);
}

static void without_threads_the_loop_thread_builds(void **state)
{
    (void)state;
    run(start_without_threads);
    assert_string_equal(trace, "da db ");
    assert_true(!a.thread_was_loop && b.thread_was_loop);
}

static int setup(void **state)
{
    (void)state;
    tfd_lock_init(&lock, TFD_LOCK_SERVER);
    tfd_cond_init(&opened);
    master.o.loop = tfd_loop_new(NULL);
    master.builders = tfd_pool_new(2, NULL);
    session = other = (struct tfd_session){.master = &master, .refs = 1};
    session.builds_end = &session.builds;
    other.builds_end = &other.builds;
    return master.o.loop && master.builders ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    tfd_loop_free(master.o.loop);
    tfd_cond_deinit(&opened);
    tfd_lock_deinit(&lock);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_are_done_at_once),
        cmocka_unit_test(whoever_comes_later_is_served_later),
        cmocka_unit_test(what_an_end_starts_waits_as_well),
        cmocka_unit_test(the_loop_goes_on_meanwhile),
        cmocka_unit_test(those_that_nobody_wants_are_told_so),
        cmocka_unit_test(without_threads_the_loop_thread_builds),
    };

    return cmocka_run_group_tests_name("build", tests, setup, teardown);
}
