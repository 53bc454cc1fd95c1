/*
 * test_batch_function.c - kernels/control/batch_function.c: what becomes of a
 * call when its steps leave, when it fails, and when it is one of several.
 *
 * The function is the test's: it doubles its argument when it is told to.
 * There is no pool, so that the loop works on the batches.
 */
#define ARIG_FAMILIES , &tfd_family_batching

#include "tests/support/async_rig.h"

#include "kernels/core/function_call.h"
#include "rpc/conn/loop.h"

#define CALLS_MAX 8
#define NODE                                              \
    "f=double Tin=[float] Tcaptured=[] Tout=[float] "     \
    "num_batch_threads=4 max_batch_size=4 shared_name=b " \
    "batch_timeout_micros=60000000"

static struct functions {
    struct tfd_function_call *call[CALLS_MAX]; /* NULL: over */
    int begun, cancelled, held;
    enum tfd_code at_once;   /* what it says when it is called */
    bool ends_at_once;       /* with that */
    void (*meanwhile)(void); /* before tfd_function_run() returns */
    struct arig_run *leaves; /* whose step meanwhile() cancels */
} functions;

/* ---- The function -------------------------------------------------------- */

enum tfd_code tfd_rt_lasting_function(const struct tfd_prepare *p,
                                      const struct tfd_func *f,
                                      struct tfd_rt_function **out,
                                      struct tfd_status *st)
{
    (void)p;
    *out = (struct tfd_rt_function *)&functions;
    return tfd_str_is(f->name, "double")
               ? TFD_OK
               : tfd_fail(st, TFD_NOT_FOUND, "no such function");
}

void tfd_rt_function_hold(struct tfd_rt_function *f)
{
    ((struct functions *)f)->held++;
}

void tfd_rt_function_let_go(struct tfd_rt_function *f)
{
    ((struct functions *)f)->held--;
}

int32_t tfd_rt_function_in_count(const struct tfd_rt_function *f)
{
    (void)f;
    return 1;
}

int32_t tfd_rt_function_out_count(const struct tfd_rt_function *f)
{
    (void)f;
    return 1;
}

/* Twice the rows from `from` on, and a failure as a call tells it. */
static void finish_call(int i, enum tfd_code code, int64_t from)
{
    struct tfd_function_call *c = functions.call[i];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_shape shape;

    assert_non_null(c);
    functions.call[i] = NULL;
    shape = c->in[0].shape;
    shape.dim[0] -= from;
    if (code != TFD_OK)
        tfd_fail(&st, code, "the call failed");
    else
        assert_int_equal(tfd_tensor_new(c->out, TFD_FLOAT, &shape, NULL),
                         TFD_OK);
    for (int64_t n = 0; code == TFD_OK && n < shape.dim[0]; n++)
        ((float *)tfd_tensor_data(c->out))[n] =
            2 * ((const float *)tfd_tensor_data(c->in))[n + from];
    tfd_tensor_unref(c->in);
    c->done(c, &st);
}

void tfd_function_run(struct tfd_function_call *c)
{
    int i = functions.begun++;

    assert_true(i < CALLS_MAX);
    functions.call[i] = c;
    if (functions.meanwhile)
        functions.meanwhile();
    if (functions.ends_at_once)
        finish_call(i, functions.at_once, 0);
}

void tfd_function_cancel(struct tfd_function_call *c)
{
    (void)c;
    functions.cancelled++;
}

/* ---- The rig ------------------------------------------------------------- */

static int begin(void **state)
{
    memset(&functions, 0, sizeof(functions));
    if (arig_setup(state) != 0)
        return -1;
    arig.rt.loop = tfd_loop_new(NULL);
    return arig.rt.loop ? 0 : -1;
}

static int end(void **state)
{
    tfd_loop_settle(arig.rt.loop);
    tfd_loop_free(arig.rt.loop);
    if (functions.held != 0)
        fail_msg("%d tasks hold the function", functions.held);
    return arig_teardown(state);
}

