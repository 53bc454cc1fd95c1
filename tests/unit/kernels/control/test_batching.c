/*
 * test_batching.c - kernels/control/batcher.c, unbatch.c and unbatch_grad.c:
 * how steps that wait for others' rows end: full, late, cancelled, without
 * their container.  Values are compared with TensorFlow's in
 * tests/conformance/cases/control/.
 *
 * The loop rings alarms and, as there is no pool, works on the batches.
 */
#define _DEFAULT_SOURCE 1 /* clock_gettime() */

#define ARIG_FAMILIES , &tfd_family_batching

#include "tests/support/async_rig.h"
#include "tests/support/moved_clock.h"

#include "kernels/core/function_call.h"

#define MINUTE_US (INT64_C(60) * 1000 * 1000)
/* Four rows, and a minute for each batch. */
#define FOUR                                          \
    "T=[float] num_batch_threads=1 max_batch_size=4 " \
    "batch_timeout_micros=60000000 grad_timeout_micros=0 shared_name=b"
#define MINUTE "T=float timeout_micros=60000000 shared_name=u"
#define PLACE "T=float shared_name=g"
#define NO_INDEX "int64[0,3]"

/* ---- Functions, which no node here has ----------------------------------- */

enum tfd_code tfd_rt_lasting_function(const struct tfd_prepare *p,
                                      const struct tfd_func *f,
                                      struct tfd_rt_function **out,
                                      struct tfd_status *st)
{
    (void)p;
    (void)f;
    (void)out;
    return tfd_fail(st, TFD_NOT_FOUND, "no functions");
}

void tfd_rt_function_hold(struct tfd_rt_function *f)
{
    (void)f;
}

void tfd_rt_function_let_go(struct tfd_rt_function *f)
{
    (void)f;
}

int32_t tfd_rt_function_in_count(const struct tfd_rt_function *f)
{
    (void)f;
    return 0;
}

int32_t tfd_rt_function_out_count(const struct tfd_rt_function *f)
{
    (void)f;
    return 0;
}

void tfd_function_run(struct tfd_function_call *c)
{
    (void)c;
}

void tfd_function_cancel(struct tfd_function_call *c)
{
    (void)c;
}

/* ---- The rig ------------------------------------------------------------- */

static int begin(void **state)
{
    if (arig_setup(state) != 0)
        return -1;
    arig.rt.loop = tfd_loop_new(NULL);
    return arig.rt.loop ? 0 : -1;
}

/* What containers let go of the loop ends. */
static int end(void **state)
{
    tfd_containers_clear_all(arig.rt.containers);
    tfd_loop_settle(arig.rt.loop);
    tfd_loop_free(arig.rt.loop);
    return arig_teardown(state);
}

static void settle(void)
{
    tfd_loop_settle(arig.rt.loop);
}

static void minute_passes(void)
{
    settle();
    clock_move(arig.rt.loop, 2 * MINUTE_US);
    settle();
}

static struct arig_run *batch(const char *attrs, const char *rows)
{
    struct arig_run *r = arig_start("Batch", attrs, NULL, ARIG_IN(rows));

    settle();
    return r;
}

static struct arig_run *unbatch(const char *rows, const char *index,
                                const char *id)
{
    struct arig_run *r =
        arig_start("Unbatch", MINUTE, NULL, ARIG_IN(rows, index, id));

    settle();
    return r;
}

static struct arig_run *gather(const char *batched, const char *index,
                               const char *grad, const char *id)
{
    struct arig_run *r = arig_start("UnbatchGrad", PLACE, NULL,
                                    ARIG_IN(batched, index, grad, id));

    settle();
    return r;
}

static void cancel(struct arig_run *r)
{
    arig_expect_waiting(r);
    arig_cancel(r);
    arig_expect_failed(r, TFD_CANCELLED, "was cancelled");
    settle();
}

/* ---- Batch --------------------------------------------------------------- */

