/*
 * test_graph.c - common/graph*.c: nodes right and wrong, edges, order.
 *
 * The texts of errors are TensorFlow's own for the same graph, unless a case
 * says otherwise.
 */
#include "common/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- Definitions and helpers --------------------------------------------- */

static const struct tfd_opdef defs[] = {
    {.name = "NoOp"},
    {.name = "Source", .outputs = "o: T", .attrs = "T: type"},
    {.name = "Identity",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type"},
    {.name = "Relu",
     .inputs = "features: T",
     .outputs = "activations: T",
     .attrs = "T: {float, half}"},
    {.name = "Var", .outputs = "ref: Ref(T)", .attrs = "T: type"},
    {.name = "Assign",
     .inputs = "ref: Ref(T), value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type; use_locking: bool = true"},
    {.name = "AddN",
     .inputs = "inputs: N * T",
     .outputs = "sum: T",
     .attrs = "N: int >= 1; T: type"},
    {.name = "ConcatV2",
     .inputs = "values: N * T, axis: Tidx",
     .outputs = "output: T",
     .attrs = "N: int >= 2; T: type; Tidx: {int32, int64} = DT_INT32"},
    {.name = "Stitch",
     .inputs = "indices: N * int32, data: N * T",
     .outputs = "merged: T",
     .attrs = "N: int; T: type"},
    {.name = "IdentityN",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: list(type) >= 1"},
    {.name = "Split",
     .inputs = "value: T",
     .outputs = "output: num_split * T",
     .attrs = "num_split: int; T: type"},
    {.name = "Conv",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; padding: {'SAME', 'VALID'}; s: shape = {}"},
    {.name = "Const",
     .outputs = "output: dtype",
     .attrs = "value: tensor; dtype: type",
     .key = "dtype"},
    {.name = "Merge",
     .inputs = "inputs: N * T",
     .outputs = "output: T, value_index: int32",
     .attrs = "N: int >= 1; T: type",
     .flags = TFD_OP_MERGE},
    {.name = "NextIteration",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = TFD_OP_NEXT_ITERATION},
};

static struct tfd_op_set set;
static struct tfd_graph *g;

static int setup(void **state)
{
    (void)state;
    tfd_op_set_init(&set);
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
        assert_int_equal(tfd_op_set_add(&set, &defs[i], NULL), TFD_OK);
    g = tfd_graph_new(&set, NULL);
    assert_non_null(g);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tfd_graph_unref(g);
    tfd_op_set_deinit(&set);
    return 0;
}

static struct tfd_attr attr(const char *name, struct tfd_bytes *b)
{
    return (struct tfd_attr){tfd_str_of(name), tfd_bytes_view(b)};
}

/* A node; types maps each attribute named in `types` ("T=1 U=3") to a type. */
static enum tfd_code try_add(const char *name, const char *op,
                             const struct tfd_edge *in, int in_count,
                             const struct tfd_attr *attrs, int attr_count,
                             struct tfd_node **out, struct tfd_status *st)
{
    struct tfd_node_spec spec = {.name = tfd_str_of(name),
                                 .op = tfd_str_of(op),
                                 .device = TFD_STR_EMPTY,
                                 .in = in,
                                 .in_count = in_count,
                                 .attrs = attrs,
                                 .attr_count = attr_count};

    return tfd_graph_add(g, &spec, out, st);
}

static struct tfd_node *add(const char *name, const char *op,
                            const struct tfd_edge *in, int in_count)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_node *n = NULL;

    if (try_add(name, op, in, in_count, NULL, 0, &n, &st))
        fail_msg("%s", st.text);
    return n;
}

/* A node without inputs whose attribute T is a type. */
static struct tfd_edge typed(const char *name, const char *op, int type)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_node *n = NULL;
    struct tfd_bytes b;
    struct tfd_attr a;

    tfd_bytes_init(&b, 100);
    tfd_attr_put_type(&b, type);
    a = attr("T", &b);
    if (try_add(name, op, NULL, 0, &a, 1, &n, &st))
        fail_msg("%s", st.text);
    tfd_bytes_deinit(&b);
    return (struct tfd_edge){n->id, 0};
}

static void expect(enum tfd_code rc, enum tfd_code code,
                   const struct tfd_status *st, const char *text)
{
    if (rc != code || strncmp(st->text, text, strlen(text)))
        fail_msg("%s \"%s\", expected %s \"%s\"", tfd_code_name(rc), st->text,
                 tfd_code_name(code), text);
}

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

/* ---- Bad nodes ----------------------------------------------------------- */

static void test_bad_names_are_refused(void **state)
{
    static const char *const bad[] = {
        "",    "-x",   "a b",      "a:0", "^a", "a>>b", "a>_b",  "/a",
        "a\\", "a\nb", "\xc3\xa4", "a>",  ">a", "_>_",  "a\x7f",
    };
    static const char *const good[] = {"a",  "_a",  ".a",    "0",
                                       "a/", "a>b", "A_-./", "a>.b"};
    char long_name[9000];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        expect(try_add(bad[i], "NoOp", NULL, 0, NULL, 0, NULL, &st),
               TFD_INVALID_ARGUMENT, &st, "Node '");
        assert_non_null(
            strstr(st.text, "': Node name contains invalid characters"));
        for (const char *c = st.text; *c; c++)
            assert_true(*c >= ' ' && *c < 0x7f);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        add(good[i], "NoOp", NULL, 0);
    memset(long_name, 'a', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    assert_int_equal(try_add(long_name, "NoOp", NULL, 0, NULL, 0, NULL, NULL),
                     TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(g->count, sizeof(good) / sizeof(good[0]));
}

/* Nodes 0, 1 and 2 of the test below. */
#define C    \
    {        \
        0, 0 \
    }
#define S    \
    {        \
        1, 0 \
    }
#define I    \
    {        \
        2, 0 \
    }

static const struct {
    const char *op;
    struct tfd_edge in[3];
    int in_count;
    const char *text;
} bad_inputs[] = {
    {"Identity",
     {C, C},
     2,
     "NodeDef expected inputs 'float' do not match 2 inputs specified; "
     "Op<name=Identity; signature=input:T -> output:T; attr=T:type>; "
     "NodeDef: {{node n}}"},
    {"NoOp",
     {C},
     1,
     "NodeDef expected inputs '' do not match 1 inputs specified; Op<"},
    {"Relu",
     {S},
     1,
     "Value for attr 'T' of string is not in the list of allowed values: "
     "float, half\n\t; NodeDef: {{node n}}; Op<name=Relu; "},
    {"Assign", {C}, 1, "NodeDef expected inputs 'float_ref, float' do not"},
    {"AddN",
     {C, S},
     2,
     "Input 1 of node n was passed string from s:0 incompatible with "
     "expected float."},
    {"ConcatV2",
     {C, C, C},
     3,
     "Value for attr 'Tidx' of float is not in the list of allowed"},
    {"ConcatV2",
     {C, I},
     2,
     "Value for attr 'N' of 1 must be at least minimum 2\n\t; NodeDef"},
    {"ConcatV2",
     {I},
     1,
     "Value for attr 'N' of 0 must be at least minimum 2\n\t; NodeDef"},
    {"AddN", {C}, 0, "Value for attr 'N' of 0 must be at least minimum 1"},
    {"Stitch", {I, C, C}, 3, "NodeDef missing attrs 'N', 'T' from Op<"},
    {"IdentityN", {C}, 0, "Length for attr 'T' of 0 must be at least"},
    {"Identity", {{0, 1}}, 1, "NodeDef missing attr 'T' from Op<n"},
    {"Identity", {{99, 0}}, 1, "Input 0 of node 'n' is node 99 of 3"},
    {"Identity", {{-1, 0}}, 1, "Input 0 of node 'n' is missing"},
    {"Identity", {C}, 0, "NodeDef missing attr 'T' from Op<name=Identi"},
    {"Split", {C}, 1, "NodeDef missing attr 'num_split' from Op<name=S"},
    {"Conv", {C}, 1, "NodeDef missing attr 'padding' from Op<name=Conv"},
    {"AddN", {{0, 7}, {0, 1}}, 2, "NodeDef missing attr 'T'"},
    {"AddN",
     {C, {0, 1}},
     2,
     "Node 'n': Connecting to invalid output 1 of source node c which has "
     "1 outputs."},
    {"AddN",
     {C, {0, TFD_CONTROL}},
     2,
     "Node 'n': Connecting to invalid output -1 of source node c"},
};

static void test_inputs_that_do_not_fit(void **state)
{
    typed("c", "Source", TFD_FLOAT);
    typed("s", "Source", TFD_STRING);
    typed("i64", "Source", TFD_INT64);
    (void)state;
    for (size_t k = 0; k < sizeof(bad_inputs) / sizeof(bad_inputs[0]); k++) {
        struct tfd_status st = TFD_STATUS_INIT;

        expect(try_add("n", bad_inputs[k].op, bad_inputs[k].in,
                       bad_inputs[k].in_count, NULL, 0, NULL, &st),
               TFD_INVALID_ARGUMENT, &st, bad_inputs[k].text);
    }
    assert_int_equal(g->count, 3);
}

static void test_unknown_ops_and_taken_names(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    expect(try_add("x", "Nope", NULL, 0, NULL, 0, NULL, &st), TFD_NOT_FOUND,
           &st, "Op type not registered 'Nope' in binary running on ");
    assert_non_null(strstr(st.text, ". Make sure the Op and Kernel are "
                                    "registered in the binary running in this "
                                    "process."));
    add("x", "NoOp", NULL, 0);
    tfd_status_clear(&st);
    expect(try_add("x", "NoOp", NULL, 0, NULL, 0, NULL, &st),
           TFD_INVALID_ARGUMENT, &st, "Duplicate node name in graph: 'x'");
}

/* AttrValue messages as bytes. */
static const struct {
    const char *op, *name, *value;
    int size;
    const char *text;
} bad_attrs[] = {
    {"Source", "T", "\x18\x01", 2,
     "AttrValue had value with type 'int' when 'type' expected\n\t for "
     "attr 'T'\n\t; NodeDef: {{node n}}; Op<name=Source; signature="},
    {"Source", "T", "", 0,
     "AttrValue missing value with expected type 'type'\n\t for attr 'T'"},
    {"Source", "T", "\x4a\x01T", 3,
     "AttrValue had value with type 'placeholder' when 'type' expected"},
    {"Source", "T", "\x0a\x03\x32\x01\x01", 5,
     "AttrValue had value with type 'list(type)' when 'type' expected"},
    {"Source", "T", "\x30\x65", 2,
     "AttrValue must not have reference type value of float_ref\n\t for "
     "attr 'T'\n\t; NodeDef: {{node n}}; Op<"},
    {"Source", "T", "\x30\x8f\x4e", 3,
     "AttrValue has invalid DataType enum: 9999\n\t for attr 'T'"},
    {"Source", "T", "\x30\x00", 2, "AttrValue has invalid DataType"},
    {"Source", "T", "\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
     "AttrValue has invalid DataType enum: -1"},
    {"Source", "T", "\x30", 1, "Unable to parse AttrValue"},
    {"Source", "T", "\x32\x01\x01", 3, "Unable to parse AttrValue"},
    {"IdentityN", "T", "\x30\x01", 2,
     "AttrValue had value with type 'type' when 'list(type)' expected"},
    {"IdentityN", "T", "\x0a\x03\x32\x01\x18", 5,
     "AttrValue has invalid DataType enum: 24"},
    {"IdentityN", "T", "\x0a\x02\x18\x01", 4,
     "AttrValue had value with type 'list(int)' when 'list(type)'"},
    {"IdentityN", "T", "\x0a\x03\x32\x01\x80", 5, "AttrValue had value"},
    {"Const", "value", "\x42\x03\x08\x8f\x4e", 5,
     "TensorProto has invalid dtype 9999"},
    {"Const", "value",
     "\x42\x0d\x12\x0b\x12\x09\x08\xff\xff\xff\xff\xff"
     "\xff\xff\xff",
     15, "Unable to parse"},
    {"Const", "value", "\x42\x06\x08\x01\x12\x02\x18\x01", 8,
     "TensorProto has shape <unknown>"},
};

static void test_attributes_that_do_not_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_attrs) / sizeof(bad_attrs[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_attr a = {tfd_str_of(bad_attrs[i].name),
                             {bad_attrs[i].value, (size_t)bad_attrs[i].size}};

        expect(try_add("n", bad_attrs[i].op, NULL, 0, &a, 1, NULL, &st),
               TFD_INVALID_ARGUMENT, &st, bad_attrs[i].text);
    }
    assert_int_equal(g->count, 0);
}

static void test_strings_shapes_and_repeats(void **state)
{
    struct tfd_edge c = typed("c", "Source", TFD_FLOAT);
    struct tfd_attr wrong = {TFD_STR("padding"),
                             {"\x12\x03"
                              "FOO",
                              5}};
    struct tfd_attr same = {TFD_STR("padding"), {"\x12\x04SAME", 6}};
    struct tfd_attr shape = {TFD_STR("s"), {"\x3a\x04\x12\x02\x08\x03", 6}};
    struct tfd_attr extra = {TFD_STR("_class"), {"\xff\xff", 2}};
    struct tfd_attr twice[] = {same, shape, same},
                    good[] = {same, extra, shape, extra};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_shape dims;
    struct tfd_node *n;
    struct tfd_str text;

    (void)state;
    expect(try_add("n", "Conv", &c, 1, &wrong, 1, NULL, &st),
           TFD_INVALID_ARGUMENT, &st,
           "Value for attr 'padding' of \"FOO\" is not in the list of allowed "
           "values: \"SAME\", \"VALID\"");
    tfd_status_clear(&st);
    expect(try_add("n", "Conv", &c, 1, twice, 3, NULL, &st),
           TFD_INVALID_ARGUMENT, &st,
           "Node 'n' has the attr 'padding' more than once");
    assert_int_equal(try_add("n", "Conv", &c, 1, good, 4, &n, NULL), TFD_OK);
    assert_int_equal(tfd_node_shape(n, "s", &dims, NULL), TFD_OK);
    assert_true(dims.rank == 1 && dims.dim[0] == 3);
    assert_int_equal(tfd_node_str(n, "padding", &text, NULL), TFD_OK);
    assert_true(tfd_str_is(text, "SAME"));
    assert_true(tfd_node_attr(n, "_class", &text));
    assert_int_equal(text.size, 2);
}

static void test_numbers_of_tensors_are_bounded(void **state)
{
    static const int64_t bad[] = {-1, 100001, INT64_MAX, INT64_MIN};
    struct tfd_edge c = typed("c", "Source", TFD_FLOAT);

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_bytes b;
        struct tfd_attr a;

        tfd_bytes_init(&b, 100);
        tfd_attr_put_int(&b, bad[i]);
        a = attr("num_split", &b);
        assert_int_equal(try_add("n", "Split", &c, 1, &a, 1, NULL, NULL),
                         TFD_INVALID_ARGUMENT);
        a = attr("N", &b);
        assert_int_equal(try_add("n", "AddN", &c, 1, &a, 1, NULL, NULL),
                         TFD_INVALID_ARGUMENT);
        tfd_bytes_deinit(&b);
    }
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
        TEST(test_bad_names_are_refused),
        TEST(test_inputs_that_do_not_fit),
        TEST(test_unknown_ops_and_taken_names),
        TEST(test_attributes_that_do_not_fit),
        TEST(test_strings_shapes_and_repeats),
        TEST(test_numbers_of_tensors_are_bounded),
        TEST(test_endpoints),
        TEST(test_merge_gets_its_back_edge_once),
        TEST(test_order_puts_producers_first),
        TEST(test_cycles_are_found),
        TEST(test_a_chain_of_100000_is_ordered),
        TEST(test_memory_has_an_end),
    };

    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
