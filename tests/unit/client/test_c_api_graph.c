/*
 * test_c_api_graph.c - building, asking, importing graphs by the C API.
 */
#define _GNU_SOURCE 1 /* memmem() */

#include "tests/support/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const int64_t two_three[] = {2, 3};

/* ---- Building ------------------------------------------------------------ */

static void test_an_operation_is_what_it_was_said_to_be(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", two_three, 2);
    TF_OperationDescription *d = TF_NewOperation(f->g, "Relu", "a/y");
    TF_Operation *y, *control[1];

    TF_SetDevice(d, "/job:ps/task:1");
    TF_AddInput(d, x);
    TF_AddControlInput(d, x.oper);
    y = TF_FinishOperation(d, f->st);
    expect(f, TF_OK, "");
    assert_string_equal(TF_OperationName(y), "a/y");
    assert_string_equal(TF_OperationOpType(y), "Relu");
    assert_string_equal(TF_OperationDevice(y), "/job:ps/task:1");
    assert_string_equal(TF_OperationDevice(x.oper), "");
    assert_int_equal(TF_OperationNumInputs(y), 1);
    assert_int_equal(TF_OperationNumOutputs(y), 1);
    assert_int_equal(TF_OperationInputType((TF_Input){y, 0}), TF_FLOAT);
    assert_int_equal(TF_OperationOutputType((TF_Output){y, 0}), TF_FLOAT);
    assert_int_equal(TF_OperationOutputType((TF_Output){y, 1}), 0);
    assert_ptr_equal(TF_OperationInput((TF_Input){y, 0}).oper, x.oper);
    assert_null(TF_OperationInput((TF_Input){y, 1}).oper);
    assert_int_equal(TF_OperationNumControlInputs(y), 1);
    assert_int_equal(TF_OperationGetControlInputs(y, control, 1), 1);
    assert_ptr_equal(control[0], x.oper);
    assert_int_equal(TF_OperationNumControlOutputs(x.oper), 1);
    assert_int_equal(TF_OperationOutputNumConsumers(x), 1);
    assert_ptr_equal(TF_GraphOperationByName(f->g, "a/y"), y);
    assert_null(TF_GraphOperationByName(f->g, "y"));
}

static void test_addresses_of_operations_stay(void **state)
{
    struct fixture *f = *state;
    TF_Output first = scalar(f, "c", 1), last = first;
    TF_Operation *op;
    char name[16];
    size_t pos = 0;
    int count = 0;

    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        last = op1(f, "Identity", name, last);
    }
    expect(f, TF_OK, "");
    assert_ptr_equal(TF_GraphOperationByName(f->g, "c"), first.oper);
    while ((op = TF_GraphNextOperation(f->g, &pos)))
        count++;
    assert_int_equal(count, 501);
    assert_string_equal(TF_OperationName(last.oper), "n499");
}

static void test_lists_of_inputs_end_where_the_call_said(void **state)
{
    struct fixture *f = *state;
    TF_Output c[3] = {scalar(f, "a", 1), scalar(f, "b", 2), scalar(f, "c", 3)};
    TF_OperationDescription *d = TF_NewOperation(f->g, "AddN", "sum");
    TF_Operation *sum;
    int64_t n = 0;

    TF_AddInputList(d, c, 3);
    sum = TF_FinishOperation(d, f->st);
    expect(f, TF_OK, "");
    TF_OperationGetAttrInt(sum, "N", &n, f->st);
    assert_int_equal(n, 3);
    assert_int_equal(TF_OperationInputListLength(sum, "inputs", f->st), 3);
    assert_int_equal(TF_OperationOutputListLength(sum, "sum", f->st), 1);
    expect(f, TF_OK, "");
    assert_int_equal(TF_OperationInputListLength(sum, "nothing", f->st), -1);
    expect(f, TF_INVALID_ARGUMENT, "nothing");
}

