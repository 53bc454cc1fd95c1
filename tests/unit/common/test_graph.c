/*
 * test_graph.c - common/graph/graph*.c: nodes and their types, edges, order.
 */
#include "common/graph/graph.h"

#include "tests/support/graph_ops.h"

/* ---- Good nodes ---------------------------------------------------------- */

static void test_a_node_is_found_and_terminated(void **state)
{
    struct tfd_edge s = typed("scope/a-1.b>c", "Source", TFD_FLOAT);
    struct tfd_node *n = tfd_graph_find(g, TFD_STR("scope/a-1.b>c"));

    (void)state;
    assert_non_null(n);
    assert_int_equal(n->id, s.node);
    assert_int_equal(n->name.data[n->name.size], '\0');
    assert_int_equal(n->out_count, 1);
    assert_int_equal(tfd_graph_type(g, s), TFD_FLOAT);
    assert_int_equal(tfd_graph_type(g, (struct tfd_edge){0, 1}), 0);
    assert_int_equal(tfd_graph_type(g, (struct tfd_edge){0, TFD_CONTROL}), 0);
    assert_int_equal(tfd_graph_type(g, TFD_EDGE_NONE), 0);
    assert_null(tfd_graph_find(g, TFD_STR("scope")));
}

static void test_types_follow_from_inputs(void **state)
{
    struct tfd_edge f = typed("f", "Source", TFD_HALF);
    struct tfd_edge i = typed("i", "Source", TFD_INT64);
    struct tfd_edge i32 = typed("i32", "Source", TFD_INT32);
    struct tfd_edge values[] = {f, f, f, i}, mixed[] = {f, i};
    struct tfd_edge stitch[] = {i32, i32, f, f};
    struct tfd_node *n = add("concat", "ConcatV2", values, 4);
    enum tfd_dtype types[4];
    int32_t first, count;
    int64_t number;
    int n_types;

    (void)state;
    assert_int_equal(tfd_node_int(n, "N", &number, NULL), TFD_OK);
    assert_int_equal(number, 3);
    assert_int_equal(tfd_node_type(n, "Tidx", &types[0], NULL), TFD_OK);
    assert_int_equal(types[0], TFD_INT64);
    assert_int_equal(n->out_types[0], TFD_HALF);
    tfd_node_arg(n, 0, &first, &count);
    assert_true(first == 0 && count == 3);
    tfd_node_arg(n, 1, &first, &count);
    assert_true(first == 3 && count == 1);

    n = add("both", "IdentityN", mixed, 2);
    assert_int_equal(tfd_node_types(n, "T", types, 4, &n_types, NULL), TFD_OK);
    assert_int_equal(n_types, 2);
    assert_true(types[0] == TFD_HALF && types[1] == TFD_INT64);
    assert_int_equal(n->out_count, 2);
    assert_int_equal(n->out_types[1], TFD_INT64);

    n = add("stitch", "Stitch", stitch, 4);
    tfd_node_arg(n, 1, &first, &count);
    assert_true(first == 2 && count == 2);
}

static void test_a_default_that_fits_is_not_written_down(void **state)
{
    struct tfd_edge in[] = {typed("a", "Source", TFD_FLOAT),
                            typed("b", "Source", TFD_FLOAT),
                            typed("axis", "Source", TFD_INT32)};
    struct tfd_node *n = add("concat", "ConcatV2", in, 3);

    (void)state;
    assert_int_equal(n->attr_count, 2); /* N and T, no Tidx */
}

static void test_references(void **state)
{
    struct tfd_edge v = typed("v", "Var", TFD_FLOAT);
    struct tfd_edge f = typed("f", "Source", TFD_FLOAT);
    struct tfd_edge good[] = {v, f}, both[] = {v, v}, bad[] = {f, f};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_node *n = add("assign", "Assign", good, 2);

    (void)state;
    assert_int_equal(n->in_types[0], TFD_FLOAT + TFD_REF);
    assert_int_equal(n->in_types[1], TFD_FLOAT);
    assert_int_equal(n->out_types[0], TFD_FLOAT + TFD_REF);
    add("assign2", "Assign", both, 2); /* the value may be a reference */
    add("read", "Identity", &v, 1);
    expect(try_add("i", "Assign", bad, 2, NULL, 0, NULL, &st),
           TFD_INVALID_ARGUMENT, &st,
           "Input 0 of node i was passed float from f:0 incompatible with "
           "expected float_ref.");
}

