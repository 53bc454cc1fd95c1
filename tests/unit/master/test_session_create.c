/*
 * test_session_create.c - daemon/master/session/session_create.c and
 * session_ask.c over workers that fail, are late, or never answer.
 */
#include "tests/support/master_rig.h"

#define HALF_SECOND 500000

static struct mrig rig;

/* "c" on the master, "d" on ps 0. */
#define TWO_TASKS "c Const; d Const - /job:ps; i Relu d /job:ps; n NoOp"

/* ---- Creating ------------------------------------------------------------ */

static void test_a_session_opens_on_every_task(void **state)
{
    struct tfd_session *s, *found;

    (void)state;
    mrig_open(&rig, 4);
    s = mrig_session(&rig, TWO_TASKS);
    assert_int_equal(s->worker_count, 4);
    assert_int_equal(tfd_session_devices(s)->count, 4);
    assert_string_equal(tfd_session_devices(s)->devices[0].attributes.name,
                        "/job:worker/replica:0/task:0/device:CPU:0");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rig.worker[i].calls[FAKE_STATUS], 1);
        assert_int_equal(rig.worker[i].calls[FAKE_CREATE], 1);
        assert_string_equal(rig.worker[i].last_session, tfd_session_handle(s));
    }
    assert_true(rig.activity > 0);
    assert_int_equal(tfd_master_session_count(rig.master), 1);
    assert_int_equal(tfd_master_find(rig.master,
                                     tfd_str_of(tfd_session_handle(s)), &found,
                                     NULL),
                     TFD_OK);
    assert_ptr_equal(found, s);
    mrig_close(&rig);
}

static void test_device_filters_leave_tasks_out(void **state)
{
    /* device_filters: "/job:ps/task:1" */
    const struct tfd_str config = TFD_STR("\x22\x0e/job:ps/task:1");
    struct mrig_result result;

    (void)state;
    mrig_open(&rig, 4);
    mrig_create(&rig, &result, "c Const", config);
    assert_ended(result.done, &result.status, TFD_OK, "");
    assert_int_equal(result.session->worker_count, 2);
    assert_int_equal(rig.worker[1].calls[FAKE_STATUS], 0);
    assert_int_equal(rig.worker[2].calls[FAKE_CREATE], 1);
    mrig_close(&rig);
}

static void test_what_cannot_be_a_session_fails_at_once(void **state)
{
    static const struct {
        const char *nodes;
        struct tfd_str config;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {"c Const", TFD_STR_INIT("\xff"), TFD_INVALID_ARGUMENT, ""},
        {"c Const", TFD_STR_INIT("\x22\x03:-("), TFD_INVALID_ARGUMENT,
         "Invalid device filter ':-('"},
        {"c Const", TFD_STR_INIT("\x72\x02\x0a\x00"), TFD_INVALID_ARGUMENT,
         "is not included in the provided cluster_def"},
        {"c Const", TFD_STR_INIT("\x72\x01\x0a"), TFD_INVALID_ARGUMENT, ""},
        {"c Const; c Const", TFD_STR_INIT(""), TFD_INVALID_ARGUMENT, "c"},
        {"i Relu c", TFD_STR_INIT(""), TFD_INVALID_ARGUMENT, "c"},
        {"x Unheard", TFD_STR_INIT(""), TFD_NOT_FOUND,
         "Op type not registered 'Unheard'"},
        {"c Const - /job:nosuch", TFD_STR_INIT(""), TFD_INVALID_ARGUMENT,
         "{{node c}} was explicitly assigned to /job:nosuch"},
    };

    (void)state;
    mrig_open(&rig, 2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mrig_result result;

        assert_null(
            mrig_create(&rig, &result, cases[i].nodes, cases[i].config));
        assert_ended(result.done, &result.status, cases[i].code, cases[i].text);
        assert_int_equal(rig.worker[1].calls[FAKE_CREATE], 0);
    }
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    mrig_close(&rig);
}

/* ---- Tasks that are missing ---------------------------------------------- */

static void test_a_task_that_refuses_is_asked_again(void **state)
{
    struct mrig_result result;

    (void)state;
    mrig_open(&rig, 3);
    fake_fail(&rig.worker[1], FAKE_STATUS, TFD_UNAVAILABLE, "refused");
    assert_non_null(mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY));
    assert_int_equal(rig.worker[1].calls[FAKE_STATUS], 1);
    net_advance(&rig.loop, 3 * HALF_SECOND);
    assert_int_equal(rig.worker[1].calls[FAKE_STATUS], 4);
    assert_int_equal(rig.worker[2].calls[FAKE_STATUS], 1);
    assert_int_equal(result.done, 0);
    fake_fail(&rig.worker[1], FAKE_STATUS, TFD_OK, "");
    net_advance(&rig.loop, HALF_SECOND);
    assert_ended(result.done, &result.status, TFD_OK, "");
    mrig_close(&rig);
}