static TF_Operation *bad_node(struct fixture *f, int which)
{
    static const int64_t dims[] = {2, 3};
    TF_Output x = placeholder(f, which ? "again" : "x", dims, 2);
    TF_OperationDescription *d;

    assert_non_null(x.oper);
    d = TF_NewOperation(f->g, which == 0 ? "NoSuchOp" : "MatMul",
                        which == 1 ? "again" : "y");
    if (which != 2 && which != 3)
        TF_AddInput(d, x);
    if (which == 4)
        TF_AddInput(d, (TF_Output){NULL, 0});
    else if (which == 5)
        TF_AddInput(d, (TF_Output){x.oper, 1});
    else if (which != 3)
        TF_AddInput(d, x);
    if (which == 6)
        TF_SetAttrType(d, "T", TF_STRING);
    if (which == 7)
        TF_SetAttrInt(d, "transpose_a", 1);
    if (which == 8)
        TF_AddInput(d, x);
    return TF_FinishOperation(d, f->st);
}

static void test_bad_operations_say_why(void **state)
{
    static const struct {
        TF_Code code;
        const char *part;
    } cases[] = {
        {TF_INVALID_ARGUMENT, "NoSuchOp"},
        {TF_INVALID_ARGUMENT, "Duplicate node name"},
        {TF_INVALID_ARGUMENT, "1 inputs specified of 2 inputs in Op"},
        {TF_INVALID_ARGUMENT, "y"},
        {TF_INVALID_ARGUMENT, "Attempt to add nullptr Node"},
        {TF_INVALID_ARGUMENT, "Attempt to add output 1 of again"},
        {TF_INVALID_ARGUMENT, "T"},
        {TF_INVALID_ARGUMENT, "transpose_a"},
        {TF_INVALID_ARGUMENT, "y"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t pos = 0;
        int count = 0;

        assert_null(bad_node(f, (int)i));
        expect(f, cases[i].code, cases[i].part);
        /* Only the placeholder stays. */
        while (TF_GraphNextOperation(f->g, &pos))
            count++;
        assert_int_equal(count, 1);
        fixture_teardown(state);
        fixture_setup(state);
    }
}

static void test_an_input_of_another_graph_is_refused(void **state)
{
    struct fixture *f = *state;
    struct fixture other = {TF_NewGraph(), f->st};
    TF_Output x = scalar(&other, "x", 1);

    assert_null(op1(f, "Relu", "y", x).oper);
    expect(f, TF_INVALID_ARGUMENT, "another graph");
    TF_DeleteGraph(other.g);
}

static void test_colocation_is_a_sorted_list(void **state)
{
    struct fixture *f = *state;
    TF_Output a = scalar(f, "a", 1), b = scalar(f, "b", 2);
    TF_OperationDescription *d = TF_NewOperation(f->g, "Relu", "y");
    const char *given = "loc:@b";
    const void *values[] = {given};
    const size_t lengths[] = {6};
    TF_AttrMetadata m;
    TF_Buffer *node = TF_NewBuffer();
    TF_Operation *y;

    TF_AddInput(d, a);
    TF_ColocateWith(d, b.oper);
    TF_SetAttrStringList(d, "_class", values, lengths, 1); /* instead */
    TF_ColocateWith(d, a.oper);
    y = TF_FinishOperation(d, f->st);
    expect(f, TF_OK, "");
    m = TF_OperationGetAttrMetadata(y, "_class", f->st);
    expect(f, TF_OK, "");
    assert_int_equal(m.is_list, 1);
    assert_int_equal(m.list_size, 2);
    assert_int_equal(m.type, TF_ATTR_STRING);
    assert_int_equal(m.total_size, 12);
    TF_OperationToNodeDef(y, node, f->st);
    assert_non_null(memmem(node->data, node->length, "loc:@a", 6));
    TF_DeleteBuffer(node);
}

/* ---- Attributes ---------------------------------------------------------- */

static void test_attributes_and_their_defaults(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", two_three, 2);
    TF_Output y = op2(f, "MatMul", "y", x, op1(f, "Identity", "i", x));
    TF_OperationDescription *d;
    unsigned char transpose = 9;
    int64_t dims[2] = {0, 0}, number = 0;
    TF_DataType type;
    char text[8] = "";

    assert_null(y.oper); /* 3 is not 2 */
    expect(f, TF_INVALID_ARGUMENT, "Dimensions must be equal");
    d = TF_NewOperation(f->g, "MatMul", "y");
    TF_AddInput(d, x);
    TF_AddInput(d, x);
    TF_SetAttrBool(d, "transpose_b", 1);
    y.oper = TF_FinishOperation(d, f->st);
    expect(f, TF_OK, "");
    TF_OperationGetAttrBool(y.oper, "transpose_b", &transpose, f->st);
    assert_int_equal(transpose, 1);
    TF_OperationGetAttrBool(y.oper, "transpose_a", &transpose, f->st);
    assert_int_equal(transpose, 0);
    TF_OperationGetAttrType(y.oper, "T", &type, f->st);
    assert_int_equal(type, TF_FLOAT);
    TF_OperationGetAttrShape(x.oper, "shape", dims, 2, f->st);
    assert_int_equal(dims[0], 2);
    assert_int_equal(dims[1], 3);
    expect(f, TF_OK, "");
    TF_OperationGetAttrInt(y.oper, "T", &number, f->st);
    expect(f, TF_INVALID_ARGUMENT,
           "AttrValue had value with type 'type' when 'int' expected");
    TF_OperationGetAttrString(y.oper, "none", text, 8, f->st);
    expect(f, TF_INVALID_ARGUMENT, "none");
}

static void test_a_constant_can_be_read_back(void **state)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    struct fixture *f = *state;
    TF_Output c = constant(f, "c", values, two_three, 2);
    TF_Tensor *t = NULL;

    TF_OperationGetAttrTensor(c.oper, "value", &t, f->st);
    expect(f, TF_OK, "");
    assert_int_equal(TF_TensorByteSize(t), sizeof(values));
    assert_memory_equal(TF_TensorData(t), values, sizeof(values));
    TF_DeleteTensor(t);
    t = NULL;
    TF_OperationGetAttrTensor(c.oper, "dtype", &t, f->st);
    expect(f, TF_INVALID_ARGUMENT,
           "AttrValue had value with type 'type' when 'tensor' expected");
    assert_null(t);
}

