/*
 * unicode.h - code points to and from UTF-8, as Unicode defines it: nothing
 * overlong, no halves of surrogate pairs, nothing beyond U+10FFFF.
 *
 *     0xxxxxxx                              below      80
 *     110xxxxx 10xxxxxx                               800
 *     1110xxxx 10xxxxxx 10xxxxxx                    10000
 *     11110xxx 10xxxxxx 10xxxxxx 10xxxxxx          110000
 *
 * kernels/text/utf8.h counts characters of text that may be none.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_COMMON_UNICODE_H
#define TFD_COMMON_UNICODE_H

#include "common/base/str.h"

#define TFD_UNICODE_MAX 0x10ffffu
#define TFD_UTF8_SIZE_MAX 4 /* of one character */

static inline bool tfd_unicode_is_surrogate(uint32_t point)
{
    return point >= 0xd800 && point <= 0xdfff;
}

/* Writes a point of at most TFD_UNICODE_MAX, returns its bytes. */
static inline size_t tfd_unicode_put(uint32_t point,
                                     char out[TFD_UTF8_SIZE_MAX])
{
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    size_t more = point < 0x80      ? 0
                  : point < 0x800   ? 1
                  : point < 0x10000 ? 2
                                    : 3;

    for (size_t i = more; i > 0; i--) {
        out[i] = (char)(uint8_t)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)(uint8_t)(lead[more] | point);
    return more + 1;
}

/* The bytes of the character that s begins with and its point; 0 where it
 * begins with none, and then there is no point. */
static inline size_t tfd_unicode_read(struct tfd_str s, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *p = (const uint8_t *)s.data;
    size_t size;

    if (s.size == 0)
        return 0;
    size = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if ((p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4 || size > s.size)
        return 0;
    *point = size == 1 ? p[0] : p[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (p[i] & 0x3f);
    }
    if (*point < least[size] || *point > TFD_UNICODE_MAX ||
        tfd_unicode_is_surrogate(*point))
        return 0;
    return size;
}

/* The bytes of the character that s begins with where a terminal shows it; 0
 * for a control character, which may steer the terminal, and where it is none.
 */
static inline size_t tfd_unicode_shown(struct tfd_str s)
{
    uint32_t point;
    size_t size = tfd_unicode_read(s, &point);

    return size > 0 && (point < 0x20 || (point >= 0x7f && point < 0xa0)) ? 0
                                                                         : size;
}

static inline bool tfd_unicode_is_utf8(struct tfd_str s)
{
    uint32_t point;

    while (s.size > 0) {
        size_t size = tfd_unicode_read(s, &point);

        if (size == 0)
            return false;
        s.data += size;
        s.size -= size;
    }
    return true;
}

#endif
