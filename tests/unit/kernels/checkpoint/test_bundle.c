/*
 * test_bundle.c - checkpoints of both formats as they are written and merged:
 * the bytes are TensorFlow's (bundle_fixtures.h).
 */
#include "tests/support/bundle_rig.h"

#include "common/base/crc32c.h"
#include "kernels/checkpoint/bundle_merge.h"

/* ---- Writing ------------------------------------------------------------- */

static void assert_file(struct state *s, const char *name, const void *bytes,
                        size_t size)
{
    struct memory_file *f = memory_find(&s->m, tfd_str_of(name));

    assert_non_null(f);
    assert_int_equal(f->data.size, size);
    assert_memory_equal(f->data.data, bytes, size);
}

#define ASSERT_FILE(s, name, bytes) assert_file(s, name, bytes, sizeof(bytes))

static void assert_summed(struct state *s, const char *name, size_t size,
                          uint32_t crc)
{
    struct memory_file *f = memory_find(&s->m, tfd_str_of(name));

    assert_non_null(f);
    assert_int_equal(f->data.size, size);
    assert_int_equal(tfd_crc32c(f->data.data, size), crc);
}

static void test_tensors_are_saved_as_tensorflow_does(void **state)
{
    struct state *s = *state;
    struct tfd_bundle_writer w;
    int32_t five = 5;

    begin(s, &w, "dir/small");
    add(s, &w, "w", "", w_tensor());
    add(s, &w, "s", "", strings_of(s_values, 3));
    add(s, &w, "i", "", tensor_of(TFD_INT32, shape_of(0, 0, 0), &five));
    add(s, &w, "e", "", tensor_of(TFD_INT64, shape_of(2, 0, 2), NULL));
    finish(s, &w);
    ASSERT_FILE(s, "dir/small.index", small_index);
    ASSERT_FILE(s, "dir/small.data-00000-of-00001", small_data);
    assert_int_equal(memory_count(&s->m), 2);
}

static void test_slices_are_saved_as_tensorflow_does(void **state)
{
    struct state *s = *state;
    struct tfd_bundle_writer w;

    begin(s, &w, "part");
    add(s, &w, "p", "4 2 0,2:-", p_rows(0));
    add(s, &w, "p", "4 2 2,2:0,2", p_rows(2));
    finish(s, &w);
    ASSERT_FILE(s, "part.index", sliced_index);
    ASSERT_FILE(s, "part.data-00000-of-00001", sliced_data);
}

/* Its index has two blocks. */
static void test_a_large_index_is_tensorflows(void **state)
{
    struct state *s = *state;
    struct tfd_bundle_writer w;

    begin(s, &w, "big");
    for (int i = 0; i < BIG_COUNT; i++) {
        float value = (float)i;
        char name[80];

        snprintf(name, sizeof(name), "layer_%d/weights_with_a_long_name_%d",
                 i * 7919 % BIG_COUNT, i);
        add(s, &w, name, "", tensor_of(TFD_FLOAT, shape_of(1, 1, 0), &value));
    }
    finish(s, &w);
    assert_summed(s, "big.index", BIG_INDEX_SIZE, BIG_INDEX_CRC);
    assert_summed(s, "big.data-00000-of-00001", BIG_DATA_SIZE, BIG_DATA_CRC);
}

static void test_the_first_format_is_tensorflows(void **state)
{
    struct state *s = *state;
    struct tfd_slices_writer w;
    int32_t i = -5;

    tfd_slices_writer_init(&w);
    add_v1(s, &w, "w", "", w_tensor());
    add_v1(s, &w, "s", "", strings_of(s_values, 3));
    add_v1(s, &w, "i", "", tensor_of(TFD_INT32, shape_of(0, 0, 0), &i));
    add_v1(s, &w, "p", "4 2 0,2:-", p_rows(0));
    add_v1(s, &w, "p", "4 2 2,2:0,2", p_rows(2));
    assert_int_equal(
        tfd_slices_writer_finish(&w, &s->m.access, TFD_STR("v1"), &s->st),
        TFD_OK);
    tfd_slices_writer_deinit(&w);
    ASSERT_FILE(s, "v1", v1_file);
    assert_int_equal(memory_count(&s->m), 1);
}

