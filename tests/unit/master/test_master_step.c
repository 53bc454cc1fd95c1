/*
 * test_step.c - daemon/master/session/master_step.c over workers that fail, are
 * late, or never answer.
 */
#include "tests/support/plan_rig.h"

/* ---- Steps --------------------------------------------------------------- */

static void test_a_step_ends_when_all_its_parts_have(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &step, "|c:0,k:0|");
    assert_int_equal(tfd_master_step_count(rig.master), 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(step.done, 0);
        fake_answer(&rig.worker[i], FAKE_RUN, TFD_OK, "");
    }
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_int_equal(tfd_master_step_count(rig.master), 0);
    mrig_close(&rig);
}

/* ---- Tasks that are lost after their part -------------------------------- */

#define LOST PS "the connection to /job:ps/replica:0/task:0 was lost: "

/* What it pushed to the others died with it, and nobody else knows. */
static void test_a_task_that_is_lost_after_its_part_fails_the_step(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &step, "|c:0,k:0|");
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_OK, "");
    mrig_changed(&rig, 1, false);
    net_advance(&rig.loop, 100000);
    assert_int_equal(step.done, 0); /* it may have come */
    mrig_changed(&rig, 1, true);    /* another process */
    net_advance(&rig.loop, 1000000);
    assert_ended(step.done, &step.status, TFD_UNAVAILABLE, LOST);
    assert_int_equal(rig.worker[0].cancelled, 1);
    assert_int_equal(rig.worker[2].cancelled, 1);
    mrig_close(&rig);
}

static void test_steps_that_a_lost_task_does_not_matter_to(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step quick, other, later;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &quick, "|i:0|");
    mrig_run(s, &other, "|c:0|"); /* is on the master's task alone */
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_OK, "");
    mrig_changed(&rig, 1, false);
    mrig_run(s, &later, "|i:0|");
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_OK, "");
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_OK, ""); /* it had come */
    assert_ended(quick.done, &quick.status, TFD_OK, "");
    net_advance(&rig.loop, 1000000);
    assert_int_equal(other.done + later.done, 0);
    while (fake_answer(&rig.worker[0], FAKE_RUN, TFD_OK, ""))
        ;
    assert_ended(other.done, &other.status, TFD_OK, "");
    assert_ended(later.done, &later.status, TFD_OK, "");
    mrig_close(&rig);
}

/* It is asked for its tensors, and who asks hears of it. */
static void test_a_lost_task_that_is_asked_for_tensors(void **state)
{
    struct tfd_session *s;
    struct mrig_step step;

    (void)state;
    mrig_open(&rig, 3);
    rig.worker[1].foreign = true;
    s = mrig_session(&rig, NODES);
    hold(FAKE_RUN);
    mrig_run(s, &step, "|i:0|");
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_OK, "");
    mrig_changed(&rig, 1, false);
    net_advance(&rig.loop, 1000000);
    assert_int_equal(step.done, 0);
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_OK, "");
    assert_ended(step.done, &step.status, TFD_OK, "");
    mrig_close(&rig);
}

static void test_workers_that_pull_are_cleaned_up(void **state)
{
    struct tfd_session *s;
    struct mrig_step step;

    (void)state;
    mrig_open(&rig, 3);
    rig.worker[1].foreign = true;
    s = mrig_session(&rig, NODES);
    mrig_run(s, &step, "|k:0|");
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_int_equal(rig.worker[1].cleaned, 1);
    assert_int_equal(rig.worker[2].cleaned, 0);
    fake_fail(&rig.worker[2], FAKE_RUN, TFD_INTERNAL, "no");
    mrig_run(s, &step, "|k:0|");
    net_run(&rig.loop);
    assert_int_equal(step.status.code, TFD_INTERNAL);
    for (int i = 0; i < 3; i++) /* and after a failure everybody */
        assert_int_equal(rig.worker[i].cleaned, 1 + (i == 1));
    mrig_close(&rig);
}

