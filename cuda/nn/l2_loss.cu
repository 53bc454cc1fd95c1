/*
 * l2_loss.cu - L2Loss of kernels/reduce/reduce.c: sum(t ^ 2) / 2.
 *
 * Pieces of fixed size are added up by a block each, then the pieces by one
 * block: the order depends on the size alone, so that results are the same bits
 * in every run.  Sums are in float or wider.
 */
#include "cuda/lib/fold_matrix.cuh"

namespace
{

struct add_square {
    template <typename W> __device__ W operator()(W sum, W x) const
    {
        return sum + x * x;
    }
};

template <typename T>
__global__ void add_squares(const T *x, wide<T> *part, int64_t n)
{
    int64_t piece = (n + gridDim.x - 1) / gridDim.x;
    int64_t begin = blockIdx.x * piece;
    int64_t length = begin + piece < n ? piece : n - begin;
    wide<T> sum = 0;

    sum = fold_range(add_square(), sum, x + begin, length > 0 ? length : 0,
                     (int)threadIdx.x, THREADS);
    sum = fold_block(sum, plus(), false);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
}

template <typename T>
__global__ void add_pieces(const wide<T> *part, int n, T *y)
{
    wide<T> sum = 0;

    for (int i = threadIdx.x; i < n; i += THREADS)
        sum += part[i];
    sum = fold_block(sum, plus(), false);
    if (threadIdx.x == 0)
        *y = narrow<T>(sum / 2);
}

template <typename T>
static enum tfd_code loss(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    int64_t n = tfd_tensor_elements(&k->in[0]),
            pieces = (n + PIECE - 1) / PIECE;
    struct tfd_buffer *b;
    wide<T> *part;

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &scalar, st));
    if (pieces > PIECES_MAX)
        pieces = PIECES_MAX;
    b = k->memory->make(k->memory, PIECES_MAX * sizeof(*part), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    part = (wide<T> *)b->data;
    if (pieces > 0)
        add_squares<<<(unsigned)pieces, THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), part, n);
    add_pieces<T>
        <<<1, THREADS, 0, stream_of(k)>>>(part, (int)pieces, out_at<T>(k, 0));
    tfd_buffer_unref(b);
    return launched(k, st);
}

#define ROW(name, T) row("L2Loss", TFD_##name, loss<T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROW)};

} /* namespace */

CUDA_FAMILY_OF(l2_loss);
