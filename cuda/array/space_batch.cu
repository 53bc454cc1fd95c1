/*
 * space_batch.cu - SpaceToBatchND, BatchToSpaceND of kernels/array/space_batch.c:
 * each element of the output finds its own in the input.
 */
#include "cuda/lib/item.cuh"

extern "C" {
#include "kernels/array/space_batch.h"
}

namespace
{

/* The wide tensor is [batch, wide..., rest], the folded one [offsets * batch,
 * folded..., rest]. */
struct blocks {
    int dims;
    int64_t batch, rest;
    int64_t block[TFD_RANK_MAX], before[TFD_RANK_MAX];
    int64_t wide[TFD_RANK_MAX], folded[TFD_RANK_MAX];
};

static struct blocks blocks_of(const struct tfd_space_batch *f,
                               const struct tfd_shape *wide,
                               const struct tfd_shape *folded)
{
    struct blocks b = {};

    b.dims = f->dims;
    b.batch = wide->dim[0];
    b.rest = 1;
    for (int i = 0; i < f->dims; i++) {
        b.block[i] = f->block[i];
        b.before[i] = f->before[i];
        b.wide[i] = wide->dim[i + 1];
        b.folded[i] = folded->dim[i + 1];
    }
    for (int i = f->dims + 1; i < wide->rank; i++)
        b.rest *= wide->dim[i];
    return b;
}

/* Places of the padding are 0. */
template <typename T, typename I>
__global__ void fold_items(const T *x, T *y, I n, I space, struct blocks b)
{
    for (I i = (I)thread_index(); i < n; i += (I)thread_count()) {
        I low = i % space, high = i / space;
        I batch = high % (I)b.batch, offset = high / (I)b.batch;
        int64_t from = low % (I)b.rest, stride = b.rest;
        bool inside = true;

        low /= (I)b.rest;
        for (int d = b.dims - 1; d >= 0; d--) {
            I block = (I)b.block[d], folded = (I)b.folded[d];
            int64_t at =
                low % folded * b.block[d] + offset % block - b.before[d];

            inside = inside && at >= 0 && at < b.wide[d];
            from += at * stride;
            low /= folded;
            offset /= block;
            stride *= b.wide[d];
        }
        y[i] = inside ? x[from + batch * stride] : T();
    }
}

/* Blocks are no larger than the output and its crops, which 32 bits count. */
template <typename T, typename I>
__global__ void unfold_items(const T *x, T *y, I n, struct blocks b)
{
    for (I i = (I)thread_index(); i < n; i += (I)thread_count()) {
        int64_t offset = 0, offsets = 1, from = i % (I)b.rest, stride = b.rest;
        I low = i / (I)b.rest;

        for (int d = b.dims - 1; d >= 0; d--) {
            I at = low % (I)b.wide[d] + (I)b.before[d], block = (I)b.block[d];

            from += at / block * stride;
            offset += at % block * offsets;
            low /= (I)b.wide[d];
            offsets *= b.block[d];
            stride *= b.folded[d];
        }
        y[i] = x[from + (offset * b.batch + low) * stride];
    }
}

template <bool FOLD, typename T, typename I>
static void launch(struct tfd_kctx *k, I n, const struct blocks *b,
                   int64_t offsets)
{
    if constexpr (FOLD)
        fold_items<T, I><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), out_at<T>(k, 0), n, (I)(n / (offsets * b->batch)),
            *b);
    else
        unfold_items<T, I><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), out_at<T>(k, 0), n, *b);
}

template <bool FOLD>
static enum tfd_code move_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    size_t size = tfd_dtype_size(k->in[0].dtype);
    struct tfd_space_batch f;
    struct blocks b;
    int64_t n, most = tfd_tensor_elements(&k->in[0]);
    bool done;

    TFD_TRY(tfd_space_batch_begin(k, FOLD, &f, &done, st));
    if (done)
        return TFD_OK;
    n = tfd_tensor_elements(&k->out[0]);
    most = most > n ? most : n;
    if (n == 0)
        return TFD_OK;
    b = FOLD ? blocks_of(&f, &k->in[0].shape, &k->out[0].shape)
             : blocks_of(&f, &k->out[0].shape, &k->in[0].shape);
    while (b.rest % 2 == 0 && size < ITEM_MAX &&
           is_multiple(in_at<char>(k, 0), 2 * size)) {
        b.rest /= 2;
        size *= 2;
        n /= 2;
    }
    return with_item(size, [&](auto item) {
        using T = decltype(item);

        return with_index(most, [&](auto index) {
            launch<FOLD, T>(k, (decltype(index))n, &b, f.offsets);
            return launched(k, st);
        });
    });
}

/* Blocks, paddings and crops are the host's. */
#define HOSTS (HOST_ARG(1) | HOST_ARG(2))
#define ROWS(name, T)                                         \
    row("SpaceToBatchND", TFD_##name, move_gpu<true>, HOSTS), \
        row("BatchToSpaceND", TFD_##name, move_gpu<false>, HOSTS),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(space_batch);
