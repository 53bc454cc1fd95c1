/*
 * ctc.h - what the loss and the decoders of connectionist temporal
 * classification share: sums of logarithms, and rows of the inputs.
 *
 * Inputs are [time, batch, classes] of FLOAT or DOUBLE; both are computed in
 * double.  Exponentials are those of float, as TensorFlow takes them in both
 * types.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CTC_H
#define TFD_KERNELS_CTC_H

#include "kernels/core/kernel.h"

#include <math.h>

/* log(e^a + e^b). */
static inline double tfd_ctc_add(double a, double b)
{
    if (a == -(double)INFINITY)
        return b;
    if (b == -(double)INFINITY)
        return a;
    return a > b ? a + (double)log1pf(expf((float)(b - a)))
                 : b + (double)log1pf(expf((float)(a - b)));
}

/* n elements of t from number `first` on. */
static inline void tfd_ctc_load(const struct tfd_tensor *t, int64_t first,
                                int64_t n, double *to)
{
    const float *narrow = tfd_tensor_data(t);
    const double *wide = tfd_tensor_data(t);

    for (int64_t i = 0; i < n; i++)
        to[i] =
            t->dtype == TFD_FLOAT ? (double)narrow[first + i] : wide[first + i];
}

static inline void tfd_ctc_store(const struct tfd_tensor *t, int64_t first,
                                 int64_t n, const double *from)
{
    float *narrow = tfd_tensor_data(t);
    double *wide = tfd_tensor_data(t);

    for (int64_t i = 0; i < n; i++)
        if (t->dtype == TFD_FLOAT)
            narrow[first + i] = (float)from[i];
        else
            wide[first + i] = from[i];
}

#endif
