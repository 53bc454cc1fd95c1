/*
 * json_scan.c - see json_scan.h.  A string without escapes is a view of the
 * input; the first escape begins a copy.
 */
#include "kernels/parse/json_scan.h"

#include "common/base/unicode.h"
#include "config/limits.h"
#include "kernels/parse/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void tfd_json_scan_init(struct tfd_json_scan *s, struct tfd_str text,
                        const char *message)
{
    *s = (struct tfd_json_scan){.text = text, .message = message};
    tfd_bytes_init(&s->string, TFD_CONVERTED_SIZE_MAX);
}

void tfd_json_scan_deinit(struct tfd_json_scan *s)
{
    tfd_bytes_deinit(&s->string);
}

/* ---- Where an error is --------------------------------------------------- */

/* Of a string as many bytes as an error has room for. */
#define SHOWN_SIZE_MAX 768
/* Bytes of the names of all fields that a message can have. */
#define PATH_SIZE_MAX 512

void tfd_json_scan_enter(struct tfd_json_scan *s, struct tfd_str name,
                         const char *type)
{
    assert(s->path_count < TFD_JSON_PATH_MAX);
    s->path[s->path_count++] = (struct tfd_json_field){name, type, -1};
}

void tfd_json_scan_leave(struct tfd_json_scan *s)
{
    s->path_count--;
}

void tfd_json_scan_count(struct tfd_json_scan *s)
{
    s->path[s->path_count - 1].index++;
}

static void put_path(const struct tfd_json_scan *s, struct tfd_bytes *b)
{
    for (int i = 0; i < s->path_count; i++) {
        const struct tfd_json_field *f = &s->path[i];

        tfd_bytes_printf(b, "%s" TFD_STR_FMT, i == 0 ? " @ " : ".",
                         TFD_STR_ARG(f->name));
        if (f->index >= 0)
            tfd_bytes_printf(b, "[%lld]", (long long)f->index);
    }
    if (s->path_count > 0)
        tfd_bytes_printf(b, ": %s", s->path[s->path_count - 1].type);
}

enum tfd_code tfd_json_scan_fail(const struct tfd_json_scan *s,
                                 const struct tfd_json_place *place,
                                 struct tfd_status *st, const char *fmt, ...)
{
    const struct tfd_json_place *at = place ? place : &s->place;
    char text[SHOWN_SIZE_MAX + 128];
    struct tfd_bytes path;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    tfd_bytes_init(&path, PATH_SIZE_MAX);
    put_path(s, &path);
    (void)!tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "invalid JSON in %s" TFD_STR_FMT
                    ", near %zu:%zu (offset %zu): %s",
                    s->message, TFD_STR_ARG(tfd_bytes_view(&path)),
                    at->line + 1, at->column + 1, at->offset, text);
    tfd_bytes_deinit(&path);
    return TFD_INVALID_ARGUMENT;
}

struct tfd_str tfd_json_scan_shown(struct tfd_str text)
{
    if (text.size <= SHOWN_SIZE_MAX)
        return text;
    text.size = SHOWN_SIZE_MAX;
    while (text.size > 0 && !tfd_unicode_is_utf8(text))
        text.size--;
    return text;
}

/* A client cannot read an error with half a character in it. */
static const char *character_text(char c, char out[8])
{
    (void)snprintf(out, 8, (uint8_t)c < 0x80 ? "%c" : "\\x%02x", (uint8_t)c);
    return out;
}

static enum tfd_code unexpected(const struct tfd_json_scan *s,
                                struct tfd_status *st)
{
    char c[8];

    return tfd_json_scan_fail(s, NULL, st, "unexpected character: '%s'",
                              character_text(s->text.data[s->at], c));
}

/* ---- Characters ---------------------------------------------------------- */

static size_t left(const struct tfd_json_scan *s)
{
    return s->text.size - s->at;
}

static void move_by(struct tfd_json_scan *s, size_t size)
{
    s->at += size;
    s->place.offset += size;
    s->place.column += size;
}

static enum tfd_code check_left(const struct tfd_json_scan *s, size_t size,
                                struct tfd_status *st)
{
    if (left(s) < size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "unexpected EOF");
    return TFD_OK;
}

