/*
 * dnn_norm.cuh - FusedBatchNorm in training, and its gradient, by cuDNN, with
 * TensorFlow's results.
 *
 * These are tried before the kernels of batch_norm.cu, which do the rest:
 * inference, a single element for each channel, an epsilon below cuDNN's least,
 * tensors that are too large for it, TF_DETERMINISTIC_OPS=1 and
 * TF_CUDNN_DETERMINISTIC=1, no cuDNN or one without these functions, and what
 * it refuses.  A device remembers the answer by shape.
 *
 * Outputs mean the same either way (kernels/nn/batch_norm.h): of the two that
 * are kept for the gradient the second is the variance, from which the gradient
 * computes the inverse deviation that cuDNN asks for.
 *
 * Threads: any; what is remembered is guarded by the device's lock.
 */
#ifndef TFD_CUDA_DNN_NORM_CUH
#define TFD_CUDA_DNN_NORM_CUH

#include "cuda/lib/launch.cuh"

extern "C" {
#include "cuda/device/lru_cache.h"
#include "kernels/nn/batch_norm.h"
}

/* x, dense; of five dimensions the first two of space are one.  Compared by
 * bytes. */
struct cuda_dnn_norm {
    int is_gradient, dtype, channels_last;
    int batch, channels, rows, columns;
};

struct cuda_dnn_verdict {
    bool refused;
};

/* In the state of a node, zeroed at first. */
struct cuda_dnn_norms {
    struct tfd_cuda_lru_cache_entry *last;
    bool never;
};

/* The state of a node; the first is what the CPU's kernels have, too. */
struct cuda_norm_state {
    struct tfd_batch_norm norm;
    struct cuda_dnn_norms dnn;
};

/* With the outputs made and x not empty: enqueues all of it, or says that it is
 * not done. */
enum tfd_code cuda_dnn_norm_forward(struct tfd_kctx *k, bool *done,
                                    struct tfd_status *st);
enum tfd_code cuda_dnn_norm_gradient(struct tfd_kctx *k, bool *done,
                                     struct tfd_status *st);

/* A moving average, or what is new where nothing is kept of it. */
__device__ inline float moved(float factor, const float *was, int64_t c,
                              double is)
{
    return factor == 1.0f ? (float)is
                          : (1 - factor) * was[c] + factor * (float)is;
}

#endif
