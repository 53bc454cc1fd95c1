/*
 * value.c - see value.h.
 */
#include "config/value.h"

#include "config/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit durations[] = {
    {"d", 24 * 3600 * INT64_C(1000)},
    {"h", 3600 * 1000},
    {"m", 60 * 1000},
    {"s", 1000},
    {"ms", 1},
    {"", 1000},
};

static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"K", 1 << 10},
    {"KiB", 1 << 10},
    {"M", 1 << 20},
    {"MiB", 1 << 20},
    {"G", 1 << 30},
    {"GiB", 1 << 30},
    {"T", INT64_C(1) << 40},
    {"TiB", INT64_C(1) << 40},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Digits with an optional "-"; *end is what follows them. */
static bool read_digits(const char *text, int64_t *out, const char **end)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    char *rest;

    if (digits[0] < '0' || digits[0] > '9')
        return false;
    errno = 0;
    *out = strtoll(text, &rest, 10);
    *end = rest;
    return errno == 0;
}

enum tfd_code tfd_value_number(const char *text, int64_t min, int64_t max,
                               int64_t *out, struct tfd_status *st)
{
    const char *end;
    int64_t value;

    if (!read_digits(text, &value, &end) || *end)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "not a whole number; give %" PRId64 " to %" PRId64, min,
                        max);
    if (value < min || value > max)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "out of range; give %" PRId64 " to %" PRId64, min, max);
    *out = value;
    return TFD_OK;
}

/* A number and one of the units; false when it is not one or too large. */
static bool read_units(const char *text, const struct unit *units, size_t count,
                       int64_t *out)
{
    const char *end;
    int64_t value;

    if (!read_digits(text, &value, &end) || value < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(end, units[i].name) == 0)
            return !__builtin_mul_overflow(value, units[i].factor, out);
    return false;
}

enum tfd_code tfd_value_duration(const char *text, int64_t *ms,
                                 struct tfd_status *st)
{
    int64_t value;

    if (!read_units(text, durations, COUNT(durations), &value))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "not a duration; write one like 250ms, 60s, 5m or 2h");
    if (value > TFD_DURATION_MS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "longer than 10 years; give a shorter one");
    *ms = value;
    return TFD_OK;
}

enum tfd_code tfd_value_size(const char *text, int64_t *bytes,
                             struct tfd_status *st)
{
    int64_t value;

    if (!read_units(text, sizes, COUNT(sizes), &value))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "not a size; write one like 512M or 8G");
    *bytes = value;
    return TFD_OK;
}

enum tfd_code tfd_value_bool(const char *text, bool *out, struct tfd_status *st)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {
        {"true", true}, {"false", false}, {"1", true},    {"0", false},
        {"yes", true},  {"no", false},    {"True", true}, {"False", false},
    };

    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcmp(text, words[i].word) == 0) {
            *out = words[i].value;
            return TFD_OK;
        }
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "neither true nor false; write one of them");
}

static char fold(char c)
{
    if (c == '-')
        return '_';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Words are cut here: longer ones are no option names. */
#define WORD_MAX 40

static size_t word_size(const char *word)
{
    size_t size = strlen(word);

    return size < WORD_MAX ? size : WORD_MAX;
}

size_t tfd_value_distance(const char *a, const char *b)
{
    size_t m = word_size(a);
    size_t n = word_size(b);
    size_t rows[3][WORD_MAX + 1] = {{0}};
    size_t *above2 = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *spare = above2;

        above2 = above;
        above = row;
        row = spare;
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            bool same = fold(a[i - 1]) == fold(b[j - 1]);

            row[j] = smallest(above[j] + 1, row[j - 1] + 1,
                              above[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]) && above2[j - 2] + 1 < row[j])
                row[j] = above2[j - 2] + 1;
        }
    }
    return row[n];
}

bool tfd_value_near(const char *word, const char *meant)
{
    size_t size = strlen(meant);
    size_t allowed = size >= 6 ? 2 : size >= 4 ? 1 : 0;

    return tfd_value_distance(word, meant) <= allowed;
}
