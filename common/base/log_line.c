/*
 * log_line.c - see log_line.h.
 *
 * Each conversion is formatted by itself, by snprintf, from the arguments that
 * are walked once: only so the end of a value is known when the value itself
 * holds what ends values.
 */
#include "common/base/log_line.h"

#include "common/base/unicode.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* "..." with the quote, the brace and the newline after it. */
#define TAIL_MAX 6
#define KEY_MAX 64
#define NUMBER_MAX 24

/* Walks a format and its arguments together. */
struct source {
    const char *at;
    va_list args;
};

/* The text of one value, cut where a line would be. */
struct value {
    char text[TFD_LOG_LINE_MAX];
    size_t used;
    bool quoted; /* by the format */
    bool number;
};

static size_t room_in(const struct tfd_log_line *l)
{
    size_t end = sizeof(l->bytes) - TAIL_MAX;

    return l->used < end ? end - l->used : 0; /* a quote may stand beyond it */
}

static bool put_bytes(struct tfd_log_line *l, const char *bytes, size_t size)
{
    if (l->full || size > room_in(l)) {
        l->full = true;
        return false;
    }
    memcpy(l->bytes + l->used, bytes, size);
    l->used += size;
    return true;
}

/* What closes comes from the room of the tail. */
static void put_closing(struct tfd_log_line *l, const char *text)
{
    size_t size = strlen(text);

    memcpy(l->bytes + l->used, text, size);
    l->used += size;
}

void tfd_log_line_raw(struct tfd_log_line *l, const char *text)
{
    (void)put_bytes(l, text, strlen(text));
}

void tfd_log_line_end(struct tfd_log_line *l)
{
    put_closing(l, l->json ? "}\n" : "\n");
}

/* ---- Characters ---------------------------------------------------------- */

static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

static size_t escape_hex(const unsigned char *p, size_t size, char *to)
{
    size_t used = 0;

    for (size_t i = 0; i < size; i++)
        used += (size_t)snprintf(to + used, 5, "\\x%02x", p[i]);
    return used;
}

/* As many bytes as a character may have, or those before the final zero. */
static struct tfd_str next_bytes(const char *at)
{
    struct tfd_str next = {at, 0};

    while (next.size < TFD_UTF8_SIZE_MAX && at[next.size])
        next.size++;
    return next;
}

/* Writes the character at p as it may appear, at most 16 bytes, returns how
 * many, and in *taken those that it had. */
static size_t escape(const char *at, bool json, char *to, size_t *taken)
{
    const unsigned char *p = (const unsigned char *)at;
    uint32_t c = 0;
    size_t size = tfd_unicode_read(next_bytes(at), &c);

    *taken = size ? size : 1;
    if (size == 0 && json)
        return (size_t)snprintf(to, 16, "\xef\xbf\xbd"); /* U+FFFD */
    if (size == 0)
        return escape_hex(p, 1, to);
    if (c == '"' || c == '\\')
        return (size_t)snprintf(to, 16, "\\%c", (int)c);
    if (c == '\n' || c == '\t')
        return (size_t)snprintf(to, 16, "\\%c", c == '\n' ? 'n' : 't');
    if (is_control(c) && json)
        return (size_t)snprintf(to, 16, "\\u%04x", (unsigned)c);
    if (is_control(c))
        return escape_hex(p, size, to);
    memcpy(to, at, size);
    return size;
}

static bool needs_quotes(const struct value *v)
{
    char one[16];
    size_t taken;

    if (v->quoted || v->used == 0)
        return true;
    for (const char *at = v->text; *at; at += taken)
        if (*at == ' ' || escape(at, false, one, &taken) != taken ||
            one[0] != *at)
            return true;
    return false;
}

/* ---- One conversion ------------------------------------------------------ */

/* "%-5lld" without its length: every integer is printed as the widest. */
struct conversion {
    char spec[32];
    char length[3];
    char letter;
};

static void add_char(struct conversion *c, char letter)
{
    size_t used = strlen(c->spec);

    if (used + 1 < sizeof(c->spec))
        c->spec[used] = letter;
}

/* Flags, width and precision; a star's number is taken from the arguments. */
static void read_spec(struct source *s, struct conversion *c)
{
    memset(c, 0, sizeof(*c));
    add_char(c, *s->at++);
    for (; *s->at && strchr("-+ #0123456789.*", *s->at); s->at++) {
        char digits[12];
        int n;

        if (*s->at != '*') {
            add_char(c, *s->at);
            continue;
        }
        n = snprintf(digits, sizeof(digits), "%d", va_arg(s->args, int));
        for (int i = 0; i < n; i++)
            add_char(c, digits[i]);
    }
    while (*s->at && strchr("hlqjzt", *s->at)) {
        if (strlen(c->length) + 1 < sizeof(c->length))
            c->length[strlen(c->length)] = *s->at;
        s->at++;
    }
    c->letter = *s->at;
    if (*s->at)
        s->at++;
}

