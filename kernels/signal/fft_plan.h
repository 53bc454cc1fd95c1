/*
 * fft_plan.h - what a discrete Fourier transform of a length is done by.
 *
 *     y[k] = sum over j of x[j] exp(-2 pi i j k / n)
 *
 * A plan holds the factors of its length and their roots of unity.  Lengths
 * whose prime factors are at most 13 are done by a mixed-radix transform;
 * a prime p whose p - 1 has only such factors as a convolution of that length
 * (Rader), the others as one of a length that has (Bluestein).  fft_lanes.h
 * says who runs it.  Each takes about n log n steps, and errs by a few units in
 * the last place times the root of the mean square of the result.  Those of
 * single precision err by less than TensorFlow's, which are of it, too; what is
 * convolved is so in double precision, whose result is the nearest float but
 * for the last bit.
 *
 * Plans are kept for the next who asks (config/limits.h says how many), so that
 * an op of a step finds its own.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_PLAN_H
#define TFD_KERNELS_SIGNAL_FFT_PLAN_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFD_FFT_FACTORS_MAX 64 /* of a number of 64 bits */
#define TFD_FFT_RADIX_MAX 13
#define TFD_FFT_ARRAYS_MAX 6

struct tfd_complex {
    double re, im;
};

/* Numbers of its arrays are floats if it is of single precision, else doubles:
 * roots of unity are pairs of them. */
struct tfd_fft_plan {
    int refs; /* atomic */
    bool single;
    int64_t length;
    int count;
    int64_t factor[TFD_FFT_FACTORS_MAX];
    /* Of all passes: m (p - 1) roots each, those of one q side by side. */
    const void *turns;
    /* Of small radices, TFD_FFT_RADIX_MAX each. */
    const void *roots;
    /* Of two times the length, for real numbers: length / 2 + 1 of them, which
     * are always doubles. */
    const struct tfd_complex *halves;
    /* Where the length is that of as many lines as a vector has lanes, of at
     * least as many elements: theirs, and the roots that put their results
     * together, those of a lane side by side; real parts, and behind them the
     * others. */
    struct tfd_fft_plan *part;
    const void *seams;
    /* A convolution's, with the order in which elements go in and out; NULL for
     * the others.  Rader's has no chirp. */
    struct tfd_fft_plan *inner;
    const void *chirp, *filter;
    /* Of what is convolved on lanes, in as many rows as `down` is long: element
     * k of row i of the transform is number i + k times the rows.  The roots
     * between columns and rows, those of a column side by side, are the inner
     * plan's, as down and along are. */
    const void *filter_rows, *twists;
    struct tfd_fft_plan *down, *along;
    const int32_t *order_in, *order_out;
    /* Where all these lie, and how many numbers there are; 0: none. */
    struct tfd_buffer *array[TFD_FFT_ARRAYS_MAX];
    int64_t numbers[TFD_FFT_ARRAYS_MAX];
    int array_count;
    size_t size;  /* bytes, with those of other plans in it */
    int64_t used; /* the cache's: when */
};

/* Whether a length of at least 1 has small factors only: others are convolved,
 * in double precision. */
bool tfd_fft_plan_is_direct(int64_t length);

/* The plan of a length of at least 1; counted.  In single precision lengths
 * must be direct.  RESOURCE_EXHAUSTED beyond
 * TFD_FFT_LENGTH_MAX. */
enum tfd_code tfd_fft_plan_get(int64_t length, bool single,
                               struct tfd_fft_plan **out,
                               struct tfd_status *st) TFD_MUST_USE;
void tfd_fft_plan_unref(struct tfd_fft_plan *p);

#endif
