/*
 * text_scan.c - see text_scan.h.
 *
 * Bytes beyond ASCII are only known within strings and comments.
 */
#include "common/proto/text_scan.h"

#include "common/base/unicode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WHY_MAX 512

/* ---- Places -------------------------------------------------------------- */

enum tfd_code tfd_text_scan_fail(const struct tfd_text_scan *s, const char *fmt,
                                 ...)
{
    size_t line = 1, column = 1;
    char why[WHY_MAX];
    va_list args;

    for (size_t i = 0; i < s->at && i < s->text.size; i++) {
        column = s->text.data[i] == '\n' ? 1 : column + 1;
        line += s->text.data[i] == '\n';
    }
    va_start(args, fmt);
    if (vsnprintf(why, sizeof(why), fmt, args) < 0)
        why[0] = '\0';
    va_end(args);
    return tfd_fail(s->st, TFD_INVALID_ARGUMENT, "line %zu, column %zu: %s",
                    line, column, why);
}

static int char_at(const struct tfd_text_scan *s)
{
    return s->at < s->text.size ? (unsigned char)s->text.data[s->at] : -1;
}

int tfd_text_scan_peek(struct tfd_text_scan *s)
{
    bool comment = false;
    int c;

    for (; (c = char_at(s)) >= 0; s->at++) {
        if (c == '\n')
            comment = false;
        else if (c == '#')
            comment = true;
        else if (!comment && !strchr(" \t\r\v\f", c))
            break;
        else if (c == '\0' && !comment)
            break;
    }
    return c;
}

bool tfd_text_scan_eat(struct tfd_text_scan *s, char c)
{
    if (tfd_text_scan_peek(s) != (unsigned char)c)
        return false;
    s->at++;
    return true;
}

/* ---- Names and numbers --------------------------------------------------- */

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static enum tfd_code read_bracketed(struct tfd_text_scan *s)
{
    int c;

    s->at++;
    while ((c = char_at(s)) >= 0 && (is_letter(c) || is_digit(c) || c == '.' ||
                                     c == '/' || c == '-' || c == '%'))
        s->at++;
    if (c != ']')
        return tfd_text_scan_fail(s, "']' must end the name of a type");
    s->at++;
    return TFD_OK;
}

enum tfd_code tfd_text_scan_name(struct tfd_text_scan *s, struct tfd_str *out)
{
    int c = tfd_text_scan_peek(s);
    size_t begin = s->at;

    if (c == '[')
        TFD_TRY(read_bracketed(s));
    else if (!is_letter(c))
        return tfd_text_scan_fail(s, "the name of a field must stand here");
    else
        while (is_letter(char_at(s)) || is_digit(char_at(s)))
            s->at++;
    *out = (struct tfd_str){s->text.data + begin, s->at - begin};
    return TFD_OK;
}

/* A sign stands only behind an exponent's e. */
static bool goes_on(const struct tfd_text_scan *s, size_t begin)
{
    int c = char_at(s);

    if (is_letter(c) || is_digit(c) || c == '.')
        return true;
    return (c == '+' || c == '-') && s->at > begin &&
           (s->text.data[s->at - 1] == 'e' || s->text.data[s->at - 1] == 'E');
}

enum tfd_code tfd_text_scan_token(struct tfd_text_scan *s,
                                  struct tfd_text_token *out)
{
    size_t begin, size;

    out->minus = tfd_text_scan_eat(s, '-');
    (void)tfd_text_scan_peek(s);
    for (begin = s->at; goes_on(s, begin);)
        s->at++;
    size = s->at - begin;
    if (size == 0 || size > TFD_TEXT_TOKEN_SIZE_MAX) {
        s->at = begin;
        return tfd_text_scan_fail(s,
                                  "a value of at most %d characters must stand "
                                  "here",
                                  TFD_TEXT_TOKEN_SIZE_MAX);
    }
    memcpy(out->text, s->text.data + begin, size);
    out->text[size] = '\0';
    return TFD_OK;
}

static enum tfd_code fail_number(const struct tfd_text_scan *s,
                                 const struct tfd_text_token *t,
                                 const char *what)
{
    return tfd_text_scan_fail(s, "%s%s is not %s", t->minus ? "-" : "", t->text,
                              what);
}

enum tfd_code tfd_text_scan_int(const struct tfd_text_scan *s,
                                const struct tfd_text_token *t, int bits,
                                bool is_signed, uint64_t *out)
{
    uint64_t top = UINT64_C(1) << (bits - 1);
    uint64_t max = is_signed ? top - 1 : top - 1 + top;
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(t->text, &end, 0);
    if (!is_digit(t->text[0]) || *end)
        return fail_number(s, t, "an integer");
    if (t->minus)
        max = is_signed ? top : 0;
    if (errno || value > max)
        return fail_number(s, t,
                           bits == 32 ? "in the range of 32 bits"
                                      : "in the range of 64 bits");
    *out = t->minus ? 0 - (uint64_t)value : value;
    return TFD_OK;
}