static void test_another_task_at_the_address_may_go_away(void **state)
{
    struct mrig_result result;

    (void)state;
    mrig_open_waiting(&rig, 2, 2 * HALF_SECOND);
    rig.worker[1].device_count = 0;
    fake_device(&rig.worker[1], "/job:ps/replica:0/task:7");
    mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    net_advance(&rig.loop, HALF_SECOND);
    assert_int_equal(result.done, 0);
    rig.worker[1].device_count = 0;
    fake_device(&rig.worker[1], mrig_tasks[1]);
    net_advance(&rig.loop, HALF_SECOND - 1);
    assert_int_equal(result.done, 0);
    net_advance(&rig.loop, 1); /* the wait is over, and not asked again */
    assert_ended(result.done, &result.status, TFD_DEADLINE_EXCEEDED,
                 "no answer within 1 s from 1 of 2 tasks: "
                 "/job:ps/replica:0/task:0 at h1:1 (another task answered, "
                 "with device /job:ps/replica:0/task:7/device:CPU:0)");
    mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    assert_ended(result.done, &result.status, TFD_OK, "");
    mrig_close(&rig);
}

static void test_missing_tasks_are_named_each_with_its_reason(void **state)
{
    struct mrig_result result;

    (void)state;
    mrig_open_waiting(&rig, 4, 3 * HALF_SECOND + 1);
    fake_fail(&rig.worker[1], FAKE_STATUS, TFD_UNAVAILABLE, "draining");
    rig.worker[2].mode[FAKE_STATUS] = FAKE_HOLD;
    rig.worker[2].deaf = true;
    rig.worker[3].mode[FAKE_STATUS] = FAKE_HOLD;
    snprintf(rig.worker[3].trouble, sizeof(rig.worker[3].trouble),
             "connection refused");
    mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    net_advance(&rig.loop, 3 * HALF_SECOND);
    assert_int_equal(result.done, 0);
    net_advance(&rig.loop, 1);
    assert_ended(result.done, &result.status, TFD_DEADLINE_EXCEEDED,
                 "from 3 of 4 tasks: /job:ps/replica:0/task:0 at h1:1 "
                 "(draining), /job:ps/replica:0/task:1 at h2:1 (it is silent), "
                 "/job:worker/replica:0/task:1 at h3:1 (connection refused)");
    /* A question that is out is not asked twice; its answer finds nobody. */
    assert_int_equal(rig.worker[2].calls[FAKE_STATUS], 1);
    assert_true(rig.worker[2].held[0].cancelled);
    assert_true(fake_answer(&rig.worker[2], FAKE_STATUS, TFD_OK, ""));
    assert_int_equal(rig.worker[3].held_count, 0); /* it is let off */
    assert_int_equal(result.done, 1);
    mrig_close(&rig);
}

static void test_a_question_may_run_out_of_time_and_is_asked_again(void **state)
{
    struct mrig_result result;

    (void)state;
    mrig_open(&rig, 2);
    rig.worker[1].mode[FAKE_STATUS] = FAKE_HOLD;
    mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    assert_true(fake_answer(&rig.worker[1], FAKE_STATUS, TFD_DEADLINE_EXCEEDED,
                            "Deadline Exceeded"));
    net_advance(&rig.loop, HALF_SECOND);
    assert_int_equal(fake_held_count(&rig.worker[1], FAKE_STATUS), 1);
    assert_true(fake_answer(&rig.worker[1], FAKE_STATUS, TFD_OK, ""));
    assert_ended(result.done, &result.status, TFD_OK, "");
    mrig_close(&rig);
}

static void test_without_a_wait_tasks_are_asked_for_ever(void **state)
{
    struct mrig_result result;
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_create *c;

    (void)state;
    mrig_open_waiting(&rig, 2, 0);
    fake_fail(&rig.worker[1], FAKE_STATUS, TFD_UNAVAILABLE, "refused");
    c = mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    net_advance(&rig.loop, UINT64_C(3600) * 1000000);
    assert_int_equal(result.done, 0);
    assert_int_equal(rig.worker[1].calls[FAKE_STATUS], 7201);
    (void)tfd_fail(&why, TFD_CANCELLED, "enough");
    tfd_master_cancel_create(c, &why);
    assert_ended(result.done, &result.status, TFD_CANCELLED, "enough");
    assert_int_equal(rig.loop.timer_count, 0);
    mrig_close(&rig);
}

