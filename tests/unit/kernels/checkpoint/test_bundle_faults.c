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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failing_save_leaves_a_whole_checkpoint_or_none),
        cmocka_unit_test(test_the_same_for_the_first_format),
        cmocka_unit_test(test_a_failing_merge_leaves_the_parts),
        cmocka_unit_test(test_a_failing_restore_is_an_error),
    };

    return cmocka_run_group_tests_name("bundle_faults", tests, NULL, NULL);
}
