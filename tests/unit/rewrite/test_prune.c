/*
 * test_prune.c - daemon/rewrite/prune.c.  Texts of failures are what
 * TensorFlow 2.21 answered to the same signatures.
 */
#include "daemon/rewrite/prune.h"

#include "tests/support/planning.h"

struct pruning {
    const char *nodes;
    const char *signature;
    const char *want; /* '!' begins the text of a failure */
    enum tfd_code code;
};

static void check(const struct pruning *c)
{
    struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_arena arena;
    struct tfd_pruned pruned;
    struct signature s;
    struct tfd_bytes text;

    assert_non_null(g);
    nodes_import(g, c->nodes);
    parse(&s, c->signature);
    tfd_arena_init(&arena, 1 << 20);
    tfd_bytes_init(&text, 1 << 20);
    if (tfd_prune(g, &s.sig, &arena, &pruned, &st) == TFD_OK)
        put_pruned(g, &pruned, &text);
    else
        tfd_bytes_printf(&text, "!%s", st.text);
    if (st.code != c->code || strcmp(text.data, c->want) != 0)
        fail_msg("%s of %s:\nwant %s\ngot  %s (%s)", c->signature, c->nodes,
                 c->want, text.data, tfd_code_name(st.code));
    tfd_bytes_deinit(&text);
    tfd_arena_deinit(&arena);
    tfd_graph_unref(g);
}

static void check_all(const struct pruning *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&cases[i]);
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof((cases)[0]))

/* ---- What is needed ------------------------------------------------------ */

#define CHAIN "a Const; b Relu a; c Relu b; d Relu c; x Const"

