/*
 * test_scope.c - TFD_Op(): operations whose attributes are lists of ints.
 */
#include "tests/support/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static TF_Output image(struct fixture *f, TFD_Scope *s)
{
    const int32_t shape[] = {1, 4, 4, 1};
    TF_Output in[2] = {TFD_ConstInts(s, NULL, shape, 4, f->st),
                       TFD_ConstFloat(s, NULL, 7, f->st)};

    return TFD_Op(s, "Fill", NULL, in, 2, NULL, 0, f->st);
}

/* Maxima of an image of 4 x 4, by these lists. */
static TF_Output maxima(struct fixture *f, TFD_Scope *s, const char *name,
                        const int64_t *size, int sizes, const int64_t *strides,
                        int count)
{
    const TFD_Attr attrs[] = {TFD_AttrInts("ksize", size, sizes),
                              TFD_AttrInts("strides", strides, count),
                              TFD_AttrString("padding", "VALID")};
    TF_Output x = image(f, s);

    return TFD_Op(s, "MaxPool", name, &x, 1, attrs, 3, f->st);
}

static void test_lists_of_ints_reach_the_operation(void **state)
{
    const int64_t size[] = {1, 2, 2, 1}, strides[] = {1, 2, 1, 1};
    struct fixture *f = *state;
    TFD_Scope *s = TFD_NewScope(f->g);
    TFD_Scope *inner = TFD_SubScope(s, "inner", f->st);
    TF_Output y = maxima(f, inner, "pool", size, 4, strides, 4);
    int64_t found[4], dims[4];

    assert_int_equal(TF_GetCode(f->st), TF_OK);
    assert_string_equal(TF_OperationName(y.oper), "inner/pool");
    TF_OperationGetAttrIntList(y.oper, "strides", found, 4, f->st);
    assert_memory_equal(found, strides, sizeof(strides));
    TF_GraphGetTensorShape(f->g, y, dims, 4, f->st);
    assert_int_equal(TF_GetCode(f->st), TF_OK);
    assert_int_equal(dims[1], 2);
    assert_int_equal(dims[2], 3);
    TFD_DeleteScope(s);
}

static void test_lists_of_another_length_are_refused(void **state)
{
    const int64_t four[] = {1, 2, 2, 1};
    struct fixture *f = *state;
    TFD_Scope *s = TFD_NewScope(f->g);

    maxima(f, s, NULL, four, 3, four, 4);
    assert_int_equal(TF_GetCode(f->st), TF_INVALID_ARGUMENT);
    assert_non_null(strstr(TF_Message(f->st), "ksize"));
    TF_SetStatus(f->st, TF_OK, "");
    maxima(f, s, NULL, four, 4, four, 0);
    assert_int_equal(TF_GetCode(f->st), TF_INVALID_ARGUMENT);
    TFD_DeleteScope(s);
}

static void test_a_list_in_place_of_a_string_is_refused(void **state)
{
    const int64_t four[] = {1, 2, 2, 1};
    const TFD_Attr attrs[] = {TFD_AttrInts("ksize", four, 4),
                              TFD_AttrInts("strides", four, 4),
                              TFD_AttrInts("padding", four, 4)};
    struct fixture *f = *state;
    TFD_Scope *s = TFD_NewScope(f->g);
    TF_Output x = image(f, s);

    x = TFD_Op(s, "MaxPool", NULL, &x, 1, attrs, 3, f->st);
    assert_null(x.oper);
    assert_int_equal(TF_GetCode(f->st), TF_INVALID_ARGUMENT);
    assert_non_null(strstr(TF_Message(f->st), "padding"));
    TFD_DeleteScope(s);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lists_of_ints_reach_the_operation),
        TEST(test_lists_of_another_length_are_refused),
        TEST(test_a_list_in_place_of_a_string_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
