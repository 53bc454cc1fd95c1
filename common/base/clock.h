/*
 * clock.h - the two clocks, in microseconds, and in nanoseconds for what is
 * measured.
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
uint64_t tfd_clock_now_ns(void);
uint64_t tfd_clock_wall_ns(void);

#endif
