/*
 * fused.h - what kernels of fused ops (fused.c, onednn.c) on every device
 * share: attributes and checks.  INVALID_ARGUMENT or UNIMPLEMENTED in
 * TensorFlow's words.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_FUSED_H
#define TFD_KERNELS_FUSED_H

#include "kernels/conv/conv.h"
#include "kernels/nn/epilogue.h"
#include "kernels/core/outputs.h"

/* _FusedMatMul: begins with the state that the product wants. */
struct tfd_fused_matmul {
    struct tfd_matmul_state product;
    struct tfd_epilogue epilogue;
};
enum tfd_code tfd_fused_matmul_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_fused_matmul_check(const struct tfd_kctx *k,
                                     struct tfd_status *st) TFD_MUST_USE;

/* The product is of nothing: in TensorFlow no step follows then. */
static inline bool tfd_fused_matmul_is_zero(const struct tfd_kctx *k)
{
    return tfd_tensor_elements(&k->in[0]) == 0;
}

/* _FusedConv2D: of its steps, and of their operands. */
enum tfd_code tfd_fused_conv_prepare(const struct tfd_prepare *p,
                                     struct tfd_epilogue *e,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_fused_conv_check(const struct tfd_kctx *k,
                                   const struct tfd_window *w,
                                   const struct tfd_epilogue *e,
                                   int64_t *groups,
                                   struct tfd_status *st) TFD_MUST_USE;

/* _FusedBatchNormEx: of what follows the batch norm. */
#define TFD_FUSED_NORM_SIDE 5 /* the input that is added, if there is one */
enum tfd_code tfd_fused_norm_prepare(const struct tfd_prepare *p, bool *relu,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_fused_norm_check(const struct tfd_kctx *k,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
