/*
 * test_beat.c - daemon/beat.c: when the watchdog hears of us, and when not.
 */
#define _GNU_SOURCE 1 /* SOCK_NONBLOCK */
#include "daemon/beat.h"

#include "common/base/clock.h"
#include "common/thread/pool.h"
#include "kernels/io/file_roots.h"
#include "kernels/io/file_waits.h"
#include "kernels/io/file_waits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_US 200000u
#define JOBS 3 /* one more than threads */

enum doing { COMPUTES, WAITS_FOR_A_LOCK, SAVES };

/* What a supervisor hears while the jobs do something. */
struct rig {
    int fd;
    struct tfd_notify notify;
    struct tfd_loop *loop;
    struct tfd_pool *pool;
    struct tfd_beat beat;
    struct tfd_timer end;
    pthread_mutex_t hold;
    int running;
    bool stop;
    struct busy_job {
        struct tfd_job job; /* first */
        struct rig *rig;
        enum doing doing;
    } jobs[JOBS];
    int alive, statuses;
    char last[512];
};

/* What fsync() waits for: the process behind a FUSE mount, where a thread
 * sleeps as it does for a lock. */
static pthread_mutex_t *file_server;

int fsync(int fd)
{
    (void)fd;
    pthread_mutex_lock(file_server);
    pthread_mutex_unlock(file_server);
    return 0;
}

static void save(void)
{
    static const char *const everywhere[] = {"/"};
    struct tfd_file file = TFD_FILE_INIT;
    struct tfd_file_roots roots;

    if (tfd_file_roots_init(&roots, everywhere, 1, NULL) != TFD_OK)
        return;
    roots.access = tfd_file_waits_access;
    (void)!roots.access.sync(&roots.access, &file, NULL);
    tfd_file_roots_deinit(&roots);
}

static void run_job(struct tfd_job *job)
{
    struct busy_job *b = (struct busy_job *)job;
    struct rig *r = b->rig;

    __atomic_fetch_add(&r->running, 1, __ATOMIC_ACQ_REL);
    switch (b->doing) {
    case COMPUTES:
        while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
            ;
        break;
    case WAITS_FOR_A_LOCK:
        pthread_mutex_lock(&r->hold);
        pthread_mutex_unlock(&r->hold);
        break;
    case SAVES:
        save();
        break;
    }
}

static void describe(void *ctx, char *text, size_t size)
{
    (void)ctx;
    snprintf(text, size, "all\nwell");
}

static void over(struct tfd_timer *t)
{
    tfd_loop_stop(t->loop);
}

static void open_rig(struct rig *r)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char path[64];
    int n = snprintf(path, sizeof(path), "@tfd-beat-%d", (int)getpid());

    memset(r, 0, sizeof(*r));
    r->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    memcpy(at.sun_path, path, (size_t)n);
    at.sun_path[0] = '\0';
    assert_int_equal(
        bind(r->fd, (struct sockaddr *)&at,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)),
        0);
    tfd_notify_open(&r->notify, path);
    r->loop = tfd_loop_new(&st);
    r->pool = tfd_pool_new(JOBS - 1, &st);
    assert_non_null(r->loop);
    assert_non_null(r->pool);
    pthread_mutex_init(&r->hold, NULL);
    file_server = &r->hold;
}

static void submit(struct rig *r, int count, enum doing doing)
{
    int threads = count < JOBS ? count : JOBS - 1;

    for (int i = 0; i < count; i++) {
        r->jobs[i].rig = r;
        r->jobs[i].doing = doing;
        r->jobs[i].job.run = run_job;
        tfd_pool_submit(r->pool, &r->jobs[i].job);
    }
    while (__atomic_load_n(&r->running, __ATOMIC_ACQUIRE) < threads)
        ;
}

static void receive(struct rig *r)
{
    ssize_t n;

    while ((n = recv(r->fd, r->last, sizeof(r->last) - 1, 0)) > 0) {
        r->last[n] = '\0';
        r->alive += strncmp(r->last, "WATCHDOG=1\n", 11) == 0;
        r->statuses += strstr(r->last, "STATUS=") != NULL;
    }
}

static void listen_for(struct rig *r, uint64_t watchdog_us, uint64_t us)
{
    struct tfd_beat_options o = {
        .loop = r->loop,
        .pool = r->pool,
        .notify = &r->notify,
        .watchdog_us = watchdog_us,
        .describe = describe,
    };

    tfd_beat_start(&r->beat, &o);
    receive(r);
    r->alive = 0; /* nothing can be known at the first beat */
    tfd_timer_init(&r->end, r->loop, over);
    assert_int_equal(tfd_timer_start(&r->end, us, NULL), TFD_OK);
    tfd_loop_run(r->loop);
    tfd_beat_stop(&r->beat);
    receive(r);
}

static void close_rig(struct rig *r)
{
    __atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
    tfd_pool_free(r->pool);
    tfd_loop_free(r->loop);
    tfd_notify_close(&r->notify);
    close(r->fd);
}

