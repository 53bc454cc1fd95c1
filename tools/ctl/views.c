/*
 * views.c - tfdctl status, sessions, variables, steps, top: parts of the
 * document of a task (status.h) as tables.
 *
 * Columns come from the document: each key of a row whose value is no list, in
 * the order of the document, and the end of a key says what its number is
 * (bytes, us, ms, seconds).  So a field that the document gains is shown, and
 * one that it lacks is not.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "tools/ctl/report.h"
#include "tools/ctl/status.h"
#include "tools/ctl/table.h"

#include <ctype.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 9 /* columns */
#define TITLE_SIZE 40
#define KEY_SIZE 96
#define LOOKED_MAX 50 /* rows that keys are taken from */
#define TOP_MS 1000

struct chosen {
    char titles[SHOWN_MAX][TITLE_SIZE];
    char keys[SHOWN_MAX][KEY_SIZE];
    struct tfd_ctl_column columns[SHOWN_MAX];
    size_t count;
};

/* ---- Columns ------------------------------------------------------------- */

static const struct unit {
    const char *end;
    enum tfd_ctl_format format;
} units[] = {
    {"bytes", TFD_CTL_BYTES}, {"_us", TFD_CTL_US},
    {"_ms", TFD_CTL_MS},      {"seconds", TFD_CTL_SECONDS},
    {"_s", TFD_CTL_SECONDS},  {"state", TFD_CTL_STATE},
};

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);

    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* "AGE" of "age_us". */
static void name_column(struct chosen *s, const char *key)
{
    size_t at = s->count, size = strlen(key);
    enum tfd_ctl_format format = TFD_CTL_PLAIN;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (!ends_with(key, units[i].end))
            continue;
        format = units[i].format;
        if (size > strlen(units[i].end) && format != TFD_CTL_STATE)
            size -= strlen(units[i].end);
        break;
    }
    while (size > 1 && key[size - 1] == '_')
        size--;
    size = size < TITLE_SIZE - 1 ? size : TITLE_SIZE - 1;
    for (size_t i = 0; i < size; i++)
        s->titles[at][i] = key[i] == '_' || key[i] == '.'
                               ? ' '
                               : (char)toupper((unsigned char)key[i]);
    s->titles[at][size] = '\0';
    snprintf(s->keys[at], KEY_SIZE, "%s", key);
    s->columns[at] =
        (struct tfd_ctl_column){s->titles[at], s->keys[at], format};
    s->count++;
}

static void add_key(struct chosen *s, const char *key)
{
    if (s->count == SHOWN_MAX || strlen(key) >= KEY_SIZE)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->keys[i], key) == 0)
            return;
    name_column(s, key);
}

static void choose_columns(struct chosen *s, const json_t *rows)
{
    const char *key;
    json_t *row, *value;
    size_t i;

    s->count = 0;
    json_array_foreach((json_t *)rows, i, row)
    {
        if (i == LOOKED_MAX)
            break;
        json_object_foreach(row, key, value)
        {
            if (!json_is_array(value) && !json_is_object(value))
                add_key(s, key);
        }
    }
}

static void show_rows(struct tfd_ctl *c, const json_t *rows)
{
    struct chosen s;

    choose_columns(&s, rows);
    if (s.count == 0)
        fprintf(c->to, "none\n");
    else
        tfd_ctl_table(c, rows, s.columns, s.count);
}

/* ---- Parts --------------------------------------------------------------- */

/* The last n of a list; all for 0. */
static json_t *last_rows(const json_t *rows, int64_t n)
{
    size_t count = json_array_size(rows), first = 0;
    json_t *last = json_array();

    if (n > 0 && (size_t)n < count)
        first = count - (size_t)n;
    for (size_t i = first; i < count; i++)
        json_array_append(last, json_array_get(rows, i));
    return last;
}

