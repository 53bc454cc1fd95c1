/*
 * conv_dnnl.h - convolutions of images and volumes by oneDNN, which reads them
 * where they lie: as fast as products of what windows see, or up to three times
 * as fast.
 *
 * Threads: as conv_gemm.h.
 */
#ifndef TFD_KERNELS_CONV_DNNL_H
#define TFD_KERNELS_CONV_DNNL_H

#include "kernels/conv/conv_primitive.h"
#include "kernels/conv/image.h"

/* False: not for oneDNN, or it failed; the result is not written, or not all
 * of it. */
bool tfd_conv_dnnl(struct tfd_kctx *k, enum tfd_conv_kind kind,
                   const struct tfd_conv *c) TFD_MUST_USE;

/* The same of o: x, w and y of BFLOAT16 as they lie, sizes from c, where the
 * processor has dot products of them.  False also where channels are not last
 * or a tensor is empty. */
bool tfd_conv_dnnl_narrow(struct tfd_kctx *k, enum tfd_conv_kind kind,
                          const struct tfd_conv *c,
                          const struct tfd_image *o) TFD_MUST_USE;

#endif
