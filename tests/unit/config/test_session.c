/*
 * test_session.c - daemon/master/session/session.c, session_grow.c, idle.c and
 * master.c: sessions are closed, reset, extended and abandoned.
 */
#include "tests/support/master_rig.h"

#include "config/limits.h"
#include "daemon/master/session/session_idle.h"
#include "rpc/core/links.h"

static struct mrig rig;

/* "c" on the master, "d" on ps 0. */
#define TWO_TASKS "c Const; d Const - /job:ps; i Relu d /job:ps; n NoOp"

/* ---- Closing ------------------------------------------------------------- */

static void test_closing_waits_for_workers_and_tells_all_who_wait(void **state)
{
    struct mrig_result first = {0}, second = {0};
    struct tfd_session *s, *found;
    char handle[TFD_SESSION_HANDLE_MAX];
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    mrig_open(&rig, 2);
    rig.worker[1].mode[FAKE_DELETE] = FAKE_HOLD;
    s = mrig_session(&rig, TWO_TASKS);
    snprintf(handle, sizeof(handle), "%s", tfd_session_handle(s));
    tfd_session_close(s, mrig_done, &first);
    tfd_session_close(s, mrig_done, &second);
    assert_int_equal(first.done + second.done, 0);
    assert_true(
        fake_answer(&rig.worker[1], FAKE_DELETE, TFD_UNAVAILABLE, "dead"));
    assert_ended(first.done, &first.status, TFD_OK, "");
    assert_ended(second.done, &second.status, TFD_OK, "");
    assert_int_equal(
        tfd_master_find(rig.master, tfd_str_of(handle), &found, &st),
        TFD_ABORTED);
    assert_non_null(strstr(st.text, "is not found."));
    mrig_close(&rig);
}

static void test_a_closed_session_takes_no_calls(void **state)
{
    struct mrig_result closed = {0};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *s;
    struct mrig_step step;
    int64_t version = 0;

    (void)state;
    mrig_open(&rig, 2);
    rig.worker[1].mode[FAKE_DELETE] = FAKE_HOLD;
    s = mrig_session(&rig, TWO_TASKS);
    tfd_session_close(s, mrig_done, &closed);
    mrig_run(s, &step, "|c:0|");
    assert_ended(step.done, &step.status, TFD_FAILED_PRECONDITION,
                 "Session is closed.");
    assert_int_equal(mrig_extend(s, TFD_STR(""), 0, &version, &st),
                     TFD_FAILED_PRECONDITION);
    mrig_close(&rig);
}

static void test_closing_ends_running_steps(void **state)
{
    struct mrig_result closed = {0};
    struct mrig_step step[3];
    struct tfd_session *s;

    (void)state;
    mrig_open(&rig, 2);
    s = mrig_session(&rig, TWO_TASKS);
    rig.worker[1].mode[FAKE_RUN] = FAKE_HOLD;
    for (int i = 0; i < 3; i++)
        mrig_run(s, &step[i], "|i:0|");
    rig.worker[1].deaf = true; /* ends its parts when it likes */
    tfd_session_close(s, mrig_done, &closed);
    assert_int_equal(rig.worker[1].cancelled, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(step[i].done + closed.done, 0);
        fake_answer(&rig.worker[1], FAKE_RUN, TFD_OK, "");
        assert_ended(step[i].done, &step[i].status, TFD_CANCELLED,
                     "Step was cancelled by an explicit call to "
                     "`Session::Close()`.");
    }
    assert_int_equal(closed.done, 1);
    assert_int_equal(tfd_master_steps_done(rig.master), 3);
    mrig_close(&rig);
}

static void close_and_run_again(struct mrig_step *s)
{
    struct mrig_step *next = s + 1;

    tfd_session_close(s->ctx, mrig_done, &((struct mrig_result *)(s + 2))[0]);
    mrig_run(s->ctx, next, "|c:0|");
}

