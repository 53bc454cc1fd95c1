/*
 * forward.cuh - the compute functions of MatMul (matmul.cu), Conv2D (conv.cu)
 * and FusedBatchNormV3 (batch_norm.cu), for the kernels of fused ops, which run
 * one of them first.
 *
 * Each makes output 0 of k from the first inputs of k; the inputs that follow
 * are for the steps that the fused kernel adds (kernels/nn/epilogue.h).
 *
 * Threads: as compute(), which only enqueues.
 */
#ifndef TFD_CUDA_FORWARD_CUH
#define TFD_CUDA_FORWARD_CUH

#include "cuda/lib/dnn.cuh"
#include "cuda/lib/dnn_norm.cuh"

extern "C" {
#include "kernels/conv/conv.h"
}

/* The state begins with a struct tfd_matmul_state. */
enum tfd_code cuda_matmul_compute(struct tfd_kctx *k, struct tfd_status *st);

/* What the state begins with; tfd_conv_prepare() fills it. */
struct cuda_conv_state {
    struct tfd_window window; /* first */
    struct cuda_dnn_plans plans;
};

enum tfd_code cuda_conv_forward(struct tfd_kctx *k, struct tfd_status *st);

/* The state begins with a struct cuda_norm_state. */
enum tfd_code cuda_norm_forward(struct tfd_kctx *k, struct tfd_status *st);

#endif
