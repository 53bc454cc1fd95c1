/*
 * test_graphdef.c - common/graphdef*.c: good graphs, and every kind of bad one
 * that a client can send.
 *
 * Graphs are written as lines "name = Op(input, input) attribute...", where an
 * attribute is T=1 (type), N:2 (int) or w:word (bytes of an AttrValue that are
 * listed below).  tests/fuzz/fuzz_graphdef.c continues where these stop.
 */
#define _GNU_SOURCE 1 /* strdup(), strsep() */

#include "common/graphdef.h"

#include "common/pbio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Definitions and helpers --------------------------------------------- */

static const struct tfd_opdef defs[] = {
    {.name = "NoOp"},
    {.name = "Source", .outputs = "o: T", .attrs = "T: type"},
    {.name = "Placeholder",
     .outputs = "o: T",
     .attrs = "T: type; shape: shape = { unknown_rank: true }"},
    {.name = "Const", .outputs = "o: T", .attrs = "T: type; value: tensor"},
    {.name = "Identity",
     .inputs = "i: T",
     .outputs = "o: T",
     .attrs = "T: type"},
    {.name = "AddN",
     .inputs = "i: N * T",
     .outputs = "o: T",
     .attrs = "N: int >= 1; T: type"},
    {.name = "Split",
     .inputs = "i: T",
     .outputs = "o: N * T",
     .attrs = "N: int; T: type"},
    {.name = "Merge",
     .inputs = "i: N * T",
     .outputs = "o: T, index: int32",
     .attrs = "N: int >= 1; T: type",
     .flags = TFD_OP_MERGE},
    {.name = "NextIteration",
     .inputs = "i: T",
     .outputs = "o: T",
     .attrs = "T: type",
     .flags = TFD_OP_NEXT_ITERATION},
    {.name = "Exit",
     .inputs = "i: T",
     .outputs = "o: T",
     .attrs = "T: type",
     .flags = TFD_OP_EXIT},
};

static struct tfd_op_set set;
static struct tfd_graph *g;
static struct tfd_bytes b;

static int setup(void **state)
{
    (void)state;
    tfd_op_set_init(&set);
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
        assert_int_equal(tfd_op_set_add(&set, &defs[i], NULL), TFD_OK);
    g = tfd_graph_new(&set, NULL);
    assert_non_null(g);
    tfd_bytes_init(&b, (size_t)1 << 30);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tfd_bytes_deinit(&b);
    tfd_graph_unref(g);
    tfd_op_set_deinit(&set);
    return 0;
}

/* AttrValue messages by name. */
static const struct {
    const char *word, *value;
    size_t size;
} words[] = {
    {"unset", "", 0},
    {"9999", "\x30\x8f\x4e", 3},
    {"dims300", NULL, 0}, /* made below */
    {"overflow",
     "\x3a\x12\x12\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x12\x04\x08\x80"
     "\x80\x04",
     20},
    {"negative", "\x3a\x0d\x12\x0b\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
     15},
    {"float1", "\x42\x0a\x08\x01\x12\x00\x2a\x04\x00\x00\x80\x3f", 12},
    {"dtype9999", "\x42\x05\x08\x8f\x4e\x12\x00", 7},
    {"class_a", "\x0a\x09\x12\x07loc:@a2", 11},
};

static void put_word(struct tfd_bytes *out, const char *word)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(words[i].word, word) && words[i].value) {
            tfd_bytes_add(out, words[i].value, words[i].size);
            return;
        }
    if (strcmp(word, "dims300"))
        fail_msg("no word %s", word);
    tfd_bytes_add(out, "\x3a\xb0\x09", 3); /* 300 times 4 bytes */
    for (int i = 0; i < 300; i++)
        tfd_bytes_add(out, "\x12\x02\x08\x01", 4);
}

