/*
 * test_chains.c - daemon/worker/compile/chains.c and what it finds: elementwise
 * nodes that run as one.  Each graph is run twice: as it is, and with every
 * node fetched, which leaves no chain; the results have the same bits.
 */
#include "tests/support/executor_rig.h"

#include "daemon/worker/compile/chains.h"
#include "daemon/worker/service/graphs.h"

static int setup_chains(void **state)
{
    (void)state;
    wrig_own_family = &tfd_family_binary;
    wrig_init_as(&w, 2, (struct tfd_worker_options){.chains = true});
    return 0;
}

static int setup_no_chains(void **state)
{
    (void)state;
    wrig_own_family = &tfd_family_binary;
    wrig_init_as(&w, 2, (struct tfd_worker_options){0});
    return 0;
}

#define CHAINS(f) cmocka_unit_test_setup_teardown(f, setup_chains, teardown)

/* ---- Graphs -------------------------------------------------------------- */

struct row {
    const char *name, *op, *inputs;
};

/* (x + y) * x - y, and so on: each result has one reader. */
static const struct row three[] = {{"sum", "AddV2", "x,y"},
                                   {"product", "Mul", "sum,x"},
                                   {"end", "Sub", "product,y"}};
/* Where the operands themselves meet first: small results. */
static const struct row small_first[] = {
    {"low", "Minimum", "y,z"},     {"high", "Maximum", "low,y"},
    {"sum", "AddV2", "x,high"},    {"square", "Mul", "sum,sum"},
    {"less", "Sub", "square,low"}, {"end", "Maximum", "less,z"}};
static const struct row diamond[] = {{"a", "AddV2", "x,x"},
                                     {"b", "Mul", "a,y"},
                                     {"c", "Sub", "a,z"},
                                     {"d", "Mul", "c,b"},
                                     {"end", "AddV2", "d,a"}};

#define ROWS(rows) (rows), TFD_COUNT(rows)

static void add_rows(const struct row *rows, int count)
{
    wrig_feed(&w, "x");
    wrig_feed(&w, "y");
    wrig_feed(&w, "z");
    for (int i = 0; i < count; i++) {
        wrig_attr_type(&w, "T", TFD_FLOAT);
        wrig_node(&w, rows[i].name, rows[i].op, rows[i].inputs);
    }
}

static uint64_t graph_of(const struct row *rows, int count, bool all)
{
    uint64_t graph;

    add_rows(rows, count);
    wrig_fetch(&w, "end");
    for (int i = 0; all && i < count - 1; i++)
        wrig_fetch(&w, rows[i].name);
    graph = wrig_register(&w);
    assert_true(graph != 0);
    return graph;
}

/* How many chains, and how many nodes in all of them. */
static int chains(uint64_t graph, int *nodes)
{
    const struct tfd_exec *e = tfd_graphs_find(w.service, graph)->exec;
    int count = 0;

    *nodes = 0;
    for (int32_t i = 0; i < e->node_count; i++)
        if (e->nodes[i].kind == TFD_EXEC_CHAIN) {
            count++;
            *nodes += e->nodes[i].chain->chain.count;
        }
    return count;
}

static void assert_chains(uint64_t graph, int count, int nodes)
{
    int have;

    assert_int_equal(chains(graph, &have), count);
    assert_int_equal(have, nodes);
}

/* ---- Values -------------------------------------------------------------- */

static struct tfd_tensor tensor_of(const struct tfd_shape *shape, int seed)
{
    struct tfd_tensor t;
    float *at;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, shape, NULL), TFD_OK);
    at = tfd_tensor_data(&t);
    for (int64_t i = 0; i < tfd_tensor_elements(&t); i++)
        at[i] = (float)((i * 7919 + seed * 104729) % 2000 - 1000) / 37;
    return t;
}

static enum tfd_code run_with(uint64_t graph, const struct tfd_shape *shapes)
{
    for (int i = 0; i < 3; i++)
        w.fed[i] = tensor_of(&shapes[i], i + 1);
    return wrig_run(&w, graph);
}

