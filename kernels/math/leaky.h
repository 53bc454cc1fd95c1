/*
 * leaky.h - loops of LeakyRelu, x or, up to zero, alpha * x, and of its
 * gradient, which has dy in the place of both.
 *
 * The row's a is x, or dy with x as b, and alpha is its own.  Of half types
 * alpha is rounded to the type first, as in TensorFlow.
 *
 * Threads: as other elementwise loops.
 */
#ifndef TFD_KERNELS_LEAKY_H
#define TFD_KERNELS_LEAKY_H

#include "kernels/core/elementwise.h"

#define TFD_LEAKY_LOOPS(name, number, T)                          \
    void tfd_leaky_##name(void *arg, int64_t begin, int64_t end); \
    void tfd_leaky_grad_##name(void *arg, int64_t begin, int64_t end);

TFD_FLOAT_DTYPES(TFD_LEAKY_LOOPS)
TFD_HALF_DTYPES(TFD_LEAKY_LOOPS)

#endif
