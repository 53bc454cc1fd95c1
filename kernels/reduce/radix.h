/*
 * radix.h - the places of numbers in falling order, by a radix sort.
 *
 * Each number becomes an unsigned key that grows as the number falls, less the
 * least of them, so that small numbers of either sign have small keys.  The
 * keys are sorted eleven bits at a time, few keys eight, the lowest first, each
 * with its place, and no place overtakes another of the same key; of few keys
 * the highest 24 bits, and what those do not tell apart is moved then.  That
 * takes as long as going through memory a few times, whatever the order was
 * before; digits above those of the greatest key cost nothing.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RADIX_H
#define TFD_KERNELS_RADIX_H

#include "common/base/tensor.h"

/* Numbers that have a place of 32 bits. */
#define TFD_RADIX_MAX (INT64_C(1) << 31)

/* Bytes of scratch memory, aligned to 8, for n numbers. */
size_t tfd_radix_scratch(enum tfd_dtype dtype, int64_t n);

/* index[0 .. count) become the places of the largest of n numbers, the largest
 * first, of equal ones (0 and -0 are) the first one first.  False where some
 * number is NaN, which has no place, where the type has no order, or where the
 * thread is told to stop (common/thread/halt.h); index may be anything then. */
bool tfd_radix_falling(enum tfd_dtype dtype, const void *x, int64_t n,
                       int64_t count, int64_t *index, void *scratch);

#endif