/* A value of more than two blocks' size gets one of its own. */
static void test_a_large_value_in_the_first_format(void **state)
{
    struct state *s = *state;
    struct tfd_slices_writer w;
    float *b = malloc(150000 * sizeof(*b));
    int32_t seven = 7;
    int8_t a[] = {3, -3};

    assert_non_null(b);
    for (int i = 0; i < 150000; i++)
        b[i] = (float)i;
    tfd_slices_writer_init(&w);
    add_v1(s, &w, "c", "", tensor_of(TFD_INT32, shape_of(1, 1, 0), &seven));
    add_v1(s, &w, "b", "", tensor_of(TFD_FLOAT, shape_of(1, 150000, 0), b));
    add_v1(s, &w, "a", "", tensor_of(TFD_INT8, shape_of(2, 1, 2), a));
    assert_int_equal(
        tfd_slices_writer_finish(&w, &s->m.access, TFD_STR("v1"), &s->st),
        TFD_OK);
    tfd_slices_writer_deinit(&w);
    free(b);
    assert_summed(s, "v1", V1_BIG_SIZE, V1_BIG_CRC);
}

/* ---- Merging ------------------------------------------------------------- */

static void save_parts(struct state *s)
{
    for (int k = 0; k < 2; k++) {
        struct tfd_bundle_writer w;
        char prefix[16], spec[16];
        tfd_bool yes = 1;

        snprintf(prefix, sizeof(prefix), "t/part-%d", k);
        snprintf(spec, sizeof(spec), "4 2 %d,2:-", 2 * k);
        begin(s, &w, prefix);
        add(s, &w, "p", spec, p_rows(2 * k));
        add(s, &w, k ? "b" : "a", "",
            tensor_of(TFD_BOOL, shape_of(0, 0, 0), &yes));
        finish(s, &w);
    }
}

static void test_parts_are_merged_as_tensorflow_does(void **state)
{
    struct state *s = *state;
    const struct tfd_str parts[] = {TFD_STR("t/part-1"), TFD_STR("t/part-0")};
    int32_t p1[] = {5, 6, 7, 8};

    save_parts(s);
    assert_int_equal(
        tfd_bundle_merge(&s->m.access, parts, 2, TFD_STR("m"), false, &s->st),
        TFD_OK);
    ASSERT_FILE(s, "m.index", merged_index);
    assert_int_equal(memory_count(&s->m), 3);
    assert_memory_equal(
        memory_find(&s->m, TFD_STR("m.data-00000-of-00002"))->data.data, p1,
        sizeof(p1));
}

static void test_merging_one_part_in_place_keeps_it(void **state)
{
    struct state *s = *state;
    const struct tfd_str part = TFD_STR("t/part-0");

    save_parts(s);
    assert_int_equal(
        tfd_bundle_merge(&s->m.access, &part, 1, part, false, &s->st), TFD_OK);
    assert_non_null(memory_find(&s->m, TFD_STR("t/part-0.index")));
    assert_int_equal(memory_count(&s->m), 4);
}

static void test_what_cannot_be_merged(void **state)
{
    static const struct {
        const char *parts[2];
        bool allow_missing;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {{"t/part-0", "t/part-0"},
         false,
         TFD_INVALID_ARGUMENT,
         "Duplicate tensor keyed by "},
        {{"t/part-0", "t/none"},
         false,
         TFD_INVALID_ARGUMENT,
         "allow_missing_files was set to false and t/none did not exist."
         "NOT_FOUND: t/none not found"},
        {{"t/no", "t/none"},
         true,
         TFD_INVALID_ARGUMENT,
         "At least one prefix checkpoint file must exist, but none existed."},
        {{"t/part-0", "plain"},
         false,
         TFD_INTERNAL,
         "Duplicate tensor keyed by p; attempting to merge in a non-slice "
         "bundle entry"},
        {{"plain", "t/part-0"},
         false,
         TFD_INVALID_ARGUMENT,
         "Duplicate tensor keyed by p encountered, when merging prefix: "
         "t/part-0"},
        {{"t/part-0", "other"},
         false,
         TFD_INVALID_ARGUMENT,
         "tensor p has another type or shape in prefix other"},
        {{"t/part-0", "junk"}, false, TFD_DATA_LOSS, "file is too short"},
    };
    struct state *s = *state;
    struct tfd_bundle_writer w;

    save_parts(s);
    begin(s, &w, "plain");
    add(s, &w, "p", "", p_rows(0));
    finish(s, &w);
    begin(s, &w, "other");
    add(s, &w, "p", "5 2 2,2:-", p_rows(0));
    finish(s, &w);
    memory_put(&s->m, "junk.index", "junk", 4);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct tfd_str parts[] = {tfd_str_of(cases[i].parts[0]),
                                        tfd_str_of(cases[i].parts[1])};

        tfd_status_clear(&s->st);
        assert_int_equal(tfd_bundle_merge(&s->m.access, parts, 2, TFD_STR("m"),
                                          cases[i].allow_missing, &s->st),
                         cases[i].code);
        assert_non_null(strstr(s->st.text, cases[i].text));
        assert_int_equal(memory_count(&s->m), 9);
    }
}

