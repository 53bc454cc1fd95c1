/*
 * random_number.h - numbers from random bits, one at a time: what samplers draw
 * that need an unknown count of them (random_fill.h makes whole tensors).
 *
 * A draw hands out the blocks of a generator number by number, in order.  A
 * number of 64 bits has its low half first.  Integers below n are exact: what
 * would prefer small ones is drawn again.  Bit layouts are those of IEEE 754;
 * everything is bit for bit what TensorFlow makes of the same stream.
 *
 * Threads: a draw is a value.
 */
#ifndef TFD_KERNELS_RANDOM_NUMBER_H
#define TFD_KERNELS_RANDOM_NUMBER_H

#include "kernels/random/philox.h"

#include <string.h>

/* 23 random bits as the mantissa under the exponent of 1, minus 1: [0, 1). */
static inline TFD_DEVICE float tfd_random_float_of(uint32_t x)
{
    uint32_t bits = 127u << 23 | (x & 0x7fffffu);
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f - 1.0f;
}

static inline TFD_DEVICE double tfd_random_double_of(uint32_t x0, uint32_t x1)
{
    uint64_t bits = UINT64_C(1023) << 52 | (uint64_t)(x0 & 0xfffffu) << 32 | x1;
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d - 1.0;
}

struct tfd_random_draw {
    struct tfd_philox generator;
    uint32_t block[4];
    int left; /* numbers of the block not handed out; they are its last */
};

static inline TFD_DEVICE struct tfd_random_draw
tfd_random_draw_of(struct tfd_philox g)
{
    struct tfd_random_draw d = {g, {0, 0, 0, 0}, 0};

    return d;
}

static inline TFD_DEVICE uint32_t tfd_random_draw32(struct tfd_random_draw *d)
{
    if (d->left == 0) {
        tfd_philox_next(&d->generator, d->block);
        d->left = 4;
    }
    return d->block[4 - d->left--];
}

static inline TFD_DEVICE uint64_t tfd_random_draw64(struct tfd_random_draw *d)
{
    uint32_t low = tfd_random_draw32(d);

    return low | (uint64_t)tfd_random_draw32(d) << 32;
}

static inline TFD_DEVICE float tfd_random_draw_float(struct tfd_random_draw *d)
{
    return tfd_random_float_of(tfd_random_draw32(d));
}

static inline TFD_DEVICE double
tfd_random_draw_double(struct tfd_random_draw *d)
{
    uint32_t high = tfd_random_draw32(d);

    return tfd_random_double_of(high, tfd_random_draw32(d));
}

/* Below n > 0.  A power of two needs one number, others rarely two. */
static inline TFD_DEVICE uint32_t tfd_random_below32(struct tfd_random_draw *d,
                                                     uint32_t n)
{
    uint32_t skewed = UINT32_MAX % n + 1; /* numbers beyond a multiple of n */
    uint32_t x = tfd_random_draw32(d);

    if ((n & (n - 1)) == 0)
        return x & (n - 1);
    while (x < skewed)
        x = tfd_random_draw32(d);
    return x % n;
}

static inline TFD_DEVICE uint64_t tfd_random_below64(struct tfd_random_draw *d,
                                                     uint64_t n)
{
    uint64_t skewed = UINT64_MAX % n + 1;
    uint64_t x = tfd_random_draw64(d);

    if ((n & (n - 1)) == 0)
        return x & (n - 1);
    while (x < skewed)
        x = tfd_random_draw64(d);
    return x % n;
}

#endif
