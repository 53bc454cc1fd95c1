/*
 * random.h - what the kernels of random.c share on all devices: they make an
 * output and find out where its generator comes from and which bounds it has.
 *
 * What remains is to make the groups of random_fill.h.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RANDOM_H
#define TFD_KERNELS_RANDOM_H

#include "kernels/random/random_fill.h"
#include "kernels/random/random_stream.h"

enum tfd_random_from {
    TFD_RANDOM_FROM_STREAM, /* the state's */
    TFD_RANDOM_FROM_SEEDS,  /* input 1 */
    TFD_RANDOM_FROM_KEY,    /* inputs 1 to 3 */
};

/* Of a kernel; one that has no stream leaves it alone. */
struct tfd_random_state {
    struct tfd_philox_source source;
    const struct tfd_random_rule *rule; /* CPU */
};

/* Makes output 0, of the shape in input 0, and fills in *f; but for a key,
 * which is only checked.  Bounds are the inputs after those of the generator.
 */
enum tfd_code tfd_random_begin(struct tfd_kctx *k, enum tfd_random_from from,
                               bool bounded, struct tfd_random_fill *f,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
