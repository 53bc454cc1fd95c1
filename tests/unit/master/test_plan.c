/*
 * test_plan.c - daemon/master/session/plan.c and plan_table.c over workers that
 * fail, are late, or never answer.
 */
#include "tests/support/plan_rig.h"

/* ---- Plans --------------------------------------------------------------- */

static void test_a_plan_is_built_once_and_run_often(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    for (int i = 0; i < 3; i++) {
        mrig_run(s, &step, "|c:0,i:0|");
        assert_ended(step.done, &step.status, TFD_OK, "");
        assert_int_equal(step.plan, 1);
        assert_true(step.value[0] == 1);
        assert_true(step.value[1] == 2);
    }
    assert_int_equal(rig.worker[0].calls[FAKE_REGISTER], 1);
    assert_int_equal(rig.worker[1].calls[FAKE_REGISTER], 1);
    assert_int_equal(rig.worker[2].calls[FAKE_REGISTER], 0);
    assert_int_equal(rig.worker[1].calls[FAKE_RUN], 3);
    assert_int_equal(rig.worker[1].cleaned, 0); /* native: nothing is left */
    assert_int_equal(tfd_master_steps_done(rig.master), 3);
    mrig_close(&rig);
}

static void test_a_number_stands_for_the_names(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    mrig_run(s, &step, "|i:0|");
    mrig_run(s, &step, "p:0|q:0,c:0|n");
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_int_equal(step.plan, 2);
    mrig_step_init(&step, "||");
    step.run.plan = 2;
    step.run.feed_count = 1;
    tfd_session_run(s, &step.run);
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_int_equal(step.run.fetch_count, 2);
    assert_true(tfd_str_is(step.run.fetch_names[1], "c:0"));
    assert_true(step.value[1] == 2);
    mrig_close(&rig);
}

static void test_numbers_that_are_not_known(void **state)
{
    static const struct {
        uint32_t plan;
        int feeds;
        const char *text;
    } cases[] = {
        {2, 0, "Plan 2 is not known"},
        {4097, 0, "Plan 4097 is not known"}, /* another turn of slot 1 */
        {UINT32_MAX, 0, "Plan 4294967295 is not known"},
        {1, 1, "Plan 1 takes 0 feeds, 1 were given"},
    };
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    mrig_run(s, &step, "|i:0|");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mrig_step_init(&step, "||");
        step.run.plan = cases[i].plan;
        step.run.feed_count = cases[i].feeds;
        tfd_session_run(s, &step.run);
        assert_ended(step.done, &step.status, TFD_INVALID_ARGUMENT,
                     cases[i].text);
    }
    mrig_close(&rig);
}

static void test_a_fetch_asked_for_twice_is_answered_twice(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    mrig_run(s, &step, "|c:0,c,c:0|");
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_true(step.value[2] == 3);
    assert_true(fake_graph_has(&rig.worker[0], "c:0#2"));
    mrig_close(&rig);
}

static void test_what_no_plan_can_be_built_for(void **state)
{
    static const struct {
        const char *signature;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {"||", TFD_INVALID_ARGUMENT, "Must specify at least one target"},
        {"|x:0|", TFD_NOT_FOUND, "FetchOutputs node x:0: not found"},
        {"||x", TFD_NOT_FOUND, "Some target nodes not found: x "},
        {"p:0|p:0|", TFD_INVALID_ARGUMENT, "is both fed and fetched"},
    };
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mrig_run(s, &step, cases[i].signature);
        assert_ended(step.done, &step.status, cases[i].code, cases[i].text);
    }
    assert_int_equal(rig.worker[0].calls[FAKE_REGISTER], 0);
    assert_int_equal(s->plans_built, 0);
    mrig_close(&rig);
}

