/*
 * test_handles.c - daemon/eager/handles.c: values by operation and output.
 */
#include "daemon/eager/handles.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tfd_eager_handles handles;

static int teardown(void **state)
{
    (void)state;
    tfd_eager_handles_deinit(&handles);
    tfd_alloc_trim();
    return 0;
}

static struct tfd_tensor number(float value)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &scalar, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&t) = value;
    return t;
}

static void put(int64_t op, int32_t output, float value)
{
    struct tfd_tensor t = number(value);

    assert_int_equal(tfd_eager_handles_put(&handles, op, output, &t, NULL),
                     TFD_OK);
    assert_null(t.buffer);
}

/* -1 when there is none. */
static float get(int64_t op, int32_t output)
{
    struct tfd_tensor t;
    float value;

    if (tfd_eager_handles_get(&handles, op, output, &t, NULL) != TFD_OK)
        return -1;
    value = *(float *)tfd_tensor_data(&t);
    tfd_tensor_unref(&t);
    return value;
}

static bool drop(int64_t op, int32_t output)
{
    return tfd_eager_handles_drop(&handles, op, output, NULL) == TFD_OK;
}

static void test_outputs_of_many_operations(void **state)
{
    (void)state;
    for (int op = 0; op < 1000; op++)
        for (int output = 0; output < 3; output++)
            put(op, output, (float)(op * 3 + output));
    assert_int_equal(handles.count, 3000);
    for (int op = 0; op < 1000; op++)
        for (int output = 0; output < 3; output++)
            assert_true(get(op, output) == (float)(op * 3 + output));
    assert_true(get(-1, 0) < 0);
    assert_true(get(3, 3) < 0);
    assert_true(get(3, -1) < 0);
}

/* A list of them would be walked from its beginning for each: a minute. */
static void test_many_outputs_of_one_operation(void **state)
{
    const int64_t begun = tfd_clock_now_us();
    const int count = 200000;

    (void)state;
    for (int output = 0; output < count; output++)
        put(9, output, (float)output);
    put(9, -1, 5);
    assert_int_equal(handles.count, count + 1);
    assert_true(get(9, 777) == 777);
    assert_true(get(9, -1) == 5);
    assert_true(get(9, count) < 0);
    for (int output = 0; output < count; output += 2)
        assert_true(drop(9, output));
    assert_int_equal(handles.count, count / 2 + 1);
    assert_true(get(9, 776) < 0);
    assert_true(get(9, 777) == 777);
    assert_true(tfd_clock_now_us() - begun < 10 * 1000 * 1000);
}

struct watch {
    struct tfd_timer timer;
    struct tfd_eager_line *line;
    int turns;
};

static void look(struct tfd_timer *t)
{
    struct watch *w = (struct watch *)t;

    w->turns++;
    if (tfd_eager_line_busy(w->line))
        assert_int_equal(tfd_timer_start(t, 0, NULL), TFD_OK);
    else
        tfd_loop_stop(t->loop);
}

static void fill(int count)
{
    for (int op = 0; op < count; op++)
        put(op, 0, 1);
}

/* The loop turns meanwhile, and the table is there for others at once. */
static void test_many_leave_bit_by_bit(void **state)
{
    struct tfd_loop *loop = tfd_loop_new(NULL);
    struct tfd_eager_line line;
    struct watch w = {.line = &line};

    (void)state;
    tfd_eager_line_init(&line, loop);
    tfd_timer_init(&w.timer, loop, look);
    fill(200000);
    tfd_eager_handles_leave(&handles, &line);
    assert_int_equal(handles.count, 0);
    put(1, 0, 7);
    assert_int_equal(tfd_timer_start(&w.timer, 0, NULL), TFD_OK);
    tfd_loop_run(loop);
    assert_in_range(w.turns, 4, 200000);
    assert_true(get(1, 0) == 7);
    fill(1000);
    tfd_eager_handles_leave(&handles, &line);
    tfd_eager_line_end(&line); /* the rest of them, too */
    assert_null(line.first);
    fill(10);
    tfd_eager_handles_leave(&handles, &line);
    assert_null(line.first);
    tfd_loop_free(loop);
}

static void test_dropped_in_any_order(void **state)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    (void)state;
    for (int i = 0; i < 6; i++) {
        for (int output = 0; output < 3; output++)
            put(7, output, (float)output);
        for (int k = 0; k < 3; k++) {
            assert_true(drop(7, orders[i][k]));
            assert_false(drop(7, orders[i][k]));
            for (int later = k + 1; later < 3; later++)
                assert_true(get(7, orders[i][later]) ==
                            (float)orders[i][later]);
        }
        assert_int_equal(handles.count, 0);
        assert_int_equal(handles.by_name.count, 0);
    }
}