static void check_bits(const struct row *rows, int count,
                       const struct tfd_shape *shapes)
{
    uint64_t fused = graph_of(rows, count, false);
    uint64_t single = graph_of(rows, count, true);
    struct tfd_tensor want;
    int nodes;

    assert_chains(fused, 1, count);
    assert_int_equal(chains(single, &nodes), 0);
    assert_int_equal(run_with(single, shapes), TFD_OK);
    want = tfd_tensor_ref(&w.fetched[0]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_with(fused, shapes), TFD_OK);
        assert_true(tfd_shape_equal(&w.fetched[0].shape, &want.shape));
        if (want.buffer)
            assert_memory_equal(
                tfd_tensor_data(&w.fetched[0]), tfd_tensor_data(&want),
                (size_t)tfd_tensor_elements(&want) * sizeof(float));
    }
    tfd_tensor_unref(&want);
}

#define V(n)  \
    {         \
        1,    \
        {     \
            n \
        }     \
    }
#define M(r, c)  \
    {            \
        2,       \
        {        \
            r, c \
        }        \
    }

static const struct tfd_shape shapes[][3] = {
    {{0, {0}}, {0, {0}}, {0, {0}}},
    {V(1), V(1), {0, {0}}},
    {V(1), {0, {0}}, {0, {0}}},
    {V(7), V(7), V(7)},
    {V(1024), V(1024), V(1024)},
    {V(1025), V(1), {0, {0}}},
    {V(300001), V(300001), {0, {0}}},
    {{0, {0}}, V(5000), V(1)},
    {M(3, 64), V(64), M(3, 1)},
    {M(3, 64), M(1, 64), M(3, 64)},
    {M(40, 1500), M(40, 1), V(1500)},
    {M(40, 1500), M(40, 1), M(40, 1)},
    {M(500, 3), V(3), M(500, 1)},   /* rows too short: node by node */
    {M(64, 1), M(1, 64), {0, {0}}}, /* nothing has the result's shape */
    {{3, {2, 3, 40}}, {3, {2, 1, 40}}, V(40)}, /* repeated in the middle */
    {{3, {2, 3, 40}}, {2, {3, 40}}, {3, {2, 3, 1}}}, /* two ways at once */
    {{3, {2, 3, 40}}, {3, {2, 1, 1}}, {3, {2, 1, 1}}},
    {{3, {2, 3, 40}}, {2, {3, 40}}, {2, {3, 40}}},
    {V(0), V(0), {0, {0}}},
    {M(0, 5), V(5), M(1, 5)},
    {M(1, 40), V(40), V(40)},
    {V(40), M(1, 40), {3, {1, 1, 40}}},
};

static void test_values_have_the_bits_of_single_nodes(void **state)
{
    (void)state;
    for (int i = 0; i < TFD_COUNT(shapes); i++) {
        check_bits(ROWS(three), shapes[i]);
        check_bits(ROWS(small_first), shapes[i]);
        check_bits(ROWS(diamond), shapes[i]);
    }
}

static void test_a_value_that_others_hold_is_not_written_over(void **state)
{
    const struct tfd_shape all = V(5000);
    uint64_t graph = graph_of(ROWS(three), false);
    struct tfd_tensor x = tensor_of(&all, 1), y = tensor_of(&all, 2);
    struct tfd_tensor kept = tensor_of(&all, 1);

    (void)state;
    w.fed[0] = tfd_tensor_ref(&x);
    w.fed[1] = tfd_tensor_ref(&y);
    w.fed[2] = tensor_of(&all, 3);
    assert_int_equal(wrig_run(&w, graph), TFD_OK);
    assert_memory_equal(tfd_tensor_data(&x), tfd_tensor_data(&kept),
                        5000 * sizeof(float));
    tfd_tensor_unref(&x);
    tfd_tensor_unref(&y);
    tfd_tensor_unref(&kept);
}

/* ---- What is a chain ----------------------------------------------------- */

static void test_two_nodes_stay_two(void **state)
{
    static const struct row rows[] = {{"sum", "AddV2", "x,y"},
                                      {"end", "Mul", "sum,z"}};

    (void)state;
    assert_chains(graph_of(ROWS(rows), false), 0, 0);
}

