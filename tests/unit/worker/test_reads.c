/*
 * test_reads.c - daemon/worker: when what a variable refers to is read.
 */
#include "tests/support/worker_rig.h"

static struct wrig w;

static int setup(void **state)
{
    (void)state;
    wrig_init(&w, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wrig_deinit(&w);
    return 0;
}

static void put_variable(const char *name)
{
    const struct tfd_shape scalar = {0, {0}};

    tfd_attr_put_shape(wrig_attr(&w, "shape"), &scalar);
    wrig_attr_type(&w, "dtype", TFD_FLOAT);
    wrig_node(&w, name, "VariableV2", "");
}

/* As in TensorFlow, where they share the variable's memory. */
static void test_consumers_of_an_identity_read_the_variable(void **state)
{
    uint64_t graph;

    (void)state;
    put_variable("v");
    wrig_feed(&w, "x");
    wrig_const(&w, "one", 1);
    wrig_node(&w, "first", "Assign", "v,one");
    wrig_node(&w, "read", "Identity", "v,^first");
    wrig_node(&w, "gate", "NoOp", "^read");
    wrig_node(&w, "again", "Identity", "read,^gate");
    wrig_node(&w, "early", "TestAdd", "again,one");
    wrig_node(&w, "second", "Assign", "v,x,^early");
    wrig_node(&w, "late", "TestAdd", "again,^second");
    wrig_fetch(&w, "early");
    wrig_fetch(&w, "late");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 20; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 10 + i);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 2);
        assert_true(wrig_result(&w, 1) == 10 + i);
    }
}

/* A client sees the variable as the step left it, as in TensorFlow, where what
 * it fetches shares the variable's memory until it is sent. */
static void test_a_fetch_is_read_when_the_step_ends(void **state)
{
    uint64_t graph;

    (void)state;
    put_variable("v");
    wrig_feed(&w, "x");
    wrig_const(&w, "one", 1);
    wrig_node(&w, "first", "Assign", "v,one");
    wrig_node(&w, "read", "Identity", "v,^first");
    wrig_node(&w, "sum", "TestAdd", "read,one");
    wrig_node(&w, "second", "Assign", "v,x,^sum");
    wrig_fetch(&w, "read");
    wrig_fetch(&w, "sum");
    wrig_fetch(&w, "second");
    graph = wrig_register(&w);
    assert_true(graph != 0);
    for (int i = 0; i < 20; i++) {
        w.fed[0] = wrig_scalar(TFD_FLOAT, 10 + i);
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
        assert_true(wrig_result(&w, 0) == 10 + i);
        assert_true(wrig_result(&w, 1) == 2);
        assert_true(wrig_result(&w, 2) == 10 + i);
    }
}

/* The error is the Identity's, although it reads nothing itself. */
static void test_an_identity_of_nothing_fails(void **state)
{
    uint64_t graph;

    (void)state;
    put_variable("v");
    wrig_node(&w, "read", "Identity", "v");
    wrig_node(&w, "sum", "TestAdd", "read");
    wrig_fetch(&w, "sum");
    graph = wrig_register(&w);
    assert_int_equal(wrig_run(&w, graph), TFD_FAILED_PRECONDITION);
    assert_string_equal(w.st.text, "Attempting to use uninitialized value v"
                                   "\n\t [[{{node read}}]]");
}

/* What a step returns stays as it was. */
static void test_a_fetched_value_does_not_change(void **state)
{
    uint64_t read, assign;

    (void)state;
    put_variable("v");
    wrig_feed(&w, "x");
    wrig_node(&w, "assign", "Assign", "v,x");
    assign = wrig_register(&w);
    put_variable("v");
    wrig_node(&w, "read", "Identity", "v");
    wrig_fetch(&w, "read");
    read = wrig_register(&w);
    for (int i = 0; i < 3; i++) {
        struct tfd_tensor kept;

        w.fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(&w, assign), TFD_OK);
        assert_int_equal(wrig_run(&w, read), TFD_OK);
        kept = tfd_tensor_ref(&w.fetched[0]);
        w.fed[0] = wrig_scalar(TFD_FLOAT, 100);
        assert_int_equal(wrig_run(&w, assign), TFD_OK);
        assert_true(wrig_float_at(&kept) == (float)i);
        tfd_tensor_unref(&kept);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_consumers_of_an_identity_read_the_variable),
        TEST(test_a_fetch_is_read_when_the_step_ends),
        TEST(test_an_identity_of_nothing_fails),
        TEST(test_a_fetched_value_does_not_change),
    };

    return cmocka_run_group_tests_name("reads", tests, NULL, NULL);
}
