/*
 * fused_end.h - what fused products and convolutions of quint8 by qint8 do with
 * their sums, with the bits of oneDNN, which alone has them in TensorFlow:
 *
 *     relu(sum * scale + bias) / a step of the output
 *
 * as qint32, as quint8 or, without the last, as float.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_FUSED_END_H
#define TFD_KERNELS_FUSED_END_H

#include "kernels/quantized/quantized.h"

/* Sums of so many channels are finished at once. */
#define TFD_FUSED_BLOCK 256

struct tfd_fused_end {
    enum tfd_dtype out;
    bool has_relu;
    const float *scale; /* of the sums: one, or by channel */
    bool by_channel;
    const float *bias; /* by channel; NULL: none */
    float inverse;     /* one over a step of the output */
    void *y;
};

/* TFD_FUSED_BLOCK sums or fewer, of channels from `first` on, to elements of
 * the output from `at` on. */
void tfd_fused_finish(const struct tfd_fused_end *e, int64_t at, int64_t first,
                      const int32_t *sum, int64_t n);

/* The larger size of both ends. */
static inline float tfd_fused_widest(float low, float high)
{
    return tfd_quantized_max(fabsf(low), fabsf(high));
}

/* A step of sums, of quint8 and qint8 of these ranges. */
static inline float tfd_fused_step(float min_a, float max_a, float min_b,
                                   float max_b)
{
    return (max_a - min_a) / 255.0f * ((max_b - min_b) / 254.0f);
}

#endif
