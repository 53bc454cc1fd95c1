/*
 * test_checkpoint_ops.c - kernels/checkpoint/checkpoint.c over files in memory:
 * what is refused before a file is touched, in which order errors come, and
 * that what one operation saves the other restores.  The bytes of files are
 * test_bundle's concern.
 */
#include "kernels/core/families.h"
#include "tests/support/file_runtime.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Tensors ------------------------------------------------------------- */

/* A vector of strings, one for each '|'; NULL: of none.  A prefix is one. */
static struct tfd_tensor strings(const char *list)
{
    struct tfd_shape shape = {1, {list ? 1 : 0}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_tstring *s;

    for (const char *p = list; p && *p; p++)
        shape.dim[0] += *p == '|';
    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &shape, NULL), TFD_OK);
    s = tfd_tensor_data(&t);
    for (int64_t i = 0; i < shape.dim[0]; i++, s++) {
        size_t n = strcspn(list, "|");

        assert_int_equal(tfd_tstring_set(s, (struct tfd_str){list, n}, NULL),
                         TFD_OK);
        list += n;
        list += *list == '|';
    }
    return t;
}

/* Two rows of three numbers from `first` on. */
static struct tfd_tensor numbers(enum tfd_dtype dtype, int first)
{
    struct tfd_shape shape = {2, {2, 3}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    for (int i = 0; i < 6; i++)
        if (dtype == TFD_INT32)
            ((int32_t *)tfd_tensor_data(&t))[i] = first + i;
        else if (dtype == TFD_FLOAT)
            ((float *)tfd_tensor_data(&t))[i] = (float)(first + i);
    return t;
}

/* ---- Running ------------------------------------------------------------- */

#define TENSORS_MAX 4
#define INPUTS_MAX (3 + TENSORS_MAX)

static struct tfd_status st;

static const struct tfd_kernel *find(const char *op)
{
    const struct tfd_family *f = &tfd_family_checkpoint;

    for (int i = 0; i < f->kernel_count; i++)
        if (!strcmp(f->kernels[i].op, op))
            return &f->kernels[i];
    fail_msg("no kernel for %s", op);
    return NULL;
}

/* Runs over inputs, which are consumed. */
static enum tfd_code run_kernel(const char *op, struct tfd_tensor *in,
                                int in_count, const uint8_t *out_types,
                                struct tfd_tensor *out, int out_count,
                                void *kernel_state)
{
    struct tfd_node node = {.out_types = out_types, .out_count = out_count};
    struct tfd_kctx k = {.kernel = find(op),
                         .in = in,
                         .in_count = in_count,
                         .out = out,
                         .out_count = out_count,
                         .state = kernel_state,
                         .node = &node,
                         .rt = &rt};
    enum tfd_code rc;

    tfd_status_clear(&st);
    assert_int_equal(k.kernel->flags & TFD_KERNEL_BLOCKS, TFD_KERNEL_BLOCKS);
    rc = k.kernel->compute(&k, &st);
    assert_int_equal(rc, st.code);
    for (int i = 0; i < in_count; i++)
        tfd_tensor_unref(&in[i]);
    return rc;
}

/* Saves `count` tensors, of FLOAT and INT32 in turn, tensor i from 10 i on. */
static enum tfd_code save(const char *op, const char *prefix, const char *names,
                          const char *specs, int count)
{
    struct tfd_tensor in[INPUTS_MAX];
    int n = 0;

    in[n++] = strings(prefix);
    in[n++] = strings(names);
    if (strcmp(op, "Save") != 0)
        in[n++] = strings(specs);
    for (int i = 0; i < count; i++)
        in[n++] = numbers(i % 2 ? TFD_INT32 : TFD_FLOAT, 10 * i);
    return run_kernel(op, in, n, NULL, NULL, 0, NULL);
}

static enum tfd_code restore(const char *prefix, const char *names,
                             const char *specs, const uint8_t *types, int count,
                             struct tfd_tensor *out)
{
    struct tfd_tensor in[] = {strings(prefix), strings(names), strings(specs)};

