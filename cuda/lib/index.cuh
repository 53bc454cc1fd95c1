/*
 * index.cuh - rows by indices that lie on the device: reading them, and copying
 * the rows they name.
 *
 * Nobody has looked at their values: an index outside names the place -1, which
 * is read as zeros and never written, as TensorFlow's kernels have it.
 *
 * Rows are copied as bytes, in the largest items that sizes and addresses
 * allow.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_INDEX_CUH
#define TFD_CUDA_INDEX_CUH

#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"

extern "C" {
#include "kernels/index/scatter.h"
}

/* ---- Indices ------------------------------------------------------------- */

struct indices {
    const void *at;
    enum tfd_dtype dtype; /* an integer of 8 bits unsigned, or more */

    __device__ int64_t operator[](int64_t i) const
    {
        switch (dtype) {
        case TFD_INT32:
            return ((const int32_t *)at)[i];
        case TFD_INT64:
            return ((const int64_t *)at)[i];
        case TFD_INT16:
            return ((const int16_t *)at)[i];
        case TFD_UINT16:
            return ((const uint16_t *)at)[i];
        case TFD_INT8:
            return ((const int8_t *)at)[i];
        default:
            return ((const uint8_t *)at)[i];
        }
    }
};

static inline struct indices indices_of(const struct tfd_tensor *t)
{
    return {tfd_tensor_data(t), t->dtype};
}

/* Tuples of `depth` indices into the first dimensions of a shape. */
struct places {
    struct indices index;
    int depth;
    int64_t dim[TFD_RANK_MAX];

    __device__ int64_t operator()(int64_t i) const
    {
        int64_t place = 0;

        /* Unrolled, so that the dimensions stay where arguments are. */
#pragma unroll
        for (int d = 0; d < TFD_RANK_MAX; d++) {
            int64_t at;

            if (d >= depth)
                break;
            at = index[i * depth + d];
            if ((uint64_t)at >= (uint64_t)dim[d])
                return -1;
            place = place * dim[d] + at;
        }
        return place;
    }
};

static inline struct places places_of(const struct tfd_tensor *t, int depth,
                                      const struct tfd_shape *shape)
{
    struct places p = {indices_of(t), depth, {}};

    for (int d = 0; d < depth; d++)
        p.dim[d] = shape->dim[d];
    return p;
}

/* The attribute bad_indices_policy: indices are not looked at while the step
 * waits, so that there is no error to be had. */
static inline enum tfd_code check_policy(const struct tfd_node *n,
                                         struct tfd_status *st)
{
    struct tfd_str policy;
    bool ignore;

    TFD_TRY(tfd_scatter_nd_policy(n, &ignore, st));
    TFD_TRY(tfd_node_str(n, "bad_indices_policy", &policy, st));
    if (!tfd_str_is(policy, "ERROR"))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "bad_indices_policy ERROR: a GPU does not tell which "
                    "indices are bad; the op needs a CPU");
}

/* ---- Rows as bytes ------------------------------------------------------- */

/* Row r of y is row source(r) of x. */
template <typename I, typename S>
__global__ void copy_rows(const I *x, I *y, const __grid_constant__ S source,
                          struct divisor items, int64_t n)
{
    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        int64_t row = e, at = take_rest(&items, &row), from = source(row);

        y[e] = from < 0 ? I() : x[from * items.by + at];
    }
}

/* Into output 0; size: bytes of a row. */
template <typename S>
static enum tfd_code run_copy_rows(struct tfd_kctx *k, const void *x, S source,
                                   size_t size, struct tfd_status *st)
{
    void *y = tfd_tensor_data(&k->out[0]);

    if (!y)
        return TFD_OK;
    return with_item(item_size(size, x, y), [&](auto item) {
        int64_t n = (int64_t)(tfd_tensor_size(&k->out[0]) / sizeof(item));

        copy_rows<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            (const decltype(item) *)x, (decltype(item) *)y, source,
            divisor_of((int64_t)(size / sizeof(item))), n);
        return launched(k, st);
    });
}

#endif
