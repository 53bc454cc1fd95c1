/*
 * test_file_update.c - kernels/io/file_roots_update.c and file_roots_lock.c:
 * files that are written at any place, and who may do so.
 */
#define _GNU_SOURCE
#include "tests/unit/kernels/io/file_rig.h"

static void test_a_file_is_made_and_written_anywhere(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT, again = TFD_FILE_INIT;
    struct tfd_str name = tfd_str_of(at(p, "root/new"));
    char bytes[8];

    assert_int_equal(a->open_update(a, name, &f, &p->st), TFD_OK);
    assert_int_equal(f.size, 0);
    assert_int_equal(a->write_at(a, &f, 4, "efgh", 4, &p->st), TFD_OK);
    assert_int_equal(a->write_at(a, &f, 0, "ab", 2, &p->st), TFD_OK);
    assert_int_equal(a->sync(a, &f, &p->st), TFD_OK);
    assert_int_equal(a->open_update(a, name, &again, &p->st), TFD_OK);
    assert_int_equal(again.size, 8);
    assert_int_equal(a->read_at(a, &again, 0, bytes, 8, &p->st), TFD_OK);
    assert_memory_equal(bytes, "ab\0\0efgh", 8);
    assert_int_equal(a->resize(a, &again, 5, &p->st), TFD_OK);
    assert_int_equal(a->read_at(a, &f, 0, bytes, 6, NULL), TFD_OUT_OF_RANGE);
    assert_int_equal(a->resize(a, &again, 7, &p->st), TFD_OK);
    assert_int_equal(a->read_at(a, &f, 4, bytes, 3, &p->st), TFD_OK);
    assert_memory_equal(bytes, "e\0\0", 3);
    a->close(a, &f);
    a->close(a, &again);
}

static void test_what_is_there_stays(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT;

    assert_int_equal(
        a->open_update(a, tfd_str_of(at(p, "root/plain")), &f, &p->st), TFD_OK);
    assert_int_equal(f.size, 5);
    assert_int_equal(a->write_at(a, &f, 1, "L", 1, &p->st), TFD_OK);
    a->close(a, &f);
    assert_int_equal(try_read(p, at(p, "root/plain"), "pLain"), TFD_OK);
}

static void test_only_files_below_the_root(void **state)
{
    static const struct {
        const char *name;
        enum tfd_code code;
    } cases[] = {
        {"outside/secret", TFD_PERMISSION_DENIED},
        {"outside/new", TFD_PERMISSION_DENIED},
        {"root/../outside/secret", TFD_PERMISSION_DENIED},
        {"root/linked", TFD_PERMISSION_DENIED},
        {"root/dangling", TFD_ALREADY_EXISTS},
        {"root/sub", TFD_FAILED_PRECONDITION},
        {"root/fifo", TFD_FAILED_PRECONDITION},
        {"root/no/where", TFD_NOT_FOUND},
        {"root/plain/below", TFD_FAILED_PRECONDITION},
    };
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;

    assert_int_equal(symlink("../outside/secret", at(p, "root/linked")), 0);
    assert_int_equal(symlink("nothing", at(p, "root/dangling")), 0);
    assert_int_equal(mkfifo(at(p, "root/fifo"), 0600), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_file f = TFD_FILE_INIT;

        tfd_status_clear(&p->st);
        if (a->open_update(a, tfd_str_of(at(p, cases[i].name)), &f, &p->st) ==
            TFD_OK)
            fail_msg("%s was opened", cases[i].name);
        if (cases[i].code != TFD_ALREADY_EXISTS)
            assert_int_equal(p->st.code, cases[i].code);
        assert_string_not_equal(p->st.text, "");
    }
    assert_int_not_equal(access(at(p, "outside/new"), F_OK), 0);
    assert_int_equal(access(at(p, "outside/secret"), F_OK), 0);
}

static void test_places_beyond_any_file(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT;

    assert_int_equal(
        a->open_update(a, tfd_str_of(at(p, "root/plain")), &f, &p->st), TFD_OK);
    assert_int_equal(a->write_at(a, &f, UINT64_MAX, "x", 1, NULL),
                     TFD_OUT_OF_RANGE);
    assert_int_equal(a->write_at(a, &f, INT64_MAX, "x", 1, NULL),
                     TFD_OUT_OF_RANGE);
    assert_int_equal(a->resize(a, &f, UINT64_MAX, NULL), TFD_OUT_OF_RANGE);
    a->close(a, &f);
    assert_int_equal(a->write_at(a, &f, 0, "x", 1, NULL), TFD_UNKNOWN);
    assert_int_equal(a->resize(a, &f, 1, NULL), TFD_UNKNOWN);
}

static void test_a_range_is_shared_or_taken(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_str name = tfd_str_of(at(p, "root/plain"));
    struct tfd_file f = TFD_FILE_INIT, g = TFD_FILE_INIT;

    assert_int_equal(a->open_update(a, name, &f, &p->st), TFD_OK);
    assert_int_equal(a->open_update(a, name, &g, &p->st), TFD_OK);
    assert_int_equal(a->lock(a, &f, TFD_FILE_SHARE, 9, 2, &p->st), TFD_OK);
    assert_int_equal(a->lock(a, &g, TFD_FILE_SHARE, 9, 2, &p->st), TFD_OK);
    assert_int_equal(a->lock(a, &f, TFD_FILE_TAKE, 9, 2, NULL),
                     TFD_UNAVAILABLE);
    assert_int_equal(a->lock(a, &g, TFD_FILE_RELEASE, 9, 2, &p->st), TFD_OK);
    assert_int_equal(a->lock(a, &f, TFD_FILE_TAKE, 9, 2, &p->st), TFD_OK);
    assert_int_equal(a->lock(a, &g, TFD_FILE_SHARE, 10, 1, NULL),
                     TFD_UNAVAILABLE);
    assert_int_equal(a->lock(a, &g, TFD_FILE_ASK, 10, 1, NULL),
                     TFD_UNAVAILABLE);
    assert_int_equal(a->lock(a, &g, TFD_FILE_TAKE, 11, 1, &p->st), TFD_OK);
    assert_int_equal(a->lock(a, &f, TFD_FILE_SHARE, 9, 2, &p->st), TFD_OK);
    assert_int_equal(a->lock(a, &g, TFD_FILE_SHARE, 9, 2, &p->st), TFD_OK);
    a->close(a, &f);
    assert_int_equal(a->lock(a, &g, TFD_FILE_TAKE, 9, 2, &p->st), TFD_OK);
    a->close(a, &g);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_is_made_and_written_anywhere),
        TEST(test_what_is_there_stays),
        TEST(test_only_files_below_the_root),
        TEST(test_places_beyond_any_file),
        TEST(test_a_range_is_shared_or_taken),
    };

    return cmocka_run_group_tests_name("file_update", tests, NULL, NULL);
}
