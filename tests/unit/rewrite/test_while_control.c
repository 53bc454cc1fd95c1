/*
 * test_while_control.c - daemon/rewrite/while_control.c: which control
 * loops a placed graph needs, where nodes of loops go, and what is written for
 * them.
 *
 * A graph is a table of nodes, each with the number of its task; tasks have one
 * CPU each, and the client's is task 0.  All values are of type float.
 */
#include "daemon/rewrite/while_control.h"

#include "common/proto/graphdef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TASKS 3
#define NODES_MAX 32

static const struct tfd_opdef defs[] = {
    {.name = "Source", .outputs = "o: T", .attrs = "T: type = DT_FLOAT"},
    {.name = "Predicate",
     .inputs = "x: T",
     .outputs = "p: bool",
     .attrs = "T: type"},
    {.name = "Var", .outputs = "r: Ref(T)", .attrs = "T: type = DT_FLOAT"},
    {.name = "Pass", .inputs = "x: T", .outputs = "y: T", .attrs = "T: type"},
    {.name = "Add",
     .inputs = "x: T, y: T",
     .outputs = "z: T",
     .attrs = "T: type"},
    {.name = "Identity",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type"},
    {.name = "Const",
     .outputs = "output: dtype",
     .attrs = "value: tensor; dtype: type",
     .flags = TFD_OP_CONST},
    {.name = "Enter",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type; frame_name: string; is_constant: bool = false; "
              "parallel_iterations: int = 10",
     .flags = TFD_OP_ENTER},
    {.name = "RefEnter",
     .inputs = "data: Ref(T)",
     .outputs = "output: Ref(T)",
     .attrs = "T: type; frame_name: string; is_constant: bool = false; "
              "parallel_iterations: int = 10",
     .flags = TFD_OP_ENTER},
    {.name = "Merge",
     .inputs = "inputs: N * T",
     .outputs = "output: T, value_index: int32",
     .attrs = "T: type; N: int >= 1",
     .flags = TFD_OP_MERGE},
    {.name = "Switch",
     .inputs = "data: T, pred: bool",
     .outputs = "output_false: T, output_true: T",
     .attrs = "T: type",
     .flags = TFD_OP_SWITCH},
    {.name = "LoopCond",
     .inputs = "input: bool",
     .outputs = "output: bool",
     .flags = TFD_OP_LOOP_COND},
    {.name = "Exit",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = TFD_OP_EXIT},
    {.name = "NextIteration",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = TFD_OP_NEXT_ITERATION},
    {.name = "_Send",
     .inputs = "tensor: T",
     .attrs = "T: type; tensor_name: string; send_device: string; "
              "send_device_incarnation: int; recv_device: string; "
              "client_terminated: bool = false",
     .flags = TFD_OP_SEND},
    {.name = "_Recv",
     .outputs = "tensor: tensor_type",
     .attrs = "tensor_type: type; tensor_name: string; send_device: string; "
              "send_device_incarnation: int; recv_device: string; "
              "client_terminated: bool = false",
     .flags = TFD_OP_RECV},
};

struct row {
    const char *name, *op;
    int task;
    const char *in[2]; /* a Merge's second may come later */
    const char *frame; /* of an Enter */
};

struct fixture {
    struct tfd_op_set ops;
    struct tfd_arena arena;
    struct tfd_graph *g;
    struct tfd_device_set devices;
    int32_t device_of[NODES_MAX];
    struct tfd_pruned pruned;
    struct tfd_signature signature;
    int64_t suffix;
    struct tfd_partition_request r;
    struct tfd_status st;
};

static struct fixture f;
static const bool native[TASKS] = {true, true, true};

static int setup(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    tfd_op_set_init(&f.ops);
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
        if (tfd_op_set_add(&f.ops, &defs[i], &f.st) != TFD_OK)
            return 1;
    tfd_arena_init(&f.arena, 1 << 24);
    f.g = tfd_graph_new(&f.ops, &f.st);
    tfd_device_set_init(&f.devices);
    for (int i = 0; i < TASKS; i++) {
        struct tfd_device_attributes a = {.type = "CPU", .incarnation = 7};

        snprintf(a.name, sizeof(a.name),
                 "/job:t/replica:0/task:%d/device:CPU:0", i);
        if (tfd_device_set_add(&f.devices, &a, i, NULL, &f.st) != TFD_OK)
            return 1;
    }
    return f.g ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    tfd_status_clear(&f.st);
    tfd_graph_unref(f.g);
    tfd_device_set_deinit(&f.devices);
    tfd_arena_deinit(&f.arena);
    tfd_op_set_deinit(&f.ops);
    return 0;
}

static struct tfd_edge edge(const char *text)
{
    struct tfd_edge e = TFD_EDGE_NONE;

    if (tfd_graph_find(f.g, tfd_str_of(text)) || strchr(text, ':'))
        assert_int_equal(tfd_graph_endpoint(f.g, tfd_str_of(text), &e, &f.st),
                         TFD_OK);
    return e;
}

static void add(const struct row *row)
{
    struct tfd_bytes value;
    struct tfd_attr attrs[2];
    struct tfd_edge in[2];
    struct tfd_node_spec spec = {.name = tfd_str_of(row->name),
                                 .op = tfd_str_of(row->op),
                                 .in = in,
                                 .attrs = attrs};
    struct tfd_node *n;

    tfd_bytes_init(&value, 1024);
    for (; spec.in_count < 2 && row->in[spec.in_count]; spec.in_count++)
        in[spec.in_count] = edge(row->in[spec.in_count]);
    if (row->frame) {
        tfd_attr_put_str(&value, tfd_str_of(row->frame));
        attrs[spec.attr_count++] =
            (struct tfd_attr){tfd_str_of("frame_name"), tfd_bytes_view(&value)};
    }
    if (tfd_graph_add(f.g, &spec, &n, &f.st) != TFD_OK)
        fail_msg("%s: %s", row->name, f.st.text);
    f.device_of[n->id] = row->task;
    tfd_bytes_deinit(&value);
}

/* Builds the graph and prunes it to the last node. */
static void build(const struct row *rows, int count)
{
    struct tfd_str *target = tfd_arena_alloc(&f.arena, sizeof(*target));

    for (int i = 0; i < count; i++)
        add(&rows[i]);
    for (int i = 0; i < count; i++) {
        struct tfd_node *n = tfd_graph_find(f.g, tfd_str_of(rows[i].name));

        if (strcmp(rows[i].op, "Merge") == 0 && n->in[1].node < 0)
            assert_int_equal(
                tfd_graph_set_input(f.g, n, 1, edge(rows[i].in[1]), &f.st),
                TFD_OK);
    }
    *target = tfd_str_of(rows[count - 1].name);
    f.signature = (struct tfd_signature){.targets = target, .target_count = 1};
    assert_int_equal(tfd_prune(f.g, &f.signature, &f.arena, &f.pruned, &f.st),
                     TFD_OK);
    f.r = (struct tfd_partition_request){
        .graph = f.g,
        .pruned = &f.pruned,
        .signature = &f.signature,
        .devices = &f.devices,
        .device_of = f.device_of,
        .native = native,
        .worker_count = TASKS,
        .suffix = &f.suffix,
        .arena = &f.arena,
    };
}

#define BUILD(rows) build(rows, (int)(sizeof(rows) / sizeof((rows)[0])))

static int task_of(const struct tfd_while_control *c, const char *name)
{
    return c->device_of[tfd_graph_find(f.g, tfd_str_of(name))->id];
}

/* A loop that is decided in task 0 with its body on task `body`. */
#define LOOP(p, frame, start, decide, body)                          \
    {p "enter", "Enter", decide, {start}, frame},                    \
        {p "merge", "Merge", decide, {p "enter", p "next"}, NULL},   \
        {p "less", "Predicate", decide, {p "merge"}, NULL},          \
        {p "cond", "LoopCond", decide, {p "less"}, NULL},            \
        {p "switch", "Switch", decide, {p "merge", p "cond"}, NULL}, \
        {p "body", "Pass", body, {p "switch:1"}, NULL},              \
        {p "next", "NextIteration", body, {p "body"}, NULL},         \
    {                                                                \
        p "exit", "Exit", body, {p "switch"}, NULL                   \
    }

/* ---- Which loops --------------------------------------------------------- */

static void a_graph_without_loops_is_left_alone(void **state)
{
    static const struct row rows[] = {
        {"a", "Source", 1, {NULL}, NULL},
        {"b", "Pass", 2, {"a"}, NULL},
    };
    struct tfd_while_control c;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st), TFD_OK);
    assert_ptr_equal(c.device_of, f.device_of);
    assert_int_equal(c.loop_count, 0);
    assert_null(tfd_while_control_of(&c, 0, 1));
}

