/*
 * test_kept.c - what containers hold of reference variables:
 * kernels/core/kept.c.
 */
#include "kernels/core/kept.h"

#include "common/base/alloc.h"
#include "kernels/state/variable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tfd_shape two = {1, {2}}, three = {1, {3}}, none = {1, {0}};
static struct tfd_variable *v;
static struct tfd_tensor in;
static struct tfd_kctx k;

static struct tfd_variable *variable(enum tfd_dtype dtype)
{
    struct tfd_variable_spec spec = {.type = &tfd_variable_ref_type,
                                     .name = tfd_str_of("v"),
                                     .dtype = dtype};
    struct tfd_resource *r;

    assert_int_equal(tfd_variable_make(&spec, &r, NULL), TFD_OK);
    return (struct tfd_variable *)r;
}

static void assign(struct tfd_shape shape, float value)
{
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    for (int64_t i = 0; i < tfd_tensor_elements(&t); i++)
        ((float *)tfd_tensor_data(&t))[i] = value;
    tfd_variable_set(v, &t);
}

static int setup(void **state)
{
    (void)state;
    v = variable(TFD_FLOAT);
    assign(two, 1);
    k = (struct tfd_kctx){.in = &in, .in_count = 1, .ref = &v};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tfd_resource_unref(&v->resource);
    tfd_alloc_trim();
    return 0;
}

/* As the executor reads an input and lets go of it. */
static struct tfd_tensor put(void)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_variable_read(v, &in, NULL), TFD_OK);
    assert_int_equal(tfd_kept_put(&k, 0, &t, NULL), TFD_OK);
    tfd_tensor_unref(&in);
    return t;
}

static float first(const struct tfd_tensor *t)
{
    return *(const float *)tfd_tensor_data(t);
}

static void expect_taken(struct tfd_tensor *t, float value)
{
    assert_int_equal(tfd_kept_take(t, NULL), TFD_OK);
    assert_false(tfd_kept_is(t));
    assert_float_equal(first(t), value, 0);
    assert_true(tfd_shape_equal(&t->shape, &two));
    tfd_tensor_unref(t);
}

static void what_is_taken_shows_what_was_assigned(void **state)
{
    struct tfd_tensor t = put();

    (void)state;
    assert_true(tfd_kept_is(&t));
    assign(two, 7);
    assert_float_equal(first(&t), 1, 0); /* who looks at bytes alone */
    expect_taken(&t, 7);
}

static void what_is_looked_at_stays(void **state)
{
    struct tfd_tensor t = put(), now;

    (void)state;
    for (int i = 2; i < 5; i++) {
        assign(two, (float)i);
        assert_int_equal(tfd_kept_look(&t, &now, NULL), TFD_OK);
        expect_taken(&now, (float)i);
    }
    expect_taken(&t, 4);
}

static void other_memory_is_not_seen(void **state)
{
    struct tfd_tensor t = put();

    (void)state;
    assign(two, 5);
    assign(three, 9);
    expect_taken(&t, 5);
}

static void it_outlives_its_variable(void **state)
{
    struct tfd_tensor t = put();

    (void)state;
    assign(two, 3);
    tfd_resource_unref(&v->resource);
    v = variable(TFD_FLOAT);
    expect_taken(&t, 3);
}

static void it_is_let_go_of_unseen(void **state)
{
    struct tfd_tensor t = put(), again = tfd_tensor_ref(&t);

    (void)state;
    tfd_tensor_unref(&t);
    assert_non_null(v->views);
    tfd_tensor_unref(&again);
    assert_null(v->views);
}

static void values_are_kept_as_they_are(void **state)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;

    (void)state;
    k.ref = NULL; /* no reference came */
    assert_int_equal(tfd_variable_read(v, &in, NULL), TFD_OK);
    assert_int_equal(tfd_kept_put(&k, 0, &t, NULL), TFD_OK);
    assert_ptr_equal(t.buffer, in.buffer);
    tfd_tensor_unref(&in);
    assign(two, 7);
    expect_taken(&t, 1);
}

static void nothing_is_kept_of_no_elements(void **state)
{
    struct tfd_tensor t;

    (void)state;
    assign(none, 0);
    t = put();
    assert_false(tfd_kept_is(&t));
    assert_int_equal(tfd_kept_take(&t, NULL), TFD_OK);
    tfd_tensor_unref(&t);
}

static void strings_are_read_safely(void **state)
{
    struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t, now = TFD_TENSOR_INIT;

    (void)state;
    tfd_resource_unref(&v->resource);
    v = variable(TFD_STRING);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tfd_tensor_new(&now, TFD_STRING, &scalar, NULL),
                         TFD_OK);
        assert_int_equal(
            tfd_tstring_set(
                tfd_tensor_data(&now),
                tfd_str_of(i ? "a later and much longer one"
                             : "one that lies in memory of its own"),
                NULL),
            TFD_OK);
        tfd_variable_set(v, &now);
        if (i == 0)
            t = put();
    }
    assert_int_equal(tfd_kept_take(&t, NULL), TFD_OK);
    assert_true(tfd_str_eq(tfd_tstring_view(tfd_tensor_data(&t)),
                           tfd_str_of("a later and much longer one")));
    tfd_tensor_unref(&t);
}

#define ROW(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(what_is_taken_shows_what_was_assigned),
        ROW(what_is_looked_at_stays),
        ROW(other_memory_is_not_seen),
        ROW(it_outlives_its_variable),
        ROW(it_is_let_go_of_unseen),
        ROW(values_are_kept_as_they_are),
        ROW(nothing_is_kept_of_no_elements),
        ROW(strings_are_read_safely),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
