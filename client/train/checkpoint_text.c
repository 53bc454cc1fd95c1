/*
 * checkpoint_text.c - see checkpoint_text.h.
 */
#include "client/train/checkpoint_text.h"

#include "config/limits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tfd_checkpoint_text_init(struct tfd_checkpoint_text *t,
                              struct tfd_str text)
{
    *t = (struct tfd_checkpoint_text){.rest = text, .line = 1};
    tfd_bytes_init(&t->value, TFD_FILE_NAME_SIZE_MAX);
}

void tfd_checkpoint_text_deinit(struct tfd_checkpoint_text *t)
{
    tfd_bytes_deinit(&t->value);
}

/* ---- Characters ---------------------------------------------------------- */

/* -1 at the end. */
static int peek(const struct tfd_checkpoint_text *t)
{
    return t->rest.size ? (unsigned char)t->rest.data[0] : -1;
}

static int take_character(struct tfd_checkpoint_text *t)
{
    int c = peek(t);

    if (c >= 0) {
        t->rest.data++;
        t->rest.size--;
    }
    if (c == '\n')
        t->line++;
    return c;
}

static void skip_blanks(struct tfd_checkpoint_text *t)
{
    while (peek(t) >= 0) {
        if (peek(t) == '#')
            while (peek(t) >= 0 && peek(t) != '\n')
                take_character(t);
        else if (isspace(peek(t)) || peek(t) == ';' || peek(t) == ',')
            take_character(t);
        else
            return;
    }
}

static bool fail_text(struct tfd_checkpoint_text *t)
{
    t->failed = true;
    return false;
}

/* ---- Values -------------------------------------------------------------- */

static void read_octal(struct tfd_checkpoint_text *t, int first)
{
    int value = first - '0';
    char byte;

    for (int i = 0; i < 2 && peek(t) >= '0' && peek(t) <= '7'; i++)
        value = value * 8 + take_character(t) - '0';
    byte = (char)(unsigned char)value;
    tfd_bytes_add(&t->value, &byte, 1);
}

static bool read_escape(struct tfd_checkpoint_text *t)
{
    static const char from[] = "abfnrtv\\'\"?";
    static const char to[] = "\a\b\f\n\r\t\v\\'\"?";
    int c = take_character(t);
    const char *at = c > 0 ? strchr(from, c) : NULL;

    if (at)
        tfd_bytes_add(&t->value, &to[at - from], 1);
    else if (c >= '0' && c <= '7')
        read_octal(t, c);
    else
        return fail_text(t);
    return true;
}

static bool read_string(struct tfd_checkpoint_text *t)
{
    int quote = take_character(t);
    char byte;
    int c;

    while ((c = take_character(t)) != quote) {
        if (c < 0 || c == '\n')
            return fail_text(t);
        if (c == '\\') {
            if (!read_escape(t))
                return false;
            continue;
        }
        byte = (char)c;
        tfd_bytes_add(&t->value, &byte, 1);
    }
    return !t->value.failed || fail_text(t);
}

static bool read_number(struct tfd_checkpoint_text *t)
{
    char text[64], *end;
    size_t size = 0;

    while (size < sizeof(text) - 1 && peek(t) > 0 &&
           strchr("+-.0123456789eEfF", peek(t)))
        text[size++] = (char)take_character(t);
    text[size] = '\0';
    t->number = strtod(text, &end);
    return (size > 0 && (*end == '\0' || *end == 'f' || *end == 'F')) ||
           fail_text(t);
}

bool tfd_checkpoint_text_next(struct tfd_checkpoint_text *t)
{
    tfd_bytes_clear(&t->value);
    t->number = 0;
    skip_blanks(t);
    if (t->failed || peek(t) < 0)
        return false;
    t->key = (struct tfd_str){t->rest.data, 0};
    while (isalnum(peek(t)) || peek(t) == '_') {
        take_character(t);
        t->key.size++;
    }
    skip_blanks(t);
    if (t->key.size == 0 || take_character(t) != ':')
        return fail_text(t);
    skip_blanks(t);
    if (peek(t) == '"' || peek(t) == '\'')
        return read_string(t);
    return read_number(t);
}

void tfd_checkpoint_text_quote(struct tfd_bytes *b, struct tfd_str s)
{
    char text[8];

    tfd_bytes_add(b, "\"", 1);
    for (size_t i = 0; i < s.size; i++) {
        unsigned char c = (unsigned char)s.data[i];

        if (c == '"' || c == '\\')
            tfd_bytes_printf(b, "\\%c", c);
        else if (c >= 0x20 && c < 0x7f)
            tfd_bytes_add(b, &s.data[i], 1);
        else {
            snprintf(text, sizeof(text), "\\%03o", c);
            tfd_bytes_add(b, text, 4);
        }
    }
    tfd_bytes_add(b, "\"", 1);
}
