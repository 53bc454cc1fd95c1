/*
 * test_file.c - kernels/io/file_roots.c: what leads out of the roots is
 * refused, with and without openat2.
 */
#define _GNU_SOURCE
#include "tests/unit/kernels/io/file_rig.h"

/* ---- Reading ---------------------------------------------------------------
 */

static void test_files_below_the_root_are_read(void **state)
{
    struct place *p = *state;

    for (int by_comparison = 0; by_comparison < 2; by_comparison++) {
        p->roots.by_comparison = by_comparison != 0;
        assert_int_equal(try_read(p, at(p, "root/plain"), "plain"), TFD_OK);
        assert_int_equal(try_read(p, at(p, "root//sub/./inner"), "inner"),
                         TFD_OK);
        assert_int_equal(try_read(p, at(p, "root/sub/../plain"), "plain"),
                         TFD_OK);
        assert_int_equal(try_read(p, at(p, "outside/../root/plain"), "plain"),
                         TFD_OK);
    }
}

static void test_relative_names_start_at_the_working_directory(void **state)
{
    struct place *p = *state;
    char before[512];

    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(at(p, "root/sub")), 0);
    assert_int_equal(try_read(p, "inner", "inner"), TFD_OK);
    assert_int_equal(try_read(p, "../plain", "plain"), TFD_OK);
    assert_int_equal(try_read(p, "../../outside/secret", ""),
                     TFD_PERMISSION_DENIED);
    assert_int_equal(chdir(before), 0);
}

static void test_links_that_stay_below_are_followed(void **state)
{
    struct place *p = *state;
    char to[600];

    snprintf(to, sizeof(to), "%s/root/plain", p->top);
    assert_int_equal(symlink("sub/inner", at(p, "root/relative")), 0);
    assert_int_equal(symlink(to, at(p, "root/absolute")), 0);
    for (int by_comparison = 0; by_comparison < 2; by_comparison++) {
        p->roots.by_comparison = by_comparison != 0;
        assert_int_equal(try_read(p, at(p, "root/relative"), "inner"), TFD_OK);
        assert_int_equal(try_read(p, at(p, "root/absolute"), "plain"), TFD_OK);
    }
}

static void test_names_may_have_the_scheme_of_files(void **state)
{
    static const struct {
        const char *before, *name;
        enum tfd_code code;
    } cases[] = {
        {"file://", "root/plain", TFD_OK},
        {"file://any.host", "root/plain", TFD_OK},
        {"file://", "root/missing", TFD_NOT_FOUND},
        {"file://", "root/../outside/secret", TFD_PERMISSION_DENIED},
        {"file://", "root/sub/../../outside/secret", TFD_PERMISSION_DENIED},
        {"file://..", "outside/secret", TFD_PERMISSION_DENIED},
        {"file://file://", "root/plain", TFD_OK}, /* the host is no host */
        {"file:", "root/plain", TFD_PERMISSION_DENIED}, /* a relative name */
        {"FILE://", "root/plain", TFD_UNIMPLEMENTED},
        {"gs://", "root/plain", TFD_UNIMPLEMENTED},
    };
    struct place *p = *state;
    char name[700];

    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(name, sizeof(name), "%s%s", cases[i].before,
                 at(p, cases[i].name));
        assert_int_equal(try_read(p, name, cases[i].code ? "" : "plain"),
                         cases[i].code);
        if (cases[i].code != TFD_OK)
            assert_non_null(strstr(p->st.text, name));
    }
    assert_int_equal(try_read(p, "file://", ""), TFD_PERMISSION_DENIED);
    assert_int_equal(try_read(p, "file:///etc/hostname", ""),
                     TFD_PERMISSION_DENIED);
}

/* A link that leads out and into a loop tells no more than one that leads out.
 */
static void test_links_in_a_circle(void **state)
{
    struct place *p = *state;

    assert_int_equal(symlink("two", at(p, "root/one")), 0);
    assert_int_equal(symlink("one", at(p, "root/two")), 0);
    assert_int_equal(symlink("loop", at(p, "outside/loop")), 0);
    assert_int_equal(symlink("../outside/loop", at(p, "root/out")), 0);
    assert_int_equal(try_read(p, at(p, "root/one"), ""), TFD_UNKNOWN);
    assert_non_null(strstr(p->st.text, "Too many levels of symbolic links"));
    assert_int_equal(try_read(p, at(p, "root/two/x"), ""), TFD_UNKNOWN);
    assert_int_equal(try_read(p, at(p, "root/out"), ""), TFD_PERMISSION_DENIED);
    assert_int_equal(try_read(p, at(p, "outside/loop"), ""),
                     TFD_PERMISSION_DENIED);
}

