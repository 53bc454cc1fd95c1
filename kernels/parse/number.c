/*
 * number.c - see number.h.
 */
#include "kernels/parse/number.h"

#include <stdlib.h>
#include <string.h>

#define SPACES " \t\n\v\f\r"
#define SHORT_TEXT 128

static struct tfd_str trimmed(struct tfd_str s)
{
    while (s.size > 0 && s.data[0] && strchr(SPACES, s.data[0])) {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && s.data[s.size - 1] &&
           strchr(SPACES, s.data[s.size - 1]))
        s.size--;
    return s;
}

/* ---- Reals --------------------------------------------------------------- */

static bool read_real(enum tfd_dtype dtype, const char *text, size_t size,
                      void *out)
{
    char *end;

    if (dtype == TFD_FLOAT)
        *(float *)out = strtof(text, &end);
    else
        *(double *)out = strtod(text, &end);
    return end == text + size;
}

/* A text with a zero byte in it ends before its end. */
static bool parse_real(enum tfd_dtype dtype, struct tfd_str text, void *out)
{
    char copy[SHORT_TEXT], *longer;
    bool ok;

    if (text.size < sizeof(copy)) {
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
        return read_real(dtype, copy, text.size, out);
    }
    longer = malloc(text.size + 1);
    if (!longer)
        return false;
    memcpy(longer, text.data, text.size);
    longer[text.size] = '\0';
    ok = read_real(dtype, longer, text.size, out);
    free(longer);
    return ok;
}

/* ---- Whole numbers ------------------------------------------------------- */

static bool read_digits(struct tfd_str digits, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;

    for (size_t i = 0; i < digits.size; i++) {
        uint64_t digit = (uint64_t)(uint8_t)digits.data[i] - '0';

        if (digit > 9 || value > (most - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *out = value;
    return digits.size > 0;
}

static bool parse_unsigned(enum tfd_dtype dtype, struct tfd_str text, void *out)
{
    uint64_t value;

    if (!read_digits(text, dtype == TFD_UINT32 ? UINT32_MAX : UINT64_MAX,
                     &value))
        return false;
    if (dtype == TFD_UINT32)
        *(uint32_t *)out = (uint32_t)value;
    else
        *(uint64_t *)out = value;
    return true;
}

static bool parse_signed(enum tfd_dtype dtype, struct tfd_str text,
                         bool negative, void *out)
{
    const uint64_t most = dtype == TFD_INT32 ? INT32_MAX : INT64_MAX;
    uint64_t value;

    if (!read_digits(text, most + negative, &value))
        return false;
    value = negative ? 0 - value : value;
    if (dtype == TFD_INT32)
        *(int32_t *)out = (int32_t)(int64_t)value;
    else
        *(int64_t *)out = (int64_t)value;
    return true;
}

bool tfd_number_parse(enum tfd_dtype dtype, struct tfd_str text, void *out)
{
    bool negative;

    text = trimmed(text);
    if (text.size == 0)
        return false;
    if (dtype == TFD_FLOAT || dtype == TFD_DOUBLE)
        return parse_real(dtype, text, out);
    negative = text.data[0] == '-';
    if (negative || text.data[0] == '+') {
        text.data++;
        text.size--;
    }
    if (dtype == TFD_INT32 || dtype == TFD_INT64)
        return parse_signed(dtype, text, negative, out);
    return !negative && parse_unsigned(dtype, text, out);
}
