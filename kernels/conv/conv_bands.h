/*
 * conv_bands.h - convolves a batch that has fewer images than there are
 * threads: each image is cut into bands of rows, each volume into bands of
 * planes, a thread takes a band, and each band is one call of a oneDNN
 * primitive of its shape.
 *
 * How an image is cut depends on its shape alone, so that results are the same
 * bits for any number of threads that it is cut for; uncut, sums of bfloat16
 * may be added in another order.  Threads: as conv_gemm.h, but k has some.
 */
#ifndef TFD_KERNELS_CONV_BANDS_H
#define TFD_KERNELS_CONV_BANDS_H

#include "kernels/conv/conv_primitive.h"

/* Threads that products of floats take to be as quick as a primitive is on one;
 * they use as many as there are. */
#define TFD_CONV_PRODUCTS_THREADS 4

#define TFD_CONV_BANDS_MAX 16
#define TFD_CONV_BAND_PRODUCTS 2e6 /* worth a thread */

struct tfd_conv_band {
    struct tfd_window_side row; /* or plane */
    int64_t x, y;               /* its first rows in the images */
    const struct tfd_conv_primitive *primitive;
};

/* Fills band[TFD_CONV_BANDS_MAX] with what an image is cut into.  0: it is too
 * small, or oneDNN has no code for its bands. */
int64_t tfd_conv_bands_of(const struct tfd_kctx *k, enum tfd_conv_kind kind,
                          const struct tfd_conv *c, struct tfd_conv_band *band);
void tfd_conv_bands_release(const struct tfd_conv_band *band, int64_t count);
/* Where a band begins in an image of x, and of y. */
void *tfd_conv_band_x(const struct tfd_conv *c, const struct tfd_conv_band *b,
                      int64_t image);
void *tfd_conv_band_y(const struct tfd_conv *c, const struct tfd_conv_band *b,
                      int64_t image);

/* FORWARD or INPUT.  False: no bands, or it failed; the result is not written,
 * or not all of it. */
bool tfd_conv_bands(struct tfd_kctx *k, enum tfd_conv_kind kind,
                    const struct tfd_conv *c) TFD_MUST_USE;

#endif
