/*
 * test_step_times.c - daemon/master/session/step_times.c, step_ring.c and
 * step_ring_json.c: the phases of steps by a clock that the test moves, and the
 * JSON of hostile texts by a reader of JSON.
 */
#include "tests/support/plan_rig.h"

#include "config/limits.h"
#include "daemon/master/record/step_ring.h"

#include <jansson.h>

static const struct tfd_step_record *last(int age)
{
    return tfd_step_ring_at(tfd_master_steps(rig.master), age);
}

/* ---- Phases -------------------------------------------------------------- */

static void test_phases_of_a_step(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &step, "|c:0,k:0|");
    assert_int_equal(last(0)->code, TFD_STEP_RUNNING);
    for (int i = 0; i < 3; i++) {
        net_advance(&rig.loop, 1000);
        fake_answer(&rig.worker[i], FAKE_RUN, TFD_OK, "");
    }
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_int_equal(last(0)->code, TFD_OK);
    assert_int_equal(last(0)->here_us, 1000);
    assert_int_equal(last(0)->others_us, 3000);
    assert_int_equal(last(0)->total_us, 3000);
    assert_int_equal(last(0)->parts, 3);
    assert_int_equal(last(0)->plan, step.plan);
    assert_int_equal(last(0)->fetched, 2 * sizeof(float));
    assert_string_equal(last(0)->name, "c:0");
    assert_string_equal(last(0)->session, tfd_session_handle(s));
    assert_string_equal(last(0)->slowest, "/job:ps/replica:0/task:1");
    assert_int_equal(tfd_histogram_count(tfd_master_step_times(rig.master)), 1);
    assert_int_equal(tfd_master_step_times(rig.master)->sum_us, 3000);
    mrig_close(&rig);
}

static void test_the_wait_for_a_plan_is_a_phase(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_REGISTER);
    mrig_run(s, &step, "|c:0|");
    assert_int_equal(tfd_step_ring_count(tfd_master_steps(rig.master)), 0);
    net_advance(&rig.loop, 7000);
    fake_answer(&rig.worker[0], FAKE_REGISTER, TFD_OK, "");
    assert_ended(step.done, &step.status, TFD_OK, "");
    assert_int_equal(last(0)->plan_us, 7000);
    assert_int_equal(last(0)->total_us, 7000);
    assert_string_equal(last(0)->slowest, "");
    mrig_close(&rig);
}

static void test_a_failed_step(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &step, "|i:0|");
    fake_answer(&rig.worker[1], FAKE_RUN, TFD_INTERNAL, "it broke");
    net_run(&rig.loop);
    while (fake_answer(&rig.worker[0], FAKE_RUN, TFD_CANCELLED, "so"))
        ;
    assert_ended(step.done, &step.status, TFD_INTERNAL, "it broke");
    assert_int_equal(last(0)->code, TFD_INTERNAL);
    assert_int_equal(last(0)->fetched, 0);
    assert_non_null(strstr(last(0)->error, "it broke"));
    assert_int_equal(tfd_master_steps_failed(rig.master), 1);
    assert_int_equal(tfd_master_steps_timed_out(rig.master), 0);
    mrig_close(&rig);
}

static void test_a_step_that_times_out(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step step;

    (void)state;
    hold(FAKE_RUN);
    mrig_step_init(&step, "|c:0|");
    step.run.timeout_us = 5000;
    tfd_session_run(s, &step.run);
    net_advance(&rig.loop, 5000);
    net_run(&rig.loop);
    while (fake_answer(&rig.worker[0], FAKE_RUN, TFD_CANCELLED, "so"))
        ;
    assert_ended(step.done, &step.status, TFD_DEADLINE_EXCEEDED, "");
    assert_int_equal(last(0)->code, TFD_DEADLINE_EXCEEDED);
    assert_int_equal(last(0)->total_us, 5000);
    assert_int_equal(tfd_master_steps_timed_out(rig.master), 1);
    mrig_close(&rig);
}

/* ---- The ring ------------------------------------------------------------ */

static void test_a_step_that_outlives_the_ring(void **state)
{
    struct tfd_session *s = open_session();
    struct mrig_step old, step;

    (void)state;
    hold(FAKE_RUN);
    mrig_run(s, &old, "|c:0|");
    rig.worker[0].mode[FAKE_RUN] = FAKE_NOW;
    for (int i = 0; i < TFD_STEPS_KEPT_MAX + 10; i++)
        mrig_run(s, &step, "|c:0|");
    assert_int_equal(tfd_step_ring_count(tfd_master_steps(rig.master)),
                     TFD_STEPS_KEPT_MAX);
    net_advance(&rig.loop, 1234);
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_OK, "");
    assert_ended(old.done, &old.status, TFD_OK, "");
    assert_int_equal(last(0)->total_us, 1234);
    assert_int_equal(last(0)->here_us, 1234);
    assert_int_equal(last(1)->total_us, 0);
    assert_int_equal(last(TFD_STEPS_KEPT_MAX - 1)->code, TFD_OK);
    mrig_close(&rig);
}

static void test_a_ring_without_memory_keeps_nothing(void **state)
{
    struct tfd_step_ring ring = {0};

    (void)state;
    assert_null(tfd_step_ring_take(&ring));
    assert_int_equal(tfd_step_ring_count(&ring), 0);
}

/* ---- JSON ---------------------------------------------------------------- */

static bool put_bytes(void *ctx, const char *data, size_t size)
{
    tfd_bytes_add(ctx, data, size);
    return true;
}