static void skip_space(struct tfd_json_scan *s)
{
    while (left(s) > 0) {
        const char c = s->text.data[s->at];

        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return;
        move_by(s, 1);
        if (c == '\n') {
            s->place.line++;
            s->place.column = 0;
        }
    }
}

/* The next token begins with a character. */
static enum tfd_code seek_token(struct tfd_json_scan *s, struct tfd_status *st)
{
    skip_space(s);
    return check_left(s, 1, st);
}

static bool take_character(struct tfd_json_scan *s, char c)
{
    skip_space(s);
    if (left(s) == 0 || s->text.data[s->at] != c)
        return false;
    move_by(s, 1);
    return true;
}

enum tfd_code tfd_json_scan_expect(struct tfd_json_scan *s,
                                   const char *characters,
                                   struct tfd_status *st)
{
    const size_t size = strlen(characters);
    char c[8];

    TFD_TRY(seek_token(s, st));
    TFD_TRY(check_left(s, size, st));
    if (memcmp(s->text.data + s->at, characters, size) != 0)
        return tfd_json_scan_fail(
            s, NULL, st, "unexpected character: '%s'; expected '%s'",
            character_text(s->text.data[s->at], c), characters);
    move_by(s, size);
    return TFD_OK;
}

static bool kind_by(char c, enum tfd_json_kind *out)
{
    static const char first[] = "{[\"'tfn-0123456789";
    static const enum tfd_json_kind kinds[] = {
        TFD_JSON_OBJECT, TFD_JSON_ARRAY, TFD_JSON_STRING, TFD_JSON_STRING,
        TFD_JSON_TRUE,   TFD_JSON_FALSE, TFD_JSON_NULL};
    const char *at = c ? strchr(first, c) : NULL;

    if (!at)
        return false;
    *out = (size_t)(at - first) < sizeof(kinds) / sizeof(*kinds)
               ? kinds[at - first]
               : TFD_JSON_NUMBER;
    return true;
}

enum tfd_code tfd_json_scan_kind(struct tfd_json_scan *s,
                                 enum tfd_json_kind *out, struct tfd_status *st)
{
    TFD_TRY(seek_token(s, st));
    return kind_by(s->text.data[s->at], out) ? TFD_OK : unexpected(s, st);
}

bool tfd_json_scan_is(struct tfd_json_scan *s, enum tfd_json_kind kind)
{
    enum tfd_json_kind found;

    skip_space(s);
    return left(s) > 0 && kind_by(s->text.data[s->at], &found) && found == kind;
}

enum tfd_code tfd_json_scan_end(struct tfd_json_scan *s, struct tfd_status *st)
{
    skip_space(s);
    if (left(s) > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "extraneous characters after end of JSON object");
    return TFD_OK;
}

/* ---- Strings ------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum tfd_code read_unit(struct tfd_json_scan *s, uint32_t *out,
                               struct tfd_status *st)
{
    TFD_TRY(check_left(s, 4, st));
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int digit = digit_of(s->text.data[s->at + (size_t)i]);

        if (digit < 0)
            return tfd_json_scan_fail(s, NULL, st, "invalid Unicode escape");
        *out = *out << 4 | (uint32_t)digit;
    }
    s->at += 4;
    return TFD_OK;
}

/* Behind \u; a pair of surrogates is one character. */
static enum tfd_code read_unicode(struct tfd_json_scan *s,
                                  struct tfd_status *st)
{
    char bytes[TFD_UTF8_SIZE_MAX];
    uint32_t point, low;

    TFD_TRY(read_unit(s, &point, st));
    if (tfd_unicode_is_surrogate(point)) {
        if (point >= 0xdc00)
            return tfd_json_scan_fail(s, NULL, st, "unpaired low surrogate");
        TFD_TRY(tfd_json_scan_expect(s, "\\u", st));
        TFD_TRY(read_unit(s, &low, st));
        if (low < 0xdc00 || low > 0xdfff)
            return tfd_json_scan_fail(s, NULL, st, "invalid low surrogate");
        point = 0x10000 + ((point & 0x3ff) << 10 | (low & 0x3ff));
    }
    tfd_bytes_add(&s->string, bytes, tfd_unicode_put(point, bytes));
    return TFD_OK;
}

