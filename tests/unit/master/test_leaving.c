/*
 * test_leaving.c - daemon/master/session/leaving.c: who saves before a task
 * stops, and what workers are told of a session's end.
 */
#include "tests/support/master_rig.h"

#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/leaving.h"
#include "rpc/core/links.h"

#include <stddef.h>

#define NODES "c Const; d Const - /job:ps"
#define SAVES TFD_STR("\xc8\x3e\x01") /* saves_before_tasks_leave: true */

static struct mrig rig;

/* ---- Saving before a task leaves ----------------------------------------- */

struct waiter {
    struct tfd_leaving leaving; /* first */
    int saved;
};

static void saved(struct tfd_leaving *l)
{
    ((struct waiter *)l)->saved++;
}

static struct waiter waiter(void)
{
    return (struct waiter){{.saved = saved}, 0};
}

static struct tfd_session *open_with(struct tfd_str config)
{
    struct mrig_result result;

    assert_null(mrig_create(&rig, &result, NODES, config));
    assert_int_equal(result.status.code, TFD_OK);
    return result.session;
}

static void close_now(struct tfd_session *s)
{
    struct mrig_result result = {0};

    tfd_session_close(s, mrig_done, &result);
    assert_int_equal(result.done, 1);
}

static void test_nobody_is_waited_for_who_does_not_save(void **state)
{
    struct waiter w = waiter();

    (void)state;
    mrig_open(&rig, 2);
    tfd_master_task_leaves(rig.master, 1, &w.leaving);
    assert_int_equal(w.saved, 1);
    open_with(TFD_STR_EMPTY);
    open_with(TFD_STR("\xc8\x3e\x00")); /* false */
    tfd_master_task_leaves(rig.master, 1, &w.leaving);
    assert_int_equal(w.saved, 2);
    mrig_close(&rig);
}

static void test_sessions_that_save_are_waited_for(void **state)
{
    struct waiter one = waiter(), two = waiter(), gone = waiter();
    struct tfd_session *a, *b, *other, *late;

    (void)state;
    mrig_open(&rig, 2);
    a = open_with(SAVES);
    b = open_with(SAVES);
    other = open_with(TFD_STR_EMPTY);
    tfd_master_task_leaves(rig.master, 1, &one.leaving);
    tfd_master_task_leaves(rig.master, 1, &gone.leaving);
    tfd_master_task_leaves(rig.master, 1, &two.leaving);
    tfd_master_leaving_forget(rig.master, &gone.leaving);
    tfd_master_leaving_forget(rig.master, &gone.leaving);
    assert_true(a->task_leaves && b->task_leaves && !other->task_leaves);
    late = open_with(SAVES); /* knows nothing of it, and is not asked */
    assert_false(late->task_leaves);
    close_now(a);
    close_now(other);
    assert_int_equal(one.saved + two.saved, 0);
    close_now(b);
    assert_int_equal(one.saved, 1);
    assert_int_equal(two.saved, 1);
    assert_int_equal(gone.saved, 0);
    close_now(late);
    assert_int_equal(one.saved, 1);
    mrig_close(&rig);
}

static void test_local_clients_know_that_their_server_stops(void **state)
{
    struct waiter own = waiter(), peer = waiter();
    struct tfd_session *local, *remote, *dead;
    struct tfd_links links = {0};
    uint64_t link, broken;

    (void)state;
    mrig_open(&rig, 2);
    rig.master->o.links = &links;
    link = tfd_links_add(&links);
    broken = tfd_links_add(&links);
    tfd_links_remove(&links, broken);
    local = open_with(SAVES);
    remote = open_with(SAVES);
    remote->link = link;
    dead = open_with(SAVES);
    dead->link = broken;
    tfd_master_task_leaves(rig.master, TFD_LEAVES_OWN, &own.leaving);
    assert_true(remote->task_leaves && !local->task_leaves);
    assert_false(dead->task_leaves); /* nobody is there to save it */
    assert_true(tfd_master_leaving_link(rig.master, link));
    assert_false(tfd_master_leaving_link(rig.master, 0));
    assert_false(tfd_master_leaving_link(rig.master, broken));
    remote->link = 0;
    close_now(remote);
    assert_int_equal(own.saved, 1);
    tfd_master_task_leaves(rig.master, 1, &peer.leaving);
    assert_true(local->task_leaves);
    tfd_master_leaving_forget(rig.master, &peer.leaving);
    mrig_close(&rig);
    assert_int_equal(peer.saved, 0);
    tfd_links_deinit(&links);
}