static void test_a_session_may_be_closed_when_a_step_ends(void **state)
{
    struct {
        struct mrig_step step[2];
        struct mrig_result closed;
    } *a = calloc(1, sizeof(*a));
    struct tfd_session *s;

    (void)state;
    assert_non_null(a);
    mrig_open(&rig, 2);
    s = mrig_session(&rig, TWO_TASKS);
    mrig_step_init(&a->step[0], "|c:0,i:0|");
    a->step[0].then = close_and_run_again;
    a->step[0].ctx = s;
    tfd_session_run(s, &a->step[0].run);
    assert_ended(a->step[0].done, &a->step[0].status, TFD_OK, "");
    assert_ended(a->step[1].done, &a->step[1].status, TFD_FAILED_PRECONDITION,
                 "Session is closed.");
    assert_int_equal(a->closed.done, 1);
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    free(a);
    mrig_close(&rig);
}

/* ---- Reset --------------------------------------------------------------- */

static void test_a_reset_closes_sessions_and_clears_containers(void **state)
{
    const struct tfd_str names[] = {TFD_STR("a"), TFD_STR("")};
    const struct tfd_reset reset = {.containers = names, .container_count = 2};
    struct mrig_result result = {0};

    (void)state;
    mrig_open(&rig, 3);
    for (int i = 0; i < 5; i++)
        mrig_session(&rig, TWO_TASKS);
    assert_int_equal(tfd_master_session_count(rig.master), 5);
    rig.worker[1].mode[FAKE_CLEAN_ALL] = FAKE_HOLD;
    tfd_master_reset(rig.master, &reset, mrig_done, &result);
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    assert_int_equal(result.done, 0);
    fake_answer(&rig.worker[1], FAKE_CLEAN_ALL, TFD_OK, "");
    assert_ended(result.done, &result.status, TFD_OK, "");
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig.worker[i].containers, 2);
    mrig_close(&rig);
}

static void test_a_reset_does_not_fail_for_a_task_that_is_gone(void **state)
{
    const struct tfd_reset reset = {.container_count = 0};
    struct mrig_result result = {0};

    (void)state;
    mrig_open(&rig, 3);
    fake_fail(&rig.worker[1], FAKE_CLEAN_ALL, TFD_UNAVAILABLE, "gone");
    tfd_master_reset(rig.master, &reset, mrig_done, &result);
    assert_ended(result.done, &result.status, TFD_OK, "");
    assert_int_equal(rig.worker[2].calls[FAKE_CLEAN_ALL], 1);
    mrig_close(&rig);
}

#define CLOSE_US (TFD_CLOSE_MS * UINT64_C(1000))

static void test_a_reset_does_not_wait_for_a_silent_task(void **state)
{
    const struct tfd_reset reset = {.container_count = 0};
    struct mrig_result first = {0}, second = {0};

    (void)state;
    mrig_open(&rig, 3);
    rig.worker[1].mode[FAKE_CLEAN_ALL] = FAKE_HOLD;
    tfd_master_reset(rig.master, &reset, mrig_done, &first);
    net_advance(&rig.loop, CLOSE_US - 1);
    assert_int_equal(first.done, 0);
    net_advance(&rig.loop, 1);
    assert_ended(first.done, &first.status, TFD_OK, "");
    tfd_master_reset(rig.master, &reset, mrig_done, &second);
    fake_answer(&rig.worker[1], FAKE_CLEAN_ALL, TFD_OK, ""); /* late */
    assert_int_equal(second.done, 0);
    fake_answer(&rig.worker[1], FAKE_CLEAN_ALL, TFD_UNAVAILABLE, "gone");
    assert_ended(second.done, &second.status, TFD_OK, "");
    net_advance(&rig.loop, 2 * CLOSE_US);
    assert_int_equal(first.done + second.done, 2);
    mrig_close(&rig);
}

