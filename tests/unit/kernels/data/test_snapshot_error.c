/*
 * test_snapshot_error.c - kernels/data_files/snapshot_error.c: what a writer of
 * a snapshot left of its failure, and texts that are none.
 */
#include "kernels/data_files/snapshot_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct text_case {
    const char *text;
    enum tfd_code code;
    const char *message; /* NULL: it is no such text */
};

static void check(const struct text_case *c)
{
    struct tfd_bytes message;
    enum tfd_code code;
    bool ok;

    tfd_bytes_init(&message, 1000);
    ok = tfd_snapshot_error_parse(tfd_str_of(c->text), &code, &message);
    assert_int_equal(c->message != NULL, ok);
    if (ok) {
        assert_int_equal(c->code, code);
        assert_int_equal(strlen(c->message), message.size);
        assert_true(tfd_str_is(tfd_bytes_view(&message), c->message));
    }
    tfd_bytes_deinit(&message);
}

#define CHECK(cases)                                                 \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof(*(cases)); i_++) \
    check(&(cases)[i_])

static void what_writers_leave(void **state)
{
    static const struct text_case cases[] = {
        {"code: ABORTED message: \"a text\"", TFD_ABORTED, "a text"},
        {"code: 9\nmessage: 'it''s'", TFD_FAILED_PRECONDITION, NULL},
        {"code: 9\nmessage: 'it\"s'\n", TFD_FAILED_PRECONDITION, "it\"s"},
        {"message:\"x\"code:OK", TFD_OK, "x"},
        {"message: \"only\"", TFD_OK, "only"},
        {"code: 16", TFD_UNAUTHENTICATED, ""},
        {"code: 17 message: \"x\"", TFD_UNKNOWN, "x"},
        {"", TFD_OK, ""},
        {" \t\n", TFD_OK, ""},
        {"message: \"\"", TFD_OK, ""},
    };

    (void)state;
    CHECK(cases);
}

static void escapes(void **state)
{
    static const struct text_case cases[] = {
        {"message: \"\\n\\r\\t\\\"\\'\\\\\\?\\a\\b\\f\\v\"", TFD_OK,
         "\n\r\t\"'\\?\a\b\f\v"},
        {"message: \"\\101\\60\\7x\\377\"", TFD_OK, "A0\ax\377"},
        {"message: \"\\1011\"", TFD_OK, "A1"},
        {"message: \"\\400\"", TFD_OK, NULL},
        {"message: \"\\8\"", TFD_OK, NULL},
        {"message: \"\\q\"", TFD_OK, NULL},
        {"message: \"\\", TFD_OK, NULL},
        {"message: \"a\\\"", TFD_OK, NULL},
    };

    (void)state;
    CHECK(cases);
}

static void what_is_no_such_text(void **state)
{
    static const struct text_case cases[] = {
        {"code", TFD_OK, NULL},
        {"code:", TFD_OK, NULL},
        {"code: NO_SUCH_CODE", TFD_OK, NULL},
        {"code: -1", TFD_OK, NULL},
        {"code: 9x", TFD_OK, NULL},
        {"code: 99999999999999999999", TFD_OK, NULL},
        {": 9", TFD_OK, NULL},
        {"message", TFD_OK, NULL},
        {"message: ", TFD_OK, NULL},
        {"message: text", TFD_OK, NULL},
        {"message: \"open", TFD_OK, NULL},
        {"message: \"a'", TFD_OK, NULL},
        {"message: \"two\nlines\"", TFD_OK, NULL},
        {"other: \"x\"", TFD_OK, NULL},
        {"message: \"x\" \"y\"", TFD_OK, NULL},
        {"\x01", TFD_OK, NULL},
    };

    (void)state;
    CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_writers_leave),
        cmocka_unit_test(escapes),
        cmocka_unit_test(what_is_no_such_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
