/*
 * recent.h - the median of the last durations of something that happens again
 * and again, in fixed memory.
 *
 * It is worked out anew after every eighth, so adding costs a store most of the
 * time.  There is none before TFD_RECENT_MIN: the first ones warm up.
 *
 * Threads: one at a time.
 */
#ifndef TFD_COMMON_RECENT_H
#define TFD_COMMON_RECENT_H

#include <stdint.h>

#define TFD_RECENT_COUNT 32
#define TFD_RECENT_MIN 8

struct tfd_recent { /* all zero: empty */
    uint32_t us[TFD_RECENT_COUNT];
    uint32_t count; /* ever; wraps */
    uint32_t median_us;
};

/* More than fits counts as the most that does, which is 71 minutes. */
void tfd_recent_add(struct tfd_recent *r, uint64_t us);
/* 0: there were too few. */
uint32_t tfd_recent_median_us(const struct tfd_recent *r);

#endif
