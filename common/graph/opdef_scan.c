/*
 * opdef_scan.c - see opdef_scan.h.
 */
#include "common/graph/opdef_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scanner ------------------------------------------------------------- */

enum tfd_code tfd_scan_fail(const struct tfd_scan *s, const char *expected)
{
    return tfd_fail(s->st, TFD_INTERNAL,
                    "definition of %s: expected %s at \"%.40s\"", s->op,
                    expected, s->at);
}

static void skip_space(struct tfd_scan *s)
{
    while (*s->at == ' ' || *s->at == '\n' || *s->at == '\t')
        s->at++;
}

bool tfd_scan_end(struct tfd_scan *s)
{
    skip_space(s);
    return !*s->at;
}

bool tfd_scan_eat(struct tfd_scan *s, const char *what)
{
    size_t size = strlen(what);

    skip_space(s);
    if (strncmp(s->at, what, size))
        return false;
    s->at += size;
    return true;
}

enum tfd_code tfd_scan_need(struct tfd_scan *s, const char *what)
{
    return tfd_scan_eat(s, what) ? TFD_OK : tfd_scan_fail(s, what);
}

/* The next word, empty when there is none. */
struct tfd_str tfd_scan_word(struct tfd_scan *s)
{
    const char *start;

    skip_space(s);
    start = s->at;
    while (isalnum((unsigned char)*s->at) || *s->at == '_')
        s->at++;
    return (struct tfd_str){start, (size_t)(s->at - start)};
}

enum tfd_code tfd_scan_name(struct tfd_scan *s, struct tfd_str *out)
{
    *out = tfd_scan_word(s);
    return out->size ? TFD_OK : tfd_scan_fail(s, "a name");
}

enum tfd_code tfd_scan_int(struct tfd_scan *s, int64_t *out)
{
    char *end;

    skip_space(s);
    *out = strtoll(s->at, &end, 10);
    if (end == s->at)
        return tfd_scan_fail(s, "a number");
    s->at = end;
    return TFD_OK;
}

enum tfd_code tfd_scan_quoted(struct tfd_scan *s, struct tfd_str *out)
{
    const char *end;
    char quote;

    skip_space(s);
    quote = *s->at;
    if (quote != '\'' && quote != '"')
        return tfd_scan_fail(s, "a quoted string");
    end = strchr(s->at + 1, quote);
    if (!end)
        return tfd_scan_fail(s, "a closing quote");
    *out = (struct tfd_str){s->at + 1, (size_t)(end - s->at - 1)};
    s->at = end + 1;
    return TFD_OK;
}

enum tfd_code tfd_scan_array(struct tfd_scan *s, size_t count, size_t size,
                             void **out)
{
    *out = tfd_arena_array(s->arena, count, size);
    return tfd_arena_check(*out, "definitions of operations", s->st);
}

/* ---- Types --------------------------------------------------------------- */

#define BIT(name, number, ctype) | UINT32_C(1) << (number)
#define REAL_NUMBERS (UINT32_C(0) TFD_REAL_DTYPES(BIT) TFD_HALF_DTYPES(BIT))
#define QUANTIZED (UINT32_C(0) TFD_QUANT_DTYPES(BIT))
#define NUMBERS (REAL_NUMBERS | QUANTIZED TFD_COMPLEX_DTYPES(BIT))

/* TensorFlow's names of groups. */
static const struct {
    const char *name;
    uint32_t types;
} groups[] = {
    {"type", TFD_OP_TYPES_ALL},        {"numbertype", NUMBERS},
    {"numerictype", NUMBERS},          {"realnumbertype", REAL_NUMBERS},
    {"realnumerictype", REAL_NUMBERS}, {"quantizedtype", QUANTIZED},
};

enum tfd_dtype tfd_scan_dtype(struct tfd_str name)
{
    for (int i = 1; i < TFD_DTYPE_END; i++)
        if (tfd_dtype_valid(i) && (tfd_str_is(name, tfd_dtype_name(i)) ||
                                   tfd_str_is(name, tfd_dtype_enum_name(i))))
            return (enum tfd_dtype)i;
    return TFD_DTYPE_INVALID;
}

/* A type or a group; 0 when it is neither. */
uint32_t tfd_scan_types(struct tfd_str name)
{
    enum tfd_dtype t = tfd_scan_dtype(name);

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        if (tfd_str_is(name, groups[i].name))
            return groups[i].types;
    return t ? UINT32_C(1) << t : 0;
}
