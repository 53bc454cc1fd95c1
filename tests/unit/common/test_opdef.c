/*
 * test_opdef.c - common/graph/opdef*.c: the notation, right and wrong.
 */
#include "common/base/pbio.h"
#include "common/graph/attr.h"
#include "common/graph/opdef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct tfd_op_set set;

static int setup(void **state)
{
    (void)state;
    tfd_op_set_init(&set);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tfd_op_set_deinit(&set);
    return 0;
}

static const struct tfd_op *add(const struct tfd_opdef *def)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_op_set_add(&set, def, &st) || tfd_op_set_check(&set, &st))
        fail_msg("%s", st.text);
    return tfd_op_find(&set, tfd_str_of(def->name));
}

static const char *summary(const struct tfd_op *op, char *text, size_t size)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, size - 1);
    tfd_op_summary(op, &b);
    assert_false(b.failed);
    memcpy(text, b.data, b.size);
    text[b.size] = '\0';
    tfd_bytes_deinit(&b);
    return text;
}

/* The expected lines are TensorFlow's, types in the order of their numbers. */
static void test_definitions_read_as_tensorflow_prints_them(void **state)
{
    static const struct {
        struct tfd_opdef def;
        const char *text;
    } cases[] = {
        {{.name = "NoOp"}, "Op<name=NoOp; signature= -> >"},
        {{.name = "Identity",
          .inputs = "input: T",
          .outputs = "output: T",
          .attrs = "T: type"},
         "Op<name=Identity; signature=input:T -> output:T; attr=T:type>"},
        {{.name = "Pack",
          .inputs = "values: N * T",
          .outputs = "output: T",
          .attrs = "N: int >= 1; T: type; axis: int = -1"},
         "Op<name=Pack; signature=values:N*T -> output:T; attr=N:int,min=1; "
         "attr=T:type; attr=axis:int,default=-1>"},
        {{.name = "Assign",
          .inputs = "ref: Ref(T), value: T",
          .outputs = "output_ref: Ref(T)",
          .attrs = "T: type; validate_shape: bool = true;"
                   "use_locking: bool = false",
          .flags = TFD_OP_UNINITIALIZED_OK},
         "Op<name=Assign; signature=ref:Ref(T), value:T -> output_ref:Ref(T); "
         "attr=T:type; attr=validate_shape:bool,default=true; "
         "attr=use_locking:bool,default=false; "
         "allows_uninitialized_input=true>"},
        {{.name = "IdentityN",
          .inputs = "input: T",
          .outputs = "output: T",
          .attrs = "T: list(type) >= 1"},
         "Op<name=IdentityN; signature=input: -> output:; "
         "attr=T:list(type),min=1>"},
        {{.name = "Conv2D",
          .inputs = "input: T, filter: T",
          .outputs = "output: T",
          .attrs = "T: {half, bfloat16, float}; strides: list(int);"
                   "padding: {'SAME', \"VALID\"}; pads: list(int) = [];"
                   "dilations: list(int) = [1, 1]; f: float = 1e-3; "
                   "r: list(float) = [0.75, -1, 1.5e2]"},
         "Op<name=Conv2D; signature=input:T, filter:T -> output:T; "
         "attr=T:type,allowed=[DT_FLOAT, DT_BFLOAT16, DT_HALF]; "
         "attr=strides:list(int); "
         "attr=padding:string,allowed=[\"SAME\", \"VALID\"]; "
         "attr=pads:list(int),default=[]; "
         "attr=dilations:list(int),default=[1, 1]; "
         "attr=f:float,default=0.001; "
         "attr=r:list(float),default=[0.75, -1, 150]>"},
        {{.name = "Stateful",
          .outputs = "h: resource",
          .attrs = "container: string = ''; t: type = DT_INT64;"
                   "l: list(type) = [DT_HALF]; s: list(string) = ['a', 'b'];"
                   "v: tensor; g: func",
          .flags = TFD_OP_STATEFUL},
         "Op<name=Stateful; signature= -> h:resource; "
         "attr=container:string,default=\"\"; attr=t:type,default=DT_INT64; "
         "attr=l:list(type),default=[DT_HALF]; "
         "attr=s:list(string),default=[\"a\", \"b\"]; attr=v:tensor; "
         "attr=g:func; is_stateful=true>"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct tfd_op *op = add(&cases[i].def);
        char text[2048];

        assert_int_equal(op->index, (int)i);
        assert_string_equal(summary(op, text, sizeof(text)), cases[i].text);
    }
    assert_int_equal(set.count, 7);
    assert_null(tfd_op_find(&set, TFD_STR("Nope")));
}

static void test_groups_have_tensorflows_types(void **state)
{
    static const struct tfd_opdef def = {
        .name = "Groups",
        .attrs = "n: numbertype; r: realnumbertype; q: quantizedtype; t: type;"
                 "mixed: {realnumbertype, qint8}; l: list({float, half})"};
    const struct tfd_op *op = add(&def);
    uint32_t real = op->attrs[1].types, quantized = op->attrs[2].types;

    (void)state;
    assert_int_equal(__builtin_popcount(real), 12);
    assert_int_equal(__builtin_popcount(quantized), 5);
    assert_int_equal(__builtin_popcount(op->attrs[0].types), 19);
    assert_int_equal(real & quantized, 0);
    assert_true(op->attrs[3].types == TFD_OP_TYPES_ALL);
    assert_true(op->attrs[4].types == (real | 1u << TFD_QINT8));
    assert_true(op->attrs[5].list);
    assert_true(op->attrs[5].types == (1u << TFD_FLOAT | 1u << TFD_HALF));
}

static float default_float(const char *attrs)
{
    struct tfd_opdef def = {.name = "F", .attrs = attrs};
    const struct tfd_op *op;
    struct tfd_pb_field f;
    uint32_t bits;
    float value;

    tfd_op_set_deinit(&set);
    tfd_op_set_init(&set);
    op = add(&def);
    assert_int_equal(tfd_attr_read(op->attrs[0].default_value, &f, NULL), 0);
    bits = (uint32_t)f.number;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void test_floats_are_read_exactly(void **state)
{
    (void)state;
    assert_true(default_float("f: float = 0") == 0);
    assert_true(default_float("f: float = -1") == -1);
    assert_true(default_float("f: float = 0.2") == 0.2f);
    assert_true(default_float("f: float = 1e-08") == 1e-08f);
    assert_true(default_float("f: float = 3.4e38") == 3.4e38f);
    assert_true(default_float("f: float = 0.0001") == 0.0001f);
    assert_true(default_float("f: float = -inf") < -3.4e38f);
}

static void test_checks_and_key(void **state)
{
    static const struct tfd_opdef def = {
        .name = "Checked",
        .inputs = "a: dtype, b: int32, c: dtype",
        .attrs = "dtype: type",
        .checks = "a: rank>=1 nonempty; b: vector 'b is %s'; c: like a; "
                  "a: rank<=3;b: one",
        .key = "dtype"};
    static const struct tfd_check expected[] = {
        {TFD_CHECK_RANK_MIN, 0, 1, {NULL, 0}},
        {TFD_CHECK_NONEMPTY, 0, 0, {NULL, 0}},
        {TFD_CHECK_RANK_MIN, 1, 1, {NULL, 0}},
        {TFD_CHECK_RANK_MAX, 1, 1, {NULL, 0}},
        {TFD_CHECK_LIKE, 2, 0, {NULL, 0}},
        {TFD_CHECK_RANK_MAX, 0, 3, {NULL, 0}},
        {TFD_CHECK_ONE, 1, 0, {NULL, 0}},
    };
    const struct tfd_op *op = add(&def);

    (void)state;
    assert_int_equal(op->key_attr, 0);
    assert_int_equal(op->check_count, 7);
    for (int i = 0; i < op->check_count; i++) {
        const char *words = i == 2 || i == 3 ? "b is %s" : "";

        assert_int_equal(op->checks[i].kind, expected[i].kind);
        assert_int_equal(op->checks[i].arg, expected[i].arg);
        assert_int_equal(op->checks[i].value, expected[i].value);
        assert_true(tfd_str_is(op->checks[i].words, words));
    }
}

static void test_wrong_definitions_are_named(void **state)
{
    static const struct tfd_opdef cases[] = {
        {.name = ""},
        {.name = "X", .inputs = "a"},
        {.name = "X", .inputs = "a: "},
        {.name = "X", .inputs = "a: T"}, /* no such attribute */
        {.name = "X", .inputs = "a: floaty"},
        {.name = "X", .inputs = "a: float b: float"},
        {.name = "X", .inputs = "a: float,"},
        {.name = "X", .inputs = "a: N * float"},
        {.name = "X", .inputs = "a: T * float", .attrs = "T: type"},
        {.name = "X", .inputs = "a: Ref(float"},
        {.name = "X", .inputs = "a: Ref(T)", .attrs = "T: list(type)"},
        {.name = "X", .inputs = "a: n", .attrs = "n: int"},
        {.name = "X", .attrs = "T"},
        {.name = "X", .attrs = "T: "},
        {.name = "X", .attrs = "T: typo"},
        {.name = "X", .attrs = "T: {float"},
        {.name = "X", .attrs = "T: {float, 'a'}"},
        {.name = "X", .attrs = "T: {}"},
        {.name = "X", .attrs = "T: list(int"},
        {.name = "X", .attrs = "T: type; T: type"},
        {.name = "X", .attrs = "T: type U: type"},
        {.name = "X", .attrs = "T: type >= 1"},
        {.name = "X", .attrs = "T: type = float_"},
        {.name = "X", .attrs = "s: string = 'a"},
        {.name = "X", .attrs = "s: string = a"},
        {.name = "X", .attrs = "i: int = x"},
        {.name = "X", .attrs = "i: int >="},
        {.name = "X", .attrs = "b: bool = maybe"},
        {.name = "X", .attrs = "f: float = ."},
        {.name = "X", .attrs = "l: list(int) = [1,]"},
        {.name = "X", .attrs = "l: list(int) = 1"},
        {.name = "X", .attrs = "l: list(shape) = [1]"},
        {.name = "X", .attrs = "s: shape = [1]"},
        {.name = "X", .attrs = "t: tensor = 1"},
        {.name = "X", .attrs = "t: tensor = { dtype: DT_INT8 }"},
        {.name = "X", .attrs = "t: tensor = { dtype: 4 tensor_shape: {} }"},
        {.name = "X",
         .attrs = "t: tensor = { dtype: DT_INT8 tensor_shape: {} int_val: x }"},
        {.name = "X", .inputs = "a: float", .checks = "b: scalar"},
        {.name = "X", .inputs = "a: float", .checks = "a: huge"},
        {.name = "X", .inputs = "a: float", .checks = "a: scalar 'no end"},
        {.name = "X", .inputs = "a: float", .checks = "a: rank"},
        {.name = "X", .inputs = "a: float", .checks = "a: rank=9"},
        {.name = "X", .inputs = "a: float", .checks = "a: like b"},
        {.name = "X", .inputs = "a: float", .checks = "a:"},
        {.name = "X", .key = "T"},
        {.name = "X", .attrs = "T: list(type)", .key = "T"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        enum tfd_code rc = tfd_op_set_add(&set, &cases[i], &st);

        if (rc == TFD_OK) { /* it is parsed when it is looked up */
            rc = tfd_op_set_check(&set, &st);
            assert_null(tfd_op_find(&set, tfd_str_of(cases[i].name)));
        }
        if (rc != TFD_INTERNAL)
            fail_msg("case %zu was taken", i);
        assert_string_not_equal(st.text, "");
        tfd_op_set_deinit(&set);
        tfd_op_set_init(&set);
    }
}

static void test_a_name_is_taken_once(void **state)
{
    static const struct tfd_opdef def = {.name = "Twice"};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    add(&def);
    assert_int_equal(tfd_op_set_add(&set, &def, &st), TFD_INTERNAL);
    assert_string_equal(st.text, "op Twice is defined twice");
}

/* Bytes of the OpDef that TensorFlow 2.21 has for Assign, but for the order in
 * which an encoder may write fields. */
static void test_encoded_definition_has_tensorflows_bytes(void **state)
{
    static const struct tfd_opdef def = {
        .name = "A",
        .inputs = "r: Ref(T), v: N * T",
        .attrs = "N: int >= 1; T: {float}; b: bool = true",
        .flags = TFD_OP_STATEFUL};
    static const char expected[] =
        "\x0a\x01"
        "A"
        "\x12\x09\x0a\x01r\x22\x01T\x80\x01\x01"
        "\x12\x09\x0a\x01v\x22\x01T\x2a\x01N"
        "\x22\x0c\x0a\x01N\x12\x03int\x28\x01\x30\x01"
        "\x22\x10\x0a\x01T\x12\x04type\x3a\x05\x0a\x03\x32\x01\x01"
        "\x22\x0d\x0a\x01"
        "b\x12\x04"
        "bool\x1a\x02\x28\x01"
        "\x88\x01\x01";
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 4096);
    tfd_op_encode(add(&def), &b);
    assert_int_equal(b.size, sizeof(expected) - 1);
    assert_memory_equal(b.data, expected, b.size);
    tfd_bytes_deinit(&b);
}

static void test_tensors_are_defaults(void **state)
{
    static const struct tfd_opdef def = {
        .name = "A",
        .attrs = "t: tensor = { dtype: DT_UINT8 tensor_shape: { dim { size: 2 "
                 "} } int_val: 5 int_val: 6 }"};
    static const char expected[] =
        "\x42\x0c\x08\x04\x12\x04\x12\x02\x08\x02\x38\x05\x38\x06";
    const struct tfd_op_attr *attr =
        tfd_op_attr_find(add(&def), tfd_str_of("t"));

    (void)state;
    assert_true(attr->has_default);
    assert_int_equal(attr->default_value.size, sizeof(expected) - 1);
    assert_memory_equal(attr->default_value.data, expected,
                        sizeof(expected) - 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_definitions_read_as_tensorflow_prints_them),
        TEST(test_groups_have_tensorflows_types),
        TEST(test_floats_are_read_exactly),
        TEST(test_checks_and_key),
        TEST(test_wrong_definitions_are_named),
        TEST(test_a_name_is_taken_once),
        TEST(test_encoded_definition_has_tensorflows_bytes),
        TEST(test_tensors_are_defaults),
    };

    return cmocka_run_group_tests_name("opdef", tests, NULL, NULL);
}
