/*
 * test_cuda_dynamic_library.c - cuda/device/dynamic_library.c: libraries that
 * are opened, with those of C in the place of CUDA's.
 */
#define _GNU_SOURCE /* mkstemp */
#include "cuda/device/dynamic_library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char broken[] = "/tmp/tfd_library_XXXXXX"; /* a file without contents */

static const struct {
    const char *names[TFD_CUDA_LIBRARY_NAMES];
    const char *text; /* NULL: it opens */
} files[] = {
    {{"libm.so.6"}, NULL},
    {{"libtfd_nowhere.so.2", "libm.so.6"}, NULL},
    {{"libtfd_nowhere.so.2", broken, "libm.so.6"}, NULL},
    {{"libtfd_nowhere.so.2"},
     "cuX cannot be opened, tried libtfd_nowhere.so.2: libtfd_nowhere.so.2: "
     "cannot open shared object file: No such file or directory; version 7 is "
     "needed"},
    {{"libtfd_nowhere.so.2", "libtfd_nowhere.so.1", "libtfd_nowhere.so"},
     "tried libtfd_nowhere.so.2, libtfd_nowhere.so.1, libtfd_nowhere.so: "
     "libtfd_nowhere.so.2: cannot open"},
    {{broken}, "too short; version 7 is needed"},
    {{"libtfd_nowhere.so.2"}, "No such file"},
    {{NULL}, "cuX cannot be opened, tried : ; version 7"},
};

static void test_first_name_that_opens_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct tfd_cuda_wanted w = {.title = "cuX", .version = "7"};
        struct tfd_status st = TFD_STATUS_INIT;
        void *handle = &w;
        enum tfd_code rc;

        memcpy(w.names, files[i].names, sizeof(w.names));
        rc = tfd_cuda_library_open(&w, &handle, &st);
        assert_int_equal(rc, files[i].text ? TFD_UNIMPLEMENTED : TFD_OK);
        assert_int_equal(!handle, !!files[i].text);
        if (files[i].text && !strstr(st.text, files[i].text))
            fail_msg("%zu: %s", i, st.text);
    }
}

/* A file that is there says more than names that are nowhere. */
static void test_reason_is_of_what_is_there(void **state)
{
    const struct tfd_cuda_wanted w = {
        "cuX", "7", {"libtfd_nowhere.so.2", broken, "libtfd_nowhere.so"}};
    struct tfd_status st = TFD_STATUS_INIT;
    void *handle;

    (void)state;
    assert_int_equal(tfd_cuda_library_open(&w, &handle, &st),
                     TFD_UNIMPLEMENTED);
    assert_non_null(strstr(st.text, "too short"));
    assert_null(strstr(st.text, "No such file"));
}

static void test_functions_are_found_or_named(void **state)
{
    static const struct tfd_cuda_wanted w = {"cuX", "7", {"libm.so.6"}};
    struct tfd_status st = TFD_STATUS_INIT;
    double (*root)(double) = NULL;
    void (*none)(void) = &abort;
    const struct tfd_cuda_symbol symbols[] = {
        {"sqrt", &root},
        {"tfd_no_such_function", &none},
    };
    void *handle;

    (void)state;
    assert_int_equal(tfd_cuda_library_open(&w, &handle, &st), TFD_OK);
    assert_int_equal(tfd_cuda_library_find_all(handle, &w, symbols, 1, &st),
                     TFD_OK);
    assert_true(root(9) == 3);
    assert_int_equal(tfd_cuda_library_find_all(handle, &w, symbols, 2, &st),
                     TFD_UNIMPLEMENTED);
    assert_string_equal(
        st.text, "this cuX has no tfd_no_such_function; version 7 is needed");
    assert_null(none);
    assert_false(tfd_cuda_library_find(handle, &symbols[1]));
}

static int make_broken(void **state)
{
    int file = mkstemp(broken);

    (void)state;
    return file < 0 ? -1 : close(file);
}

static int remove_broken(void **state)
{
    (void)state;
    return unlink(broken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_name_that_opens_is_taken),
        cmocka_unit_test(test_reason_is_of_what_is_there),
        cmocka_unit_test(test_functions_are_found_or_named),
    };

    return cmocka_run_group_tests(tests, make_broken, remove_broken);
}
