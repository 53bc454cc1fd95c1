/*
 * test_step_watch.c - daemon/master/record/step_watch.c: which steps are taken,
 * what is kept of them, and that it is bounded.
 */
#include "daemon/master/record/step_watch.h"

#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "common/proto/peer.pb.h"
#include "config/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB ((size_t)1 << 20)

static struct {
    struct tfd_step_watch watch;
    int dones, steps, too_large, failed;
    int64_t passed, first, last; /* ids */
    size_t stats;
    char why[64];
} rig;

static size_t stats_size(struct tfd_str metadata)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(metadata);
    struct tfd_pb_field f;
    size_t size = 0;

    while (tfd_pb_next(&r, &f)) {
        assert_int_equal(f.tag, tensorflow_RunMetadata_step_stats_tag);
        size += f.bytes.size;
    }
    assert_int_equal(tfd_pb_end(&r, "RunMetadata", NULL), TFD_OK);
    return size;
}

static void read_step(struct tfd_str proto)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    int64_t begin = 0, end = 0;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_TracedStep_step_id_tag)
            rig.last = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_TracedStep_begin_us_tag)
            begin = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_TracedStep_end_us_tag)
            end = tfd_pb_int64(&r, &f);
        else if (f.tag == tfd_TracedStep_code_tag)
            rig.failed += tfd_pb_int64(&r, &f) != 0;
        else if (f.tag == tfd_TracedStep_too_large_tag)
            rig.too_large += tfd_pb_bool(&r, &f);
        else if (f.tag == tfd_TracedStep_metadata_tag)
            rig.stats += stats_size(tfd_pb_str(&r, &f));
    }
    assert_int_equal(tfd_pb_end(&r, "TracedStep", NULL), TFD_OK);
    assert_true(begin > 0 && begin < end);
    rig.first = rig.steps++ == 0 ? rig.last : rig.first;
}

static void done(struct tfd_step_watch *w)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&w->steps));
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        read_step(tfd_pb_str(&r, &f));
    assert_int_equal(tfd_pb_end(&r, "TracedSteps", NULL), TFD_OK);
    rig.dones++;
    rig.passed = w->passed;
    snprintf(rig.why, sizeof(rig.why), "%s", w->why ? w->why : "");
}

static void start(int64_t asked, const char *session)
{
    memset(&rig, 0, sizeof(rig));
    tfd_step_watch_init(&rig.watch);
    assert_false(rig.watch.tracer.wants);
    tfd_step_watch_start(&rig.watch, asked, tfd_str_of(session), done, NULL);
}

static struct tfd_watched_step *begin(const char *session,
                                      struct tfd_run_trace **trace)
{
    struct tfd_tracer *t = &rig.watch.tracer;

    assert_true(t->wants);
    return t->ops->begin(t, session, trace);
}

static void end(struct tfd_watched_step *take, int64_t id, enum tfd_code code)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_step_watched x = {id, "s", &st};
    struct tfd_tracer *t = &rig.watch.tracer;

    if (code != TFD_OK)
        (void)tfd_fail(&st, code, "it broke");
    t->ops->end(t, take, &x);
    t->ops->check(t);
}

/* A step with stats of this size. */
static void run_step(int64_t id, size_t size)
{
    struct tfd_run_trace *trace = NULL;
    struct tfd_watched_step *step = begin("s", &trace);

    assert_non_null(step);
    assert_true(trace && trace->timeline && !trace->show_stats);
    if (size > 0)
        (void)tfd_bytes_extend(&trace->stats, size);
    if (size > 0 && !trace->stats.failed)
        memset(trace->stats.data, 0, size);
    end(step, id, TFD_OK);
}

static void test_as_many_as_asked_for_are_taken(void **state)
{
    struct tfd_run_trace *trace[3] = {NULL, NULL, NULL};
    struct tfd_watched_step *step[3];

    (void)state;
    start(3, "");
    for (int i = 0; i < 3; i++)
        step[i] = begin(i ? "s" : "t", &trace[i]);
    assert_false(rig.watch.tracer.wants);
    end(step[2], 12, TFD_OK);
    end(step[0], 10, TFD_INTERNAL);
    assert_int_equal(rig.dones, 0);
    end(step[1], 11, TFD_OK);
    assert_int_equal(rig.dones, 1);
    assert_int_equal(rig.steps, 3);
    assert_int_equal(rig.failed, 1);
    assert_int_equal(rig.first, 12); /* as they ended */
    assert_int_equal(rig.last, 11);
    assert_string_equal(rig.why, "");
    assert_false(rig.watch.active);
}

static void test_a_clients_own_trace_is_filled_once(void **state)
{
    struct tfd_run_trace own = {.partition_graphs = true, .show_graphs = true};
    struct tfd_run_trace *trace = &own;
    struct tfd_watched_step *step;

    (void)state;
    start(1, "");
    tfd_bytes_init(&own.stats, MIB);
    step = begin("s", &trace);
    assert_ptr_equal(trace, &own);
    assert_true(own.timeline && own.partition_graphs && own.show_graphs);
    assert_false(own.show_stats);
    tfd_bytes_add(&own.stats, "\x08\x01", 2);
    end(step, 1, TFD_OK);
    assert_int_equal(own.stats.size, 2); /* it is still its client's */
    assert_int_equal(rig.stats, 2);
    tfd_bytes_deinit(&own.stats);
}

