/*
 * epilogue.h - what a fused product or convolution does to its result before
 * anybody else sees it: a bias or a batch norm, then an activation.
 *
 * Attribute `fused_ops` lists the steps by the names of their ops.  The
 * operands of the first step are the inputs of the node that follow its two
 * own: the bias, or scale, offset, mean and variance.  These run in the
 * loops of the ops themselves, a few rows at a time, so that the result is
 * passed over once.
 *
 * INVALID_ARGUMENT for operands that are too few or too many, and for what is
 * no vector with a number per channel; UNIMPLEMENTED for steps that TensorFlow
 * does not fuse on a CPU.  Threads: any.
 */
#ifndef TFD_KERNELS_EPILOGUE_H
#define TFD_KERNELS_EPILOGUE_H

#include "kernels/core/elementwise.h"

/* Names of activations, NULL after the last. */
typedef const char *const *tfd_epilogue_names;

enum tfd_epilogue_activation {
    TFD_EPILOGUE_NONE,
    TFD_EPILOGUE_RELU,
    TFD_EPILOGUE_RELU6,
    TFD_EPILOGUE_ELU,
    TFD_EPILOGUE_LEAKY_RELU,
    TFD_EPILOGUE_TANH,
    TFD_EPILOGUE_SIGMOID,
    TFD_EPILOGUE_GELU_EXACT,
    TFD_EPILOGUE_GELU_APPROXIMATE,
};

#define TFD_EPILOGUE_FIRST 2 /* the input that the operands begin with */

struct tfd_epilogue {
    bool batch_norm; /* else a bias */
    enum tfd_epilogue_activation which;
    /* Of a CPU: */
    tfd_range_fn *add, *mul;  /* loops over struct tfd_row */
    tfd_range_fn *activation; /* over struct tfd_row; NULL: none */
    float epsilon, alpha;
};

/* Reads fused_ops, num_args, epsilon, leakyrelu_alpha.  batch_norm: whether the
 * op takes one. */
enum tfd_code tfd_epilogue_prepare(const struct tfd_prepare *p,
                                   tfd_epilogue_names activations,
                                   bool batch_norm, struct tfd_epilogue *e,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Before the product: whether operands fit so many channels. */
enum tfd_code tfd_epilogue_check(const struct tfd_epilogue *e,
                                 const struct tfd_kctx *k, int64_t channels,
                                 struct tfd_status *st) TFD_MUST_USE;
/* After it: changes output 0, whose last dimension is the channels. */
enum tfd_code tfd_epilogue_run(const struct tfd_epilogue *e, struct tfd_kctx *k,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
