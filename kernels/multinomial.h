/*
 * multinomial.h - what the samplers of multinomial.c share on all devices.
 *
 * Sample i, over all rows, is made of the i-th 64 bits of the stream.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_MULTINOMIAL_H
#define TFD_KERNELS_MULTINOMIAL_H

#include "kernels/random_number.h"
#include "kernels/random_stream.h"

struct tfd_multinomial {
    struct tfd_philox generator; /* before the first sample of the first row */
    int64_t classes, samples;
};

/* Makes output 0, of the samples in input 1 for each row of input 0; seeds are
 * input 2, or the state is a struct tfd_philox_source. */
enum tfd_code tfd_multinomial_begin(struct tfd_kctx *k,
                                    struct tfd_multinomial *m,
                                    struct tfd_status *st) TFD_MUST_USE;

/* The first of the rising sums that is larger; `count` if none is. */
static inline TFD_DEVICE int64_t tfd_multinomial_find(const double *sums,
                                                      int64_t count,
                                                      double value)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (sums[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

#endif
