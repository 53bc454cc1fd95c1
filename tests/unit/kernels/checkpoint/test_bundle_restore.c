/*
 * test_bundle_restore.c - checkpoints of both formats that TensorFlow wrote
 * (bundle_fixtures.h) are read back.
 */
#include "tests/support/bundle_rig.h"

#include "kernels/checkpoint/checkpoint_reader.h"

/* ---- Reading ------------------------------------------------------------- */

static void put_fixtures(struct state *s)
{
    memory_put(&s->m, "small.index", small_index, sizeof(small_index));
    memory_put(&s->m, "small.data-00000-of-00001", small_data,
               sizeof(small_data));
    memory_put(&s->m, "part.index", sliced_index, sizeof(sliced_index));
    memory_put(&s->m, "part.data-00000-of-00001", sliced_data,
               sizeof(sliced_data));
    memory_put(&s->m, "v1", v1_file, sizeof(v1_file));
}

static enum tfd_code restore(struct state *s, const char *prefix,
                             const char *name, const char *spec,
                             enum tfd_dtype dtype, struct tfd_tensor *out)
{
    struct tfd_checkpoint_reader r;
    enum tfd_code rc;

    tfd_status_clear(&s->st);
    rc = tfd_checkpoint_reader_open(&r, &s->m.access, tfd_str_of(prefix),
                                    &s->st);
    if (rc != TFD_OK)
        return rc;
    rc = tfd_checkpoint_reader_restore(&r, tfd_str_of(name), tfd_str_of(spec),
                                       dtype, out, &s->st);
    tfd_checkpoint_reader_close(&r);
    return rc;
}

static void assert_restores(struct state *s, const char *prefix,
                            const char *name, const char *spec,
                            enum tfd_dtype dtype, struct tfd_shape shape,
                            const void *values)
{
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(restore(s, prefix, name, spec, dtype, &t), TFD_OK);
    assert_int_equal(t.dtype, dtype);
    assert_true(tfd_shape_equal(&t.shape, &shape));
    if (tfd_tensor_size(&t) > 0)
        assert_memory_equal(tfd_tensor_data(&t), values, tfd_tensor_size(&t));
    tfd_tensor_unref(&t);
}

static void test_what_tensorflow_saved_is_restored(void **state)
{
    struct state *s = *state;
    const int32_t five = 5, minus_five = -5;

    put_fixtures(s);
    assert_restores(s, "small", "w", "", TFD_FLOAT, shape_of(2, 2, 3),
                    w_values);
    assert_restores(s, "small", "i", "", TFD_INT32, shape_of(0, 0, 0), &five);
    assert_restores(s, "small", "e", "", TFD_INT64, shape_of(2, 0, 2), NULL);
    assert_restores(s, "v1", "w", "", TFD_FLOAT, shape_of(2, 2, 3), w_values);
    assert_restores(s, "v1", "i", "", TFD_INT32, shape_of(0, 0, 0),
                    &minus_five);
}

static void test_strings_are_restored(void **state)
{
    static const char *const prefixes[] = {"small", "v1"};
    struct state *s = *state;

    put_fixtures(s);
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        struct tfd_tensor t = TFD_TENSOR_INIT;
        const struct tfd_tstring *e;

        assert_int_equal(restore(s, prefixes[i], "s", "", TFD_STRING, &t),
                         TFD_OK);
        e = tfd_tensor_data(&t);
        assert_int_equal(tfd_tensor_elements(&t), 3);
        for (int j = 0; j < 3; j++)
            assert_true(tfd_str_is(tfd_tstring_view(&e[j]), s_values[j]));
        tfd_tensor_unref(&t);
    }
}