/* ---- Ending what runs before a task leaves ------------------------------- */

#define BOTH "|c:0,d:0|"

static void hold_steps(void)
{
    rig.worker[0].mode[FAKE_RUN] = rig.worker[1].mode[FAKE_RUN] = FAKE_HOLD;
}

static void end_part(int worker)
{
    assert_true(fake_answer(&rig.worker[worker], FAKE_RUN, TFD_OK, ""));
}

/* Such as a save of a client that knows nothing of this. */
static void test_steps_that_the_task_did_its_part_of_are_waited_for(void **st)
{
    struct waiter w = waiter();
    struct mrig_step first, second, later;
    struct tfd_session *s;

    (void)st;
    mrig_open(&rig, 2);
    s = open_with(TFD_STR_EMPTY);
    hold_steps();
    mrig_run(s, &first, BOTH);
    mrig_run(open_with(TFD_STR_EMPTY), &second, BOTH);
    end_part(1);
    end_part(1);
    tfd_master_task_leaves(rig.master, 1, &w.leaving);
    mrig_run(s, &later, BOTH); /* nobody waits for it */
    end_part(0);
    assert_int_equal(first.done + w.saved, 1);
    end_part(0);
    assert_int_equal(second.done + w.saved, 2);
    assert_int_equal(later.done, 0);
    assert_int_equal(second.status.code, TFD_OK);
    mrig_close(&rig);
    assert_int_equal(w.saved, 1);
}

/* Steps without the task, those of its own drain, and a task never called. */
static void test_steps_that_need_no_waiting(void **state)
{
    struct waiter other = waiter(), own = waiter(), unknown = waiter();
    struct mrig_step alone, both;
    struct tfd_session *s;

    (void)state;
    mrig_open(&rig, 2);
    s = open_with(TFD_STR_EMPTY);
    hold_steps();
    mrig_run(s, &alone, "|c:0|");
    tfd_master_task_leaves(rig.master, 1, &other.leaving);
    assert_int_equal(other.saved, 1);
    mrig_run(s, &both, BOTH);
    tfd_master_task_leaves(rig.master, TFD_LEAVES_OWN, &own.leaving);
    assert_int_equal(own.saved, 1);
    tfd_master_task_leaves(rig.master, 3, &unknown.leaving);
    assert_int_equal(unknown.saved, 1);
    mrig_close(&rig);
}

/* A failure, and a session that is closed, end the waiting, too. */
static void test_waiting_for_a_step_ends_however_it_ends(void **state)
{
    struct waiter w = waiter(), gone = waiter();
    struct mrig_step step;
    struct tfd_session *s;

    (void)state;
    mrig_open(&rig, 2);
    for (int closed = 0; closed < 2; closed++) {
        struct mrig_result result = {0};

        s = open_with(TFD_STR_EMPTY);
        hold_steps();
        mrig_run(s, &step, BOTH);
        end_part(1);
        tfd_master_task_leaves(rig.master, 1, &w.leaving);
        tfd_master_task_leaves(rig.master, 1, &gone.leaving);
        tfd_master_leaving_forget(rig.master, &gone.leaving);
        assert_int_equal(w.saved, closed);
        if (closed)
            tfd_session_close(s, mrig_done, &result);
        fake_answer(&rig.worker[0], FAKE_RUN, TFD_DATA_LOSS, "full");
        assert_int_equal(step.done, 1);
        assert_int_equal(w.saved, closed + 1);
    }
    mrig_close(&rig);
    assert_int_equal(gone.saved, 0);
}

