/*
 * bucketize.cu - Bucketize of kernels/reduce/bucketize.c.  The boundaries go to the
 * device with each run.
 */
#include "cuda/lib/launch.cuh"

extern "C" {
#include "cuda/device/copy.h"
#include "kernels/reduce/bucketize.h"
}

#include <string.h>

namespace
{

/* F: the type that is compared in; what is no number is above all. */
template <typename T, typename F> struct bucket_of {
    const float *boundary;
    int count;

    __device__ int32_t operator()(T x) const
    {
        int low = 0, high = count;

        while (low < high) {
            int middle = low + (high - low) / 2;

            if ((F)x < (F)boundary[middle])
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }
};

static enum tfd_code place(struct tfd_kctx *k, const struct tfd_bucketize *b,
                           struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor host = TFD_TENSOR_INIT;
    struct tfd_shape shape = {1, {b->count}};
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&host, TFD_FLOAT, &shape, st));
    if (b->count > 0)
        memcpy(tfd_tensor_data(&host), b->boundary,
               (size_t)b->count * sizeof(float));
    rc = tfd_cuda_copy_for(k, &host, out, st);
    tfd_tensor_unref(&host);
    return rc;
}

template <typename T, typename F>
static enum tfd_code bucketize(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_bucketize *b = (const struct tfd_bucketize *)k->state;
    struct tfd_tensor boundaries = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    TFD_TRY(place(k, b, &boundaries, st));
    rc = run_one(
        k,
        bucket_of<T, F>{(const float *)tfd_tensor_data(&boundaries), b->count},
        in_at<T>(k, 0), out_at<int32_t>(k, 0), tfd_tensor_elements(&k->in[0]),
        st);
    tfd_tensor_unref(&boundaries);
    return rc;
}

static inline constexpr struct tfd_kernel
bucket_row(const char *op, enum tfd_dtype dtype, tfd_compute_fn *compute)
{
    struct tfd_kernel k = row(op, dtype, compute, 0, tfd_bucketize_prepare,
                              sizeof(struct tfd_bucketize));

    k.release = tfd_bucketize_release;
    return k;
}

static const struct tfd_kernel kernels[] = {
    bucket_row("Bucketize", TFD_INT32, bucketize<int32_t, float>),
    bucket_row("Bucketize", TFD_INT64, bucketize<int64_t, float>),
    bucket_row("Bucketize", TFD_FLOAT, bucketize<float, float>),
    bucket_row("Bucketize", TFD_DOUBLE, bucketize<double, double>),
};

} /* namespace */

CUDA_FAMILY_OF(bucketize);
