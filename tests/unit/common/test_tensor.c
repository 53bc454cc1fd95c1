/*
 * test_tensor.c - common/base/dtype.c and common/base/tensor.c: types,
 * references, and what happens to the elements of a tensor that goes.
 */
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/base/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static size_t in_use(void)
{
    struct tfd_alloc_stats stats;

    tfd_alloc_stats(&stats);
    return stats.in_use;
}

static struct tfd_tensor make(enum tfd_dtype dtype, int64_t n)
{
    struct tfd_shape shape = {1, {n}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    return t;
}

/* ---- Types --------------------------------------------------------------- */

static void test_every_type_has_a_size_and_names(void **state)
{
    int count = 0;

    (void)state;
    for (int t = 0; t < TFD_DTYPE_END; t++) {
        if (!tfd_dtype_valid(t))
            continue;
        count++;
        assert_true(tfd_dtype_size((enum tfd_dtype)t) > 0);
        assert_memory_equal(tfd_dtype_enum_name(t), "DT_", 3);
        assert_string_not_equal(tfd_dtype_name(t), "invalid");
        assert_true(tfd_dtype_is_ref(t + TFD_REF));
        assert_false(tfd_dtype_is_ref(t));
        assert_false(tfd_dtype_valid(t + TFD_REF));
        assert_int_equal(tfd_dtype_base(t + TFD_REF), t);
        assert_int_equal(tfd_dtype_base(t), t);
    }
    assert_int_equal(count, 23);
}

static void test_names_are_tensorflows(void **state)
{
    (void)state;
    assert_string_equal(tfd_dtype_name(TFD_FLOAT), "float");
    assert_string_equal(tfd_dtype_name(TFD_HALF), "half");
    assert_string_equal(tfd_dtype_name(TFD_INT64 + TFD_REF), "int64_ref");
    assert_string_equal(tfd_dtype_enum_name(TFD_BFLOAT16), "DT_BFLOAT16");
    assert_string_equal(tfd_dtype_enum_name(TFD_STRING + TFD_REF),
                        "DT_STRING_REF");
}

static void test_numbers_that_are_no_type(void **state)
{
    static const int numbers[] = {0,   -1,  24,        25,       99,
                                  100, 124, INT32_MAX, INT32_MIN};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_false(tfd_dtype_valid(numbers[i]));
        assert_false(tfd_dtype_is_ref(numbers[i]));
        assert_string_equal(tfd_dtype_name(numbers[i]), "invalid");
        assert_string_equal(tfd_dtype_enum_name(numbers[i]), "DT_INVALID");
        assert_int_equal(tfd_dtype_base(numbers[i]), TFD_DTYPE_INVALID);
    }
    assert_int_equal(tfd_dtype_size(TFD_DTYPE_INVALID), 0);
    assert_false(tfd_dtype_is_pod(TFD_DTYPE_INVALID));
}

static void test_types_that_own_something_are_not_plain(void **state)
{
    (void)state;
    assert_true(tfd_dtype_is_pod(TFD_BOOL));
    assert_true(tfd_dtype_is_pod(TFD_QINT32));
    assert_false(tfd_dtype_is_pod(TFD_STRING));
    assert_false(tfd_dtype_is_pod(TFD_RESOURCE));
    assert_false(tfd_dtype_is_pod(TFD_VARIANT));
}

/* ---- Tensors ------------------------------------------------------------- */

static void test_a_tensor_has_memory_for_its_elements(void **state)
{
    struct tfd_tensor t = make(TFD_DOUBLE, 5);

    (void)state;
    assert_int_equal(tfd_tensor_elements(&t), 5);
    assert_int_equal(tfd_tensor_size(&t), 40);
    assert_int_equal(t.buffer->size, 40);
    memset(tfd_tensor_data(&t), 1, 40);
    tfd_tensor_unref(&t);
    assert_null(t.buffer);
    assert_int_equal(t.dtype, TFD_DTYPE_INVALID);
    tfd_tensor_unref(&t);
    assert_int_equal(in_use(), 0);
}

static void test_no_elements_no_buffer(void **state)
{
    struct tfd_tensor t = make(TFD_STRING, 0), copy = tfd_tensor_ref(&t);

    (void)state;
    assert_null(t.buffer);
    assert_null(tfd_tensor_data(&t));
    assert_int_equal(tfd_tensor_size(&t), 0);
    tfd_tensor_unref(&t);
    tfd_tensor_unref(&copy);
}

