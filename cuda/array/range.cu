/*
 * range.cu - Range of kernels/array/range.c: its arguments are the host's.
 */
#include "cuda/lib/launch.cuh"

extern "C" {
#include "kernels/array/range.h"
}

#include <type_traits>

namespace
{

template <typename T, typename W>
__global__ void range(T *y, int64_t n, W start, W delta)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = narrow<T>(start + (W)i * delta);
}

template <typename T>
static enum tfd_code range_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    using W = wide<T>;
    struct tfd_range r;
    W start, delta;
    int64_t n;

    TFD_TRY(tfd_range_begin(k, &r, st));
    n = k->out[0].shape.dim[0];
    if (n == 0)
        return TFD_OK;
    if constexpr (std::is_integral_v<T>)
        start = (W)r.int_start, delta = (W)r.int_delta;
    else
        start = (W)r.float_start, delta = (W)r.float_delta;
    range<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(out_at<T>(k, 0), n,
                                                          start, delta);
    return launched(k, st);
}

#define HOSTS (HOST_ARG(0) | HOST_ARG(1) | HOST_ARG(2))
#define ROW(name, T) row("Range", TFD_##name, range_gpu<T>, HOSTS),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROW)
                                                ROW(INT64, int64_t)};

} /* namespace */

CUDA_FAMILY_OF(range);
