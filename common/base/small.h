/*
 * small.h - short texts as elements of string tensors, without a call that
 * begins by asking how many bytes there are.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_COMMON_SMALL_H
#define TFD_COMMON_SMALL_H

#include "common/base/tstring.h"

#include <string.h>

/* Up to TFD_TSTRING_SMALL_MAX bytes, in moves that may overlap each other; from
 * and to do not. */
static inline void tfd_small_copy(char *to, const char *from, size_t size)
{
    if (size >= 16)
        memcpy(to, from, 16);
    if (size >= 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else if (size > 0) {
        to[0] = from[0];
        to[size / 2] = from[size / 2];
        to[size - 1] = from[size - 1];
    }
}

/* Whether a string of `size` bytes is short, and t has no memory of its own. */
static inline bool tfd_small_fits(const struct tfd_tstring *t, size_t size)
{
    return size <= TFD_TSTRING_SMALL_MAX &&
           tfd_tstring_kind_of(t) == TFD_TSTRING_SMALL;
}

/* tfd_tstring_set() of a value that is no part of the string itself. */
static inline enum tfd_code tfd_small_set(struct tfd_tstring *t,
                                          struct tfd_str value,
                                          struct tfd_status *st)
{
    if (!tfd_small_fits(t, value.size))
        return tfd_tstring_set(t, value, st);
    t->u.small.size = (unsigned char)(value.size << 2);
    tfd_small_copy(t->u.small.data, value.data, value.size);
    return TFD_OK;
}

#endif