static json_t *read_ring(const struct tfd_step_ring *ring, const char *task)
{
    const struct tfd_step_origin origin = {
        .task = task, .steps = 3, .now_us = 900, .wall_us = 1000900};
    struct tfd_bytes out;
    struct tfd_step_sink sink = {put_bytes, &out};
    json_error_t error;
    json_t *j;

    tfd_bytes_init(&out, 16 << 20);
    assert_true(tfd_step_ring_write(ring, &origin, &sink));
    j = json_loadb(out.data, out.size, 0, &error);
    if (!j)
        fail_msg("%s: %.*s", error.text, (int)out.size, out.data);
    tfd_bytes_deinit(&out);
    return j;
}

static void assert_shown(const char *name, const char *shown)
{
    struct tfd_step_ring ring;
    struct tfd_step_record *r;
    json_t *j, *kept;

    tfd_step_ring_init(&ring);
    r = tfd_step_ring_take(&ring);
    tfd_step_ring_text(r->name, sizeof(r->name), tfd_str_of(name));
    tfd_step_ring_text(r->error, sizeof(r->error), tfd_str_of(name));
    r->id = INT64_C(72057594037927937);
    r->begun_us = 100;
    j = read_ring(&ring, name);
    kept = json_array_get(json_object_get(j, "kept"), 0);
    assert_string_equal(json_string_value(json_object_get(kept, "name")),
                        shown);
    assert_string_equal(json_string_value(json_object_get(kept, "step")),
                        "72057594037927937");
    assert_int_equal(json_integer_value(json_object_get(kept, "begun_us")),
                     1000100);
    assert_string_equal(json_string_value(json_object_get(kept, "outcome")),
                        "OK");
    json_decref(j);
    tfd_step_ring_deinit(&ring);
}

static void test_hostile_texts(void **state)
{
    static const struct {
        const char *name, *shown;
    } cases[] = {
        {"loss:0", "loss:0"},
        {"a\"b\\c", "a\"b\\c"},
        {"a\nb\tc\x1b[2J\x7f", "a\nb\tc?[2J?"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff\xc3", "??"},
        {"\xc0\xaf\xed\xa0\x80\xe0\x80\x80", "????????"},
        {"\xf4\x90\x80\x80\xf0\x80\x80\x80", "????????"},
        {"\"},{\"step\":1", "\"},{\"step\":1"},
        /* Cut within a character. */
        {"1234567890123456789012345678901234567890123456\xc3\xa9",
         "1234567890123456789012345678901234567890123456?"},
    };

    (void)state;
    for (size_t i = 0; i < TFD_COUNT(cases); i++)
        assert_shown(cases[i].name, cases[i].shown);
}

static void test_a_full_ring_and_an_empty_one(void **state)
{
    struct tfd_step_ring ring, copy;
    char worst[256];
    json_t *j;

    (void)state;
    memset(worst, '"', sizeof(worst));
    tfd_step_ring_init(&ring);
    j = read_ring(&ring, "");
    assert_int_equal(json_array_size(json_object_get(j, "kept")), 0);
    json_decref(j);
    for (int i = 0; i < TFD_STEPS_KEPT_MAX + 1; i++) {
        struct tfd_step_record *r = tfd_step_ring_take(&ring);
        const struct tfd_str text = {worst, sizeof(worst)};

        memset(r, 0x3f, offsetof(struct tfd_step_record, partial));
        r->code = TFD_STEP_RUNNING;
        tfd_step_ring_text(r->session, sizeof(r->session), text);
        tfd_step_ring_text(r->name, sizeof(r->name), text);
        tfd_step_ring_text(r->slowest, sizeof(r->slowest), text);
        tfd_step_ring_text(r->error, sizeof(r->error), text);
    }
    assert_true(tfd_step_ring_copy(&ring, &copy));
    j = read_ring(&copy, "/job:worker/replica:0/task:0");
    assert_int_equal(json_array_size(json_object_get(j, "kept")),
                     TFD_STEPS_KEPT_MAX);
    json_decref(j);
    tfd_step_ring_deinit(&copy);
    tfd_step_ring_deinit(&ring);
}

static bool put_some(void *ctx, const char *data, size_t size)
{
    (void)data;
    (void)size;
    return --*(int *)ctx > 0;
}

static void test_a_sink_that_is_full(void **state)
{
    const struct tfd_step_origin origin = {.task = "t"};
    struct tfd_step_ring ring;
    int rows;
    struct tfd_step_sink sink = {put_some, &rows};

    (void)state;
    tfd_step_ring_init(&ring);
    (void)tfd_step_ring_take(&ring);
    for (int room = 1; room <= 3; room++) {
        rows = room;
        assert_false(tfd_step_ring_write(&ring, &origin, &sink));
        assert_int_equal(rows, 0);
    }
    tfd_step_ring_deinit(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_of_a_step),
        cmocka_unit_test(test_the_wait_for_a_plan_is_a_phase),
        cmocka_unit_test(test_a_failed_step),
        cmocka_unit_test(test_a_step_that_times_out),
        cmocka_unit_test(test_a_step_that_outlives_the_ring),
        cmocka_unit_test(test_a_ring_without_memory_keeps_nothing),
        cmocka_unit_test(test_hostile_texts),
        cmocka_unit_test(test_a_full_ring_and_an_empty_one),
        cmocka_unit_test(test_a_sink_that_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
