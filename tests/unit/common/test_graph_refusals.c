/*
 * test_graph_refusals.c - common/graph/graph*.c: nodes that are refused.
 *
 * The texts of errors are TensorFlow's own for the same graph, unless a case
 * says otherwise.
 */
#include "common/graph/graph.h"

#include "tests/support/graph_ops.h"

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

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_bad_names_are_refused),
        TEST(test_inputs_that_do_not_fit),
        TEST(test_unknown_ops_and_taken_names),
        TEST(test_attributes_that_do_not_fit),
        TEST(test_strings_shapes_and_repeats),
        TEST(test_numbers_of_tensors_are_bounded),
    };

    return cmocka_run_group_tests_name("graph_refusals", tests, NULL, NULL);
}