/* One line as above, cut into words in place. */
static void put_line(char *line)
{
    struct tfd_str in[16];
    struct tfd_attr attrs[8];
    struct tfd_bytes values[8];
    struct tfd_nodedef n = {.device = TFD_STR_EMPTY, .in = in, .attrs = attrs};
    char *rest = NULL, *at, *word;

    n.name = tfd_str_of(strtok_r(line, " ", &rest));
    if (!strcmp(n.name.data, "EMPTY"))
        n.name = TFD_STR_EMPTY;
    strtok_r(NULL, " ", &rest); /* = */
    n.op = tfd_str_of(strtok_r(NULL, "(", &rest));
    if (tfd_str_is(n.op, "EMPTY"))
        n.op = TFD_STR_EMPTY;
    if (*rest == ')')
        rest++;
    else
        for (word = strtok_r(NULL, ")", &rest); (at = strsep(&word, ","));)
            in[n.in_count++] = tfd_str_of(at + (*at == ' '));
    while ((word = strtok_r(NULL, " ", &rest))) {
        struct tfd_bytes *v = &values[n.attr_count];

        at = strpbrk(word, "=:@");
        tfd_bytes_init(v, 4096);
        if (*at == '=')
            tfd_attr_put_type(v, (int)strtol(at + 1, NULL, 10));
        else if (*at == ':')
            tfd_attr_put_int(v, strtoll(at + 1, NULL, 10));
        else
            put_word(v, at + 1);
        if (!strncmp(word, "device", 6)) {
            n.device = TFD_STR("/job:ps/replica:0/task:0/device:CPU:0");
            tfd_bytes_deinit(v);
            continue;
        }
        attrs[n.attr_count++] =
            (struct tfd_attr){{word, (size_t)(at - word)}, tfd_bytes_view(v)};
    }
    tfd_graphdef_put(&b, &n);
    for (int i = 0; i < n.attr_count; i++)
        tfd_bytes_deinit(&values[i]);
}

static struct tfd_str graph_of(const char *text)
{
    char *copy = strdup(text), *rest = copy, *line;

    tfd_bytes_clear(&b);
    while ((line = strsep(&rest, "\n")))
        if (*line)
            put_line(line);
    free(copy);
    assert_false(b.failed);
    return tfd_bytes_view(&b);
}

static enum tfd_code import(const char *text, struct tfd_status *st)
{
    return tfd_graphdef_import(g, graph_of(text), NULL, NULL, st);
}

static void expect_ok(const char *text)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (import(text, &st))
        fail_msg("%s", st.text);
}

static const struct tfd_node *node(const char *name)
{
    const struct tfd_node *n = tfd_graph_find(g, tfd_str_of(name));

    if (!n)
        fail_msg("no node %s", name);
    return n;
}

/* ---- Good graphs --------------------------------------------------------- */

static void test_inputs_may_come_later_in_the_message(void **state)
{
    (void)state;
    expect_ok("c = AddN(a, b:1, ^d) T=1 N:2\n"
              "b = Split(a) T=1 N:2\n"
              "a = Source() T=1\n"
              "d = NoOp()");
    assert_int_equal(g->count, 4);
    assert_int_equal(node("c")->in[0].node, node("a")->id);
    assert_int_equal(node("c")->in[1].node, node("b")->id);
    assert_int_equal(node("c")->in[1].output, 1);
    assert_int_equal(node("c")->control_count, 1);
    assert_int_equal(node("c")->control[0], node("d")->id);
    for (int32_t i = 0; i < g->count; i++)
        for (int32_t j = 0; j < g->nodes[i]->in_count; j++)
            assert_true(g->nodes[i]->in[j].node < i);
}

static void test_loops_enter_through_merge(void **state)
{
    (void)state;
    expect_ok("m = Merge(a, n) T=1 N:2\n"
              "n = NextIteration(i) T=1\n"
              "i = Identity(m) T=1\n"
              "x = Exit(m) T=1\n"
              "a = Source() T=1");
    assert_int_equal(node("m")->in[1].node, node("n")->id);
    assert_int_equal(node("m")->in[0].node, node("a")->id);
}

static void test_a_graph_is_extended(void **state)
{
    int32_t first = -1;

    (void)state;
    expect_ok("a = Source() T=1");
    assert_int_equal(tfd_graphdef_import(g,
                                         graph_of("b = Identity(a) T=1\n"
                                                  "c = Identity(b, ^a) T=1"),
                                         NULL, &first, NULL),
                     TFD_OK);
    assert_int_equal(first, 1);
    assert_int_equal(node("c")->in[0].node, 1);
}

static void test_missing_types_are_inferred(void **state)
{
    (void)state;
    expect_ok("b = Identity(a)\na = Source() T=9\nc = AddN(a, b)");
    assert_int_equal(node("c")->out_types[0], TFD_INT64);
}

static void chain(int count)
{
    tfd_bytes_clear(&b);
    for (int i = count - 1; i >= 0; i--) {
        char line[64];

        snprintf(line, sizeof(line),
                 i ? "n%d = Identity(n%d) T=1" : "n%d = Source() T=1", i,
                 i - 1);
        put_line(line);
    }
}

