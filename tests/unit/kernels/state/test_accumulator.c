/*
 * test_accumulator.c - kernels/state/accumulator*.c.  Texts and numbers are
 * those of TensorFlow 2.21, asked live.
 */
#include "tests/support/async_rig.h"

static bool by_reference; /* the older operations */

static const char *op_name(const char *op)
{
    static char names[4][64];
    static int at;
    char *name = names[at++ & 3];

    snprintf(name, sizeof(names[0]), "%s%s", by_reference ? "" : "Resource",
             op);
    return name;
}

static struct arig_run *dense(const char *attrs)
{
    struct arig_run *a =
        arig_start(op_name("ConditionalAccumulator"), attrs, NULL, NULL);

    arig_expect_ok(a);
    return a;
}

static struct arig_run *apply(struct arig_run *a, const char *step,
                              const char *gradient)
{
    char type[40];

    snprintf(type, sizeof(type), "dtype=%.*s", (int)strcspn(gradient, "[ "),
             gradient);
    return arig_start(op_name("AccumulatorApplyGradient"), type, a,
                      ARIG_IN(step, gradient));
}

static struct arig_run *take(struct arig_run *a, const char *required)
{
    return arig_start(op_name("AccumulatorTakeGradient"), "dtype=float", a,
                      ARIG_IN(required));
}

static struct arig_run *set_step(struct arig_run *a, const char *step)
{
    return arig_start(op_name("AccumulatorSetGlobalStep"), "", a,
                      ARIG_IN(step));
}

static void expect_count(struct arig_run *a, const char *text)
{
    arig_expect(arig_start(op_name("AccumulatorNumAccumulated"), "", a, NULL),
                0, text);
}

/* Each of these runs in both forms. */
static void in_both_forms(void (*test)(void))
{
    for (int i = 0; i < 2; i++) {
        by_reference = i == 1;
        test();
    }
    by_reference = false;
}

/* ---- Dense --------------------------------------------------------------- */

static void mean(void)
{
    struct arig_run *a = dense("dtype=float shape=[2]"), *out;

    out = take(a, "int32 2");
    arig_expect_ok(apply(a, "int64 0", "float[2] 3 30"));
    arig_expect_waiting(out);
    expect_count(a, "int32 1");
    arig_expect_ok(apply(a, "int64 0", "float[2] 5 50"));
    arig_expect(out, 0, "float[2] 4 40");
    expect_count(a, "int32 0");
}

static void test_who_takes_gets_the_mean(void **state)
{
    (void)state;
    in_both_forms(mean);
}

static void everything(void)
{
    struct arig_run *a = dense("dtype=float shape=[]");

    arig_expect_ok(apply(a, "int64 0", "float 3"));
    arig_expect_ok(apply(a, "int64 0", "float 6"));
    arig_expect_ok(apply(a, "int64 0", "float 9"));
    arig_expect(take(a, "int32 2"), 0, "float 6");
    expect_count(a, "int32 0");
}

static void test_more_than_required_are_taken(void **state)
{
    (void)state;
    in_both_forms(everything);
}

static void test_a_sum_is_not_divided(void **state)
{
    struct arig_run *a = dense("dtype=float shape=[] reduction_type=SUM");

    (void)state;
    arig_expect_ok(apply(a, "int64 0", "float 3"));
    arig_expect_ok(apply(a, "int64 0", "float 6"));
    arig_expect(take(a, "int32 2"), 0, "float 9");
}

static void test_doubles(void **state)
{
    struct arig_run *a = dense("dtype=double shape=[]");

    (void)state;
    for (int i = 0; i < 3; i++)
        arig_expect_ok(apply(a, "int64 0", "double 1"));
    arig_expect(arig_start("ResourceAccumulatorTakeGradient", "dtype=double", a,
                           ARIG_IN("int32 1")),
                0, "double 1");
}