    memset(out, 0, sizeof(*out) * TENSORS_MAX);
    return run_kernel("RestoreV2", in, 3, types, out, count, NULL);
}

static enum tfd_code merge(const char *parts, const char *prefix,
                           bool allow_missing)
{
    struct tfd_tensor in[] = {strings(parts), strings(prefix)};
    struct {
        bool delete_old_dirs, allow_missing_files;
    } options = {true, allow_missing};

    return run_kernel("MergeV2Checkpoints", in, 2, NULL, NULL, 0, &options);
}

static void drop(struct tfd_tensor *out)
{
    for (int i = 0; i < TENSORS_MAX; i++)
        tfd_tensor_unref(&out[i]);
}

static const uint8_t float_int[] = {TFD_FLOAT, TFD_INT32, TFD_FLOAT};
static const uint8_t int_float[] = {TFD_INT32, TFD_FLOAT, TFD_INT32};

/* ---- What is saved is restored ------------------------------------------- */

static void test_every_saving_op_is_read_by_restore(void **state)
{
    static const char *const savers[] = {"SaveV2", "SaveSlices", "Save"};
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(save(savers[i], savers[i], "b|a", "|", 2), TFD_OK);
        assert_int_equal(restore(savers[i], "a|b", "|", int_float, 2, out),
                         TFD_OK);
        assert_int_equal(out[0].shape.rank, 2);
        assert_int_equal(((int32_t *)tfd_tensor_data(&out[0]))[5], 15);
        assert_true(((float *)tfd_tensor_data(&out[1]))[5] == 5);
        drop(out);
    }
}

static void test_slices_make_a_whole(void **state)
{
    static const char *const savers[] = {"SaveV2", "SaveSlices"};
    static const uint8_t types[] = {TFD_FLOAT, TFD_FLOAT};
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tfd_tensor in[] = {strings(savers[i]), strings("p|p"),
                                  strings("4 3 0,2:-|4 3 2,2:-"),
                                  numbers(TFD_FLOAT, 0), numbers(TFD_FLOAT, 6)};

        assert_int_equal(run_kernel(savers[i], in, 5, NULL, NULL, 0, NULL),
                         TFD_OK);
        assert_int_equal(
            restore(savers[i], "p|p", "|4 3 1,2:2,1", types, 2, out), TFD_OK);
        assert_int_equal(out[0].shape.dim[0], 4);
        assert_true(((float *)tfd_tensor_data(&out[0]))[11] == 11);
        assert_int_equal(tfd_tensor_elements(&out[1]), 2);
        assert_true(((float *)tfd_tensor_data(&out[1]))[1] == 8);
        drop(out);
    }
}

/* A program may have saved other bytes than 0 and 1; TensorFlow computes with
 * them as with 1. */
static void test_bools_are_restored_as_0_and_1(void **state)
{
    static const char *const savers[] = {"SaveV2", "SaveSlices"};
    static const uint8_t bytes[] = {0, 1, 2, 128}, types[] = {TFD_BOOL};
    struct tfd_shape shape = {1, {4}};
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tfd_tensor in[] = {strings(savers[i]), strings("b"), strings(""),
                                  TFD_TENSOR_INIT};

        assert_int_equal(tfd_tensor_new(&in[3], TFD_BOOL, &shape, NULL),
                         TFD_OK);
        memcpy(tfd_tensor_data(&in[3]), bytes, sizeof(bytes));
        assert_int_equal(run_kernel(savers[i], in, 4, NULL, NULL, 0, NULL),
                         TFD_OK);
        assert_int_equal(restore(savers[i], "b", "", types, 1, out), TFD_OK);
        assert_memory_equal(tfd_tensor_data(&out[0]), "\0\1\1\1", 4);
        drop(out);
    }
}

