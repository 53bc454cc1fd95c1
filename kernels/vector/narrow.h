/*
 * narrow.h - half and bfloat16 as floats, many at a time, for kernels that
 * compute in float and round once.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_NARROW_H
#define TFD_KERNELS_NARROW_H

#include "common/base/tensor.h"

static inline bool tfd_dtype_is_narrow(enum tfd_dtype t)
{
    return t == TFD_HALF || t == TFD_BFLOAT16;
}

/* Of the bits of infinity; a number without its sign is less or the same. */
#define TFD_INFINITE_HALF 0x7c00
#define TFD_INFINITE_BFLOAT16 0x7f80

/* An integer for each half or bfloat16, in their order; of 0 and -0 the same,
 * and of NaN `nan`.  Without a comparison, so that compilers make vectors of
 * the largest of many. */
static inline int16_t tfd_narrow_order(uint16_t x, int infinite, int16_t nan)
{
    int16_t size = (int16_t)(x & INT16_MAX);
    int16_t sign = (int16_t)((int16_t)x >> 15); /* 0 or -1 */
    int16_t order = (int16_t)((size ^ sign) - sign);
    int16_t beyond = (int16_t)((int16_t)(infinite - size) >> 15); /* likewise */

    return (int16_t)((order & ~beyond) | (nan & beyond));
}

/* Elements that kernels widen at a time: three such blocks of floats lie in a
 * first cache. */
#define TFD_NARROW_BLOCK 1024

/* t is HALF or BFLOAT16. */
void tfd_narrow_widen(enum tfd_dtype t, const void *in, float *out, int64_t n);
void tfd_narrow_round(enum tfd_dtype t, const float *in, void *out, int64_t n);

struct tfd_kctx;
/* The same on all compute threads, where there are many. */
void tfd_narrow_widen_shared(struct tfd_kctx *k, enum tfd_dtype t,
                             const void *in, float *out, int64_t n);
void tfd_narrow_round_shared(struct tfd_kctx *k, enum tfd_dtype t,
                             const float *in, void *out, int64_t n);

#endif
