/*
 * fft_pairs.h - passes of a Fourier transform on two numbers at once, for
 * processors with AVX2.
 *
 * Every number is computed by the same operations as in fft_plan.c, so the bits
 * are the same.  Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_PAIRS_H
#define TFD_KERNELS_SIGNAL_FFT_PAIRS_H

#include "kernels/signal/fft_plan.h"

#include <stdbool.h>

/* fft_plan.c says what a pass is. */
struct tfd_fft_pass {
    int64_t p, m, stride;
    const struct tfd_complex *turns; /* of this pass */
    const struct tfd_complex *roots; /* of unity, p of them */
    const struct tfd_complex *x;
    struct tfd_complex *y;
};

/* False, and nothing is done, where the pass has no pairs or the processor has
 * no AVX2. */
bool tfd_fft_pass_pairs(const struct tfd_fft_pass *s);

#endif
