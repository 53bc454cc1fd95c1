/*
 * test_c_api_nodes.c - what TF_FinishOperation() says of nodes that cannot be.
 */
#define _GNU_SOURCE 1 /* strtok_r() */

#include "tests/support/refusals.h"

#include <cmocka.h>

/* ---- A node in a line ---------------------------------------------------- */

/*
 * inputs   words: "x" by TF_AddInput(), "[x z]" by TF_AddInputList(), "x:1" its
 *          second output, "0" none.  Nodes are x and z (float), i (int32),
 *          b (bool), m (float [2,3]), v (float [4])
 * attrs    words: "N=int:3 T=type:1 T=types:1,3 s=shape:2,-5 p=str:FOO
 *          a=bool:1 f=float:1", in this order after the inputs
 */
struct node {
    const char *op, *inputs, *attrs, *name; /* name NULL: "y" */
    const char *text;                       /* NULL: it can be */
    TF_Code code;                           /* 0: INVALID_ARGUMENT */
};

static void add_int(struct fixture *f)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "Const", "i");
    TF_Tensor *t = TF_AllocateTensor(TF_INT32, NULL, 0, 4);

    memset(TF_TensorData(t), 0, 4);
    TF_SetAttrType(d, "dtype", TF_INT32);
    TF_SetAttrTensor(d, "value", t, f->st);
    TF_FinishOperation(d, f->st);
    TF_DeleteTensor(t);
}

static void add_bool(struct fixture *f)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "Placeholder", "b");

    TF_SetAttrType(d, "dtype", TF_BOOL);
    TF_FinishOperation(d, f->st);
}

static void add_known(struct fixture *f)
{
    static const int64_t m[] = {2, 3}, v[] = {4};

    scalar(f, "x", 1);
    scalar(f, "z", 1);
    add_int(f);
    add_bool(f);
    placeholder(f, "m", m, 2);
    placeholder(f, "v", v, 1);
    expect(f, TF_OK, "");
}

static TF_Output find(struct fixture *f, const char *word)
{
    char name[16];
    const char *colon = strchr(word, ':');

    snprintf(name, sizeof(name), "%.*s",
             colon ? (int)(colon - word) : (int)strlen(word), word);
    return (TF_Output){TF_GraphOperationByName(f->g, name),
                       colon ? atoi(colon + 1) : 0};
}

static void add_inputs(struct fixture *f, TF_OperationDescription *d,
                       const char *inputs)
{
    char text[128], *word, *rest = text;
    TF_Output list[8];
    int count = -1; /* no list is open */

    snprintf(text, sizeof(text), "%s", inputs ? inputs : "");
    while ((word = strtok_r(rest, " ", &rest))) {
        size_t size = strlen(word);
        int last = word[size - 1] == ']';

        if (*word == '[') {
            count = 0;
            word++;
        }
        if (last)
            word[strlen(word) - 1] = '\0';
        if (count < 0)
            TF_AddInput(d, find(f, word));
        else if (*word)
            list[count++] = find(f, word);
        if (last) {
            TF_AddInputList(d, list, count);
            count = -1;
        }
    }
}

static int numbers(const char *text, int64_t *out)
{
    int count = 0;

    for (; *text; text += strcspn(text, ","), text += *text == ',')
        out[count++] = strtoll(text, NULL, 10);
    return count;
}

static void set_numbers(TF_OperationDescription *d, const char *name,
                        const char *kind, const char *value)
{
    int64_t list[8] = {0};
    TF_DataType types[8];
    int count = numbers(value, list);

    for (int i = 0; i < count; i++)
        types[i] = (TF_DataType)list[i];
    if (!strcmp(kind, "int"))
        TF_SetAttrInt(d, name, list[0]);
    else if (!strcmp(kind, "ints"))
        TF_SetAttrIntList(d, name, list, count);
    else if (!strcmp(kind, "bool"))
        TF_SetAttrBool(d, name, (unsigned char)list[0]);
    else if (!strcmp(kind, "float"))
        TF_SetAttrFloat(d, name, (float)list[0]);
    else if (!strcmp(kind, "type"))
        TF_SetAttrType(d, name, types[0]);
    else if (!strcmp(kind, "types"))
        TF_SetAttrTypeList(d, name, types, count);
    else if (!strcmp(kind, "shape"))
        TF_SetAttrShape(d, name, list, count);
    else
        fail_msg("no kind '%s'", kind);
}

