/*
 * quantized_conv.h - sums and scales of convolutions of quantised images.
 *
 * The sum of a pixel is of 32 bits, which wrap.  It is given as it is, or it
 * goes through floats, in the order and with the roundings of oneDNN:
 *
 *     y = saturate(round(relu(sum * scale + bias + summand) * inverse))
 *
 * A number q of a range stands for q * limit of the range / largest q: oneDNN's
 * ranges are symmetric about 0, whatever the lower end is said to be.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_QUANTIZED_CONV_H
#define TFD_KERNELS_QUANTIZED_CONV_H

#include "kernels/conv/conv_gemm.h"
#include "kernels/quantized/quantized.h"

/* How sums become outputs. */
struct tfd_quantized_conv_finish {
    enum tfd_dtype dtype; /* of y: QUINT8, QINT8, QINT32 */
    const float *scale;   /* by channel */
    const float *bias;    /* by channel; NULL: none */
    const void *summand;  /* as y; NULL: none */
    enum tfd_dtype summand_dtype;
    float summand_scale, inverse, highest;
    bool relu;
};

struct tfd_quantized_conv {
    struct tfd_conv sizes; /* x, w and y of it are the tensors' data */
    int64_t depth;         /* channels of a group of x */
    bool x_signed, w_signed;
    int32_t x_zero, w_zero;
    int32_t outside; /* what pixels outside x count as, less the zero */
    const struct tfd_quantized_conv_finish *finish; /* NULL: y is the sums */
};

/* What an output of a symmetric range, of which these are the ends, has for
 * one step of a quantised number. */
float tfd_quantized_conv_step(enum tfd_dtype t, float low, float high);
/* The same, where both ends are taken; of a product's range. */
float tfd_quantized_conv_level(enum tfd_dtype t, float low, float high);

/* Writes y, which is not empty.  RESOURCE_EXHAUSTED when there is no memory for
 * the sums of a pixel. */
enum tfd_code tfd_quantized_conv_run(struct tfd_kctx *k,
                                     const struct tfd_quantized_conv *c,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
