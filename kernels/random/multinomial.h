/*
 * multinomial.h - what the samplers of classes (Multinomial and its stateless
 * form) share on all devices: the output, the generator, and the search for the
 * class that a number stands for.
 *
 * Sample i, over all rows, is made of the i-th 64 bits of the stream.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_MULTINOMIAL_H
#define TFD_KERNELS_MULTINOMIAL_H

#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"

struct tfd_multinomial {
    struct tfd_philox generator; /* before the first sample of the first row */
    int64_t classes, samples;
};

/* Makes output 0, of the samples in input 1 for each row of input 0; seeds are
 * input 2, or the state is a struct tfd_philox_source. */
enum tfd_code tfd_multinomial_begin(struct tfd_kctx *k,
                                    struct tfd_multinomial *m,
                                    struct tfd_status *st) TFD_MUST_USE;

/* The first of `count` > 0 rising sums that is larger; `count` if none is.
 * Which half it is in cannot be foreseen, so the search adds instead of
 * branching. */
static inline TFD_DEVICE int64_t tfd_multinomial_find(const double *sums,
                                                      int64_t count,
                                                      double value)
{
    int64_t low = 0;

    while (count > 1) {
        int64_t half = count / 2;

        low += half & -(int64_t) !(sums[low + half - 1] > value);
        count -= half;
    }
    return low + !(sums[low] > value);
}

#endif
