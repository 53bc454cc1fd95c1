/*
 * regex_class.c - characters and classes of a pattern.
 */
#include "kernels/text/regex_compile.h"

#include <string.h>

/* ---- Sets of characters -------------------------------------------------- */

/* Passes on what regex_set.c says. */
enum tfd_code tfd_regex_class_kept(const struct tfd_regex_compiler *c, bool ok)
{
    return ok ? TFD_OK
              : tfd_regex_wrong(c, "pattern too large - compile failed");
}

struct named_set {
    const char *name, *ranges; /* pairs of first and last */
    bool zero;                 /* and the character 0 */
};

static const struct named_set perl_sets[] = {
    {"d", "09", false},
    {"s", "\t\n\f\r  ", false},
    {"w", "09AZaz__", false},
    {NULL, NULL, false},
};

static const struct named_set posix_sets[] = {
    {"alnum:]", "09AZaz", false},
    {"alpha:]", "AZaz", false},
    {"ascii:]", "\1\177", true},
    {"blank:]", "\t\t  ", false},
    {"cntrl:]", "\1\37\177\177", true},
    {"digit:]", "09", false},
    {"graph:]", "!~", false},
    {"lower:]", "az", false},
    {"print:]", " ~", false},
    {"punct:]", "!/:@[`{~", false},
    {"space:]", "\t\r  ", false},
    {"upper:]", "AZ", false},
    {"word:]", "09AZaz__", false},
    {"xdigit:]", "09AFaf", false},
    {NULL, NULL, false},
};

static enum tfd_code add_named(struct tfd_regex_compiler *c,
                               const struct named_set *s, bool negated)
{
    int32_t begin = c->r->range_count;

    if (s->zero)
        TFD_TRY(tfd_regex_class_kept(c, tfd_regex_set_add(c->r, 0, 0)));
    for (const char *ranges = s->ranges; *ranges; ranges += 2)
        TFD_TRY(tfd_regex_class_kept(
            c, tfd_regex_set_add(c->r, (unsigned char)ranges[0],
                                 (unsigned char)ranges[1])));
    if (c->flags & TFD_REGEX_FOLD)
        TFD_TRY(tfd_regex_class_kept(c, tfd_regex_set_fold(c->r, begin)));
    return tfd_regex_class_kept(c,
                                !negated || tfd_regex_set_invert(c->r, begin));
}

/* \d and the like, the backslash read; *found tells whether it was one. */
enum tfd_code tfd_regex_class_perl(struct tfd_regex_compiler *c, bool *found)
{
    char name = tfd_regex_left(c) ? *c->p : '\0';

    *found = false;
    for (const struct named_set *s = perl_sets; s->name; s++) {
        char lower = s->name[0];

        if (name != lower && name != lower - 'a' + 'A')
            continue;
        *found = true;
        c->p++;
        return add_named(c, s, name != lower);
    }
    return TFD_OK;
}

static enum tfd_code read_posix_set(struct tfd_regex_compiler *c)
{
    bool negated = tfd_regex_take(c, "^");

    for (const struct named_set *s = posix_sets; s->name; s++)
        if (tfd_regex_take(c, s->name))
            return add_named(c, s, negated);
    return tfd_regex_wrong(c, "invalid character class range");
}

/* ---- Characters ---------------------------------------------------------- */

enum tfd_code tfd_regex_class_plain(struct tfd_regex_compiler *c, uint32_t *out)
{
    if (!tfd_regex_left(c))
        return tfd_regex_wrong(c, "missing argument to escape sequence");
    *out = tfd_regex_character(&c->p, c->end);
    if (*out == TFD_REGEX_INVALID)
        return tfd_regex_wrong(c, "invalid UTF-8");
    return TFD_OK;
}

static int digit_of(char c, int base)
{
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;

    return d < base ? d : -1;
}

/* At least `least` and at most `most` digits. */
bool tfd_regex_class_number(struct tfd_regex_compiler *c, int base, int least,
                            int most, uint32_t *out)
{
    int n = 0;

    *out = 0;
    for (; n < most && tfd_regex_left(c) && digit_of(*c->p, base) >= 0;
         n++, c->p++)
        if (*out <= TFD_REGEX_CHARACTER_MAX) /* larger is as wrong */
            *out = *out * (uint32_t)base + (uint32_t)digit_of(*c->p, base);
    return n >= least;
}