static void test_controls_are_kept_once_in_order(void **state)
{
    int32_t control[] = {2, 0, 2, 1, 0, 2};
    struct tfd_node_spec spec = {.name = TFD_STR("n"),
                                 .op = TFD_STR("NoOp"),
                                 .device = TFD_STR("/job:ps"),
                                 .control = control,
                                 .control_count = 6};
    struct tfd_node *n;

    (void)state;
    add("a", "NoOp", NULL, 0);
    add("b", "NoOp", NULL, 0);
    add("c", "NoOp", NULL, 0);
    assert_int_equal(tfd_graph_add(g, &spec, &n, NULL), TFD_OK);
    assert_int_equal(n->control_count, 3);
    assert_true(n->control[0] == 2 && n->control[1] == 0);
    assert_int_equal(n->control[2], 1);
    assert_true(tfd_str_is(n->device, "/job:ps"));
    assert_int_equal(tfd_graph_add_control(g, n, 1, NULL), TFD_OK);
    assert_int_equal(n->control_count, 3);
    for (int i = 0; i < 40; i++) {
        char name[16];

        snprintf(name, sizeof(name), "x%d", i);
        assert_int_equal(
            tfd_graph_add_control(g, n, add(name, "NoOp", NULL, 0)->id, NULL),
            TFD_OK);
    }
    assert_int_equal(n->control_count, 43);
    for (int i = 3; i < 43; i++)
        assert_int_equal(n->control[i], i + 1);
    assert_int_equal(tfd_graph_add_control(g, n, n->id, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_graph_add_control(g, n, -1, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_graph_add_control(g, n, g->count, NULL),
                     TFD_INVALID_ARGUMENT);
}

/* ---- Endpoints ----------------------------------------------------------- */

static void test_endpoints(void **state)
{
    static const struct {
        const char *text;
        enum tfd_code code;
        int32_t output;
    } cases[] = {
        {"a", TFD_OK, 0},
        {"a:0", TFD_OK, 0},
        {"a:1", TFD_OK, 1},
        {"a:01", TFD_OK, 1},
        {"^a", TFD_OK, TFD_CONTROL},
        {"a:2", TFD_INVALID_ARGUMENT, 0},
        {"a:2147483647", TFD_INVALID_ARGUMENT, 0},
        {"a:2147483648", TFD_INVALID_ARGUMENT, 0},
        {"a:99999999999999999999999", TFD_INVALID_ARGUMENT, 0},
        {"a:-1", TFD_INVALID_ARGUMENT, 0},
        {"a:", TFD_INVALID_ARGUMENT, 0},
        {":0", TFD_INVALID_ARGUMENT, 0},
        {"a:x", TFD_INVALID_ARGUMENT, 0},
        {"^", TFD_INVALID_ARGUMENT, 0},
        {"", TFD_INVALID_ARGUMENT, 0},
        {"b", TFD_NOT_FOUND, 0},
        {"b:0", TFD_NOT_FOUND, 0},
        {"^b", TFD_NOT_FOUND, 0},
        {"12", TFD_NOT_FOUND, 0},
    };
    struct tfd_edge in[] = {typed("f", "Source", TFD_FLOAT)};
    struct tfd_node *n;

    (void)state;
    in[0].output = 0;
    n = add("a", "Merge", in, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_edge e = TFD_EDGE_NONE;

        assert_int_equal(
            tfd_graph_endpoint(g, tfd_str_of(cases[i].text), &e, NULL),
            cases[i].code);
        if (cases[i].code == TFD_OK) {
            assert_int_equal(e.node, n->id);
            assert_int_equal(e.output, cases[i].output);
        }
    }
}

/* ---- Loops and order ----------------------------------------------------- */

static void test_merge_gets_its_back_edge_once(void **state)
{
    struct tfd_edge f = typed("f", "Source", TFD_FLOAT);
    struct tfd_edge i = typed("i", "Source", TFD_INT32);
    struct tfd_edge in[] = {f, TFD_EDGE_NONE};
    struct tfd_node *m = add("m", "Merge", in, 2);
    struct tfd_edge from_m = {m->id, 0};
    struct tfd_node *next = add("next", "NextIteration", &from_m, 1);
    struct tfd_edge back = {next->id, 0};

    (void)state;
    assert_int_equal(tfd_graph_set_input(g, m, 1, i, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_graph_set_input(g, m, 2, back, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_graph_set_input(g, m, 0, back, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_graph_set_input(g, next, 0, f, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_graph_set_input(g, m, 1, back, NULL), TFD_OK);
    assert_int_equal(tfd_graph_set_input(g, m, 1, back, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(m->in[1].node, next->id);
}

static void test_order_puts_producers_first(void **state)
{
    struct tfd_edge f = typed("f", "Source", TFD_FLOAT);
    struct tfd_edge in[] = {f, TFD_EDGE_NONE};
    struct tfd_node *m = add("m", "Merge", in, 2);
    struct tfd_edge from_m = {m->id, 0};
    struct tfd_node *next = add("next", "NextIteration", &from_m, 1);
    struct tfd_node *late = add("late", "NoOp", NULL, 0);
    struct tfd_arena arena;
    int32_t *order;

    (void)state;
    tfd_arena_init(&arena, 1 << 20);
    assert_int_equal(
        tfd_graph_set_input(g, m, 1, (struct tfd_edge){next->id, 0}, NULL),
        TFD_OK);
    assert_int_equal(tfd_graph_order(g, &arena, &order, NULL), TFD_OK);
    for (int32_t i = 0; i < g->count; i++)
        assert_int_equal(order[i], i);
    assert_int_equal(tfd_graph_add_control(g, m, late->id, NULL), TFD_OK);
    assert_int_equal(tfd_graph_order(g, &arena, &order, NULL), TFD_OK);
    assert_true(order[0] == f.node && order[1] == late->id &&
                order[2] == m->id && order[3] == next->id);
    tfd_arena_deinit(&arena);
}

static void test_cycles_are_found(void **state)
{
    struct tfd_node *a = add("a", "NoOp", NULL, 0);
    struct tfd_node *b = add("b", "NoOp", NULL, 0);
    struct tfd_node *c = add("c", "NoOp", NULL, 0);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_arena arena;
    int32_t *order;

    (void)state;
    tfd_arena_init(&arena, 1 << 20);
    assert_int_equal(tfd_graph_add_control(g, a, c->id, NULL), TFD_OK);
    assert_int_equal(tfd_graph_add_control(g, c, b->id, NULL), TFD_OK);
    assert_int_equal(tfd_graph_order(g, &arena, &order, NULL), TFD_OK);
    assert_int_equal(tfd_graph_add_control(g, b, c->id, NULL), TFD_OK);
    expect(tfd_graph_order(g, &arena, &order, &st), TFD_INVALID_ARGUMENT, &st,
           "2 nodes in a cycle, one of them is c");
    tfd_arena_deinit(&arena);
}

static void test_a_chain_of_100000_is_ordered(void **state)
{
    struct tfd_edge at = typed("f", "Source", TFD_FLOAT);
    struct tfd_arena arena;
    int32_t *order;

    (void)state;
    tfd_arena_init(&arena, 1 << 24);
    for (int i = 0; i < 100000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        at.node = add(name, "Identity", &at, 1)->id;
    }
    assert_int_equal(tfd_graph_order(g, &arena, &order, NULL), TFD_OK);
    assert_int_equal(order[100000], 100000);
    tfd_arena_deinit(&arena);
}

static void test_memory_has_an_end(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    enum tfd_code rc = TFD_OK;
    int32_t count;

    (void)state;
    g->arena.max = 1 << 16;
    for (int i = 0; i < 10000 && rc == TFD_OK; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        count = g->count;
        rc = try_add(name, "NoOp", NULL, 0, NULL, 0, NULL, &st);
    }
    assert_int_equal(rc, TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(g->count, count);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_node_is_found_and_terminated),
        TEST(test_types_follow_from_inputs),
        TEST(test_a_default_that_fits_is_not_written_down),
        TEST(test_references),
        TEST(test_controls_are_kept_once_in_order),
        TEST(test_endpoints),
        TEST(test_merge_gets_its_back_edge_once),
        TEST(test_order_puts_producers_first),
        TEST(test_cycles_are_found),
        TEST(test_a_chain_of_100000_is_ordered),
        TEST(test_memory_has_an_end),
    };

    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
