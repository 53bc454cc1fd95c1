/*
 * csv_record.c - see csv_record.h.
 */
#include "kernels/data_sources/csv_record.h"

enum { AT_END = -1, FAILED = -2 }; /* else: a byte */

struct record {
    struct tfd_csv_reader *r;
    struct tfd_status *st; /* the first failure */
    bool includes;         /* the field that is read */
    bool is_over;
    bool broken; /* the file cannot be read */
};

/* ---- Bytes --------------------------------------------------------------- */

static int peek(struct record *c)
{
    struct tfd_str bytes;

    if (c->broken)
        return FAILED;
    if (tfd_data_file_peek(c->r->file, &bytes, c->st) != TFD_OK) {
        c->broken = c->is_over = true;
        return FAILED;
    }
    return bytes.size ? (unsigned char)bytes.data[0] : AT_END;
}

static void take(struct record *c)
{
    tfd_data_file_skip(c->r->file, 1);
}

/* How many bytes of a field come before one that means something. */
static size_t plain_bytes(const struct tfd_csv_reader *r, struct tfd_str bytes,
                          bool quoted)
{
    size_t n = 0;

    while (n < bytes.size && bytes.data[n] != '"' &&
           (quoted || (bytes.data[n] != r->delimiter && bytes.data[n] != '\n' &&
                       bytes.data[n] != '\r')))
        n++;
    return n;
}

/* Takes them all; the next byte is returned and still there. */
static int take_plain(struct record *c, bool quoted)
{
    struct tfd_csv_reader *r = c->r;
    struct tfd_str bytes;
    int next;

    while ((next = peek(c)) >= 0) {
        size_t n;

        (void)!tfd_data_file_peek(r->file, &bytes, NULL);
        n = plain_bytes(r, bytes, quoted);
        if (n == 0)
            return next;
        if (c->includes)
            tfd_bytes_add(&r->text, bytes.data, n);
        tfd_data_file_skip(r->file, n);
    }
    return next;
}

/* ---- Fields -------------------------------------------------------------- */

static void wrong(struct record *c, const char *why)
{
    (void)!tfd_fail(c->st, TFD_INVALID_ARGUMENT, "%s", why);
}

static void give_field(struct record *c)
{
    struct tfd_csv_reader *r = c->r;

    if (!c->includes || tfd_bytes_ok(&r->text, "a field", c->st) != TFD_OK)
        return;
    (void)!r->field(r->arg, tfd_bytes_view(&r->text), c->st);
}

/* The byte behind a field; both of \r\n are one end. */
static void end_field(struct record *c, int next)
{
    give_field(c);
    if (next == AT_END || next == '\n' || next == '\r')
        c->is_over = true;
    if (next >= 0)
        take(c);
    if (next == '\r' && peek(c) == '\n')
        take(c);
}

static void read_unquoted(struct record *c)
{
    const struct tfd_csv_reader *r = c->r;
    int next;

    while ((next = take_plain(c, false)) == '"' && r->delimiter != '"') {
        if (r->has_quotes)
            wrong(c, "Unquoted fields cannot have quotes inside");
        if (c->includes)
            tfd_bytes_add(&c->r->text, "\"", 1);
        take(c);
    }
    if (next != FAILED)
        end_field(c, next);
}

/* What comes behind a quotation mark within a quoted field; true: its end. */
static bool is_field_end(const struct tfd_csv_reader *r, int next)
{
    return next == AT_END || next == r->delimiter || next == '\n' ||
           next == '\r';
}

/* Behind the first quotation mark. */
static void read_quoted(struct record *c)
{
    const char *why = NULL;
    int next;

    while ((next = take_plain(c, true)) >= 0) {
        take(c);
        next = peek(c);
        if (next == FAILED)
            return;
        if (is_field_end(c->r, next)) {
            if (why)
                wrong(c, why);
            end_field(c, next);
            return;
        }
        if (next != '"') {
            c->includes = false;
            why = "Quote inside a string has to be escaped by another quote";
        } else if (c->includes) {
            tfd_bytes_add(&c->r->text, "\"", 1);
        }
        take(c);
    }
    if (next == AT_END)
        wrong(c, "Reached end of file without closing quoted field in record");
}

static void read_field(struct record *c)
{
    int next = peek(c);

    tfd_bytes_clear(&c->r->text);
    if (next == FAILED)
        return;
    if (next == AT_END) {
        end_field(c, next);
        return;
    }
    if (next != '"' || !c->r->has_quotes) {
        read_unquoted(c);
        return;
    }
    take(c);
    read_quoted(c);
}

/* ---- Records ------------------------------------------------------------- */

/* Where the columns have come to. */
struct place {
    int64_t column, selected, excluded;
};

static bool is_included(const struct tfd_csv_reader *r, struct place *at)
{
    const struct tfd_csv_columns *c = &r->columns;
    bool excluded = at->excluded < c->excluded_count &&
                    c->excluded[at->excluded] == at->column;
    bool included = c->selected_count == 0 && c->excluded_count == 0;

    if (c->selected_count > 0)
        included = at->selected < c->selected_count &&
                   c->selected[at->selected] == at->column;
    if (c->excluded_count > 0)
        included = included || !excluded;
    at->column++;
    at->selected += included;
    at->excluded += excluded;
    return included && r->field;
}

enum tfd_code tfd_csv_record(struct tfd_csv_reader *r, bool *end,
                             struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct record c = {.r = r, .st = &why};
    struct place at = {0, 0, 0};

    *end = peek(&c) == AT_END;
    if (*end)
        return TFD_OK;
    while (!c.is_over) {
        c.includes = is_included(r, &at);
        read_field(&c);
    }
    return tfd_status_copy(st, &why);
}