static void test_one_name_may_be_restored_twice(void **state)
{
    static const uint8_t types[] = {TFD_FLOAT, TFD_FLOAT};
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    assert_int_equal(save("SaveV2", "m", "a", "", 1), TFD_OK);
    assert_int_equal(restore("m", "a|a", "|", types, 2, out), TFD_OK);
    assert_non_null(out[0].buffer);
    assert_non_null(out[1].buffer);
    drop(out);
}

static void test_parts_become_one(void **state)
{
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    assert_int_equal(save("SaveV2", "t/0", "a", "", 1), TFD_OK);
    assert_int_equal(save("SaveV2", "t/1", "x|b", "|", 2), TFD_OK);
    assert_int_equal(merge("t/0|t/1", "m", false), TFD_OK);
    assert_int_equal(memory_count(&files), 3);
    assert_int_equal(restore("m", "a|b", "|", float_int, 2, out), TFD_OK);
    drop(out);
    assert_int_equal(merge("m|t/9", "n", true), TFD_OK);
}

/* ---- What is refused ----------------------------------------------------- */

struct bad_save {
    const char *op, *names, *specs;
    int count;
    enum tfd_code code;
    const char *text;
};

static const struct bad_save bad_saves[] = {
    {"SaveV2", "a|b", "", 2, TFD_INVALID_ARGUMENT,
     "tensor_names and shape_and_slices have different number of elements: 2 "
     "vs. 1"},
    {"SaveV2", "a", "|", 2, TFD_INVALID_ARGUMENT,
     "tensor_names and shape_and_slices have different number of elements: 1 "
     "vs. 2"},
    {"SaveV2", NULL, NULL, 1, TFD_INVALID_ARGUMENT,
     "Got 0 tensor names but 1 tensors."},
    {"SaveV2", "a", "", 2, TFD_INVALID_ARGUMENT,
     "Got 1 tensor names but 2 tensors."},
    {"SaveV2", "a|b", "|", 1, TFD_INVALID_ARGUMENT,
     "Got 2 tensor names but 1 tensors."},
    {"SaveV2", "a|a", "|", 2, TFD_INVALID_ARGUMENT, "Adding duplicate key: a"},
    {"SaveV2", "a|", "|", 2, TFD_INVALID_ARGUMENT, NULL},
    {"SaveV2", "a", "x", 1, TFD_INVALID_ARGUMENT,
     "Need least two elements in shape_and_slice specification: x"},
    {"SaveV2", "a", "4 3 0,1:-", 1, TFD_INVALID_ARGUMENT,
     "Slice in shape_and_slice specification does not match the shape of the "
     "tensor to  save: 4 3 0,1:-, tensor: [2,3]"},
    {"SaveV2", "a", "4 3 3,2:-", 1, TFD_INTERNAL,
     "Extent in dimension 0 out of bounds: shape = [4,3], slice = 3,2:-"},
    {"SaveV2", "a|a", "4 3 0,2:-|4 3 0,2:-", 2, TFD_INVALID_ARGUMENT, NULL},
    {"SaveSlices", "a", "", 2, TFD_INVALID_ARGUMENT,
     "Expected totally 4 inputs as input #1 (which is a string tensor of saved "
     "names) contains 1 names, but received 5 inputs"},
    {"SaveSlices", "a|b", "", 2, TFD_INVALID_ARGUMENT,
     "Expected 2 elements for the tensor shapes and slices but got 1"},
    {"SaveSlices", "a", "|", 1, TFD_INVALID_ARGUMENT,
     "Expected 1 elements for the tensor shapes and slices but got 2"},
    {"SaveSlices", NULL, NULL, 1, TFD_INVALID_ARGUMENT, NULL},
    {"SaveSlices", "a", "x", 1, TFD_INVALID_ARGUMENT, NULL},
    {"SaveSlices", "a", "4 3 0,1:-", 1, TFD_INVALID_ARGUMENT, NULL},
    {"Save", "a|b", "", 1, TFD_INVALID_ARGUMENT,
     "Expected totally 4 inputs as input #1 (which is a string tensor of saved "
     "names) contains 2 names, but received 3 inputs"},
};