static void test_missing_parts_may_be_allowed(void **state)
{
    struct state *s = *state;
    const struct tfd_str parts[] = {TFD_STR("t/none"), TFD_STR("t/part-0")};

    save_parts(s);
    assert_int_equal(
        tfd_bundle_merge(&s->m.access, parts, 2, TFD_STR("m"), true, &s->st),
        TFD_OK);
    assert_non_null(memory_find(&s->m, TFD_STR("m.data-00000-of-00001")));
}

/* ---- What cannot be saved ------------------------------------------------ */

static void test_a_name_is_saved_once(void **state)
{
    struct state *s = *state;
    struct tfd_bundle_writer w;
    struct tfd_tensor t = w_tensor();

    begin(s, &w, "x");
    assert_int_equal(tfd_bundle_writer_add(&w, TFD_STR("w"), &t, NULL), TFD_OK);
    assert_int_equal(tfd_bundle_writer_add(&w, TFD_STR("w"), &t, &s->st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(s->st.text, "Adding duplicate key: w");
    tfd_tensor_unref(&t);
    tfd_bundle_writer_deinit(&w);
    assert_int_equal(memory_count(&s->m), 0);
}

/* TensorFlow's process ends at the empty name, which is the header's key, and
 * at slices that do not agree about their tensor. */
static void test_names_and_slices_that_make_no_sense(void **state)
{
    struct state *s = *state;
    struct tfd_bundle_writer w;
    struct tfd_tensor t = p_rows(0);
    struct tfd_tensor_slice first = {2, {0, 0}, {2, 2}};
    struct tfd_shape five = shape_of(2, 5, 2);

    begin(s, &w, "x");
    assert_int_equal(tfd_bundle_writer_add(&w, TFD_STR(""), &t, NULL),
                     TFD_INVALID_ARGUMENT);
    add(s, &w, "p", "4 2 0,2:-", p_rows(0));
    assert_int_equal(
        tfd_bundle_writer_add_slice(&w, TFD_STR("p"), &five, &first, &t, NULL),
        TFD_INVALID_ARGUMENT);
    add(s, &w, "whole", "", p_rows(0));
    assert_int_equal(tfd_bundle_writer_add_slice(&w, TFD_STR("whole"), &five,
                                                 &first, &t, NULL),
                     TFD_INVALID_ARGUMENT);
    tfd_tensor_unref(&t);
    tfd_bundle_writer_deinit(&w);
}

static void test_types_the_first_format_lacks(void **state)
{
    static const struct {
        enum tfd_dtype dtype;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {TFD_BFLOAT16, TFD_UNIMPLEMENTED,
         "Saving data type bfloat16 not yet supported"},
        {TFD_QINT16, TFD_UNIMPLEMENTED,
         "Saving data type qint16 not yet supported"},
        {TFD_UINT64, TFD_INVALID_ARGUMENT,
         "Tensor slice serialization not implemented for dtype 23"},
    };
    struct state *s = *state;

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_tensor t =
            tensor_of(cases[i].dtype, shape_of(0, 0, 0), w_values);
        struct tfd_tensor_slice all = tfd_tensor_slice_all(0);
        struct tfd_slices_writer w;

        tfd_slices_writer_init(&w);
        tfd_status_clear(&s->st);
        assert_int_equal(
            tfd_slices_writer_add(&w, TFD_STR("x"), &t.shape, &all, &t, &s->st),
            cases[i].code);
        assert_string_equal(s->st.text, cases[i].text);
        tfd_slices_writer_deinit(&w);
        tfd_tensor_unref(&t);
    }
}

static void test_the_directory_is_made(void **state)
{
    struct state *s = *state;
    struct tfd_bundle_writer w;

    s->m.missing_dir = "dir";
    begin(s, &w, "dir/x");
    add(s, &w, "w", "", w_tensor());
    finish(s, &w);
    assert_null(s->m.missing_dir);
    assert_int_equal(memory_count(&s->m), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tensors_are_saved_as_tensorflow_does),
        TEST(test_slices_are_saved_as_tensorflow_does),
        TEST(test_a_large_index_is_tensorflows),
        TEST(test_the_first_format_is_tensorflows),
        TEST(test_a_large_value_in_the_first_format),
        TEST(test_parts_are_merged_as_tensorflow_does),
        TEST(test_merging_one_part_in_place_keeps_it),
        TEST(test_what_cannot_be_merged),
        TEST(test_missing_parts_may_be_allowed),
        TEST(test_a_name_is_saved_once),
        TEST(test_names_and_slices_that_make_no_sense),
        TEST(test_types_the_first_format_lacks),
        TEST(test_the_directory_is_made),
    };

    return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
