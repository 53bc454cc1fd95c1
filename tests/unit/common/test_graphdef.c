/*
 * test_graphdef.c - common/proto/graphdef*.c: good graphs, libraries, and what
 * an import may be asked for.
 */
#define _GNU_SOURCE 1 /* strsep() */

#include "tests/support/graphdef_rig.h"

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
        TEST(test_functions_come_again_but_not_others),
        TEST(test_workers_want_devices_and_take_internal_names),
        TEST(test_import_with_prefix_map_and_controls),
        TEST(test_imports_see_only_themselves),
    };

    return cmocka_run_group_tests_name("graphdef", tests, NULL, NULL);
}
