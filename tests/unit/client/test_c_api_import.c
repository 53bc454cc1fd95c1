/*
 * test_c_api_import.c - what TF_GraphImportGraphDef() says of graphs and
 * options that cannot be.
 */
#define _GNU_SOURCE 1 /* strtok_r() */

#include "tests/support/refusals.h"

#include <cmocka.h>

/* ---- A GraphDef in a line ------------------------------------------------ */

struct op {
    const char *name, *attrs;
    size_t size;
};

#define OP(name, attrs)                \
    {                                  \
        name, attrs, sizeof(attrs) - 1 \
    }
#define TYPE(size, name_size, name) \
    "\x2a" size "\x0a" name_size name "\x12\x02\x30\x01"
#define TYPES(size, name_size, name) \
    "\x2a" size "\x0a" name_size name "\x12\x05\x0a\x03\x32\x01\x01"
#define FUNC(size, name_size, name)                              \
    "\x2a" size "\x0a" name_size name "\x12\x06\x52\x04\x0a\x02" \
    "fn"
#define OF_IF                     \
    TYPE("\x0b", "\x05", "Tcond") \
    TYPES("\x0c", "\x03", "Tin")  \
    TYPES("\x0d", "\x04", "Tout") \
    FUNC("\x15", "\x0b", "then_branch") FUNC("\x15", "\x0b", "else_branch")
#define OF_WHILE               \
    TYPES("\x0a", "\x01", "T") \
    FUNC("\x0e", "\x04", "cond") FUNC("\x0e", "\x04", "body")

static const struct op ops[] = {
    OP("Placeholder", TYPE("\x0b", "\x05", "dtype")),
    OP("Neg", TYPE("\x07", "\x01", "T")),
    OP("BatchMatrixDiag", TYPE("\x07", "\x01", "T")),
    OP("If", OF_IF),
    OP("StatelessIf", OF_IF),
    OP("While", OF_WHILE),
    OP("StatelessWhile", OF_WHILE),
};

struct bytes {
    char data[1024];
    size_t size;
};

