/*
 * worker.c - what a step costs on a worker in this process, without any
 * socket: the empty step, a constant fetched, chains and fans of the cheapest
 * kernels, a loop's iteration.
 *
 *     build/bench/worker [STEPS [CASE]]
 *
 * One line per case: microseconds per step, nanoseconds per node, and how many
 * times memory was asked for in a thousand steps.
 */
#include "tests/support/worker_rig.h"

#include "common/base/clock.h"

static struct wrig w;
static const char *only; /* cases whose names have it; NULL: all */

static void measure(const char *name, uint64_t graph, int steps, int nodes)
{
    struct tfd_alloc_stats before, after;
    int64_t begin;
    double us;

    assert_true(graph != 0);
    if (only && !strstr(name, only))
        return;
    for (int i = 0; i < 200; i++)
        assert_int_equal(wrig_run(&w, graph), TFD_OK);
    tfd_alloc_stats(&before);
    begin = tfd_clock_now_us();
    for (int i = 0; i < steps; i++)
        (void)wrig_run(&w, graph);
    us = (double)(tfd_clock_now_us() - begin) / steps;
    tfd_alloc_stats(&after);
    printf("%-28s %9.3f us/step %8.1f ns/node %6.1f allocations/1000\n", name,
           us, us * 1000 / nodes,
           (double)(after.allocs - before.allocs) * 1000 / steps);
}

static uint64_t chain(const char *op, int count)
{
    char name[24], input[24] = "n0";

    wrig_const(&w, "c", 1);
    wrig_node(&w, "n0", "TestCount", "c");
    for (int i = 1; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        wrig_node(&w, name, op, input);
        memcpy(input, name, sizeof(input));
    }
    wrig_fetch(&w, input);
    return wrig_register(&w);
}

static uint64_t fan(int count)
{
    char name[24];

    wrig_const(&w, "c", 1);
    wrig_node(&w, "root", "TestCount", "c");
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        wrig_node(&w, name, "TestCount", "root");
    }
    return wrig_register(&w);
}

static uint64_t loop_of(int count)
{
    wrig_const(&w, "zero", 0);
    wrig_const(&w, "limit", count);
    wrig_attr_str(&w, "frame_name", "L");
    wrig_node(&w, "enter", "Enter", "zero");
    wrig_attr_str(&w, "frame_name", "L");
    wrig_attr_bool(&w, "is_constant", true);
    wrig_node(&w, "end", "Enter", "limit");
    wrig_node(&w, "merge", "Merge", "enter,next");
    wrig_node(&w, "less", "TestLess", "merge,end");
    wrig_node(&w, "cond", "LoopCond", "less");
    wrig_node(&w, "switch", "Switch", "merge,cond");
    wrig_node(&w, "exit", "Exit", "switch");
    wrig_node(&w, "i", "Identity", "switch:1");
    wrig_const_of(&w, "one", TFD_FLOAT, 1, "^i");
    wrig_node(&w, "add", "TestAdd", "i,one");
    wrig_node(&w, "next", "NextIteration", "add");
    wrig_fetch(&w, "exit");
    return wrig_register(&w);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 20000;

    only = argc > 2 ? argv[2] : NULL;
    wrig_init(&w, 2);
    measure("empty step", wrig_register(&w), steps * 10, 1);
    wrig_const(&w, "a", 1);
    wrig_fetch(&w, "a");
    measure("constant fetched", wrig_register(&w), steps * 10, 1);
    measure("chain of 10", chain("TestCount", 10), steps * 10, 10);
    measure("chain of 100", chain("TestCount", 100), steps, 100);
    measure("chain of 1000", chain("TestCount", 1000), steps / 10, 1000);
    measure("chain of 1000 Identity", chain("Identity", 1000), steps, 1000);
    measure("fan of 1000", fan(1000), steps / 10, 1000);
    measure("loop of 1000 iterations", loop_of(1000), steps / 20, 1000);
    wrig_deinit(&w);
    return 0;
}