static void test_a_result_that_is_wanted_elsewhere_ends_a_chain(void **state)
{
    static const struct row rows[] = {
        {"a", "AddV2", "x,y"}, {"b", "Mul", "a,z"},   {"c", "Sub", "b,x"},
        {"d", "Mul", "c,y"},   {"e", "AddV2", "d,x"}, {"end", "Mul", "e,y"}};
    uint64_t graph;

    (void)state;
    add_rows(ROWS(rows));
    wrig_fetch(&w, "end");
    wrig_fetch(&w, "c");
    graph = wrig_register(&w);
    assert_chains(graph, 2, 6);
}

static void test_control_edges_keep_a_node_by_itself(void **state)
{
    static const struct row waits[] = {{"sum", "AddV2", "x,y,^z"},
                                       {"product", "Mul", "sum,x"},
                                       {"end", "Sub", "product,y"}};
    uint64_t graph;

    (void)state;
    assert_chains(graph_of(ROWS(waits), false), 0, 0);
    add_rows(ROWS(three));
    wrig_node(&w, "after", "TestCount", "z,^sum");
    wrig_fetch(&w, "end");
    wrig_fetch(&w, "after");
    graph = wrig_register(&w);
    assert_chains(graph, 0, 0);
}

/* A node reads such a value when it runs, which others may wait to change. */
static void test_what_was_read_of_a_reference_is_no_input(void **state)
{
    const struct row rows[] = {{"sum", "AddV2", "read,x"},
                               {"product", "Mul", "sum,x"},
                               {"difference", "Sub", "product,y"},
                               {"end", "AddV2", "difference,z"}};

    (void)state;
    wrig_attr_type(&w, "dtype", TFD_FLOAT);
    tfd_attr_put_shape(wrig_attr(&w, "shape"), &(struct tfd_shape){0, {0}});
    wrig_node(&w, "v", "VariableV2", "");
    wrig_node(&w, "read", "Identity", "v");
    assert_chains(graph_of(ROWS(rows), false), 1, 3);
    wrig_const(&w, "c", 1);
    wrig_node(&w, "read", "Identity", "c,^c");
    assert_chains(graph_of(ROWS(rows), false), 1, 4);
    /* Nor is it where the graph has a variable, but it is not read. */
    wrig_attr_type(&w, "dtype", TFD_FLOAT);
    tfd_attr_put_shape(wrig_attr(&w, "shape"), &(struct tfd_shape){0, {0}});
    wrig_node(&w, "v", "VariableV2", "");
    wrig_const(&w, "c", 1);
    wrig_node(&w, "read", "Identity", "c,^v");
    assert_chains(graph_of(ROWS(rows), false), 1, 4);
}

static void test_a_chain_waits_for_what_its_last_node_waits_for(void **state)
{
    static const struct row rows[] = {{"sum", "AddV2", "x,y"},
                                      {"product", "Mul", "sum,x"},
                                      {"end", "Sub", "product,y,^failing"}};
    const struct tfd_shape scalars[3] = {{0, {0}}, {0, {0}}, {0, {0}}};
    uint64_t graph;

    (void)state;
    add_rows(ROWS(rows));
    wrig_node(&w, "failing", "TestFail", "z");
    wrig_fetch(&w, "end");
    graph = wrig_register(&w);
    assert_chains(graph, 1, 3);
    assert_int_not_equal(run_with(graph, scalars), TFD_OK);
    assert_text("{{node failing}}");
}

static void test_a_long_chain_is_several(void **state)
{
    char names[100][8], inputs[100][16];
    struct row rows[100];
    const struct tfd_shape all[3] = {V(3000), V(3000), V(3000)};
    uint64_t graph;
    int nodes;

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", i);
        snprintf(inputs[i], sizeof(inputs[i]), i ? "n%d,%c" : "x,y", i - 1,
                 "xyz"[i % 3]);
        rows[i] = (struct row){i < 99 ? names[i] : "end",
                               i % 2 ? "Sub" : "Maximum", inputs[i]};
    }
    graph = graph_of(rows, 100, false);
    assert_true(chains(graph, &nodes) > 100 / TFD_CHAIN_NODES_MAX);
    assert_true(nodes > 96);
    assert_int_equal(run_with(graph, all), TFD_OK);
}

