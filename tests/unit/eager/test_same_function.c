/*
 * test_same_function.c - daemon/eager/same_function.c: the same but for the
 * order of maps, and what is not the same though it has the same bytes.
 */
#include "daemon/eager/same_function.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define F(field) tensorflow_FunctionDef_##field##_tag
#define N(field) tensorflow_NodeDef_##field##_tag

struct texts {
    const char *in[2];
    const char *keys[2]; /* of attributes, in the order of their writing */
    const char *func;    /* named by both, with attributes of these names */
    const char *inner[2];
    const char *results[2];
};

static const struct texts plain = {
    {"x", "y"}, {"T", "body"}, "f_12", {"a", "bc"}, {"r", "s"}};

static void put_entry(struct tfd_bytes *b, uint32_t tag, const char *key,
                      const char *value)
{
    size_t entry = tfd_pb_begin(b, tag);

    tfd_pb_put_str(b, 1, tfd_str_of(key));
    tfd_pb_put_str(b, 2, tfd_str_of(value));
    tfd_pb_finish(b, entry);
}

static void put_func(struct tfd_bytes *b, const struct texts *t,
                     const char *key, bool list)
{
    size_t entry = tfd_pb_begin(b, N(attr)), value, func, all = 0;

    tfd_pb_put_str(b, 1, tfd_str_of(key));
    value = tfd_pb_begin(b, 2);
    if (list)
        all = tfd_pb_begin(b, tensorflow_AttrValue_list_tag);
    func = tfd_pb_begin(b, list ? tensorflow_AttrValue_ListValue_func_tag
                                : tensorflow_AttrValue_func_tag);
    tfd_pb_put_str(b, tensorflow_NameAttrList_name_tag, tfd_str_of(t->func));
    for (int i = 0; i < 2; i++)
        put_entry(b, tensorflow_NameAttrList_attr_tag, t->inner[i],
                  t->inner[i]);
    tfd_pb_finish(b, func);
    if (list)
        tfd_pb_finish(b, all);
    tfd_pb_finish(b, value);
    tfd_pb_finish(b, entry);
}

static struct tfd_bytes write_function(const struct texts *t)
{
    struct tfd_bytes b;
    size_t node;

    tfd_bytes_init(&b, 4096);
    node = tfd_pb_begin(&b, F(node_def));
    for (int i = 0; i < 2; i++)
        tfd_pb_put_str(&b, N(input), tfd_str_of(t->in[i]));
    for (int i = 0; i < 2; i++)
        put_func(&b, t, t->keys[i], t->keys[i][0] == 'b');
    tfd_pb_finish(&b, node);
    for (int i = 0; i < 2; i++)
        put_entry(&b, F(ret), t->results[i], t->results[i]);
    assert_false(b.failed);
    return b;
}

static bool same(struct texts t)
{
    struct tfd_bytes a = write_function(&plain), b = write_function(&t);
    bool is_same =
        tfd_eager_same_function(tfd_bytes_view(&a), tfd_bytes_view(&b));

    assert_int_equal(a.size, b.size);
    tfd_bytes_deinit(&a);
    tfd_bytes_deinit(&b);
    return is_same;
}

static void test_maps_have_no_order(void **state)
{
    struct texts t = plain;

    (void)state;
    assert_true(same(t));
    t.keys[0] = plain.keys[1];
    t.keys[1] = plain.keys[0];
    assert_true(same(t));
    t.inner[0] = plain.inner[1];
    t.inner[1] = plain.inner[0];
    assert_true(same(t));
    t.results[0] = plain.results[1];
    t.results[1] = plain.results[0];
    assert_true(same(t));
}

static void test_inputs_have_an_order(void **state)
{
    struct texts t = plain;

    (void)state;
    t.in[0] = plain.in[1];
    t.in[1] = plain.in[0];
    assert_false(same(t));
}

static void test_names_are_not_their_letters(void **state)
{
    struct texts t = plain;

    (void)state;
    t.func = "f_21";
    assert_false(same(t));
    t = plain;
    t.keys[1] = "bdoy";
    assert_false(same(t));
    t = plain;
    t.inner[1] = "cb";
    assert_false(same(t));
}

static void test_what_is_no_function(void **state)
{
    (void)state;
    assert_true(tfd_eager_same_function(TFD_STR_EMPTY, TFD_STR_EMPTY));
    assert_false(tfd_eager_same_function(TFD_STR("\x1a\x05"), TFD_STR_EMPTY));
    assert_false(tfd_eager_same_function(TFD_STR("\x1a\x02\x08\x01"),
                                         TFD_STR("\x1a\x02\x08\x02")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_have_no_order),
        cmocka_unit_test(test_inputs_have_an_order),
        cmocka_unit_test(test_names_are_not_their_letters),
        cmocka_unit_test(test_what_is_no_function),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