static struct arig_run *call_with(const char *attrs, const char *rows)
{
    struct arig_run *r =
        arig_start("BatchFunction", attrs, NULL, ARIG_IN(rows));

    tfd_loop_settle(arig.rt.loop);
    return r;
}

static struct arig_run *call(const char *rows)
{
    return call_with(NODE, rows);
}

static void leave(struct arig_run *r)
{
    arig_expect_waiting(r);
    arig_cancel(r);
    arig_expect_failed(r, TFD_CANCELLED, "was cancelled");
    tfd_loop_settle(arig.rt.loop);
}

/* ---- Steps of one call --------------------------------------------------- */

static void each_step_gets_its_rows(void **state)
{
    struct arig_run *first = call("float[1] 1"), *last;

    (void)state;
    assert_int_equal(functions.begun, 0);
    last = call("float[3] 2 3 4");
    assert_int_equal(functions.begun, 1);
    arig_expect_waiting(first);
    finish_call(0, TFD_OK, 0);
    arig_expect(first, 0, "float[1] 2");
    arig_expect(last, 0, "float[3] 4 6 8");
}

static void a_step_that_leaves_does_not_end_the_call(void **state)
{
    struct arig_run *first = call("float[1] 1"), *last = call("float[3] 2 3 4");

    (void)state;
    leave(last); /* whose function it is */
    assert_int_equal(functions.cancelled, 0);
    finish_call(0, TFD_OK, 0);
    arig_expect(first, 0, "float[1] 2");
}

static void a_call_that_all_have_left_is_cancelled(void **state)
{
    struct arig_run *first = call("float[1] 1"), *last = call("float[3] 2 3 4");

    (void)state;
    leave(first);
    leave(last);
    assert_int_equal(functions.cancelled, 1);
    assert_true(functions.held > 0);
    finish_call(0, TFD_CANCELLED, 0);
}

static void cancel_meanwhile(void)
{
    assert_int_equal(functions.cancelled, 0);
    arig_cancel(functions.leaves);
}

static void all_leave_while_the_call_begins(void **state)
{
    struct arig_run *r =
        arig_make("BatchFunction", NULL, NODE, NULL, ARIG_IN("float[4] 1"));

    (void)state;
    functions.leaves = r;
    functions.meanwhile = cancel_meanwhile;
    arig_begin(r);
    tfd_loop_settle(arig.rt.loop);
    arig_expect_failed(r, TFD_CANCELLED, "was cancelled");
    assert_int_equal(functions.cancelled, 1); /* once it could be */
    finish_call(0, TFD_CANCELLED, 0);
}

static void all_leave_and_the_call_ends_at_once(void **state)
{
    struct arig_run *r =
        arig_make("BatchFunction", NULL, NODE, NULL, ARIG_IN("float[4] 1"));

    (void)state;
    functions.leaves = r;
    functions.meanwhile = cancel_meanwhile;
    functions.ends_at_once = true;
    arig_begin(r);
    tfd_loop_settle(arig.rt.loop);
    arig_expect_failed(r, TFD_CANCELLED, "was cancelled");
    assert_int_equal(functions.cancelled, 0);
}

static void a_call_may_end_before_it_is_known_to_run(void **state)
{
    (void)state;
    functions.ends_at_once = true;
    arig_expect(call("float[4] 1 2 3 4"), 0, "float[4] 2 4 6 8");
    arig_expect(call("float[4] 5"), 0, "float[4] 10");
}

static void a_call_that_fails_fails_all_of_its_steps(void **state)
{
    struct arig_run *first = call("float[1] 1"), *last = call("float[3] 2 3 4");

    (void)state;
    finish_call(0, TFD_OUT_OF_RANGE, 0);
    arig_expect_failed(first, TFD_OUT_OF_RANGE, "the call failed");
    arig_expect_failed(last, TFD_OUT_OF_RANGE, "the call failed");
    functions.ends_at_once = true;
    functions.at_once = TFD_UNAVAILABLE; /* as of a task that stops */
    arig_expect_failed(call("float[4] 1"), TFD_UNAVAILABLE, "the call failed");
}