static void test_a_bad_save_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_saves) / sizeof(bad_saves[0]); i++) {
        const struct bad_save *c = &bad_saves[i];

        assert_int_equal(save(c->op, "m", c->names, c->specs, c->count),
                         c->code);
        if (c->text)
            assert_string_equal(st.text, c->text);
        assert_int_equal(memory_count(&files), 0);
    }
}

struct bad_restore {
    const char *prefix, *names, *specs;
    const uint8_t *types;
    int count;
    enum tfd_code code;
    const char *text;
};

static const struct bad_restore bad_restores[] = {
    {"m", "a|b", "", float_int, 2, TFD_INVALID_ARGUMENT,
     "tensor_names and shape_and_slices have different number of elements: 2 "
     "vs. 1"},
    {"m", "a|b", "|", float_int, 1, TFD_INVALID_ARGUMENT,
     "Got 2 tensor names, but 1 expected dtypes."},
    {"m", NULL, NULL, float_int, 1, TFD_INVALID_ARGUMENT,
     "Got 0 tensor names, but 1 expected dtypes."},
    {"none", "a", "", float_int, 1, TFD_NOT_FOUND,
     "Unsuccessful TensorSliceReader constructor: Failed to find any matching "
     "files for none"},
    {"m", "zz|b|yy", "||", float_int, 3, TFD_NOT_FOUND,
     "Key zz not found in checkpoint"},
    {"m", "", "", float_int, 1, TFD_NOT_FOUND, "Key  not found in checkpoint"},
    /* b was saved first. */
    {"m", "a|b", "|", float_int, 2, TFD_INVALID_ARGUMENT,
     "tensor_name = b; expected dtype int32 does not equal original dtype "
     "float\n"
     "tensor_name = a; expected dtype float does not equal original dtype "
     "int32"},
    {"m", "b", "2 3 0,9:-", float_int, 1, TFD_INTERNAL,
     "Extent in dimension 0 out of bounds: shape = [2,3], slice = 0,9:-"},
    {"m", "b", "3 3 0,1:-", float_int, 1, TFD_INVALID_ARGUMENT,
     "tensor_name = b; shape in shape_and_slice spec [3,3] does not match the "
     "shape stored in checkpoint: [2,3]"},
    {"m", "b|a", "|x", float_int, 2, TFD_INVALID_ARGUMENT,
     "Need least two elements in shape_and_slice specification: x"},
    {"v1", "a", "", float_int, 1, TFD_INVALID_ARGUMENT,
     "Expected to restore a tensor of type float, got a tensor of type int32 "
     "instead: tensor_name = a"},
    {"v1", "c", "", float_int, 1, TFD_NOT_FOUND, NULL},
};

static void test_a_bad_restore_is_refused(void **state)
{
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    assert_int_equal(save("SaveV2", "m", "b|a", "|", 2), TFD_OK);
    assert_int_equal(save("SaveSlices", "v1", "b|a", "|", 2), TFD_OK);
    for (size_t i = 0; i < sizeof(bad_restores) / sizeof(bad_restores[0]);
         i++) {
        const struct bad_restore *c = &bad_restores[i];

        assert_int_equal(
            restore(c->prefix, c->names, c->specs, c->types, c->count, out),
            c->code);
        if (c->text)
            assert_string_equal(st.text, c->text);
        drop(out);
    }
}

/* ---- Checkpoints that are saved again ------------------------------------ */

static struct tfd_file_access real;
static int looks; /* for the index; from `back_at` on it is there again */
static int back_at;

static enum tfd_code look(struct tfd_file_access *a, struct tfd_str name,
                          struct tfd_file *out, struct tfd_status *error)
{
    if (tfd_str_is(name, "m.index") && ++looks == back_at)
        assert_int_equal(
            real.rename(a, TFD_STR("away"), TFD_STR("m.index"), error), TFD_OK);
    return real.open_read(a, name, out, error);
}

