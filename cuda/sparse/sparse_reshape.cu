/*
 * sparse_reshape.cu - SparseReshape of kernels/sparse/sparse_reshape.c: a thread for
 * each index.  Shapes are the host's.
 */
#include "cuda/lib/launch.cuh"

extern "C" {
#include "kernels/sparse/sparse_reshape.h"
}

namespace
{

struct sides {
    int from_rank, to_rank;
    int64_t from[TFD_RANK_MAX], to[TFD_RANK_MAX]; /* strides */
};

/* An index outside of the dimensions gives numbers of no meaning. */
__global__ void move_indices(const int64_t *x, int64_t *y, int64_t n,
                             struct sides s)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        uint64_t sum = 0;
        int64_t at;

        for (int d = 0; d < s.from_rank; d++)
            sum += (uint64_t)x[i * s.from_rank + d] * (uint64_t)s.from[d];
        at = (int64_t)sum;
        for (int d = 0; d < s.to_rank; d++) {
            y[i * s.to_rank + d] = at / s.to[d];
            at %= s.to[d];
        }
    }
}

static enum tfd_code reshape(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_sparse_dims from, to;
    struct sides s = {};
    int64_t n;
    bool same;

    TFD_TRY(tfd_sparse_reshape_outputs(k, &from, &to, &same, st));
    if (same || !k->out[0].buffer)
        return TFD_OK;
    n = k->in[0].shape.dim[0];
    s.from_rank = from.rank;
    s.to_rank = to.rank;
    tfd_sparse_reshape_strides(&from, s.from);
    tfd_sparse_reshape_strides(&to, s.to);
    move_indices<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        in_at<int64_t>(k, 0), out_at<int64_t>(k, 0), n, s);
    return launched(k, st);
}

static constexpr struct tfd_kernel reshape_row()
{
    struct tfd_kernel k = row("SparseReshape", TFD_DTYPE_INVALID, reshape,
                              HOST_ARG(1) | HOST_ARG(2));

    k.host_out = HOST_ARG(1);
    return k;
}

static const struct tfd_kernel kernels[] = {reshape_row()};

} /* namespace */

CUDA_FAMILY_OF(sparse_reshape);
