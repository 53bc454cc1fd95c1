/*
 * test_library.c - daemon/eager/library.c and called.c: functions by name, and
 * who calls whom.
 */
#include "daemon/eager/called.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define F(field) tensorflow_FunctionDef_##field##_tag

static struct tfd_eager_library library;

static int teardown(void **state)
{
    (void)state;
    tfd_eager_library_deinit(&library);
    return 0;
}

static void put_call(struct tfd_bytes *b, const char *callee)
{
    size_t node = tfd_pb_begin(b, F(node_def));

    tfd_pb_put_str(b, tensorflow_NodeDef_op_tag, tfd_str_of(callee));
    tfd_pb_finish(b, node);
}

/* A While whose body is the callee, or a Case that has it in a list. */
static void put_attr_call(struct tfd_bytes *b, const char *callee, bool list)
{
    size_t node = tfd_pb_begin(b, F(node_def));
    size_t entry = tfd_pb_begin(b, tensorflow_NodeDef_attr_tag);
    size_t value, func, all = 0;

    tfd_pb_put_str(b, 1, TFD_STR("body"));
    value = tfd_pb_begin(b, 2);
    if (list)
        all = tfd_pb_begin(b, tensorflow_AttrValue_list_tag);
    func = tfd_pb_begin(b, list ? tensorflow_AttrValue_ListValue_func_tag
                                : tensorflow_AttrValue_func_tag);
    tfd_pb_put_str(b, tensorflow_NameAttrList_name_tag, tfd_str_of(callee));
    tfd_pb_finish(b, func);
    if (list)
        tfd_pb_finish(b, all);
    tfd_pb_finish(b, value);
    tfd_pb_finish(b, entry);
    tfd_pb_finish(b, node);
}

enum how { BY_OP, BY_ATTR, BY_LIST, NOBODY };

static enum tfd_code add(const char *name, enum how how, const char *callee,
                         struct tfd_status *st)
{
    struct tfd_bytes b;
    size_t signature;
    enum tfd_code rc;

    tfd_bytes_init(&b, 4096);
    signature = tfd_pb_begin(&b, F(signature));
    tfd_pb_put_str(&b, tensorflow_OpDef_name_tag, tfd_str_of(name));
    tfd_pb_finish(&b, signature);
    if (how == BY_OP)
        put_call(&b, callee);
    else if (how != NOBODY)
        put_attr_call(&b, callee, how == BY_LIST);
    rc = tfd_eager_library_add(&library, tfd_bytes_view(&b), TFD_STR_EMPTY, st);
    tfd_bytes_deinit(&b);
    return rc;
}

static int called_by(const char *name)
{
    struct tfd_pb_reader r;
    struct tfd_pb_field f;
    struct tfd_bytes b;
    int count = 0;

    tfd_bytes_init(&b, 65536);
    assert_int_equal(
        tfd_eager_called(&library,
                         tfd_eager_library_find(&library, tfd_str_of(name)), &b,
                         NULL),
        TFD_OK);
    r = tfd_pb_reader_of(tfd_bytes_view(&b));
    while (tfd_pb_next(&r, &f))
        count += f.tag == tensorflow_FunctionDefLibrary_function_tag;
    assert_false(r.failed);
    tfd_bytes_deinit(&b);
    return count;
}

static void test_callers_come_before_those_they_call(void **state)
{
    (void)state;
    assert_int_equal(add("a", BY_OP, "b", NULL), TFD_OK);
    assert_int_equal(called_by("a"), 0);
    assert_int_equal(add("b", BY_ATTR, "c", NULL), TFD_OK);
    assert_int_equal(add("c", BY_LIST, "d", NULL), TFD_OK);
    assert_int_equal(add("d", NOBODY, "", NULL), TFD_OK);
    assert_int_equal(called_by("a"), 3);
    assert_int_equal(called_by("c"), 1);
    assert_int_equal(called_by("d"), 0);
}

static void test_functions_that_call_each_other(void **state)
{
    (void)state;
    assert_int_equal(add("a", BY_OP, "b", NULL), TFD_OK);
    assert_int_equal(add("b", BY_OP, "a", NULL), TFD_OK);
    assert_int_equal(add("own", BY_ATTR, "own", NULL), TFD_OK);
    assert_int_equal(called_by("a"), 1);
    assert_int_equal(called_by("own"), 0);
}

static void test_the_same_again(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    size_t size;

    (void)state;
    assert_int_equal(add("a", BY_OP, "b", NULL), TFD_OK);
    size = library.size;
    assert_int_equal(add("a", BY_OP, "b", NULL), TFD_OK);
    assert_int_equal(library.size, size);
    assert_int_equal(add("a", BY_OP, "c", &st), TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "Attempting to add a duplicate function "
                                    "with name: a where the previous and "
                                    "current definitions differ."));
    assert_int_equal(library.by_name.count, 1);
}

static void test_removed(void **state)
{
    (void)state;
    assert_int_equal(add("a", NOBODY, "", NULL), TFD_OK);
    tfd_eager_library_remove(&library,
                             tfd_eager_library_find(&library, TFD_STR("a")));
    assert_null(tfd_eager_library_find(&library, TFD_STR("a")));
    assert_int_equal(library.size, 0);
    assert_int_equal(add("a", BY_OP, "b", NULL), TFD_OK);
}

static void test_what_is_no_function(void **state)
{
    static const char *const defs[] = {"", "\x0a", "\x0a\x05xy", "\xff\xff",
                                       "\x0a\x02\x08\x01"};
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        tfd_status_clear(&st);
        assert_int_equal(tfd_eager_library_add(&library, tfd_str_of(defs[i]),
                                               TFD_STR_EMPTY, &st),
                         TFD_INVALID_ARGUMENT);
    }
    assert_int_equal(library.by_name.count, 0);
    assert_int_equal(library.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_callers_come_before_those_they_call,
                                  teardown),
        cmocka_unit_test_teardown(test_functions_that_call_each_other,
                                  teardown),
        cmocka_unit_test_teardown(test_the_same_again, teardown),
        cmocka_unit_test_teardown(test_removed, teardown),
        cmocka_unit_test_teardown(test_what_is_no_function, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
