/*
 * op_memory.cuh - the GPU's side of kernels/core/op_memory.h: adds two of the
 * tensors that ops keep on a device besides their outputs (elements of arrays
 * and lists), and clears one.  A kernel of such an op has these functions as
 * its `range`.
 *
 * Sums are AddN's: half and bfloat16 are summed in float.
 *
 * Threads: any; what is done is enqueued on the kernel's stream.
 */
#ifndef TFD_CUDA_PLACE_CUH
#define TFD_CUDA_PLACE_CUH

#include "cuda/lib/launch.cuh"

extern "C" {
#include "kernels/core/op_memory.h"
}

struct add_kept {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return narrow<T>(widen(a) + widen(b));
    }
};

/* parts: a complex number is two of T. */
template <typename T>
static enum tfd_code add_parts(const struct tfd_op_memory_sum *s, int64_t n,
                               int parts)
{
    return run_two(s->k, add_kept(), (const T *)s->a, (const T *)s->b,
                   (T *)s->y, n * parts, s->st);
}

static enum tfd_code add_of_type(const struct tfd_op_memory_sum *s, int64_t n)
{
    switch (s->dtype) {
#define X(NAME, T)   \
    case TFD_##NAME: \
        return add_parts<T>(s, n, 1);
        CUDA_FLOAT_DTYPES(X)
        CUDA_INT_DTYPES(X)
#undef X
    case TFD_COMPLEX64:
        return add_parts<float>(s, n, 2);
    case TFD_COMPLEX128:
        return add_parts<double>(s, n, 2);
    default:
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "tensors of type %s cannot be added",
                        tfd_dtype_name((int)s->dtype));
    }
}

static void place_sum(void *arg, int64_t begin, int64_t end)
{
    struct tfd_op_memory_sum *s = (struct tfd_op_memory_sum *)arg;
    int64_t n = end - begin;

    if (s->a) {
        s->code = add_of_type(s, n);
        return;
    }
    (void)cudaMemsetAsync(s->y, 0, (size_t)n * tfd_dtype_size(s->dtype),
                          stream_of(s->k));
    s->code = launched(s->k, s->st);
}

static inline constexpr struct tfd_kernel
kept(const char *op, enum tfd_dtype dtype, tfd_compute_fn *compute,
     uint32_t host_in, uint32_t host_out)
{
    struct tfd_kernel k = row(op, dtype, compute, host_in);

    k.host_out = host_out;
    k.range = place_sum;
    return k;
}

#endif
