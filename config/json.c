/*
 * json.c - see json.h.
 */
#include "config/json.h"

#include "config/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The deepest nesting of brackets outside of strings. */
static size_t depth_of(const char *text, size_t size)
{
    size_t depth = 0, deepest = 0;
    bool in_string = false;

    for (size_t i = 0; i < size; i++) {
        if (in_string) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                in_string = false;
        } else if (text[i] == '"') {
            in_string = true;
        } else if (text[i] == '{' || text[i] == '[') {
            if (++depth > deepest)
                deepest = depth;
        } else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return deepest;
}

/* What went wrong most likely, when it is not JSON. */
static const char *fix_of(const char *text, size_t size, const char *problem)
{
    if (strstr(problem, "duplicate"))
        return "give each key once";
    if (!memchr(text, '"', size) && memchr(text, '\'', size))
        return "JSON wants double quotes";
    if (!memchr(text, '"', size))
        return "quote it for the shell: the double quotes are gone";
    return "correct it there";
}

static void report_syntax(const char *text, size_t size, const char *path,
                          const json_error_t *e, struct tfd_report *errors)
{
    char place[300];
    char near[41] = "";
    size_t at = e->position > 0 ? (size_t)e->position : 0;
    size_t from;

    if (at > size)
        at = size;
    from = at > 20 ? at - 20 : 0;
    memcpy(near, text + from, at - from);
    near[at - from] = '\0';
    snprintf(place, sizeof(place), "%.200s line %d column %d", path, e->line,
             e->column);
    tfd_report_add(errors, place, near, "%s; %s", e->text,
                   fix_of(text, size, e->text));
}

json_t *tfd_json_load(const char *text, size_t size, const char *path,
                      struct tfd_report *errors)
{
    size_t depth = depth_of(text, size);
    json_error_t e;
    json_t *root;

    if (size > TFD_CONFIG_TEXT_SIZE_MAX) {
        tfd_report_add(errors, path, NULL,
                       "%zu bytes, the limit is %d; make it smaller", size,
                       TFD_CONFIG_TEXT_SIZE_MAX);
        return NULL;
    }
    if (depth > TFD_CONFIG_DEPTH_MAX) {
        tfd_report_add(errors, path, NULL,
                       "nested %zu deep, the limit is %d; make it flatter",
                       depth, TFD_CONFIG_DEPTH_MAX);
        return NULL;
    }
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (!root) {
        report_syntax(text, size, path, &e, errors);
        return NULL;
    }
    if (!json_is_object(root)) {
        tfd_json_fail(errors, path, root, "not an object; write {...}");
        json_decref(root);
        return NULL;
    }
    return root;
}

void tfd_json_fail(struct tfd_report *errors, const char *path,
                   const json_t *value, const char *fmt, ...)
{
    char text[512];
    char *shown =
        json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(text, sizeof(text), fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    tfd_report_add(errors, path, shown, "%s", text);
    free(shown);
}

bool tfd_json_int(const json_t *value, int64_t *out)
{
    double real = json_real_value(value);

    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    if (json_is_real(value)) {
        *out = fabs(real) < 1e15 ? (int64_t)real : 0;
        return fabs(real) < 1e15 && (double)*out == real;
    }
    return json_is_string(value) &&
           tfd_value_number(json_string_value(value), INT64_MIN, INT64_MAX, out,
                            NULL) == TFD_OK;
}