/* A list of the document, or of each of its parts. */
static int show_part(struct tfd_ctl *c, const char *const *keys, int64_t n)
{
    json_t *doc, *found, *rows, *answer = json_object();
    int code = tfd_ctl_status_get(c, &doc);
    int shown = 0;

    for (size_t i = 0; code == TFD_CTL_DONE && keys[i]; i++) {
        found = tfd_ctl_status_part(doc, keys[i]);
        if (!json_is_array(found))
            continue;
        rows = last_rows(found, n);
        if (!c->json && (shown++ > 0 || keys[1]))
            fprintf(c->to, "%s%s\n", shown > 1 ? "\n" : "", keys[i]);
        if (!c->json)
            show_rows(c, rows);
        json_object_set_new(answer, keys[i], rows);
    }
    if (code == TFD_CTL_DONE && json_object_size(answer) == 0)
        code = tfd_ctl_fail(c, TFD_CTL_REFUSED,
                            "the server says nothing of it: another version");
    if (code == TFD_CTL_DONE && c->json)
        code = tfd_ctl_put_json(c, json_incref(answer), code);
    json_decref(answer);
    json_decref(doc);
    return code;
}

int tfd_ctl_sessions(struct tfd_ctl *c)
{
    static const char *const keys[] = {"sessions", "contexts", NULL};

    return show_part(c, keys, 0);
}

int tfd_ctl_variables(struct tfd_ctl *c)
{
    static const char *const keys[] = {"variables", NULL};

    return show_part(c, keys, 0);
}

int tfd_ctl_steps(struct tfd_ctl *c)
{
    static const char *const keys[] = {"steps", NULL};

    return show_part(c, keys, c->steps);
}

/* ---- All of it ----------------------------------------------------------- */

static void show_scalar(struct tfd_ctl *c, const char *head, const char *key,
                        const json_t *value)
{
    char name[KEY_SIZE], text[200];
    char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    bool quoted = json && json_is_string(value);
    size_t size = json ? strlen(json) : 0;

    snprintf(name, sizeof(name), "%s%s%s", head, *head ? "." : "", key);
    snprintf(text, sizeof(text), "%.*s", (int)(quoted ? size - 2 : size),
             quoted ? json + 1
             : json ? json
                    : "-");
    fprintf(c->to, "%-28s %s\n", name, text);
    free(json);
}

/* Its own fields, and how many rows its lists have. */
static void show_object(struct tfd_ctl *c, const char *head, const json_t *o)
{
    const char *key;
    json_t *value, *count;

    json_object_foreach((json_t *)o, key, value)
    {
        if (json_is_array(value)) {
            count = json_integer((json_int_t)json_array_size(value));
            show_scalar(c, head, key, count);
            json_decref(count);
        } else if (!json_is_object(value)) {
            show_scalar(c, head, key, value);
        }
    }
}

static void show_document(struct tfd_ctl *c, const json_t *doc)
{
    const json_t *tasks = tfd_ctl_status_part(doc, "cluster.tasks");
    const char *key;
    json_t *value;

    show_object(c, "", doc);
    json_object_foreach((json_t *)doc, key, value)
    {
        if (json_is_object(value))
            show_object(c, key, value);
    }
    if (json_is_array(tasks)) {
        fputc('\n', c->to);
        show_rows(c, tasks);
    }
}

int tfd_ctl_status(struct tfd_ctl *c)
{
    json_t *doc;
    int code = tfd_ctl_status_get(c, &doc);

    if (code != TFD_CTL_DONE)
        return code;
    if (c->json)
        return tfd_ctl_put_json(c, doc, code);
    show_document(c, doc);
    json_decref(doc);
    return code;
}

/* ---- Top ----------------------------------------------------------------- */

static int show_top(struct tfd_ctl *c)
{
    static const char *const parts[] = {"cluster.tasks", "steps", "plans",
                                        "sessions"};
    json_t *doc;
    int code = tfd_ctl_status_get(c, &doc);

    if (code != TFD_CTL_DONE)
        return code;
    if (tfd_ctl_terminal(c) > 0 && !c->once)
        fputs("\033[H\033[2J", c->to);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const json_t *rows = tfd_ctl_status_part(doc, parts[i]);

        if (!json_is_array(rows))
            continue;
        fprintf(c->to, "%s%s: %zu\n", i ? "\n" : "", parts[i],
                json_array_size(rows));
        if (json_array_size(rows) > 0)
            show_rows(c, rows);
    }
    fflush(c->to);
    json_decref(doc);
    return ferror(c->to) ? TFD_CTL_OS : code;
}

/* Until somebody ends it, or the server ends. */
int tfd_ctl_top(struct tfd_ctl *c)
{
    int code;

    if (c->json)
        return tfd_ctl_status(c);
    for (;;) {
        code = show_top(c);
        if (code != TFD_CTL_DONE || c->once)
            return code;
        poll(NULL, 0, TOP_MS);
    }
}
