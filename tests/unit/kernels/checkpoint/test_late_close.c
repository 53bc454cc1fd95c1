/*
 * test_late_close.c - replaced files are closed once each: by a thread of the
 * crew, or at once where there is none.
 */
#include "kernels/checkpoint/late_close.h"

#include "common/base/atomic.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int closed[10];
static sem_t idle;

static void note_close(struct tfd_file_access *a, struct tfd_file *f)
{
    (void)a;
    if (f->fd >= 0)
        TFD_COUNTER_ADD(&closed[f->fd], 1);
    f->fd = -1;
}

static struct tfd_file_access files = {.close = note_close};

static void note_idle(void *arg)
{
    (void)arg;
    assert_int_equal(sem_post(&idle), 0);
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        closed[i] = 0;
    return sem_init(&idle, 0, 0);
}

static void test_without_a_crew_at_once(void **state)
{
    struct tfd_file f[TFD_LATE_CLOSE_FILES] = {{3, 0}, {4, 0}};

    (void)state;
    tfd_late_close(NULL, &files, f);
    assert_int_equal(closed[3], 1);
    assert_int_equal(closed[4], 1);
    tfd_late_close(NULL, &files, f);
    assert_int_equal(closed[3], 1);
    assert_int_equal(closed[4], 1);
}

static void test_by_a_crew(void **state)
{
    struct tfd_file f[TFD_LATE_CLOSE_FILES] = {TFD_FILE_INIT, {7, 0}};
    struct tfd_crew *crew = tfd_crew_new(1, NULL);

    (void)state;
    assert_non_null(crew);
    tfd_late_close(crew, &files, f);
    assert_int_equal(f[1].fd, -1);
    if (tfd_crew_when_idle(crew, note_idle, NULL))
        assert_int_equal(sem_wait(&idle), 0);
    assert_int_equal(TFD_LOAD_RELAXED(&closed[7]), 1);
    tfd_crew_free(crew);
}

static void test_nothing_to_close_asks_nobody(void **state)
{
    struct tfd_file f[TFD_LATE_CLOSE_FILES] = {TFD_FILE_INIT, TFD_FILE_INIT};
    struct tfd_crew *crew = tfd_crew_new(1, NULL);

    (void)state;
    assert_non_null(crew);
    tfd_late_close(crew, &files, f);
    assert_int_equal(tfd_crew_busy(crew), 0);
    tfd_crew_free(crew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_without_a_crew_at_once, set_up),
        cmocka_unit_test_setup(test_by_a_crew, set_up),
        cmocka_unit_test_setup(test_nothing_to_close_asks_nobody, set_up),
    };

    return cmocka_run_group_tests_name("late_close", tests, NULL, NULL);
}
