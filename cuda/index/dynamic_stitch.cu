/*
 * dynamic_stitch.cu - DynamicStitch of kernels/index/dynamic_stitch.c.
 *
 * Indices are the host's, which finds for each row of the output where it comes
 * from; the list goes to the device.  Rows are moved by the largest items that
 * they consist of.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"

extern "C" {
#include "cuda/device/copy.h"
#include "kernels/core/outputs.h"
}

#include <string.h>

namespace
{

/* Rows without a source are zero. */
template <typename T> struct from_source {
    const char *const *source;
    struct divisor items; /* of a row */

    __device__ T operator()(int64_t i) const
    {
        int64_t at = take_rest(&items, &i);
        const char *from = source[i];

        return from ? ((const T *)from)[at] : T{};
    }
};

template <typename T>
static enum tfd_code run_stitch(struct tfd_kctx *k, const struct tfd_tensor *sources,
                         int64_t rows, size_t row_size, struct tfd_status *st)
{
    int64_t items = (int64_t)(row_size / sizeof(T));

    return run_index(
        k,
        from_source<T>{(const char *const *)tfd_tensor_data(sources),
                       divisor_of(items)},
        out_at<T>(k, 0), rows * items, st);
}

/* The first bytes of each row; of rows of one index the last.  *places gets the
 * bits that any address has. */
static void find_sources(const struct tfd_kctx *k, const char **source,
                         size_t row_size, size_t *places)
{
    int count = k->in_count / 2;

    for (int m = 0; m < count; m++) {
        const int32_t *at = in_at<int32_t>(k, m);
        const char *data = in_at<char>(k, count + m);
        int64_t n = tfd_tensor_elements(&k->in[m]);

        *places |= (size_t)data;
        for (int64_t i = 0; i < n; i++)
            source[at[i]] = data + (size_t)i * row_size;
    }
}

static enum tfd_code place_sources(struct tfd_kctx *k, int64_t rows,
                                   size_t row_size, struct tfd_tensor *out,
                                   size_t *places, struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct tfd_tensor host = TFD_TENSOR_INIT;
    struct tfd_shape shape = {1, {rows}};
    enum tfd_code rc;

    static_assert(sizeof(const char *) == sizeof(int64_t), "addresses");
    TFD_TRY(
        tfd_tensor_new_in(&host, &d->pinned->memory, TFD_INT64, &shape, st));
    memset(tfd_tensor_data(&host), 0, tfd_tensor_size(&host));
    find_sources(k, (const char **)tfd_tensor_data(&host), row_size, places);
    rc = tfd_cuda_copy_for(k, &host, out, st);
    tfd_tensor_unref(&host);
    return rc;
}

/* The largest item that a multiple of `size` bytes consists of. */
static size_t item_of(size_t size)
{
    size_t item = 16;

    while (size % item != 0)
        item /= 2;
    return item;
}

static enum tfd_code stitch_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_dtype dtype = k->in[k->in_count / 2].dtype;
    struct tfd_tensor sources = TFD_TENSOR_INIT;
    struct tfd_shape row, out;
    size_t row_size, places;
    enum tfd_code rc;

    TFD_TRY(tfd_dynamic_stitch_shape(k, &row, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    row_size = (size_t)tfd_shape_elements(&row) * tfd_dtype_size(dtype);
    places = row_size | (size_t)out_at<char>(k, 0);
    TFD_TRY(place_sources(k, out.dim[0], row_size, &sources, &places, st));
    rc = BY_SIZE(item_of(places), run_stitch, k, &sources, out.dim[0], row_size, st);
    tfd_tensor_unref(&sources);
    return rc;
}

#define ROW(name) row("DynamicStitch", TFD_##name, stitch_gpu, HOST_ARG(0)),

static const struct tfd_kernel kernels[] = {ROW(FLOAT) ROW(DOUBLE) ROW(
    HALF) ROW(BFLOAT16) ROW(INT32) ROW(INT64) ROW(COMPLEX64) ROW(COMPLEX128)};

} /* namespace */

CUDA_FAMILY_OF(dynamic_stitch);
