/*
 * test_attr.c - common/graph/attr*.c: values written, read back, and refused.
 */
#include "common/graph/attr.h"
#include "common/graph/graph.h"
#include "common/proto/tensor_proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ATTR_MAX 16

static const struct tfd_opdef def = {
    .name = "Op",
    .attrs = "i: int; f: float; b: bool; t: type; s: string; h: shape;"
             "v: tensor; li: list(int); ls: list(string); lt: list(type);"
             "d: int = -5; df: float = 0.5; ds: string = 'x';"
             "dh: shape = { unknown_rank: true }; dl: list(int) = [3, -4]"};

static struct tfd_op_set set;
static struct tfd_bytes values[ATTR_MAX];
static struct tfd_attr attrs[ATTR_MAX];
static struct tfd_node node;

static int setup(void **state)
{
    (void)state;
    tfd_op_set_init(&set);
    assert_int_equal(tfd_op_set_add(&set, &def, NULL), TFD_OK);
    node = (struct tfd_node){.name = TFD_STR("n"), .attrs = attrs};
    node.op = tfd_op_find(&set, TFD_STR("Op"));
    for (int i = 0; i < ATTR_MAX; i++)
        tfd_bytes_init(&values[i], 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < ATTR_MAX; i++)
        tfd_bytes_deinit(&values[i]);
    tfd_op_set_deinit(&set);
    return 0;
}

/* The buffer for the next attribute; done() makes it one. */
static struct tfd_bytes *next(void)
{
    return &values[node.attr_count];
}

static void done(const char *name)
{
    attrs[node.attr_count] = (struct tfd_attr){
        tfd_str_of(name), tfd_bytes_view(&values[node.attr_count])};
    node.attr_count++;
}

static void raw(const char *name, const char *bytes, size_t size)
{
    tfd_bytes_add(next(), bytes, size);
    done(name);
}

/* ---- Round trips --------------------------------------------------------- */

static void test_numbers_read_as_written(void **state)
{
    static const int64_t ints[] = {0, 1, -1, 127, 128, INT64_MAX, INT64_MIN};
    static const float floats[] = {0, -0.0f, 1.5f, -3e38f};

    (void)state;
    for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
        int64_t v = 99;

        node.attr_count = 0;
        tfd_bytes_clear(next());
        tfd_attr_put_int(next(), ints[i]);
        done("i");
        assert_int_equal(tfd_node_int(&node, "i", &v, NULL), TFD_OK);
        assert_true(v == ints[i]);
    }
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++) {
        float v = 99;

        node.attr_count = 0;
        tfd_bytes_clear(next());
        tfd_attr_put_float(next(), floats[i]);
        done("f");
        assert_int_equal(tfd_node_float(&node, "f", &v, NULL), TFD_OK);
        assert_memory_equal(&v, &floats[i], sizeof(v));
    }
}

static void test_other_values_read_as_written(void **state)
{
    struct tfd_shape shape = {3, {2, -1, 0}}, h;
    enum tfd_dtype t;
    struct tfd_str s;
    bool b;

    (void)state;
    tfd_attr_put_bool(next(), true);
    done("b");
    tfd_attr_put_type(next(), TFD_HALF);
    done("t");
    tfd_attr_put_str(next(), (struct tfd_str){"a\0b", 3});
    done("s");
    tfd_attr_put_shape(next(), &shape);
    done("h");
    assert_int_equal(tfd_node_bool(&node, "b", &b, NULL), TFD_OK);
    assert_true(b);
    assert_int_equal(tfd_node_type(&node, "t", &t, NULL), TFD_OK);
    assert_int_equal(t, TFD_HALF);
    assert_int_equal(tfd_node_str(&node, "s", &s, NULL), TFD_OK);
    assert_int_equal(s.size, 3);
    assert_int_equal(tfd_node_shape(&node, "h", &h, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&h, &shape));
}

static void test_lists_read_as_written(void **state)
{
    int64_t ints[] = {1, -2, INT64_MIN}, i[4];
    struct tfd_str strs[] = {TFD_STR(""), TFD_STR("ab")}, s[4];
    int types[] = {TFD_FLOAT, TFD_RESOURCE};
    enum tfd_dtype t[4];
    int count;

    (void)state;
    tfd_attr_put_ints(next(), ints, 3);
    done("li");
    tfd_attr_put_strs(next(), strs, 2);
    done("ls");
    tfd_attr_put_types(next(), types, 2);
    done("lt");
    assert_int_equal(tfd_node_ints(&node, "li", i, 4, &count, NULL), TFD_OK);
    assert_int_equal(count, 3);
    assert_memory_equal(i, ints, sizeof(ints));
    assert_int_equal(tfd_node_strs(&node, "ls", s, 2, &count, NULL), TFD_OK);
    assert_int_equal(count, 2);
    assert_true(!s[0].size && tfd_str_is(s[1], "ab"));
    assert_int_equal(tfd_node_types(&node, "lt", t, 4, &count, NULL), TFD_OK);
    assert_true(count == 2 && t[0] == TFD_FLOAT && t[1] == TFD_RESOURCE);
}

/* Old encoders write one field per element. */
static void test_lists_need_not_be_packed(void **state)
{
    enum tfd_dtype t[4];
    float f[4];
    int count;

    (void)state;
    raw("lt", "\x0a\x04\x30\x01\x30\x09", 6);
    raw("lf", "\x0a\x0b\x25\x00\x00\x80\x3f\x22\x04\x00\x00\x00\x40", 13);
    assert_int_equal(tfd_node_types(&node, "lt", t, 4, &count, NULL), TFD_OK);
    assert_true(count == 2 && t[0] == TFD_FLOAT && t[1] == TFD_INT64);
    assert_int_equal(tfd_node_floats(&node, "lf", f, 4, &count, NULL), TFD_OK);
    assert_true(count == 2 && f[0] == 1 && f[1] == 2);
}