static void test_other_sessions_do_not_count(void **state)
{
    struct tfd_run_trace *trace = NULL;

    (void)state;
    start(1, "s");
    assert_null(begin("t", &trace));
    assert_null(trace);
    tfd_step_watch_closed(&rig.watch, "t");
    assert_int_equal(rig.dones, 0);
    tfd_step_watch_closed(&rig.watch, "s");
    assert_int_equal(rig.dones, 1);
    assert_int_equal(rig.passed, 0);
    assert_string_equal(rig.why, "the session was closed");
    tfd_step_watch_closed(&rig.watch, "s");
    tfd_step_watch_stop(&rig.watch, "again");
    assert_int_equal(rig.dones, 1);
}

static void test_steps_that_end_too_late_are_dropped(void **state)
{
    struct tfd_run_trace *trace = NULL;
    struct tfd_watched_step *late, *later;

    (void)state;
    start(2, "");
    late = begin("s", &trace);
    tfd_step_watch_stop(&rig.watch, "over");
    assert_int_equal(rig.steps, 0);
    assert_string_equal(rig.why, "over");
    tfd_step_watch_start(&rig.watch, 2, TFD_STR_EMPTY, done, NULL);
    end(late, 1, TFD_OK); /* of the watch before */
    assert_int_equal(rig.watch.kept, 0);
    trace = NULL;
    later = begin("s", &trace);
    tfd_step_watch_drop(&rig.watch);
    tfd_step_watch_drop(&rig.watch);
    assert_int_equal(rig.dones, 1);
    end(later, 2, TFD_OK);
    assert_int_equal(rig.watch.under_way, 0);
    assert_int_equal(rig.dones, 1);
}

static void test_steps_beyond_those_at_once_are_passed(void **state)
{
    struct tfd_watched_step *step[TFD_TRACED_AT_ONCE_MAX];
    struct tfd_run_trace *trace;

    (void)state;
    start(TFD_TRACED_AT_ONCE_MAX + 1, "");
    for (int i = 0; i < TFD_TRACED_AT_ONCE_MAX; i++) {
        trace = NULL;
        step[i] = begin("s", &trace);
        assert_non_null(step[i]);
    }
    trace = NULL;
    assert_null(begin("s", &trace));
    assert_null(begin("s", &trace));
    assert_null(trace);
    for (int i = 0; i < TFD_TRACED_AT_ONCE_MAX; i++)
        end(step[i], i, TFD_OK);
    run_step(100, 0);
    assert_int_equal(rig.dones, 1);
    assert_int_equal(rig.passed, 2);
    assert_int_equal(rig.last, 100);
    assert_string_equal(rig.why, "");
}

/* Its stats are not kept, so they leave the room to others. */
static void test_a_clients_large_trace_takes_no_room(void **state)
{
    struct tfd_run_trace own = {.timeline = true};
    struct tfd_run_trace *trace = &own;
    struct tfd_watched_step *step;
    size_t size = TFD_TRACED_STEPS_SIZE_MAX + MIB;

    (void)state;
    start(2, "");
    tfd_bytes_init(&own.stats, size);
    (void)tfd_bytes_extend(&own.stats, size);
    assert_false(own.stats.failed);
    memset(own.stats.data, 0, size);
    step = begin("s", &trace);
    end(step, 1, TFD_OK);
    assert_int_equal(rig.dones, 0);
    run_step(2, MIB);
    assert_int_equal(rig.dones, 1);
    assert_int_equal(rig.steps, 2);
    assert_int_equal(rig.too_large, 1);
    assert_int_equal(rig.stats, MIB);
    assert_string_equal(rig.why, "");
    tfd_bytes_deinit(&own.stats);
}

static void test_what_is_kept_is_bounded(void **state)
{
    (void)state;
    start(10, "");
    run_step(1, TFD_TRACED_STEP_SIZE_MAX + 1);
    assert_int_equal(rig.watch.steps.size < 1024, true);
    for (int i = 0; i < 3; i++)
        run_step(2 + i, 15 * MIB);
    assert_int_equal(rig.dones, 0);
    run_step(5, 15 * MIB); /* does not fit in */
    assert_int_equal(rig.dones, 1);
    assert_int_equal(rig.steps, 4);
    assert_int_equal(rig.too_large, 1);
    assert_int_equal(rig.last, 4);
    assert_int_equal(rig.stats, 45 * MIB);
    assert_string_equal(rig.why, "the limit on what is kept was reached");
    assert_int_equal(rig.watch.under_way, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_as_asked_for_are_taken),
        cmocka_unit_test(test_a_clients_own_trace_is_filled_once),
        cmocka_unit_test(test_other_sessions_do_not_count),
        cmocka_unit_test(test_steps_that_end_too_late_are_dropped),
        cmocka_unit_test(test_steps_beyond_those_at_once_are_passed),
        cmocka_unit_test(test_a_clients_large_trace_takes_no_room),
        cmocka_unit_test(test_what_is_kept_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