static void test_steps_wait_for_a_plan_that_is_being_built(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step[3];

    (void)state;
    hold(FAKE_REGISTER);
    for (int i = 0; i < 3; i++)
        mrig_run(s, &step[i], "|i:0|");
    assert_int_equal(rig.worker[1].calls[FAKE_REGISTER], 1);
    tfd_session_cancel(s, &step[1].run);
    assert_ended(step[1].done, &step[1].status, TFD_CANCELLED,
                 "cancelled by the client");
    fake_answer(&rig.worker[1], FAKE_REGISTER, TFD_OK, "");
    assert_int_equal(step[0].done + step[2].done, 0);
    fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, "");
    assert_ended(step[0].done, &step[0].status, TFD_OK, "");
    assert_ended(step[2].done, &step[2].status, TFD_OK, "");
    assert_int_equal(step[1].done, 1);
    assert_int_equal(rig.worker[1].calls[FAKE_RUN], 2);
    mrig_close(&rig);
}

static void test_closing_ends_steps_that_wait(void **state)
{
    struct mrig_result closed = {0};
    struct tfd_session *s = open_session();
    struct mrig_step step[2];

    (void)state;
    hold(FAKE_REGISTER);
    rig.worker[0].deaf = rig.worker[1].deaf = true;
    for (int i = 0; i < 2; i++)
        mrig_run(s, &step[i], "|i:0|");
    tfd_session_close(s, mrig_done, &closed);
    for (int i = 0; i < 2; i++)
        assert_ended(step[i].done, &step[i].status, TFD_CANCELLED,
                     "Step was cancelled by an explicit call to "
                     "`Session::Close()`.");
    assert_int_equal(closed.done, 0); /* a worker still builds */
    fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, "");
    fake_answer(&rig.worker[1], FAKE_REGISTER, TFD_OK, "");
    assert_ended(closed.done, &closed.status, TFD_OK, "");
    assert_int_equal(step[0].done + step[1].done, 2);
    mrig_close(&rig);
}

/* A peer may never answer. */
static void test_closing_lets_off_workers_that_build(void **state)
{
    struct mrig_result closed = {0};
    struct tfd_session *s = open_session();
    struct mrig_step step[2];

    (void)state;
    hold(FAKE_REGISTER);
    mrig_run(s, &step[0], "|i:0|");
    mrig_run(s, &step[1], "|c:0|");
    assert_true(fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, ""));
    tfd_session_close(s, mrig_done, &closed);
    assert_ended(closed.done, &closed.status, TFD_OK, "");
    for (int i = 0; i < 2; i++)
        assert_ended(step[i].done, &step[i].status, TFD_CANCELLED,
                     "explicit call");
    assert_int_equal(rig.worker[0].graphs_alive, 0); /* the one that came */
    assert_int_equal(fake_held_count(&rig.worker[1], FAKE_REGISTER), 0);
    mrig_close(&rig);
}

static void cancel_the_next(struct mrig_step *step)
{
    tfd_session_cancel(step->ctx, &step[1].run);
}

static void test_a_step_that_wakes_may_cancel_the_next(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step[3];

    (void)state;
    hold(FAKE_REGISTER);
    for (int i = 0; i < 3; i++) {
        mrig_step_init(&step[i], "|c:0|");
        step[i].ctx = s;
        step[i].then = i == 0 ? cancel_the_next : NULL;
        tfd_session_run(s, &step[i].run);
    }
    fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, "");
    assert_ended(step[0].done, &step[0].status, TFD_OK, "");
    assert_ended(step[1].done, &step[1].status, TFD_CANCELLED, "");
    assert_ended(step[2].done, &step[2].status, TFD_OK, "");
    mrig_close(&rig);
}

static void close_session(struct mrig_step *step)
{
    static struct mrig_result closed;

    memset(&closed, 0, sizeof(closed));
    tfd_session_close(step->ctx, mrig_done, &closed);
}

