/*
 * tile.cu - elements that are repeated: Tile of kernels/concat.c, BroadcastTo
 * of kernels/broadcast_ops.c, by elements of 1, 2, 4, 8 or 16 bytes.
 */
#include "cuda/divisor.cuh"
#include "cuda/item.cuh"

extern "C" {
#include "kernels/outputs.h"
}

namespace
{

/* Element i of the output has the input's element at its own coordinates,
 * modulo the input's dimensions. */
struct repeats {
    int rank;
    struct divisor out[TFD_RANK_MAX], in[TFD_RANK_MAX];
};

template <typename T>
__global__ void repeat(const T *x, T *y, int64_t n, struct repeats r)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, from = 0, step = 1;

        for (int d = r.rank - 1; d >= 0; d--) {
            int64_t at = take_rest(&r.out[d], &rest);

            from += take_rest(&r.in[d], &at) * step;
            step *= r.in[d].by;
        }
        y[i] = x[from];
    }
}

template <typename T>
static enum tfd_code run(struct tfd_kctx *k, const struct repeats *r,
                         struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->out[0]);

    repeat<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), out_at<T>(k, 0), n, *r);
    return launched(k, st);
}

/* Missing dimensions of the input are 1. */
static enum tfd_code fill(struct tfd_kctx *k, const struct tfd_shape *out,
                          struct tfd_status *st)
{
    const struct tfd_shape in = k->in[0].shape;
    struct repeats r = {};

    if (tfd_shape_equal(&in, out)) {
        tfd_kctx_output_alias(k, 0, 0, out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    r.rank = out->rank;
    for (int d = 0; d < out->rank; d++) {
        int own = d - (out->rank - in.rank);

        r.out[d] = divisor_of(out->dim[d]);
        r.in[d] = divisor_of(own >= 0 ? in.dim[own] : 1);
    }
    return BY_SIZE(tfd_dtype_size(k->in[0].dtype), run, k, &r, st);
}

static enum tfd_code tile_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(tfd_tile_shape(k, &out, st));
    return fill(k, &out, st);
}

static enum tfd_code broadcast_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(tfd_broadcast_ops_target(k, &out, st));
    return fill(k, &out, st);
}

#define ROWS(name, T)                               \
    row("Tile", TFD_##name, tile_gpu, HOST_ARG(1)), \
        row("BroadcastTo", TFD_##name, broadcast_gpu, HOST_ARG(1)),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROWS) CUDA_INT_DTYPES(ROWS) ROWS(INT32, int32_t)
        ROWS(BOOL, tfd_bool) ROWS(COMPLEX64, tfd_complex64)
            ROWS(COMPLEX128, tfd_complex128)};

} /* namespace */

CUDA_FAMILY_OF(tile);
