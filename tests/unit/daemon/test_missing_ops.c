/*
 * test_missing_ops.c - daemon/missing_*.c, graph_file.c: graphs as text, what
 * is said of them, and files that are none.
 */
#define _GNU_SOURCE 1 /* mkstemp(), ftruncate() */

#include "daemon/missing_ops.h"

#include "daemon/graph_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT_MAX 4096

static struct tfd_registry registry;

static int setup(void **state)
{
    (void)state;
    return (int)tfd_registry_init(&registry, tfd_families, tfd_family_count,
                                  NULL);
}

static int teardown(void **state)
{
    (void)state;
    tfd_registry_deinit(&registry);
    return 0;
}

struct answer {
    enum tfd_missing code;
    char out[TEXT_MAX], err[TEXT_MAX];
};

static void read_answer(FILE *f, char *text)
{
    size_t n;

    rewind(f);
    n = fread(text, 1, TEXT_MAX - 1, f);
    text[n] = '\0';
    fclose(f);
}

static struct answer ask(const char *path)
{
    FILE *out = tmpfile(), *err = tmpfile();
    struct answer a;

    assert_non_null(out);
    assert_non_null(err);
    a.code = tfd_missing_ops_with(&registry, path, out, err);
    read_answer(out, a.out);
    read_answer(err, a.err);
    return a;
}

static struct answer ask_bytes(struct tfd_str bytes)
{
    char path[] = "/tmp/test_missing_ops.XXXXXX";
    int fd = mkstemp(path);
    struct answer a;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.data, bytes.size), bytes.size);
    close(fd);
    a = ask(path);
    unlink(path);
    return a;
}

#define NODE(name, op, rest) "node { name: '" name "' op: '" op "' " rest " } "
#define BODY(name, op, rest) \
    "node_def { name: '" name "' op: '" op "' " rest " } "
#define T(type) "attr { key: 'T' value { " type " } } "
#define GENERIC(name, body)                                          \
    "function { signature { name: '" name "' input_arg { name: 'x' " \
    "type_attr: 'T' } attr { name: 'T' type: 'type' } } " body "} "
#define F(name) "attr { key: 'f' value { func { name: '" name "' } } } "