static void set_attrs(TF_OperationDescription *d, const char *attrs)
{
    char text[128], *word, *rest = text, *kind, *value;

    snprintf(text, sizeof(text), "%s", attrs ? attrs : "");
    while ((word = strtok_r(rest, " ", &rest))) {
        kind = strchr(word, '=');
        value = strchr(kind, ':');
        *kind++ = *value++ = '\0';
        if (!strcmp(kind, "str"))
            TF_SetAttrString(d, word, value, strlen(value));
        else
            set_numbers(d, word, kind, value);
    }
}

static int count_nodes(struct fixture *f)
{
    size_t at = 0;
    int count = 0;

    while (TF_GraphNextOperation(f->g, &at))
        count++;
    return count;
}

static int check_node(struct fixture *f, const struct node *n)
{
    TF_OperationDescription *d;
    TF_Operation *made;
    char row[256];

    if (is_skipped(n->text))
        return 0;
    begin_row(f);
    add_known(f);
    d = TF_NewOperation(f->g, n->op, n->name ? n->name : "y");
    add_inputs(f, d, n->inputs);
    set_attrs(d, n->attrs);
    made = TF_FinishOperation(d, f->st);
    snprintf(row, sizeof(row), "%s(%s) %s", n->op, n->inputs ? n->inputs : "",
             n->attrs ? n->attrs : "");
    assert_int_equal(made == NULL, n->text != NULL);
    assert_int_equal(count_nodes(f), 6 + !n->text);
    return check_refusal(f, row,
                         n->code   ? n->code
                         : n->text ? TF_INVALID_ARGUMENT
                                   : TF_OK,
                         n->text);
}

static void check_nodes(struct fixture *f, const struct node *nodes,
                        size_t count)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++)
        failed += check_node(f, &nodes[i]);
    assert_int_equal(failed, 0);
}

#define CHECK_NODES(nodes) \
    check_nodes(*state, nodes, sizeof(nodes) / sizeof(nodes[0]))

/* "MISTAKE while building NodeDef 'y' using Op<OP>" */
#define USING(op) " while building NodeDef 'y' using Op<" op ">"
#define LINES(count, op) \
    count " errors while building NodeDef 'y' using Op<" op ">:\n"
#define OF(op) "; NodeDef: {{node y}}; Op<" op ">"

/* ---- Inputs -------------------------------------------------------------- */

static void test_numbers_of_inputs(void **state)
{
    static const struct node nodes[] = {
        {.op = "AddV2", .inputs = "x z"},
        {.op = "AddN", .inputs = "[x z]"},
        {.op = "NoOp"},
        {.op = "MatMul",
         .text = "0 inputs specified of 2 inputs in Op" USING("MatMul")},
        {.op = "MatMul",
         .inputs = "m",
         .text = "1 inputs specified of 2 inputs in Op" USING("MatMul")},
        {.op = "MatMul",
         .attrs = "T=type:1",
         .text = "0 inputs specified of 2 inputs in Op" USING("MatMul")},
        {.op = "LogicalNot",
         .text = "0 inputs specified of 1 inputs in Op" USING("LogicalNot")},
        {.op = "Slice",
         .inputs = "x",
         .text = "1 inputs specified of 3 inputs in Op" USING("Slice")},
        {.op = "ConcatV2",
         .inputs = "[x]",
         .text = "1 inputs specified of 2 inputs in Op" USING("ConcatV2")},
        {.op = "AddN",
         .attrs = "N=int:-1 T=type:1",
         .text = "0 inputs specified of 1 inputs in Op" USING("AddN")},
        {.op = "MatMul",
         .inputs = "m m m",
         .text = "More Input() calls than the 2 input_args" USING("MatMul")},
        {.op = "NoOp",
         .inputs = "x",
         .text = "More Input() calls than the 0 input_args" USING("NoOp")},
        {.op = "NoOp",
         .inputs = "x x",
         .text = LINES("2", "NoOp") "More Input() calls than the 0 "
                                    "input_args\nMore Input() calls than the "
                                    "0 input_args"},
        {.op = "ConcatV2",
         .inputs = "[x z] i i",
         .text = "More Input() calls than the 2 input_args" USING("ConcatV2")},
    };

    CHECK_NODES(nodes);
}

