/*
 * test_c_api_getters.c - what the getters say of attributes, arguments and
 * outputs that are not there or are of another kind.
 */
#include "tests/support/refusals.h"

#include <cmocka.h>

/* ---- Attributes ---------------------------------------------------------- */

static void get_int(struct fixture *f, TF_Operation *op, const char *name)
{
    int64_t value;

    TF_OperationGetAttrInt(op, name, &value, f->st);
}

static void get_float(struct fixture *f, TF_Operation *op, const char *name)
{
    float value;

    TF_OperationGetAttrFloat(op, name, &value, f->st);
}

static void get_bool(struct fixture *f, TF_Operation *op, const char *name)
{
    unsigned char value;

    TF_OperationGetAttrBool(op, name, &value, f->st);
}

static void get_type(struct fixture *f, TF_Operation *op, const char *name)
{
    TF_DataType value;

    TF_OperationGetAttrType(op, name, &value, f->st);
}

static void get_string(struct fixture *f, TF_Operation *op, const char *name)
{
    char value[8];

    TF_OperationGetAttrString(op, name, value, sizeof(value), f->st);
}

static void get_shape(struct fixture *f, TF_Operation *op, const char *name)
{
    int64_t value[2];

    TF_OperationGetAttrShape(op, name, value, 2, f->st);
}

static void get_tensor(struct fixture *f, TF_Operation *op, const char *name)
{
    TF_Tensor *value;

    TF_OperationGetAttrTensor(op, name, &value, f->st);
}

static void get_ints(struct fixture *f, TF_Operation *op, const char *name)
{
    int64_t value[2];

    TF_OperationGetAttrIntList(op, name, value, 2, f->st);
}

static void get_types(struct fixture *f, TF_Operation *op, const char *name)
{
    TF_DataType value[2];

    TF_OperationGetAttrTypeList(op, name, value, 2, f->st);
}

static void get_metadata(struct fixture *f, TF_Operation *op, const char *name)
{
    TF_OperationGetAttrMetadata(op, name, f->st);
}

static void get_into_a_full_buffer(struct fixture *f, TF_Operation *op,
                                   const char *name)
{
    TF_Buffer *b = TF_NewBufferFromString("full", 4);

    TF_OperationGetAttrValueProto(op, name, b, f->st);
    TF_DeleteBuffer(b);
}

static void get_inputs(struct fixture *f, TF_Operation *op, const char *name)
{
    TF_OperationInputListLength(op, name, f->st);
}

static void get_outputs(struct fixture *f, TF_Operation *op, const char *name)
{
    TF_OperationOutputListLength(op, name, f->st);
}

#define NO_ATTR "No attr named 'zz' in NodeDef:\n\t [[{{node y}}]]"
#define NO_LIST_ATTR "Operation 'y' has no attr named 'zz'."
#define HAS(actual, wanted) \
    "AttrValue had value with type '" actual "' when '" wanted "' expected"

static void test_getters_of_attributes(void **state)
{
    static const struct {
        void (*get)(struct fixture *f, TF_Operation *op, const char *name);
        const char *attr;
        TF_Code code;
        const char *text;
    } cases[] = {
        {get_bool, "transpose_b", TF_OK, NULL},
        {get_type, "T", TF_OK, NULL},
        {get_metadata, "T", TF_OK, NULL},
        {get_inputs, "a", TF_OK, NULL},
        {get_int, "zz", TF_NOT_FOUND, NO_ATTR},
        {get_shape, "zz", TF_NOT_FOUND, NO_ATTR},
        {get_tensor, "zz", TF_NOT_FOUND, NO_ATTR},
        {get_string, "zz", TF_INVALID_ARGUMENT, NO_LIST_ATTR},
        {get_ints, "zz", TF_INVALID_ARGUMENT, NO_LIST_ATTR},
        {get_metadata, "zz", TF_INVALID_ARGUMENT, NO_LIST_ATTR},
        {get_int, "T", TF_INVALID_ARGUMENT, HAS("type", "int")},
        {get_int, "transpose_a", TF_INVALID_ARGUMENT, HAS("bool", "int")},
        {get_float, "T", TF_INVALID_ARGUMENT, HAS("type", "float")},
        {get_bool, "T", TF_INVALID_ARGUMENT, HAS("type", "bool")},
        {get_type, "transpose_a", TF_INVALID_ARGUMENT, HAS("bool", "type")},
        {get_shape, "T", TF_INVALID_ARGUMENT, HAS("type", "shape")},
        {get_tensor, "T", TF_INVALID_ARGUMENT, HAS("type", "tensor")},
        {get_string, "T", TF_INVALID_ARGUMENT, "Attribute 'T' is not a string"},
        {get_ints, "T", TF_INVALID_ARGUMENT, "Value for 'T' is not a list."},
        {get_types, "T", TF_INVALID_ARGUMENT, "Value for 'T' is not a list."},
        {get_into_a_full_buffer, "T", TF_INVALID_ARGUMENT,
         "Passing non-empty TF_Buffer is invalid."},
        {get_inputs, "zz", TF_INVALID_ARGUMENT, "Input arg 'zz' not found"},
        {get_outputs, "zz", TF_INVALID_ARGUMENT, "Output arg 'zz' not found"},
    };
    static const int64_t dims[] = {2, 2};
    struct fixture *f = *state;
    TF_Output m = placeholder(f, "m", dims, 2);
    TF_Operation *y;
    int failed = 0;

    y = op2(f, "MatMul", "y", m, m).oper;
    expect(f, TF_OK, "");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        TF_SetStatus(f->st, TF_OK, "");
        cases[i].get(f, y, cases[i].attr);
        failed += check_refusal(f, cases[i].attr, cases[i].code, cases[i].text);
    }
    assert_int_equal(failed, 0);
}