static void test_other_failures_end_the_creation(void **state)
{
    static const enum tfd_code codes[] = {TFD_UNIMPLEMENTED,     TFD_INTERNAL,
                                          TFD_PERMISSION_DENIED, TFD_CANCELLED,
                                          TFD_ABORTED,           TFD_UNKNOWN};

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct mrig_result result;

        mrig_open(&rig, 3);
        rig.worker[2].mode[FAKE_STATUS] = FAKE_HOLD;
        fake_fail(&rig.worker[1], FAKE_STATUS, codes[i], "no");
        assert_null(mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY));
        assert_ended(result.done, &result.status, codes[i],
                     "GetStatus of /job:ps/replica:0/task:0: no");
        mrig_close(&rig);
    }
}

static void test_devices_must_be_whole_and_there(void **state)
{
    static const struct {
        int worker;
        const char *name; /* NULL: it has no device */
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {0, NULL, TFD_INTERNAL, "/job:worker/replica:0/task:0 has no device"},
        {1, NULL, TFD_OK, ""},
        {1, "/job:ps/replica:0/task:0", TFD_INTERNAL,
         "Worker sent device name '/job:ps/replica:0/task:0'"},
        {1, "CPU", TFD_INVALID_ARGUMENT, "Malformed device specification"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mrig_result result;
        struct fake_worker *f = &rig.worker[cases[i].worker];

        mrig_open(&rig, 2);
        f->device_count = cases[i].name ? 1 : 0;
        if (cases[i].name)
            snprintf(f->devices[0].name, sizeof(f->devices[0].name), "%s",
                     cases[i].name);
        mrig_create(&rig, &result, "c Const", TFD_STR_EMPTY);
        assert_ended(result.done, &result.status, cases[i].code, cases[i].text);
        mrig_close(&rig);
    }
}

/* ---- Worker sessions ----------------------------------------------------- */

static void test_a_worker_without_a_session_is_no_session(void **state)
{
    struct mrig_result result;

    (void)state;
    mrig_open(&rig, 3);
    fake_fail(&rig.worker[1], FAKE_CREATE, TFD_UNAVAILABLE, "Socket closed");
    fake_fail(&rig.worker[2], FAKE_CREATE, TFD_INTERNAL, "later");
    mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    assert_ended(result.done, &result.status, TFD_UNAVAILABLE,
                 "From /job:ps/replica:0/task:0:\nSocket closed");
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    for (int i = 0; i < 3; i++) /* what was made is deleted */
        assert_int_equal(rig.worker[i].calls[FAKE_DELETE], 1);
    mrig_close(&rig);
}

static void test_a_creation_may_be_cancelled_in_every_state(void **state)
{
    static const enum fake_kind held[] = {FAKE_STATUS, FAKE_CREATE};
    struct tfd_status why = TFD_STATUS_INIT;

    (void)state;
    (void)tfd_fail(&why, TFD_CANCELLED, "the client left");
    for (int i = 0; i < 2; i++) {
        struct mrig_result result;
        struct tfd_create *c;

        mrig_open(&rig, 3);
        rig.worker[1].deaf = true;
        rig.worker[1].mode[held[i]] = FAKE_HOLD;
        c = mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
        tfd_master_cancel_create(c, &why);
        assert_ended(result.done, &result.status, TFD_CANCELLED,
                     "the client left");
        assert_true(fake_answer(&rig.worker[1], held[i], TFD_OK, ""));
        assert_int_equal(result.done, 1);
        assert_int_equal(tfd_master_session_count(rig.master), 0);
        assert_int_equal(rig.worker[2].calls[FAKE_DELETE], i);
        mrig_close(&rig);
    }
}

static void test_the_end_of_the_master_ends_creations(void **state)
{
    static const enum fake_kind held[] = {FAKE_STATUS, FAKE_CREATE};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct mrig_result first, second, closed = {0};

        mrig_open(&rig, 2);
        rig.worker[1].mode[held[i]] = FAKE_HOLD;
        mrig_create(&rig, &first, TWO_TASKS, TFD_STR_EMPTY);
        mrig_create(&rig, &second, TWO_TASKS, TFD_STR_EMPTY);
        tfd_master_close_all(rig.master, mrig_done, &closed);
        assert_ended(first.done, &first.status, TFD_UNAVAILABLE, "stopping");
        assert_ended(second.done, &second.status, TFD_UNAVAILABLE, "stopping");
        assert_int_equal(closed.done, 1); /* the workers are let off */
        mrig_close(&rig);
    }
}