static void test_types_of_inputs(void **state)
{
    static const struct node nodes[] = {
        {.op = "Switch", .inputs = "x b"},
        {.op = "IdentityN", .inputs = "[x i b]"},
        {.op = "AddV2",
         .inputs = "x i",
         .text = "Inconsistent values for attr 'T' DT_FLOAT vs. "
                 "DT_INT32" USING("AddV2")},
        {.op = "AddV2",
         .inputs = "i x",
         .text = "Inconsistent values for attr 'T' DT_INT32 vs. "
                 "DT_FLOAT" USING("AddV2")},
        {.op = "Neg",
         .inputs = "x",
         .attrs = "T=type:7",
         .text = "Inconsistent values for attr 'T' DT_FLOAT vs. "
                 "DT_STRING" USING("Neg")},
        {.op = "LogicalNot",
         .inputs = "x",
         .text = "Input 'x' passed float expected bool" USING("LogicalNot")},
        {.op = "LogicalAnd",
         .inputs = "b x",
         .text = "Input 'y' passed float expected bool" USING("LogicalAnd")},
        {.op = "LogicalAnd",
         .inputs = "x x",
         .text = LINES("2", "LogicalAnd") "Input 'x' passed float expected "
                                          "bool\nInput 'y' passed float "
                                          "expected bool"},
        {.op = "Assign",
         .inputs = "x x",
         .text = "Input 'ref' passed float expected ref type" USING("Assign")},
        {.op = "AddN",
         .inputs = "[x i]",
         .text = "Input 'inputs' passed int32 expected float" USING("AddN")},
        {.op = "AddN",
         .inputs = "[x z i b]",
         .text = LINES("2", "AddN") "Input 'inputs' passed int32 expected "
                                    "float\nInput 'inputs' passed bool "
                                    "expected float"},
        {.op = "AddN",
         .inputs = "[x z]",
         .attrs = "N=int:3",
         .text = "Inconsistent values for attr 'N' 2 vs. 3" USING("AddN")},
        {.op = "AddN",
         .inputs = "[x]",
         .attrs = "N=float:1",
         .text = "Inconsistent values for attr 'N' 1 vs. 1" USING("AddN")},
        {.op = "IdentityN",
         .inputs = "[x z]",
         .attrs = "T=types:1,3",
         .text = "Inconsistent values for attr 'T' [DT_FLOAT, DT_FLOAT] vs. "
                 "[DT_FLOAT, DT_INT32]" USING("IdentityN")},
        {.op = "IdentityN",
         .inputs = "[x z]",
         .attrs = "T=types:1",
         .text = "Inconsistent values for attr 'T' [DT_FLOAT, DT_FLOAT] vs. "
                 "[DT_FLOAT]" USING("IdentityN")},
    };

    CHECK_NODES(nodes);
}

static void test_lists_and_single_inputs(void **state)
{
    static const struct node nodes[] = {
        {.op = "IdentityN", .inputs = "[x]"},
        {.op = "AddN",
         .inputs = "x",
         .text =
             "Single tensor passed to 'inputs', expected list" USING("AddN")},
        {.op = "AddN",
         .inputs = "x x",
         .text = LINES("2", "AddN") "Single tensor passed to 'inputs', "
                                    "expected list\nMore Input() calls than "
                                    "the 1 input_args"},
        {.op = "AddN",
         .inputs = "x",
         .attrs = "N=int:1",
         .text =
             "Single tensor passed to 'inputs', expected list" USING("AddN")},
        {.op = "IdentityN",
         .inputs = "x",
         .text = "Single tensor passed to 'input', expected list" USING(
             "IdentityN")},
        {.op = "Neg",
         .inputs = "[x]",
         .text = "List provided to input 'x' when single Tensor "
                 "expected" USING("Neg")},
        {.op = "Neg",
         .inputs = "[]",
         .text = "List provided to input 'x' when single Tensor "
                 "expected" USING("Neg")},
        {.op = "AddV2",
         .inputs = "[x z]",
         .text = LINES("2", "AddV2") "List provided to input 'x' when single "
                                     "Tensor expected\n1 inputs specified of "
                                     "2 inputs in Op"},
        {.op = "ConcatV2",
         .inputs = "i [x z]",
         .text = LINES("2", "ConcatV2") "Single tensor passed to 'values', "
                                        "expected list\nList provided to "
                                        "input 'axis' when single Tensor "
                                        "expected"},
        {.op = "Assert",
         .inputs = "x x",
         .text = LINES("2", "Assert") "Input 'condition' passed float "
                                      "expected bool\nSingle tensor passed to "
                                      "'data', expected list"},
    };

    CHECK_NODES(nodes);
}

