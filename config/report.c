/*
 * report.c - see report.h.
 */
#include "config/report.h"

#include "common/base/unicode.h"

#include <stdarg.h>
#include <string.h>

/* Longest value shown; a whole TF_CONFIG in an error helps nobody. */
#define VALUE_MAX 160

/* Room for a line before its control characters are spelled out. */
#define RAW_MAX 1024

void tfd_report_init(struct tfd_report *r)
{
    r->count = 0;
}

/* Copies text with what a terminal would not show as \xNN; a cut ends in "...".
 */
static void copy_printable(char *to, size_t size, const char *text)
{
    struct tfd_str left = tfd_str_of(text);
    size_t used = 0;

    while (left.size > 0 && used + 8 < size) {
        size_t shown = tfd_unicode_shown(left);

        if (shown > 0)
            memcpy(to + used, left.data, shown);
        else
            snprintf(to + used, size - used, "\\x%02x",
                     (unsigned char)left.data[0]);
        used += shown > 0 ? shown : 4;
        shown = shown > 0 ? shown : 1;
        left = (struct tfd_str){left.data + shown, left.size - shown};
    }
    snprintf(to + used, size - used, "%s", left.size > 0 ? "..." : "");
}

void tfd_report_add(struct tfd_report *r, const char *path, const char *value,
                    const char *fmt, ...)
{
    char text[RAW_MAX];
    char raw[2 * RAW_MAX];
    va_list args;

    if (r->count++ >= TFD_REPORT_LINES_MAX)
        return;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof(text), fmt, args) < 0)
        text[0] = '\0';
    va_end(args);

    if (!value)
        snprintf(raw, sizeof(raw), "%.300s: %s", path, text);
    else
        snprintf(raw, sizeof(raw), "%.300s = %.*s%s: %s", path, VALUE_MAX,
                 value, strlen(value) > VALUE_MAX ? "..." : "", text);
    copy_printable(r->lines[r->count - 1], TFD_REPORT_LINE_SIZE_MAX, raw);
}

void tfd_report_print(const struct tfd_report *r, FILE *to, const char *prefix)
{
    size_t kept = r->count;

    if (kept > TFD_REPORT_LINES_MAX)
        kept = TFD_REPORT_LINES_MAX;
    for (size_t i = 0; i < kept; i++)
        fprintf(to, "%s%s\n", prefix, r->lines[i]);
    if (r->count > kept)
        fprintf(to, "%sand %zu more\n", prefix, r->count - kept);
}

void tfd_report_path(char *path, size_t size, const char *fmt, ...)
{
    size_t used = strlen(path);
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(path + used, size - used, fmt, args) < 0)
        path[used] = '\0';
    va_end(args);
}
