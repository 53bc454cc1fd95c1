/*
 * min.h - the smaller and the larger of two counts.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_COMMON_MIN_H
#define TFD_COMMON_MIN_H

#include <stdint.h>

static inline int64_t tfd_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tfd_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