static void test_outputs_that_there_are_not(void **state)
{
    static const struct node nodes[] = {
        {.op = "Neg",
         .inputs = "x:1",
         .text = "Attempt to add output 1 of x not in range [0, 1) to node "
                 "with type Neg. Node: {{node x}}"},
        {.op = "Neg",
         .inputs = "x:-1",
         .text = "Attempt to add output -1 of x not in range [0, 1) to node "
                 "with type Neg. Node: {{node x}}"},
        {.op = "Neg",
         .inputs = "0",
         .text = "Attempt to add nullptr Node to node with type Neg"},
        {.op = "AddN",
         .inputs = "[x z:2]",
         .text = "Attempt to add output 2 of z not in range [0, 1) to node "
                 "with type AddN. Node: {{node z}}"},
        {.op = "AddN",
         .inputs = "[x 0]",
         .text = "Attempt to add nullptr Node to node with type AddN"},
        {.op = "LogicalAnd", /* before what does not fit */
         .inputs = "x x:3",
         .text = "Attempt to add output 3 of x not in range [0, 1) to node "
                 "with type LogicalAnd. Node: {{node x}}"},
    };

    CHECK_NODES(nodes);
}

/* ---- Attributes ---------------------------------------------------------- */

static void test_values_of_attributes(void **state)
{
    static const struct node nodes[] = {
        {.op = "Placeholder", .attrs = "dtype=type:1 shape=shape:2,-5"},
        {.op = "Neg", .inputs = "x", .attrs = "_mine=int:1"},
        {.op = "Neg", .inputs = "x", .attrs = "T=type:1 T=type:1"},
        {.op = "Placeholder",
         .text = "NodeDef missing attr 'dtype' from Op<Placeholder>; NodeDef: "
                 "{{node y}}"},
        {.op = "Const",
         .text = "NodeDef missing attrs 'dtype', 'value' from Op<Const>; "
                 "NodeDef: {{node y}}"},
        {.op = "VariableV2",
         .text = "NodeDef missing attrs 'dtype', 'shape' from "
                 "Op<VariableV2>; NodeDef: {{node y}}"},
        {.op = "Placeholder",
         .attrs = "dtype=type:0",
         .text = "AttrValue has invalid DataType\n\t for attr 'dtype'\n\t" OF(
             "Placeholder")},
        {.op = "Placeholder",
         .attrs = "dtype=type:999",
         .text = "AttrValue has invalid DataType enum: 999\n\t for attr "
                 "'dtype'\n\t" OF("Placeholder")},
        {.op = "Placeholder",
         .attrs = "dtype=type:101",
         .text = "AttrValue must not have reference type value of float_ref"
                 "\n\t for attr 'dtype'\n\t" OF("Placeholder")},
        {.op = "Placeholder",
         .attrs = "dtype=int:1",
         .text = "AttrValue had value with type 'int' when 'type' "
                 "expected\n\t for attr 'dtype'\n\t" OF("Placeholder")},
        {.op = "Placeholder",
         .attrs = "dtype=types:1",
         .text = "AttrValue had value with type 'list(type)' when 'type' "
                 "expected\n\t for attr 'dtype'\n\t" OF("Placeholder")},
        {.op = "Placeholder",
         .attrs = "dtype=type:1 dtype=type:3",
         .text = "Inconsistent values for attr 'dtype' DT_FLOAT vs. "
                 "DT_INT32" USING("Placeholder")},
        {.op = "MatMul",
         .inputs = "m m",
         .attrs = "transpose_a=int:1",
         .text = "AttrValue had value with type 'int' when 'bool' "
                 "expected\n\t for attr 'transpose_a'\n\t" OF("MatMul")},
        {.op = "MatMul",
         .inputs = "m m",
         .attrs = "transpose_a=bool:1 transpose_a=bool:0",
         .text = "Inconsistent values for attr 'transpose_a' true vs. "
                 "false" USING("MatMul")},
        {.op = "AddN",
         .inputs = "[]",
         .attrs = "T=type:1",
         .text = "Value for attr 'N' of 0 must be at least minimum 1\n\t" OF(
             "AddN")},
        {.op = "Placeholder", /* TensorFlow's library aborts */
         .attrs = "dtype=type:1 shape=shape:9999999999,9999999999",
         .text = OURS "attribute shape: Shape [9999999999,9999999999] would "
                      "have more than 2**63 - 1 elements"},
    };

    CHECK_NODES(nodes);
}