static void a_loop_within_one_task_needs_none(void **state)
{
    static const struct row rows[] = {
        {"a", "Source", 1, {NULL}, NULL},
        LOOP("", "w", "a", 2, 2),
    };
    struct tfd_while_control c;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st), TFD_OK);
    assert_int_equal(c.loop_count, 0);
}

/* The body's task is told when an iteration begins, and so is the one that it
 * sends to. */
static void both_tasks_of_a_loop_get_one(void **state)
{
    static const struct row rows[] = {
        {"a", "Source", 2, {NULL}, NULL},
        LOOP("", "w", "a", 0, 1),
    };
    struct tfd_while_control c;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st), TFD_OK);
    assert_int_equal(c.loop_count, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(c.loops[i].outer, -1);
    assert_int_equal(c.loops[0].worker + c.loops[1].worker, 1);
}

static void loops_around_a_loop_get_one_too(void **state)
{
    static const struct row rows[] = {
        {"a", "Source", 0, {NULL}, NULL},
        {"enter", "Enter", 0, {"a"}, "outer"},
        {"merge", "Merge", 0, {"enter", "next"}, NULL},
        {"less", "Predicate", 0, {"merge"}, NULL},
        {"cond", "LoopCond", 0, {"less"}, NULL},
        {"switch", "Switch", 0, {"merge", "cond"}, NULL},
        LOOP("i/", "inner", "switch:1", 0, 2),
        {"next", "NextIteration", 0, {"i/exit"}, NULL},
        {"exit", "Exit", 0, {"switch"}, NULL},
    };
    struct tfd_while_control c;
    int nested = 0;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st), TFD_OK);
    assert_int_equal(c.loop_count, 4);
    for (int i = 0; i < c.loop_count; i++) {
        if (c.loops[i].outer < 0)
            continue;
        nested++;
        assert_int_equal(c.loops[c.loops[i].outer].worker, c.loops[i].worker);
        assert_int_equal(c.loops[c.loops[i].outer].outer, -1);
    }
    assert_int_equal(nested, 2);
}

