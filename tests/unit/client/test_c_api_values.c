/*
 * test_c_api_values.c - status, buffers, strings and tensors of the C API.
 */
#include <tensorflow/c/c_api.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_a_status_says_the_last_thing_that_was_set(void **state)
{
    TF_Status *s = TF_NewStatus();

    (void)state;
    assert_int_equal(TF_GetCode(s), TF_OK);
    assert_string_equal(TF_Message(s), "");
    TF_SetStatus(s, TF_ABORTED, "gone");
    assert_int_equal(TF_GetCode(s), TF_ABORTED);
    assert_string_equal(TF_Message(s), "gone");
    TF_SetStatus(s, TF_NOT_FOUND, "100 % lost");
    assert_int_equal(TF_GetCode(s), TF_NOT_FOUND);
    assert_string_equal(TF_Message(s), "100 % lost");
    TF_SetStatus(s, TF_OK, "ignored");
    assert_string_equal(TF_Message(s), "");
    TF_DeleteStatus(s);
    TF_DeleteStatus(NULL);
}

static void test_a_buffer_copies_what_it_is_made_from(void **state)
{
    char bytes[] = "abc";
    TF_Buffer *b = TF_NewBufferFromString(bytes, 3), *empty;

    (void)state;
    bytes[0] = 'x';
    assert_int_equal(TF_GetBuffer(b).length, 3);
    assert_memory_equal(TF_GetBuffer(b).data, "abc", 3);
    TF_DeleteBuffer(b);
    empty = TF_NewBuffer();
    assert_null(empty->data);
    TF_DeleteBuffer(empty);
    TF_DeleteBuffer(TF_NewBufferFromString(NULL, 0));
    TF_DeleteBuffer(NULL);
}

static void test_strings_copy_and_view(void **state)
{
    char text[] = "hello, world, this is longer than any inline string";
    TF_TString s;

    (void)state;
    TF_StringInit(&s);
    assert_int_equal(TF_StringGetSize(&s), 0);
    assert_string_equal(TF_StringGetDataPointer(&s), "");
    TF_StringCopy(&s, text, strlen(text));
    assert_int_equal(TF_StringGetSize(&s), strlen(text));
    assert_true(TF_StringGetCapacity(&s) >= strlen(text));
    assert_memory_equal(TF_StringGetDataPointer(&s), text, strlen(text));
    TF_StringAssignView(&s, text, 5);
    assert_ptr_equal(TF_StringGetDataPointer(&s), text);
    assert_int_equal(TF_StringGetSize(&s), 5);
    TF_StringDealloc(&s);
    assert_int_equal(TF_StringGetSize(&s), 0);
}

/* As TensorFlow 2.21's library answers. */
static void test_sizes_of_types(void **state)
{
    static const struct {
        int type;
        size_t size;
    } cases[] = {
        {-1, 0}, {0, 0},   {1, 4},   {2, 8},   {3, 4},   {4, 1},   {5, 2},
        {6, 1},  {7, 0},   {8, 8},   {9, 8},   {10, 1},  {11, 1},  {12, 1},
        {13, 4}, {14, 2},  {15, 2},  {16, 2},  {17, 2},  {18, 16}, {19, 2},
        {20, 0}, {21, 0},  {22, 4},  {23, 8},  {24, 1},  {25, 1},  {33, 1},
        {34, 0}, {100, 0}, {101, 0}, {107, 0}, {110, 0}, {123, 0}, {1000, 0},
    };

    (void)state;
    assert_int_equal(sizeof(TF_TString), 24);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(TF_DataTypeSize((TF_DataType)cases[i].type),
                         cases[i].size);
}

/* ---- Tensors ------------------------------------------------------------- */

struct freed {
    int calls;
    void *data;
    size_t length;
};

static void count_free(void *data, size_t length, void *arg)
{
    struct freed *f = arg;

    f->calls++;
    f->data = data;
    f->length = length;
}

static void test_a_tensor_over_aligned_memory_is_that_memory(void **state)
{
    void *data = aligned_alloc(64, 64);
    const int64_t dims[] = {2, 3};
    struct freed freed = {0};
    TF_Tensor *t;

    (void)state;
    t = TF_NewTensor(TF_FLOAT, dims, 2, data, 24, count_free, &freed);
    assert_ptr_equal(TF_TensorData(t), data);
    assert_int_equal(TF_TensorType(t), TF_FLOAT);
    assert_int_equal(TF_NumDims(t), 2);
    assert_int_equal(TF_Dim(t, 0), 2);
    assert_int_equal(TF_Dim(t, 1), 3);
    assert_int_equal(TF_Dim(t, 2), -1);
    assert_int_equal(TF_Dim(t, -1), -1);
    assert_int_equal(TF_TensorByteSize(t), 24);
    assert_int_equal(TF_TensorElementCount(t), 6);
    assert_int_equal(freed.calls, 0);
    assert_null(TF_TensorMaybeMove(t));
    TF_DeleteTensor(t);
    assert_int_equal(freed.calls, 1);
    assert_ptr_equal(freed.data, data);
    assert_int_equal(freed.length, 24);
    free(data);
}

