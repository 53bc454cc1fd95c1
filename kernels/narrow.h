/*
 * narrow.h - half and bfloat16 as floats, many at a time, for kernels that
 * compute in float and round once.
 *
 * Threads: pure.
 */
#ifndef TFD_KERNELS_NARROW_H
#define TFD_KERNELS_NARROW_H

#include "common/tensor.h"

static inline bool tfd_dtype_is_narrow(enum tfd_dtype t)
{
    return t == TFD_HALF || t == TFD_BFLOAT16;
}

/* t is HALF or BFLOAT16. */
void tfd_narrow_widen(enum tfd_dtype t, const void *in, float *out, int64_t n);
void tfd_narrow_round(enum tfd_dtype t, const float *in, void *out, int64_t n);

#endif