static void test_a_reset_waits_once_for_a_silent_task(void **state)
{
    const struct tfd_reset reset = {.container_count = 0};
    struct mrig_result result = {0};

    (void)state;
    mrig_open(&rig, 3);
    mrig_session(&rig, TWO_TASKS);
    rig.worker[1].mode[FAKE_DELETE] = FAKE_HOLD;
    rig.worker[1].mode[FAKE_CLEAN_ALL] = FAKE_HOLD;
    tfd_master_reset(rig.master, &reset, mrig_done, &result);
    net_advance(&rig.loop, CLOSE_US);
    assert_int_equal(rig.worker[0].calls[FAKE_CLEAN_ALL], 0);
    fake_answer(&rig.worker[1], FAKE_DELETE, TFD_DEADLINE_EXCEEDED, "silent");
    assert_int_equal(rig.worker[0].calls[FAKE_CLEAN_ALL], 1);
    net_advance(&rig.loop, CLOSE_US / 5);
    assert_ended(result.done, &result.status, TFD_OK, "");
    fake_answer(&rig.worker[1], FAKE_CLEAN_ALL, TFD_OK, "");
    mrig_close(&rig);
}

static void test_filters_of_a_reset(void **state)
{
    static const struct {
        struct tfd_str filter;
        int own, ps0, ps1;
        enum tfd_code code;
    } cases[] = {
        {TFD_STR_INIT("/job:ps"), 1, 1, 1, TFD_OK},
        {TFD_STR_INIT("/job:ps/task:1"), 1, 0, 1, TFD_OK},
        {TFD_STR_INIT("/job:worker"), 1, 0, 0, TFD_OK},
        {TFD_STR_INIT("ps"), 0, 0, 0, TFD_INVALID_ARGUMENT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_reset reset = {.filters = &cases[i].filter,
                                  .filter_count = 1};
        struct mrig_result result = {0};

        mrig_open(&rig, 3);
        mrig_session(&rig, TWO_TASKS);
        tfd_master_reset(rig.master, &reset, mrig_done, &result);
        assert_ended(result.done, &result.status, cases[i].code, "");
        assert_int_equal(rig.worker[0].calls[FAKE_CLEAN_ALL], cases[i].own);
        assert_int_equal(rig.worker[1].calls[FAKE_CLEAN_ALL], cases[i].ps0);
        assert_int_equal(rig.worker[2].calls[FAKE_CLEAN_ALL], cases[i].ps1);
        assert_int_equal(tfd_master_session_count(rig.master),
                         cases[i].code != TFD_OK);
        mrig_close(&rig);
    }
}

static void close_others(struct mrig_step *s)
{
    static struct mrig_result ignored;
    struct tfd_session **others = s->ctx;

    memset(&ignored, 0, sizeof(ignored));
    for (int i = 0; others[i]; i++)
        tfd_session_close(others[i], mrig_done, &ignored);
}

static void test_sessions_may_close_each_other_during_a_reset(void **state)
{
    const struct tfd_reset reset = {.container_count = 0};
    struct tfd_session *s[4] = {NULL}, *others[3] = {NULL};
    struct mrig_result result = {0};
    struct mrig_step step;

    (void)state;
    mrig_open(&rig, 2);
    for (int i = 0; i < 3; i++)
        s[i] = mrig_session(&rig, TWO_TASKS);
    others[0] = s[0];
    others[1] = s[1];
    rig.worker[1].mode[FAKE_RUN] = FAKE_HOLD;
    mrig_step_init(&step, "|i:0|");
    step.then = close_others;
    step.ctx = others;
    tfd_session_run(s[2], &step.run); /* the first in the table */
    tfd_master_reset(rig.master, &reset, mrig_done, &result);
    assert_ended(step.done, &step.status, TFD_CANCELLED, "");
    assert_ended(result.done, &result.status, TFD_OK, "");
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    mrig_close(&rig);
}

/* ---- Extending ----------------------------------------------------------- */

static enum tfd_code extend(struct tfd_session *s, const char *nodes,
                            int64_t version, int64_t *now,
                            struct tfd_status *st)
{
    struct tfd_bytes b = nodes_bytes(nodes);
    enum tfd_code rc = mrig_extend(s, tfd_bytes_view(&b), version, now, st);

    tfd_bytes_deinit(&b);
    return rc;
}

static void test_extending_counts_versions(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_session *s;
    int64_t version = -1;

    (void)state;
    mrig_open(&rig, 2);
    s = mrig_session(&rig, "");
    assert_int_equal(extend(s, "c Const", 0, &version, &st), TFD_OK);
    assert_int_equal(version, 1);
    assert_int_equal(extend(s, "d Relu c", 0, &version, &st), TFD_ABORTED);
    assert_string_equal(st.text, "Current version is 1 but caller expected 0.");
    assert_int_equal(extend(s, "d Relu c", 1, &version, NULL), TFD_OK);
    assert_int_equal(version, 2);
    mrig_close(&rig);
}

static void test_an_extension_that_fails_changes_nothing(void **state)
{
    static const struct {
        const char *nodes;
        const char *text;
    } cases[] = {
        {"c Const", "c"},
        {"x Relu nosuch", "nosuch"},
        {"x Const; y Const - /job:nosuch", "/job:nosuch"},
        {"x Const; y Const - /job:worker x; z Const - /job:ps x",
         "Cannot colocate nodes"},
    };
    struct tfd_session *s;
    struct mrig_step step;
    int64_t version = -1;

    (void)state;
    mrig_open(&rig, 2);
    s = mrig_session(&rig, "c Const");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        assert_true(extend(s, cases[i].nodes, 0, &version, &st) != TFD_OK);
        assert_non_null(strstr(st.text, cases[i].text));
        assert_int_equal(s->graph->count, 1);
        /* Without a status to look at, it is a failure too. */
        assert_true(extend(s, cases[i].nodes, 0, &version, NULL) != TFD_OK);
        assert_int_equal(version, -1);
    }
    assert_int_equal(extend(s, "x Relu c", 0, &version, NULL), TFD_OK);
    mrig_run(s, &step, "|x:0|");
    assert_ended(step.done, &step.status, TFD_OK, "");
    mrig_close(&rig);
}

