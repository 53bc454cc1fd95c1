/*
 * test_file_changes.c - kernels/io/file_roots.c: what changes files stays below
 * the roots; kernels/io/file_draft.c: a file is replaced whole or not at all.
 */
#define _GNU_SOURCE
#include "tests/unit/kernels/io/file_rig.h"

#include <sys/resource.h>

/* ---- Changing --------------------------------------------------------------
 */

static void test_changes_outside_are_refused(void **state)
{
    static const char *const names[] = {
        "outside/new",
        "root/../outside/new",
        "root/linked/new",
        "new",
    };
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT;
    char inside[600], secret[600];

    snprintf(inside, sizeof(inside), "%s/root/plain", p->top);
    snprintf(secret, sizeof(secret), "%s/root/linked/secret", p->top);
    assert_int_equal(symlink("../outside", at(p, "root/linked")), 0);
    for (size_t i = 0; i < 2 * COUNT(names); i++) {
        struct tfd_str name = tfd_str_of(at(p, names[i / 2]));
        struct tfd_str from = tfd_str_of(inside);

        p->roots.by_comparison = i % 2 != 0;
        assert_int_equal(a->open_new(a, name, &f, NULL), TFD_PERMISSION_DENIED);
        assert_int_equal(a->make_dir(a, name, NULL), TFD_PERMISSION_DENIED);
        assert_int_equal(a->remove_dir(a, name, NULL), TFD_PERMISSION_DENIED);
        assert_int_equal(a->rename(a, from, name, NULL), TFD_PERMISSION_DENIED);
        assert_int_equal(a->rename(a, name, from, NULL), TFD_PERMISSION_DENIED);
    }
    assert_int_equal(a->remove(a, tfd_str_of(secret), NULL),
                     TFD_PERMISSION_DENIED);
    assert_int_equal(a->remove_dir(a, tfd_str_of(at(p, "root")), NULL),
                     TFD_PERMISSION_DENIED);
    assert_int_equal(access(at(p, "outside/secret"), F_OK), 0);
    assert_int_equal(access(at(p, "root/plain"), F_OK), 0);
}

static void test_changes_inside(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT;
    char new_dir[600], new_file[600];

    snprintf(new_dir, sizeof(new_dir), "%s/root/dir", p->top);
    snprintf(new_file, sizeof(new_file), "%s/root/dir/file", p->top);
    assert_int_equal(a->make_dir(a, tfd_str_of(new_dir), &p->st), TFD_OK);
    assert_int_equal(a->make_dir(a, tfd_str_of(new_dir), NULL),
                     TFD_ALREADY_EXISTS);
    assert_int_equal(a->make_dir(a, tfd_str_of(at(p, "root/x/y")), NULL),
                     TFD_NOT_FOUND);
    assert_int_equal(a->open_new(a, tfd_str_of(new_file), &f, &p->st), TFD_OK);
    assert_int_equal(a->write(a, &f, "abc", 3, &p->st), TFD_OK);
    assert_int_equal(a->sync(a, &f, &p->st), TFD_OK);
    a->close(a, &f);
    assert_int_equal(a->open_new(a, tfd_str_of(new_file), &f, NULL),
                     TFD_ALREADY_EXISTS);
    assert_int_equal(a->remove_dir(a, tfd_str_of(new_dir), NULL),
                     TFD_FAILED_PRECONDITION);
    assert_int_equal(a->rename(a, tfd_str_of(new_file),
                               tfd_str_of(at(p, "root/plain")), &p->st),
                     TFD_OK);
    assert_int_equal(try_read(p, at(p, "root/plain"), "abc"), TFD_OK);
    assert_int_equal(a->remove_dir(a, tfd_str_of(new_dir), &p->st), TFD_OK);
    assert_int_equal(a->remove(a, tfd_str_of(at(p, "root/plain")), &p->st),
                     TFD_OK);
    assert_int_equal(try_read(p, at(p, "root/plain"), ""), TFD_NOT_FOUND);
}

/* A link planted under the name of a new file is not followed. */
static void test_a_new_file_is_not_written_through_a_link(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT;

    assert_int_equal(symlink("../outside/secret", at(p, "root/new")), 0);
    assert_int_equal(a->open_new(a, tfd_str_of(at(p, "root/new")), &f, NULL),
                     TFD_ALREADY_EXISTS);
}

