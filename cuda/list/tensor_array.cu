/*
 * tensor_array.cu - arrays of tensors on a device: kernels/list/tensor_array.h, with
 * zeros and sums that are enqueued.  Handles, indices and lengths are the
 * host's; flow, which nobody reads, is on the device.
 */
#include "cuda/lib/op_memory.cuh"

extern "C" {
#include "kernels/list/tensor_array.h"
}

namespace
{

#define MAKE(NAME)                                                         \
    kept("TensorArrayV3", TFD_##NAME, tfd_tensor_array_compute_make, HOST_ARG(0), \
         HOST_ARG(0)),
#define WRITE(NAME)                                                 \
    kept("TensorArrayWriteV3", TFD_##NAME, tfd_tensor_array_compute_write, \
         HOST_ARG(0) | HOST_ARG(1), 0),
#define READ(NAME)                                                \
    kept("TensorArrayReadV3", TFD_##NAME, tfd_tensor_array_compute_read, \
         HOST_ARG(0) | HOST_ARG(1), 0),
#define GATHER(NAME)                                                  \
    kept("TensorArrayGatherV3", TFD_##NAME, tfd_tensor_array_compute_gather, \
         HOST_ARG(0) | HOST_ARG(1), 0),
#define SCATTER(NAME)                                                   \
    kept("TensorArrayScatterV3", TFD_##NAME, tfd_tensor_array_compute_scatter, \
         HOST_ARG(0) | HOST_ARG(1), 0),
#define CONCAT(NAME)                                                  \
    kept("TensorArrayConcatV3", TFD_##NAME, tfd_tensor_array_compute_concat, \
         HOST_ARG(0), HOST_ARG(1)),
#define SPLIT(NAME)                                                 \
    kept("TensorArraySplitV3", TFD_##NAME, tfd_tensor_array_compute_split, \
         HOST_ARG(0) | HOST_ARG(2), 0),

#define TYPES(X) \
    X(FLOAT)     \
    X(DOUBLE)    \
    X(HALF)      \
    X(BFLOAT16)  \
    X(COMPLEX64) \
    X(COMPLEX128) X(INT64)

static const struct tfd_kernel kernels[] = {TYPES(MAKE) TYPES(WRITE) TYPES(
    READ) TYPES(GATHER) TYPES(SCATTER) TYPES(CONCAT) TYPES(SPLIT)};

} /* namespace */

CUDA_FAMILY_OF(tensor_array);