/* ---- Names and shapes ---------------------------------------------------- */

static void test_names_of_ops_and_nodes(void **state)
{
    static const struct node nodes[] = {
        {.op = "NoOp", .name = "a b"},
        {.op = "NoOp", .name = ""},
        {.op = "NoOp",
         .name = "x",
         .text = "Duplicate node name in graph: 'x'"},
        {.op = "NoSuchOp", /* the name is looked at first */
         .name = "x",
         .text = "Duplicate node name in graph: 'x'"},
        {.op = "Neg", .name = "x", .text = "Duplicate node name in graph: 'x'"},
        {.op = "NoSuchOp",
         .inputs = "x",
         .attrs = "a=int:1",
         .text =
             "Op type not registered 'NoSuchOp' in binary running on HOST. "
             "Make sure the Op and Kernel are registered in the binary running "
             "in this process. Note that if you are loading a saved graph "
             "which used ops from tf.contrib (e.g. `tf.contrib.resampler`), "
             "accessing should be done before importing the graph, as contrib "
             "ops are lazily registered when the module is first accessed. "
             "while building NodeDef 'y'"},
    };

    CHECK_NODES(nodes);
}

static void test_shapes_of_inputs(void **state)
{
    static const struct node nodes[] = {
        {.op = "MatMul", .inputs = "m m", .attrs = "transpose_b=bool:1"},
        {.op = "MatMul",
         .inputs = "m m",
         .text = "Dimensions must be equal, but are 3 and 2 for '{{node y}} = "
                 "MatMul[T=DT_FLOAT, grad_a=false, grad_b=false, "
                 "transpose_a=false, transpose_b=false](m, m)' with input "
                 "shapes: [2,3], [2,3]."},
        {.op = "MatMul",
         .inputs = "x x",
         .text = "Shape must be rank 2 but is rank 0 for '{{node y}} = "
                 "MatMul[T=DT_FLOAT, grad_a=false, grad_b=false, "
                 "transpose_a=false, transpose_b=false](x, x)' with input "
                 "shapes: [], []."},
        {.op = "AddV2",
         .inputs = "m v",
         .text = "Dimensions must be equal, but are 3 and 4 for '{{node y}} = "
                 "AddV2[T=DT_FLOAT](m, v)' with input shapes: [2,3], [4]."},
    };

    CHECK_NODES(nodes);
}

/* An own graph is of today's producer. */
static void test_deprecated_ops(void **state)
{
    static const struct node nodes[] = {
        {.op = "BatchMatrixDiag",
         .inputs = "v",
         .text = "Op BatchMatrixDiag is not available in GraphDef version "
                 "2474. It has been removed in version 14. Use MatrixDiag.",
         .code = TF_UNIMPLEMENTED},
        {.op = "PlaceholderV2",
         .attrs = "dtype=type:1 shape=shape:2,5",
         .text = "Op PlaceholderV2 is not available in GraphDef version 2474. "
                 "It has been removed in version 23. Placeholder now behaves "
                 "the same as PlaceholderV2..",
         .code = TF_UNIMPLEMENTED},
        {.op = "BatchMatrixDiag",
         .text =
             "0 inputs specified of 1 inputs in Op" USING("BatchMatrixDiag")},
        {.op = "MatrixDiag", .inputs = "v"},
    };

    CHECK_NODES(nodes);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_numbers_of_inputs),
        TEST(test_types_of_inputs),
        TEST(test_lists_and_single_inputs),
        TEST(test_outputs_that_there_are_not),
        TEST(test_values_of_attributes),
        TEST(test_names_of_ops_and_nodes),
        TEST(test_shapes_of_inputs),
        TEST(test_deprecated_ops),
    };

    return cmocka_run_group_tests_name("c_api_nodes", tests, NULL, NULL);
}