/* ---- Shapes -------------------------------------------------------------- */

static void test_shapes_follow_from_inputs_and_constants(void **state)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    struct fixture *f = *state;
    TF_Output c = constant(f, "c", values, two_three, 2);
    TF_OperationDescription *d = TF_NewOperation(f->g, "Const", "to");
    TF_Tensor *shape = TF_AllocateTensor(TF_INT32, (int64_t[]){2}, 1, 8);
    TF_Output y;
    int64_t dims[2];

    memcpy(TF_TensorData(shape), (int32_t[]){3, -1}, 8);
    TF_SetAttrType(d, "dtype", TF_INT32);
    TF_SetAttrTensor(d, "value", shape, f->st);
    y = op2(f, "Reshape", "y", c, (TF_Output){TF_FinishOperation(d, f->st), 0});
    TF_DeleteTensor(shape);
    expect(f, TF_OK, "");
    assert_int_equal(TF_GraphGetTensorNumDims(f->g, y, f->st), 2);
    TF_GraphGetTensorShape(f->g, y, dims, 2, f->st);
    assert_int_equal(dims[0], 3);
    assert_int_equal(dims[1], 2);
    TF_GraphGetTensorShape(f->g, y, dims, 1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "2");
    assert_int_equal(
        TF_GraphGetTensorNumDims(f->g, (TF_Output){y.oper, 7}, f->st), -1);
    expect(f, TF_INVALID_ARGUMENT,
           "output_port '7' is out of range, node 'y' has 1 outputs");
}

static void test_a_shape_may_be_refined_and_not_contradicted(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, -1);
    const int64_t partial[] = {-1, 3}, other[] = {5, 4};
    int64_t dims[2];

    assert_int_equal(TF_GraphGetTensorNumDims(f->g, x, f->st), -1);
    TF_GraphSetTensorShape(f->g, x, partial, 2, f->st);
    expect(f, TF_OK, "");
    TF_GraphSetTensorShape(f->g, x, two_three, 2, f->st);
    expect(f, TF_OK, "");
    TF_GraphSetTensorShape(f->g, x, other, 2, f->st);
    expect(f, TF_INVALID_ARGUMENT, "");
    TF_GraphGetTensorShape(f->g, x, dims, 2, f->st);
    assert_int_equal(dims[0], 2);
    assert_int_equal(dims[1], 3);
}

/* ---- Messages ------------------------------------------------------------ */

static TF_Buffer *export(struct fixture *f)
{
    TF_Buffer *b = TF_NewBuffer();

    TF_GraphToGraphDef(f->g, b, f->st);
    expect(f, TF_OK, "");
    return b;
}

