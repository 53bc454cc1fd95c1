/*
 * narrow.c - see narrow.h.
 */
#include "kernels/narrow.h"

#include "common/half.h"

#define LOOPS(name, number, T)                                      \
    static void widen_##name(const void *in, float *out, int64_t n) \
    {                                                               \
        const T *x = in;                                            \
                                                                    \
        for (int64_t i = 0; i < n; i++)                             \
            out[i] = T##_to_float(x[i]);                            \
    }                                                               \
    static void round_##name(const float *in, void *out, int64_t n) \
    {                                                               \
        T *y = out;                                                 \
                                                                    \
        for (int64_t i = 0; i < n; i++)                             \
            y[i] = T##_from_float(in[i]);                           \
    }

TFD_HALF_DTYPES(LOOPS)

void tfd_narrow_widen(enum tfd_dtype t, const void *in, float *out, int64_t n)
{
    if (t == TFD_HALF)
        widen_HALF(in, out, n);
    else
        widen_BFLOAT16(in, out, n);
}

void tfd_narrow_round(enum tfd_dtype t, const float *in, void *out, int64_t n)
{
    if (t == TFD_HALF)
        round_HALF(in, out, n);
    else
        round_BFLOAT16(in, out, n);
}