static enum tfd_code read_hex(struct tfd_regex_compiler *c, uint32_t *out)
{
    bool ok =
        tfd_regex_take(c, "{")
            ? tfd_regex_class_number(c, 16, 1, 6, out) && tfd_regex_take(c, "}")
            : tfd_regex_class_number(c, 16, 2, 2, out);

    return ok && *out <= TFD_REGEX_CHARACTER_MAX
               ? TFD_OK
               : tfd_regex_wrong(c, "invalid escape sequence");
}

/* A character after a backslash. */
enum tfd_code tfd_regex_class_escaped(struct tfd_regex_compiler *c,
                                      uint32_t *out)
{
    static const char names[] = "aftnrv", values[] = "\a\f\t\n\r\v";
    const char *name;
    char first;

    if (!tfd_regex_left(c))
        return tfd_regex_wrong(c, "trailing \\");
    first = *c->p;
    if (tfd_regex_take(c, "x"))
        return read_hex(c, out);
    name = strchr(names, first);
    if (first != '\0' && name) {
        c->p++;
        *out = (unsigned char)values[name - names];
        return TFD_OK;
    }
    /* \1 would be a reference to a group; \0 and \12 are octal. */
    if (first == '0' || (first >= '1' && first <= '7' && c->end - c->p > 1 &&
                         digit_of(c->p[1], 8) >= 0))
        return tfd_regex_class_number(c, 8, 1, 3, out)
                   ? TFD_OK
                   : tfd_regex_wrong(c, "invalid escape sequence");
    if (digit_of(first, 10) >= 0 || (first >= 'a' && first <= 'z') ||
        (first >= 'A' && first <= 'Z') || (first & 0x80))
        return tfd_regex_wrong(c, "invalid escape sequence");
    return tfd_regex_class_plain(c, out);
}

/* ---- [...] --------------------------------------------------------------- */

static enum tfd_code read_member(struct tfd_regex_compiler *c, uint32_t *out)
{
    return tfd_regex_take(c, "\\") ? tfd_regex_class_escaped(c, out)
                                   : tfd_regex_class_plain(c, out);
}

static enum tfd_code read_range(struct tfd_regex_compiler *c)
{
    uint32_t first, last;

    TFD_TRY(read_member(c, &first));
    last = first;
    if (c->end - c->p >= 2 && c->p[0] == '-' && c->p[1] != ']') {
        c->p++;
        TFD_TRY(read_member(c, &last));
    }
    if (last < first)
        return tfd_regex_wrong(c, "invalid character class range");
    if (c->flags & TFD_REGEX_FOLD && last > 0x7f)
        return tfd_regex_wrong(c, "(?i) is supported for ASCII only");
    return tfd_regex_class_kept(c, tfd_regex_set_add(c->r, first, last));
}

static bool comes(const struct tfd_regex_compiler *c, const char *text)
{
    size_t n = strlen(text);

    for (const char *p = c->p; (size_t)(c->end - p) >= n; p++)
        if (memcmp(p, text, n) == 0)
            return true;
    return false;
}

/* One entry of a class; \d and [:alpha:] have no ends for a range. */
static enum tfd_code read_entry(struct tfd_regex_compiler *c)
{
    const char *start = c->p;
    bool found = false;

    if (tfd_regex_take(c, "[:") && comes(c, ":]"))
        return read_posix_set(c);
    c->p = start;
    if (tfd_regex_take(c, "\\"))
        TFD_TRY(tfd_regex_class_perl(c, &found));
    if (found)
        return TFD_OK;
    c->p = start;
    return read_range(c);
}

enum tfd_code tfd_regex_class_read(struct tfd_regex_compiler *c)
{
    int32_t begin = c->r->range_count;
    bool negated = tfd_regex_take(c, "^"), first = true;

    while (tfd_regex_left(c) && (first || *c->p != ']')) {
        TFD_TRY(read_entry(c));
        first = false;
    }
    if (!tfd_regex_take(c, "]"))
        return tfd_regex_wrong(c, "missing ]");
    if (c->flags & TFD_REGEX_FOLD)
        TFD_TRY(tfd_regex_class_kept(c, tfd_regex_set_fold(c->r, begin)));
    if (negated)
        TFD_TRY(tfd_regex_class_kept(c, tfd_regex_set_invert(c->r, begin)));
    return TFD_OK;
}