static void test_the_first_value_stays(void **state)
{
    (void)state;
    put(1, 0, 1);
    put(1, 0, 2);
    assert_int_equal(handles.count, 1);
    assert_true(get(1, 0) == 1);
}

static void test_a_value_outlives_its_handle(void **state)
{
    struct tfd_tensor t;

    (void)state;
    put(1, 0, 5);
    assert_int_equal(tfd_eager_handles_get(&handles, 1, 0, &t, NULL), TFD_OK);
    assert_true(drop(1, 0));
    assert_true(*(float *)tfd_tensor_data(&t) == 5);
    tfd_tensor_unref(&t);
}

static void put_resources(int64_t op, int outputs)
{
    struct tfd_shape three = {1, {3}};
    struct tfd_tensor t;

    for (int output = 0; output < outputs; output++) {
        assert_int_equal(tfd_tensor_new(&t, TFD_RESOURCE, &three, NULL),
                         TFD_OK);
        assert_int_equal(tfd_eager_handles_put(&handles, op, output, &t, NULL),
                         TFD_OK);
    }
}

static void count_one(void *ctx, const struct tfd_tensor *value)
{
    assert_int_equal(value->dtype, TFD_RESOURCE);
    ++*(size_t *)ctx;
}

static size_t resources(size_t max)
{
    size_t count = 0;

    tfd_eager_handles_resources(&handles, max, count_one, &count);
    return count;
}

/* Whatever goes first: those of one operation move within its list. */
static void test_resources_are_listed(void **state)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    (void)state;
    put(1, 0, 1);
    assert_int_equal(resources(SIZE_MAX), 0);
    put_resources(8, 1);
    for (int i = 0; i < 6; i++) {
        put_resources(7, 3);
        put(7, 3, 1);
        assert_int_equal(resources(SIZE_MAX), 4);
        assert_int_equal(resources(2), 2);
        for (size_t k = 0; k < 3; k++) {
            assert_true(drop(7, orders[i][k]));
            assert_int_equal(resources(SIZE_MAX), 3 - k);
            assert_int_equal(handles.resource_count, 3 - k);
        }
        assert_true(drop(7, 3));
    }
    assert_true(drop(8, 0));
    assert_int_equal(resources(SIZE_MAX), 0);
    assert_null(handles.resources);
}

/* By however much each counts, nothing is left. */
static void test_sizes_come_back(void **state)
{
    struct tfd_shape large = {1, {1 << 20}};
    struct tfd_tensor t;
    size_t one, before;

    (void)state;
    assert_int_equal(handles.size, 0);
    put(1, 0, 1);
    one = handles.size;
    assert_in_range(one, sizeof(float), 1000);
    put(1, 0, 2); /* the first one stays */
    assert_int_equal(handles.size, one);
    assert_false(drop(1, 1));
    before = handles.size;
    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &large, NULL), TFD_OK);
    assert_int_equal(tfd_eager_handles_put(&handles, 1, 1, &t, NULL), TFD_OK);
    assert_in_range(handles.size - before, 4 << 20, (4 << 20) + 1000);
    assert_true(drop(1, 0)); /* the other one moves */
    assert_int_equal(handles.size, (4 << 20) + one - sizeof(float));
    assert_true(drop(1, 1));
    assert_int_equal(handles.size, 0);
}

/* Coordinators look for these words, and only in one of them for the rest. */
static void test_what_is_said_of_those_that_are_not_there(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor t;

    (void)state;
    assert_int_equal(tfd_eager_handles_get(&handles, 50, 0, &t, &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "Unable to find the relevant tensor "
                                    "remote_handle: Op ID: 50, Output num: 0. "
                                    "One possible cause"));
    tfd_status_clear(&st);
    assert_int_equal(tfd_eager_handles_drop(&handles, -2, 1, &st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Unable to find the relevant tensor "
                                 "remote_handle: Op ID: -2, Output num: 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_outputs_of_many_operations, teardown),
        cmocka_unit_test_teardown(test_many_outputs_of_one_operation, teardown),
        cmocka_unit_test_teardown(test_many_leave_bit_by_bit, teardown),
        cmocka_unit_test_teardown(test_dropped_in_any_order, teardown),
        cmocka_unit_test_teardown(test_resources_are_listed, teardown),
        cmocka_unit_test_teardown(test_sizes_come_back, teardown),
        cmocka_unit_test_teardown(test_the_first_value_stays, teardown),
        cmocka_unit_test_teardown(test_a_value_outlives_its_handle, teardown),
        cmocka_unit_test_teardown(test_what_is_said_of_those_that_are_not_there,
                                  teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
