/*
 * narrow.c - see narrow.h.
 */
#include "kernels/narrow.h"

#include "common/half.h"
#include "common/halt.h"

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

/* Elements between two questions whether anybody still wants them. */
#define BLOCK ((int64_t)(TFD_HALT_BLOCK_SIZE / sizeof(float)))

static int64_t block_of(int64_t left)
{
    return left < BLOCK ? left : BLOCK;
}

void tfd_narrow_widen(enum tfd_dtype t, const void *in, float *out, int64_t n)
{
    const uint16_t *x = in;

    for (int64_t i = 0; i < n && !tfd_halted(); i += BLOCK)
        if (t == TFD_HALF)
            widen_HALF(x + i, out + i, block_of(n - i));
        else
            widen_BFLOAT16(x + i, out + i, block_of(n - i));
}

void tfd_narrow_round(enum tfd_dtype t, const float *in, void *out, int64_t n)
{
    uint16_t *y = out;

    for (int64_t i = 0; i < n && !tfd_halted(); i += BLOCK)
        if (t == TFD_HALF)
            round_HALF(in + i, y + i, block_of(n - i));
        else
            round_BFLOAT16(in + i, y + i, block_of(n - i));
}
