/*
 * test_csv_record.c - kernels/data_sources/csv_record.c: records whose bytes
 * come in pieces of any size, and what is wrong in them.
 *
 * The test is the file: it gives its bytes a few at a time.
 */
#include "kernels/data_sources/csv_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct source {
    struct tfd_str rest;
    size_t piece;  /* bytes that are there at once */
    size_t broken; /* reading fails when no more than so many are left */
} source;

enum tfd_code tfd_data_file_peek(struct tfd_data_file *f, struct tfd_str *out,
                                 struct tfd_status *st)
{
    (void)f;
    if (source.rest.size < source.broken)
        return tfd_fail(st, TFD_DATA_LOSS, "the disk is gone");
    *out = source.rest;
    if (out->size > source.piece)
        out->size = source.piece;
    return TFD_OK;
}

void tfd_data_file_skip(struct tfd_data_file *f, size_t size)
{
    (void)f;
    assert_true(size <= source.rest.size && size <= source.piece);
    source.rest.data += size;
    source.rest.size -= size;
}

/* "a|b|" of a record's fields. */
static enum tfd_code add_field(void *arg, struct tfd_str field,
                               struct tfd_status *st)
{
    struct tfd_bytes *text = arg;

    if (tfd_str_is(field, "bad"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "no number");
    tfd_bytes_add_str(text, field);
    tfd_bytes_add(text, "|", 1);
    return TFD_OK;
}

struct csv_case {
    const char *text;
    /* Of each record, one behind the other: fields, or "!" and a part of its
     * failure, and ";". */
    const char *want;
    char delimiter;
    bool no_quotes;
    struct tfd_csv_columns columns;
};

static void add_record(struct tfd_bytes *all, const struct tfd_bytes *fields,
                       const struct tfd_status *st)
{
    if (st->code == TFD_OK)
        tfd_bytes_add_str(all, tfd_bytes_view(fields));
    else
        tfd_bytes_printf(all, "!%s", st->text);
    tfd_bytes_add(all, ";", 1);
}

static void read_all(const struct csv_case *c, size_t piece, size_t broken,
                     struct tfd_bytes *all)
{
    struct tfd_bytes fields;
    struct tfd_csv_reader r = {
        .delimiter = c->delimiter ? c->delimiter : ',',
        .has_quotes = !c->no_quotes,
        .columns = c->columns,
        .field = add_field,
        .arg = &fields,
    };
    bool end = false;

