/*
 * json_out.c - see json_out.h.
 */
#include "daemon/status/json_out.h"

#include "config/limits.h"

#include <math.h>
#include <string.h>

/* A document has tens of thousands of values: printf() is for few of them. */
static void begin_value(struct tfd_json_out *j, const char *key)
{
    if (j->follows)
        tfd_bytes_add(j->out, ",", 1);
    j->follows = true;
    if (!key)
        return;
    tfd_bytes_add(j->out, "\"", 1);
    tfd_bytes_add(j->out, key, strlen(key));
    tfd_bytes_add(j->out, "\":", 2);
}

void tfd_json_out_open(struct tfd_json_out *j, const char *key, char bracket)
{
    begin_value(j, key);
    tfd_bytes_add(j->out, &bracket, 1);
    j->follows = false;
}

void tfd_json_out_close(struct tfd_json_out *j, char bracket)
{
    tfd_bytes_add(j->out, &bracket, 1);
    j->follows = true;
}

/* ---- Text ---------------------------------------------------------------- */

/* The least character that a sequence of so many bytes may stand for; less is
 * a longer way to write it, which RFC 3629 forbids. */
static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

static size_t sequence_size(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* How many bytes the character at `text` has; 0: it is none. */
static size_t read_character(struct tfd_str text, uint32_t *out)
{
    unsigned char first = (unsigned char)text.data[0];
    size_t size = sequence_size(first);
    uint32_t c = size < 2 ? first : first & (0x7fu >> size);

    if (size == 0 || size > text.size)
        return 0;
    for (size_t i = 1; i < size; i++) {
        unsigned char next = (unsigned char)text.data[i];

        if ((next & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (next & 0x3f);
    }
    if (c < least[size] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return 0;
    *out = c;
    return size;
}

/* Stands for itself, and needs no look at its neighbours. */
static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_character(struct tfd_bytes *out, const char *at, size_t size,
                          uint32_t c)
{
    if (c == '"' || c == '\\') {
        tfd_bytes_add(out, "\\", 1);
        tfd_bytes_add(out, at, size);
    } else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
        tfd_bytes_printf(out, "\\u%04x", (unsigned)c);
    } else {
        tfd_bytes_add(out, at, size);
    }
}

static void put_escaped(struct tfd_bytes *out, struct tfd_str text)
{
    size_t end = text.size;

    if (end > TFD_STATUS_TEXT_SIZE_MAX)
        end = TFD_STATUS_TEXT_SIZE_MAX;
    for (size_t i = 0; i < end;) {
        struct tfd_str rest = {text.data + i, text.size - i};
        size_t size = 0;
        uint32_t c = 0;

        while (i + size < end && is_plain(rest.data[size]))
            size++;
        if (size > 0)
            tfd_bytes_add(out, rest.data, size);
        else if ((size = read_character(rest, &c)) > 0)
            put_character(out, rest.data, size, c);
        else
            tfd_bytes_add(out, "\xef\xbf\xbd", 3);
        i += size ? size : 1;
    }
    if (end < text.size)
        tfd_bytes_add(out, "...", 3);
}

void tfd_json_out_text(struct tfd_json_out *j, const char *key,
                       struct tfd_str text)
{
    begin_value(j, key);
    tfd_bytes_add(j->out, "\"", 1);
    put_escaped(j->out, text);
    tfd_bytes_add(j->out, "\"", 1);
}

/* ---- Other values -------------------------------------------------------- */

static void put_digits(struct tfd_bytes *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    tfd_bytes_add(out, digits + at, sizeof(digits) - at);
}

void tfd_json_out_number(struct tfd_json_out *j, const char *key, int64_t value)
{
    begin_value(j, key);
    if (value < 0)
        tfd_bytes_add(j->out, "-", 1);
    put_digits(j->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void tfd_json_out_id(struct tfd_json_out *j, const char *key, uint64_t value)
{
    begin_value(j, key);
    tfd_bytes_printf(j->out, "\"%llu\"", (unsigned long long)value);
}

void tfd_json_out_real(struct tfd_json_out *j, const char *key, double value,
                       int digits)
{
    if (!isfinite(value)) {
        tfd_json_out_null(j, key);
        return;
    }
    begin_value(j, key);
    tfd_bytes_printf(j->out, "%.*f", digits, value);
}

void tfd_json_out_bool(struct tfd_json_out *j, const char *key, bool value)
{
    begin_value(j, key);
    tfd_bytes_add(j->out, value ? "true" : "false", value ? 4 : 5);
}

void tfd_json_out_null(struct tfd_json_out *j, const char *key)
{
    begin_value(j, key);
    tfd_bytes_add(j->out, "null", 4);
}