static void test_import_is_the_reverse_of_export(void **state)
{
    struct fixture *f = *state;
    struct fixture copy = {TF_NewGraph(), f->st};
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    TF_Buffer *first, *second;

    op2(f, "AddV2", "sum", scalar(f, "a", 1), scalar(f, "b", 2));
    first = export(f);
    TF_GraphImportGraphDef(copy.g, first, o, f->st);
    expect(f, TF_OK, "");
    second = export(&copy);
    assert_int_equal(first->length, second->length);
    assert_memory_equal(first->data, second->data, first->length);
    TF_GraphToGraphDef(f->g, first, f->st);
    expect(f, TF_INVALID_ARGUMENT, "non-empty");
    TF_DeleteBuffer(first);
    TF_DeleteBuffer(second);
    TF_DeleteImportGraphDefOptions(o);
    TF_DeleteGraph(copy.g);
}

static void test_import_with_prefix_map_and_results(void **state)
{
    struct fixture *f = *state;
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    TF_Output a = scalar(f, "a", 1), b = scalar(f, "b", 2), returned[2];
    TF_Output sum = op2(f, "AddV2", "sum", a, b);
    TF_Buffer *def = export(f);
    TF_Operation *imported;

    (void)sum;
    TF_ImportGraphDefOptionsSetPrefix(o, "again");
    TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, b);
    TF_ImportGraphDefOptionsAddControlDependency(o, a.oper);
    TF_ImportGraphDefOptionsAddReturnOutput(o, "sum", 0);
    TF_ImportGraphDefOptionsAddReturnOutput(o, "a", 0);
    assert_int_equal(TF_ImportGraphDefOptionsNumReturnOutputs(o), 2);
    TF_GraphImportGraphDefWithReturnOutputs(f->g, def, o, returned, 1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "num_return_outputs");
    TF_GraphImportGraphDefWithReturnOutputs(f->g, def, o, returned, 2, f->st);
    expect(f, TF_OK, "");
    imported = TF_GraphOperationByName(f->g, "again/sum");
    assert_ptr_equal(returned[0].oper, imported);
    assert_ptr_equal(returned[1].oper, b.oper);
    assert_ptr_equal(TF_OperationInput((TF_Input){imported, 0}).oper, b.oper);
    assert_string_equal(
        TF_OperationName(TF_OperationInput((TF_Input){imported, 1}).oper),
        "again/b");
    assert_int_equal(
        TF_OperationNumControlInputs(TF_GraphOperationByName(f->g, "again/b")),
        1);
    TF_DeleteBuffer(def);
    TF_DeleteImportGraphDefOptions(o);
}

static void test_prefixes_of_imports(void **state)
{
    static const char *const bad[] = {"a b", "a:0", "^a", "_a", "/a"};
    struct fixture *f = *state;
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    TF_Buffer *def;
    char text[128];

    scalar(f, "a", 1);
    def = export(f);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        TF_ImportGraphDefOptionsSetPrefix(o, bad[i]);
        TF_GraphImportGraphDef(f->g, def, o, f->st);
        snprintf(text, sizeof(text),
                 "Imported node name prefix '%s/' would lead to invalid node "
                 "names",
                 bad[i]);
        expect(f, TF_INVALID_ARGUMENT, text);
    }
    TF_ImportGraphDefOptionsSetPrefix(o, "p/");
    TF_GraphImportGraphDef(f->g, def, o, f->st);
    expect(f, TF_OK, "");
    assert_non_null(TF_GraphOperationByName(f->g, "p/a"));
    TF_DeleteBuffer(def);
    TF_DeleteImportGraphDefOptions(o);
}