/* More results are wanted at a time than there are blocks. */
static void test_a_wide_chain_is_several_or_none(void **state)
{
    static const struct row rows[] = {
        {"a", "AddV2", "x,y"},   {"b", "Mul", "x,z"},     {"c", "Sub", "y,z"},
        {"d", "Maximum", "x,y"}, {"e", "Minimum", "x,z"}, {"f", "Sub", "z,y"},
        {"g", "Mul", "x,x"},     {"h", "Mul", "y,y"},     {"i", "Mul", "z,z"},
        {"j", "AddV2", "z,x"},   {"k", "Mul", "i,j"},     {"l", "Mul", "h,k"},
        {"m", "Mul", "g,l"},     {"n", "Mul", "f,m"},     {"o", "Mul", "e,n"},
        {"p", "Mul", "d,o"},     {"q", "Mul", "c,p"},     {"r", "Mul", "b,q"},
        {"end", "Mul", "a,r"}};
    const struct tfd_shape all[3] = {V(3000), V(3000), V(3000)};

    (void)state;
    assert_int_equal(run_with(graph_of(ROWS(rows), false), all), TFD_OK);
}

static void test_the_switch_turns_chains_off(void **state)
{
    const struct tfd_shape all[3] = {V(3000), V(3000), V(3000)};
    uint64_t graph = graph_of(ROWS(three), false);

    (void)state;
    assert_chains(graph, 0, 0);
    assert_int_equal(run_with(graph, all), TFD_OK);
}

/* ---- Refusals ------------------------------------------------------------ */

static void test_an_error_names_the_node_that_failed(void **state)
{
    static const struct {
        struct tfd_shape shapes[3];
        const char *text, *node;
    } bad[] = {
        {{V(3), V(4), V(1)}, "Incompatible shapes: [3] vs. [4]", "sum"},
        {{M(2, 3), V(2), V(1)}, "Incompatible shapes: [2,3] vs. [2]", "sum"},
        {{V(0), V(4), V(1)}, "Incompatible shapes: [0] vs. [4]", "sum"},
        {{M(4, 5000), M(3, 1), V(1)}, "[4,5000] vs. [3,1]", "sum"},
    };
    static const struct row late[] = {{"one", "AddV2", "x,x"},
                                      {"two", "Mul", "one,y"},
                                      {"end", "Sub", "two,z"}};
    const struct tfd_shape at_the_end[3] = {V(5), V(5), V(6)};
    uint64_t graph = graph_of(ROWS(three), false);
    char where[40];

    (void)state;
    for (int i = 0; i < TFD_COUNT(bad); i++) {
        assert_int_equal(run_with(graph, bad[i].shapes), TFD_INVALID_ARGUMENT);
        assert_text(bad[i].text);
        snprintf(where, sizeof(where), "[[{{node %s}}]]", bad[i].node);
        assert_text(where);
    }
    graph = graph_of(ROWS(late), false);
    assert_int_equal(run_with(graph, at_the_end), TFD_INVALID_ARGUMENT);
    assert_text("Incompatible shapes: [5] vs. [6]");
    assert_text("[[{{node end}}]]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAINS(test_values_have_the_bits_of_single_nodes),
        CHAINS(test_a_value_that_others_hold_is_not_written_over),
        CHAINS(test_two_nodes_stay_two),
        CHAINS(test_a_result_that_is_wanted_elsewhere_ends_a_chain),
        CHAINS(test_control_edges_keep_a_node_by_itself),
        CHAINS(test_what_was_read_of_a_reference_is_no_input),
        CHAINS(test_a_chain_waits_for_what_its_last_node_waits_for),
        CHAINS(test_a_long_chain_is_several),
        CHAINS(test_a_wide_chain_is_several_or_none),
        cmocka_unit_test_setup_teardown(test_the_switch_turns_chains_off,
                                        setup_no_chains, teardown),
        CHAINS(test_an_error_names_the_node_that_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