static void take_index_away(int until)
{
    struct tfd_status error = TFD_STATUS_INIT;

    real = files.access;
    assert_int_equal(
        real.rename(&files.access, TFD_STR("m.index"), TFD_STR("away"), &error),
        TFD_OK);
    looks = 0;
    back_at = until;
    files.access.open_read = look;
}

/* Between the old index and the new one. */
static void test_an_index_that_comes_back_is_waited_for(void **state)
{
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    assert_int_equal(save("SaveV2", "m", "b|a", "|", 2), TFD_OK);
    take_index_away(4);
    assert_int_equal(restore("m", "a|b", "|", int_float, 2, out), TFD_OK);
    assert_int_equal(looks, 4);
    assert_int_equal(((int32_t *)tfd_tensor_data(&out[0]))[5], 15);
    drop(out);
    files.access = real;
}

static void test_what_is_not_there_is_not_waited_for(void **state)
{
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    real = files.access;
    looks = 0;
    back_at = INT_MAX;
    files.access.open_read = look;
    assert_int_equal(restore("m", "a|b", "|", int_float, 2, out),
                     TFD_NOT_FOUND);
    assert_int_equal(looks, 1);
    files.access = real;
}

/* Data without an index is what a save that was cut off has left. */
static void test_an_index_that_stays_away(void **state)
{
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    assert_int_equal(save("SaveV2", "m", "b|a", "|", 2), TFD_OK);
    take_index_away(INT_MAX);
    assert_int_equal(restore("m", "a|b", "|", int_float, 2, out),
                     TFD_NOT_FOUND);
    assert_string_equal(st.text, "Unsuccessful TensorSliceReader constructor: "
                                 "Failed to find any matching files for m");
    assert_true(looks > 10);
    files.access = real;
}

/* More names of another type than a status can hold. */
static void test_a_long_list_of_types_is_cut(void **state)
{
    static const uint8_t types[] = {TFD_INT32, TFD_INT32, TFD_INT32};
    char long_name[1101] = "", names[2300];
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    memset(long_name, 'n', sizeof(long_name) - 1);
    assert_int_equal(save("SaveV2", "m", long_name, "", 1), TFD_OK);
    snprintf(names, sizeof(names), "%s|%s", long_name, long_name);
    assert_int_equal(restore("m", names, "|", types, 2, out),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text + strlen(st.text) - 3, "...");
}

static void test_what_cannot_be_merged(void **state)
{
    (void)state;
    assert_int_equal(merge(NULL, "m", false), TFD_INVALID_ARGUMENT);
    assert_int_equal(merge("t/0|t/1", "m", false), TFD_INVALID_ARGUMENT);
    assert_int_equal(merge("t/0|t/1", "m", true), TFD_INVALID_ARGUMENT);
    assert_string_equal(
        st.text,
        "At least one prefix checkpoint file must exist, but none existed.");
    assert_int_equal(memory_count(&files), 0);
}

