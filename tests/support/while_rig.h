/*
 * while_rig.h - while loops written in a line per node, for tests of
 * while_*.c of daemon/worker.
 *
 * A loop counts to n and says what else it does and what it gives for some n.
 * It runs as it was compiled and again with its loops' code taken away, which
 * must make no difference.
 */
#ifndef TFD_TESTS_SUPPORT_WHILE_RIG_H
#define TFD_TESTS_SUPPORT_WHILE_RIG_H

#include "daemon/worker/compile/while_code.h"
#include "tests/support/executor_rig.h"

#define LINES_MAX 40
#define FEEDS_MAX 4
#define FRAMES_MAX 4

/* ---- Graphs as text ------------------------------------------------------ */

/* "name op inputs"; Enter and Always are followed by their frame, Const by its
 * value. */
static inline void put_line(const char *line)
{
    char name[64], op[64], word[64] = "", inputs[128] = "";
    bool has_word = strstr(line, " Enter ") || strstr(line, " Always ") ||
                    strstr(line, " Const ") || strstr(line, " RefEnter ");

    if (has_word)
        assert_true(
            sscanf(line, "%63s %63s %63s %127s", name, op, word, inputs) >= 3);
    else
        assert_true(sscanf(line, "%63s %63s %127s", name, op, inputs) >= 2);
    if (!strcmp(op, "Const")) {
        wrig_const_of(&w, name, TFD_FLOAT, atof(word), inputs);
        return;
    }
    if (has_word) {
        wrig_attr_str(&w, "frame_name", word);
        wrig_attr_bool(&w, "is_constant", !strcmp(op, "Always"));
        wrig_attr_int(&w, "parallel_iterations", 3);
    }
    if (!strcmp(op, "TestSplit"))
        wrig_attr_int(&w, "N", 6);
    if (!strcmp(op, "_SwitchN"))
        wrig_attr_int(&w, "num_outs", 3);
    wrig_node(&w, name, !strcmp(op, "Always") ? "Enter" : op, inputs);
}

/* i = 0; while (i < n) { ...; i = next }, with L/i, L/one to be used. */
static const char *const counter[] = {
    "zero Const 0",
    "L/enter Enter L zero",
    "L/n Always L n",
    "L/merge Merge L/enter,L/next",
    "L/less TestLess L/merge,L/n",
    "L/cond LoopCond L/less",
    "L/switch Switch L/merge,L/cond",
    "L/exit Exit L/switch",
    "L/i Identity L/switch:1",
    "L/one Const 1 ^L/i",
    "L/add TestAdd L/i,L/one",
};

/* A second variable x; the lines say what L/x_next is given. */
#define VARIABLE(from)                                               \
    "L/x_enter Enter L " from, "L/x_merge Merge L/x_enter,L/x_next", \
        "L/x_switch Switch L/x_merge,L/cond", "L/x_exit Exit L/x_switch"
#define NEXT(from) "L/next NextIteration " from

struct loop {
    const char *name;
    const char *lines[LINES_MAX];
    const char *fetch;
    double results[FEEDS_MAX]; /* for n of 0, 1, 2, 5 */
    bool is_code;
};

static const double feeds[FEEDS_MAX] = {0, 1, 2, 5};

static const struct loop count_to_n = {
    "a counter", {NEXT("L/add")}, "L/exit", {0, 1, 2, 5}, true};

static inline uint64_t put_loop(const struct loop *l)
{
    wrig_feed(&w, "n");
    for (size_t i = 0; i < TFD_COUNT(counter); i++)
        put_line(counter[i]);
    for (int i = 0; i < LINES_MAX && l->lines[i]; i++)
        put_line(l->lines[i]);
    wrig_fetch(&w, l->fetch);
    return wrig_register(&w);
}

static inline struct tfd_exec *exec_of(uint64_t graph)
{
    struct tfd_graph_entry *g = tfd_graphs_find(w.service, graph);

    assert_non_null(g);
    return g->exec;
}

static inline void take_code_away(struct tfd_exec *e)
{
    for (int32_t i = 0; i < e->frame_count; i++)
        e->frames[i].code = NULL;
}

static inline void run_loop(const struct loop *l, uint64_t graph,
                            const char *how)
{
    for (int round = 0; round < 6; round++)
        for (int i = 0; i < FEEDS_MAX; i++) {
            w.fed[0] = wrig_scalar(TFD_FLOAT, feeds[i]);
            if (wrig_run(&w, graph) != TFD_OK)
                fail_msg("%s (%s): %s", l->name, how, w.st.text);
            if (wrig_is_dead(&w, 0))
                fail_msg("%s (%s): nothing for %g", l->name, how, feeds[i]);
            if (wrig_result(&w, 0) != l->results[i])
                fail_msg("%s (%s): %g for %g, not %g", l->name, how,
                         wrig_result(&w, 0), feeds[i], l->results[i]);
        }
}

static inline bool has_code(const struct tfd_exec *e)
{
    bool has = false;

    for (int32_t i = 0; i < e->frame_count; i++)
        has |= e->frames[i].code != NULL;
    return has;
}

static inline void check_loop(const struct loop *l)
{
    struct tfd_alloc_stats before, after;
    uint64_t graph = put_loop(l);

    if (!graph)
        fail_msg("%s: %s", l->name, w.st.text);
    if (has_code(exec_of(graph)) != l->is_code)
        fail_msg("%s: is%s code", l->name, l->is_code ? " no" : "");
    run_loop(l, graph, "first");
    tfd_alloc_stats(&before);
    run_loop(l, graph, "again");
    tfd_alloc_stats(&after);
    if (before.in_use != after.in_use)
        fail_msg("%s: leaves values behind", l->name);
    graph = put_loop(l);
    take_code_away(exec_of(graph));
    run_loop(l, graph, "node by node");
}

#endif