static void test_unaligned_memory_is_copied_and_given_back(void **state)
{
    char *data = aligned_alloc(64, 64);
    const int64_t dims[] = {2};
    struct freed freed = {0};
    TF_Tensor *t;

    (void)state;
    memset(data, 7, 64);
    t = TF_NewTensor(TF_FLOAT, dims, 1, data + 4, 8, count_free, &freed);
    assert_int_equal(freed.calls, 1);
    assert_int_equal((uintptr_t)TF_TensorData(t) % 64, 0);
    assert_memory_equal(TF_TensorData(t), data + 4, 8);
    TF_DeleteTensor(t);
    assert_int_equal(freed.calls, 1);
    free(data);
}

static void test_bad_tensors_are_refused_and_nothing_is_freed(void **state)
{
    static const int64_t two[] = {2}, negative[] = {-1}, none[] = {0};
    static const int64_t huge[] = {INT64_MAX, 4};
    static const int64_t many[255] = {1}; /* and zeros */
    static const struct {
        int type;
        const int64_t *dims;
        int rank;
        size_t length;
    } cases[] = {
        {TF_FLOAT, two, 1, 7},     {TF_FLOAT, negative, 1, 8},
        {TF_FLOAT, huge, 2, 64},   {TF_FLOAT, many, 255, 64},
        {TF_FLOAT, NULL, -1, 64},  {TF_FLOAT, NULL, 0, 3},
        {TF_RESOURCE, none, 1, 0}, {TF_VARIANT, two, 1, 64},
        {0, two, 1, 64},           {30, two, 1, 64},
        {TF_INT64, two, 1, 15},    {TF_STRING, two, 1, 47},
    };
    struct freed freed = {0};
    char data[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_null(TF_NewTensor((TF_DataType)cases[i].type, cases[i].dims,
                                 cases[i].rank, data, cases[i].length,
                                 count_free, &freed));
    assert_int_equal(freed.calls, 0);
    assert_null(TF_AllocateTensor(TF_FLOAT, two, 1, 4));
    assert_null(TF_AllocateTensor(TF_FLOAT, negative, 1, 400));
}

static void test_a_tensor_without_elements(void **state)
{
    static const int64_t dims[] = {3, 0};
    struct freed freed = {0};
    TF_Tensor *t;

    (void)state;
    t = TF_NewTensor(TF_INT32, dims, 2, NULL, 0, count_free, &freed);
    assert_non_null(t);
    assert_int_equal(TF_TensorElementCount(t), 0);
    assert_int_equal(TF_TensorByteSize(t), 0);
    TF_DeleteTensor(t);
    assert_int_equal(freed.calls, 1);
}

static void test_strings_of_an_allocated_tensor_are_empty_and_freed(void **s)
{
    static const int64_t dims[] = {2};
    TF_Tensor *t = TF_AllocateTensor(TF_STRING, dims, 1, 48);
    TF_TString *strings = TF_TensorData(t);

    (void)s;
    assert_int_equal(TF_StringGetSize(&strings[1]), 0);
    TF_StringCopy(&strings[0], "text that is freed with the tensor", 34);
    TF_DeleteTensor(t);
}

static void test_a_sole_tensor_moves(void **state)
{
    static const int64_t dims[] = {2};
    TF_Tensor *t = TF_AllocateTensor(TF_INT32, dims, 1, 8);
    void *data = TF_TensorData(t);
    TF_Tensor *moved = TF_TensorMaybeMove(t);

    (void)state;
    assert_non_null(moved);
    assert_ptr_equal(TF_TensorData(moved), data);
    assert_null(TF_TensorData(t));
    TF_DeleteTensor(t);
    TF_DeleteTensor(moved);
    TF_DeleteTensor(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_status_says_the_last_thing_that_was_set),
        cmocka_unit_test(test_a_buffer_copies_what_it_is_made_from),
        cmocka_unit_test(test_strings_copy_and_view),
        cmocka_unit_test(test_sizes_of_types),
        cmocka_unit_test(test_a_tensor_over_aligned_memory_is_that_memory),
        cmocka_unit_test(test_unaligned_memory_is_copied_and_given_back),
        cmocka_unit_test(test_bad_tensors_are_refused_and_nothing_is_freed),
        cmocka_unit_test(test_a_tensor_without_elements),
        cmocka_unit_test(
            test_strings_of_an_allocated_tensor_are_empty_and_freed),
        cmocka_unit_test(test_a_sole_tensor_moves),
    };

    return cmocka_run_group_tests_name("c_api_values", tests, NULL, NULL);
}
