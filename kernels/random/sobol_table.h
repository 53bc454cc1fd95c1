/*
 * sobol_table.h - direction numbers of Sobol sequences: S. Joe, F. Kuo,
 * "Constructing Sobol sequences with better two-dimensional projections", SIAM
 * J. Sci. Comput. 30, 2008; the numbers that TensorFlow has.
 *
 * Dimension 0 is van der Corput's.  Each other one has a primitive polynomial
 * over the field of two elements, in the order of degrees and coefficients,
 * and of a degree s the first s numbers m[0] to m[s - 1], from which the
 * polynomial makes all others.  They are odd and m[k] is below 2^(k + 1), so
 * sobol_numbers.bin has k bits of each, the highest first, without a gap:
 *
 *     dimension | 2     3           4           5
 *     degree    | 2     3           3           4
 *     bits      | m[1]  m[1] m[2]   m[1] m[2]   m[1] m[2] m[3]   ...
 *
 * TensorFlow has 21,200 dimensions, of which the last ones need degree 18 and
 * most of the room.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RANDOM_SOBOL_TABLE_H
#define TFD_KERNELS_RANDOM_SOBOL_TABLE_H

#include "common/base/status.h"

#include <stdint.h>

#define TFD_SOBOL_DIMS 21200
#define TFD_SOBOL_DIGITS 31

/* The numbers of dimension dim < TFD_SOBOL_DIMS as fractions of 2^31.  The
 * first call finds the polynomials, which takes some 50 ms; it fails only where
 * that could not be done. */
enum tfd_code tfd_sobol_begin(struct tfd_status *st) TFD_MUST_USE;
/* After that: the first `digits` of them, 1 to TFD_SOBOL_DIGITS; some of the
 * others may be written, too. */
void tfd_sobol_directions(int dim, int digits, uint32_t out[TFD_SOBOL_DIGITS]);

#endif
