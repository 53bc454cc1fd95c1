/*
 * test_bundle_faults.c - every call on files that can fail is made to fail, the
 * n-th alone and all from the n-th on: no temporary file stays, and whatever
 * checkpoint is there afterwards is whole.
 */
#include "tests/support/memory_files.h"

#include "kernels/checkpoint/bundle_merge.h"
#include "kernels/checkpoint/bundle_writer.h"
#include "kernels/checkpoint/checkpoint_reader.h"
#include "kernels/checkpoint/slices_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CALLS_MAX 200

/* A float that tells one save from the next. */
static struct tfd_tensor scalar(float value)
{
    struct tfd_shape shape = {0, {0}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&t) = value;
    return t;
}

static enum tfd_code save_v2(struct memory_files *m, const char *prefix,
                             const char *name, float value)
{
    struct tfd_tensor t = scalar(value);
    struct tfd_bundle_writer w;
    enum tfd_code rc;

    rc = tfd_bundle_writer_open(&w, &m->access, tfd_str_of(prefix), NULL);
    if (rc == TFD_OK) {
        rc = tfd_bundle_writer_add(&w, tfd_str_of(name), &t, NULL);
        if (rc == TFD_OK)
            rc = tfd_bundle_writer_finish(&w, NULL);
        tfd_bundle_writer_deinit(&w);
    }
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code save_v1(struct memory_files *m, const char *file,
                             const char *name, float value)
{
    struct tfd_tensor_slice all = tfd_tensor_slice_all(0);
    struct tfd_tensor t = scalar(value);
    struct tfd_slices_writer w;
    enum tfd_code rc;

    tfd_slices_writer_init(&w);
    rc = tfd_slices_writer_add(&w, tfd_str_of(name), &t.shape, &all, &t, NULL);
    if (rc == TFD_OK)
        rc = tfd_slices_writer_finish(&w, &m->access, tfd_str_of(file), NULL);
    tfd_slices_writer_deinit(&w);
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code restore(struct memory_files *m, const char *prefix,
                             const char *name, float *value)
{
    struct tfd_checkpoint_reader r;
    struct tfd_tensor t = TFD_TENSOR_INIT;
    enum tfd_code rc;

    rc = tfd_checkpoint_reader_open(&r, &m->access, tfd_str_of(prefix), NULL);
    if (rc != TFD_OK)
        return rc;
    rc = tfd_checkpoint_reader_restore(&r, tfd_str_of(name), TFD_STR(""),
                                       TFD_FLOAT, &t, NULL);
    if (rc == TFD_OK)
        *value = *(float *)tfd_tensor_data(&t);
    tfd_checkpoint_reader_close(&r);
    tfd_tensor_unref(&t);
    return rc;
}

static bool has_temporary(const struct memory_files *m)
{
    for (int i = 0; i < MEMORY_FILES_MAX; i++)
        if (m->file[i].used && strstr(m->file[i].name, ".tempstate"))
            return true;
    return false;
}

static void begin_faults(struct memory_files *m, int at, bool from)
{
    m->calls = 0;
    m->fail_at = at;
    m->fail_from = from;
}

typedef enum tfd_code save_fn(struct memory_files *m, const char *prefix,
                              const char *name, float value);

/* Saves 2 over 1; the file system fails at call `at`.  False once there are not
 * so many calls. */
static bool save_over(save_fn *save, int at, bool from)
{
    struct memory_files m;
    enum tfd_code saved, restored;
    float value = 0;
    bool reached;

    memory_files_init(&m);
    assert_int_equal(save(&m, "x", "v", 1), TFD_OK);
    begin_faults(&m, at, from);
    saved = save(&m, "x", "v", 2);
    reached = m.calls >= at;
    begin_faults(&m, 0, false);

    assert_int_equal(m.open, 0);
    assert_int_equal(saved == TFD_OK, !reached);
    /* What cannot be removed stays, when removing fails as well. */
    if (!from)
        assert_false(has_temporary(&m));
    restored = restore(&m, "x", "v", &value);
    if (saved == TFD_OK)
        assert_true(restored == TFD_OK && value == 2);
    else /* 2 when only its durability is in doubt */
        assert_true(restored == TFD_NOT_FOUND ||
                    (restored == TFD_OK && (value == 1 || value == 2)));
    memory_files_deinit(&m);
    return reached;
}

static void save_over_with_each_fault(save_fn *save)
{
    for (int from = 0; from < 2; from++) {
        int at = 1;

        while (save_over(save, at, from != 0))
            assert_true(++at < CALLS_MAX);
        assert_true(at > 4);
    }
}

static void test_a_failing_save_leaves_a_whole_checkpoint_or_none(void **state)
{
    (void)state;
    save_over_with_each_fault(save_v2);
}

static void test_the_same_for_the_first_format(void **state)
{
    (void)state;
    save_over_with_each_fault(save_v1);
}

/* The parts must survive a merge that fails. */
static bool merge_parts(int at)
{
    const struct tfd_str parts[] = {TFD_STR("a"), TFD_STR("b")};
    struct memory_files m;
    enum tfd_code merged;
    float value = 0;
    bool reached;

    memory_files_init(&m);
    assert_int_equal(save_v2(&m, "a", "v", 1), TFD_OK);
    assert_int_equal(save_v2(&m, "b", "w", 2), TFD_OK);
    assert_int_equal(save_v2(&m, "x", "v", 3), TFD_OK);
    begin_faults(&m, at, false);
    merged = tfd_bundle_merge(&m.access, parts, 2, TFD_STR("x"), false, NULL);
    reached = m.calls >= at;
    begin_faults(&m, 0, false);

    assert_int_equal(m.open, 0);
    assert_false(has_temporary(&m));
    if (merged == TFD_OK) {
        /* A part's index that could not be removed is no failure. */
        assert_int_equal(restore(&m, "x", "v", &value), TFD_OK);
        assert_true(value == 1);
        assert_int_equal(restore(&m, "x", "w", &value), TFD_OK);
        assert_true(value == 2);
    } else {
        assert_true(reached);
        assert_int_equal(restore(&m, "a", "v", &value), TFD_OK);
        assert_true(value == 1);
        assert_int_equal(restore(&m, "b", "w", &value), TFD_OK);
        assert_true(value == 2);
        if (restore(&m, "x", "v", &value) == TFD_OK)
            assert_true(value == 3);
    }
    memory_files_deinit(&m);
    return reached;
}

static void test_a_failing_merge_leaves_the_parts(void **state)
{
    int at = 1;

    (void)state;
    while (merge_parts(at))
        assert_true(++at < CALLS_MAX);
    assert_true(at > 10);
}

static void test_a_failing_restore_is_an_error(void **state)
{
    static save_fn *const saves[] = {save_v2, save_v1};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct memory_files m;
        bool reached = true;

        memory_files_init(&m);
        assert_int_equal(saves[i](&m, "x", "v", 1), TFD_OK);
        for (int at = 1; reached; at++) {
            float value = 0;
            enum tfd_code rc;

            assert_true(at < CALLS_MAX);
            begin_faults(&m, at, false);
            rc = restore(&m, "x", "v", &value);
            reached = m.calls >= at;
            assert_int_equal(m.open, 0);
            assert_int_equal(rc == TFD_OK, !reached);
        }
        memory_files_deinit(&m);
    }
}

/* ---- What waits for the disk ----------------------------------------------
 */

static int file_syncs, dir_syncs;

static enum tfd_code count_file(struct tfd_file_access *a, struct tfd_file *f,
                                struct tfd_status *st)
{
    (void)a, (void)f, (void)st;
    file_syncs++;
    return TFD_OK;
}

static enum tfd_code count_dir(struct tfd_file_access *a, struct tfd_str name,
                               struct tfd_status *st)
{
    (void)a, (void)name, (void)st;
    dir_syncs++;
    return TFD_OK;
}

static enum tfd_code no_room(struct tfd_file_access *a, struct tfd_file *f,
                             struct tfd_status *st)
{
    (void)a, (void)f;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No space left on device");
}

static void counting_files_init(struct memory_files *m)
{
    memory_files_init(m);
    m->access.sync = count_file;
    m->access.sync_dir = count_dir;
    file_syncs = dir_syncs = 0;
}

static void test_parts_are_known_by_their_names(void **state)
{
    static const struct {
        const char *name;
        bool is_part;
    } rows[] = {
        {"dir/model-7_temp/part-00000-of-00002", true},
        {"model_temp_0123456789abcdef0123456789abcdef/part-00000-of-00001",
         true},
        {"memory://host/model_temp/part-00000-of-00001", true},
        {"_temp/part-00000-of-00001", true},
        {"dir/model-7", false},
        {"dir/model-7_temp", false},
        {"dir/model-7_temp/", false},
        {"dir/model-7_temp/model", false},
        {"dir/model_temp_0123/part-00000-of-00001", false},
        {"dir/model_tmp_0123456789abcdef0123456789abcdef/part-0", false},
        {"model_temp/dir/part-00000-of-00001", false},
        {"part-00000-of-00001", false},
        {"/part-00000-of-00001", false},
        {"dir/model_temp/part", false},
        {"my_temp/particles", false},
        {"best_temp/partial-7", false},
        {"x_temp/part-0000-of-00001", false},
        {"x_temp/part-00000-of-00001x", false},
        {"x_temp/part-00000_of-00001", false},
        {"x_temp/part-0000a-of-00001", false},
        {"run_temp_weights-2024-01-01-experiment-ab/part-00000-of-00001",
         false},
        {"x_temp_0123456789abcdef/123456789abcdef0/part-00000-of-00001", false},
        {"x_temp_0123456789ABCDEF0123456789ABCDEF/part-00000-of-00001", false},
        {"/", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (tfd_bundle_is_part(tfd_str_of(rows[i].name)) != rows[i].is_part)
            fail_msg("\"%s\" is%s a part", rows[i].name,
                     rows[i].is_part ? "" : " not");
}

static void test_a_checkpoint_is_synced_when_it_is_saved(void **state)
{
    struct memory_files m;

    (void)state;
    counting_files_init(&m);
    assert_int_equal(save_v2(&m, "x", "v", 1), TFD_OK);
    assert_int_equal(file_syncs, 2);
    assert_int_equal(dir_syncs, 1);
    memory_files_deinit(&m);
}

static void test_a_parts_directory_is_left_to_the_merge(void **state)
{
    static const char *const names[] = {"x_temp/part-00000-of-00002",
                                        "x_temp/part-00001-of-00002"};
    const struct tfd_str parts[] = {tfd_str_of(names[0]), tfd_str_of(names[1])};
    struct memory_files m;
    float value = 0;

    (void)state;
    counting_files_init(&m);
    assert_int_equal(save_v2(&m, names[0], "v", 1), TFD_OK);
    assert_int_equal(save_v2(&m, names[1], "w", 2), TFD_OK);
    assert_int_equal(file_syncs, 4);
    assert_int_equal(dir_syncs, 0);
    assert_int_equal(
        tfd_bundle_merge(&m.access, parts, 2, tfd_str_of("x"), false, NULL),
        TFD_OK);
    assert_int_equal(file_syncs, 5);
    assert_int_equal(dir_syncs, 1);
    assert_int_equal(restore(&m, "x", "w", &value), TFD_OK);
    assert_true(value == 2);
    memory_files_deinit(&m);
}

static void test_a_part_fails_that_cannot_reach_the_disk(void **state)
{
    const char *name = "x_temp/part-00000-of-00001";
    struct memory_files m;
    float value = 0;

    (void)state;
    memory_files_init(&m);
    m.access.sync = no_room;
    assert_int_equal(save_v2(&m, name, "v", 1), TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(m.open, 0);
    assert_false(has_temporary(&m));
    assert_int_equal(restore(&m, name, "v", &value), TFD_NOT_FOUND);
    memory_files_deinit(&m);
}

static void test_a_save_fails_that_does_not_leave_memory(void **state)
{
    struct memory_files m;
    float value = 0;

    (void)state;
    memory_files_init(&m);
    m.access.await_sync = no_room;
    assert_int_equal(save_v2(&m, "x", "v", 1), TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(m.open, 0);
    assert_false(has_temporary(&m));
    assert_int_equal(restore(&m, "x", "v", &value), TFD_NOT_FOUND);
    memory_files_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failing_save_leaves_a_whole_checkpoint_or_none),
        cmocka_unit_test(test_the_same_for_the_first_format),
        cmocka_unit_test(test_a_failing_merge_leaves_the_parts),
        cmocka_unit_test(test_a_failing_restore_is_an_error),
        cmocka_unit_test(test_parts_are_known_by_their_names),
        cmocka_unit_test(test_a_checkpoint_is_synced_when_it_is_saved),
        cmocka_unit_test(test_a_parts_directory_is_left_to_the_merge),
        cmocka_unit_test(test_a_part_fails_that_cannot_reach_the_disk),
        cmocka_unit_test(test_a_save_fails_that_does_not_leave_memory),
    };

    return cmocka_run_group_tests_name("bundle_faults", tests, NULL, NULL);
}