/* Behind a backslash. */
static enum tfd_code read_escape(struct tfd_json_scan *s, struct tfd_status *st)
{
    static const char letters[] = "\"\\/'bfnrt", meant[] = "\"\\/'\b\f\n\r\t";
    const char *found;
    char c, shown[8];

    TFD_TRY(check_left(s, 1, st));
    c = s->text.data[s->at];
    move_by(s, 1);
    if (c == 'u' || c == 'U')
        return read_unicode(s, st);
    found = c ? strchr(letters, c) : NULL;
    if (!found)
        return tfd_json_scan_fail(s, NULL, st, "invalid escape char: '%s'",
                                  character_text(c, shown));
    tfd_bytes_add(&s->string, &meant[found - letters], 1);
    return TFD_OK;
}

/* The bytes that follow the first one of a character: as many as it says, be
 * they a quote or not. */
static enum tfd_code step_character(struct tfd_json_scan *s, uint8_t first,
                                    struct tfd_status *st)
{
    size_t more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;

    move_by(s, 1);
    if (first < 0xc0 || first > 0xf7)
        return tfd_json_scan_fail(s, NULL, st, "invalid UTF-8 in string");
    TFD_TRY(check_left(s, more, st));
    s->at += more;
    return TFD_OK;
}

/* Plain characters, up to a quote or a backslash, which may not be there. */
static enum tfd_code step_plain(struct tfd_json_scan *s, char quote,
                                struct tfd_status *st)
{
    while (left(s) > 0) {
        const char *from = s->text.data + s->at;
        const char *end = s->text.data + s->text.size, *p = from;

        while (p < end && *p != quote && *p != '\\' && (uint8_t)*p < 0x80)
            p++;
        move_by(s, (size_t)(p - from));
        if (p == end || *p == quote || *p == '\\')
            return TFD_OK;
        TFD_TRY(step_character(s, (uint8_t)*p, st));
    }
    return TFD_OK;
}

/* All but the first quote; copies from the first escape on. */
static enum tfd_code read_string(struct tfd_json_scan *s, char quote,
                                 struct tfd_json_token *out,
                                 struct tfd_status *st)
{
    size_t from = s->at;

    for (;;) {
        bool is_end;

        TFD_TRY(step_plain(s, quote, st));
        TFD_TRY(check_left(s, 1, st));
        is_end = s->text.data[s->at] == quote;
        if (!is_end || out->is_copy)
            tfd_bytes_add(&s->string, s->text.data + from, s->at - from);
        else
            out->text = (struct tfd_str){s->text.data + from, s->at - from};
        move_by(s, 1);
        if (is_end)
            return TFD_OK;
        out->is_copy = true;
        TFD_TRY(read_escape(s, st));
        from = s->at;
    }
}

enum tfd_code tfd_json_scan_string(struct tfd_json_scan *s,
                                   struct tfd_json_token *out,
                                   struct tfd_status *st)
{
    bool is_single;

    TFD_TRY(seek_token(s, st));
    *out = (struct tfd_json_token){.place = s->place};
    is_single = s->text.data[s->at] == '\'';
    TFD_TRY(tfd_json_scan_expect(s, is_single ? "'" : "\"", st));
    tfd_bytes_clear(&s->string);
    TFD_TRY(read_string(s, is_single ? '\'' : '"', out, st));
    if (out->is_copy) {
        TFD_TRY(tfd_bytes_ok(&s->string, "a string", st));
        out->text = tfd_bytes_view(&s->string);
    }
    if (!tfd_unicode_is_utf8(out->text))
        return tfd_json_scan_fail(s, NULL, st, "Invalid UTF-8 string");
    return TFD_OK;
}

/* ---- Numbers ------------------------------------------------------------- */

static bool is_decimal(char c)
{
    return c >= '0' && c <= '9';
}

/* Up to where a number can no longer go on; what is left behind is found
 * later. */
static size_t number_size(struct tfd_str text)
{
    enum { WHOLE, FRACTION, EXPONENT } part = WHOLE;
    char before = '\0';
    size_t i = 0;

    for (; i < text.size; i++) {
        const char c = text.data[i];
        const bool follows = is_decimal(before);

        if (part == WHOLE && follows && c == '.')
            part = FRACTION;
        else if (part != EXPONENT && follows && (c | 0x20) == 'e')
            part = EXPONENT;
        else if (!is_decimal(c) && !(part == WHOLE && c == '-' && !follows) &&
                 !((before | 0x20) == 'e' && (c == '-' || c == '+')))
            break;
        before = c;
    }
    return i;
}