static void test_a_step_that_wakes_may_close_the_session(void **state)
{
    static const enum tfd_code codes[] = {TFD_OK, TFD_INTERNAL};

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct tfd_session *s = open_session();
        struct mrig_step step[3];

        hold(FAKE_REGISTER);
        for (int i = 0; i < 3; i++) {
            mrig_step_init(&step[i], "|c:0|");
            step[i].ctx = s;
            step[i].then = i == 0 ? close_session : NULL;
            tfd_session_run(s, &step[i].run);
        }
        fake_answer(&rig.worker[0], FAKE_REGISTER, codes[k], "no");
        assert_ended(step[0].done, &step[0].status, codes[k], "");
        for (int i = 1; i < 3; i++)
            assert_ended(step[i].done, &step[i].status, TFD_CANCELLED,
                         "Session::Close()");
        assert_int_equal(tfd_master_session_count(rig.master), 0);
        mrig_close(&rig);
    }
}

/* ---- Plans that fail ----------------------------------------------------- */

static void test_a_registration_that_fails_fails_the_steps(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step[2];

    (void)state;
    hold(FAKE_REGISTER);
    for (int i = 0; i < 2; i++)
        mrig_run(s, &step[i], "|i:0|");
    fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, "");
    fake_answer(&rig.worker[1], FAKE_REGISTER, TFD_INVALID_ARGUMENT, "bad");
    for (int i = 0; i < 2; i++)
        assert_ended(step[i].done, &step[i].status, TFD_INVALID_ARGUMENT,
                     PS "bad");
    assert_int_equal(rig.worker[0].deregistered, 1);
    assert_int_equal(rig.worker[1].deregistered, 0);
    mrig_close(&rig);
}

/* ---- Tasks that are lost meanwhile --------------------------------------- */

/* Others may wait for a link to the task, longer than anybody waits here. */
static void test_a_lost_task_ends_what_others_register(void **state)
{
    static const enum tfd_code codes[] = {TFD_UNAVAILABLE, TFD_ABORTED,
                                          TFD_DEADLINE_EXCEEDED};

    (void)state;
    for (int k = 0; k < 3; k++) {
        struct tfd_session *s = open_session();
        struct mrig_step step[2];

        hold(FAKE_REGISTER);
        for (int i = 0; i < 2; i++)
            mrig_run(s, &step[i], "|i:0|");
        fake_answer(&rig.worker[1], FAKE_REGISTER, codes[k], "it is gone");
        for (int i = 0; i < 2; i++)
            assert_ended(step[i].done, &step[i].status, codes[k],
                         PS "it is gone");
        assert_int_equal(fake_held_count(&rig.worker[0], FAKE_REGISTER), 0);
        mrig_close(&rig);
    }
}

/* It had registered its part; the others will never have their links. */
static void test_a_task_that_is_lost_after_it_registered(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step[2];

    (void)state;
    hold(FAKE_REGISTER);
    for (int i = 0; i < 2; i++)
        mrig_run(s, &step[i], "|i:0|");
    fake_answer(&rig.worker[1], FAKE_REGISTER, TFD_OK, "");
    mrig_changed(&rig, 2, false); /* not needed */
    mrig_changed(&rig, 3, false); /* never called */
    mrig_changed(&rig, 1, true);
    assert_int_equal(step[0].done + step[1].done, 0);
    mrig_changed(&rig, 1, false);
    for (int i = 0; i < 2; i++)
        assert_ended(step[i].done, &step[i].status, TFD_UNAVAILABLE,
                     PS "the connection to /job:ps/replica:0/task:0 was lost: "
                        "Socket closed");
    assert_int_equal(fake_held_count(&rig.worker[0], FAKE_REGISTER), 0);
    mrig_changed(&rig, 1, false); /* nobody waits any more */
    for (int i = 0; i < 2; i++)
        rig.worker[i].mode[FAKE_REGISTER] = FAKE_NOW;
    mrig_run(s, &step[0], "|i:0|"); /* it is back */
    assert_ended(step[0].done, &step[0].status, TFD_OK, "");
    mrig_close(&rig);
}