/* ---- Drafts ----------------------------------------------------------------
 */

static int entries_of(struct place *p, const char *below)
{
    char command[700];
    int n = 0;
    FILE *f;

    snprintf(command, sizeof(command), "ls '%s' | wc -l", at(p, below));
    f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

static void test_a_draft_replaces_the_file_at_once(void **state)
{
    struct place *p = *state;
    struct tfd_str name = tfd_str_of(at(p, "root/sub/inner"));
    struct tfd_file_draft d;

    assert_int_equal(tfd_file_draft_open(&d, &p->roots.access, name, &p->st),
                     TFD_OK);
    assert_int_equal(tfd_file_draft_write(&d, "new ", 4, &p->st), TFD_OK);
    assert_int_equal(tfd_file_draft_write(&d, "text", 4, &p->st), TFD_OK);
    assert_int_equal(tfd_file_draft_seal(&d, &p->st), TFD_OK);
    assert_int_equal(entries_of(p, "root/sub"), 2);
    assert_int_equal(try_read(p, at(p, "root/sub/inner"), "inner"), TFD_OK);
    assert_int_equal(tfd_file_draft_publish(&d, &p->st), TFD_OK);
    tfd_file_draft_deinit(&d);
    assert_int_equal(try_read(p, at(p, "root/sub/inner"), "new text"), TFD_OK);
    assert_int_equal(entries_of(p, "root/sub"), 1);
}

static void test_an_abandoned_draft_leaves_nothing(void **state)
{
    struct place *p = *state;

    for (int sealed = 0; sealed < 2; sealed++) {
        struct tfd_str name = tfd_str_of(at(p, "root/sub/inner"));
        struct tfd_file_draft d;

        assert_int_equal(
            tfd_file_draft_open(&d, &p->roots.access, name, &p->st), TFD_OK);
        assert_int_equal(tfd_file_draft_write(&d, "x", 1, &p->st), TFD_OK);
        if (sealed)
            assert_int_equal(tfd_file_draft_seal(&d, &p->st), TFD_OK);
        tfd_file_draft_deinit(&d);
        assert_int_equal(entries_of(p, "root/sub"), 1);
    }
    assert_int_equal(try_read(p, at(p, "root/sub/inner"), "inner"), TFD_OK);
}

/* /dev/full accepts no byte. */
static void test_a_full_disk_is_reported_with_the_name(void **state)
{
    struct place *p = *state;
    struct tfd_str name = tfd_str_of(at(p, "root/sub/inner"));
    struct tfd_file_draft d;

    assert_int_equal(tfd_file_draft_open(&d, &p->roots.access, name, &p->st),
                     TFD_OK);
    close(d.file.fd);
    d.file.fd = open("/dev/full", O_WRONLY);
    assert_int_equal(tfd_file_draft_write(&d, "x", 1, &p->st),
                     TFD_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(p->st.text, "inner.tempstate"));
    assert_non_null(strstr(p->st.text, "; No space left on device"));
    tfd_file_draft_deinit(&d);
    assert_int_equal(entries_of(p, "root/sub"), 1);
}

static void test_a_draft_in_a_missing_directory(void **state)
{
    struct place *p = *state;
    struct tfd_file_draft d;

    assert_int_equal(tfd_file_draft_open(&d, &p->roots.access,
                                         tfd_str_of(at(p, "root/no/file")),
                                         &p->st),
                     TFD_NOT_FOUND);
    assert_non_null(strstr(p->st.text, "; No such file or directory"));
}

/* Precede, then publish; in a directory of one block and in one of more. */
static void test_drafts_one_before_the_other(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file_draft d[2];

    for (int round = 0; round < 2; round++) {
        static const char *const names[] = {"root/sub/first", "root/sub/next"};

        for (int i = 0; i < 2; i++) {
            assert_int_equal(tfd_file_draft_open(
                                 &d[i], a, tfd_str_of(at(p, names[i])), &p->st),
                             TFD_OK);
            assert_int_equal(
                tfd_file_draft_write(&d[i], names[i], strlen(names[i]), &p->st),
                TFD_OK);
            tfd_file_draft_begin(&d[i]);
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(tfd_file_draft_seal(&d[i], &p->st), TFD_OK);
        assert_int_equal(tfd_file_draft_precede(&d[0], &p->st), TFD_OK);
        assert_int_equal(tfd_file_draft_publish(&d[1], &p->st), TFD_OK);
        for (int i = 0; i < 2; i++)
            tfd_file_draft_deinit(&d[i]);
        assert_int_equal(try_read(p, at(p, "root/sub/first"), "root/sub/first"),
                         TFD_OK);
        assert_int_equal(try_read(p, at(p, "root/sub/next"), "root/sub/next"),
                         TFD_OK);
        for (int i = 0; i < 200 && round == 0; i++) {
            char name[200];

            snprintf(name, sizeof(name), "root/sub/%0100d", i);
            put(at(p, name), "");
        }
    }
}

/* Its room is freed by the close; nothing is held outside, nor what is not. */
static void test_what_is_held_may_be_removed(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT;
    struct stat s;

    a->hold(a, tfd_str_of(at(p, "root/plain")), &f);
    assert_true(f.fd >= 0);
    assert_int_equal(a->remove(a, tfd_str_of(at(p, "root/plain")), &p->st),
                     TFD_OK);
    assert_int_equal(fstat(f.fd, &s), 0);
    assert_int_equal(s.st_nlink, 0);
    a->close(a, &f);
    a->hold(a, tfd_str_of(at(p, "root/plain")), &f);
    assert_int_equal(f.fd, -1);
    a->hold(a, tfd_str_of(at(p, "outside/secret")), &f);
    assert_int_equal(f.fd, -1);
}

/* Else a save would fail between what it removes and what it renames. */
static void test_nothing_is_held_of_few_descriptors(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT, more = TFD_FILE_INIT;
    struct rlimit old, few;

    a->hold(a, tfd_str_of(at(p, "root/plain")), &f);
    assert_true(f.fd >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){(rlim_t)f.fd + 4, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    a->hold(a, tfd_str_of(at(p, "root/plain")), &more);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(more.fd, -1);
    a->hold(a, tfd_str_of(at(p, "root/plain")), &more);
    assert_true(more.fd >= 0);
    a->close(a, &more);
    a->close(a, &f);
}

static void test_order_outside_and_of_nothing(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;

    assert_int_equal(a->order_dir(a, tfd_str_of(at(p, "root/x")), &p->st),
                     TFD_OK);
    assert_int_equal(a->order_dir(a, tfd_str_of(at(p, "outside/x")), NULL),
                     TFD_PERMISSION_DENIED);
    assert_int_equal(a->order_dir(a, tfd_str_of(at(p, "root/no/x")), NULL),
                     TFD_NOT_FOUND);
    assert_int_equal(a->order_dir(a, tfd_str_of(at(p, "root/plain/x")), NULL),
                     TFD_FAILED_PRECONDITION);
}

static void test_dirname(void **state)
{
    static const struct {
        const char *name, *dir;
    } cases[] = {
        {"a/b/c", "a/b"},
        {"/a", "/"},
        {"a", ""},
        {"", ""},
        {"a//b", "a"},
        {"/a/", "/a"},
        {"//", "/"},
        {"file:///a/b", "file:///a"},
        {"file:///a", "file:///"},
        {"file://h/a//b", "file://h/a"},
        {"file:/a", "file:"},
        {"1f://a", "1f:"},
        {"file://", "file://"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(tfd_str_is(tfd_file_dirname(tfd_str_of(cases[i].name)),
                               cases[i].dir));
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_changes_outside_are_refused),
        TEST(test_changes_inside),
        TEST(test_a_new_file_is_not_written_through_a_link),
        TEST(test_a_draft_replaces_the_file_at_once),
        TEST(test_an_abandoned_draft_leaves_nothing),
        TEST(test_a_full_disk_is_reported_with_the_name),
        TEST(test_a_draft_in_a_missing_directory),
        TEST(test_drafts_one_before_the_other),
        TEST(test_what_is_held_may_be_removed),
        TEST(test_nothing_is_held_of_few_descriptors),
        TEST(test_order_outside_and_of_nothing),
        cmocka_unit_test(test_dirname),
    };

    return cmocka_run_group_tests_name("file_changes", tests, NULL, NULL);
}
