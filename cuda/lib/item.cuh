/*
 * item.cuh - elements as bytes, for kernels that only move them: what they mean
 * does not matter, and neighbours that move together are one wider element.
 *
 * Coordinates are of 32 bits where they suffice, since a GPU divides those
 * several times as fast as others.
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_ITEM_CUH
#define TFD_CUDA_ITEM_CUH

#include "cuda/lib/launch.cuh"

#define ITEM_MAX 16

struct alignas(ITEM_MAX) item16 {
    uint64_t a, b;
};

/* Calls f with an element of that many bytes. */
template <typename F>
static inline enum tfd_code with_item(size_t size, const F &f)
{
    switch (size) {
    case 1:
        return f(uint8_t());
    case 2:
        return f(uint16_t());
    case 4:
        return f(uint32_t());
    case 8:
        return f(uint64_t());
    default:
        return f(item16());
    }
}

/* Calls f with the type of coordinates of tensors of up to n elements: of 32
 * bits where that leaves some way to go beyond the end. */
template <typename F>
static inline enum tfd_code with_index(int64_t n, const F &f)
{
    return n < INT32_MAX / 2 ? f(int32_t()) : f(int64_t());
}

static inline bool is_multiple(const void *p, size_t size)
{
    return (uintptr_t)p % size == 0;
}

/* Bytes of an item: divides the size of a row and both addresses. */
static inline size_t item_size(size_t row, const void *a, const void *b)
{
    size_t size = ITEM_MAX;

    while ((row | (uintptr_t)a | (uintptr_t)b) & (size - 1))
        size /= 2;
    return size;
}

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