static void test_a_failure_cancels_the_other_parts(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &step, "|c:0,k:0|");
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_INVALID_ARGUMENT,
                "bad\n\t [[{{node i}}]]");
    assert_int_equal(rig.worker[0].cancelled, 0); /* what else is there? */
    net_run(&rig.loop);
    assert_ended(step.done, &step.status, TFD_INVALID_ARGUMENT,
                 PS "bad\n\t [[{{node i}}]]");
    assert_string_equal(step.status.text, PS "bad\n\t [[{{node i}}]]");
    assert_int_equal(rig.worker[0].cancelled, 1);
    assert_int_equal(rig.worker[2].cancelled, 1);
    mrig_run(s, &step, "|c:0|"); /* the session goes on */
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_OK, "");
    assert_ended(step.done, &step.status, TFD_OK, "");
    mrig_close(&rig);
}

static void test_parts_may_end_while_others_are_started(void **state)
{
    static const struct {
        int fails; /* worker */
        enum tfd_code code;
    } cases[] = {{0, TFD_INTERNAL}, {1, TFD_INTERNAL}, {2, TFD_ABORTED}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_session *s = open_session();
        struct mrig_step step;

        mrig_run(s, &step, "|c:0,k:0|");
        hold(FAKE_RUN);
        fake_fail(&rig.worker[cases[i].fails], FAKE_RUN, cases[i].code, "no");
        mrig_run(s, &step, "|c:0,k:0|");
        net_run(&rig.loop);
        assert_ended(step.done, &step.status, cases[i].code, "no");
        assert_int_equal(rig.worker[0].held_count, 0);
        mrig_close(&rig);
    }
}

/* Parts fail in this order: master, ps 0, ps 1. */
static void test_failures_of_several_parts_become_one(void **state)
{
    static const struct {
        enum tfd_code code[3];
        enum tfd_code result;
        const char *text;
    } cases[] = {
        {{TFD_INTERNAL, TFD_CANCELLED, TFD_ABORTED}, TFD_INTERNAL, OWN "m"},
        {{TFD_OK, TFD_INTERNAL, TFD_CANCELLED}, TFD_INTERNAL, PS "p"},
        /* An echo that comes first is not the cause ... */
        {{TFD_CANCELLED, TFD_NOT_FOUND, TFD_OK}, TFD_NOT_FOUND, PS "p"},
        {{TFD_ABORTED, TFD_CANCELLED, TFD_UNAVAILABLE},
         TFD_UNAVAILABLE,
         PS1 "q"},
        /* ... unless there is no other. */
        {{TFD_ABORTED, TFD_CANCELLED, TFD_CANCELLED}, TFD_ABORTED, OWN "m"},
        {{TFD_INTERNAL, TFD_NOT_FOUND, TFD_OK},
         TFD_INTERNAL,
         RULE "INTERNAL: " OWN "m\nNOT_FOUND: " PS "p" RULE},
        {{TFD_INTERNAL, TFD_NOT_FOUND, TFD_DATA_LOSS},
         TFD_INTERNAL,
         RULE "INTERNAL: " OWN "m\nNOT_FOUND: " PS "p\nDATA_LOSS: " PS1
              "q" RULE},
    };
    static const char *const said[] = {"m", "p", "q"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_session *s = open_session();
        struct mrig_step step;

        hold(FAKE_RUN);
        for (int k = 0; k < 3; k++)
            rig.worker[k].deaf = true;
        mrig_run(s, &step, "|c:0,k:0|");
        for (int k = 0; k < 3; k++)
            fake_answer(&rig.worker[k], FAKE_RUN, cases[i].code[k], said[k]);
        net_run(&rig.loop);
        assert_ended(step.done, &step.status, cases[i].result, "");
        assert_string_equal(step.status.text, cases[i].text);
        mrig_close(&rig);
    }
}

/* Parts that obey a cancel are heard when they fail before it is sent. */
static void test_failures_that_are_there_are_told_together(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &step, "|c:0,k:0|");
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_NOT_FOUND, "p");
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_INTERNAL, "m");
    assert_int_equal(step.done, 0);
    net_run(&rig.loop);
    assert_ended(step.done, &step.status, TFD_NOT_FOUND, "");
    assert_string_equal(step.status.text,
                        RULE "NOT_FOUND: " PS "p\nINTERNAL: " OWN "m" RULE);
    assert_int_equal(rig.worker[2].cancelled, 1);
    mrig_run(s, &step, "|c:0,k:0|"); /* and the last to end may be a failure */
    for (int k = 0; k < 3; k++)
        fake_answer(&rig.worker[k], FAKE_RUN, k == 2 ? TFD_INTERNAL : TFD_OK,
                    k == 2 ? "q" : "");
    assert_ended(step.done, &step.status, TFD_INTERNAL, PS1 "q");
    mrig_close(&rig);
}

