/*
 * test_late_send.c - daemon/worker/exchange/late_send.c: when a variable that
 * another task receives is read.
 */
#include "tests/support/two_tasks.h"

#include <inttypes.h>

#define STEPS 40
#define MANY 100 /* more than a runner keeps */

static void put_variable(struct wrig *w, const char *name)
{
    const struct tfd_shape scalar = {0, {0}};

    tfd_attr_put_shape(wrig_attr(w, "shape"), &scalar);
    wrig_attr_type(w, "dtype", TFD_FLOAT);
    wrig_node(w, name, "VariableV2", "");
}

/* Task 0 assigns 1, reads, sends what it read, and assigns x. */
static void put_producer(int channel, const char *assigned_after)
{
    struct wrig *w = &task[0].w;

    w->device = CPU(WRIG_TASK);
    put_variable(w, "v");
    wrig_feed(w, "x");
    wrig_const(w, "one", 1);
    wrig_node(w, "first", "Assign", "v,one");
    wrig_node(w, "read", "Identity", "v,^first");
    ends(w, "e", channel);
    wrig_node(w, "send", "_Send", "read");
    wrig_node(w, "second", "Assign", assigned_after);
}

static void expect_assigned(int channel)
{
    uint64_t graph0, graph1;

    put_producer(channel, "v,x,^read");
    graph0 = wrig_register(&task[0].w);
    graph1 = consumer("e", channel);
    assert_true(graph0 && graph1);
    for (int i = 0; i < STEPS; i++) {
        run_both(graph0, graph1, 100 + i, (float)(10 + i), false);
        assert_int_equal(task[0].w.st.code, TFD_OK);
        assert_int_equal(task[1].w.st.code, TFD_OK);
        assert_true(wrig_result(&task[1].w, 0) == 2 * (10 + i));
        clean_both(100 + i);
    }
}

static void test_what_is_assigned_at_once_is_pushed(void **state)
{
    (void)state;
    expect_assigned(3);
}

static void test_what_is_assigned_at_once_is_asked_for(void **state)
{
    (void)state;
    expect_assigned(-1);
}

static void test_a_send_that_is_waited_for_has_run(void **state)
{
    uint64_t graph0, graph1;

    (void)state;
    put_producer(3, "v,x,^send");
    graph0 = wrig_register(&task[0].w);
    graph1 = consumer("e", 3);
    run_both(graph0, graph1, 100, 5, true);
    assert_int_equal(task[0].w.st.code, TFD_OK);
    assert_true(wrig_result(&task[1].w, 0) == 10);
    clean_both(100);
}

/* Task 1 sends back what it got, and only that is assigned. */
static void test_a_step_that_waits_has_sent(void **state)
{
    struct wrig *w0 = &task[0].w, *w1 = &task[1].w;
    uint64_t graph0, graph1;

    (void)state;
    put_producer(3, "v,back,^read");
    wrig_ends(w0, CPU(TASK1), CPU(WRIG_TASK), "back");
    wrig_attr_int(w0, "_tfd_channel", 4);
    wrig_attr_type(w0, "tensor_type", TFD_FLOAT);
    wrig_node(w0, "back", "_Recv", "");
    wrig_fetch(w0, "second");
    graph0 = wrig_register(w0);
    w1->device = CPU(TASK1);
    ends(w1, "e", 3);
    wrig_attr_type(w1, "tensor_type", TFD_FLOAT);
    wrig_node(w1, "recv", "_Recv", "");
    wrig_node(w1, "sum", "TestAdd", "recv,recv");
    wrig_ends(w1, CPU(TASK1), CPU(WRIG_TASK), "back");
    wrig_attr_int(w1, "_tfd_channel", 4);
    wrig_node(w1, "send", "_Send", "sum");
    wrig_fetch(w1, "recv");
    graph1 = wrig_register(w1);
    assert_true(graph0 && graph1);
    for (int i = 0; i < STEPS; i++) {
        run_both(graph0, graph1, 100 + i, 0, true);
        assert_int_equal(w0->st.code, TFD_OK);
        assert_true(wrig_result(w1, 0) == 1);
        assert_true(wrig_result(w0, 0) == 2);
        clean_both(100 + i);
    }
}

static void put_many(struct wrig *w0, struct wrig *w1)
{
    char name[16], send[16];

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "e%d", i);
        snprintf(send, sizeof(send), "send%d", i);
        ends(w0, name, 10 + i);
        wrig_node(w0, send, "_Send", "read");
        ends(w1, name, 10 + i);
        wrig_attr_type(w1, "tensor_type", TFD_FLOAT);
        wrig_node(w1, name, "_Recv", "");
        if (i < WRIG_ENDS_MAX)
            wrig_fetch(w1, name);
    }
}

/* The first may have left before the assignment. */
static void test_more_are_sent_than_are_kept(void **state)
{
    struct wrig *w1 = &task[1].w;
    uint64_t graph0, graph1;

    (void)state;
    put_producer(3, "v,x,^read");
    w1->device = CPU(TASK1);
    put_many(&task[0].w, w1);
    graph0 = wrig_register(&task[0].w);
    graph1 = wrig_register(w1);
    run_both(graph0, graph1, 100, 5, true);
    assert_int_equal(w1->st.code, TFD_OK);
    for (int i = 0; i < WRIG_ENDS_MAX; i++)
        assert_true(wrig_result(w1, i) == 1 || wrig_result(w1, i) == 5);
    clean_both(100);
}

/* ---- What goes wrong ----------------------------------------------------- */

static void test_a_variable_without_a_value_is_not_sent(void **state)
{
    struct wrig *w = &task[0].w;

    (void)state;
    w->device = CPU(WRIG_TASK);
    put_variable(w, "v");
    wrig_const(w, "one", 1);
    ends(w, "e", 3);
    wrig_node(w, "send", "_Send", "v");
    wrig_node(w, "later", "Assign", "v,one,^send");
    assert_int_equal(wrig_run(w, wrig_register(w)), TFD_FAILED_PRECONDITION);
    assert_string_equal(w->st.text, "Attempting to use uninitialized value v"
                                    "\n\t [[{{node send}}]]");
}

/* What is kept when its step fails is let go of: another step goes on. */
static void test_a_step_that_fails_sends_nothing(void **state)
{
    struct wrig *w = &task[0].w;
    uint64_t graph;

    (void)state;
    put_producer(3, "v,x,^read");
    put_variable(w, "empty");
    wrig_node(w, "bad", "Identity", "empty,^second");
    graph = wrig_register(w);
    assert_true(graph != 0);
    for (int i = 0; i < 3; i++) {
        w->fed[0] = wrig_scalar(TFD_FLOAT, i);
        assert_int_equal(wrig_run(w, graph), TFD_FAILED_PRECONDITION);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_assigned_at_once_is_pushed),
        TEST(test_what_is_assigned_at_once_is_asked_for),
        TEST(test_a_send_that_is_waited_for_has_run),
        TEST(test_a_step_that_waits_has_sent),
        TEST(test_more_are_sent_than_are_kept),
        TEST(test_a_variable_without_a_value_is_not_sent),
        TEST(test_a_step_that_fails_sends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
