/*
 * fake_quant_loops.h - numbers moved to the steps of a range, and their
 * gradients, several at a time; of one range, or of one a channel.
 *
 * Gradients that go to the limits of one range are summed by blocks whose ends
 * the number of threads does not move, and the blocks' sums in double.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_FAKE_QUANT_LOOPS_H
#define TFD_KERNELS_FAKE_QUANT_LOOPS_H

#include "kernels/core/kernel.h"

/* A range, moved.  TensorFlow divides by the scale where one range that is
 * given as a tensor is for all, and multiplies by its inverse elsewhere. */
struct tfd_fake_range {
    float low, high, scale, inverse, zero;
    bool none; /* both limits are 0 */
};

/* The same of channels, by fields: [channels] each. */
struct tfd_fake_ranges {
    int64_t channels;
    float *low, *high, *scale, *inverse, *zero;
    int32_t *none;
};
#define TFD_FAKE_RANGE_SIZE (5 * sizeof(float) + sizeof(int32_t))

/* Of all, or rows of channels.  y may be x or dy. */
struct tfd_fake_job {
    const float *x, *dy;
    float *y;
    int64_t n; /* numbers in all */
    const struct tfd_fake_range *one;
    const struct tfd_fake_ranges *ranges; /* in its place, or NULL */
    bool divides;
};

void tfd_fake_quantize(struct tfd_kctx *k, struct tfd_fake_job *j);
/* y = dy inside of the range, else dy times 0. */
void tfd_fake_back(struct tfd_kctx *k, struct tfd_fake_job *j);
/* The same, and the sums of what goes to the low and to the high limit, a
 * channel each. */
enum tfd_code tfd_fake_back_sums(struct tfd_kctx *k, struct tfd_fake_job *j,
                                 float *low, float *high,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