static void test_what_is_no_file_is_not_replaced(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct stat s;

    assert_int_equal(mkfifo(at(p, "root/fifo"), 0600), 0);
    for (int i = 0; i < 2; i++) {
        char to[600];

        snprintf(to, sizeof(to), "%s", at(p, i ? "root/fifo" : "root/new"));
        put(at(p, "root/plain"), "plain");
        assert_int_equal(a->rename(a, tfd_str_of(at(p, "root/plain")),
                                   tfd_str_of(to), &p->st),
                         i ? TFD_FAILED_PRECONDITION : TFD_OK);
    }
    assert_non_null(strstr(p->st.text, "root/fifo; Not a regular file"));
    assert_int_equal(lstat(at(p, "root/fifo"), &s), 0);
    assert_true(S_ISFIFO(s.st_mode));
}

static void test_a_root_may_be_named_through_a_link(void **state)
{
    struct place *p = *state;

    assert_int_equal(symlink("root", at(p, "alias")), 0);
    tfd_file_roots_deinit(&p->roots);
    open_roots(p, at(p, "alias"));
    assert_int_equal(try_read(p, at(p, "alias/plain"), "plain"), TFD_OK);
    assert_int_equal(try_read(p, at(p, "root/plain"), "plain"), TFD_OK);
}

static void test_whatever_leads_out_is_refused(void **state)
{
    static const char *const names[] = {
        "outside/secret",
        "outside/nothing", /* the same as if it were there */
        "root/../outside/secret",
        "root/sub/../../outside/secret",
        "root/link",
        "root/linked/secret",
        "root/chain",
        "root/self",
        "root/process/environ",
        "roots", /* begins like the root, is another */
        "root/../../../../../../../etc/hostname",
    };
    struct place *p = *state;
    char fd_link[32];
    int fd = open(at(p, "outside/secret"), O_RDONLY);

    assert_true(fd >= 0);
    snprintf(fd_link, sizeof(fd_link), "/proc/self/fd/%d", fd);
    put(at(p, "roots"), "other");
    assert_int_equal(symlink("../outside/secret", at(p, "root/link")), 0);
    assert_int_equal(symlink("../outside", at(p, "root/linked")), 0);
    assert_int_equal(symlink("link", at(p, "root/chain")), 0);
    assert_int_equal(symlink(fd_link, at(p, "root/self")), 0);
    assert_int_equal(symlink("/proc/self", at(p, "root/process")), 0);
    for (int by_comparison = 0; by_comparison < 2; by_comparison++) {
        p->roots.by_comparison = by_comparison != 0;
        for (size_t i = 0; i < COUNT(names); i++) {
            assert_int_equal(try_read(p, at(p, names[i]), ""),
                             TFD_PERMISSION_DENIED);
            assert_non_null(strstr(p->st.text, "--file_root"));
        }
    }
    close(fd);
}

static void test_only_regular_files_are_opened(void **state)
{
    struct place *p = *state;

    assert_int_equal(mkfifo(at(p, "root/fifo"), 0644), 0);
    assert_int_equal(try_read(p, at(p, "root/fifo"), ""),
                     TFD_FAILED_PRECONDITION);
    assert_int_equal(try_read(p, at(p, "root/sub"), ""),
                     TFD_FAILED_PRECONDITION);
    assert_non_null(strstr(p->st.text, "; Is a directory"));

    tfd_file_roots_deinit(&p->roots);
    open_roots(p, "/");
    assert_int_equal(try_read(p, "/dev/null", ""), TFD_FAILED_PRECONDITION);
    assert_int_equal(try_read(p, "/dev/zero", ""), TFD_FAILED_PRECONDITION);
}

static void test_the_root_of_everything_admits_everything(void **state)
{
    struct place *p = *state;
    char to[600];

    snprintf(to, sizeof(to), "%s/outside", p->top);
    assert_int_equal(symlink(to, at(p, "absolute")), 0);
    tfd_file_roots_deinit(&p->roots);
    open_roots(p, "/");
    for (int by_comparison = 0; by_comparison < 2; by_comparison++) {
        p->roots.by_comparison = by_comparison != 0;
        assert_int_equal(try_read(p, at(p, "outside/secret"), "secret"),
                         TFD_OK);
        assert_int_equal(try_read(p, at(p, "absolute/secret"), "secret"),
                         TFD_OK);
        assert_int_equal(try_read(p, "/nonexistent/file", ""), TFD_NOT_FOUND);
        assert_string_equal(p->st.text,
                            "/nonexistent/file; No such file or directory");
    }
}