static void test_a_reset_while_workers_make_sessions(void **state)
{
    const struct tfd_reset nothing = {.container_count = 0};
    struct mrig_result result, reset = {0};

    (void)state;
    mrig_open(&rig, 2);
    rig.worker[1].deaf = true;
    rig.worker[1].mode[FAKE_CREATE] = FAKE_HOLD;
    mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    tfd_master_reset(rig.master, &nothing, mrig_done, &reset);
    assert_int_equal(reset.done, 0);
    assert_true(fake_answer(&rig.worker[1], FAKE_CREATE, TFD_OK, ""));
    assert_ended(result.done, &result.status, TFD_CANCELLED,
                 "was closed while it was created");
    assert_int_equal(reset.done, 1);
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    mrig_close(&rig);
}

/* Its peer may never answer. */
static void test_a_reset_lets_off_workers_that_make_sessions(void **state)
{
    const struct tfd_reset nothing = {.container_count = 0};
    struct mrig_result result, reset = {0};

    (void)state;
    mrig_open(&rig, 3);
    rig.worker[1].mode[FAKE_CREATE] = FAKE_HOLD;
    rig.worker[2].mode[FAKE_CREATE] = FAKE_HOLD;
    mrig_create(&rig, &result, TWO_TASKS, TFD_STR_EMPTY);
    tfd_master_reset(rig.master, &nothing, mrig_done, &reset);
    assert_ended(result.done, &result.status, TFD_CANCELLED, "");
    assert_int_equal(reset.done, 1);
    for (int i = 0; i < 3; i++) /* one may have made its own all the same */
        assert_int_equal(rig.worker[i].calls[FAKE_DELETE], 1);
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    mrig_close(&rig);
}

/* Closes from inside done(): of a creation that fails. */
static void close_all_inside(void *ctx, const struct tfd_status *st,
                             struct tfd_session *session)
{
    struct mrig_result *result = ctx;

    mrig_created(ctx, st, session);
    tfd_master_close_all(rig.master, mrig_done, result + 1);
}

static void test_all_may_be_closed_when_a_creation_fails(void **state)
{
    struct mrig_result result[2] = {{0}};
    struct tfd_bytes graph = nodes_bytes("c Const");
    struct tfd_create_session spec = {.graph_def = tfd_bytes_view(&graph),
                                      .done = close_all_inside,
                                      .ctx = result};

    (void)state;
    mrig_open(&rig, 2);
    spec.config = TFD_STR_EMPTY;
    fake_fail(&rig.worker[1], FAKE_CREATE, TFD_INTERNAL, "no");
    rig.worker[0].mode[FAKE_DELETE] = FAKE_HOLD;
    assert_null(tfd_master_create_session(rig.master, &spec));
    assert_int_equal(result[0].done, 1);
    assert_int_equal(result[1].done, 0);
    assert_true(fake_answer(&rig.worker[0], FAKE_DELETE, TFD_OK, ""));
    assert_int_equal(result[1].done, 1);
    tfd_bytes_deinit(&graph);
    mrig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_session_opens_on_every_task),
        cmocka_unit_test(test_device_filters_leave_tasks_out),
        cmocka_unit_test(test_what_cannot_be_a_session_fails_at_once),
        cmocka_unit_test(test_a_task_that_refuses_is_asked_again),
        cmocka_unit_test(test_another_task_at_the_address_may_go_away),
        cmocka_unit_test(test_missing_tasks_are_named_each_with_its_reason),
        cmocka_unit_test(
            test_a_question_may_run_out_of_time_and_is_asked_again),
        cmocka_unit_test(test_without_a_wait_tasks_are_asked_for_ever),
        cmocka_unit_test(test_other_failures_end_the_creation),
        cmocka_unit_test(test_devices_must_be_whole_and_there),
        cmocka_unit_test(test_a_worker_without_a_session_is_no_session),
        cmocka_unit_test(test_a_creation_may_be_cancelled_in_every_state),
        cmocka_unit_test(test_the_end_of_the_master_ends_creations),
        cmocka_unit_test(test_a_reset_while_workers_make_sessions),
        cmocka_unit_test(test_a_reset_lets_off_workers_that_make_sessions),
        cmocka_unit_test(test_all_may_be_closed_when_a_creation_fails),
    };

    return cmocka_run_group_tests_name("session_create", tests, NULL, NULL);
}