static void test_references_keep_the_buffer(void **state)
{
    struct tfd_tensor a = make(TFD_INT32, 4), b;

    (void)state;
    assert_true(tfd_buffer_sole(a.buffer));
    b = tfd_tensor_ref(&a);
    assert_ptr_equal(a.buffer, b.buffer);
    assert_false(tfd_buffer_sole(a.buffer));
    tfd_tensor_unref(&a);
    assert_true(tfd_buffer_sole(b.buffer));
    memset(tfd_tensor_data(&b), 0, tfd_tensor_size(&b));
    tfd_tensor_unref(&b);
    assert_null(tfd_buffer_ref(NULL));
    tfd_buffer_unref(NULL);
    assert_int_equal(in_use(), 0);
}

static void test_tensors_that_cannot_be(void **state)
{
    struct tfd_shape two = {1, {2}}, huge = {1, {INT64_MAX}};
    struct tfd_shape large = {2, {(int64_t)1 << 40, 3}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_tensor_new(&t, TFD_DTYPE_INVALID, &two, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(
        tfd_tensor_new(&t, (enum tfd_dtype)(TFD_FLOAT + TFD_REF), &two, NULL),
        TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_tensor_new(&t, TFD_DOUBLE, &huge, NULL),
                     TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(tfd_tensor_new(&t, TFD_INT8, &huge, NULL),
                     TFD_RESOURCE_EXHAUSTED);

    tfd_alloc_limit(1000);
    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &large, &st),
                     TFD_RESOURCE_EXHAUSTED);
    tfd_alloc_limit(0);
    assert_string_equal(st.text, "OOM when allocating tensor with "
                                 "shape[1099511627776,3] and type float");
    assert_null(t.buffer);
    assert_int_equal(in_use(), 0);
}

/* The leak checker of the address sanitizer sees what is not freed. */
static void test_strings_begin_empty_and_go_with_the_tensor(void **state)
{
    struct tfd_tensor t = make(TFD_STRING, 3);
    struct tfd_tstring *s = tfd_tensor_data(&t);

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(tfd_tstring_view(&s[i]).size, 0);
    assert_int_equal(tfd_tstring_set(&s[0], TFD_STR("owned"), NULL), TFD_OK);
    tfd_tstring_borrow(&s[2], TFD_STR("borrowed"));
    assert_true(tfd_str_is(tfd_tstring_view(&s[2]), "borrowed"));
    tfd_tensor_unref(&t);
    assert_int_equal(in_use(), 0);
}

static int released;

static void count_release(void *handle)
{
    released += *(int *)handle;
}

static void test_handles_are_released_once_each(void **state)
{
    struct tfd_tensor t = make(TFD_RESOURCE, 4), copy = tfd_tensor_ref(&t);
    void **handle = tfd_tensor_data(&t);
    int one = 1, ten = 10;

    (void)state;
    tfd_tensor_handle_release(count_release);
    assert_null(handle[3]);
    handle[0] = &one;
    handle[2] = &ten;
    released = 0;
    tfd_tensor_unref(&t);
    assert_int_equal(released, 0);
    tfd_tensor_unref(&copy);
    assert_int_equal(released, 11);
    tfd_tensor_handle_release(NULL);
}

static void test_without_a_hook_handles_are_forgotten(void **state)
{
    struct tfd_tensor t = make(TFD_RESOURCE, 1);
    int one = 1;

    (void)state;
    *(void **)tfd_tensor_data(&t) = &one;
    released = 0;
    tfd_tensor_unref(&t);
    assert_int_equal(released, 0);
    assert_int_equal(in_use(), 0);
}

static void test_a_slice_of_strings_does_not_own_them(void **state)
{
    struct tfd_tensor t = make(TFD_STRING, 2);
    struct tfd_tstring *s = tfd_tensor_data(&t);
    struct tfd_buffer *slice =
        tfd_buffer_slice(t.buffer, sizeof(*s), sizeof(*s));

    (void)state;
    assert_int_equal(tfd_tstring_set(&s[1], TFD_STR("kept"), NULL), TFD_OK);
    tfd_tensor_unref(&t);
    assert_true(tfd_str_is(tfd_tstring_view(slice->data), "kept"));
    tfd_buffer_unref(slice);
    assert_int_equal(in_use(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_has_a_size_and_names),
        cmocka_unit_test(test_names_are_tensorflows),
        cmocka_unit_test(test_numbers_that_are_no_type),
        cmocka_unit_test(test_types_that_own_something_are_not_plain),
        cmocka_unit_test(test_a_tensor_has_memory_for_its_elements),
        cmocka_unit_test(test_no_elements_no_buffer),
        cmocka_unit_test(test_references_keep_the_buffer),
        cmocka_unit_test(test_tensors_that_cannot_be),
        cmocka_unit_test(test_strings_begin_empty_and_go_with_the_tensor),
        cmocka_unit_test(test_handles_are_released_once_each),
        cmocka_unit_test(test_without_a_hook_handles_are_forgotten),
        cmocka_unit_test(test_a_slice_of_strings_does_not_own_them),
    };

    tfd_alloc_cache_limit(0);
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