static void test_a_chain_of_100000_written_backwards(void **state)
{
    (void)state;
    chain(100000);
    assert_int_equal(
        tfd_graphdef_import(g, tfd_bytes_view(&b), NULL, NULL, NULL), TFD_OK);
    assert_int_equal(g->count, 100000);
    assert_int_equal(node("n99999")->in[0].node, 99998);
}

static void test_export_gives_the_same_bytes(void **state)
{
    struct tfd_str in = graph_of("a = Source() T=1\n"
                                 "d = NoOp()\n"
                                 "b = Split(a) N:2 T=1 device=1\n"
                                 "c = AddN(a, b:1, ^d, ^a) T=1 N:2 x@class_a");
    struct tfd_bytes out;

    (void)state;
    tfd_bytes_add(&b, "\x12\x00\x22\x05\x08\xaa\x13\x10\x0c", 9);
    in = tfd_bytes_view(&b);
    assert_int_equal(tfd_graphdef_import(g, in, NULL, NULL, NULL), TFD_OK);
    assert_int_equal(g->versions.producer, 2474);
    assert_int_equal(g->versions.min_consumer, 12);
    tfd_bytes_init(&out, 1 << 20);
    tfd_graphdef_export(&out, g);
    assert_int_equal(out.size, in.size);
    assert_memory_equal(out.data, in.data, in.size);
    tfd_bytes_deinit(&out);
}

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
     "A shape has 300 dimensions; 0 to 8 are supported"},
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
    } cases[] = {
        {"\x22\x03\x08\x9f\x8d", 5, "Unable to parse"},
        {"\x22\x03\x10\xab\x13", 5,
         "GraphDef min consumer version 2475 above "
         "current version 2474"},
        {"\x22\x04\x1a\x02\xaa\x13", 6,
         "GraphDef disallows consumer version "
         "2474."},
        {"\x22\x05\x18\x09\x18\xaa\x13", 7, "GraphDef disallows consumer"},
        {"\x22\x04\x08\x9f\x8d\x06", 6, NULL},
        {"\x22\x04\x08\x9f\x8d\x06", 6, NULL}, /* the same again */
        {"\x22\x03\x08\xaa\x13", 5,
         "Can't extend GraphDef at version 99999 with graph at version 2474."},
        {"", 0, "Can't extend GraphDef at version 99999 with graph at"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_str bytes = {cases[i].bytes, cases[i].size};
        struct tfd_status st = TFD_STATUS_INIT;
        enum tfd_code rc = tfd_graphdef_import(g, bytes, NULL, NULL, &st);

        assert_int_equal(rc, cases[i].text ? TFD_INVALID_ARGUMENT : TFD_OK);
        if (cases[i].text &&
            strncmp(st.text, cases[i].text, strlen(cases[i].text)))
            fail_msg("%s", st.text);
    }
}

/* ---- Libraries ----------------------------------------------------------- */

/* A GraphDef with one function: signature's name, and more fields. */
static struct tfd_str library(const char *name, const char *rest, size_t size)
{
    size_t lib, f, signature;

    tfd_bytes_clear(&b);
    lib = tfd_pb_begin(&b, 2);
    f = tfd_pb_begin(&b, 1);
    signature = tfd_pb_begin(&b, 1);
    tfd_pb_put_str(&b, 1, tfd_str_of(name));
    tfd_pb_finish(&b, signature);
    tfd_bytes_add(&b, rest, size);
    tfd_pb_finish(&b, f);
    tfd_pb_finish(&b, lib);
    return tfd_bytes_view(&b);
}

static enum tfd_code add_library(const char *name, const char *rest,
                                 size_t size, struct tfd_status *st)
{
    return tfd_graphdef_import(g, library(name, rest, size), NULL, NULL, st);
}

/* A node "n", and "x" is returned as "v". */
#define BODY_NODE "\x1a\x03\x0a\x01n"
#define BODY_RET "\x22\x06\x0a\x01x\x12\x01v"

static void test_functions_come_again_but_not_others(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_str before;

    (void)state;
    assert_int_equal(add_library("f", BODY_NODE BODY_RET, 13, NULL), TFD_OK);
    before = g->library;
    assert_int_equal(before.size, 20);
    assert_int_equal(add_library("f", BODY_NODE BODY_RET, 13, NULL), TFD_OK);
    assert_ptr_equal(g->library.data, before.data);
    /* Entries of a map in another order. */
    assert_int_equal(add_library("f", BODY_RET BODY_NODE, 13, NULL), TFD_OK);
    assert_int_equal(add_library("g", "", 0, NULL), TFD_OK);
    assert_int_equal(g->library.size, 20 + 7);
    assert_int_equal(
        add_library("f", BODY_NODE "\x22\x06\x0a\x01x\x12\x01w", 13, &st),
        TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text,
                        "Cannot add function 'f' because a different function "
                        "with the same name already exists.");
    assert_int_equal(add_library("", "", 0, NULL), TFD_INVALID_ARGUMENT);
    assert_int_equal(g->library.size, 20 + 7);
}