static void test_types_that_no_checkpoint_holds(void **state)
{
    struct tfd_tensor v2[] = {strings("m"), strings("h"), strings(""),
                              numbers(TFD_RESOURCE, 0)};
    struct tfd_tensor v1[] = {strings("m"), strings("u"),
                              numbers(TFD_UINT32, 0)};

    (void)state;
    assert_int_equal(run_kernel("SaveV2", v2, 4, NULL, NULL, 0, NULL),
                     TFD_UNIMPLEMENTED);
    assert_int_equal(run_kernel("Save", v1, 3, NULL, NULL, 0, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(
        st.text, "Tensor slice serialization not implemented for dtype 22");
    assert_int_equal(memory_count(&files), 0);
}

static void test_without_files_all_is_denied(void **state)
{
    static const char *const savers[] = {"SaveV2", "SaveSlices", "Save"};
    struct tfd_tensor out[TENSORS_MAX];

    (void)state;
    rt.files = NULL;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(save(savers[i], "m", "a", "", 1),
                         TFD_PERMISSION_DENIED);
        assert_non_null(strstr(st.text, "--file_root"));
    }
    assert_int_equal(restore("m", "a", "", float_int, 1, out),
                     TFD_PERMISSION_DENIED);
    assert_int_equal(merge("t", "m", false), TFD_PERMISSION_DENIED);
}

/* ---- A disk that fails --------------------------------------------------- */

/* From an empty disk: what failed may have left a temporary file, when it could
 * not be removed either. */
static enum tfd_code save_two(void)
{
    memory_files_deinit(&files);
    return save("SaveV2", "m", "a|b", "|", 2);
}

static enum tfd_code restore_two(void)
{
    struct tfd_tensor out[TENSORS_MAX];
    enum tfd_code rc = restore("m", "a|b", "|", float_int, 2, out);

    drop(out);
    return rc;
}

/* Fails call after call, from each on, until none is left to fail. */
static void fail_each(enum tfd_code (*op)(void))
{
    int n = 0;

    files.fail_from = true;
    do {
        files.calls = 0;
        files.fail_at = ++n;
        assert_true(n < 100);
    } while (op() != TFD_OK);
    assert_int_equal(files.calls, n - 1);
    assert_true(n > 3);
    files.fail_at = 0;
}

static void test_every_call_may_fail(void **state)
{
    (void)state;
    fail_each(save_two);
    fail_each(restore_two);
}

/* ---- Shapes known while a graph is built --------------------------------- */

static void test_slices_tell_the_shape(void **state)
{
    const struct tfd_opdef *op = &tfd_family_checkpoint.ops[1];
    struct tfd_tensor specs = strings("4 3 0,2:-|"), bad = strings("x|");
    const struct tfd_tensor *value[] = {NULL, NULL, &specs};
    struct tfd_shape out[] = {TFD_SHAPE_UNKNOWN, TFD_SHAPE_UNKNOWN,
                              TFD_SHAPE_UNKNOWN};
    struct tfd_shape_ctx s = {
        .in_count = 3, .value = value, .out = out, .out_count = 2};

    (void)state;
    assert_string_equal(op->name, "RestoreV2");
    assert_int_equal(op->shape(&s, NULL), TFD_OK);
    assert_int_equal(out[0].dim[0], 2);
    assert_int_equal(out[1].rank, TFD_RANK_UNKNOWN);

    value[2] = &bad;
    assert_int_equal(op->shape(&s, NULL), TFD_INVALID_ARGUMENT);
    s.out_count = 3; /* not as many as specs */
    assert_int_equal(op->shape(&s, NULL), TFD_OK);
    value[2] = NULL;
    assert_int_equal(op->shape(&s, NULL), TFD_OK);
    tfd_tensor_unref(&specs);
    tfd_tensor_unref(&bad);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_saving_op_is_read_by_restore),
        TEST(test_slices_make_a_whole),
        TEST(test_bools_are_restored_as_0_and_1),
        TEST(test_one_name_may_be_restored_twice),
        TEST(test_parts_become_one),
        TEST(test_a_bad_save_leaves_nothing),
        TEST(test_a_bad_restore_is_refused),
        TEST(test_an_index_that_comes_back_is_waited_for),
        TEST(test_what_is_not_there_is_not_waited_for),
        TEST(test_an_index_that_stays_away),
        TEST(test_a_long_list_of_types_is_cut),
        TEST(test_what_cannot_be_merged),
        TEST(test_types_that_no_checkpoint_holds),
        TEST(test_without_files_all_is_denied),
        TEST(test_every_call_may_fail),
        TEST(test_slices_tell_the_shape),
    };

    return cmocka_run_group_tests_name("checkpoint_ops", tests, NULL, NULL);
}