/* ---- What workers are told of an end ------------------------------------- */

static enum tfd_session_end told(void)
{
    return rig.worker[1].last_end;
}

static void test_a_worker_hears_whether_clients_have_other_sessions(void **st)
{
    struct tfd_links links = {0};
    struct tfd_session *a, *b, *c;
    uint64_t link;

    (void)st;
    mrig_open(&rig, 2);
    rig.master->o.links = &links;
    link = tfd_links_add(&links);
    a = open_with(TFD_STR_EMPTY);
    b = open_with(TFD_STR_EMPTY);
    c = open_with(TFD_STR_EMPTY);
    tfd_session_use(b, link);
    tfd_session_use(c, link);
    close_now(b);
    assert_int_equal(told(), TFD_SESSION_ONE);
    close_now(a); /* of this process */
    assert_int_equal(told(), TFD_SESSION_ONE);
    a = open_with(TFD_STR_EMPTY);
    tfd_links_remove(&links, link); /* c's client was killed */
    close_now(a);
    assert_int_equal(told(), TFD_SESSION_LAST);
    close_now(c);
    assert_int_equal(told(), TFD_SESSION_LAST);
    mrig_close(&rig);
    tfd_links_deinit(&links);
}

static void test_a_worker_hears_that_a_session_was_abandoned(void **state)
{
    struct tfd_links links = {0};
    uint64_t link;

    (void)state;
    mrig_open(&rig, 2);
    rig.master->o.links = &links;
    rig.master->o.session_idle_us = 1000000;
    tfd_master_watch_idle(rig.master);
    link = tfd_links_add(&links);
    tfd_session_use(open_with(TFD_STR_EMPTY), link);
    tfd_links_remove(&links, link);
    net_advance(&rig.loop, 3000000);
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    assert_int_equal(told(), TFD_SESSION_BROKEN);
    tfd_master_stop_watching(rig.master);
    mrig_close(&rig);
    tfd_links_deinit(&links);
}

/* Trainers close their sessions when a task is lost or is to go, and open
 * others when it is back. */
static void test_closing_for_a_task_is_no_exit(void **state)
{
    static const enum tfd_code lost[] = {TFD_UNAVAILABLE, TFD_ABORTED};
    static const enum tfd_code other[] = {TFD_OK, TFD_OUT_OF_RANGE,
                                          TFD_CANCELLED, TFD_DEADLINE_EXCEEDED};
    struct tfd_session *s;

    (void)state;
    mrig_open(&rig, 2);
    for (int i = 0; i < 2; i++) {
        s = open_with(TFD_STR_EMPTY);
        tfd_session_heard(s, lost[i]);
        close_now(s);
        assert_int_equal(told(), TFD_SESSION_BROKEN);
    }
    for (int i = 0; i < 4; i++) { /* it went on after a loss */
        s = open_with(TFD_STR_EMPTY);
        tfd_session_heard(s, TFD_UNAVAILABLE);
        tfd_session_heard(s, other[i]);
        close_now(s);
        assert_int_equal(told(), TFD_SESSION_LAST);
    }
    s = open_with(SAVES);
    s->task_leaves = true;
    close_now(s);
    assert_int_equal(told(), TFD_SESSION_BROKEN);
    mrig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_waited_for_who_does_not_save),
        cmocka_unit_test(test_sessions_that_save_are_waited_for),
        cmocka_unit_test(test_local_clients_know_that_their_server_stops),
        cmocka_unit_test(
            test_steps_that_the_task_did_its_part_of_are_waited_for),
        cmocka_unit_test(test_steps_that_need_no_waiting),
        cmocka_unit_test(test_waiting_for_a_step_ends_however_it_ends),
        cmocka_unit_test(
            test_a_worker_hears_whether_clients_have_other_sessions),
        cmocka_unit_test(test_a_worker_hears_that_a_session_was_abandoned),
        cmocka_unit_test(test_closing_for_a_task_is_no_exit),
    };

    return cmocka_run_group_tests_name("leaving", tests, NULL, NULL);
}