static void
test_what_failed_before_may_run_once_the_graph_has_grown(void **state)
{
    struct tfd_session *s;
    struct mrig_step step;
    int64_t version = 0;

    (void)state;
    mrig_open(&rig, 2);
    s = mrig_session(&rig, "c Const");
    for (int i = 0; i < 2; i++) {
        mrig_run(s, &step, "|x:0|");
        assert_ended(step.done, &step.status, TFD_NOT_FOUND,
                     "FetchOutputs node x:0: not found");
    }
    assert_int_equal(extend(s, "x Relu c", 0, &version, NULL), TFD_OK);
    mrig_run(s, &step, "|x:0|");
    assert_ended(step.done, &step.status, TFD_OK, "");
    mrig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closing_waits_for_workers_and_tells_all_who_wait),
        cmocka_unit_test(test_a_closed_session_takes_no_calls),
        cmocka_unit_test(test_closing_ends_running_steps),
        cmocka_unit_test(test_a_session_may_be_closed_when_a_step_ends),
        cmocka_unit_test(test_a_reset_closes_sessions_and_clears_containers),
        cmocka_unit_test(test_a_reset_does_not_fail_for_a_task_that_is_gone),
        cmocka_unit_test(test_a_reset_does_not_wait_for_a_silent_task),
        cmocka_unit_test(test_a_reset_waits_once_for_a_silent_task),
        cmocka_unit_test(test_filters_of_a_reset),
        cmocka_unit_test(test_sessions_may_close_each_other_during_a_reset),
        cmocka_unit_test(test_extending_counts_versions),
        cmocka_unit_test(test_an_extension_that_fails_changes_nothing),
        cmocka_unit_test(
            test_what_failed_before_may_run_once_the_graph_has_grown),
    };

    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