static void test_a_bad_import_leaves_the_graph_alone(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\x0a\x7f", 2},                    /* a node longer than the message */
        {"\x0a\x04\x0a\x02x!", 6},          /* a bad name, no op */
        {"\x0a\x07\x0a\x01q\x12\x02No", 9}, /* an op there is not */
        {"\xff\xff\xff", 3},                /* no message */
        {"\x0a\x0f\x0a\x01q\x12\x04Relu\x1a\x04none", 17}, /* input missing */
    };
    struct fixture *f = *state;
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    TF_Buffer *none = TF_NewBuffer();
    size_t pos = 0;

    scalar(f, "a", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        TF_Buffer *b = TF_NewBufferFromString(cases[i].bytes, cases[i].size);

        TF_GraphImportGraphDef(f->g, b, o, f->st);
        assert_int_not_equal(TF_GetCode(f->st), TF_OK);
        TF_DeleteBuffer(b);
    }
    TF_ImportGraphDefOptionsAddReturnOperation(o, "b");
    assert_int_equal(TF_ImportGraphDefOptionsNumReturnOperations(o), 1);
    assert_null(TF_GraphImportGraphDefWithResults(f->g, none, o, f->st));
    TF_DeleteBuffer(none);
    expect(f, TF_INVALID_ARGUMENT, "'b' not found");
    assert_non_null(TF_GraphNextOperation(f->g, &pos));
    assert_null(TF_GraphNextOperation(f->g, &pos));
    TF_DeleteImportGraphDefOptions(o);
}

static void test_definitions_and_versions(void **state)
{
    struct fixture *f = *state;
    TF_Buffer *all = TF_GetAllOpList(), *one = TF_NewBuffer();
    TF_Buffer *versions = TF_NewBuffer();

    assert_non_null(memmem(all->data, all->length, "MatMul", 6));
    TF_GraphGetOpDef(f->g, "MatMul", one, f->st);
    expect(f, TF_OK, "");
    assert_non_null(memmem(all->data, all->length, one->data, one->length));
    TF_DeleteBuffer(one);
    one = TF_NewBuffer();
    TF_GraphGetOpDef(f->g, "NoSuchOp", one, f->st);
    expect(f, TF_NOT_FOUND, "NoSuchOp");
    TF_GraphVersions(f->g, versions, f->st);
    expect(f, TF_OK, "");
    assert_memory_equal(versions->data, "\x08\xaa\x13\x10\x0c", 5);
    TF_DeleteBuffer(all);
    TF_DeleteBuffer(one);
    TF_DeleteBuffer(versions);
}

/* Whatever is wrong with a node that is built is INVALID_ARGUMENT. */
static void test_codes_of_nodes_that_cannot_be_built(void **state)
{
    struct fixture *f = *state;
    TF_Output x = scalar(f, "x", 1), y = {x.oper, 1};
    TF_OperationDescription *d = TF_NewOperation(f->g, "Nope", "u");

    assert_null(TF_FinishOperation(d, f->st));
    expect(f, TF_INVALID_ARGUMENT, "Op type not registered 'Nope' in binary");
    d = TF_NewOperation(f->g, "Neg", "n");
    TF_AddInput(d, y);
    assert_null(TF_FinishOperation(d, f->st));
    expect(f, TF_INVALID_ARGUMENT,
           "Attempt to add output 1 of x not in range [0, 1) to node with type "
           "Neg. Node: {{node x}}");
    d = TF_NewOperation(f->g, "Placeholder", "p");
    assert_null(TF_FinishOperation(d, f->st));
    expect(f, TF_INVALID_ARGUMENT, "NodeDef missing attr 'dtype' from");
    d = TF_NewOperation(f->g, "Placeholder", "q");
    TF_SetAttrValueProto(d, "dtype", "\xff", 1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "Unparseable AttrValue proto");
    assert_null(TF_FinishOperation(d, f->st));
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_codes_of_nodes_that_cannot_be_built),
        TEST(test_an_operation_is_what_it_was_said_to_be),
        TEST(test_addresses_of_operations_stay),
        TEST(test_lists_of_inputs_end_where_the_call_said),
        TEST(test_bad_operations_say_why),
        TEST(test_an_input_of_another_graph_is_refused),
        TEST(test_colocation_is_a_sorted_list),
        TEST(test_attributes_and_their_defaults),
        TEST(test_a_constant_can_be_read_back),
        TEST(test_shapes_follow_from_inputs_and_constants),
        TEST(test_a_shape_may_be_refined_and_not_contradicted),
        TEST(test_import_is_the_reverse_of_export),
        TEST(test_import_with_prefix_map_and_results),
        TEST(test_prefixes_of_imports),
        TEST(test_a_bad_import_leaves_the_graph_alone),
        TEST(test_definitions_and_versions),
    };

    return cmocka_run_group_tests_name("c_api_graph", tests, NULL, NULL);
}
