/*
 * fft_plan.h - discrete Fourier transforms of any length, in double precision.
 *
 *     y[k] = sum over j of x[j] exp(-2 pi i j k / n)
 *
 * A plan holds the factors of its length and their roots of unity.  Lengths
 * whose prime factors are at most 13 are done by a mixed-radix transform, the
 * others as a convolution of a length that is a power of two (Bluestein).
 * Either takes about n log n steps, and errs by a few units in the last place
 * times the root of the mean square of the result; for elements of single
 * precision the result is the nearest one but for the last bit.
 *
 * Plans are kept for the next who asks (config/limits.h says how many), so that
 * an op of a step finds its own.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_PLAN_H
#define TFD_KERNELS_SIGNAL_FFT_PLAN_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct tfd_fft_plan;

struct tfd_complex {
    double re, im;
};

/* The plan of a length of at least 1; counted.  RESOURCE_EXHAUSTED beyond
 * TFD_FFT_LENGTH_MAX. */
enum tfd_code tfd_fft_plan_get(int64_t length, struct tfd_fft_plan **out,
                               struct tfd_status *st) TFD_MUST_USE;
void tfd_fft_plan_unref(struct tfd_fft_plan *p);

/* Elements that a transform needs to work in. */
size_t tfd_fft_work_count(const struct tfd_fft_plan *p);
/* Transforms x in place. */
void tfd_fft_run(const struct tfd_fft_plan *p, struct tfd_complex *x,
                 struct tfd_complex *work);

#endif