static void test_an_idle_server_is_well(void **state)
{
    struct rig r;

    (void)state;
    open_rig(&r);
    listen_for(&r, LIMIT_US, LIMIT_US);
    assert_true(r.alive >= 2);
    assert_string_equal(r.last, "WATCHDOG=1\nSTATUS=all well");
    close_rig(&r);
}

/* As many threads, nothing waits: they may all sleep in a kernel. */
static void test_threads_may_sleep_while_nothing_waits(void **state)
{
    struct rig r;

    (void)state;
    open_rig(&r);
    pthread_mutex_lock(&r.hold);
    submit(&r, JOBS - 1, WAITS_FOR_A_LOCK);
    listen_for(&r, LIMIT_US, LIMIT_US);
    assert_true(r.alive >= 2);
    pthread_mutex_unlock(&r.hold);
    close_rig(&r);
}

static void test_long_kernels_are_progress(void **state)
{
    struct rig r;

    (void)state;
    open_rig(&r);
    submit(&r, JOBS, COMPUTES);
    assert_int_equal(tfd_pool_waiting(r.pool), 1);
    listen_for(&r, LIMIT_US, 2 * LIMIT_US);
    assert_true(r.alive >= 3);
    close_rig(&r);
}

static void test_a_slow_file_system_does_not_look_stuck(void **state)
{
    struct rig r;

    (void)state;
    open_rig(&r);
    pthread_mutex_lock(&r.hold);
    submit(&r, JOBS, SAVES);
    assert_int_equal(tfd_pool_waiting(r.pool), 1);
    listen_for(&r, LIMIT_US, 2 * LIMIT_US);
    assert_true(r.alive >= 3);
    assert_string_equal(r.last, "WATCHDOG=1\nSTATUS=all well");
    pthread_mutex_unlock(&r.hold);
    while (tfd_pool_waiting(r.pool) > 0)
        ;
    close_rig(&r);
    assert_int_equal(tfd_file_waits(), 0);
}

static void test_a_pool_that_is_stuck_is_told_by_silence(void **state)
{
    struct rig r;
    int before;

    (void)state;
    open_rig(&r);
    pthread_mutex_lock(&r.hold);
    submit(&r, JOBS, WAITS_FOR_A_LOCK);
    assert_int_equal(tfd_pool_waiting(r.pool), 1);
    listen_for(&r, LIMIT_US, 2 * LIMIT_US);
    assert_true(r.alive <= 1); /* a page may have come from the disk */
    assert_true(r.statuses >= 3);
    assert_string_equal(r.last, "STATUS=STUCK: all well");
    before = r.statuses;
    pthread_mutex_unlock(&r.hold); /* as if it had not been */
    while (tfd_pool_waiting(r.pool) > 0)
        ;
    listen_for(&r, LIMIT_US, LIMIT_US);
    assert_true(r.alive >= 2 && r.statuses > before);
    close_rig(&r);
}

static void test_without_a_watchdog_there_is_a_status(void **state)
{
    struct rig r;

    (void)state;
    open_rig(&r);
    listen_for(&r, 0, 1000);
    assert_int_equal(r.alive, 0);
    assert_string_equal(r.last, "STATUS=all well");
    tfd_notify_close(&r.notify);
    r.last[0] = '\0';
    listen_for(&r, LIMIT_US, 1000); /* and without anybody nothing */
    assert_string_equal(r.last, "");
    close_rig(&r);
}

static void test_the_limit_is_read_for_this_process_only(void **state)
{
    char own[32], other[32];

    (void)state;
    snprintf(own, sizeof(own), "%d", (int)getpid());
    snprintf(other, sizeof(other), "%d", (int)getppid());
    assert_int_equal(tfd_beat_watchdog_us("60000000", own), 60000000);
    assert_int_equal(tfd_beat_watchdog_us("60000000", NULL), 60000000);
    assert_int_equal(tfd_beat_watchdog_us("60000000", other), 0);
    assert_int_equal(tfd_beat_watchdog_us(NULL, own), 0);
    assert_int_equal(tfd_beat_watchdog_us("", NULL), 0);
    assert_int_equal(tfd_beat_watchdog_us("-1", NULL), 0);
    assert_int_equal(tfd_beat_watchdog_us("5s", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_idle_server_is_well),
        cmocka_unit_test(test_threads_may_sleep_while_nothing_waits),
        cmocka_unit_test(test_long_kernels_are_progress),
        cmocka_unit_test(test_a_slow_file_system_does_not_look_stuck),
        cmocka_unit_test(test_a_pool_that_is_stuck_is_told_by_silence),
        cmocka_unit_test(test_without_a_watchdog_there_is_a_status),
        cmocka_unit_test(test_the_limit_is_read_for_this_process_only),
    };

    return cmocka_run_group_tests_name("beat", tests, NULL, NULL);
}