static const struct {
    const char *text;
    enum tfd_missing code;
    const char *out; /* how it begins */
} graphs[] = {
    {NODE("a", "NoOp", ""), TFD_MISSING_NOTHING, "/tmp/"},
    {NODE("b", "Zog", "") NODE("a/c", "Foo", "") NODE("d", "Foo", ""),
     TFD_MISSING_SOMETHING,
     "op Foo: 2 nodes (first: a/c)\nop Zog: 1 node (first: b)\n/tmp/"},
    {NODE("m", "MatMul", T("type: DT_UINT8")), TFD_MISSING_SOMETHING,
     "type uint8 of MatMul: 1 node (first: m)\n/tmp/"},
    {NODE("m", "MatMul", T("type: DT_STRING")), TFD_MISSING_SOMETHING,
     "type string of MatMul: 1 node (first: m)\n/tmp/"},
    {NODE("m", "MatMul", T("type: DT_INT4")), TFD_MISSING_SOMETHING,
     "type invalid of MatMul: 1 node (first: m)\n/tmp/"},
    {NODE("m", "MatMul", T("s: 'x'")), TFD_MISSING_SOMETHING,
     "attribute T of MatMul: 1 node (first: m)\n/tmp/"},
    {NODE("m", "MatMul", T("type: DT_FLOAT")), TFD_MISSING_NOTHING, "/tmp/"},
    {NODE("m", "MatMul", ""), TFD_MISSING_NOTHING, "/tmp/"},
    /* functions: not called, called, called within a call */
    {"library { " GENERIC("G", BODY("n", "MatMul", T("placeholder: 'T'"))) "}",
     TFD_MISSING_NOTHING, "/tmp/"},
    {"library { " GENERIC("G", BODY("n", "Foo", "")) "}", TFD_MISSING_SOMETHING,
     "op Foo: 1 node (first: n of function G)\n"},
    {"library { " GENERIC(
         "G", BODY("n", "MatMul",
                   T("placeholder: 'T'"))) "} " NODE("x", "G",
                                                     T("type: DT_FLOAT")),
     TFD_MISSING_NOTHING, "/tmp/"},
    {"library { " GENERIC(
         "G", BODY("n", "MatMul",
                   T("placeholder: 'T'"))) "} " NODE("x", "G",
                                                     T("type: DT_UINT8"))
         NODE("y", "G", T("type: DT_UINT8")),
     TFD_MISSING_SOMETHING,
     "type uint8 of MatMul: 1 node (first: n of function G)\n"},
    {"library { " GENERIC("G", BODY("n", "MatMul", T("placeholder: 'T'")))
         GENERIC("H", BODY("k", "G", T("placeholder: 'T'"))) "} " NODE(
             "x", "PartitionedCall",
             "attr { key: 'f' value { func { name: 'H' " T(
                 "type: DT_UINT8") "} } }"),
     TFD_MISSING_SOMETHING,
     "type uint8 of MatMul: 1 node (first: n of function G)\n"},
    /* a function that calls itself */
    {"library { " GENERIC("G", BODY("n", "G", T("placeholder: 'T'"))) "} " NODE(
         "x", "G", T("type: DT_UINT8")),
     TFD_MISSING_NOTHING, "/tmp/"},
    /* gradients */
    {"library { " GENERIC("G", BODY("n", "DeepCopy", "input: 'x'")) "} " NODE(
         "x", "SymbolicGradient", F("G")),
     TFD_MISSING_SOMETHING,
     "gradient of DeepCopy: 1 node (first: n of function G)\n"},
    {"library { " GENERIC("G", BODY("n", "DeepCopy", "input: '^x'")) "} " NODE(
         "x", "SymbolicGradient", F("G")),
     TFD_MISSING_NOTHING, "/tmp/"},
    {"library { " GENERIC("G", BODY("n", "DeepCopy", "input: 'x'")) GENERIC(
         "H", BODY("c", "PartitionedCall",
                   "input: 'x' " F("G"))) "} " NODE("x", "SymbolicGradient",
                                                    F("H")),
     TFD_MISSING_SOMETHING,
     "gradient of DeepCopy: 1 node (first: n of function G)\n"},
    {"library { " GENERIC("G", BODY("n", "DeepCopy", "input: 'x'")) GENERIC(
         "H", BODY("w", "StatelessWhile",
                   "input: 'x' attr { key: 'body' value { func { name: 'G' } } "
                   "}")) "} " NODE("x", "SymbolicGradient", F("H")),
     TFD_MISSING_SOMETHING,
     "gradient of DeepCopy: 1 node (first: n of function G)\n"},
    {"library { " GENERIC("G", BODY("n", "DeepCopy", "input: 'x'")) GENERIC(
         "H",
         BODY("w", "StatelessCase",
              "input: 'x' attr { key: 'branches' value { list { func { name: "
              "'H' } func { name: 'G' } } } }")) "} " NODE("x",
                                                           "SymbolicGradient",
                                                           F("H")),
     TFD_MISSING_SOMETHING,
     "gradient of DeepCopy: 1 node (first: n of function G)\n"},
    {"library { " GENERIC("G", BODY("n", "DeepCopy", "input: 'x'"))
         GENERIC("D", "") "gradient { function_name: 'G' gradient_func: 'D' } "
                          "} " NODE("x", "SymbolicGradient", F("G")),
     TFD_MISSING_NOTHING, "/tmp/"},
    {"library { " GENERIC("G", BODY("n", "DeepCopy", "input: 'x'")) "} ",
     TFD_MISSING_NOTHING, "/tmp/"},
    /* all graphs of a SavedModel */
    {"meta_graphs { graph_def { " NODE(
         "a", "Foo", "") "} } "
                         "meta_graphs { graph_def { " NODE("a", "Foo", "")
                             NODE("b", "NoOp", "") "} }",
     TFD_MISSING_SOMETHING, "op Foo: 2 nodes (first: a)\n/tmp/"},
    {"graph_def { " NODE("a\\n", "F\\001", "") "}", TFD_MISSING_SOMETHING,
     "op F?: 1 node (first: a?)\n/tmp/"},
};

static void graphs_are_looked_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(graphs); i++) {
        struct answer a = ask_bytes(tfd_str_of(graphs[i].text));

        if (a.code != graphs[i].code || *a.err ||
            strncmp(a.out, graphs[i].out, strlen(graphs[i].out)) != 0)
            fail_msg("%s: %d: %s%s", graphs[i].text, (int)a.code, a.out, a.err);
    }
}

static void what_was_looked_at_is_counted(void **state)
{
    struct answer a = ask_bytes(TFD_STR(NODE("a", "NoOp", "") NODE(
        "b", "NoOp", "") "library { " GENERIC("G", BODY("n", "Foo", "")) "}"));

    (void)state;
    assert_non_null(strstr(a.out, "the text of a GraphDef: looked at 3 nodes "
                                  "of 2 ops, found 1 thing lacking\n"));
}

static const struct {
    struct tfd_str bytes;
    const char *word;
} bad[] = {
    {TFD_STR_INIT(""), "empty"},
    {TFD_STR_INIT("\001\002\003"), "not a whole GraphDef"},
    {TFD_STR_INIT("\012\012\012\001a\022\005Cons"), "not a whole GraphDef"},
    {TFD_STR_INIT("\000"), "not a whole GraphDef"},
    {TFD_STR_INIT("hello"), "as text: line 1, column 6"},
    {TFD_STR_INIT("node { name: 'a' "), "'}' is missing"},
    {TFD_STR_INIT("node { op: 'A' attr { key: 'x' value { i: 1 } } } "
                  "library { function { } }"),
     ""},
    {TFD_STR_INIT("library { function { signature { name: 'F' } node_def { "
                  "name: 'n' op: 'Foo' } } function { signature { name: 'F' } "
                  "} }"),
     ""},
};