static void put(struct bytes *b, int tag, const char *data, size_t size)
{
    assert_true(size < 128 && b->size + size + 2 < sizeof(b->data));
    b->data[b->size++] = (char)(tag << 3 | 2);
    b->data[b->size++] = (char)size;
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* "name=Op(input,input)"; an op without a name has no field. */
static void put_node(struct bytes *graph, char *word)
{
    struct bytes node = {"", 0};
    char *op = strchr(word, '='), *inputs = strchr(word, '('), *input, *rest;

    assert_true(op && inputs);
    *op++ = *inputs++ = '\0';
    put(&node, 1, word, strlen(word));
    if (*op)
        put(&node, 2, op, strlen(op));
    rest = inputs;
    while ((input = strtok_r(rest, ",)", &rest)))
        put(&node, 3, input, strlen(input));
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (!strcmp(op, ops[i].name)) {
            memcpy(node.data + node.size, ops[i].attrs, ops[i].size);
            node.size += ops[i].size;
        }
    graph->data[graph->size++] = 1 << 3 | 2;
    if (node.size > 127)
        graph->data[graph->size++] = (char)(node.size & 127) | (char)128;
    graph->data[graph->size++] =
        (char)(node.size > 127 ? node.size >> 7 : node.size);
    memcpy(graph->data + graph->size, node.data, node.size);
    graph->size += node.size;
}

static TF_Buffer *graph_of(const char *line, int producer)
{
    struct bytes graph = {"", 0};
    char text[256], *word, *rest = text;

    snprintf(text, sizeof(text), "%s", line);
    while ((word = strtok_r(rest, " ", &rest)))
        put_node(&graph, word);
    if (producer)
        put(&graph, 4, (const char[]){1 << 3, (char)producer}, 2);
    return TF_NewBufferFromString(graph.data, graph.size);
}

/* ---- Rows ---------------------------------------------------------------- */

struct row {
    const char *graph, *prefix;
    struct {
        const char *name; /* NULL: no mapping */
        int index;
        const char *to; /* of x, s/y = Neg(x) and the NoOp c */
        int to_index;
    } map;
    struct {
        const char *name; /* NULL: nothing returned */
        int index;
    } out;
    TF_Code code;
    const char *text; /* NULL: it can be */
    int producer;     /* of the graph; 0: it does not say */
};

static void import_row(struct fixture *f, const char *graph, int producer,
                       TF_ImportGraphDefOptions *o)
{
    TF_Buffer *def = graph_of(graph, producer);

    TF_DeleteImportGraphDefResults(
        TF_GraphImportGraphDefWithResults(f->g, def, o, f->st));
    TF_DeleteBuffer(def);
}

static int check_row(struct fixture *f, const struct row *r)
{
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    int wrong;

    begin_row(f);
    import_row(f, "x=Placeholder() s/y=Neg(x) c=NoOp()", 0, o);
    expect(f, TF_OK, "");
    if (r->prefix)
        TF_ImportGraphDefOptionsSetPrefix(o, r->prefix);
    if (r->map.name)
        TF_ImportGraphDefOptionsAddInputMapping(
            o, r->map.name, r->map.index,
            (TF_Output){TF_GraphOperationByName(f->g, r->map.to),
                        r->map.to_index});
    if (r->out.name)
        TF_ImportGraphDefOptionsAddReturnOutput(o, r->out.name, r->out.index);
    import_row(f, r->graph, r->producer, o);
    wrong = check_refusal(f, r->graph, r->code, r->text);
    TF_DeleteImportGraphDefOptions(o);
    return wrong;
}

static void check_rows(struct fixture *f, const struct row *rows, size_t count)
{
    int wrong = 0;

    for (size_t i = 0; i < count; i++)
        if (!is_skipped(rows[i].text))
            wrong += check_row(f, &rows[i]);
    assert_int_equal(wrong, 0);
}

#define CHECK(state, rows) \
    check_rows(*(state), rows, sizeof(rows) / sizeof((rows)[0]))
#define BAD TF_INVALID_ARGUMENT
#define HINT                                                           \
    "Node 'n': Connecting to invalid output 1 of source node f which " \
    "has 1 outputs. Try using "                                        \
    "tf.compat.v1.experimental.output_all_intermediates(True)."

/* What cond_grad asks for when the forward op does not give it. */
static void test_a_gradient_without_intermediates_is_told_what_to_do(void **st)
{
    static const struct row rows[] = {
        {"a=Placeholder() f=If(a,a) n=Neg(f:1)", .code = BAD, .text = HINT},
        {"a=Placeholder() f=StatelessIf(a,a) n=Neg(f:1)", .code = BAD,
         .text = HINT},
        {"a=Placeholder() f=While(a) n=Neg(f:1)", .code = BAD, .text = HINT},
        {"a=Placeholder() f=StatelessWhile(a) n=Neg(f:1)", .code = BAD,
         .text = HINT},
        {"a=Placeholder() f=Neg(a) n=Neg(f:1)", .code = BAD,
         .text = "Node 'n': Connecting to invalid output 1 of source node f "
                 "which has 1 outputs."},
        {"a=Placeholder() f=If(a,a) n=Neg(f:0)", .text = NULL},
        {"a=Placeholder() f=While(a) n=Neg(f)", .text = NULL},
    };

    CHECK(st, rows);
}

static void test_prefixes(void **st)
{
    static const struct row rows[] = {
        {"z=Placeholder()", .prefix = "s"},
        {"z=Placeholder()", .prefix = "x"},
        {"z=Placeholder()", .prefix = "s/y"},
        {"z=Placeholder()", .prefix = "s/"},
        {"y=Placeholder()", .prefix = "s", .code = BAD,
         .text = OURS "Node name 's/y' already exists in the Graph"},
        {"x=Placeholder()", .code = BAD,
         .text = "Node name 'x' already exists in the Graph"},
        {"z=Placeholder()", .prefix = "/", .code = BAD,
         .text = "Imported node name prefix '/' would lead to invalid node "
                 "names"},
        {"z=Placeholder()", .prefix = "_p", .code = BAD,
         .text = "Imported node name prefix '_p/' would lead to invalid node "
                 "names"},
    };

    CHECK(st, rows);
}

static void test_mapped_inputs(void **st)
{
    static const struct row rows[] = {
        {"n=Neg(a)", .map = {"a", 0, "x", 0}},
        {"n=Neg(a:1)", .map = {"a", 1, "x", 0}},
        {"n=NoOp(^a)", .map = {"a", -1, "c", -1}},
        {"n=Neg(a)", .map = {"a", 0, "x", 1}, .code = BAD,
         .text = "Node 'n': Connecting to invalid output 1 of source node x "
                 "which has 1 outputs."},
        {"n=Neg(a)", .map = {"a", 0, "c", 0}, .code = BAD,
         .text = "Node 'n': Connecting to invalid output 0 of source node c "
                 "which has 0 outputs."},
        {"n=Placeholder()", .map = {"q", 0, "x", 99}},
        {"n=Neg(a)", .map = {"a", 0, "x", -1}, .code = BAD,
         .text = "input_map entry a:0->^x between control edge and "
                 "non-control edge"},
        {"n=NoOp(^a)", .map = {"a", -1, "x", 0}, .code = BAD,
         .text = "input_map entry ^a->x:0 between control edge and "
                 "non-control edge"},
        {"n=Placeholder()", .map = {"q", -1, "x", 0}, .code = BAD,
         .text = "input_map entry ^q->x:0 between control edge and "
                 "non-control edge"},
        {"n=Neg(a)", .map = {"a", 0, "x", -2}, .code = TF_OUT_OF_RANGE,
         .text = OURS "Node 'x' (type: 'Placeholder', num of outputs: 1) does "
                      "not have output -2"},
        {"n=Neg(a)", .map = {"a", -2, "x", 0}, .code = BAD,
         .text = OURS "'a:-2' does not name an output of a node"},
    };

    CHECK(st, rows);
}

static void test_returned_outputs(void **st)
{
    static const struct row rows[] = {
        {"a=Placeholder()", .out = {"a", 0}},
        {"a=Placeholder()", .out = {"a", -1}},
        {"a=Placeholder()", .out = {"a", 1}, .code = BAD,
         .text = "Invalid return output 1 of node 'a', which has 1 output(s)"},
        {"a=Placeholder()", .out = {"a", -2}, .code = BAD,
         .text = "Invalid return output -2 of node 'a', which has 1 "
                 "output(s)"},
        {"a=Placeholder()", .prefix = "p", .out = {"a", 3}, .code = BAD,
         .text = "Invalid return output 3 of node 'a', which has 1 output(s)"},
        {"a=NoOp()", .out = {"a", 0}, .code = BAD,
         .text = "Invalid return output 0 of node 'a', which has 0 output(s)"},
        {"a=Placeholder()", .out = {"b", 0}, .code = BAD,
         .text = "Requested return tensor 'b:0' not found in graph def"},
        {"a=Placeholder()",
         .map = {"b", 0, "x", 7},
         {"b", 0},
         BAD,
         OURS "Invalid return output 7 of node 'x', which has 1 output(s)"},
    };

    CHECK(st, rows);
}

static void test_nodes_and_their_inputs(void **st)
{
    static const struct row rows[] = {
        {"a=()", .code = BAD, .text = "Node 'a' does not specify an operation"},
        {"a=()", .prefix = "p", .code = BAD,
         .text = "Node 'a' does not specify an operation"},
        {"a=Placeholder() n=Neg(a:1)", .code = BAD,
         .text = "Node 'n': Connecting to invalid output 1 of source node a "
                 "which has 1 outputs."},
        {"n=Neg(q)", .code = BAD, .text = "Node 'n': Unknown input node 'q'"},
        {"n=Neg(q:1)", .code = BAD,
         .text = "Node 'n': Unknown input node 'q:1'"},
        {"n=Neg(x)", .code = BAD, .text = "Node 'n': Unknown input node 'x'"},
        {"a=Placeholder() n=Neg(a:-2)", .code = BAD,
         .text = "Node 'n': Unknown input node 'a:-2'"},
        {"n=NoOp(^q)", .code = BAD,
         .text = "Node 'n': Unknown input node '^q'"},
        {"a=Placeholder() n=Neg(^a,a)", .code = BAD,
         .text = "Node 'n': Control dependencies must come after regular "
                 "dependencies"},
        {"n=Neg(n)", .code = BAD,
         .text = OURS "1 nodes in a cycle, one of them is 'n'"},
    };

    CHECK(st, rows);
}

#define GONE(version)                                                          \
    "Op BatchMatrixDiag is not available in GraphDef version " version ". It " \
    "has been removed in version 14. Use MatrixDiag."

static void test_deprecated_ops(void **st)
{
    static const struct row rows[] = {
        {"n=BatchMatrixDiag(x)", .map = {"x", 0, "x", 0}},
        {"n=BatchMatrixDiag(x)", .map = {"x", 0, "x", 0}, .producer = 13},
        {"n=BatchMatrixDiag(x)", .map = {"x", 0, "x", 0}, .producer = 14,
         .code = TF_UNIMPLEMENTED, .text = GONE("14")},
        {"n=BatchMatrixDiag(x)", .map = {"x", 0, "x", 0}, .producer = 99,
         .code = TF_UNIMPLEMENTED, .text = GONE("99")},
    };

    CHECK(st, rows);
}

#define TEST(f) \
    cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_gradient_without_intermediates_is_told_what_to_do),
        TEST(test_prefixes),
        TEST(test_mapped_inputs),
        TEST(test_returned_outputs),
        TEST(test_nodes_and_their_inputs),
        TEST(test_deprecated_ops),
    };

    return cmocka_run_group_tests_name("c_api_import", tests, NULL, NULL);
}
