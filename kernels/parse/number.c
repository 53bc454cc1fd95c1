/*
 * number.c - see number.h.
 */
#include "kernels/parse/number.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_TEXT 128

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct tfd_str trimmed(struct tfd_str s)
{
    while (s.size > 0 && is_space(*s.data)) {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && is_space(s.data[s.size - 1]))
        s.size--;
    return s;
}

/* ---- Short decimals ------------------------------------------------------ */

/* Most numbers are some digits and a small power of ten, both of which are
 * doubles, so that one product or quotient, which is rounded once, is the
 * number.  Whatever is not so sure is left to the C library. */
#define DIGITS_MAX 19 /* that an uint64_t holds, whatever they are */
#define EXACT_MAX (UINT64_C(1) << 53)
#define POWER_MAX 22 /* 5^22 has 52 bits */

struct decimal {
    uint64_t digits;
    int power; /* of ten */
    bool negative;
};

/* Digits from *at on.  There may be more than fit; those are not taken. */
static int take_digits(struct tfd_str s, size_t *at, int room, uint64_t *value)
{
    const size_t begin = *at;

    for (; *at < s.size && (int)(*at - begin) < room; ++*at) {
        const unsigned char digit = (unsigned char)(s.data[*at] - '0');

        if (digit > 9)
            break;
        *value = 10 * *value + digit;
    }
    return (int)(*at - begin);
}

/* Behind the "e": a power of two digits at most. */
static bool take_power(struct tfd_str s, size_t *at, int *power)
{
    const bool negative = *at < s.size && s.data[*at] == '-';
    uint64_t value = 0;

    *at += negative || (*at < s.size && s.data[*at] == '+');
    if (!take_digits(s, at, 2, &value))
        return false;
    *power += negative ? -(int)value : (int)value;
    return true;
}

/* Whether all of the text is a decimal of few digits. */
static bool read_decimal(struct tfd_str s, struct decimal *d)
{
    size_t at = 0;
    int whole, part = 0;

    *d = (struct decimal){0, 0, *s.data == '-'};
    at += d->negative || *s.data == '+';
    whole = take_digits(s, &at, DIGITS_MAX, &d->digits);
    if (at < s.size && s.data[at] == '.') {
        at++;
        part = take_digits(s, &at, DIGITS_MAX - whole, &d->digits);
    }
    d->power = -part;
    if (whole + part == 0)
        return false;
    if (at < s.size && (s.data[at] | 0x20) == 'e') {
        at++;
        if (!take_power(s, &at, &d->power))
            return false;
    }
    return at == s.size && d->power >= -POWER_MAX && d->power <= POWER_MAX;
}

/* The number, rounded once where the digits are a double, and else not far from
 * it. */
static double product_of(const struct decimal *d)
{
    static const double tens[POWER_MAX + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const double digits = (double)d->digits;
    const double size =
        d->power < 0 ? digits / tens[-d->power] : digits * tens[d->power];

    return d->negative ? -size : size;
}

/* What is rounded to a double first may lie on the wrong side of the middle
 * between two floats, or just on it. */
#define FLOAT_REST UINT64_C(0x1fffffff) /* the bits that a float lacks */
#define FLOAT_HALF UINT64_C(0x10000000)
#define FLOAT_DOUBT 4 /* three roundings of half a bit, and more */

static bool is_middle_of_floats(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (bits & FLOAT_REST) - (FLOAT_HALF - FLOAT_DOUBT) <= 2 * FLOAT_DOUBT;
}

/* False: it is not one of those.  The numbers lie within 1e-22 and 1e41; those
 * that a float has as others of that size do are smaller than 1e38. */
static bool parse_decimal(enum tfd_dtype dtype, struct tfd_str text, void *out)
{
    struct decimal d;
    double x;

    if (!read_decimal(text, &d))
        return false;
    x = product_of(&d);
    if (dtype == TFD_DOUBLE) {
        *(double *)out = x;
        return d.digits <= EXACT_MAX;
    }
    *(float *)out = (float)x;
    return x < 1e38 && x > -1e38 && !is_middle_of_floats(x);
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
        return parse_decimal(dtype, text, out) || parse_real(dtype, text, out);
    negative = text.data[0] == '-';
    if (negative || text.data[0] == '+') {
        text.data++;
        text.size--;
    }
    if (dtype == TFD_INT32 || dtype == TFD_INT64)
        return parse_signed(dtype, text, negative, out);
    return !negative && parse_unsigned(dtype, text, out);
}
