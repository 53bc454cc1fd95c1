/*
 * snapshot_error.c - see snapshot_error.h: the fields `code`, a name or a
 * number, and `message`, a string with escapes, in the text form of protobuf.
 */
#include "kernels/data_files/snapshot_error.h"

#include <ctype.h>
#include <string.h>

#define CODE_MAX 16

static void skip_space(struct tfd_str *rest)
{
    while (rest->size > 0 && isspace((unsigned char)rest->data[0])) {
        rest->data++;
        rest->size--;
    }
}

/* Letters, digits and low lines; empty where there are none. */
static struct tfd_str take_word(struct tfd_str *rest)
{
    struct tfd_str word = {rest->data, 0};

    while (word.size < rest->size &&
           (isalnum((unsigned char)word.data[word.size]) ||
            word.data[word.size] == '_'))
        word.size++;
    rest->data += word.size;
    rest->size -= word.size;
    return word;
}

static bool take_char(struct tfd_str *rest, char c)
{
    if (rest->size == 0 || rest->data[0] != c)
        return false;
    rest->data++;
    rest->size--;
    return true;
}

static bool parse_code(struct tfd_str *rest, enum tfd_code *code)
{
    struct tfd_str word = take_word(rest);
    unsigned number = 0;

    for (int i = 0; i <= CODE_MAX; i++)
        if (tfd_str_is(word, tfd_code_name((enum tfd_code)i))) {
            *code = (enum tfd_code)i;
            return true;
        }
    for (size_t i = 0; i < word.size; i++) {
        if (!isdigit((unsigned char)word.data[i]) || number > CODE_MAX)
            return false;
        number = 10 * number + (unsigned)(word.data[i] - '0');
    }
    *code = number > CODE_MAX ? TFD_UNKNOWN : (enum tfd_code)number;
    return word.size > 0;
}

/* Behind a backslash. */
static bool parse_escape(struct tfd_str *rest, struct tfd_bytes *out)
{
    static const char from[] = "nrt\"'\\?abfv", to[] = "\n\r\t\"'\\?\a\b\f\v";
    const char *at;
    unsigned value = 0;
    int digits = 0;

    if (rest->size == 0)
        return false;
    at = memchr(from, rest->data[0], sizeof(from) - 1);
    if (at) {
        tfd_bytes_add(out, &to[at - from], 1);
        return take_char(rest, *at);
    }
    for (; digits < 3 && rest->size > 0 && rest->data[0] >= '0' &&
           rest->data[0] <= '7';
         digits++) {
        value = 8 * value + (unsigned)(rest->data[0] - '0');
        (void)take_char(rest, rest->data[0]);
    }
    tfd_bytes_add(out, &(char){(char)(unsigned char)value}, 1);
    return digits > 0 && value < 256;
}

static bool parse_string(struct tfd_str *rest, struct tfd_bytes *out)
{
    const char quote = rest->size > 0 ? rest->data[0] : '\0';

    if ((quote != '"' && quote != '\'') || !take_char(rest, quote))
        return false;
    while (rest->size > 0 && rest->data[0] != quote) {
        if (take_char(rest, '\\')) {
            if (!parse_escape(rest, out))
                return false;
            continue;
        }
        if (rest->data[0] == '\n')
            return false;
        tfd_bytes_add(out, rest->data, 1);
        (void)take_char(rest, rest->data[0]);
    }
    return take_char(rest, quote);
}

bool tfd_snapshot_error_parse(struct tfd_str text, enum tfd_code *code,
                              struct tfd_bytes *message)
{
    *code = TFD_OK;
    for (skip_space(&text); text.size > 0; skip_space(&text)) {
        struct tfd_str name = take_word(&text);
        bool ok;

        skip_space(&text);
        if (!take_char(&text, ':'))
            return false;
        skip_space(&text);
        if (tfd_str_is(name, "code"))
            ok = parse_code(&text, code);
        else
            ok = tfd_str_is(name, "message") && parse_string(&text, message);
        if (!ok)
            return false;
    }
    return true;
}