static void test_no_root_refuses_everything(void **state)
{
    struct place *p = *state;

    tfd_file_roots_deinit(&p->roots);
    open_roots(p, NULL);
    assert_int_equal(try_read(p, at(p, "root/plain"), ""),
                     TFD_PERMISSION_DENIED);
    assert_non_null(strstr(p->st.text, "without --file_root"));
}

static void test_names_no_file_can_have(void **state)
{
    struct place *p = *state;
    static const char with_nul[] = "root/plain\0.txt";
    struct tfd_bytes out;
    char name[6000];

    tfd_bytes_init(&out, 64);
    assert_int_equal(
        tfd_file_read_all(&p->roots.access, TFD_STR(with_nul), &out, NULL),
        TFD_INVALID_ARGUMENT);
    tfd_bytes_deinit(&out);

    assert_int_equal(try_read(p, "", ""), TFD_NOT_FOUND);
    snprintf(name, sizeof(name), "%s/root/%0300d", p->top, 1);
    assert_int_equal(try_read(p, name, ""), TFD_INVALID_ARGUMENT);
    snprintf(name, sizeof(name), "%s/root/%05000d", p->top, 1);
    assert_int_equal(try_read(p, name, ""), TFD_INVALID_ARGUMENT);
    assert_int_equal(try_read(p, at(p, "root/plain/below"), ""),
                     TFD_FAILED_PRECONDITION);
    assert_int_equal(try_read(p, at(p, "root/missing"), ""), TFD_NOT_FOUND);
}

static void test_a_file_over_the_limit_is_not_read(void **state)
{
    struct place *p = *state;
    struct tfd_bytes out;

    tfd_bytes_init(&out, 4);
    assert_int_equal(tfd_file_read_all(&p->roots.access,
                                       tfd_str_of(at(p, "root/plain")), &out,
                                       &p->st),
                     TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(out.size, 0);
    tfd_bytes_deinit(&out);
}

static void test_reading_past_the_end_fails(void **state)
{
    struct place *p = *state;
    struct tfd_file_access *a = &p->roots.access;
    struct tfd_file f = TFD_FILE_INIT;
    char data[8];

    assert_int_equal(
        a->open_read(a, tfd_str_of(at(p, "root/plain")), &f, &p->st), TFD_OK);
    assert_int_equal(f.size, 5);
    assert_int_equal(a->read_at(a, &f, 2, data, 3, &p->st), TFD_OK);
    assert_memory_equal(data, "ain", 3);
    assert_int_equal(a->read_at(a, &f, 2, data, 4, NULL), TFD_OUT_OF_RANGE);
    assert_int_equal(a->read_at(a, &f, UINT64_MAX, data, 1, NULL),
                     TFD_OUT_OF_RANGE);
    a->close(a, &f);
    a->close(a, &f); /* closing twice does nothing */
}

static void test_a_missing_root_is_named(void **state)
{
    const char *dirs[] = {"/tmp", "/nonexistent/root"};
    struct place *p = *state;
    struct tfd_file_roots r;

    assert_int_equal(tfd_file_roots_init(&r, dirs, 2, &p->st), TFD_NOT_FOUND);
    assert_non_null(strstr(p->st.text, "--file_root"));
    assert_non_null(strstr(p->st.text, "/nonexistent/root"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_files_below_the_root_are_read),
        TEST(test_relative_names_start_at_the_working_directory),
        TEST(test_links_that_stay_below_are_followed),
        TEST(test_names_may_have_the_scheme_of_files),
        TEST(test_links_in_a_circle),
        TEST(test_what_is_no_file_is_not_replaced),
        TEST(test_a_root_may_be_named_through_a_link),
        TEST(test_whatever_leads_out_is_refused),
        TEST(test_only_regular_files_are_opened),
        TEST(test_the_root_of_everything_admits_everything),
        TEST(test_no_root_refuses_everything),
        TEST(test_names_no_file_can_have),
        TEST(test_a_file_over_the_limit_is_not_read),
        TEST(test_reading_past_the_end_fails),
        TEST(test_a_missing_root_is_named),
    };

    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
