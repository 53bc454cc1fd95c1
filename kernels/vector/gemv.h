/*
 * gemv.h - a vector times a matrix, in AVX-512: y = x * B, the sum of B's rows,
 * each times its number of x.
 *
 * B's columns are summed in registers, from the first row to the last, some
 * hundred bytes of a row at a time.  OpenBLAS has more to set up, and is as
 * fast from where B is larger than a few hundred KB.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_GEMV_H
#define TFD_KERNELS_GEMV_H

#include <stdbool.h>
#include <stdint.h>

/* B has k rows of n columns, ldb elements apart, x k numbers, step_x apart;
 * `add` to what y has.  False where it is better left to OpenBLAS, by the size
 * of B or the processor. */
bool tfd_gemv_float(const float *b, int64_t ldb, const float *x, int64_t step_x,
                    int64_t k, int64_t n, bool add, float *y);
bool tfd_gemv_double(const double *b, int64_t ldb, const double *x,
                     int64_t step_x, int64_t k, int64_t n, bool add, double *y);

#endif
