/*
 * clock.c - see clock.h.  All calls stay in user space on Linux.
 */
#define _GNU_SOURCE 1 /* clock_gettime() */

#include "common/base/clock.h"

#include <assert.h>
#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec t;
    int failed = clock_gettime(id, &t);

    assert(!failed);
    (void)failed;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t tfd_clock_now_us(void)
{
    return (int64_t)(read_ns(CLOCK_MONOTONIC) / 1000);
}

int64_t tfd_clock_wall_us(void)
{
    return (int64_t)(read_ns(CLOCK_REALTIME) / 1000);
}

uint64_t tfd_clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t tfd_clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}
