/*
 * tile.cu - elements that are repeated: Tile of kernels/array/concat.c, BroadcastTo
 * of kernels/math/broadcast_ops.c, by the largest items that the input's rows
 * consist of, or by 16 bytes of one that is repeated.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

/* Element i of the output has the input's element at its own coordinates,
 * modulo the input's dimensions. */
struct repeats {
    int rank;
    int64_t out[TFD_RANK_MAX], in[TFD_RANK_MAX];
};

/* One dimension of the two: a whole one is the inner part of that before it,
 * and elements that are repeated along neighbours are repeated. */
static void add_dimension(struct repeats *r, int64_t out, int64_t in)
{
    int last = r->rank - 1;

    if (last >= 0 && (in == out || (in == 1 && r->in[last] == 1))) {
        r->out[last] *= out;
        r->in[last] *= in;
    } else {
        r->out[r->rank] = out;
        r->in[r->rank++] = in;
    }
}

/* Missing dimensions of the input are 1. */
static struct repeats repeats_of(const struct tfd_shape *in,
                                 const struct tfd_shape *out)
{
    struct repeats r = {};

    for (int d = 0; d < out->rank; d++) {
        int own = d - (out->rank - in->rank);

        add_dimension(&r, out->dim[d], own >= 0 ? in->dim[own] : 1);
    }
    return r;
}

/* The output as packs of N. */
struct places {
    int rank;
    struct divisor out[TFD_RANK_MAX], in[TFD_RANK_MAX];
};

static struct places places_of(const struct repeats *r, int size)
{
    struct places p = {};

    p.rank = r->rank;
    for (int d = 0; d < r->rank; d++) {
        p.out[d] = divisor_of(d == r->rank - 1 ? r->out[d] / size : r->out[d]);
        p.in[d] = divisor_of(r->in[d]);
    }
    return p;
}

/* N > 1: of one element, which the last dimension repeats. */
template <int N, typename T>
__global__ void repeat(const T *x, pack<T, N> *y, int64_t n,
                       const __grid_constant__ struct places p)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, from = 0, step = 1;

        for (int d = p.rank - 1; d >= 0; d--) {
            int64_t at = take_rest(&p.out[d], &rest);

            from += take_rest(&p.in[d], &at) * step;
            step *= p.in[d].by;
        }
        y[i] = take_pack<N>(x + from, true);
    }
}

template <int N, typename T>
static enum tfd_code launch(struct tfd_kctx *k, const struct repeats *r,
                            struct tfd_status *st)
{
    int64_t n = (int64_t)(tfd_tensor_size(&k->out[0]) / sizeof(pack<T, N>));

    repeat<N><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), out_at<pack<T, N>>(k, 0), n, places_of(r, N));
    return launched(k, st);
}

template <typename T>
static enum tfd_code run_tile(struct tfd_kctx *k, const struct repeats *r,
                         struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const void *y = out_at<void>(k, 0);
    int last = r->rank - 1;

    if (r->in[last] == 1 && r->out[last] % N == 0 && is_aligned(y, y, y))
        return launch<N, T>(k, r, st);
    return launch<1, T>(k, r, st);
}

static enum tfd_code fill(struct tfd_kctx *k, const struct tfd_shape *out,
                          struct tfd_status *st)
{
    const struct tfd_shape in = k->in[0].shape;
    size_t size = tfd_dtype_size(k->in[0].dtype), item;
    struct repeats r;
    int last;

    if (tfd_shape_equal(&in, out)) {
        tfd_kctx_output_alias(k, 0, 0, out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    r = repeats_of(&in, out);
    last = r.rank - 1; /* a scalar would be equal */
    item = item_size((size_t)r.in[last] * size, in_at<void>(k, 0),
                     out_at<void>(k, 0));
    r.in[last] /= (int64_t)(item / size);
    r.out[last] /= (int64_t)(item / size);
    return BY_SIZE(item, run_tile, k, &r, st);
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
