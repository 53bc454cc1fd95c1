/*
 * percent.c - one pass over the input each way.
 */
#include "rpc/http/percent.h"

#include <assert.h>

/* A header may not begin or end with a space (RFC 9113 8.2.1). */
static bool is_plain_text(struct tfd_str in, size_t at)
{
    unsigned char c = (unsigned char)in.data[at];

    if (c == ' ')
        return at > 0 && at + 1 < in.size;
    return c > ' ' && c <= '~' && c != '%';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

size_t tfd_percent_encode(struct tfd_str in, char *out, size_t room)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;

    assert(room > 0);
    for (size_t i = 0; i < in.size; i++) {
        unsigned char c = (unsigned char)in.data[i];

        if (room - used <= (is_plain_text(in, i) ? 1 : 3))
            break;
        if (is_plain_text(in, i)) {
            out[used++] = (char)c;
            continue;
        }
        out[used++] = '%';
        out[used++] = digits[c >> 4];
        out[used++] = digits[c & 15];
    }
    out[used] = '\0';
    return used;
}

/* The byte that the escape at s stands for, or -1 when it is none. */
static int escaped_byte(struct tfd_str s)
{
    int high, low;

    if (s.size < 3 || s.data[0] != '%')
        return -1;
    high = digit_value(s.data[1]);
    low = digit_value(s.data[2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

size_t tfd_percent_decode(struct tfd_str in, char *out, size_t room)
{
    size_t used = 0;

    assert(room > 0);
    for (size_t i = 0; i < in.size && used + 1 < room; i++) {
        int byte = escaped_byte((struct tfd_str){in.data + i, in.size - i});

        out[used++] = byte < 0 ? in.data[i] : (char)byte;
        if (byte >= 0)
            i += 2;
    }
    out[used] = '\0';
    return used;
}
