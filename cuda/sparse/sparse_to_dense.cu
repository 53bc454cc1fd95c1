/*
 * sparse_to_dense.cu - SparseToDense of kernels/sparse/sparse_to_dense.c.  Indices are
 * checked on the device where the node wants it, and the host waits for what
 * comes of it; else those that are out of range are left out.
 */
#include "cuda/lib/item.cuh"
#include "cuda/device/later.cuh"
#include "cuda/lib/row_sums.cuh"

extern "C" {
#include "kernels/sparse/sparse_to_dense.h"
}

namespace
{

struct places {
    struct ints index;
    int64_t count;
    int rank;
    int64_t dim[TFD_RANK_MAX];
};

/* Where row i lies; -1 when it is out of range. */
__device__ inline int64_t place_of(const struct places &p, int64_t i)
{
    int64_t at = 0;

    for (int d = 0; d < p.rank; d++) {
        int64_t index = p.index[i * p.rank + d];

        if (index < 0 || index >= p.dim[d])
            return -1;
        at = at * p.dim[d] + index;
    }
    return at;
}

template <typename T>
__global__ void put_values(const __grid_constant__ struct places p,
                           const T *values, int step, T *y)
{
    for (int64_t i = thread_index(); i < p.count; i += thread_count()) {
        int64_t at = place_of(p, i);

        if (at >= 0)
            y[at] = values[i * step];
    }
}

enum mistake { OUTSIDE, REPEATED, NO_ORDER, MISTAKES };

/* The first mistake: its place times MISTAKES, and which. */
template <typename N>
__global__ void inspect(const __grid_constant__ struct places p, N *first)
{
    for (int64_t i = thread_index(); i < p.count; i += thread_count()) {
        int64_t at = place_of(p, i), before = i > 0 ? place_of(p, i - 1) : -1;
        int mistake = MISTAKES;

        if (at < 0)
            mistake = OUTSIDE;
        else if (before >= at)
            mistake = before == at ? REPEATED : NO_ORDER;
        if (mistake != MISTAKES)
            atomicMin(first, (N)(i * MISTAKES + mistake));
    }
}

template <typename T>
static enum tfd_code run_places(struct tfd_kctx *k, const struct places *p,
                         struct tfd_status *st)
{
    TFD_TRY(run_value(k, known_value<T>{*in_at<T>(k, 3)}, out_at<T>(k, 0),
                      tfd_tensor_elements(&k->out[0]), st));
    if (p->count == 0)
        return TFD_OK;
    put_values<<<blocks_for(k, p->count), THREADS, 0, stream_of(k)>>>(
        *p, in_at<T>(k, 2), k->in[2].shape.rank > 0 ? 1 : 0, out_at<T>(k, 0));
    return launched(k, st);
}

static enum tfd_code then(struct tfd_kctx *, struct later *l,
                          struct tfd_status *st)
{
    static const char *const what[] = {"out of bounds", "repeated",
                                       "out of order"};
    int64_t mistake = l->number[0];

    if (mistake < 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "indices[%lld] is %s",
                    (long long)(mistake / MISTAKES), what[mistake % MISTAKES]);
}

static enum tfd_code first(struct tfd_kctx *k, struct later *l,
                           struct tfd_status *st)
{
    unsigned long long *number = (unsigned long long *)later_numbers(l);
    struct places p = {ints_at(k, 0), 0, 0, {0}};

    TFD_TRY(tfd_sparse_to_dense_output(k, &p.count, &p.rank, st));
    for (int d = 0; d < p.rank; d++)
        p.dim[d] = k->out[0].shape.dim[d];
    TFD_TRY(BY_SIZE(tfd_dtype_size(k->in[2].dtype), run_places, k, &p, st));
    if (!*(const bool *)k->state || p.count == 0)
        return TFD_OK;
    l->then = then;
    TFD_TRY(tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(number, 0xff, sizeof(*number), stream_of(k)),
        k->kernel->op, st));
    inspect<<<blocks_for(k, p.count), THREADS, 0, stream_of(k)>>>(p, number);
    return launched(k, st);
}

static void start(struct tfd_kctx *k)
{
    later_start(k, first, 1, 0);
}

#define ROW(name, ...)                                                       \
    later_row("SparseToDense", TFD_##name, start, HOST_ARG(1) | HOST_ARG(3), \
              tfd_sparse_to_dense_prepare, sizeof(bool)),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROW) CUDA_INT_DTYPES(ROW) ROW(INT32) ROW(BOOL)};

} /* namespace */

CUDA_FAMILY_OF(sparse_to_dense);