static void test_a_tensor_is_decoded(void **state)
{
    static const float data[] = {1, 2, 3};
    struct tfd_tensor t = TFD_TENSOR_INIT, back = TFD_TENSOR_INIT;
    struct tfd_shape shape = {1, {3}}, read;

    (void)state;
    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    memcpy(tfd_tensor_data(&t), data, sizeof(data));
    tfd_attr_put_tensor(next(), &t);
    done("v");
    assert_int_equal(tfd_node_tensor(&node, "v", &back, NULL), TFD_OK);
    assert_int_equal(back.dtype, TFD_FLOAT);
    assert_memory_equal(tfd_tensor_data(&back), data, sizeof(data));
    assert_int_equal(tfd_node_tensor_shape(&node, "v", &read, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&read, &shape));
    tfd_tensor_unref(&t);
    tfd_tensor_unref(&back);
}

static void test_defaults_stand_in(void **state)
{
    int64_t i, list[2];
    struct tfd_shape h;
    struct tfd_str s;
    int count;
    float f;

    (void)state;
    assert_int_equal(tfd_node_int(&node, "d", &i, NULL), TFD_OK);
    assert_int_equal(tfd_node_float(&node, "df", &f, NULL), TFD_OK);
    assert_int_equal(tfd_node_str(&node, "ds", &s, NULL), TFD_OK);
    assert_int_equal(tfd_node_shape(&node, "dh", &h, NULL), TFD_OK);
    assert_true(i == -5 && f == 0.5f && tfd_str_is(s, "x"));
    assert_int_equal(h.rank, TFD_RANK_UNKNOWN);
    assert_int_equal(tfd_node_ints(&node, "dl", list, 2, &count, NULL), TFD_OK);
    assert_true(count == 2 && list[0] == 3 && list[1] == -4);
    tfd_attr_put_int(next(), 7);
    done("d");
    assert_int_equal(tfd_node_int(&node, "d", &i, NULL), TFD_OK);
    assert_int_equal(i, 7);
}

/* ---- Refusals ------------------------------------------------------------ */

static void test_what_is_not_there_is_refused(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_str value;
    int64_t i;

    (void)state;
    assert_false(tfd_node_attr(&node, "i", &value));
    assert_int_equal(tfd_node_int(&node, "i", &i, &st), TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "No attr named 'i' in NodeDef: {{node n}}");
    assert_int_equal(tfd_node_int(&node, "nope", &i, NULL),
                     TFD_INVALID_ARGUMENT);
}

static void test_another_kind_is_refused(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor v = TFD_TENSOR_INIT;
    struct tfd_shape h;
    enum tfd_dtype t;
    struct tfd_str s;
    int64_t list[2];
    int count;
    float f;
    bool b;

    (void)state;
    tfd_attr_put_int(next(), 1);
    done("i");
    assert_int_equal(tfd_node_float(&node, "i", &f, &st), TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Attr 'i' of node n is not a float");
    assert_int_equal(tfd_node_bool(&node, "i", &b, NULL), TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_node_type(&node, "i", &t, NULL), TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_node_str(&node, "i", &s, NULL), TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_node_shape(&node, "i", &h, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_node_tensor(&node, "i", &v, NULL),
                     TFD_INVALID_ARGUMENT);
    tfd_status_clear(&st);
    assert_int_equal(tfd_node_ints(&node, "i", list, 2, &count, &st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Attr 'i' of node n is not a list(int)");
}

static void test_lists_longer_than_the_room_are_refused(void **state)
{
    int64_t ints[] = {1, 2, 3}, out[2];
    struct tfd_status st = TFD_STATUS_INIT;
    int count;

    (void)state;
    tfd_attr_put_ints(next(), ints, 3);
    done("li");
    assert_int_equal(tfd_node_ints(&node, "li", out, 2, &count, &st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Attr 'li' of node n has 3 elements; at most "
                                 "2 are supported");
}

static void test_damaged_values_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\x18", 1},     /* int, cut */
        {"\x18\xff", 2}, /* in the middle of a number */
        {"\x12\x05"
         "ab",
         4},                             /* a string longer than the message */
        {"\x1d\x01\x00\x00\x00", 5},     /* int with a fixed number */
        {"\x07", 1},                     /* no such wire type */
        {"\x0a\x02\x1a\x05", 4},         /* packed, longer than the list */
        {"\x0a\x03\x1a\x01\x80", 5},     /* packed, cut number */
        {"\x0a\x04\x22\x02\x00\x00", 6}, /* half a float */
        {"\x3a\x02\x12\x05", 4},         /* shape */
        {"\x42\x02\x12\x05", 4},         /* tensor */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_str bytes = {cases[i].bytes, cases[i].size};
        enum tfd_code rc = TFD_OK;

        for (int a = 0; a < node.op->attr_count; a++)
            rc |= tfd_attr_check(&node.op->attrs[a], bytes, NULL) == TFD_OK;
        assert_int_equal(rc, 0);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_numbers_read_as_written),
        TEST(test_other_values_read_as_written),
        TEST(test_lists_read_as_written),
        TEST(test_lists_need_not_be_packed),
        TEST(test_a_tensor_is_decoded),
        TEST(test_defaults_stand_in),
        TEST(test_what_is_not_there_is_refused),
        TEST(test_another_kind_is_refused),
        TEST(test_lists_longer_than_the_room_are_refused),
        TEST(test_damaged_values_are_refused),
    };

    return cmocka_run_group_tests_name("attr", tests, NULL, NULL);
}