    source = (struct source){tfd_str_of(c->text), piece, broken};
    tfd_bytes_init(&r.text, 100);
    for (int i = 0; i < 100 && !end; i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        tfd_bytes_init(&fields, 1000);
        (void)!tfd_csv_record(&r, &end, &st);
        if (!end)
            add_record(all, &fields, &st);
        tfd_bytes_deinit(&fields);
        if (st.code == TFD_DATA_LOSS)
            break;
    }
    tfd_bytes_deinit(&r.text);
}

static void check(const struct csv_case *c)
{
    for (size_t piece = 1; piece < strlen(c->text) + 2; piece++) {
        struct tfd_bytes all;

        tfd_bytes_init(&all, 1000);
        read_all(c, piece, 0, &all);
        tfd_bytes_add(&all, "", 1);
        assert_string_equal(c->want, all.data);
        tfd_bytes_deinit(&all);
    }
}

#define CHECK(cases)                                                 \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof(*(cases)); i_++) \
    check(&(cases)[i_])

static void fields_of_records(void **state)
{
    static const struct csv_case cases[] = {
        {.text = "", .want = ""},
        {.text = "a", .want = "a|;"},
        {.text = "\n", .want = "|;"},
        {.text = ",", .want = "||;"},
        {.text = "a,b\nc,\n", .want = "a|b|;c||;"},
        {.text = "a\rb\r\nc\n\rd", .want = "a|;b|;c|;|;d|;"},
        {.text = "a;b,c", .want = "a|b,c|;", .delimiter = ';'},
        {.text = "a\tb", .want = "a|b|;", .delimiter = '\t'},
        {.text = "\"a\"", .want = "a|;"},
        {.text = "\"\"", .want = "|;"},
        {.text = "\"\"\"\"\n", .want = "\"|;"},
        {.text = "\"a,\nb\",\"c\"\"d\"\r\ne", .want = "a,\nb|c\"d|;e|;"},
        {.text = "\"a\rb\"", .want = "a\rb|;"},
        {.text = "a\"b,\"c\"\n", .want = "a\"b|\"c\"|;", .no_quotes = true},
        {.text = "a\"b\"c",
         .want = "a|b|c|;",
         .delimiter = '"',
         .no_quotes = true},
    };

    (void)state;
    CHECK(cases);
}

/* The record behind it can be read. */
static void what_is_wrong_in_a_record(void **state)
{
    static const struct csv_case cases[] = {
        {.text = "a\"b\nc",
         .want = "!Unquoted fields cannot have quotes inside;c|;"},
        {.text = "\"a\"b\",c\nd",
         .want = "!Quote inside a string has to be escaped by another quote;"
                 "d|;"},
        {.text = "\"a\"b\nc\"\nd",
         .want = "!Quote inside a string has to be escaped by another quote;"
                 "d|;"},
        {.text = "bad,a\"\nb", .want = "!no number;b|;"},
        {.text = "a,bad\nbad\nb", .want = "!no number;!no number;b|;"},
    };

    (void)state;
    CHECK(cases);
}

/* A field in quotes that nothing ends, and a field that is too long. */
static void fields_without_end(void **state)
{
    struct csv_case open = {.text = "a,\"b\nc"};
    char text[300];
    struct csv_case longer = {.text = text};
    struct tfd_bytes all;

    (void)state;
    for (size_t piece = 1; piece < 9; piece++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_bytes fields;
        struct tfd_csv_reader r = {.delimiter = ',',
                                   .has_quotes = true,
                                   .field = add_field,
                                   .arg = &fields};
        bool end;

        tfd_bytes_init(&fields, 100);
        tfd_bytes_init(&r.text, 100);
        source = (struct source){tfd_str_of(open.text), piece, 0};
        assert_int_equal(TFD_INVALID_ARGUMENT, tfd_csv_record(&r, &end, &st));
        assert_false(end);
        assert_non_null(strstr(st.text, "without closing quoted field"));
        assert_int_equal(TFD_OK, tfd_csv_record(&r, &end, NULL));
        assert_true(end);
        tfd_bytes_deinit(&fields);
        tfd_bytes_deinit(&r.text);
    }
    memset(text, 'x', sizeof(text));
    memcpy(text + sizeof(text) - 3, "\nb", 3);
    tfd_bytes_init(&all, 1000);
    read_all(&longer, 7, 0, &all);
    tfd_bytes_add(&all, "", 1);
    assert_non_null(strstr(all.data, "!a field does not fit: "));
    assert_non_null(strstr(all.data, ";b|;"));
    tfd_bytes_deinit(&all);
}

static void columns_that_are_wanted(void **state)
{
    static const int64_t odd[] = {1, 3}, first[] = {0}, none[] = {9};
    static const struct csv_case cases[] = {
        {.text = "a,b,c,d,e\nf,g",
         .want = "b|d|;g|;",
         .columns = {.selected = odd, .selected_count = 2}},
        {.text = "a,b,c,d,e\nf,g",
         .want = "a|c|e|;f|;",
         .columns = {.excluded = odd, .excluded_count = 2}},
        {.text = "a,b\nc",
         .want = "a|;c|;",
         .columns = {.selected = first, .selected_count = 1}},
        {.text = "a,b\nc",
         .want = ";;",
         .columns = {.selected = none, .selected_count = 1}},
        {.text = "a,b\nc",
         .want = "a|b|;c|;",
         .columns = {.excluded = none, .excluded_count = 1}},
        /* What nobody wants may be no number. */
        {.text = "bad,b\nbad",
         .want = "b|;;",
         .columns = {.excluded = first, .excluded_count = 1}},
        {.text = "\"x\"\"y\",b",
         .want = "b|;",
         .columns = {.selected = odd, .selected_count = 2}},
    };

    (void)state;
    CHECK(cases);
}

/* Wherever it breaks, it is the file's failure, and no field is made up. */
static void a_file_that_breaks(void **state)
{
    static const char text[] = "ab,\"c\"\"d\"\r\nef,g\n";
    const struct csv_case c = {.text = text};

    (void)state;
    for (size_t left = 1; left <= strlen(text); left++) {
        struct tfd_bytes all;

        tfd_bytes_init(&all, 1000);
        read_all(&c, 3, left, &all);
        tfd_bytes_add(&all, "", 1);
        assert_non_null(strstr(all.data, "!the disk is gone;"));
        if (left == strlen(text))
            assert_null(strstr(all.data, "!the disk is gone;!"));
        tfd_bytes_deinit(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_records),
        cmocka_unit_test(what_is_wrong_in_a_record),
        cmocka_unit_test(fields_without_end),
        cmocka_unit_test(columns_that_are_wanted),
        cmocka_unit_test(a_file_that_breaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
