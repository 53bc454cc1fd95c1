/*
 * quickselect.h - the element that would be n-th if a row were sorted, rising:
 * by quickselect.
 *
 * It takes some three passes over a row, whatever its order, and no branch
 * depends on an element.  Of a NaN nothing is above or below; where a row has
 * some, the result is any of its elements.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_QUICKSELECT_H
#define TFD_KERNELS_QUICKSELECT_H

#include <stdint.h>

/* Of 0 <= n < length elements.  `kept` has room for so many, and may be x,
 * which is then overwritten.  Any element where the thread is told to stop
 * (common/thread/halt.h). */
float tfd_quickselect_FLOAT(const float *x, int64_t length, int64_t n,
                            float *kept);
double tfd_quickselect_DOUBLE(const double *x, int64_t length, int64_t n,
                              double *kept);
int32_t tfd_quickselect_INT32(const int32_t *x, int64_t length, int64_t n,
                              int32_t *kept);
int64_t tfd_quickselect_INT64(const int64_t *x, int64_t length, int64_t n,
                              int64_t *kept);

#endif