static void test_long_texts_of_failures_are_cut(void **state)
{
    struct tfd_session *s = open_session();
    char text[TFD_STATUS_TEXT_MAX];
    struct mrig_step step;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hold(FAKE_RUN);
    for (int k = 0; k < 3; k++)
        rig.worker[k].deaf = true;
    mrig_run(s, &step, "|c:0,k:0|");
    for (int k = 0; k < 3; k++)
        fake_answer(&rig.worker[k], FAKE_RUN, TFD_INTERNAL, text);
    net_run(&rig.loop);
    assert_ended(step.done, &step.status, TFD_INTERNAL, "...");
    assert_true(strlen(step.status.text) < TFD_STATUS_TEXT_MAX);
    mrig_close(&rig);
}

static void test_a_step_is_cancelled_by_its_client(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &step, "|c:0,k:0|");
    tfd_session_cancel(s, &step.run);
    assert_ended(step.done, &step.status, TFD_CANCELLED,
                 "RunStep was cancelled by the client");
    assert_int_equal(rig.worker[2].cancelled, 1);
    tfd_session_cancel(s, &step.run); /* too late: nothing happens */
    assert_int_equal(step.done, 1);
    mrig_close(&rig);
}

static void test_what_parts_say_after_a_cancel_is_not_added(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    for (int k = 0; k < 3; k++)
        rig.worker[k].deaf = true;
    mrig_run(s, &step, "|c:0,k:0|");
    tfd_session_cancel(s, &step.run);
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_INTERNAL, "m");
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_OK, "");
    tfd_session_cancel(s, &step.run);
    fake_answer(&rig.worker[2], FAKE_RUN, TFD_CANCELLED, "q");
    assert_ended(step.done, &step.status, TFD_CANCELLED, "");
    assert_string_equal(step.status.text,
                        "RunStep was cancelled by the client");
    mrig_close(&rig);
}

static void test_a_cancel_after_a_failure_changes_nothing(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    for (int k = 0; k < 3; k++)
        rig.worker[k].deaf = true;
    mrig_step_init(&step, "|c:0,k:0|");
    step.run.timeout_us = 1000;
    tfd_session_run(s, &step.run);
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_NOT_FOUND, "p");
    net_advance(&rig.loop, 1000);
    tfd_session_cancel(s, &step.run);
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_CANCELLED, "m");
    fake_answer(&rig.worker[2], FAKE_RUN, TFD_CANCELLED, "q");
    assert_ended(step.done, &step.status, TFD_NOT_FOUND, "");
    assert_string_equal(step.status.text, PS "p");
    mrig_close(&rig);
}

static void test_a_step_has_so_much_time(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_step_init(&step, "|c:0,k:0|");
    step.run.timeout_us = 700000;
    tfd_session_run(s, &step.run);
    net_advance(&rig.loop, 699999);
    assert_int_equal(step.done, 0);
    net_advance(&rig.loop, 1);
    assert_ended(step.done, &step.status, TFD_DEADLINE_EXCEEDED,
                 "Operation timed out.");
    assert_int_equal(rig.loop.timer_count, 0);
    mrig_run(s, &step, "|c:0,k:0|"); /* the session goes on, without a limit */
    net_advance(&rig.loop, 7000000);
    assert_int_equal(step.done, 0);
    mrig_close(&rig);
    assert_ended(step.done, &step.status, TFD_UNAVAILABLE, "is stopping");
}

static void test_time_spent_waiting_for_a_plan_counts(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step[2];

    (void)state;
    hold(FAKE_REGISTER);
    hold(FAKE_RUN);
    for (int i = 0; i < 2; i++) {
        mrig_step_init(&step[i], "|c:0|");
        step[i].run.timeout_us = i == 0 ? 1000 : 3000;
        tfd_session_run(s, &step[i].run);
    }
    net_advance(&rig.loop, 2000);
    fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, "");
    net_advance(&rig.loop, 0);
    assert_ended(step[0].done, &step[0].status, TFD_DEADLINE_EXCEEDED, "");
    assert_int_equal(step[1].done, 0);
    net_advance(&rig.loop, 1000);
    assert_ended(step[1].done, &step[1].status, TFD_DEADLINE_EXCEEDED, "");
    mrig_close(&rig);
}

