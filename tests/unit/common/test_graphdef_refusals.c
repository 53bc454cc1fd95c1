/*
 * test_graphdef_refusals.c - common/proto/graphdef*.c: every kind of bad graph
 * that a client can send.  tests/fuzz/fuzz_graphdef.c continues where these
 * stop.
 */
#define _GNU_SOURCE 1 /* strsep() */

#include "tests/support/graphdef_rig.h"

/* ---- Bad graphs ---------------------------------------------------------- */

static const struct {
    const char *graph;
    enum tfd_code code;
    const char *text;
} bad[] = {
    {"x = Nope()", TFD_NOT_FOUND, "Op type not registered 'Nope' in binary"},
    {"x = EMPTY()", TFD_NOT_FOUND,
     "Op type not registered '' in binary running"},
    {"i = Identity(zz:1) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Unknown input node 'zz:1'"},
    {"n = NoOp(^q)", TFD_INVALID_ARGUMENT, "Node 'n': Unknown input node '^q'"},
    {"c = Source() T=1\nc = NoOp()", TFD_INVALID_ARGUMENT,
     "Node 'c' is not unique"},
    {"i = Identity(i) T=1", TFD_INVALID_ARGUMENT,
     "1 nodes in a cycle, one of them is 'i'"},
    {"i = Identity(j) T=1\nj = Identity(i) T=1", TFD_INVALID_ARGUMENT,
     "2 nodes in a cycle, one of them is 'i'"},
    {"n = NoOp(^n)", TFD_INVALID_ARGUMENT, "1 nodes in a cycle"},
    {"n = NoOp(^m)\nm = NoOp(^o)\no = NoOp(^m)", TFD_INVALID_ARGUMENT,
     "2 nodes in a cycle, one of them is 'm'"},
    {"a = Source() T=1\ni = Identity(^a, a) T=1", TFD_INVALID_ARGUMENT,
     "All control inputs must follow normal inputs: node 'i'"},
    {"a = Source() T=1\ni = Identity(a:1) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Connecting to invalid output 1 of source node a which has 1"},
    {"a = Source() T=1\ni = Identity(a:2147483647) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Connecting to invalid output 2147483647 of source node a"},
    {"a = Source() T=1\ni = Identity(a:2147483648) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Unknown input node 'a:2147483648'"},
    {"a = Source() T=1\ni = Identity(a:-1) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Unknown input node 'a:-1'"},
    {"a = Source() T=1\ni = Identity(a:) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Unknown input node 'a:'"},
    {"a = Source() T=1\ni = Identity(^) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Unknown input node '^'"},
    {"a = NoOp()\ni = Identity(a) T=1", TFD_INVALID_ARGUMENT,
     "Node 'i': Connecting to invalid output 0 of source node a which has 0"},
    {"a = Source() T=1\ni = Identity(a) T=3", TFD_INVALID_ARGUMENT,
     "Input 0 of node i was passed float from a:0 incompatible with expected "
     "int32."},
    {"i = Identity() T=1", TFD_INVALID_ARGUMENT,
     "NodeDef expected inputs 'float' do not match 0 inputs specified; Op<"},
    {"a = Source() T=1\ni = AddN(a) T=1 N:2", TFD_INVALID_ARGUMENT,
     "NodeDef expected inputs 'float, float' do not match 1 inputs"},
    {"a = AddN() T=1 N:9223372036854775807", TFD_INVALID_ARGUMENT,
     "Number of inputs is too big: 9223372036854775807"},
    {"_x = NoOp()", TFD_INVALID_ARGUMENT, "Illegal op name '_x'"},
    {"EMPTY = NoOp()", TFD_INVALID_ARGUMENT, "Illegal op name ''"},
    {"a = Source() T=9999", TFD_INVALID_ARGUMENT,
     "AttrValue has invalid DataType enum: 9999"},
    {"a = Source() T@unset", TFD_INVALID_ARGUMENT,
     "AttrValue missing value with expected type 'type'"},
    {"a = Source() T=1 T=1", TFD_INVALID_ARGUMENT, "Node 'a' has the attr 'T'"},
    {"a = Source()", TFD_INVALID_ARGUMENT, "NodeDef missing attr 'T' from Op<"},
    {"a = Placeholder() T=1 shape@dims300", TFD_INVALID_ARGUMENT,
     "A shape has 300 dimensions; 0 to 254 are supported"},
    {"a = Placeholder() T=1 shape@overflow", TFD_INVALID_ARGUMENT, "Shape ["},
    {"a = Placeholder() T=1 shape@negative", TFD_INVALID_ARGUMENT,
     "Dimension -2 must be >= -1"},
    {"a = Const() T=1 value@dtype9999", TFD_INVALID_ARGUMENT,
     "TensorProto has invalid dtype 9999"},
    {"i = Merge(i) T=1 N:1", TFD_INVALID_ARGUMENT, "1 nodes in a cycle"},
    {"a = Source() T=1\nm = Merge(a, i) T=1 N:2\ni = Identity(m) T=1",
     TFD_INVALID_ARGUMENT, "2 nodes in a cycle, one of them is 'm'"},
    {"a = Source() T=1\nm = Merge(a, ^n) T=1 N:1\nn = NextIteration(m) T=1",
     TFD_INVALID_ARGUMENT, "2 nodes in a cycle"},
    {"a = Source() T=1\nm = Merge(a, n:1) T=1 N:2\nn = NextIteration(m) T=1",
     TFD_INVALID_ARGUMENT, "Node 'm': Connecting to invalid output 1"},
    {"old = NoOp()", TFD_INVALID_ARGUMENT,
     "GraphDef argument to Extend includes node 'old', which was created by a "
     "previous call to Create or Extend in this session."},
};

