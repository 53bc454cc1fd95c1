/*
 * clock.h - the two clocks, in microseconds.
 *
 * Timeouts, deadlines and durations use tfd_clock_now_us(), which nobody sets;
 * wall time is only for people, in logs and events.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_CLOCK_H
#define TFD_COMMON_CLOCK_H

#include <stdint.h>

int64_t tfd_clock_now_us(void);  /* since some moment before the start */
int64_t tfd_clock_wall_us(void); /* since 1970, UTC */

#endif
