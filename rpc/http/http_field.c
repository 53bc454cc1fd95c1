/*
 * http_field.c - see http_field.h.
 */
#include "rpc/http/http_field.h"

#include <string.h>

/* What stands before the next `end`, which is taken too; else all. */
static struct tfd_str take_part(struct tfd_str *rest, char end)
{
    const char *at = rest->size ? memchr(rest->data, end, rest->size) : NULL;
    struct tfd_str part = *rest;

    if (!at) {
        rest->size = 0;
        return part;
    }
    part.size = (size_t)(at - rest->data);
    rest->data += part.size + 1;
    rest->size -= part.size + 1;
    return part;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct tfd_str without_blanks(struct tfd_str s)
{
    while (s.size > 0 && is_blank(s.data[0]))
        s.data++, s.size--;
    while (s.size > 0 && is_blank(s.data[s.size - 1]))
        s.size--;
    return s;
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool is_called(struct tfd_str s, const char *name)
{
    size_t size = strlen(name);

    if (s.size != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (lower(s.data[i]) != name[i])
            return false;
    return true;
}

struct tfd_str tfd_http_field(struct tfd_str fields, const char *name)
{
    while (fields.size > 0) {
        struct tfd_str value = take_part(&fields, '\n');

        if (is_called(take_part(&value, ':'), name))
            return without_blanks(value);
    }
    return TFD_STR_EMPTY;
}

/* "q=0", "q=0.0" and so on; what is no weight refuses nothing. */
static bool is_weight_zero(struct tfd_str s)
{
    if (s.size < 3 || lower(s.data[0]) != 'q' || s.data[1] != '=')
        return false;
    for (size_t i = 2; i < s.size; i++)
        if (s.data[i] != '0' && s.data[i] != '.')
            return false;
    return true;
}

bool tfd_http_field_accepts(struct tfd_str accept, const char *type)
{
    while (accept.size > 0) {
        struct tfd_str range = take_part(&accept, ',');
        bool named = is_called(without_blanks(take_part(&range, ';')), type);

        while (named && range.size > 0)
            if (is_weight_zero(without_blanks(take_part(&range, ';'))))
                named = false;
        if (named)
            return true;
    }
    return false;
}