static void a_batch_goes_when_it_is_full(void **state)
{
    struct arig_run *first = batch(FOUR, "float[2] 1 2"), *last;

    (void)state;
    arig_expect_waiting(first);
    last = batch(FOUR, "float[2] 3 4");
    arig_expect(last, 0, "float[4] 1 2 3 4");
    arig_expect_ok(first);
    assert_int_equal(first->out[0].shape.dim[0], 0);
}

static void a_batch_goes_when_its_time_has_come(void **state)
{
    struct arig_run *r = batch(FOUR, "float[2] 1 2");

    (void)state;
    clock_move(arig.rt.loop, MINUTE_US / 2);
    arig_expect_waiting(r);
    minute_passes();
    arig_expect(r, 0, "float[2] 1 2");
}

static void a_step_that_is_cancelled_takes_its_rows_along(void **state)
{
    struct arig_run *first = batch(FOUR, "float[2] 1 2"), *second, *last;

    (void)state;
    second = batch(FOUR, "float[1] 3");
    cancel(first);
    last = batch(FOUR, "float[3] 4 5 6");
    arig_expect(last, 0, "float[4] 3 4 5 6");
    arig_expect_ok(second);
}

static void a_batch_that_all_have_left_is_no_more(void **state)
{
    (void)state;
    cancel(batch(FOUR, "float[3] 1 2 3"));
    arig_expect(batch(FOUR, "float[4] 4 5 6 7"), 0, "float[4] 4 5 6 7");
    cancel(batch(FOUR, "float[1] 8"));
    minute_passes();
}

static void a_step_that_has_ended_does_not_wait(void **state)
{
    struct arig_run *r =
        arig_make("Batch", NULL, FOUR, NULL, ARIG_IN("float[1] 1"));

    (void)state;
    arig_cancel(r);
    arig_begin(r);
    arig_expect_failed(r, TFD_CANCELLED, "was cancelled");
    settle();
    arig_expect(batch(FOUR, "float[4] 4 5 6 7"), 0, "float[4] 4 5 6 7");
}

static void the_next_batch_ends_the_one_before(void **state)
{
    struct arig_run *first = batch(FOUR, "float[3] 1 2 3"), *next;

    (void)state;
    next = batch(FOUR, "float[2] 4 5");
    arig_expect(first, 0, "float[3] 1 2 3");
    cancel(next);
}

static void a_line_that_is_full_refuses(void **state)
{
    static const char one[] = FOUR " max_enqueued_batches=1";
    struct arig_run *first = batch(one, "float[3] 1 2 3");

    (void)state;
    arig_expect_failed(batch(one, "float[2] 4 5"), TFD_UNAVAILABLE,
                       "currently 1 batches enqueued and max_enqueued_batches "
                       "is 1");
    cancel(first);
    arig_expect(batch(one, "float[4] 4 5 6 7"), 0, "float[4] 4 5 6 7");
}

static void lines_of_one_batcher_are_apart(void **state)
{
    static const char other[] = FOUR " batching_queue=other";
    struct arig_run *r = batch(FOUR, "float[3] 1 2 3");

    (void)state;
    cancel(batch(other, "float[1] 4"));
    arig_expect_waiting(r);
    arig_expect(batch(FOUR, "float[1] 5"), 0, "float[4] 1 2 3 5");
    arig_expect_ok(r);
}

static void parts_that_do_not_fit_fail_together(void **state)
{
    struct arig_run *first = batch(FOUR, "float[2,1] 1 2"), *last;

    (void)state;
    last = batch(FOUR, "float[2] 3 4");
    arig_expect_failed(first, TFD_INVALID_ARGUMENT, "Ranks of all input");
    arig_expect_failed(last, TFD_INVALID_ARGUMENT, "Ranks of all input");
}

static void a_batch_outlives_its_container(void **state)
{
    struct arig_run *old = batch(FOUR, "float[3] 1 2 3"), *new;

    (void)state;
    tfd_containers_clear_all(arig.rt.containers);
    new = batch(FOUR, "float[1] 4");
    arig_expect_waiting(new);
    cancel(new);
    minute_passes();
    arig_expect(old, 0, "float[3] 1 2 3");
}