static void test_bad_graphs_leave_the_graph_as_it_was(void **state)
{
    (void)state;
    expect_ok("old = NoOp()");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        enum tfd_code rc = import(bad[i].graph, &st);

        if (rc != bad[i].code ||
            strncmp(st.text, bad[i].text, strlen(bad[i].text)))
            fail_msg("%s\ngave %s \"%s\"", bad[i].graph, tfd_code_name(rc),
                     st.text);
        assert_int_equal(g->count, 1);
        assert_int_equal(g->by_name.count, 1);
    }
    expect_ok("a = Source() T=1\nx = Exit(a) T=1"); /* runs fail, not this */
}

static void test_all_unknown_ops_are_named_at_once(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char many[8192];
    size_t at = 0;

    (void)state;
    assert_int_equal(import("x = Nope()\ny = NoOp()\nz = Nada(x)\nv = Nope()\n"
                            "w = Nix(z)",
                            &st),
                     TFD_NOT_FOUND);
    assert_int_equal(strncmp(st.text, "Op type not registered 'Nope' in", 32),
                     0);
    assert_non_null(strstr(st.text, "Make sure the Op and Kernel are "
                                    "registered in the binary running in this "
                                    "process. Note that if you are loading"));
    assert_non_null(strstr(st.text, "first accessed. Not registered are 3 ops "
                                    "of this graph: Nope, Nada, Nix."));
    tfd_status_clear(&st);
    assert_int_equal(import("x = Nope()\ny = Nope(x)", &st), TFD_NOT_FOUND);
    assert_null(strstr(st.text, "Not registered are"));
    for (int i = 0; i < 300; i++)
        at += (size_t)snprintf(many + at, sizeof(many) - at,
                               "n%d = Unknown%d()\n", i, i);
    tfd_status_clear(&st);
    assert_int_equal(import(many, &st), TFD_NOT_FOUND);
    assert_non_null(strstr(st.text, "are 300 ops of this graph: Unknown0, "));
    assert_non_null(strstr(st.text, " more."));
    assert_int_equal(g->count, 0);
}

