/*
 * table.c - see table.h.
 *
 * All cells are made, then measured, then printed, so that a column is as wide
 * as its widest cell; a width is counted in characters.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "tools/ctl/table.h"

#include "common/base/unicode.h"
#include "tools/ctl/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_MAX 16
#define GAP 2
#define NARROW 8 /* no column is cut to less */

struct cells {
    const struct tfd_ctl *ctl;
    const struct tfd_ctl_column *columns;
    size_t count, row_count;
    size_t shown; /* of the columns, the first ones */
    char **text;  /* by row, then column */
    size_t width[COLUMNS_MAX];
    bool right[COLUMNS_MAX]; /* numbers only */
};

size_t tfd_ctl_terminal(const struct tfd_ctl *c)
{
    int fd = fileno(c->to);
    struct winsize size;

    if (fd < 0 || !isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* ---- Cells --------------------------------------------------------------- */

static const json_t *value_at(const json_t *row, const char *key)
{
    while (row && *key) {
        size_t size = strcspn(key, ".");

        row = json_object_getn(row, key, size);
        key += size + (key[size] == '.');
    }
    return row;
}

/* Characters that steer a terminal are none of a cell. */
static void clean(char *text)
{
    while (*text) {
        size_t size =
            tfd_unicode_shown((struct tfd_str){text, strnlen(text, 4)});

        if (size == 0)
            *text = '?';
        text += size > 0 ? size : 1;
    }
}

static void write_number(const json_t *v, enum tfd_ctl_format format,
                         char *text, size_t size)
{
    char number[TFD_CTL_NUMBER_SIZE];
    double value = json_number_value(v);

    if (format == TFD_CTL_BYTES || format == TFD_CTL_SPARE_BYTES)
        snprintf(text, size, "%s", tfd_ctl_bytes(value, number));
    else if (format == TFD_CTL_US)
        snprintf(text, size, "%s", tfd_ctl_time(value, number));
    else if (format == TFD_CTL_MS)
        snprintf(text, size, "%s", tfd_ctl_time(value * 1e3, number));
    else if (format == TFD_CTL_SECONDS)
        snprintf(text, size, "%s", tfd_ctl_time(value * 1e6, number));
    else if (json_is_integer(v))
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else
        snprintf(text, size, value >= 1e6 ? "%.0f" : "%.6g", value);
}

void tfd_ctl_table_cell(const json_t *v, enum tfd_ctl_format format, char *text,
                        size_t size)
{
    char *json;

    if (!v || json_is_null(v)) {
        snprintf(text, size, "-");
    } else if (json_is_string(v)) {
        snprintf(text, size, "%s", json_string_value(v));
    } else if (json_is_number(v)) {
        write_number(v, format, text, size);
    } else if (json_is_boolean(v)) {
        snprintf(text, size, "%s", json_is_true(v) ? "yes" : "no");
    } else {
        json = json_dumps(v, JSON_COMPACT | JSON_ENSURE_ASCII);
        snprintf(text, size, "%s", json ? json : "-");
        free(json);
    }
    clean(text);
}

/* Characters, of which continuation bytes are none. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool make_cells(struct cells *t, const json_t *rows)
{
    char text[TFD_CTL_CELL_SIZE];
    const json_t *row;
    size_t i;

    t->text = calloc(t->row_count * t->count + 1, sizeof(*t->text));
    if (!t->text)
        return false;
    for (size_t k = 0; k < t->count; k++) {
        t->width[k] = width_of(t->columns[k].title);
        t->right[k] = t->row_count > 0;
    }
    json_array_foreach((json_t *)rows, i, row)
    {
        for (size_t k = 0; k < t->count; k++) {
            const json_t *v = value_at(row, t->columns[k].key);
            size_t width;

            tfd_ctl_table_cell(v, t->columns[k].format, text, sizeof(text));
            t->text[i * t->count + k] = strdup(text);
            width = width_of(text);
            if (width > t->width[k])
                t->width[k] = width;
            if (v && !json_is_number(v) && !json_is_null(v))
                t->right[k] = false;
        }
    }
    return true;
}

/* ---- Widths -------------------------------------------------------------- */

/* The widest column loses a character until all fit, or none can; then spare
 * ones go. */
static void fit(struct cells *t, size_t room)
{
    for (;;) {
        size_t sum = GAP * (t->shown - 1), widest = 0;

        for (size_t k = 0; k < t->shown; k++) {
            sum += t->width[k];
            if (t->width[k] > t->width[widest])
                widest = k;
        }
        if (sum <= room)
            return;
        if (t->width[widest] > NARROW)
            t->width[widest]--;
        else if (t->columns[t->shown - 1].format == TFD_CTL_SPARE_BYTES)
            t->shown--;
        else
            return;
    }
}

/* ---- Printing ------------------------------------------------------------ */

static const char *colour_of(const struct cells *t, size_t k, const char *text)
{
    static const struct {
        const char *word, *colour;
    } states[] = {
        {"up", "32"},      {"ok", "32"},      {"serving", "32"},
        {"ready", "32"},   {"silent", "33"},  {"draining", "33"},
        {"waiting", "33"}, {"stuck", "31"},   {"refused", "31"},
        {"dead", "31"},    {"damaged", "31"}, {"down", "31"},
        {"failed", "31"},  {"lost", "31"},
    };

    if (t->columns[k].format != TFD_CTL_STATE)
        return NULL;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strncmp(text, states[i].word, strlen(states[i].word)) == 0)
            return states[i].colour;
    return NULL;
}

/* At most `width` characters; the last of a cut text is '~'. */
static void put_text(FILE *to, const char *text, size_t width)
{
    size_t all = width_of(text), put = 0;

    for (; *text; text++) {
        if (((unsigned char)*text & 0xc0) != 0x80 &&
            put++ == (all > width ? width - 1 : width)) {
            fputc('~', to);
            return;
        }
        fputc(*text, to);
    }
}

static void put_cell(const struct cells *t, size_t k, const char *text,
                     const char *colour, bool last)
{
    FILE *to = t->ctl->to;
    size_t width = width_of(text), room = t->width[k];
    int blanks = width < room ? (int)(room - width) : 0;

    if (t->right[k])
        fprintf(to, "%*s", blanks, "");
    if (colour)
        fprintf(to, "\033[%sm", colour);
    put_text(to, text, room);
    if (colour)
        fputs("\033[0m", to);
    if (last)
        fputc('\n', to);
    else
        fprintf(to, "%*s", (t->right[k] ? 0 : blanks) + GAP, "");
}

/* Without blanks behind the last cell that has something. */
static void put_row(const struct cells *t, char *const *texts, bool coloured)
{
    size_t shown = t->shown;

    while (shown > 1 && texts[shown - 1] && !*texts[shown - 1])
        shown--;
    for (size_t k = 0; k < shown; k++) {
        const char *text = texts[k] ? texts[k] : "-";

        put_cell(t, k, text, coloured ? colour_of(t, k, text) : NULL,
                 k + 1 == shown);
    }
}

void tfd_ctl_table(const struct tfd_ctl *c, const json_t *rows,
                   const struct tfd_ctl_column *columns, size_t count)
{
    struct cells t = {
        .ctl = c, .columns = columns, .count = count, .shown = count};
    size_t room = tfd_ctl_terminal(c);

    t.row_count = json_array_size(rows);
    if (count > COLUMNS_MAX || !make_cells(&t, rows)) {
        fprintf(c->err, "tfdctl: %s: out of memory\n", c->verb);
        return;
    }
    if (room > 0)
        fit(&t, room);
    for (size_t k = 0; k < t.shown; k++)
        put_cell(&t, k, columns[k].title, room > 0 ? "1" : NULL,
                 k + 1 == t.shown);
    for (size_t i = 0; i < t.row_count; i++)
        put_row(&t, &t.text[i * count], room > 0);
    for (size_t i = 0; i < t.row_count * count; i++)
        free(t.text[i]);
    free(t.text);
}
