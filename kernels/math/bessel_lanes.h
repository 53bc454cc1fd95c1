/*
 * bessel_lanes.h - loops over the functions of bessel_functions.h of floats.
 *
 * They are computed in double, in vectors, and rounded once: the distance from
 * the functions in double is at most a unit in the last place, beside the zeros
 * of J and Y 2^-36.  A result depends on its argument only, not on what stands
 * beside it.
 *
 * Each is a tfd_range_fn of a struct tfd_row (elementwise.h), whose y may be
 * where a is.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_BESSEL_LANES_H
#define TFD_KERNELS_BESSEL_LANES_H

#include <stdint.h>

void tfd_bessel_lanes_i0(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_i0e(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_i1(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_i1e(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_k0(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_k0e(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_k1(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_k1e(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_j0(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_j1(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_y0(void *row, int64_t begin, int64_t end);
void tfd_bessel_lanes_y1(void *row, int64_t begin, int64_t end);

#endif