static void test_clients_that_hear_of_a_lost_task_may_close(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step[3];

    (void)state;
    hold(FAKE_REGISTER);
    for (int i = 0; i < 3; i++) {
        mrig_step_init(&step[i], i == 2 ? "|i:0,c:0|" : "|i:0|");
        step[i].ctx = s;
        step[i].then = i == 0 ? close_session : NULL;
        tfd_session_run(s, &step[i].run);
    }
    mrig_changed(&rig, 1, false);
    assert_ended(step[0].done, &step[0].status, TFD_UNAVAILABLE, "");
    for (int i = 1; i < 3; i++)
        assert_ended(step[i].done, &step[i].status, TFD_CANCELLED,
                     "Session::Close()");
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    mrig_close(&rig);
}

/* What the others register is then known, and taken back. */
static void test_a_failure_of_a_graph_waits_for_the_others(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_REGISTER);
    mrig_run(s, &step, "|i:0|");
    fake_answer(&rig.worker[1], FAKE_REGISTER, TFD_INVALID_ARGUMENT, "bad");
    assert_int_equal(step.done, 0);
    fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, "");
    assert_ended(step.done, &step.status, TFD_INVALID_ARGUMENT, PS "bad");
    assert_int_equal(rig.worker[0].graphs_alive, 0);
    mrig_close(&rig);
}