/* ---- Unbatch ------------------------------------------------------------- */

static void rows_come_before_their_step_or_after(void **state)
{
    struct arig_run *early = unbatch("float[0]", NO_INDEX, "int64 8");

    (void)state;
    arig_expect_waiting(early);
    arig_expect(
        unbatch("float[3] 1 2 3", "int64[3,3] 7 0 1 8 1 2 9 2 3", "int64 7"), 0,
        "float[1] 1");
    arig_expect(early, 0, "float[1] 2");
    arig_expect(unbatch("float[0]", NO_INDEX, "int64 9"), 0, "float[1] 3");
}

static void who_waits_too_long_is_told(void **state)
{
    struct arig_run *late = unbatch("float[0]", NO_INDEX, "int64 8");

    (void)state;
    minute_passes();
    arig_expect_failed(late, TFD_DEADLINE_EXCEEDED, "did not arrive");
}

static void rows_that_wait_too_long_are_dropped(void **state)
{
    struct arig_run *late;

    (void)state;
    arig_expect_ok(
        unbatch("float[2] 1 2", "int64[2,3] 7 0 1 8 1 2", "int64 7"));
    minute_passes();
    late = unbatch("float[0]", NO_INDEX, "int64 8");
    cancel(late);
}

static void rows_of_a_step_that_left_stay_for_the_next(void **state)
{
    struct arig_run *late = unbatch("float[0]", NO_INDEX, "int64 8");

    (void)state;
    cancel(late);
    arig_expect_ok(
        unbatch("float[2] 1 2", "int64[2,3] 7 0 1 8 1 2", "int64 7"));
    arig_expect(unbatch("float[0]", NO_INDEX, "int64 8"), 0, "float[1] 2");
}

static void what_a_cancelled_step_brought_stays(void **state)
{
    (void)state;
    cancel(unbatch("float[1] 5", "int64[1,3] 8 0 1", "int64 7"));
    arig_expect(unbatch("float[0]", NO_INDEX, "int64 8"), 0, "float[1] 5");
}

static void an_id_is_one_steps(void **state)
{
    struct arig_run *first = unbatch("float[0]", NO_INDEX, "int64 8");

    (void)state;
    arig_expect_failed(unbatch("float[0]", NO_INDEX, "int64 8"),
                       TFD_ALREADY_EXISTS, "Multiple session runs");
    arig_expect_waiting(first);
    arig_expect_failed(
        unbatch("float[2] 1 2", "int64[2,3] 9 0 1 9 1 2", "int64 7"),
        TFD_ALREADY_EXISTS, "Multiple tensors returned");
    cancel(first);
}

static void rows_go_with_their_container(void **state)
{
    struct arig_run *waits = unbatch("float[0]", NO_INDEX, "int64 8");

    (void)state;
    arig_expect_ok(
        unbatch("float[2] 1 2", "int64[2,3] 7 0 1 9 1 2", "int64 7"));
    tfd_containers_clear_all(arig.rt.containers);
    settle();
    arig_expect_waiting(waits);
    cancel(unbatch("float[0]", NO_INDEX, "int64 9"));
    minute_passes();
    arig_expect_failed(waits, TFD_DEADLINE_EXCEEDED, "did not arrive");
}

static void an_index_that_is_none_is_refused(void **state)
{
    static const struct {
        const char *rows, *index, *text;
    } bad[] = {
        {"float[3] 1 2 3", "int64[3] 7 0 3", "Expected 2 dimensions"},
        {"float[3] 1 2 3", "int64 7", "Expected 2 dimensions"},
        {"float[3] 1 2 3", "int64[1,2] 7 0", "Expected 1st dimension"},
        {"float[1] 1", "int64[2,3] 7 0 1 8 1 1", "no greater than 1; Got: 2"},
        {"float[3] 1 2 3", "int64[1,3,2] 7 7 0 0 3 3", "Expected 3 elements"},
        {"float 1", "int64[1,3] 7 0 1", "no dimension"},
        {"float[3] 1 2 3", "int64[1,3] 7 3 0", "rows from 3 to 0"},
        {"float[3] 1 2 3", "int64[1,3] 7 0 4", "must not exceed"},
    };

    (void)state;
    for (int i = 0; i < TFD_COUNT(bad); i++)
        arig_expect_failed(unbatch(bad[i].rows, bad[i].index, "int64 7"),
                           TFD_INVALID_ARGUMENT, bad[i].text);
}

