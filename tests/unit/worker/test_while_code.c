/*
 * test_while_code.c - loops that become code and loops that do not:
 * while_*.c of daemon/worker.
 */
#include "tests/support/while_rig.h"

static const struct loop code[] = {
    {"a counter", {NEXT("L/add")}, "L/exit", {0, 1, 2, 5}, true},
    {"a sum",
     {NEXT("L/add"), VARIABLE("zero"), "L/x_add TestAdd L/x_switch:1,L/i",
      "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 0, 1, 10},
     true},
    {"a variable that stays",
     {NEXT("L/add"), VARIABLE("n"), "L/x_next NextIteration L/x_switch:1"},
     "L/x_exit",
     {0, 1, 2, 5},
     true},
    {"a variable that follows another",
     {NEXT("L/add"), VARIABLE("n"), "L/x_next NextIteration L/i"},
     "L/x_exit",
     {0, 0, 1, 4},
     true},
    {"two that change places",
     {NEXT("L/add"), VARIABLE("zero"), "L/y_enter Enter L one", "one Const 1",
      "L/y_merge Merge L/y_enter,L/y_next",
      "L/y_switch Switch L/y_merge,L/cond",
      "L/x_next NextIteration L/y_switch:1",
      "L/y_next NextIteration L/x_switch:1"},
     "L/x_exit",
     {0, 1, 0, 1},
     true},
    {"a variable that becomes a constant",
     {NEXT("L/add"), VARIABLE("n"), "L/x_next NextIteration L/one"},
     "L/x_exit",
     {0, 1, 1, 1},
     true},
    {"a variable that becomes what is given from outside",
     {NEXT("L/add"), VARIABLE("zero"), "L/same Identity L/n,^L/i",
      "L/x_next NextIteration L/same"},
     "L/x_exit",
     {0, 1, 2, 5},
     true},
    {"what is given from outside is not written over",
     {NEXT("L/add"), VARIABLE("zero"), "L/more TestMore L/n,^L/i",
      "L/x_add TestAdd L/x_switch:1,L/more", "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 2, 6, 30},
     true},
    {"a constant is not written over",
     {NEXT("L/add"), VARIABLE("zero"), "L/more TestMore L/one",
      "L/x_add TestAdd L/x_switch:1,L/more", "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 2, 4, 10},
     true},
    {"a value with two readers is not written over",
     {NEXT("L/add"), VARIABLE("zero"), "L/more TestMore L/x_switch:1",
      "L/most TestMore L/x_switch:1", "L/x_add TestAdd L/more,L/most",
      "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 2, 6, 62},
     true},
    {"many outputs, some unread",
     {NEXT("L/add"), VARIABLE("zero"), "L/split TestSplit L/x_switch:1",
      "L/x_add TestAdd L/split:2,L/split:3,L/split:3",
      "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 8, 8, 8},
     true},
    {"nobody reads what it does",
     {NEXT("L/add"), "L/unread TestCount L/i", "L/too TestCount L/n"},
     "L/exit",
     {0, 1, 2, 5},
     true},
    {"an order that only control edges say",
     {NEXT("L/add"), VARIABLE("zero"), "L/first TestCount L/i",
      "L/wait NoOp ^L/first", "L/late TestAdd L/x_switch:1,L/one,^L/wait",
      "L/x_next NextIteration L/late"},
     "L/x_exit",
     {0, 1, 2, 5},
     true},
    {"a body that reads what the condition computed",
     {NEXT("L/add"), VARIABLE("zero"), "L/early TestCount L/merge",
      "L/late TestAdd L/early,L/one", "L/x_next NextIteration L/late"},
     "L/x_exit",
     {0, 1, 2, 5},
     true},
    {"a conditional",
     {NEXT("L/phi"), "three Const 3", "L/three Always L three",
      "L/small TestLess L/i,L/three", "L/branch Switch L/i,L/small",
      "L/f TestAdd L/branch,L/one,L/one", "L/t TestAdd L/branch:1,L/one",
      "L/phi Merge L/f,L/t"},
     "L/exit",
     {0, 1, 2, 5},
     true},
    {"a conditional of constants",
     {NEXT("L/add"), VARIABLE("zero"), "two Const 2", "L/two Always L two",
      "L/small TestLess L/i,L/two", "L/pivot Switch L/small,L/small",
      "L/pf Identity L/pivot", "L/pt Identity L/pivot:1", "L/f Const 100 ^L/pf",
      "L/t Const 1 ^L/pt", "L/phi Merge L/t,L/f",
      "L/x_add TestAdd L/x_switch:1,L/phi", "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 1, 2, 302},
     true},
    {"a conditional within a conditional, of what comes from outside",
     {NEXT("L/add"), VARIABLE("zero"), "two Const 2", "L/two Always L two",
      "L/small TestLess L/i,L/two", "L/a Switch L/n,L/small",
      "L/less2 TestLess L/one,L/a", "L/b Switch L/a,L/less2",
      "L/c TestMore L/b", "L/d TestCount L/b:1", "L/inner Merge L/c,L/d",
      "L/t TestMore L/a:1", "L/phi Merge L/inner,L/t",
      "L/x_add TestAdd L/x_switch:1,L/phi", "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 2, 6, 27},
     true},
    {"which side a Merge took",
     {NEXT("L/add"), VARIABLE("n"), "L/small TestLess L/i,L/one",
      "L/branch Switch L/i,L/small", "L/phi Merge L/branch,L/branch:1",
      "L/float TestFloat L/phi:1", "L/x_next NextIteration L/float"},
     "L/x_exit",
     {0, 1, 0, 0},
     true},
    {"a side that is not taken drops what it was given",
     {NEXT("L/add"), VARIABLE("zero"), "L/small TestLess L/i,L/one",
      "L/branch Switch L/i,L/small", "L/early TestMore L/i",
      "L/f TestAdd L/branch,L/early", "L/t TestAdd L/branch:1,L/early",
      "L/phi Merge L/f,L/t", "L/x_next NextIteration L/phi"},
     "L/x_exit",
     {0, 1, 3, 9},
     true},
    {"a loop within",
     {NEXT("L/add"), VARIABLE("zero"), "I/enter Enter I L/none",
      "L/none Const 0 ^L/i", "I/n Always I L/i",
      "I/s_enter Enter I L/x_switch:1", "I/one Always I L/one",
      "I/merge Merge I/enter,I/next", "I/s_merge Merge I/s_enter,I/s_next",
      "I/less TestLess I/merge,I/n", "I/cond LoopCond I/less",
      "I/switch Switch I/merge,I/cond", "I/s_switch Switch I/s_merge,I/cond",
      "I/add TestAdd I/switch:1,I/one", "I/next NextIteration I/add",
      "I/s_add TestAdd I/s_switch:1,I/one", "I/s_next NextIteration I/s_add",
      "I/s_exit Exit I/s_switch", "L/x_next NextIteration I/s_exit"},
     "L/x_exit",
     {0, 0, 1, 10},
     true},
    {"a loop within, of what is outside of both",
     {NEXT("L/add"), VARIABLE("zero"), "I/enter Enter I L/none",
      "L/none Const 0 ^L/i", "I/n Always I L/n", "I/merge Merge I/enter,I/next",
      "I/less TestLess I/merge,I/n", "I/cond LoopCond I/less",
      "I/switch Switch I/merge,I/cond", "I/one Const 1 ^I/switch",
      "I/more TestMore I/switch:1", "I/next NextIteration I/more",
      "I/exit Exit I/switch", "L/x_add TestAdd L/x_switch:1,I/exit",
      "L/x_next NextIteration L/x_add"},
     "L/x_exit",
     {0, 1, 4, 25},
     true},
    {"a loop within one side",
     {NEXT("L/add"), VARIABLE("zero"), "L/small TestLess L/i,L/one",
      "L/a Switch L/n,L/small", "L/b Switch L/x_switch:1,L/small",
      "I/enter Enter I L/b", "I/n Always I L/a", "I/merge Merge I/enter,I/next",
      "I/less TestLess I/merge,I/n", "I/cond LoopCond I/less",
      "I/switch Switch I/merge,I/cond", "I/more TestMore I/switch:1",
      "I/next NextIteration I/more", "I/exit Exit I/switch",
      "L/phi Merge I/exit,L/b:1", "L/x_next NextIteration L/phi"},
     "L/x_exit",
     {0, 0, 2, 5},
     true},
};

static const struct loop no_code[] = {
    {"an asynchronous kernel",
     {NEXT("L/late"), "L/late TestAtOnce L/add"},
     "L/exit",
     {0, 1, 2, 5},
     false},
    {"a kernel that waits for a disk",
     {NEXT("L/late"), "L/late TestBlocks L/add"},
     "L/exit",
     {0, 1, 2, 5},
     false},
    {"a variable without a NextIteration of its own",
     {NEXT("L/add"), VARIABLE("zero"), "L/x_next NextIteration L/small",
      "L/small TestAdd L/x_merge,L/one", "L/y_merge Merge L/x_enter,L/n",
      "L/y TestCount L/y_merge"},
     "L/exit",
     {0, 1, 2, 5},
     false},
    {"a value that leaves on the way",
     {NEXT("L/add"), "L/last TestCount L/switch", "L/out Exit L/last"},
     "L/out",
     {0, 1, 2, 5},
     false},
    {"a Merge that knows only one side",
     {NEXT("L/phi"), "L/small TestLess L/i,L/n", "L/branch Switch L/i,L/small",
      "L/t TestAdd L/branch:1,L/one", "L/more TestMore L/branch",
      "L/f TestMore L/more", "L/never Switch L/f,L/small",
      "L/phi Merge L/t,L/never:1"},
     "L/exit",
     {0, 1, 2, 5},
     false},
    {"predicates that are equal, which nobody knows",
     {NEXT("L/phi"), "L/small TestLess L/i,L/n", "L/same TestLess L/i,L/n",
      "L/f Switch L/i,L/small", "L/t Switch L/i,L/same",
      "L/more TestAdd L/t:1,L/one", "L/phi Merge L/f,L/more"},
     "L/exit",
     {0, 1, 2, 5},
     false},
    {"a switch of three ways, two of them put together",
     {NEXT("L/phi"), "L/way TestInt L/i", "L/branch _SwitchN L/i,L/way",
      "L/a TestMore L/branch", "L/b TestMore L/branch:1",
      "L/c TestMore L/branch:2", "L/ab Merge L/a,L/b", "L/phi Merge L/ab,L/c"},
     "L/exit",
     {0, 1, 2, 5},
     false},
};

static void test_loops_that_become_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < TFD_COUNT(code); i++)
        check_loop(&code[i]);
}

static void test_loops_that_do_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < TFD_COUNT(no_code); i++)
        check_loop(&no_code[i]);
}

/* ---- What a loop inside costs when the one outside is no code ------------ */

static const struct loop half = {
    "a loop within one that waits",
    {NEXT("L/late"), "L/late TestAtOnce L/add", VARIABLE("zero"),
     "I/enter Enter I L/x_switch:1", "I/n Always I L/n",
     "I/merge Merge I/enter,I/next", "I/less TestLess I/merge,I/n",
     "I/cond LoopCond I/less", "I/switch Switch I/merge,I/cond",
     "I/more TestMore I/switch:1", "I/next NextIteration I/more",
     "I/exit Exit I/switch", "L/x_next NextIteration I/exit"},
    "L/x_exit",
    {0, 1, 2, 5},
    true,
};

static void test_only_the_inner_loop_is_code(void **state)
{
    const struct tfd_exec *e;
    uint64_t graph = put_loop(&half);

    (void)state;
    e = exec_of(graph);
    for (int32_t i = 1; i < e->frame_count; i++)
        assert_true((e->frames[i].code != NULL) ==
                    !strcmp(e->frames[i].name, "I"));
    check_loop(&half);
}

/* As code it would wait for ever; node by node it does what it can. */
static void test_an_enter_that_waits_for_an_exit_is_no_code(void **state)
{
    static const struct loop waits = {
        "an Enter that waits for an Exit",
        {NEXT("L/add"), "L/never Exit L/switch", "L/late Always L L/never",
         "L/end TestCount L/late"},
        "L/exit",
        {0},
        false,
    };
    uint64_t graph = put_loop(&waits);

    (void)state;
    assert_false(has_code(exec_of(graph)));
    w.fed[0] = wrig_scalar(TFD_FLOAT, 1);
    assert_int_equal(wrig_run(&w, graph), TFD_OK);
    assert_true(wrig_result(&w, 0) == 1);
}

/* ---- Entered dead -------------------------------------------------------- */

/* Where some Enters are dead and some are not, the loop goes on with these. */
static void put_partly_dead(bool all)
{
    wrig_feed_of(&w, "pred", TFD_BOOL);
    put_line("zero Const 0");
    put_line("five Const 5");
    put_line("side Switch zero,pred");
    put_line("limit Switch five,pred");
    put_line("L/enter Enter L side:1");
    put_line(all ? "L/n Always L limit:1" : "L/n Always L five");
    put_line("L/merge Merge L/enter,L/next");
    put_line("L/less TestLess L/merge,L/n");
    put_line("L/cond LoopCond L/less");
    put_line("L/switch Switch L/merge,L/cond");
    put_line("L/exit Exit L/switch");
    put_line("L/more TestMore L/switch:1");
    put_line("L/next NextIteration L/more");
    wrig_fetch(&w, "L/exit");
}

static void test_a_loop_that_is_entered_dead_gives_nothing(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        uint64_t graph;

        put_partly_dead(all);
        graph = wrig_register(&w);
        assert_true(has_code(exec_of(graph)));
        for (int i = 0; i < 20; i++) {
            w.fed[0] = wrig_scalar(TFD_BOOL, i % 2);
            assert_int_equal(wrig_run(&w, graph), TFD_OK);
            assert_true(wrig_is_dead(&w, 0) == (i % 2 == 0));
            if (i % 2)
                assert_true(wrig_result(&w, 0) == 5);
        }
    }
}

/* ---- Sizes --------------------------------------------------------------- */

static void test_a_long_chain_in_a_loop_is_code(void **state)
{
    char line[64];

    (void)state;
    wrig_feed(&w, "n");
    for (size_t i = 0; i < TFD_COUNT(counter); i++)
        put_line(counter[i]);
    for (int i = 0; i < 3000; i++) {
        snprintf(line, sizeof(line), "t%d TestCount %s%d", i, i ? "t" : "L/add",
                 i - 1);
        if (i == 0)
            snprintf(line, sizeof(line), "t0 TestCount L/add");
        put_line(line);
    }
    put_line("L/next NextIteration t2999");
    wrig_fetch(&w, "L/exit");
    w.registered = wrig_register(&w);
    assert_true(has_code(exec_of(w.registered)));
    w.fed[0] = wrig_scalar(TFD_FLOAT, 20);
    assert_int_equal(wrig_run(&w, w.registered), TFD_OK);
    assert_true(wrig_result(&w, 0) == 20);
}

/* Each waits for something, so none is left out before. */
static void test_what_takes_long_to_look_through_is_no_code(void **state)
{
    char line[64];

    (void)state;
    for (int count = 60; count < 70; count += 9) {
        wrig_feed(&w, "n");
        for (size_t i = 0; i < TFD_COUNT(counter); i++)
            put_line(counter[i]);
        put_line("p0 Identity L/add,^L/cond");
        for (int i = 1; i < count; i++) {
            snprintf(line, sizeof(line), "p%d Identity p%d,^L/cond", i, i - 1);
            put_line(line);
        }
        snprintf(line, sizeof(line), "L/next NextIteration p%d", count - 1);
        put_line(line);
        wrig_fetch(&w, "L/exit");
        w.registered = wrig_register(&w);
        assert_true(has_code(exec_of(w.registered)) == (count <= 64));
        w.fed[0] = wrig_scalar(TFD_FLOAT, 20);
        assert_int_equal(wrig_run(&w, w.registered), TFD_OK);
        assert_true(wrig_result(&w, 0) == 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_loops_that_become_code),
        TEST_ALONE(test_loops_that_become_code),
        TEST(test_loops_that_do_not),
        TEST_ALONE(test_loops_that_do_not),
        TEST(test_only_the_inner_loop_is_code),
        TEST(test_an_enter_that_waits_for_an_exit_is_no_code),
        TEST(test_a_loop_that_is_entered_dead_gives_nothing),
        TEST_ALONE(test_a_loop_that_is_entered_dead_gives_nothing),
        TEST(test_a_long_chain_in_a_loop_is_code),
        TEST(test_what_takes_long_to_look_through_is_no_code),
    };

    return cmocka_run_group_tests_name("loop code", tests, NULL, NULL);
}
