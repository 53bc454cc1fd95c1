/*
 * conv_bands.h - images that are fewer than threads, by oneDNN: each image in
 * bands of rows, each band one call of a primitive of its shape.
 *
 * How an image is cut depends on its shape alone.  Threads: as conv_gemm.h.
 */
#ifndef TFD_KERNELS_CONV_BANDS_H
#define TFD_KERNELS_CONV_BANDS_H

#include "kernels/conv/conv_primitive.h"

/* FORWARD or INPUT.  False: an image is too small, oneDNN has no code for its
 * bands, or it failed; the result is not written, or not all of it. */
bool tfd_conv_bands(struct tfd_kctx *k, enum tfd_conv_kind kind,
                    const struct tfd_conv *c) TFD_MUST_USE;

#endif