/* ---- Places -------------------------------------------------------------- */

static void nodes_of_loops_go_next_to_their_values(void **state)
{
    static const struct row rows[] = {
        {"a", "Source", 2, {NULL}, NULL},
        {"enter", "Enter", 2, {"a"}, "w"},
        {"merge", "Merge", 0, {"enter", "next"}, NULL},
        {"less", "Predicate", 1, {"merge"}, NULL},
        {"cond", "LoopCond", 1, {"less"}, NULL},
        {"switch", "Switch", 1, {"merge", "cond"}, NULL},
        {"next", "NextIteration", 1, {"switch:1"}, NULL},
        {"exit", "Exit", 2, {"switch"}, NULL},
    };
    static const char *const moved[] = {"enter", "switch", "next", "exit"};
    struct tfd_while_control c;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st), TFD_OK);
    for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
        assert_int_equal(task_of(&c, moved[i]), 0);
    assert_int_equal(task_of(&c, "cond"), 1);
    assert_int_equal(f.device_of[tfd_graph_find(f.g, tfd_str_of("exit"))->id],
                     2);
}

static void an_enter_of_a_reference_stays_with_its_variable(void **state)
{
    static const struct row rows[] = {
        {"v", "Var", 2, {NULL}, NULL},
        {"a", "Source", 0, {NULL}, NULL},
        {"ref", "RefEnter", 2, {"v"}, "w"},
        LOOP("", "w", "a", 0, 0),
        {"sum", "Add", 1, {"ref", "switch:1"}, NULL},
        {"out", "Exit", 1, {"sum"}, NULL},
    };
    struct tfd_while_control c;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st), TFD_OK);
    assert_int_equal(task_of(&c, "ref"), 2);
}

