/*
 * utf8.h - characters of UTF-8 as TensorFlow counts them: a byte that is no
 * continuation begins one, whatever else is wrong with the text.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_UTF8_H
#define TFD_KERNELS_UTF8_H

#include "common/base/str.h"

static inline bool tfd_utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static inline int64_t tfd_utf8_count(struct tfd_str s)
{
    int64_t count = 0;

    for (size_t i = 0; i < s.size; i++)
        count += !tfd_utf8_continues(s.data[i]);
    return count;
}

#endif
