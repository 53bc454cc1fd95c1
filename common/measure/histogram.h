/*
 * histogram.h - how long something took, counted in fixed buckets, as
 * Prometheus' histograms have it.
 *
 *     bucket      0      1      2    ...    21      22
 *     up to    10 us  20 us  50 us  ...  100 s     any
 *
 * Bounds are 1, 2 and 5 of each decade.  Adding touches three words: no malloc,
 * no lock, no hashing.
 *
 * Threads: one at a time; nothing is shared between two of them.
 */
#ifndef TFD_COMMON_HISTOGRAM_H
#define TFD_COMMON_HISTOGRAM_H

#include <stdint.h>

#define TFD_HISTOGRAM_BOUNDS 22

struct tfd_histogram {                         /* all zero: empty */
    uint64_t counts[TFD_HISTOGRAM_BOUNDS + 1]; /* of each bucket alone */
    uint64_t sum_us;
};

void tfd_histogram_add(struct tfd_histogram *h, uint64_t us);
/* The upper bound of bucket i < TFD_HISTOGRAM_BOUNDS, which it includes. */
uint64_t tfd_histogram_bound_us(int i);
uint64_t tfd_histogram_count(const struct tfd_histogram *h);

#endif