/* ---- What is refused ----------------------------------------------------- */

static void a_loop_without_predicate_is_refused_by_name(void **state)
{
    static const struct row rows[] = {
        {"a", "Source", 0, {NULL}, NULL},
        {"enter", "Enter", 0, {"a"}, "endless"},
        {"first", "Pass", 0, {"enter"}, NULL},
        {"second", "Pass", 1, {"first"}, NULL},
        {"exit", "Exit", 1, {"second"}, NULL},
    };
    struct tfd_while_control c;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(
        f.st.text, "A cross-device loop must have a pivot predicate: endless");
}

static void an_edge_between_frames_and_tasks_is_refused(void **state)
{
    static const struct row rows[] = {
        {"a", "Source", 1, {NULL}, NULL},
        LOOP("", "w", "a", 0, 0),
        {"sum", "Add", 0, {"switch:1", "a"}, NULL},
        {"out", "Exit", 0, {"sum"}, NULL},
    };
    struct tfd_while_control c;

    (void)state;
    BUILD(rows);
    assert_int_equal(tfd_while_control_find(&f.r, &c, &f.st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(f.st.text, "inputs from different frames"));
    assert_non_null(strstr(f.st.text, "{{node sum}}"));
}

/* ---- What is written ----------------------------------------------------- */

/* Every _Recv of the part either waits for nothing or for one control loop. */
static int count_restarted(const struct tfd_graph *g)
{
    int count = 0;

    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];

        if (!tfd_str_is(n->op->name, "_Recv") || n->control_count == 0)
            continue;
        assert_int_equal(n->control_count, 1);
        assert_true(tfd_str_is(g->nodes[n->control[0]]->op->name, "Merge"));
        count++;
    }
    return count;
}

static int restarted_in(struct tfd_bytes *def)
{
    const struct tfd_graphdef_options options = {.require_full_device = true};
    struct tfd_graph *g = tfd_graph_new(&f.ops, &f.st);
    int32_t first;
    int count;

    if (tfd_graphdef_import(g, tfd_bytes_view(def), &options, &first, &f.st) !=
        TFD_OK)
        fail_msg("%s", f.st.text);
    count = count_restarted(g);
    tfd_graph_unref(g);
    return count;
}

static void what_arrives_within_a_loop_arrives_in_each_iteration(void **state)
{
    /* task 0: the body's result; 1: the predicate and the body's input; 2
     * sends the start and receives nothing */
    static const struct row rows[] = {
        {"a", "Source", 2, {NULL}, NULL},
        LOOP("", "w", "a", 0, 1),
    };
    static const int want[TASKS] = {1, 2, 0};
    struct tfd_bytes defs_of[TASKS];

    (void)state;
    BUILD(rows);
    for (int i = 0; i < TASKS; i++)
        tfd_bytes_init(&defs_of[i], 1 << 20);
    assert_int_equal(tfd_partition(&f.r, defs_of, &f.st), TFD_OK);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(restarted_in(&defs_of[i]), want[i]);
        tfd_bytes_deinit(&defs_of[i]);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_graph_without_loops_is_left_alone),
        TEST(a_loop_within_one_task_needs_none),
        TEST(both_tasks_of_a_loop_get_one),
        TEST(loops_around_a_loop_get_one_too),
        TEST(nodes_of_loops_go_next_to_their_values),
        TEST(an_enter_of_a_reference_stays_with_its_variable),
        TEST(a_loop_without_predicate_is_refused_by_name),
        TEST(an_edge_between_frames_and_tasks_is_refused),
        TEST(what_arrives_within_a_loop_arrives_in_each_iteration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
