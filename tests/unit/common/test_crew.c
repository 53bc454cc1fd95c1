/*
 * test_crew.c - common/thread/crew.c: jobs that wait for each other all get a
 * thread, up to the limit.
 */
#include "common/base/container.h"
#include "common/thread/crew.h"
#include "common/thread/lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct meeting {
    struct tfd_lock lock;
    struct tfd_cond changed;
    int here, wanted, left, idle;
};

struct guest {
    struct tfd_job job;
    struct meeting *m;
};

static void meeting_init(struct meeting *m, int wanted)
{
    *m = (struct meeting){.wanted = wanted};
    tfd_lock_init(&m->lock, TFD_LOCK_RESOURCE);
    tfd_cond_init(&m->changed);
}

/* Each waits until all are there, so each needs a thread of its own. */
static void attend(struct tfd_job *job)
{
    struct meeting *m = TFD_CONTAINER_OF(job, struct guest, job)->m;

    tfd_lock(&m->lock);
    m->here++;
    tfd_cond_broadcast(&m->changed);
    while (m->here < m->wanted)
        tfd_cond_wait(&m->changed, &m->lock);
    m->left++;
    tfd_cond_broadcast(&m->changed);
    tfd_unlock(&m->lock);
}

static void note_idle(void *arg)
{
    struct meeting *m = arg;

    tfd_lock(&m->lock);
    m->idle++;
    tfd_cond_broadcast(&m->changed);
    tfd_unlock(&m->lock);
}

static void wait_idle(struct meeting *m, struct tfd_crew *c)
{
    int before = m->idle;

    if (!tfd_crew_when_idle(c, note_idle, m))
        return;
    tfd_lock(&m->lock);
    while (m->idle == before)
        tfd_cond_wait(&m->changed, &m->lock);
    tfd_unlock(&m->lock);
}

static void test_jobs_may_wait_for_each_other(void **state)
{
    struct tfd_crew *c = tfd_crew_new(20, NULL);
    struct guest guests[20];
    struct meeting m;

    (void)state;
    for (int round = 0; round < 3; round++) {
        meeting_init(&m, 20);
        for (int i = 0; i < 20; i++) {
            guests[i] = (struct guest){{.run = attend}, &m};
            assert_int_equal(tfd_crew_submit(c, &guests[i].job, NULL), TFD_OK);
        }
        wait_idle(&m, c);
        assert_int_equal(m.left, 20);
        assert_int_equal(tfd_crew_busy(c), 0);
    }
    tfd_crew_free(c);
}

static void test_more_than_the_limit_is_refused(void **state)
{
    struct tfd_crew *c = tfd_crew_new(2, NULL);
    struct tfd_status st = TFD_STATUS_INIT;
    struct guest guests[3];
    struct meeting m;

    (void)state;
    meeting_init(&m, 3);
    for (int i = 0; i < 3; i++)
        guests[i] = (struct guest){{.run = attend}, &m};
    assert_int_equal(tfd_crew_submit(c, &guests[0].job, &st), TFD_OK);
    assert_int_equal(tfd_crew_submit(c, &guests[1].job, &st), TFD_OK);
    assert_int_equal(tfd_crew_submit(c, &guests[2].job, &st),
                     TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(st.text,
                        "2 threads wait for others already, which is the "
                        "limit");
    tfd_lock(&m.lock);
    m.wanted = 2;
    tfd_cond_broadcast(&m.changed);
    tfd_unlock(&m.lock);
    wait_idle(&m, c);
    assert_int_equal(m.left, 2);
    tfd_crew_free(c);
}

static void test_nobody_at_work_is_idle_at_once(void **state)
{
    struct tfd_crew *c = tfd_crew_new(1, NULL);

    (void)state;
    assert_false(tfd_crew_when_idle(c, note_idle, NULL));
    tfd_crew_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_may_wait_for_each_other),
        cmocka_unit_test(test_more_than_the_limit_is_refused),
        cmocka_unit_test(test_nobody_at_work_is_idle_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
