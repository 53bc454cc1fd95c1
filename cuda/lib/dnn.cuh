/*
 * dnn.cuh - convolutions by cuDNN 9 (dnn_library.cuh); without it they fail and
 * say why.
 *
 * Which algorithm computes a convolution is asked once for each shape and kept
 * with the device (TFD_CUDNN_SHAPES_MAX of them): cuDNN's own order of those
 * that it expects to be fast, and the first that runs is taken.
 * TF_DETERMINISTIC_OPS=1 or TF_CUDNN_DETERMINISTIC=1 leaves those whose results
 * are the same bits in every run.
 *
 * float is computed in TensorFloat-32 where the card has it, as TensorFlow
 * does; NVIDIA_TF32_OVERRIDE=0 switches that off (cuDNN looks at it).  half and
 * bfloat16 are summed in float.
 *
 * Threads: any; what is kept is guarded by the device's lock.
 */
#ifndef TFD_CUDA_DNN_CUH
#define TFD_CUDA_DNN_CUH

#include "cuda/lib/launch.cuh"

extern "C" {
#include "cuda/device/lru_cache.h"
}

enum cuda_dnn_kind { CUDA_DNN_FORWARD, CUDA_DNN_INPUT, CUDA_DNN_FILTER };

/* Pairs are rows, columns.  Tensors are contiguous: images as [batch, rows,
 * columns, channels] with filters [out, rows, columns, in / groups], or as
 * [batch, channels, rows, columns] with [out, in / groups, rows, columns].
 * Compared by bytes. */
struct cuda_dnn_conv {
    int kind, dtype, channels_last;
    int batch, in_channels, out_channels, groups;
    int in[2], out[2], size[2], pad[2], stride[2], dilation[2];
};

/* One way to compute it. */
struct cuda_dnn_way {
    int algorithm, math;
    size_t memory; /* to work in */
};

#define CUDA_DNN_WAYS 8

struct cuda_dnn_plan {
    struct cuda_dnn_conv conv;
    struct cuda_dnn_way way[CUDA_DNN_WAYS]; /* best first */
    int count;                              /* 0: cuDNN has none */
};

/* In the state of a node, zeroed at first: the plan that it had last, by
 * channels_last. */
struct cuda_dnn_plans {
    struct tfd_cuda_lru_cache_entry *last[2];
};

/* A copy of the plan for c.  UNIMPLEMENTED without cuDNN. */
enum tfd_code cuda_dnn_plan(struct tfd_kctx *k, const struct cuda_dnn_conv *c,
                            struct cuda_dnn_plans *plans,
                            struct cuda_dnn_plan *out, struct tfd_status *st);

/* Enqueues it; the kind says which of x, w and y is the result.  UNIMPLEMENTED
 * when the plan has no way, or none that runs. */
enum tfd_code cuda_dnn_run(struct tfd_kctx *k, const struct cuda_dnn_plan *p,
                           void *x, void *w, void *y, struct tfd_status *st);

#endif
