/*
 * test_long_shape.c - kernels/layout/long_shape.c: its table is one of ops that
 * are there, and the runtime asks it when it must.  What the rows compute is in
 * tests/conformance/cases/layout/long_shape.py.
 */
#include "kernels/layout/long_view.h"
#include "kernels/core/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_rows_are_sorted_and_of_ops(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    const struct tfd_long_row *rows;
    struct tfd_registry r;
    int count;

    (void)state;
    assert_int_equal(tfd_registry_init(&r, tfd_families, tfd_family_count, &st),
                     TFD_OK);
    rows = tfd_long_rows_all(&count);
    for (int i = 0; i < count; i++) {
        if (strcmp(rows[i].op, "_Copy") && /* the worker's own */
            !tfd_op_find(&r.ops, tfd_str_of(rows[i].op)))
            fail_msg("%s is no op", rows[i].op);
        if (i > 0 && strcmp(rows[i - 1].op, rows[i].op) >= 0)
            fail_msg("%s stands behind %s", rows[i].op, rows[i - 1].op);
    }
    tfd_registry_deinit(&r);
}

static void test_who_may_grow_is_known(void **state)
{
    static const struct {
        const char *op;
        enum tfd_long_growth growth;
    } cases[] = {
        {"Reshape", TFD_GROWS_BY_SIZES_1},
        {"Fill", TFD_GROWS_BY_SIZES_0},
        {"GatherV2", TFD_GROWS_BY_INDICES},
        {"Pack", TFD_GROWS_BY_ONE},
        {"Relu", TFD_GROWS_NEVER},
        {"Conv2D", TFD_GROWS_NEVER},
        {"", TFD_GROWS_NEVER},
        {"Reshap", TFD_GROWS_NEVER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(tfd_long_growth(tfd_str_of(cases[i].op)),
                         cases[i].growth);
}

/* Two inputs of these shapes for an op, the first of which may come as a
 * reference. */
static struct tfd_kctx call_of(const struct tfd_kernel *kernel,
                               struct tfd_tensor *in, int count, bool ref)
{
    static const uint8_t types[2][2] = {{TFD_FLOAT, TFD_FLOAT},
                                        {TFD_FLOAT + TFD_REF, TFD_FLOAT}};
    static const struct tfd_node nodes[2] = {{.in_types = types[0]},
                                             {.in_types = types[1]}};

    return (struct tfd_kctx){
        .kernel = kernel, .node = &nodes[ref], .in = in, .in_count = count};
}

static struct tfd_kctx call(const struct tfd_kernel *kernel,
                            struct tfd_tensor *in, int count)
{
    return call_of(kernel, in, count, false);
}

static void test_short_inputs_go_to_kernels(void **state)
{
    static const struct tfd_kernel kernel = {.op = "GatherV2"};
    struct tfd_tensor in[2] = {{TFD_FLOAT, {8, {1, 1, 1, 1, 1, 1, 1, 1}}, NULL},
                               {TFD_INT32, {1, {4000}}, NULL}};
    struct tfd_kctx k = call(&kernel, in, 2);

    (void)state;
    assert_false(tfd_long_wanted(&k, TFD_GROWS_NEVER));
    assert_false(tfd_long_wanted(&k, TFD_GROWS_BY_INDICES));
    assert_true(tfd_long_wanted(&k, TFD_GROWS_BY_ONE));
    assert_true(tfd_long_wanted(&k, TFD_GROWS_BY_SIZES_1));
    assert_false(tfd_long_wanted(&k, TFD_GROWS_BY_SIZES_0));
    in[1].shape = (struct tfd_shape){2, {2, 2}};
    assert_true(tfd_long_wanted(&k, TFD_GROWS_BY_INDICES));
    assert_false(tfd_long_wanted(&k, TFD_GROWS_BY_SIZES_1));
}

static void test_ops_without_a_row_are_refused(void **state)
{
    static const struct tfd_kernel kernel = {.op = "Conv2D"};
    static const struct tfd_kernel passes = {.op = "Identity"};
    int64_t dim[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct tfd_tensor in[2] = {{TFD_FLOAT, {0, {0}}, NULL},
                               {TFD_FLOAT, {0, {0}}, NULL}};
    struct tfd_kctx k = call(&kernel, in, 2);
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_long_admit(&k, &st), TFD_OK);
    assert_int_equal(tfd_shape_make_any(&in[1].shape, dim, 9, NULL), TFD_OK);
    assert_true(tfd_long_wanted(&k, TFD_GROWS_NEVER));
    assert_int_equal(tfd_long_compute(&k, &st), TFD_UNIMPLEMENTED);
    assert_string_equal(st.text, "Conv2D takes tensors of at most 8 "
                                 "dimensions, but input 1 has 9");
    st = (struct tfd_status)TFD_STATUS_INIT;
    assert_int_equal(tfd_long_admit(&k, &st), TFD_UNIMPLEMENTED);
    assert_int_equal(tfd_long_admit_variable(&k, NULL), TFD_UNIMPLEMENTED);
    k.kernel = &passes;
    assert_int_equal(tfd_long_admit(&k, NULL), TFD_OK);
    assert_int_equal(tfd_long_admit_variable(&k, NULL), TFD_OK);
}

/* Its slot has whatever it had: the variable is looked at instead. */
static void test_the_slot_of_a_reference_is_not_looked_at(void **state)
{
    static const struct tfd_kernel kernel = {.op = "ScatterUpdate"};
    int64_t dim[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct tfd_tensor in[2] = {{TFD_FLOAT, {0, {0}}, NULL},
                               {TFD_FLOAT, {0, {0}}, NULL}};
    struct tfd_kctx k = call_of(&kernel, in, 2, true);

    (void)state;
    assert_int_equal(tfd_shape_make_any(&in[0].shape, dim, 9, NULL), TFD_OK);
    assert_int_equal(tfd_long_admit(&k, NULL), TFD_OK);
    in[1].shape = in[0].shape;
    assert_int_equal(tfd_long_admit(&k, NULL), TFD_UNIMPLEMENTED);
    in[1].shape.rank = 0;
    k = call(&kernel, in, 2);
    assert_int_equal(tfd_long_admit(&k, NULL), TFD_UNIMPLEMENTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_sorted_and_of_ops),
        cmocka_unit_test(test_who_may_grow_is_known),
        cmocka_unit_test(test_short_inputs_go_to_kernels),
        cmocka_unit_test(test_ops_without_a_row_are_refused),
        cmocka_unit_test(test_the_slot_of_a_reference_is_not_looked_at),
    };

    return cmocka_run_group_tests_name("long_shape", tests, NULL, NULL);
}