/* ---- Options ------------------------------------------------------------- */

static void test_workers_want_devices_and_take_internal_names(void **state)
{
    struct tfd_graphdef_options o = {.prefix = TFD_STR_EMPTY,
                                     .require_full_device = true};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(
        tfd_graphdef_import(g, graph_of("_x = NoOp() device=1\nz = NoOp()"), &o,
                            NULL, &st),
        TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Node 'z' is missing a device specification");
    assert_int_equal(tfd_graphdef_import(g, graph_of("_x = NoOp() device=1"),
                                         &o, NULL, NULL),
                     TFD_OK);
    assert_true(tfd_str_is(node("_x")->device,
                           "/job:ps/replica:0/task:0/device:CPU:0"));
}

static void test_import_with_prefix_map_and_controls(void **state)
{
    struct tfd_str from[] = {TFD_STR("p"), TFD_STR("s:1"), TFD_STR("^w")};
    struct tfd_edge to[3];
    int32_t control;
    struct tfd_graphdef_options o = {.prefix = TFD_STR("in/ner"),
                                     .map_from = from,
                                     .map_to = to,
                                     .map_count = 3,
                                     .control = &control,
                                     .control_count = 1};
    struct tfd_str value;

    (void)state;
    expect_ok("a = Source() T=1\nwait = NoOp()\nq = NoOp()");
    to[0] = to[1] = (struct tfd_edge){node("a")->id, 0};
    to[2] = (struct tfd_edge){node("wait")->id, TFD_CONTROL};
    control = node("q")->id;
    assert_int_equal(tfd_graphdef_import(g,
                                         graph_of("a2 = Identity(p:0, ^w) T=1\n"
                                                  "s = Split(a2) T=1 N:2\n"
                                                  "b = AddN(s:1, s:0) T=1 N:2 "
                                                  "_class@class_a"),
                                         &o, NULL, NULL),
                     TFD_OK);
    assert_int_equal(node("in/ner/a2")->in[0].node, node("a")->id);
    assert_int_equal(node("in/ner/a2")->control_count, 2);
    assert_int_equal(node("in/ner/a2")->control[0], node("wait")->id);
    assert_int_equal(node("in/ner/a2")->control[1], node("q")->id);
    assert_int_equal(node("in/ner/b")->in[0].node, node("a")->id);
    assert_int_equal(node("in/ner/b")->in[1].node, node("in/ner/s")->id);
    assert_int_equal(node("in/ner/s")->control_count, 0);
    assert_true(tfd_node_attr(node("in/ner/b"), "_class", &value));
    assert_int_equal(value.size, 18);
    assert_memory_equal(value.data, "\x0a\x10\x12\x0eloc:@in/ner/a2", 18);
}

static void test_imports_see_only_themselves(void **state)
{
    struct tfd_graphdef_options o = {.prefix = TFD_STR_EMPTY};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    expect_ok("a = Source() T=1");
    assert_int_equal(
        tfd_graphdef_import(g, graph_of("b = Identity(a) T=1"), &o, NULL, &st),
        TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Node 'b': Unknown input node 'a'");
    tfd_status_clear(&st);
    assert_int_equal(
        tfd_graphdef_import(g, graph_of("a = NoOp()"), &o, NULL, &st),
        TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Node name 'a' already exists in the Graph");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_inputs_may_come_later_in_the_message),
        TEST(test_loops_enter_through_merge),
        TEST(test_a_graph_is_extended),
        TEST(test_missing_types_are_inferred),
        TEST(test_a_chain_of_100000_written_backwards),
        TEST(test_export_gives_the_same_bytes),
        TEST(test_bad_graphs_leave_the_graph_as_it_was),
        TEST(test_every_cut_of_a_message_is_refused_or_smaller),
        TEST(test_damaged_bytes),
        TEST(test_versions),
        TEST(test_functions_come_again_but_not_others),
        TEST(test_workers_want_devices_and_take_internal_names),
        TEST(test_import_with_prefix_map_and_controls),
        TEST(test_imports_see_only_themselves),
    };

    return cmocka_run_group_tests_name("graphdef", tests, NULL, NULL);
}
