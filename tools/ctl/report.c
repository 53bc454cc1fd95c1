/*
 * report.c - see report.h.
 */
#include "tools/ctl/report.h"

#include "common/base/unicode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- Characters --------------------------------------------------------- */

void tfd_ctl_put_clean(FILE *to, const char *text)
{
    struct tfd_str s = tfd_str_of(text);

    while (s.size > 0) {
        size_t size = tfd_unicode_shown(s);

        if (size > 0)
            fwrite(s.data, 1, size, to);
        else
            fprintf(to, "\\x%02x", (unsigned char)s.data[0]);
        size = size > 0 ? size : 1;
        s = (struct tfd_str){s.data + size, s.size - size};
    }
}

/* ---- Lines for people ---------------------------------------------------- */

static void put_line(const struct tfd_ctl *c, const char *what, const char *fmt,
                     va_list args)
{
    char text[TFD_ERROR_TEXT_SIZE_MAX];

    vsnprintf(text, sizeof(text), fmt, args);
    fprintf(c->err, "tfdctl: %s: %s", c->verb, what);
    tfd_ctl_put_clean(c->err, text);
    fputc('\n', c->err);
}

int tfd_ctl_fail(const struct tfd_ctl *c, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_line(c, "", fmt, args);
    va_end(args);
    return code;
}

void tfd_ctl_note(const struct tfd_ctl *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_line(c, "note: ", fmt, args);
    va_end(args);
}

int tfd_ctl_fail_call(const struct tfd_ctl *c, const char *what,
                      const struct tfd_status *st)
{
    bool away =
        st->code == TFD_UNAVAILABLE || st->code == TFD_DEADLINE_EXCEEDED;
    bool named = strncmp(st->text, what, strlen(what)) == 0;

    return tfd_ctl_fail(c, away ? TFD_CTL_UNREACHABLE : TFD_CTL_REFUSED,
                        "%s%s%s", named ? "" : what, named ? "" : ": ",
                        st->text);
}

/* ---- Texts --------------------------------------------------------------- */

json_t *tfd_ctl_text(struct tfd_str s)
{
    json_t *text = json_stringn(s.data, s.size);
    struct tfd_bytes b;

    if (text)
        return text;
    tfd_bytes_init(&b, SIZE_MAX);
    while (s.size > 0) {
        uint32_t point;
        size_t size = tfd_unicode_read(s, &point);

        if (size > 0)
            tfd_bytes_add(&b, s.data, size);
        else
            tfd_bytes_printf(&b, "\\x%02x", (unsigned char)s.data[0]);
        size = size > 0 ? size : 1;
        s = (struct tfd_str){s.data + size, s.size - size};
    }
    text = b.failed ? NULL : json_stringn(b.data ? b.data : "", b.size);
    tfd_bytes_deinit(&b);
    return text;
}

int tfd_ctl_put_json(const struct tfd_ctl *c, json_t *take_value, int code)
{
    if (!take_value)
        return tfd_ctl_fail(c, TFD_CTL_OS, "out of memory");
    /* What cannot be written command.c says, once. */
    (void)json_dumpf(take_value, c->to,
                     JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
    fputc('\n', c->to);
    json_decref(take_value);
    return code;
}

/* ---- Numbers ------------------------------------------------------------- */

const char *tfd_ctl_bytes(double bytes, char text[TFD_CTL_NUMBER_SIZE])
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    size_t unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, TFD_CTL_NUMBER_SIZE,
             unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes,
             units[unit]);
    return text;
}

const char *tfd_ctl_time(double us, char text[TFD_CTL_NUMBER_SIZE])
{
    static const struct {
        double least;
        const char *unit;
    } units[] = {
        {86400e6, "d"}, {3600e6, "h"}, {60e6, "min"},
        {1e6, "s"},     {1e3, "ms"},   {1, "us"},
    };
    size_t i = 0;

    while (i + 1 < sizeof(units) / sizeof(units[0]) && us < units[i].least)
        i++;
    snprintf(text, TFD_CTL_NUMBER_SIZE,
             us / units[i].least >= 100 ? "%.0f %s" : "%.3g %s",
             us / units[i].least, units[i].unit);
    return text;
}
