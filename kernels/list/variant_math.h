/*
 * variant_math.h - AddN and ZerosLike of variants, which gradients of loops ask
 * for.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_VARIANT_MATH_H
#define TFD_KERNELS_VARIANT_MATH_H

#include "common/base/variant.h"
#include "kernels/core/kernel.h"

/* Tensors of VARIANT, element by element; counted. */
enum tfd_code tfd_variant_add(const struct tfd_kctx *k,
                              const struct tfd_tensor *a,
                              const struct tfd_tensor *b,
                              struct tfd_tensor *out,
                              struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_variant_zeros(const struct tfd_kctx *k,
                                const struct tfd_tensor *t,
                                struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* AddN and ZerosLike themselves; GPU rows have a `range` (place.h). */
tfd_compute_fn tfd_variant_compute_add, tfd_variant_compute_zeros;

#endif