static void stale(void)
{
    struct arig_run *a = dense("dtype=float shape=[]");

    arig_expect_ok(apply(a, "int64 0", "float 1"));
    arig_expect(take(a, "int32 1"), 0, "float 1"); /* the step is 1 now */
    arig_expect_ok(apply(a, "int64 0", "float 1"));
    arig_expect_ok(apply(a, "int64 0", "float[7] 1")); /* not looked at */
    expect_count(a, "int32 0");
    arig_expect_ok(apply(a, "int64 5", "float 2"));
    expect_count(a, "int32 1");
    arig_expect_ok(set_step(a, "int64 6"));
    arig_expect_ok(apply(a, "int64 5", "float 2"));
    expect_count(a, "int32 1");
    arig_expect_ok(set_step(a, "int64 0"));
    arig_expect_ok(apply(a, "int64 0", "float 4"));
    arig_expect(take(a, "int32 2"), 0, "float 3");
}

static void test_stale_gradients_are_dropped(void **state)
{
    (void)state;
    in_both_forms(stale);
}

static void test_gradients_stay_what_they_were(void **state)
{
    struct arig_run *a = dense("dtype=float shape=[2]");
    struct arig_run *first = apply(a, "int64 0", "float[2] 1 2"), *out;

    (void)state;
    arig_expect_ok(apply(a, "int64 0", "float[2] 3 4"));
    out = take(a, "int32 1");
    arig_expect(out, 0, "float[2] 2 3");
    assert_true(*(const float *)tfd_tensor_data(&first->in[2]) == 1);
    arig_expect_ok(apply(a, "int64 1", "float[2] 7 8"));
    arig_expect(out, 0, "float[2] 2 3");
}

static void test_takers_are_served_in_their_order(void **state)
{
    struct arig_run *a = dense("dtype=float shape=[]"), *large, *small;

    (void)state;
    large = take(a, "int32 2");
    small = take(a, "int32 1");
    arig_expect_ok(apply(a, "int64 0", "float 1"));
    arig_expect_waiting(small);
    arig_expect_ok(apply(a, "int64 0", "float 3"));
    arig_expect(large, 0, "float 2");
    arig_expect_waiting(small);
    arig_expect_ok(apply(a, "int64 1", "float 5"));
    arig_expect(small, 0, "float 5");
}

static void test_a_cancelled_taker_makes_way(void **state)
{
    struct arig_run *a = dense("dtype=float shape=[]"), *large, *small, *late;

    (void)state;
    large = take(a, "int32 2");
    small = take(a, "int32 1");
    arig_expect_ok(apply(a, "int64 0", "float 1"));
    arig_cancel(large);
    arig_expect_failed(large, TFD_CANCELLED,
                       "TakeGrad operation was cancelled");
    arig_expect(small, 0, "float 1");
    late = arig_make("ResourceAccumulatorTakeGradient", NULL, "dtype=float", a,
                     ARIG_IN("int32 1"));
    arig_cancel(late);
    arig_begin(late);
    arig_expect_failed(late, TFD_CANCELLED, "TakeGrad");
    arig_cancel(small); /* which is done */
}

static void test_who_waits_keeps_the_accumulator(void **state)
{
    struct arig_run *a = dense("dtype=float shape=[]"),
                    *out = take(a, "int32 1");

    (void)state;
    arig_drop(a);
    arig_release(a);
    assert_int_equal(tfd_containers_count(arig.rt.containers), 0);
    arig_expect_waiting(out);
    arig_cancel(out);
    arig_expect_failed(out, TFD_CANCELLED, "TakeGrad");
}

static void test_a_shared_accumulator_is_taken_as_it_is(void **state)
{
    struct arig_run *a = dense("dtype=float shape=[2] shared_name=a");
    struct arig_run *b = dense("dtype=double shape=[3] shared_name=a");

    (void)state;
    arig_expect_ok(apply(a, "int64 0", "float[2] 1 2"));
    expect_count(b, "int32 1");
}