static enum tfd_code check_number(const struct tfd_json_scan *s,
                                  struct tfd_json_token *n,
                                  struct tfd_status *st)
{
    const struct tfd_str text = n->text;
    const size_t sign = text.size > 0 && text.data[0] == '-';

    if (text.size == sign)
        return tfd_json_scan_fail(s, &n->place, st, "expected a number");
    if (text.size > sign + 1 && text.data[sign] == '0' &&
        is_decimal(text.data[sign + 1]))
        return tfd_json_scan_fail(s, &n->place, st,
                                  "number cannot have extraneous leading zero");
    if (text.data[text.size - 1] == '.')
        return tfd_json_scan_fail(s, &n->place, st,
                                  "number cannot have trailing period");
    if (!tfd_number_parse(TFD_DOUBLE, text, &n->value) || !isfinite(n->value))
        return tfd_json_scan_fail(s, &n->place, st,
                                  "invalid number: '" TFD_STR_FMT "'",
                                  TFD_STR_ARG(tfd_json_scan_shown(text)));
    return TFD_OK;
}

enum tfd_code tfd_json_scan_number(struct tfd_json_scan *s,
                                   struct tfd_json_token *out,
                                   struct tfd_status *st)
{
    TFD_TRY(seek_token(s, st));
    *out = (struct tfd_json_token){.place = s->place};
    out->text = (struct tfd_str){s->text.data + s->at, left(s)};
    out->text.size = number_size(out->text);
    s->at += out->text.size;
    TFD_TRY(check_number(s, out, st));
    if (left(s) == 0)
        return TFD_OK;
    TFD_TRY(seek_token(s, st));
    return strchr(",]}", s->text.data[s->at]) && s->text.data[s->at]
               ? TFD_OK
               : unexpected(s, st);
}

/* ---- Objects and arrays -------------------------------------------------- */

enum tfd_code tfd_json_scan_open(struct tfd_json_scan *s, char opening,
                                 bool *more, struct tfd_status *st)
{
    const bool is_object = opening == '{';

    TFD_TRY(tfd_json_scan_expect(s, is_object ? "{" : "[", st));
    if (s->depth == TFD_JSON_DEPTH_MAX)
        return tfd_json_scan_fail(s, NULL, st,
                                  "JSON content was too deeply nested");
    *more = !take_character(s, is_object ? '}' : ']');
    s->depth += *more;
    return TFD_OK;
}

enum tfd_code tfd_json_scan_more(struct tfd_json_scan *s, char closing,
                                 bool *more, struct tfd_status *st)
{
    const bool has_comma = take_character(s, ',');

    *more = !take_character(s, closing);
    if (*more && !has_comma)
        return tfd_json_scan_fail(s, NULL, st, "expected ','");
    s->depth -= !*more;
    return TFD_OK;
}

static bool is_word(char c)
{
    return c == '_' || is_decimal(c) ||
           ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static enum tfd_code read_word(struct tfd_json_scan *s,
                               struct tfd_json_token *out,
                               struct tfd_status *st)
{
    struct tfd_str word = {s->text.data + s->at, 0};

    while (word.size < left(s) && is_word(word.data[word.size]))
        word.size++;
    *out = (struct tfd_json_token){.text = word, .place = s->place};
    s->at += word.size;
    if (word.size == 0 || is_decimal(word.data[0]) ||
        tfd_str_is(word, "null") || tfd_str_is(word, "true") ||
        tfd_str_is(word, "false"))
        return tfd_json_scan_fail(s, &out->place, st, "expected bare word");
    return TFD_OK;
}

enum tfd_code tfd_json_scan_key(struct tfd_json_scan *s,
                                struct tfd_json_token *out,
                                struct tfd_status *st)
{
    TFD_TRY(seek_token(s, st));
    if (tfd_json_scan_is(s, TFD_JSON_STRING))
        TFD_TRY(tfd_json_scan_string(s, out, st));
    else
        TFD_TRY(read_word(s, out, st));
    return tfd_json_scan_expect(s, ":", st);
}
