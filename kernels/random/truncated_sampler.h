/*
 * truncated_sampler.h - what truncated_sample.c, which draws block by block,
 * and truncated_waves.c, which has many blocks at once, have in common.
 *
 * TensorFlow computes in the type of the output, one rounding for each
 * operation.  So do they, in double: rounding its sums, products, quotients and
 * roots once more gives those of a float.
 *
 * Threads: any.  Needs _GNU_SOURCE (random_make.h).
 */
#ifndef TFD_KERNELS_TRUNCATED_SAMPLER_H
#define TFD_KERNELS_TRUNCATED_SAMPLER_H

#include "common/base/half.h"
#include "kernels/random/random_make.h"
#include "kernels/random/truncated_sample.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Proposals that are refused before a sample is given up, TensorFlow's. */
#define TFD_TRUNCATED_REFUSED_MAX 1000

/* One distribution that is being sampled. */
struct tfd_truncated_method;

struct tfd_truncated_sampler {
    enum tfd_dtype dtype;
    const struct tfd_truncated_method *method;
    struct tfd_truncated_stream *stream;
    struct tfd_truncated_place place;
    double mean, deviation; /* the latter negative where mirrored */
    double low, high;       /* bounds of the standard normal */
    double width, plus;     /* of uniforms: its length, what evens it out */
    double root, rate;      /* sqrt(low^2 + 4); of exponentials */
    int refused;            /* in a row */
    void *out;
};

/* A way to propose. */
struct tfd_truncated_method {
    bool (*take)(struct tfd_truncated_sampler *s);
    const char *failure;
    int refused_max; /* proposals in a row that are no failure yet */
    /* Proposals of TFD_PHILOX_LANES blocks, of FLOAT or DOUBLE: those that are
     * taken are samples, the others NaN.  NULL: they are made block by block.
     */
    void (*propose)(const struct tfd_truncated_sampler *s,
                    const struct tfd_philox_lanes *l, void *out);
    /* Proposals of a block, and rough nanoseconds of those. */
    int of_float, of_double;
    int ns_float, ns_double;
};

/* INVALID_ARGUMENT for parameters that have no distribution. */
enum tfd_code tfd_truncated_sampler_init(struct tfd_truncated_sampler *s,
                                         const struct tfd_truncated *p,
                                         struct tfd_truncated_stream *stream,
                                         struct tfd_truncated_place place,
                                         struct tfd_status *st) TFD_MUST_USE;
/* INTERNAL where it was not `taken`. */
enum tfd_code tfd_truncated_check_taken(bool taken,
                                        const struct tfd_truncated_sampler *s,
                                        struct tfd_status *st) TFD_MUST_USE;

/* Logarithms of numbers 0 and 2 of each block; that of 0 is not said. */
void tfd_truncated_logarithms(const struct tfd_philox_lanes *l,
                              float out[4][TFD_PHILOX_LANES]);

void tfd_truncated_propose_normals(const struct tfd_truncated_sampler *s,
                                   const struct tfd_philox_lanes *l, void *out);
void tfd_truncated_propose_exponentials(const struct tfd_truncated_sampler *s,
                                        const struct tfd_philox_lanes *l,
                                        void *out);

/* TensorFlow's threads have no subnormal floats. */
TFD_VECTOR double tfd_truncated_round(enum tfd_dtype dtype, double x)
{
    if (dtype == TFD_DOUBLE)
        return x;
    if (fabs(x) < (double)FLT_MIN)
        return 0;
    if (dtype == TFD_HALF)
        return (double)tfd_half_to_float(tfd_half_from_float((float)x));
    return (double)(float)x;
}

static inline double tfd_truncated_exp(enum tfd_dtype dtype, double x)
{
    if (dtype == TFD_DOUBLE)
        return exp(x);
    return tfd_truncated_round(dtype, (double)expf((float)x));
}

static inline double tfd_truncated_log(enum tfd_dtype dtype, double x)
{
    if (dtype == TFD_DOUBLE)
        return log(x);
    return tfd_truncated_round(dtype, (double)logf((float)x));
}

static inline uint32_t tfd_truncated_number(const struct tfd_philox_lanes *l,
                                            int block, int number)
{
    return (uint32_t)(l->pair[number / 2][block] >> 32 * (number % 2));
}

#endif
