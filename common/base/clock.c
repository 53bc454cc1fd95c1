/*
 * clock.c - see clock.h.  Both calls stay in user space on Linux.
 */
#define _GNU_SOURCE 1 /* clock_gettime() */

#include "common/base/clock.h"

#include <assert.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec t;
    int failed = clock_gettime(id, &t);

    assert(!failed);
    (void)failed;
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t tfd_clock_now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t tfd_clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}