static intmax_t take_signed(struct source *s, const char *length)
{
    if (strcmp(length, "ll") == 0)
        return va_arg(s->args, long long);
    if (strcmp(length, "l") == 0)
        return va_arg(s->args, long);
    if (strcmp(length, "j") == 0)
        return va_arg(s->args, intmax_t);
    if (strcmp(length, "z") == 0 || strcmp(length, "t") == 0)
        return va_arg(s->args, ptrdiff_t);
    return va_arg(s->args, int);
}

static uintmax_t take_unsigned(struct source *s, const char *length)
{
    if (strcmp(length, "ll") == 0)
        return va_arg(s->args, unsigned long long);
    if (strcmp(length, "l") == 0)
        return va_arg(s->args, unsigned long);
    if (strcmp(length, "j") == 0)
        return va_arg(s->args, uintmax_t);
    if (strcmp(length, "z") == 0 || strcmp(length, "t") == 0)
        return va_arg(s->args, size_t);
    return va_arg(s->args, unsigned);
}

static void put_conversion(struct source *s, struct value *v)
{
    char *to = v->text + v->used;
    size_t room = sizeof(v->text) - v->used;
    struct conversion c;
    int n = 0;

    read_spec(s, &c);
    if (c.letter && strchr("diuxXo", c.letter))
        add_char(&c, 'j');
    add_char(&c, c.letter);
    if (c.letter == 'd' || c.letter == 'i')
        n = snprintf(to, room, c.spec, take_signed(s, c.length));
    else if (c.letter && strchr("uxXo", c.letter))
        n = snprintf(to, room, c.spec, take_unsigned(s, c.length));
    else if (c.letter == 's')
        n = snprintf(to, room, c.spec, va_arg(s->args, const char *));
    else if (c.letter && strchr("aefgAEFG", c.letter))
        n = snprintf(to, room, c.spec, va_arg(s->args, double));
    else if (c.letter == 'p')
        n = snprintf(to, room, c.spec, va_arg(s->args, const void *));
    else if (c.letter == 'c')
        n = snprintf(to, room, c.spec, va_arg(s->args, int));
    else /* %% */
        n = snprintf(to, room, "%c", c.letter ? c.letter : '%');
    if (n > 0)
        v->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* ---- Fields -------------------------------------------------------------- */

/* "%d" and the like, to the end of the field. */
static bool is_integer(const char *fmt)
{
    size_t size = strcspn(fmt, " ");

    if (size < 2 || fmt[0] != '%' || !strchr("diu", fmt[size - 1]))
        return false;
    for (size_t i = 1; i + 1 < size; i++)
        if (!strchr("hlqjzt", fmt[i]))
            return false;
    return true;
}

static void read_value(struct source *s, struct value *v)
{
    char end;

    v->used = 0;
    v->text[0] = '\0';
    v->number = is_integer(s->at);
    v->quoted = *s->at == '"';
    end = v->quoted ? '"' : ' ';
    s->at += v->quoted;
    while (*s->at && *s->at != end) {
        if (*s->at == '%') {
            put_conversion(s, v);
            continue;
        }
        if (v->used + 1 < sizeof(v->text))
            v->text[v->used++] = *s->at;
        v->text[v->used] = '\0';
        s->at++;
    }
    s->at += *s->at == '"';
}

static void put_value(struct tfd_log_line *l, const struct value *v)
{
    bool quoted = l->json ? !v->number : needs_quotes(v);
    char one[16];
    size_t taken, size;

    if (quoted)
        (void)put_bytes(l, "\"", 1); /* put_field() has asked for room */
    for (const char *at = v->text; *at; at += taken) {
        size = escape(at, l->json, one, &taken);
        if (!put_bytes(l, one, size)) {
            put_closing(l, "...");
            break;
        }
    }
    if (quoted)
        put_closing(l, "\"");
}

/* What has no name in the format is "text". */
static void read_key(struct source *s, char *key)
{
    size_t size = strcspn(s->at, "= \"%");

    if (s->at[size] != '=' || size == 0 || size >= KEY_MAX) {
        memcpy(key, "text", sizeof("text"));
        return;
    }
    memcpy(key, s->at, size);
    key[size] = '\0';
    s->at += size + 1;
}

static void put_field(struct tfd_log_line *l, struct source *s)
{
    char key[KEY_MAX], head[KEY_MAX + 8];
    struct value v;
    int size;

    read_key(s, key);
    read_value(s, &v);
    size = snprintf(head, sizeof(head), l->json ? ",\"%s\":" : " %s=", key);
    /* A field whose beginning has no room is left out; numbers are not cut. */
    if ((size_t)size + NUMBER_MAX > room_in(l)) {
        l->full = true;
        return;
    }
    if (put_bytes(l, head, (size_t)size))
        put_value(l, &v);
}

void tfd_log_line_fields(struct tfd_log_line *l, const char *fmt, va_list args)
{
    struct source s = {.at = fmt};

    va_copy(s.args, args);
    while (*s.at) {
        if (*s.at == ' ')
            s.at++;
        else
            put_field(l, &s);
    }
    va_end(s.args);
}