static void test_which_failures_of_a_plan_are_kept(void **state)
{
    static const struct {
        enum tfd_code code;
        bool kept;
    } cases[] = {
        {TFD_UNAVAILABLE, false},        {TFD_ABORTED, false},
        {TFD_DEADLINE_EXCEEDED, false},  {TFD_CANCELLED, false},
        {TFD_RESOURCE_EXHAUSTED, false}, {TFD_INVALID_ARGUMENT, true},
        {TFD_NOT_FOUND, true},           {TFD_INTERNAL, true},
        {TFD_UNIMPLEMENTED, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_session *s = open_session();
        struct mrig_step step;
        int64_t version;

        fake_fail(&rig.worker[1], FAKE_REGISTER, cases[i].code, "why");
        mrig_run(s, &step, "|i:0|");
        assert_ended(step.done, &step.status, cases[i].code, PS "why");
        fake_fail(&rig.worker[1], FAKE_REGISTER, TFD_OK, "");
        mrig_run(s, &step, "|i:0|");
        assert_ended(step.done, &step.status,
                     cases[i].kept ? cases[i].code : TFD_OK, "");
        assert_int_equal(mrig_extend(s, TFD_STR(""), 0, &version, NULL),
                         TFD_OK);
        mrig_run(s, &step, "|i:0|"); /* the graph has grown */
        assert_ended(step.done, &step.status, TFD_OK, "");
        mrig_close(&rig);
    }
}

/* ---- More plans than are kept -------------------------------------------- */

/* Signature number i: another order of targets each. */
static void run_number(struct tfd_session *s, struct mrig_step *step, int i)
{
    static const char *const targets[] = {"c", "n", "i", "d"};
    char text[200] = "|i:0|";

    for (int k = 0; k < 8; k++, i /= 4) {
        strcat(text, targets[i % 4]);
        strcat(text, ",");
    }
    mrig_run(s, step, text);
    assert_ended(step->done, &step->status, TFD_OK, "");
}

static void test_the_plan_unused_for_longest_makes_room(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    for (int i = 0; i < TFD_PLANS_PER_SESSION_MAX; i++)
        run_number(s, &step, i);
    run_number(s, &step, 0); /* used again: number 2 is the oldest now */
    assert_int_equal(rig.worker[1].graphs_alive, TFD_PLANS_PER_SESSION_MAX);
    for (int i = 0; i < 5; i++)
        run_number(s, &step, TFD_PLANS_PER_SESSION_MAX + i);
    assert_int_equal(s->plans_built, TFD_PLANS_PER_SESSION_MAX);
    assert_int_equal(rig.worker[1].graphs_alive, TFD_PLANS_PER_SESSION_MAX);
    assert_int_equal(rig.worker[1].deregistered, 5);
    assert_int_equal(s->plans[0]->state, TFD_PLAN_READY);
    assert_int_equal(s->plans[1]->state, TFD_PLAN_EMPTY);

    /* Its number is still good: it is built again. */
    mrig_step_init(&step, "||");
    step.run.plan = 2;
    tfd_session_run(s, &step.run);
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_int_equal(step.plan, 2);
    assert_int_equal(s->plans[1]->state, TFD_PLAN_READY);
    mrig_close(&rig);
}

static void test_plans_with_running_steps_are_kept(void **state)
{
    enum { COUNT = TFD_PLANS_PER_SESSION_MAX + 3 };
    struct mrig_step *step = calloc(COUNT, sizeof(*step));
    struct tfd_session *s = open_session();

    (void)state;
    assert_non_null(step);
    for (int i = 0; i < COUNT; i++)
        run_number(s, &step[i], i);
    assert_int_equal(rig.worker[1].deregistered, 3);
    rig.worker[1].mode[FAKE_RUN] = FAKE_HOLD;
    for (int i = 0; i < COUNT; i++) { /* all at once: none can be dropped */
        mrig_step_init(&step[i], "||");
        step[i].run.plan = (uint32_t)i + 1;
        tfd_session_run(s, &step[i].run);
    }
    assert_int_equal(s->plans_built, COUNT);
    while (fake_answer(&rig.worker[1], FAKE_RUN, TFD_OK, ""))
        continue;
    for (int i = 0; i < COUNT; i++)
        assert_ended(step[i].done, &step[i].status, TFD_OK, "");
    free(step);
    mrig_close(&rig);
}

static void test_old_names_are_forgotten_at_last(void **state)
{
    enum { MORE = 10 };
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    for (int i = 0; i < TFD_SIGNATURES_PER_SESSION_MAX + MORE; i++)
        run_number(s, &step, i);
    assert_int_equal(step.plan, TFD_SIGNATURES_PER_SESSION_MAX + MORE);
    assert_int_equal(s->plan_count, TFD_SIGNATURES_PER_SESSION_MAX);
    assert_int_equal(s->plan_by_key.count, TFD_SIGNATURES_PER_SESSION_MAX);
    mrig_step_init(&step, "||");
    step.run.plan = MORE; /* its slot has another plan now */
    tfd_session_run(s, &step.run);
    assert_ended(step.done, &step.status, TFD_INVALID_ARGUMENT,
                 "is not known, or not any more");
    run_number(s, &step, 0);
    assert_int_equal(step.plan, TFD_SIGNATURES_PER_SESSION_MAX + MORE + 1);
    mrig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_is_built_once_and_run_often),
        cmocka_unit_test(test_a_number_stands_for_the_names),
        cmocka_unit_test(test_numbers_that_are_not_known),
        cmocka_unit_test(test_a_fetch_asked_for_twice_is_answered_twice),
        cmocka_unit_test(test_what_no_plan_can_be_built_for),
        cmocka_unit_test(test_steps_wait_for_a_plan_that_is_being_built),
        cmocka_unit_test(test_closing_ends_steps_that_wait),
        cmocka_unit_test(test_closing_lets_off_workers_that_build),
        cmocka_unit_test(test_a_step_that_wakes_may_cancel_the_next),
        cmocka_unit_test(test_a_step_that_wakes_may_close_the_session),
        cmocka_unit_test(test_a_registration_that_fails_fails_the_steps),
        cmocka_unit_test(test_a_lost_task_ends_what_others_register),
        cmocka_unit_test(test_a_task_that_is_lost_after_it_registered),
        cmocka_unit_test(test_clients_that_hear_of_a_lost_task_may_close),
        cmocka_unit_test(test_a_failure_of_a_graph_waits_for_the_others),
        cmocka_unit_test(test_which_failures_of_a_plan_are_kept),
        cmocka_unit_test(test_the_plan_unused_for_longest_makes_room),
        cmocka_unit_test(test_plans_with_running_steps_are_kept),
        cmocka_unit_test(test_old_names_are_forgotten_at_last),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
