/*
 * status.c - see status.h for the rules this file implements.
 */
#include "common/base/status.h"

#include "common/base/unicode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Bytes that are no UTF-8, of what a client named or of a character that was
 * cut, become '?': the text is a string of protobuf's, and whoever reads one
 * with such bytes refuses the whole answer and learns of no code. */
static void repair_text(char *text)
{
    struct tfd_str rest = {text, strlen(text)};

    while (rest.size > 0) {
        uint32_t point;
        size_t size = tfd_unicode_read(rest, &point);

        if (size == 0) {
            text[rest.data - text] = '?';
            size = 1;
        }
        rest.data += size;
        rest.size -= size;
    }
}

/* Formats into text and marks a cut with "...".  A message that fails to
 * format still has to report the code, so it becomes an empty text. */
static void format_text(char *text, const char *fmt, va_list args)
{
    int n = vsnprintf(text, TFD_STATUS_TEXT_MAX, fmt, args);

    if (n < 0)
        text[0] = '\0';
    else if (n >= TFD_STATUS_TEXT_MAX)
        memcpy(text + TFD_STATUS_TEXT_MAX - 4, "...", 4);
    repair_text(text);
}

enum tfd_code tfd_fail(struct tfd_status *st, enum tfd_code code,
                       const char *fmt, ...)
{
    va_list args;

    assert(code != TFD_OK);
    if (!st)
        return code;
    if (st->code != TFD_OK)
        return st->code;

    st->code = code;
    va_start(args, fmt);
    format_text(st->text, fmt, args);
    va_end(args);
    return code;
}

void tfd_status_context(struct tfd_status *st, const char *fmt, ...)
{
    char cause[TFD_STATUS_TEXT_MAX];
    va_list args;
    size_t used;

    if (!st || st->code == TFD_OK)
        return;

    memcpy(cause, st->text, sizeof(cause));
    va_start(args, fmt);
    format_text(st->text, fmt, args);
    va_end(args);

    used = strlen(st->text);
    snprintf(st->text + used, sizeof(st->text) - used, ": %s", cause);
    if (used + 2 + strlen(cause) >= sizeof(st->text))
        memcpy(st->text + sizeof(st->text) - 4, "...", 4);
    repair_text(st->text);
}

enum tfd_code tfd_status_copy(struct tfd_status *to,
                              const struct tfd_status *from)
{
    if (to && to->code == TFD_OK)
        *to = *from;
    return from->code;
}

void tfd_status_clear(struct tfd_status *st)
{
    st->code = TFD_OK;
    st->text[0] = '\0';
}

const char *tfd_code_name(enum tfd_code code)
{
    switch (code) {
#define X(name, number) \
    case TFD_##name:    \
        return #name;
        TFD_CODES(X)
#undef X
    }
    return "UNKNOWN";
}