enum tfd_code tfd_text_scan_float(const struct tfd_text_scan *s,
                                  const struct tfd_text_token *t, double *out)
{
    bool word = !strcasecmp(t->text, "inf") ||
                !strcasecmp(t->text, "infinity") || !strcasecmp(t->text, "nan");
    bool hex = t->text[0] == '0' && (t->text[1] | 0x20) == 'x';
    char *end;

    *out = strtod(t->text, &end);
    if (!word && (*end == 'f' || *end == 'F'))
        end++;
    if (*end || hex || !(word || is_digit(t->text[0]) || t->text[0] == '.'))
        return fail_number(s, t, "a number");
    if (t->minus)
        *out = -*out;
    return TFD_OK;
}

enum tfd_code tfd_text_scan_bool(const struct tfd_text_scan *s,
                                 const struct tfd_text_token *t, bool *out)
{
    static const char *const words[] = {"false", "False", "f", "0",
                                        "true",  "True",  "t", "1"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !t->minus; i++)
        if (!strcmp(t->text, words[i])) {
            *out = i >= 4;
            return TFD_OK;
        }
    return fail_number(s, t, "true or false");
}

/* ---- Strings ------------------------------------------------------------- */

static int digit_of(int c, int base)
{
    int digit = is_digit(c)         ? c - '0'
                : (c | 0x20) >= 'a' ? (c | 0x20) - 'a' + 10
                                    : base;

    return c >= 0 && digit < base ? digit : -1;
}

/* Up to `most` digits, at least `least`. */
static enum tfd_code read_code(struct tfd_text_scan *s, int base, int least,
                               int most, uint32_t *out)
{
    int count = 0, digit;

    for (*out = 0; count < most; count++, s->at++) {
        digit = digit_of(char_at(s), base);
        if (digit < 0)
            break;
        *out = *out * (uint32_t)base + (uint32_t)digit;
    }
    return count >= least ? TFD_OK
                          : tfd_text_scan_fail(
                                s, "an escape has %d digits at least", least);
}

static enum tfd_code read_unicode(struct tfd_text_scan *s, int digits)
{
    char bytes[TFD_UTF8_SIZE_MAX];
    uint32_t c;

    s->at++;
    TFD_TRY(read_code(s, 16, digits, digits, &c));
    if (c > TFD_UNICODE_MAX)
        return tfd_text_scan_fail(s, "U+%X is no character", c);
    tfd_bytes_add(&s->string, bytes, tfd_unicode_put(c, bytes));
    return TFD_OK;
}

/* Behind a backslash. */
static enum tfd_code read_escape(struct tfd_text_scan *s)
{
    static const char letters[] = "abfnrtv\\'\"?",
                      meant[] = "\a\b\f\n\r\t\v\\'\"?";
    int c = char_at(s);
    const char *simple = c > 0 ? strchr(letters, c) : NULL;
    uint32_t code;
    char byte;

    if (c == 'u' || c == 'U')
        return read_unicode(s, c == 'u' ? 4 : 8);
    if (simple) {
        s->at++;
        tfd_bytes_add(&s->string, &meant[simple - letters], 1);
        return TFD_OK;
    }
    if (c == 'x' || c == 'X') {
        s->at++;
        TFD_TRY(read_code(s, 16, 1, 2, &code));
    } else {
        TFD_TRY(read_code(s, 8, 1, 3, &code));
    }
    if (code > UINT8_MAX)
        return tfd_text_scan_fail(s, "an escape is one byte");
    byte = (char)code;
    tfd_bytes_add(&s->string, &byte, 1);
    return TFD_OK;
}

/* The plain characters that come next, at once. */
static void read_plain(struct tfd_text_scan *s, int quote)
{
    size_t begin = s->at;
    int c;

    while ((c = char_at(s)) >= 0 && c != quote && c != '\\' && c != '\n')
        s->at++;
    tfd_bytes_add(&s->string, s->text.data + begin, s->at - begin);
}

static enum tfd_code read_quoted(struct tfd_text_scan *s)
{
    int quote = char_at(s), c;

    for (s->at++;;) {
        read_plain(s, quote);
        c = char_at(s);
        if (c < 0 || c == '\n')
            return tfd_text_scan_fail(s, "a string does not end");
        s->at++;
        if (c == quote)
            return TFD_OK;
        TFD_TRY(read_escape(s));
    }
}

enum tfd_code tfd_text_scan_string(struct tfd_text_scan *s)
{
    int c = tfd_text_scan_peek(s);

    tfd_bytes_clear(&s->string);
    if (c != '"' && c != '\'')
        return tfd_text_scan_fail(s, "a string in quotes must stand here");
    for (; c == '"' || c == '\''; c = tfd_text_scan_peek(s))
        TFD_TRY(read_quoted(s));
    return tfd_bytes_ok(&s->string, "a string", s->st);
}
