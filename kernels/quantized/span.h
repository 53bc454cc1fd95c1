/*
 * span.h - the least and the greatest of a channel's numbers, several at a
 * time.  NaN is passed over; of none at all they are infinity and its
 * negative.
 *
 * Looks whether the step has ended, and then knows only some.  Threads: any;
 * there is no state.
 */
#ifndef TFD_KERNELS_SPAN_H
#define TFD_KERNELS_SPAN_H

#include "kernels/quantized/quantized.h"

void tfd_quantized_span_float(const float *x,
                              const struct tfd_quantized_view *v,
                              int64_t channel, float *low, float *high);
void tfd_quantized_span_double(const double *x,
                               const struct tfd_quantized_view *v,
                               int64_t channel, double *low, double *high);

#endif