/* ---- UnbatchGrad --------------------------------------------------------- */

static void gradients_are_gathered_in_the_order_of_the_index(void **state)
{
    struct arig_run *whole;

    (void)state;
    arig_expect_ok(gather("float[0]", NO_INDEX, "float[1] 9", "int64 9"));
    whole = gather("float[1] 1", "int64[3,3] 8 0 1 7 1 2 9 2 3", "float[1] 7",
                   "int64 7");
    arig_expect_waiting(whole);
    arig_expect_ok(gather("float[0]", NO_INDEX, "float[2] 8 8", "int64 8"));
    arig_expect(whole, 0, "float[4] 8 8 7 9");
}

static void a_gatherer_that_is_cancelled_leaves_nothing(void **state)
{
    static const char index[] = "int64[2,3] 7 0 1 8 1 2";

    (void)state;
    cancel(gather("float[1] 1", index, "float[1] 7", "int64 7"));
    arig_expect_ok(gather("float[0]", NO_INDEX, "float[1] 8", "int64 8"));
    arig_expect(gather("float[1] 1", index, "float[1] 6", "int64 7"), 0,
                "float[2] 6 8");
}

static void gradients_that_do_not_fit_fail_where_they_are_joined(void **state)
{
    struct arig_run *whole =
        gather("float[1] 1", "int64[2,3] 7 0 1 8 1 2", "float[1] 7", "int64 7");

    (void)state;
    arig_expect_failed(gather("float[0]", NO_INDEX, "float 1", "int64 8"),
                       TFD_INVALID_ARGUMENT, "has rows");
    arig_expect_waiting(whole);
    arig_expect_ok(gather("float[0]", NO_INDEX, "float[1,1] 8", "int64 8"));
    arig_expect_failed(whole, TFD_INVALID_ARGUMENT, "Ranks of all input");
}

static void gradients_are_refused_and_leave_nothing(void **state)
{
    static const struct {
        const char *index, *id, *text;
    } bad[] = {
        {NO_INDEX, "int64 7", "is empty while"},
        {"int64[1,2] 7 0", "int64 7", "should contain 3 elements. Received 2"},
        {"int64 7", "int64 7", "should contain 0 elements. Received 1"},
        {"int64[1,3] 7 0 1", "int64[1] 7", "Expected `id` to be scalar"},
        {"int64[2,3] 7 0 1 7 1 2", "int64 7", "bad bookkeeping"},
    };

    (void)state;
    for (int i = 0; i < TFD_COUNT(bad); i++) {
        struct arig_run *r =
            gather("float[1] 1", bad[i].index, "float[1] 1", bad[i].id);

        arig_expect_failed(
            r, strstr(bad[i].text, "bad") ? TFD_INTERNAL : TFD_INVALID_ARGUMENT,
            bad[i].text);
    }
    arig_expect(
        gather("float[1] 1", "int64[1,3] 7 0 1", "float[1] 5", "int64 7"), 0,
        "float[1] 5");
}

