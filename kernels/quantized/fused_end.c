/*
 * fused_end.c - the ends of fused products and convolutions (fused_end.h).
 */
#include "kernels/quantized/fused_end.h"

static inline float finished(const struct tfd_fused_end *e, int32_t sum,
                             int64_t channel)
{
    const float scale = e->scale[e->by_channel ? channel : 0];
    const float v = (float)sum * scale + (e->bias ? e->bias[channel] : 0);

    return (!e->has_relu || v > 0 ? v : 0) * e->inverse;
}

/* The largest float below 2^31 is the most that comes out. */
static inline int32_t to_qint32(float v)
{
    return tfd_quantized_int32(rintf(v > 2147483520.0f ? 2147483520.0f : v));
}

/* What is no number is 255. */
static inline uint8_t to_quint8(float v)
{
    return (uint8_t)rintf(v < 255 ? (v > 0 ? v : 0) : 255);
}

void tfd_fused_finish(const struct tfd_fused_end *e, int64_t at, int64_t first,
                      const int32_t *sum, int64_t n)
{
    if (e->out == TFD_QINT32)
        for (int64_t c = 0; c < n; c++)
            ((int32_t *)e->y)[at + c] =
                to_qint32(finished(e, sum[c], first + c));
    else if (e->out == TFD_QUINT8)
        for (int64_t c = 0; c < n; c++)
            ((uint8_t *)e->y)[at + c] =
                to_quint8(finished(e, sum[c], first + c));
    else
        for (int64_t c = 0; c < n; c++)
            ((float *)e->y)[at + c] = finished(e, sum[c], first + c);
}
