/*
 * tensor_list.cu - what lists of tensors on a device make: elements that were
 * never set, sums and zeros of lists.  The rest only passes elements on
 * (host.c).  Elements of int32 are the host's, as everywhere.
 */
#include "cuda/lib/op_memory.cuh"

extern "C" {
#include "kernels/list/tensor_list.h"
#include "kernels/list/variant_math.h"
}

namespace
{

#define POP(NAME, own)                                                       \
    kept("TensorListPopBack", TFD_##NAME, tfd_list_compute_pop, HOST_ARG(1), \
         (own) << 1),
#define GET(NAME, own)                                          \
    kept("TensorListGetItem", TFD_##NAME, tfd_list_compute_get, \
         HOST_ARG(1) | HOST_ARG(2), own),
#define STACK(NAME, own)                                                     \
    kept("TensorListStack", TFD_##NAME, tfd_list_compute_stack, HOST_ARG(1), \
         own),
#define GATHER(NAME, own)                                         \
    kept("TensorListGather", TFD_##NAME, tfd_list_compute_gather, \
         HOST_ARG(1) | HOST_ARG(2), own),
#define CONCAT(NAME, own)                                            \
    kept("TensorListConcat", TFD_##NAME, tfd_list_compute_concat, 0, \
         HOST_ARG(1) | (own)),
#define CONCAT_V2(NAME, own)                                        \
    kept("TensorListConcatV2", TFD_##NAME, tfd_list_compute_concat, \
         HOST_ARG(1) | HOST_ARG(2), HOST_ARG(1) | (own)),

/* type, HOST_ARG(0) where elements are the host's */
#define TYPES(X)     \
    X(FLOAT, 0)      \
    X(DOUBLE, 0)     \
    X(HALF, 0)       \
    X(BFLOAT16, 0)   \
    X(COMPLEX64, 0)  \
    X(COMPLEX128, 0) \
    X(INT8, 0)       \
    X(INT16, 0)      \
    X(INT64, 0)      \
    X(UINT8, 0)      \
    X(UINT16, 0)     \
    X(UINT32, 0)     \
    X(UINT64, 0)     \
    X(BOOL, 0)       \
    X(VARIANT, 0)    \
    X(INT32, HOST_ARG(0))

static const struct tfd_kernel kernels[] = {
    TYPES(POP) TYPES(GET) TYPES(STACK) TYPES(GATHER) TYPES(CONCAT)
        TYPES(CONCAT_V2)
            kept("AddN", TFD_VARIANT, tfd_variant_compute_add, 0, 0),
    kept("ZerosLike", TFD_VARIANT, tfd_variant_compute_zeros, 0, 0),
};

} /* namespace */

CUDA_FAMILY_OF(tensor_list);