static void what_is_no_graph_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct answer a = ask_bytes(bad[i].bytes);

        if (a.code != TFD_MISSING_UNREADABLE || *a.out || !*a.err ||
            !strstr(a.err, bad[i].word) ||
            !strstr(a.err, "tfd: --missing_ops: /tmp/test_missing_ops."))
            fail_msg("%zu: %d: %s%s", i, (int)a.code, a.out, a.err);
    }
}

static void files_that_cannot_be_read_are_refused(void **state)
{
    char path[] = "/tmp/test_missing_ops.XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_non_null(strstr(ask("/no/such/file").err, "No such file"));
    assert_non_null(strstr(ask("/tmp").err, "a directory"));
    assert_non_null(strstr(ask("/dev/zero").err, "no regular file"));
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)3 << 30), 0);
    assert_non_null(strstr(ask(path).err, "the limit is 2147483647"));
    close(fd);
    unlink(path);
}

/* Calls, each with another type, of a function with that many nodes. */
static struct answer ask_calls(int calls, int nodes)
{
    struct tfd_bytes text;
    struct answer a;

    tfd_bytes_init(&text, (size_t)64 << 20);
    tfd_bytes_printf(&text, "library { function { signature { name: 'G' "
                            "attr { name: 'n' type: 'int' } } ");
    for (int i = 0; i < nodes; i++)
        tfd_bytes_printf(&text, BODY("%d", "NoOp", ""), i);
    tfd_bytes_printf(&text, "} } ");
    for (int i = 0; i < calls; i++)
        tfd_bytes_printf(&text,
                         "node { name: 'c%d' op: 'G' attr { key: 'n' value { "
                         "i: %d } } } ",
                         i, i);
    a = ask_bytes(tfd_bytes_view(&text));
    tfd_bytes_deinit(&text);
    return a;
}

static void calls_have_a_maximum(void **state)
{
    (void)state;
    assert_int_equal(ask_calls(1000, 2000).code, TFD_MISSING_NOTHING);
    assert_non_null(
        strstr(ask_calls(1001, 2000).err, "more than 2000000 nodes"));
    assert_non_null(strstr(ask_calls(100001, 1).err, "more than 100000"));
}

/* The binary forms, told apart by what is in them. */
static void binary_forms_are_told_apart(void **state)
{
    static const struct {
        struct tfd_str bytes;
        const char *form;
        int count;
    } forms[] = {
        {TFD_STR_INIT("\012\011\012\001a\022\004NoOp"), "a GraphDef", 1},
        {TFD_STR_INIT("\042\003\010\252\023"), "a GraphDef", 1},
        {TFD_STR_INIT("\022\013\012\011\012\001a\022\004NoOp"),
         "a MetaGraphDef", 1},
        {TFD_STR_INIT("\012\007\042\005serve\022\005\042\003\010\252\023"),
         "a MetaGraphDef", 1},
        {TFD_STR_INIT("\010\001\022\007\022\005\042\003\010\252\023\022\000"),
         "a SavedModel", 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_graph_file f;

        if (tfd_graph_file_parse(&f, forms[i].bytes, &st) ||
            strcmp(f.form, forms[i].form) != 0 || f.count != forms[i].count)
            fail_msg("%zu: %s: %s", i, f.form, st.text);
        tfd_graph_file_deinit(&f);
    }
}

/* Nodes whose op is no name, and a MetaGraphDef without a graph: nothing in
 * them could be looked at. */
static void what_has_no_graph_has_no_form(void **state)
{
    static const struct tfd_str none[] = {
        TFD_STR_INIT("\012\011\012\001a\022\004No\012p"),
        TFD_STR_INIT("\012\011\012\001a\022\004NoOp"
                     "\012\010\012\001b\022\003\033[2"
                     "\042\003\010\252\023"),
        TFD_STR_INIT("\012\003\012\001a"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(none); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_graph_file f;

        if (tfd_graph_file_parse(&f, none[i], &st) == TFD_OK)
            fail_msg("%zu: %s", i, f.form);
        tfd_graph_file_deinit(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_looked_at),
        cmocka_unit_test(what_was_looked_at_is_counted),
        cmocka_unit_test(what_is_no_graph_is_refused),
        cmocka_unit_test(files_that_cannot_be_read_are_refused),
        cmocka_unit_test(calls_have_a_maximum),
        cmocka_unit_test(binary_forms_are_told_apart),
        cmocka_unit_test(what_has_no_graph_has_no_form),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