static void results_of_other_rows_are_refused(void **state)
{
    struct arig_run *r = call("float[4] 1 2 3 4");

    (void)state;
    finish_call(0, TFD_OK, 1);
    arig_expect_failed(r, TFD_FAILED_PRECONDITION,
                       "0th dimension size: 3; batch size: 4");
}

/* ---- Parts --------------------------------------------------------------- */

#define SPLIT NODE " enable_large_batch_splitting=t"

static void a_batch_takes_the_first_rows_of_the_next_step(void **state)
{
    struct arig_run *first = call_with(SPLIT, "float[3] 1 2 3"), *next, *last;

    (void)state;
    next = call_with(SPLIT, "float[3] 4 5 6");
    assert_int_equal(functions.begun, 1);
    assert_int_equal(functions.call[0]->in[0].shape.dim[0], 4);
    finish_call(0, TFD_OK, 0);
    arig_expect(first, 0, "float[3] 2 4 6");
    arig_expect_waiting(next);
    last = call_with(SPLIT, "float[2] 7 8");
    finish_call(1, TFD_OK, 0);
    arig_expect(next, 0, "float[3] 8 10 12");
    arig_expect(last, 0, "float[2] 14 16");
}

static void parts_may_end_in_any_order(void **state)
{
    struct arig_run *first = call_with(SPLIT, "float[3] 1 2 3"), *next;

    (void)state;
    next = call_with(SPLIT, "float[4] 4 5 6 7");
    call_with(SPLIT, "float[1] 9");
    assert_int_equal(functions.begun, 2);
    finish_call(1, TFD_OK, 0);
    arig_expect_waiting(next);
    finish_call(0, TFD_OK, 0);
    arig_expect(first, 0, "float[3] 2 4 6");
    arig_expect(next, 0, "float[4] 8 10 12 14");
}

static void the_first_part_that_fails_is_told_when_all_are_over(void **state)
{
    struct arig_run *first = call_with(SPLIT, "float[3] 1 2 3"), *next;

    (void)state;
    next = call_with(SPLIT, "float[4] 4 5 6 7");
    call_with(SPLIT, "float[1] 9");
    finish_call(1, TFD_OUT_OF_RANGE, 0);
    arig_expect_waiting(next);
    finish_call(0, TFD_OK, 0);
    arig_expect_ok(first);
    arig_expect_failed(next, TFD_OUT_OF_RANGE, "the call failed");
}

static void a_step_leaves_with_all_of_its_parts(void **state)
{
    struct arig_run *first = call_with(SPLIT, "float[3] 1 2 3"), *next, *last;

    (void)state;
    next = call_with(SPLIT, "float[4] 4 5 6 7");
    leave(next); /* one part is called, the other waits */
    last = call_with(SPLIT, "float[4] 8");
    assert_int_equal(functions.begun, 2);
    assert_int_equal(functions.cancelled, 0);
    finish_call(0, TFD_OK, 0);
    finish_call(1, TFD_OK, 0);
    arig_expect(first, 0, "float[3] 2 4 6");
    arig_expect(last, 0, "float[4] 16");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_step_gets_its_rows),
        CASE(a_step_that_leaves_does_not_end_the_call),
        CASE(a_call_that_all_have_left_is_cancelled),
        CASE(all_leave_while_the_call_begins),
        CASE(all_leave_and_the_call_ends_at_once),
        CASE(a_call_may_end_before_it_is_known_to_run),
        CASE(a_call_that_fails_fails_all_of_its_steps),
        CASE(results_of_other_rows_are_refused),
        CASE(a_batch_takes_the_first_rows_of_the_next_step),
        CASE(parts_may_end_in_any_order),
        CASE(the_first_part_that_fails_is_told_when_all_are_over),
        CASE(a_step_leaves_with_all_of_its_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
