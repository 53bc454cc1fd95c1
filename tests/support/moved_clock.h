/*
 * moved_clock.h - the loop's clock, ahead of the real one by as much as a test
 * says, so that it can see what happens after a minute without waiting for it.
 *
 *     clock_move(loop, 60 * 1000 * 1000);    timers that are due now fire
 *
 * Included once by a test that runs the real loop: it stands in for libuv's
 * uv_hrtime(), which is all that rpc/conn/loop.c asks for the time.
 */
#ifndef TFD_TESTS_SUPPORT_MOVED_CLOCK_H
#define TFD_TESTS_SUPPORT_MOVED_CLOCK_H

#include "rpc/conn/loop.h"

#include <stdlib.h>
#include <time.h>

uint64_t uv_hrtime(void); /* libuv's */

static uint64_t clock_ahead_us;

uint64_t uv_hrtime(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec +
           clock_ahead_us * 1000;
}

static inline void clock_moved(struct tfd_timer *t)
{
    tfd_loop_stop(t->loop);
}

/* The loop sleeps until the first timer is due by the real clock.  One that is
 * due before the clock moves makes it look at all of them afterwards. */
static inline void clock_move(struct tfd_loop *l, uint64_t us)
{
    struct tfd_timer look;

    tfd_timer_init(&look, l, clock_moved);
    if (tfd_timer_start(&look, 0, NULL) != TFD_OK)
        abort();
    clock_ahead_us += us;
    tfd_loop_run(l);
}

#endif