static void test_steps_of_a_session_are_limited(void **state)
{
    enum { COUNT = TFD_STEPS_PER_SESSION_MAX + 2 };
    static const enum fake_kind held[] = {FAKE_RUN, FAKE_REGISTER};

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct mrig_step *step = calloc(COUNT, sizeof(*step));
        struct tfd_session *s = open_session();
        int refused = 0;

        assert_non_null(step);
        hold(held[k]);
        for (int i = 0; i < COUNT; i++) {
            mrig_run(s, &step[i], "|c:0|");
            if (step[i].done)
                refused++;
        }
        assert_int_equal(refused, 2 + k); /* a plan in building counts too */
        assert_ended(step[COUNT - 1].done, &step[COUNT - 1].status,
                     TFD_RESOURCE_EXHAUSTED, "the most allowed");
        mrig_close(&rig);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(step[i].done, 1);
        free(step);
    }
}

/* ---- Fetches ------------------------------------------------------------- */

static void test_a_dead_fetch_is_a_failure(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    mrig_run(s, &step, "|c:0,i:0|");
    rig.worker[0].fetch_count[1] = 1; /* the second stays empty */
    mrig_run(s, &step, "|c:0,i:0|");
    assert_ended(step.done, &step.status, TFD_INTERNAL,
                 OWN "Failed to fetch outputs for step ");
    assert_ended(
        step.done, &step.status, TFD_INTERNAL,
        ". (Original error message: The tensor returned for "
        "/job:worker/replica:0/task:0/device:CPU:0;00000000000003e9;"
        "/job:worker/replica:0/task:0/device:CPU:0;i:0;0:0 was not valid.)");
    mrig_close(&rig);
}

static void run_again(struct mrig_step *step)
{
    int *left = step->ctx;

    if (--*left == 0)
        return;
    step->done = 0;
    tfd_session_run(mrig_now->master->sessions, &step->run);
}

static void test_the_next_step_may_start_when_one_ends(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;
    int left = 50;

    (void)state;
    mrig_step_init(&step, "|c:0,i:0|");
    step.then = run_again;
    step.ctx = &left;
    tfd_session_run(s, &step.run);
    assert_int_equal(left, 0);
    assert_int_equal(tfd_master_steps_done(rig.master), 50);
    mrig_close(&rig);
}

static void test_step_ids_differ(void **state)
{
    int64_t seen[100];

    (void)state;
    mrig_open(&rig, 1);
    for (int i = 0; i < 100; i++) {
        seen[i] = tfd_master_step_id(rig.master);
        assert_true(seen[i] >= INT64_C(1) << 56);
        assert_true(seen[i] < INT64_C(1) << 57);
        for (int k = 0; k < i; k++)
            assert_true(seen[k] != seen[i]);
    }
    mrig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_ends_when_all_its_parts_have),
        cmocka_unit_test(
            test_a_task_that_is_lost_after_its_part_fails_the_step),
        cmocka_unit_test(test_steps_that_a_lost_task_does_not_matter_to),
        cmocka_unit_test(test_a_lost_task_that_is_asked_for_tensors),
        cmocka_unit_test(test_workers_that_pull_are_cleaned_up),
        cmocka_unit_test(test_a_failure_cancels_the_other_parts),
        cmocka_unit_test(test_parts_may_end_while_others_are_started),
        cmocka_unit_test(test_failures_of_several_parts_become_one),
        cmocka_unit_test(test_failures_that_are_there_are_told_together),
        cmocka_unit_test(test_long_texts_of_failures_are_cut),
        cmocka_unit_test(test_a_step_is_cancelled_by_its_client),
        cmocka_unit_test(test_what_parts_say_after_a_cancel_is_not_added),
        cmocka_unit_test(test_a_cancel_after_a_failure_changes_nothing),
        cmocka_unit_test(test_a_step_has_so_much_time),
        cmocka_unit_test(test_time_spent_waiting_for_a_plan_counts),
        cmocka_unit_test(test_steps_of_a_session_are_limited),
        cmocka_unit_test(test_a_dead_fetch_is_a_failure),
        cmocka_unit_test(test_the_next_step_may_start_when_one_ends),
        cmocka_unit_test(test_step_ids_differ),
    };

    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