static void one_gradient_is_for_one_batch(void **state)
{
    struct arig_run *first =
        gather("float[1] 1", "int64[2,3] 7 0 1 8 1 2", "float[1] 7", "int64 7");

    (void)state;
    arig_expect_failed(gather("float[1] 1", "int64[3,3] 9 0 1 5 1 2 8 2 3",
                              "float[1] 7", "int64 9"),
                       TFD_INVALID_ARGUMENT, "wanted by more than one batch");
    arig_expect_ok(gather("float[0]", NO_INDEX, "float[1] 9", "int64 9"));
    arig_expect_ok(gather("float[0]", NO_INDEX, "float[1] 8", "int64 8"));
    arig_expect(first, 0, "float[2] 7 8");
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code infer(const char *op, const char *const *in, int out_count,
                           struct tfd_shape *out)
{
    struct tfd_shape shapes[ARIG_PORTS_MAX];
    struct tfd_shape_ctx s = {.in = shapes, .out = out, .out_count = out_count};

    for (; *in; in++) {
        const char *text = *in;

        shapes[s.in_count++] = arig_shape(&text);
    }
    for (int i = 0; i < out_count; i++)
        out[i] = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    for (int i = 0; i < tfd_family_batching.op_count; i++)
        if (strcmp(tfd_family_batching.ops[i].name, op) == 0)
            return tfd_family_batching.ops[i].shape(&s, NULL);
    fail_msg("no op named %s", op);
    return TFD_OK;
}

static void shapes_are_tensorflows(void **state)
{
    static const struct {
        const char *op, *in[5];
        int out_count;
        const char *out; /* of output 0; NULL: refused */
    } cases[] = {
        {"Batch", {"[5,4]"}, 3, "[?,4]"},
        {"Batch", {"<unknown>"}, 3, "<unknown>"},
        {"Batch", {"[]"}, 3, NULL},
        {"Unbatch", {"[5,4]", "<unknown>", "[]"}, 1, "[?,4]"},
        {"Unbatch", {"<unknown>", "[2,3]", "[]"}, 1, "<unknown>"},
        {"Unbatch", {"[5]", "[2]", "[3]"}, 1, "[?]"},
        {"Unbatch", {"[]", "[2,3]", "[]"}, 1, NULL},
        {"UnbatchGrad", {"[5,4]", "[2,3]", "[2,4]", "[]"}, 1, "[?,?]"},
        {"UnbatchGrad", {"[5,4]", "[2,3]", "<unknown>", "[]"}, 1, "<unknown>"},
        {"UnbatchGrad", {"[5,4]", "[2,3]", "[]", "[]"}, 1, "[]"},
        {"UnbatchGrad", {"[]", "[7]", "[3]", "[7]"}, 1, "[?]"},
    };

    (void)state;
    for (int i = 0; i < TFD_COUNT(cases); i++) {
        struct tfd_shape out[3];
        char text[TFD_SHAPE_TEXT_MAX];
        enum tfd_code rc =
            infer(cases[i].op, cases[i].in, cases[i].out_count, out);

        assert_int_equal(rc, cases[i].out ? TFD_OK : TFD_INVALID_ARGUMENT);
        if (cases[i].out)
            assert_string_equal(tfd_shape_text(&out[0], text), cases[i].out);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_batch_goes_when_it_is_full),
        CASE(a_batch_goes_when_its_time_has_come),
        CASE(a_step_that_is_cancelled_takes_its_rows_along),
        CASE(a_batch_that_all_have_left_is_no_more),
        CASE(a_step_that_has_ended_does_not_wait),
        CASE(the_next_batch_ends_the_one_before),
        CASE(a_line_that_is_full_refuses),
        CASE(lines_of_one_batcher_are_apart),
        CASE(parts_that_do_not_fit_fail_together),
        CASE(a_batch_outlives_its_container),
        CASE(rows_come_before_their_step_or_after),
        CASE(who_waits_too_long_is_told),
        CASE(rows_that_wait_too_long_are_dropped),
        CASE(rows_of_a_step_that_left_stay_for_the_next),
        CASE(what_a_cancelled_step_brought_stays),
        CASE(an_id_is_one_steps),
        CASE(rows_go_with_their_container),
        CASE(an_index_that_is_none_is_refused),
        CASE(gradients_are_gathered_in_the_order_of_the_index),
        CASE(a_gatherer_that_is_cancelled_leaves_nothing),
        CASE(gradients_that_do_not_fit_fail_where_they_are_joined),
        CASE(gradients_are_refused_and_leave_nothing),
        CASE(one_gradient_is_for_one_batch),
        CASE(shapes_are_tensorflows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