static void bad(void)
{
    struct arig_run *a = dense("dtype=float shape=[?,2]");

    arig_expect_failed(apply(a, "int64 0", "float[2] 1"), TFD_INVALID_ARGUMENT,
                       "Shape mismatch: expected [?,2], got [2]");
    arig_expect_failed(apply(a, "int64[1] 0", "float[1,2] 1"),
                       TFD_INVALID_ARGUMENT,
                       "Argument local_step must be scalar, but had bad shape "
                       "[1]");
    arig_expect_failed(apply(a, "int64 0", "double[1,2] 1"),
                       TFD_INVALID_ARGUMENT, "type double");
    arig_expect_ok(apply(a, "int64 0", "float[1,2] 1"));
    arig_expect_failed(apply(a, "int64 0", "float[2,2] 1"),
                       TFD_INVALID_ARGUMENT,
                       "Shape mismatch: expected [1,2], got [2,2]");
    arig_expect_failed(take(a, "int32 0"), TFD_INVALID_ARGUMENT,
                       "Argument num_required must be positive, but was 0");
    arig_expect_failed(take(a, "int32 -1"), TFD_INVALID_ARGUMENT, "was -1");
    arig_expect_failed(take(a, "int32[1] 1"), TFD_INVALID_ARGUMENT,
                       "Argument num_required must be scalar, but had bad "
                       "shape [1]");
    arig_expect_failed(set_step(a, "int64[2] 1"), TFD_INVALID_ARGUMENT,
                       "must be scalar");
    arig_expect_failed(arig_start(op_name("AccumulatorTakeGradient"),
                                  "dtype=double", a, ARIG_IN("int32 1")),
                       TFD_INVALID_ARGUMENT, "type double");
    expect_count(a, "int32 1");
}

static void test_gradients_that_do_not_fit(void **state)
{
    (void)state;
    in_both_forms(bad);
}

static void test_what_is_no_accumulator_is_refused(void **state)
{
    struct arig_run *q =
        arig_start("FIFOQueueV2", "component_types=[float]", NULL, NULL);

    (void)state;
    arig_expect_failed(apply(q, "int64 0", "float 1"), TFD_INVALID_ARGUMENT,
                       "wrong type");
    arig_expect_failed(take(q, "int32 1"), TFD_INVALID_ARGUMENT, "wrong type");
    arig_expect_failed(set_step(q, "int64 1"), TFD_INVALID_ARGUMENT,
                       "wrong type");
}

/* ---- Sparse -------------------------------------------------------------- */

static struct arig_run *sparse(const char *attrs)
{
    struct arig_run *a =
        arig_start("SparseConditionalAccumulator", attrs, NULL, NULL);

    arig_expect_ok(a);
    return a;
}

/* shape NULL: not told. */
static struct arig_run *rows(struct arig_run *a, const char *indices,
                             const char *values, const char *shape)
{
    return arig_start(
        "SparseAccumulatorApplyGradient",
        shape ? "dtype=float has_known_shape=true"
              : "dtype=float has_known_shape=false",
        a, ARIG_IN("int64 9", indices, values, shape ? shape : "int64[0]"));
}

static struct arig_run *take_rows(struct arig_run *a, const char *required)
{
    return arig_start("SparseAccumulatorTakeGradient", "dtype=float", a,
                      ARIG_IN(required));
}

static void expect_rows(struct arig_run *out, const char *indices,
                        const char *values, const char *shape)
{
    arig_expect(out, 0, indices);
    arig_expect(out, 1, values);
    arig_expect(out, 2, shape);
}

