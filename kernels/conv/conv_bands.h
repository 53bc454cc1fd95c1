/*
 * conv_bands.h - convolves a batch that has fewer images than there are
 * threads: each image is cut into bands of rows, each volume into bands of
 * planes, a thread takes a band, and
 * each band is one call of a oneDNN primitive of its shape.
 *
 * How an image is cut depends on its shape alone, so that results are the same
 * bits for any number of threads.  Threads: as conv_gemm.h.
 */
#ifndef TFD_KERNELS_CONV_BANDS_H
#define TFD_KERNELS_CONV_BANDS_H

#include "kernels/conv/conv_primitive.h"

/* FORWARD or INPUT.  False: an image is too small, oneDNN has no code for its
 * bands, or it failed; the result is not written, or not all of it. */
bool tfd_conv_bands(struct tfd_kctx *k, enum tfd_conv_kind kind,
                    const struct tfd_conv *c) TFD_MUST_USE;

#endif