/* Any slice is put together from what is stored. */
static void test_slices_are_put_together(void **state)
{
    static const char *const prefixes[] = {"part", "v1"};
    static const struct {
        const char *spec;
        int64_t rows, columns;
        int32_t values[8];
    } cases[] = {
        {"", 4, 2, {1, 2, 3, 4, 5, 6, 7, 8}},
        {"4 2 -:-", 4, 2, {1, 2, 3, 4, 5, 6, 7, 8}},
        {"4 2 0,4:0,2", 4, 2, {1, 2, 3, 4, 5, 6, 7, 8}},
        {"4 2 0,2:-", 2, 2, {1, 2, 3, 4}},
        {"4 2 0,2:0,2", 2, 2, {1, 2, 3, 4}},
        {"4 2 2,2:-", 2, 2, {5, 6, 7, 8}},
        {"4 2 1,2:-", 2, 2, {3, 4, 5, 6}},
        {"4 2 -:1,1", 4, 1, {2, 4, 6, 8}},
        {"4 2 1,2:0,1", 2, 1, {3, 5}},
        {"4 2 3,1:1,1", 1, 1, {8}},
    };
    struct state *s = *state;

    put_fixtures(s);
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const char *prefix = prefixes[i % 2];
        size_t c = i / 2;

        assert_restores(s, prefix, "p", cases[c].spec, TFD_INT32,
                        shape_of(2, cases[c].rows, cases[c].columns),
                        cases[c].values);
    }
    assert_restores(s, "small", "w", "2 3 -:1,2", TFD_FLOAT, shape_of(2, 2, 2),
                    (float[]){2, 3, 5, 6});
    assert_restores(s, "v1", "w", "2 3 1,1:0,3", TFD_FLOAT, shape_of(2, 1, 3),
                    (float[]){4, 5, 6});
}

static void test_what_cannot_be_restored(void **state)
{
    static const struct {
        const char *prefix, *name, *spec;
        enum tfd_dtype dtype;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {"none", "w", "", TFD_FLOAT, TFD_NOT_FOUND,
         "Unsuccessful TensorSliceReader constructor: Failed to find any "
         "matching files for none"},
        {"small", "none", "", TFD_FLOAT, TFD_NOT_FOUND,
         "Key none not found in checkpoint"},
        {"small", "", "", TFD_FLOAT, TFD_NOT_FOUND,
         "Key  not found in checkpoint"},
        {"small", "w", "", TFD_INT32, TFD_INVALID_ARGUMENT,
         "tensor_name = w; expected dtype int32 does not equal original dtype "
         "float"},
        {"small", "w", "3 3 0,1:-", TFD_FLOAT, TFD_INVALID_ARGUMENT,
         "tensor_name = w; shape in shape_and_slice spec [3,3] does not match "
         "the shape stored in checkpoint: [2,3]"},
        {"small", "w", "2 3 0,3:-", TFD_FLOAT, TFD_INTERNAL,
         "Extent in dimension 0 out of bounds: shape = [2,3], slice = 0,3:-"},
        {"v1", "none", "", TFD_FLOAT, TFD_NOT_FOUND,
         "Tensor name \"none\" not found in checkpoint files v1"},
        {"v1", "w", "", TFD_INT32, TFD_INVALID_ARGUMENT,
         "Expected to restore a tensor of type int32, got a tensor of type "
         "float instead: tensor_name = w"},
        {"v1", "w", "3 3 -:-", TFD_FLOAT, TFD_INVALID_ARGUMENT,
         "Shape in shape_and_slice spec does not match the shape in the save "
         "file: [3,3], save file shape: [2,3]"},
        {"half", "p", "", TFD_INT32, TFD_INVALID_ARGUMENT,
         "Does not have sufficient slices for partitioned tensor p to restore "
         "in slice_spec: -:-"},
        {"half", "p", "4 2 1,2:-", TFD_INT32, TFD_INVALID_ARGUMENT,
         "Does not have sufficient slices for partitioned tensor p to restore "
         "in slice_spec: 1,2:-"},
        {"twice", "p", "", TFD_INT32, TFD_INTERNAL,
         "Overlapping slices: existing slice = 0,2:-, new slice = 1,2:-"},
    };
    struct state *s = *state;
    struct tfd_bundle_writer w;

    put_fixtures(s);
    begin(s, &w, "half");
    add(s, &w, "p", "4 2 0,2:-", p_rows(0));
    finish(s, &w);
    begin(s, &w, "twice");
    add(s, &w, "p", "4 2 0,2:-", p_rows(0));
    add(s, &w, "p", "4 2 1,2:-", p_rows(0));
    finish(s, &w);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_tensor t = TFD_TENSOR_INIT;

        assert_int_equal(restore(s, cases[i].prefix, cases[i].name,
                                 cases[i].spec, cases[i].dtype, &t),
                         cases[i].code);
        assert_string_equal(s->st.text, cases[i].text);
        assert_null(t.buffer);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_tensorflow_saved_is_restored),
        TEST(test_strings_are_restored),
        TEST(test_slices_are_put_together),
        TEST(test_what_cannot_be_restored),
    };

    return cmocka_run_group_tests_name("bundle_restore", tests, NULL, NULL);
}