static void test_only_what_is_needed_stays(void **state)
{
    static const struct pruning cases[] = {
        {CHAIN, "|b:0|", "a b(a) fetch.b(b)", TFD_OK},
        {CHAIN, "|b|", "a b(a) fetch.b(b)", TFD_OK},
        {CHAIN, "||c", "a b(a) c(b)", TFD_OK},
        {CHAIN, "|a:0,c:0|x", "a b(a) c(b) x fetch.a(a) fetch.c(c)", TFD_OK},
        {CHAIN, "|a:0,a:0|", "a fetch.a(a) fetch.a(a)", TFD_OK},
        {"s Split n,v; n ConstI; v Const; r Relu s:1", "|s:1,r:0|",
         "n v s(n,v) r(s:1) fetch.s:1(s:1) fetch.r(r)", TFD_OK},
        {"a Const; n NoOp ^a; b Const ^n; c Relu b,^a", "|c:0|",
         "a n(^a) b(^n) c(b,^a) fetch.c(c)", TFD_OK},
        {"v VariableV2; c Const; a Assign v,c", "|a:0|",
         "v c a(v,c) fetch.a(a)", TFD_OK},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_targets_may_be_spelled_like_tensors(void **state)
{
    static const struct pruning cases[] = {
        {CHAIN, "||b:0", "a b(a)", TFD_OK},
        {CHAIN, "||^b", "a b(a)", TFD_OK},
        {CHAIN, "||b,b:0,b", "a b(a)", TFD_OK},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_loops_are_walked_once(void **state)
{
    static const char loop[] =
        "i Const; p Placeholder; e Enter i; m Merge e,x; s Switch m,b; "
        "b PlaceholderB; r Relu s:1; x NextIteration r; o Exit s";
    static const struct pruning cases[] = {
        {loop, "|o:0|", "i e(i) m(e,x) b s(m,b) r(s:1) x(r) o(s) fetch.o(o)",
         TFD_OK},
        {loop, "x:0|o:0|", "feed.x i e(i) m(e,feed.x) b s(m,b) o(s) fetch.o(o)",
         TFD_OK},
    };

    (void)state;
    CHECK_ALL(cases);
}

/* ---- Feeds --------------------------------------------------------------- */

static void test_a_feed_cuts_its_producer_off(void **state)
{
    static const struct pruning cases[] = {
        {CHAIN, "b:0|c:0|", "feed.b c(feed.b) fetch.c(c)", TFD_OK},
        {CHAIN, "b|c|", "feed.b c(feed.b) fetch.c(c)", TFD_OK},
        {CHAIN, "a:0,c:0|d:0|", "feed.a feed.c d(feed.c) fetch.d(d)", TFD_OK},
        /* ... unless something else needs it, ... */
        {CHAIN, "b:0|c:0|b", "feed.b a b(a) c(feed.b) fetch.c(c)", TFD_OK},
        {"s Split n,v; n ConstI; v Const; r Relu s:1; q Relu s", "s:1|r:0,q:0|",
         "feed.s:1 n v s(n,v) r(feed.s:1) q(s) fetch.r(r) fetch.q(q)", TFD_OK},
        /* ... and a feed that nobody needs is a feed still. */
        {CHAIN, "x:0|a:0|", "feed.x a fetch.a(a)", TFD_OK},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_control_edges_follow_the_feed_of_a_placeholder(void **state)
{
    static const struct pruning cases[] = {
        {"p Placeholder; n NoOp ^p", "p:0||n", "feed.p n(^feed.p)", TFD_OK},
        {"p Placeholder; n NoOp ^p", "||n", "p n(^p)", TFD_OK},
        /* Other nodes run for their control successors. */
        {"c Const; n NoOp ^c; r Relu c", "c:0|r:0|n",
         "feed.c c n(^c) r(feed.c) fetch.r(r)", TFD_OK},
        /* A target is run, fed or not. */
        {"p Placeholder", "p:0||p", "feed.p p", TFD_OK},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_ends_know_what_they_carry(void **state)
{
    struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);
    struct tfd_arena arena;
    struct tfd_pruned p;
    struct signature s;

    (void)state;
    nodes_import(g, "v VariableV2; c Const; a Assign v,c; b PlaceholderB; "
                    "i ConstI");
    parse(&s, "b:0,c:0|a:0,i:0|b");
    tfd_arena_init(&arena, 1 << 20);
    assert_int_equal(tfd_prune(g, &s.sig, &arena, &p, NULL), TFD_OK);
    assert_int_equal(p.nodes[0].type, TFD_BOOL);
    assert_int_equal(p.nodes[1].type, TFD_FLOAT);
    assert_int_equal(p.nodes[1].index, 1);
    assert_int_equal(p.nodes[p.count - 2].type, TFD_FLOAT); /* no reference */
    assert_int_equal(p.nodes[p.count - 1].type, TFD_INT32);
    assert_int_equal(p.nodes[p.count - 1].index, 1);
    tfd_arena_deinit(&arena);
    tfd_graph_unref(g);
}

/* ---- What is refused ----------------------------------------------------- */

#define SMALL "p Placeholder; c Const; n NoOp; i Identity c"

static void test_signatures_that_are_refused(void **state)
{
    static const struct pruning cases[] = {
        {SMALL, "||", "!Must specify at least one target to fetch or execute.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "p:0||",
         "!Must specify at least one target to fetch or execute.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "|y:0|", "!FetchOutputs node y:0: not found", TFD_NOT_FOUND},
        {SMALL, "|c:-1|", "!FetchOutputs node c:-1: not found", TFD_NOT_FOUND},
        {SMALL, "|c:x|", "!FetchOutputs node c:x: not found", TFD_NOT_FOUND},
        {SMALL, "|c:|", "!FetchOutputs node c:: not found", TFD_NOT_FOUND},
        {SMALL, "|:0|", "!FetchOutputs node :0: not found", TFD_NOT_FOUND},
        {SMALL, "|c:0:0|", "!FetchOutputs node c:0:0: not found",
         TFD_NOT_FOUND},
        {SMALL, "|c:5|",
         "!FetchOutputs c:5: output index too large, must be < 1",
         TFD_INVALID_ARGUMENT},
        {SMALL, "|c:99999999999999999999|",
         "!FetchOutputs c:99999999999999999999: output index too large, must "
         "be < 1",
         TFD_INVALID_ARGUMENT},
        {SMALL, "|n:0|",
         "!Tried to fetch data for 'n:0', which produces no output.  To run to "
         "a node but not fetch any data, pass 'n:0' as an argument to the "
         "'target_node_names' argument of the Session::Run API.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "y|c:0|", "!FeedInputs: unable to find feed output y",
         TFD_NOT_FOUND},
        {SMALL, "c:5|i:0|", "!FeedInputs: c:5 should have output index < 1",
         TFD_INVALID_ARGUMENT},
        {SMALL, "n|c:0|", "!FeedInputs: n should have output index < 0",
         TFD_INVALID_ARGUMENT},
        {SMALL, "||z", "!PruneForTargets: Some target nodes not found: z ",
         TFD_NOT_FOUND},
        {SMALL, "|c|z,n,y",
         "!PruneForTargets: Some target nodes not found: y z ", TFD_NOT_FOUND},
    };

    (void)state;
    CHECK_ALL(cases);
}

/* The order of the complaints is TensorFlow's as well. */
static void test_what_is_said_first(void **state)
{
    static const struct pruning cases[] = {
        {SMALL, "p:0,p:0|c:0|", "!Endpoint \"p:0\" fed more than once.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "z:0,z:0|c:0|", "!Endpoint \"z:0\" fed more than once.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "p:0|p:0|", "!p:0 is both fed and fetched.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "z:0|z:0|", "!z:0 is both fed and fetched.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "z:0|y:0|x", "!FeedInputs: unable to find feed output z:0",
         TFD_NOT_FOUND},
        {SMALL, "|c:0,y:0|x", "!FetchOutputs node y:0: not found",
         TFD_NOT_FOUND},
        /* Ours: TensorFlow takes these for different tensors, and hangs. */
        {SMALL, "p:0,p|c:0|", "!Endpoint \"p\" fed more than once.",
         TFD_INVALID_ARGUMENT},
        {SMALL, "p|c,p:0|", "!p:0 is both fed and fetched.",
         TFD_INVALID_ARGUMENT},
    };

    (void)state;
    CHECK_ALL(cases);
}

/* ---- Connections --------------------------------------------------------- */

#define JOINED                                                           \
    "one Const; five Const; p Placeholder; q Placeholder; s Add p,one; " \
    "m Mul s,q; after Identity one,^p; later Identity one,^s; n NoOp; "  \
    "v VariableV2; w Assign v,one; r Identity v"

/* Values: TensorFlow 2.21 computes what these lists compute. */
static void test_connections_read_another_endpoint(void **state)
{
    static const struct pruning cases[] = {
        {JOINED, "|s:0||five:0,p:0", "one five s(five,one) fetch.s(s)", TFD_OK},
        {JOINED, "|s:0||five,p", "one five s(five,one) fetch.s(s)", TFD_OK},
        {JOINED, "p:0|s:0||five:0,one:0",
         "feed.p five s(feed.p,five) fetch.s(s)", TFD_OK},
        {JOINED, "|m:0||s:0,q:0,five:0,p:0",
         "one five s(five,one) m(s,s) fetch.m(m)", TFD_OK},
        {JOINED, "|m:0||five:0,p:0,five:0,q:0",
         "one five s(five,one) m(s,five) fetch.m(m)", TFD_OK},
        /* a source is cut by what comes later, and by no feed */
        {JOINED, "|m:0||p:0,q:0,five:0,p:0",
         "one five s(five,one) m(s,five) fetch.m(m)", TFD_OK},
        {JOINED, "|m:0||five:0,p:0,p:0,q:0",
         "one five p s(five,one) m(s,p) fetch.m(m)", TFD_OK},
        {JOINED, "p:0|m:0||p:0,q:0",
         "feed.p one p s(feed.p,one) m(s,p) fetch.m(m)", TFD_OK},
        {JOINED, "s:0,p:0|m:0||s:0,q:0",
         "feed.s feed.p one s(feed.p,one) m(feed.s,s) fetch.m(m)", TFD_OK},
        /* control edges, references, spellings; what nobody reads */
        {JOINED, "|after:0||five:0,p:0",
         "one five after(one,^five) fetch.after(after)", TFD_OK},
        {JOINED, "p:0|later:0||five:0,s:0",
         "feed.p one s(feed.p,one) later(one,^s) fetch.later(later)", TFD_OK},
        {JOINED, "|r:0||five:0,v:0", "five r(five) fetch.r(r)", TFD_OK},
        {JOINED, "|s:0||five:0,p:0,one:0,p", "one five s(five,one) fetch.s(s)",
         TFD_OK},
        {JOINED, "p|s:0||five:0,p:0", "feed.p one s(feed.p,one) fetch.s(s)",
         TFD_OK},
        {JOINED, "p:0|s:0||five:0,q:0", "feed.p one s(feed.p,one) fetch.s(s)",
         TFD_OK},
    };

    (void)state;
    CHECK_ALL(cases);
}

#define CYCLE "!Requested Tensor connection between nodes "

static void test_connections_that_are_refused(void **state)
{
    static const struct pruning cases[] = {
        {JOINED, "|s:0||s:0,p:0", CYCLE "\"p\" and \"s\" would create a cycle.",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|s:0||p:0,p:0", CYCLE "\"p\" and \"p\" would create a cycle.",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|s:0||after:0,p:0",
         CYCLE "\"p\" and \"after\" would create a cycle.",
         TFD_INVALID_ARGUMENT},
        {JOINED, "p:0|m:0||later:0,s:0",
         CYCLE "\"s\" and \"later\" would create a cycle.",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|m:0||s:0,q:0,m:0,p:0",
         CYCLE "\"p\" and \"m\" would create a cycle.", TFD_INVALID_ARGUMENT},
        {JOINED, "|zz:0|yy|s:0,p:0",
         CYCLE "\"p\" and \"s\" would create a cycle.", TFD_INVALID_ARGUMENT},
        {JOINED, "|||zz:0,p:0",
         "!Requested tensor connection from unknown node: \"p:0\".",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|s:0||five:-1,p:0",
         "!Requested tensor connection from unknown node: \"p:0\".",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|s:0||n:0,p:0",
         "!Requested tensor connection from unknown edge: \"p:0\" (actual "
         "number of outputs = 0).",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|s:0||^five,p:0",
         "!Attempt to add output -1 of five not in range [0, 1) to node with "
         "type Identity. Node: {{node five}}",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|s:0||five:0,zz:0",
         "!FeedInputs: unable to find feed output zz:0", TFD_NOT_FOUND},
        {JOINED, "|s:0||five:0,p:3",
         "!FeedInputs: p:3 should have output index < 1", TFD_INVALID_ARGUMENT},
        {JOINED, "zz:0|s:0||s:0,p:0",
         "!FeedInputs: unable to find feed output zz:0", TFD_NOT_FOUND},
        {JOINED, "p:0|s:0||five:0,p:0", "!Endpoint \"p:0\" fed more than once.",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|s:0||five:0,p:0,one:0,p:0",
         "!Endpoint \"p:0\" fed more than once.", TFD_INVALID_ARGUMENT},
        {JOINED, "|p:0||five:0,p:0", "!p:0 is both fed and fetched.",
         TFD_INVALID_ARGUMENT},
        {JOINED, "|||five:0,p:0",
         "!Must specify at least one target to fetch or execute.",
         TFD_INVALID_ARGUMENT},
        {JOINED, "||w|five:0,v:0",
         "!Input 0 of node w was passed float from _identity_v_0:0 "
         "incompatible with expected float_ref.",
         TFD_INVALID_ARGUMENT},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_a_merge_that_lacks_an_input_cannot_run(void **state)
{
    struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_edge in[2] = {{0, 0}, TFD_EDGE_NONE};
    struct tfd_bytes two;
    struct tfd_attr n;
    struct tfd_node_spec spec = {.name = TFD_STR("m"),
                                 .op = TFD_STR("Merge"),
                                 .in = in,
                                 .in_count = 2,
                                 .attrs = &n,
                                 .attr_count = 1};
    struct tfd_arena arena;
    struct tfd_pruned p;
    struct signature s;

    (void)state;
    spec.device = TFD_STR_EMPTY;
    nodes_import(g, "c Const");
    tfd_bytes_init(&two, 100);
    tfd_attr_put_int(&two, 2);
    n = (struct tfd_attr){TFD_STR("N"), tfd_bytes_view(&two)};
    if (tfd_graph_add(g, &spec, NULL, &st) != TFD_OK)
        fail_msg("%s", st.text);
    parse(&s, "|m:0|");
    tfd_arena_init(&arena, 1 << 20);
    assert_int_equal(tfd_prune(g, &s.sig, &arena, &p, &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "Input 1 of node m is not connected"));
    tfd_bytes_deinit(&two);
    tfd_arena_deinit(&arena);
    tfd_graph_unref(g);
}

/* ---- Large graphs -------------------------------------------------------- */

static void test_a_long_chain_needs_no_stack(void **state)
{
    enum { COUNT = 200000 };
    struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);
    struct tfd_bytes b;
    struct tfd_arena arena;
    struct tfd_pruned p;
    struct signature s;
    int32_t first;

    (void)state;
    b = nodes_bytes("n0 Const");
    for (int i = 1; i < COUNT; i++) {
        char name[16], input[16];
        struct tfd_str in;
        struct tfd_nodedef def = {
            .op = TFD_STR("Relu"), .in = &in, .in_count = 1};

        snprintf(name, sizeof(name), "n%d", i);
        snprintf(input, sizeof(input), "n%d", i - 1);
        in = tfd_str_of(input);
        def.name = tfd_str_of(name);
        def.device = TFD_STR_EMPTY;
        tfd_graphdef_put(&b, &def);
    }
    assert_int_equal(
        tfd_graphdef_import(g, tfd_bytes_view(&b), NULL, &first, NULL), TFD_OK);
    parse(&s, "||n199999");
    tfd_arena_init(&arena, 1 << 30);
    assert_int_equal(tfd_prune(g, &s.sig, &arena, &p, NULL), TFD_OK);
    assert_int_equal(p.count, COUNT);
    tfd_arena_deinit(&arena);
    tfd_bytes_deinit(&b);
    tfd_graph_unref(g);
}

static void test_an_arena_that_is_too_small_is_a_failure(void **state)
{
    struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_arena arena;
    struct tfd_pruned p;
    struct signature s;

    (void)state;
    nodes_import(g, CHAIN);
    parse(&s, "a:0|d:0|x");
    for (size_t max = 0; max < 2000; max += 16) {
        enum tfd_code rc;

        tfd_arena_init(&arena, max);
        tfd_status_clear(&st);
        rc = tfd_prune(g, &s.sig, &arena, &p, &st);
        assert_true(rc == TFD_OK || rc == TFD_RESOURCE_EXHAUSTED);
        tfd_arena_deinit(&arena);
    }
    assert_int_equal(st.code, TFD_OK);
    tfd_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_needed_stays),
        cmocka_unit_test(test_targets_may_be_spelled_like_tensors),
        cmocka_unit_test(test_loops_are_walked_once),
        cmocka_unit_test(test_a_feed_cuts_its_producer_off),
        cmocka_unit_test(test_control_edges_follow_the_feed_of_a_placeholder),
        cmocka_unit_test(test_ends_know_what_they_carry),
        cmocka_unit_test(test_signatures_that_are_refused),
        cmocka_unit_test(test_what_is_said_first),
        cmocka_unit_test(test_connections_read_another_endpoint),
        cmocka_unit_test(test_connections_that_are_refused),
        cmocka_unit_test(test_a_merge_that_lacks_an_input_cannot_run),
        cmocka_unit_test(test_a_long_chain_needs_no_stack),
        cmocka_unit_test(test_an_arena_that_is_too_small_is_a_failure),
    };

    return cmocka_run_group_tests_name("prune", tests, setup_registry,
                                       teardown_registry);
}