static void test_each_row_is_divided_by_its_own_count(void **state)
{
    struct arig_run *a = sparse("dtype=float shape=[4,2]"), *out;

    (void)state;
    out = take_rows(a, "int32 2");
    arig_expect_ok(rows(a, "int64[2] 0 2", "float[2,2] 1 2 3 4", NULL));
    arig_expect_waiting(out);
    arig_expect_ok(
        rows(a, "int64[2] 1 2", "float[2,2] 1 2 5 8", "int64[2] 4 2"));
    expect_rows(out, "int64[3] 0 1 2", "float[3,2] 1 2 1 2 4 6",
                "int64[2] 4 2");
}

static void test_rows_are_summed(void **state)
{
    struct arig_run *a = sparse("dtype=float shape=[4] reduction_type=SUM");

    (void)state;
    arig_expect_ok(rows(a, "int64[2] 0 2", "float[2] 1 3", NULL));
    arig_expect_ok(rows(a, "int64[1] 2", "float[1] 5", NULL));
    arig_expect_ok(rows(a, "int64[1] 3", "float[1] 7", NULL));
    expect_rows(take_rows(a, "int32 1"), "int64[3] 0 2 3", "float[3] 1 8 7",
                "int64[1] 4");
}

static void test_rows_out_of_order_come_out_as_in_tensorflow(void **state)
{
    struct arig_run *a = sparse("dtype=float shape=[4,2]");

    (void)state;
    arig_expect_ok(rows(a, "int64[2] 3 0", "float[2,2] 1 2 3 4", NULL));
    arig_expect_ok(rows(a, "int64[2] 0 3", "float[2,2] 10 20 30 40", NULL));
    arig_expect_ok(rows(a, "int64[0]", "float[0,2]", NULL));
    expect_rows(take_rows(a, "int32 3"), "int64[3] 0 3 0",
                "float[3,2] 10 20 15.5 21 3 4", "int64[2] 4 2");
}

static void test_equal_rows_come_out_as_in_tensorflow(void **state)
{
    struct arig_run *a = sparse("dtype=float shape=[4,2]");

    (void)state;
    arig_expect_ok(rows(a, "int64[2] 1 1", "float[2,2] 1 2 3 4", NULL));
    arig_expect_ok(
        rows(a, "int64[3] 1 1 2", "float[3,2] 10 20 30 40 1 1", NULL));
    expect_rows(take_rows(a, "int32 2"), "int64[3] 1 1 2",
                "float[3,2] 5.5 11 16.5 22 1 1", "int64[2] 4 2");
}

static void test_an_unknown_first_dimension_stays_unknown(void **state)
{
    struct arig_run *a = sparse("dtype=float shape=<unknown>");
    struct arig_run *b = sparse("dtype=float shape=[?,2]");

    (void)state;
    arig_expect_ok(
        rows(a, "int64[2] 0 2", "float[2,2] 1 2 3 4", "int64[2] 4 2"));
    expect_rows(take_rows(a, "int32 1"), "int64[2] 0 2", "float[2,2] 1 2 3 4",
                "int64[2] -1 2");
    arig_expect_ok(rows(b, "int64[1] 1000000", "float[1,2] 1 2", NULL));
    expect_rows(take_rows(b, "int32 1"), "int64[1] 1000000", "float[1,2] 1 2",
                "int64[2] -1 2");
}

