/*
 * graph_name.c - which names nodes may have, and how messages show what has
 * none of them.
 */
#include "common/graph/graph_internal.h"

#include <string.h>

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

/* Pieces joined by '>', each [A-Za-z0-9.][A-Za-z0-9_./\-]*; the first piece of
 * names that runtimes make may begin with '_'. */
bool tfd_graph_name_ok(struct tfd_str name)
{
    bool start = true;

    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];

        if (c == '>' && !start)
            start = true;
        else if (is_letter_or_digit(c) || c == '.' || (c == '_' && i == 0))
            start = false;
        else if (start || !(c == '_' || c == '-' || c == '/'))
            return false;
    }
    return !start;
}

const char *tfd_graph_printable(struct tfd_str s, char *text)
{
    size_t n = s.size < TFD_PRINTABLE_MAX ? s.size : TFD_PRINTABLE_MAX - 1;

    for (size_t i = 0; i < n; i++)
        text[i] = s.data[i] >= 0x20 && s.data[i] < 0x7f ? s.data[i] : '?';
    if (s.size > n)
        memcpy(text + n - 3, "...", 3);
    text[n] = '\0';
    return text;
}