/* ---- Shapes -------------------------------------------------------------- */

static void set_shape(struct fixture *f, TF_Output x)
{
    const int64_t dims[] = {2, 3};

    TF_GraphSetTensorShape(f->g, x, dims, 2, f->st);
}

static void set_rank(struct fixture *f, TF_Output x)
{
    const int64_t dims[] = {2};

    TF_GraphSetTensorShape(f->g, x, dims, 1, f->st);
}

static void set_other_dim(struct fixture *f, TF_Output x)
{
    const int64_t dims[] = {2, 4};

    TF_GraphSetTensorShape(f->g, x, dims, 2, f->st);
}

static void set_unknown(struct fixture *f, TF_Output x)
{
    TF_GraphSetTensorShape(f->g, x, NULL, -1, f->st);
}

static void get_rank(struct fixture *f, TF_Output x)
{
    TF_GraphGetTensorNumDims(f->g, x, f->st);
}

static void get_one_dim(struct fixture *f, TF_Output x)
{
    int64_t dim;

    TF_GraphGetTensorShape(f->g, x, &dim, 1, f->st);
}

static void test_shapes_of_outputs(void **state)
{
    static const struct {
        const char *row;
        void (*act)(struct fixture *f, TF_Output x);
        int index, is_foreign;
        const char *text;
    } cases[] = {
        {"the same", set_shape, 0, 0, NULL},
        {"less", set_unknown, 0, 0, NULL},
        {"the rank", get_rank, 0, 0, NULL},
        {"another rank", set_rank, 0, 0,
         "Shapes must be equal rank, but are 2 and 1"},
        {"another dimension", set_other_dim, 0, 0,
         "Dimension 1 in both shapes must be equal, but are 3 and 4. Shapes "
         "are [2,3] and [2,4]."},
        {"set of no output", set_shape, 1, 0,
         "output_port '1' is out of range, node 'x' has 1 outputs"},
        {"set elsewhere", set_shape, 0, 1, "Node x was not found in the graph"},
        {"rank elsewhere", get_rank, 0, 1, "Node x was not found in the graph"},
        {"another rank asked for", get_one_dim, 0, 0,
         "Expected rank is 1 but actual rank is 2"},
        /* TensorFlow's library aborts. */
        {"rank of no output", get_rank, -1, 0,
         OURS "output_port '-1' is out of range, node 'x' has 1 outputs"},
    };
    static const int64_t dims[] = {2, 3};
    struct fixture *f = *state, other = {TF_NewGraph(), f->st};
    TF_Output foreign = placeholder(&other, "x", dims, 2);
    TF_Output x = placeholder(f, "x", dims, 2);
    int failed = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        TF_Output of = cases[i].is_foreign ? foreign : x;

        if (is_skipped(cases[i].text))
            continue;
        of.index = cases[i].index;
        TF_SetStatus(f->st, TF_OK, "");
        cases[i].act(f, of);
        failed += check_refusal(f, cases[i].row,
                                cases[i].text ? TF_INVALID_ARGUMENT : TF_OK,
                                cases[i].text);
    }
    assert_int_equal(failed, 0);
    TF_DeleteGraph(other.g);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_getters_of_attributes),
        TEST(test_shapes_of_outputs),
    };

    return cmocka_run_group_tests_name("c_api_getters", tests, NULL, NULL);
}