static void test_rows_that_do_not_fit(void **state)
{
    static const struct {
        const char *indices, *values, *shape, *text;
    } cases[] = {
        {"int64[1,2] 0 2", "float[2,2] 1", NULL,
         "Input indices should be vector but received shape: [1,2]"},
        {"int64[2] 0 2", "float 1", NULL, "Values cannot be 0-dimensional."},
        {"int64[2] 0 2", "float[1,2] 1", NULL,
         "Expected 2 non-empty input values, got 1"},
        {"int64[2] 0 4", "float[2,2] 1", NULL,
         "Shape mismatch: index of slice 1 exceeded limits of shape; index is "
         "4 exceeded 4"},
        {"int64[2] 0 2", "float[2,2] 1", "int64[1] 4",
         "Shape mismatch: expected shape rank at least 2, got 1"},
        {"int64[2] 0 2", "float[2,2] 1", "int64[2] 5 2",
         "Shape mismatch: expected shape dim 0 to be 4, got 5"},
        {"int64[2] 0 2", "float[2,2] 1", "int64[0]",
         "Shape mismatch: expected shape rank at least 2, got 0"},
        {"int64[1] 0", "float[1] 1", NULL,
         "Shape mismatch: expected values rank"},
        {"int64[1] 0", "float[1,3] 1", NULL,
         "Shape mismatch: expected values dim 1 to be 2, got 3"},
    };
    struct arig_run *a = sparse("dtype=float shape=[4,2]");

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            arig_expect_failed(
                rows(a, cases[i].indices, cases[i].values, cases[i].shape),
                TFD_INVALID_ARGUMENT, cases[i].text);
        arig_expect_ok(rows(a, "int64[1] 0", "float[1,2] 1 2", NULL));
    }
    expect_rows(take_rows(a, "int32 2"), "int64[1] 0", "float[1,2] 1 2",
                "int64[2] 4 2");
}

static void test_sparse_is_not_dense(void **state)
{
    struct arig_run *a = sparse("dtype=float shape=[4]"), *b;

    (void)state;
    by_reference = true;
    b = dense("dtype=float shape=[4]");
    arig_expect_failed(apply(a, "int64 9", "float[4] 1"), TFD_INVALID_ARGUMENT,
                       "is for dense accumulators, but this one is sparse");
    arig_expect_failed(take(a, "int32 1"), TFD_INVALID_ARGUMENT,
                       "is for dense accumulators");
    arig_expect_failed(rows(b, "int64[1] 0", "float[1] 1", NULL),
                       TFD_INVALID_ARGUMENT, "is for sparse accumulators");
    arig_expect_failed(take_rows(b, "int32 1"), TFD_INVALID_ARGUMENT,
                       "is for sparse accumulators");
    expect_count(a, "int32 0");
    arig_expect_ok(set_step(a, "int64 10"));
    arig_expect_ok(rows(a, "int64[1] 0", "float[1] 1", NULL)); /* stale */
    expect_count(a, "int32 0");
    by_reference = false;
}

static void test_a_cancelled_taker_of_rows(void **state)
{
    struct arig_run *a = sparse("dtype=float shape=[4]");
    struct arig_run *out = take_rows(a, "int32 2");

    (void)state;
    arig_expect_ok(rows(a, "int64[1] 0", "float[1] 1", NULL));
    arig_cancel(out);
    arig_expect_failed(out, TFD_CANCELLED, "TakeGrad");
    expect_rows(take_rows(a, "int32 1"), "int64[1] 0", "float[1] 1",
                "int64[1] 4");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, arig_setup, arig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_who_takes_gets_the_mean),
        TEST(test_more_than_required_are_taken),
        TEST(test_a_sum_is_not_divided),
        TEST(test_doubles),
        TEST(test_stale_gradients_are_dropped),
        TEST(test_gradients_stay_what_they_were),
        TEST(test_takers_are_served_in_their_order),
        TEST(test_a_cancelled_taker_makes_way),
        TEST(test_who_waits_keeps_the_accumulator),
        TEST(test_a_shared_accumulator_is_taken_as_it_is),
        TEST(test_gradients_that_do_not_fit),
        TEST(test_what_is_no_accumulator_is_refused),
        TEST(test_each_row_is_divided_by_its_own_count),
        TEST(test_rows_are_summed),
        TEST(test_rows_out_of_order_come_out_as_in_tensorflow),
        TEST(test_equal_rows_come_out_as_in_tensorflow),
        TEST(test_an_unknown_first_dimension_stays_unknown),
        TEST(test_rows_that_do_not_fit),
        TEST(test_sparse_is_not_dense),
        TEST(test_a_cancelled_taker_of_rows),
    };

    return cmocka_run_group_tests_name("accumulator", tests, NULL, NULL);
}