static void test_every_cut_of_a_message_is_refused_or_smaller(void **state)
{
    struct tfd_str whole = graph_of("a = Source() T=1 x@float1\n"
                                    "s = Split(a) T=1 N:2 y@class_a\n"
                                    "m = Merge(s:1, n, ^d) T=1 N:2\n"
                                    "n = NextIteration(m) T=1\n"
                                    "d = NoOp(^a)\n");
    int whole_count = 5;

    (void)state;
    tfd_bytes_add(&b,
                  "\x12\x0c\x0a\x0a\x0a\x03\x0a\x01"
                  "f\x1a\x03\x0a\x01n"
                  "\x22\x05\x08\xaa\x13\x10\x0c",
                  21);
    whole = tfd_bytes_view(&b);
    for (size_t cut = 0; cut <= whole.size; cut++) {
        /* A copy of its own, so that reading on is found. */
        char *copy = malloc(cut ? cut : 1);
        struct tfd_graph *fresh = tfd_graph_new(&set, NULL);
        enum tfd_code rc;

        memcpy(copy, whole.data, cut);
        rc = tfd_graphdef_import(fresh, (struct tfd_str){copy, cut}, NULL, NULL,
                                 NULL);
        assert_true(rc == TFD_OK || fresh->count == 0);
        assert_true(cut < whole.size ||
                    (rc == TFD_OK && fresh->count == whole_count));
        free(copy);
        tfd_graph_unref(fresh);
    }
}

/* Every byte of a good message set to some others: no crash, and the graph is
 * whole or untouched. */
static void test_damaged_bytes(void **state)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct tfd_str whole = graph_of("a = Source() T=1 x@float1\n"
                                    "p = Placeholder() T=1 shape@unset\n"
                                    "m = Merge(a, n) T=1 N:2\n"
                                    "n = NextIteration(m) T=1\n");
    char copy[512];

    (void)state;
    assert_true(whole.size < sizeof(copy));
    for (size_t i = 0; i < whole.size; i++)
        for (size_t v = 0; v < sizeof(values); v++) {
            struct tfd_graph *fresh = tfd_graph_new(&set, NULL);
            enum tfd_code rc;

            memcpy(copy, whole.data, whole.size);
            copy[i] = (char)values[v];
            rc = tfd_graphdef_import(fresh, (struct tfd_str){copy, whole.size},
                                     NULL, NULL, NULL);
            assert_true(rc == TFD_OK || fresh->count == 0);
            tfd_graph_unref(fresh);
        }
}

static void test_versions(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text; /* NULL: taken */
        int32_t producer; /* the graph's afterwards */
    } cases[] = {
        {"\x22\x03\x08\x9f\x8d", 5, "Unable to parse", 0},
        {"\x22\x03\x10\xab\x13", 5,
         "GraphDef min consumer version 2475 above "
         "current version 2474",
         0},
        {"\x22\x04\x1a\x02\xaa\x13", 6,
         "GraphDef disallows consumer version "
         "2474.",
         0},
        {"\x22\x05\x18\x09\x18\xaa\x13", 7, "GraphDef disallows consumer", 0},
        {"\x22\x04\x08\x9f\x8d\x06", 6, NULL, 99999},
        {"\x22\x03\x08\xaa\x13", 5, NULL, 2474},
        {"\x22\x02\x08\x1b", 4, NULL, 27},
        {"\x22\x04\x08\x9f\x8d\x06", 6, NULL, 99999},
        {"", 0, NULL, 0},
        {"\x22\x02\x08\x1b", 4, NULL, 27},
        {"\x22\x0b\x08\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13,
         "GraphDef producer version -3 below min producer 0 supported by "
         "TensorFlow 2.21.0.  Please regenerate your graph.",
         27},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_str bytes = {cases[i].bytes, cases[i].size};
        struct tfd_status st = TFD_STATUS_INIT;
        enum tfd_code rc = tfd_graphdef_import(g, bytes, NULL, NULL, &st);

        assert_int_equal(rc, cases[i].text ? TFD_INVALID_ARGUMENT : TFD_OK);
        assert_int_equal(g->versions.producer, cases[i].producer);
        if (cases[i].text &&
            strncmp(st.text, cases[i].text, strlen(cases[i].text)))
            fail_msg("%s", st.text);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_bad_graphs_leave_the_graph_as_it_was),
        TEST(test_all_unknown_ops_are_named_at_once),
        TEST(test_every_cut_of_a_message_is_refused_or_smaller),
        TEST(test_damaged_bytes),
        TEST(test_versions),
    };

    return cmocka_run_group_tests_name("graphdef_refusals", tests, NULL, NULL);
}
