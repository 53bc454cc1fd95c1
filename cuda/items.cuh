/*
 * items.cuh - elements that are moved and not looked at: kernels come by size.
 */
#ifndef TFD_CUDA_ITEMS_CUH
#define TFD_CUDA_ITEMS_CUH

#include "cuda/launch.cuh"

struct alignas(16) item16 {
    uint64_t a, b;
};

/* run<T>(...) for elements of `size` bytes: 1, 2, 4, 8 or 16. */
#define BY_SIZE(size, run, ...)                 \
    ((size) == 1   ? run<uint8_t>(__VA_ARGS__)  \
     : (size) == 2 ? run<uint16_t>(__VA_ARGS__) \
     : (size) == 4 ? run<uint32_t>(__VA_ARGS__) \
     : (size) == 8 ? run<uint64_t>(__VA_ARGS__) \
                   : run<struct item16>(__VA_ARGS__))

/* Types that most kernels of TensorFlow have that only move elements. */
#define CUDA_ITEM_DTYPES(X) \
    X(FLOAT)                \
    X(DOUBLE)               \
    X(HALF)                 \
    X(BFLOAT16)             \
    X(BOOL)                 \
    X(COMPLEX64)            \
    X(COMPLEX128)

#endif
