/*
 * test_variable_view.c - views of variables: kernels/state/variable_view.c.
 */
#include "kernels/state/variable.h"

#include "common/base/alloc.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tfd_variable *v;

static struct tfd_tensor floats(const struct tfd_shape *shape, float first)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, shape, NULL), TFD_OK);
    for (int64_t i = 0; i < tfd_tensor_elements(&t); i++)
        ((float *)tfd_tensor_data(&t))[i] = first + (float)i;
    return t;
}

static void assign(struct tfd_shape shape, float first)
{
    struct tfd_tensor t = floats(&shape, first);

    tfd_variable_set(v, &t);
}

static int setup(void **state)
{
    struct tfd_variable_spec spec = {.type = &tfd_variable_ref_type,
                                     .name = tfd_str_of("v"),
                                     .dtype = TFD_FLOAT};
    struct tfd_resource *r;

    (void)state;
    if (tfd_variable_make(&spec, &r, NULL) != TFD_OK)
        return -1;
    v = (struct tfd_variable *)r;
    assign((struct tfd_shape){1, {2}}, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tfd_resource_unref(&v->resource);
    tfd_alloc_trim();
    return 0;
}

static struct tfd_variable *view_of(struct tfd_variable *of,
                                    struct tfd_shape shape)
{
    struct tfd_tensor seen = TFD_TENSOR_INIT;
    struct tfd_variable *view;

    assert_int_equal(tfd_variable_read(of, &seen, NULL), TFD_OK);
    seen.shape = shape;
    assert_int_equal(tfd_variable_view(of, &seen, &view, NULL), TFD_OK);
    tfd_tensor_unref(&seen);
    return view;
}

static void expect(struct tfd_variable *view, struct tfd_shape shape,
                   float first)
{
    struct tfd_tensor now = TFD_TENSOR_INIT;

    assert_int_equal(tfd_variable_read(view, &now, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&now.shape, &shape));
    for (int64_t i = 0; i < tfd_tensor_elements(&now); i++)
        assert_true(((float *)tfd_tensor_data(&now))[i] == first + (float)i);
    tfd_tensor_unref(&now);
}

static const struct tfd_shape column = {2, {2, 1}}, row = {2, {1, 2}};

static void test_a_view_sees_assignments_in_its_shape(void **state)
{
    struct tfd_variable *view = view_of(v, column);

    (void)state;
    assign((struct tfd_shape){1, {2}}, 5);
    expect(view, column, 5);
    assign(row, 7); /* as many elements: the same memory */
    expect(view, column, 7);
    tfd_resource_unref(&view->resource);
}

static void test_a_view_keeps_memory_that_was_replaced(void **state)
{
    struct tfd_variable *view = view_of(v, column), *later;

    (void)state;
    assign((struct tfd_shape){1, {3}}, 5);
    later = view_of(view, row);
    assign((struct tfd_shape){1, {2}}, 8);
    expect(view, column, 1);
    expect(later, row, 1);
    tfd_resource_unref(&view->resource);
    tfd_resource_unref(&later->resource);
}

static void test_a_view_of_a_view_is_one_of_the_variable(void **state)
{
    struct tfd_variable *view = view_of(v, column);
    struct tfd_variable *second = view_of(view, row);

    (void)state;
    assert_ptr_equal(second->of, v);
    tfd_resource_unref(&view->resource);
    assign((struct tfd_shape){1, {2}}, 4);
    expect(second, row, 4);
    tfd_resource_unref(&second->resource);
    assert_null(v->views);
}

static void test_a_view_keeps_its_variable(void **state)
{
    struct tfd_variable *view = view_of(v, column);

    tfd_resource_unref(&v->resource);
    expect(view, column, 1);
    tfd_resource_unref(&view->resource);
    assert_int_equal(setup(state), 0);
}

/* The variable got other memory between the read and the view. */
static void test_a_view_of_what_is_gone_shows_what_was_seen(void **state)
{
    struct tfd_tensor seen = TFD_TENSOR_INIT;
    struct tfd_variable *view;

    (void)state;
    assert_int_equal(tfd_variable_read(v, &seen, NULL), TFD_OK);
    assign((struct tfd_shape){1, {3}}, 5);
    assert_int_equal(tfd_variable_view(v, &seen, &view, NULL), TFD_OK);
    tfd_tensor_unref(&seen);
    assert_null(v->views);
    expect(view, (struct tfd_shape){1, {2}}, 1);
    tfd_resource_unref(&view->resource);
}

/* Elements that were shown do not change under who holds them. */
static void test_what_was_read_through_a_view_stays(void **state)
{
    struct tfd_variable *view = view_of(v, column);
    struct tfd_tensor held = TFD_TENSOR_INIT;

    (void)state;
    assert_int_equal(tfd_variable_read(view, &held, NULL), TFD_OK);
    tfd_variables_lock(&v, 1);
    assert_int_equal(tfd_variable_writable(v, NULL), TFD_OK);
    ((float *)tfd_tensor_data(&v->value))[0] = 9;
    tfd_variables_unlock(&v, 1);
    assert_true(*(float *)tfd_tensor_data(&held) == 1);
    tfd_tensor_unref(&held);
    assert_int_equal(tfd_variable_read(view, &held, NULL), TFD_OK);
    assert_true(*(float *)tfd_tensor_data(&held) == 9);
    tfd_tensor_unref(&held);
    tfd_resource_unref(&view->resource);
}

static void test_no_elements_may_become_some(void **state)
{
    const struct tfd_shape none = {2, {0, 4}};
    struct tfd_variable *view;

    (void)state;
    assign((struct tfd_shape){1, {0}}, 0);
    view = view_of(v, none);
    assign((struct tfd_shape){1, {2}}, 3);
    expect(view, none, 0);
    tfd_resource_unref(&view->resource);
}

/* ---- Parts --------------------------------------------------------------- */

/* The elements of `of` from `first` on. */
static struct tfd_variable *part_of(struct tfd_variable *of,
                                    struct tfd_shape shape, int64_t first)
{
    struct tfd_tensor seen = TFD_TENSOR_INIT, part;
    struct tfd_variable *view;

    assert_int_equal(tfd_variable_read(of, &seen, NULL), TFD_OK);
    part = (struct tfd_tensor){TFD_FLOAT, shape, NULL};
    part.buffer = tfd_buffer_slice(seen.buffer, (size_t)first * sizeof(float),
                                   tfd_tensor_size(&part));
    assert_int_equal(tfd_variable_view_part(of, &seen, &part, &view, NULL),
                     TFD_OK);
    tfd_tensor_unref(&seen);
    tfd_tensor_unref(&part);
    return view;
}

static void test_a_part_sees_its_elements(void **state)
{
    const struct tfd_shape two = {1, {2}};
    struct tfd_variable *part, *inner;

    (void)state;
    assign((struct tfd_shape){1, {8}}, 1);
    part = part_of(v, (struct tfd_shape){2, {2, 2}}, 3);
    inner = part_of(part, two, 2);
    expect(part, (struct tfd_shape){2, {2, 2}}, 4);
    expect(inner, two, 6);
    assign((struct tfd_shape){2, {4, 2}}, 10);
    expect(part, (struct tfd_shape){2, {2, 2}}, 13);
    tfd_resource_unref(&part->resource);
    expect(inner, two, 15);
    assert_ptr_equal(inner->of, v);
    tfd_resource_unref(&inner->resource);
}

static void test_a_part_keeps_memory_that_was_replaced(void **state)
{
    const struct tfd_shape two = {1, {2}}, one = {1, {1}};
    struct tfd_variable *part, *inner;

    (void)state;
    assign((struct tfd_shape){1, {4}}, 1);
    part = part_of(v, two, 2);
    assign((struct tfd_shape){1, {9}}, 50);
    expect(part, two, 3);
    inner = part_of(part, one, 1);
    expect(inner, one, 4);
    assign((struct tfd_shape){1, {4}}, 70);
    expect(part, two, 3);
    tfd_resource_unref(&part->resource);
    expect(inner, one, 4);
    tfd_resource_unref(&inner->resource);
}

/* A variable that has a part of something else is not written in place. */
static void test_a_value_that_is_a_part_is_copied_first(void **state)
{
    const struct tfd_shape four = {1, {4}}, two = {1, {2}};
    struct tfd_tensor whole = floats(&four, 1);
    struct tfd_tensor part = {TFD_FLOAT, two, NULL};

    (void)state;
    part.buffer = tfd_buffer_slice(whole.buffer, 8, 8);
    tfd_variable_set(v, &part);
    tfd_variables_lock(&v, 1);
    assert_int_equal(tfd_variable_writable(v, NULL), TFD_OK);
    ((float *)tfd_tensor_data(&v->value))[0] = 9;
    tfd_variables_unlock(&v, 1);
    assert_true(((float *)tfd_tensor_data(&whole))[2] == 3);
    assert_true(((float *)tfd_tensor_data(&v->value))[1] == 4);
    tfd_tensor_unref(&whole);
}

/* ---- Looking ------------------------------------------------------------- */

#define MUCH (1 << 20)

static const float *written(void)
{
    tfd_variables_lock(&v, 1);
    assert_int_equal(tfd_variable_writable(v, NULL), TFD_OK);
    ((float *)tfd_tensor_data(&v->value))[0] = 9;
    tfd_variables_unlock(&v, 1);
    return tfd_tensor_data(&v->value);
}

/* It waits no longer than a copy takes. */
static void test_who_goes_on_looking_keeps_what_it_saw(void **state)
{
    struct tfd_tensor seen = TFD_TENSOR_INIT;
    const float *before;

    (void)state;
    assign((struct tfd_shape){1, {MUCH}}, 1);
    assert_int_equal(tfd_variable_look(v, &seen, NULL), TFD_OK);
    before = tfd_tensor_data(&seen);
    assert_ptr_not_equal(written(), before);
    assert_true(before[0] == 1 && before[MUCH - 1] == MUCH);
    tfd_variable_looked(v, &seen);
    assert_int_equal(v->looking, 0);
    before = tfd_tensor_data(&v->value);
    assert_ptr_equal(written(), before);
}

static void test_looking_at_nothing_fails(void **state)
{
    struct tfd_variable_spec spec = {.type = &tfd_variable_type,
                                     .name = tfd_str_of("empty"),
                                     .dtype = TFD_FLOAT};
    struct tfd_tensor seen = TFD_TENSOR_INIT;
    struct tfd_variable *empty;
    struct tfd_resource *r;

    (void)state;
    assert_int_equal(tfd_variable_make(&spec, &r, NULL), TFD_OK);
    empty = (struct tfd_variable *)r;
    assert_int_equal(tfd_variable_look(empty, &seen, NULL),
                     TFD_FAILED_PRECONDITION);
    tfd_variable_looked(empty, &seen);
    assert_int_equal(empty->looking, 0);
    tfd_resource_unref(r);
}

#define LOOKS 2000

static void *look_often(void *ctx)
{
    struct tfd_tensor seen = TFD_TENSOR_INIT;
    int *changed = ctx;

    for (int i = 0; i < LOOKS; i++) {
        const float *value;

        if (tfd_variable_look(v, &seen, NULL) != TFD_OK)
            return NULL;
        value = tfd_tensor_data(&seen);
        for (int k = 1; k < 64; k++)
            *changed += value[k] != value[0];
        tfd_variable_looked(v, &seen);
    }
    return changed;
}

/* What is looked at does not change meanwhile. */
static void test_looks_and_updates_alternate(void **state)
{
    pthread_t thread;
    void *ended = NULL;
    int changed = 0;

    (void)state;
    assign((struct tfd_shape){1, {MUCH}}, 0);
    memset(tfd_tensor_data(&v->value), 0, MUCH * sizeof(float));
    assert_int_equal(pthread_create(&thread, NULL, look_often, &changed), 0);
    for (int i = 0; i < LOOKS; i++) {
        float *value;

        tfd_variables_lock(&v, 1);
        assert_int_equal(tfd_variable_writable(v, NULL), TFD_OK);
        value = tfd_tensor_data(&v->value);
        for (int k = 0; k < 64; k++)
            value[k] = (float)i;
        tfd_variables_unlock(&v, 1);
    }
    pthread_join(thread, &ended);
    assert_ptr_equal(ended, &changed);
    assert_int_equal(changed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_view_sees_assignments_in_its_shape),
        TEST(test_a_view_keeps_memory_that_was_replaced),
        TEST(test_a_view_of_a_view_is_one_of_the_variable),
        TEST(test_a_view_keeps_its_variable),
        TEST(test_a_view_of_what_is_gone_shows_what_was_seen),
        TEST(test_what_was_read_through_a_view_stays),
        TEST(test_no_elements_may_become_some),
        TEST(test_a_part_sees_its_elements),
        TEST(test_a_part_keeps_memory_that_was_replaced),
        TEST(test_a_value_that_is_a_part_is_copied_first),
        TEST(test_who_goes_on_looking_keeps_what_it_saw),
        TEST(test_looking_at_nothing_fails),
        TEST(test_looks_and_updates_alternate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
