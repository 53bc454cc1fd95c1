/*
 * reduce.cu - Sum, Mean, Prod, Max, Min, All, Any of kernels/reduce/reduce.c.
 *
 * Dimensions that are neighbours and are both kept or both folded become one.
 * Then nearly every case is one of
 *
 *     [folded], [kept, folded]           rows
 *     [folded, kept], [kept, folded, kept] columns of one matrix or several
 *     [folded, kept, folded]             rows, then columns of their results
 *     anything else                      a block for each output, by strides
 *
 * Rows and columns are those of fold_matrix.cuh.  The order of folding depends
 * on the shape alone, so that results are the same bits in every run.
 */
#include "cuda/lib/complex.cuh"
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/fold_matrix.cuh"

extern "C" {
#include "kernels/reduce/reduce.h"
}

namespace
{

struct both {
    template <typename W> __device__ static W zero()
    {
        return 1;
    }
    template <typename W> __device__ W operator()(W a, W b) const
    {
        return a && b;
    }
};

struct either {
    template <typename W> __device__ static W zero()
    {
        return 0;
    }
    template <typename W> __device__ W operator()(W a, W b) const
    {
        return a || b;
    }
};

/* ---- Plan ---------------------------------------------------------------- */

struct group {
    int64_t size, stride;
    struct divisor by; /* size */
};

struct plan {
    struct group kept[TFD_RANK_MAX], folded[TFD_RANK_MAX]; /* outermost first */
    int kept_count, folded_count;
    int64_t outputs, count; /* elements folded into each */
    bool last_folded;
};

static struct plan make_plan(const struct tfd_shape *s, const bool *reduced)
{
    struct group groups[TFD_RANK_MAX];
    bool kinds[TFD_RANK_MAX];
    struct plan p = {};
    int64_t stride = 1;
    int n = 0;

    for (int i = s->rank - 1; i >= 0; i--) {
        if (s->dim[i] == 1)
            continue;
        if (n && kinds[n - 1] == reduced[i]) {
            groups[n - 1].size *= s->dim[i];
        } else {
            groups[n] = {s->dim[i], stride, {}};
            kinds[n++] = reduced[i];
        }
        stride *= s->dim[i];
    }
    p.outputs = p.count = 1;
    p.last_folded = n > 0 && kinds[0];
    for (int i = n - 1; i >= 0; i--) {
        groups[i].by = divisor_of(groups[i].size);
        if (kinds[i]) {
            p.folded[p.folded_count++] = groups[i];
            p.count *= groups[i].size;
        } else {
            p.kept[p.kept_count++] = groups[i];
            p.outputs *= groups[i].size;
        }
    }
    return p;
}

/* ---- Loops --------------------------------------------------------------- */

__device__ inline int64_t offset_of(const struct group *g, int count,
                                    int64_t index)
{
    int64_t offset = 0;

    for (int i = count - 1; i >= 0; i--)
        offset += take_rest(&g[i].by, &index) * g[i].stride;
    return offset;
}

template <typename F, typename T>
__global__ void fold_strided(F f, const T *x, T *y, struct plan p,
                             int64_t divisor)
{
    for (int64_t o = blockIdx.x; o < p.outputs; o += gridDim.x) {
        const T *at = x + offset_of(p.kept, p.kept_count, o);
        wide<T> acc = F::template zero<wide<T>>();

        for (int64_t i = threadIdx.x; i < p.count; i += THREADS)
            acc = f(acc, widen(at[offset_of(p.folded, p.folded_count, i)]));
        acc = fold_block(acc, f, false);
        if (threadIdx.x == 0)
            y[o] = finish<T>(acc, divisor);
    }
}

template <typename F, typename T>
__global__ void fill_zero(T *y, int64_t n, int64_t divisor)
{
    wide<T> v = F::template zero<wide<T>>();

    for (int64_t i = thread_index(); i < n; i += thread_count())
        y[i] = finish<T>(v, divisor);
}

/* ---- Kernels ------------------------------------------------------------- */

template <typename F, typename T>
static enum tfd_code run_reduction(struct tfd_kctx *k, const struct plan *p, bool is_mean,
                         struct tfd_status *st)
{
    int64_t divisor = is_mean ? p->count : 1;
    const T *x = in_at<T>(k, 0);
    T *y = out_at<T>(k, 0);

    if (p->folded_count == 1 && p->last_folded && p->kept_count <= 1)
        return run_rows(k, F(), x, y, p->outputs, p->count, divisor, st);
    if (p->folded_count == 1 && !p->last_folded)
        return run_columns(k, F(), x, y,
                           p->kept_count == 2 ? p->kept[0].size : 1, p->count,
                           p->kept[p->kept_count - 1].size, divisor, st);
    if (p->folded_count == 2 && p->last_folded && p->kept_count == 1)
        return run_channels(k, F(), x, y, p->folded[0].size, p->outputs,
                            p->folded[1].size, divisor, st);
    fold_strided<<<(unsigned)(p->outputs < 65535 ? p->outputs : 65535), THREADS,
                   0, stream_of(k)>>>(F(), x, y, *p, divisor);
    return launched(k, st);
}

template <typename T, typename F, bool MEAN>
static enum tfd_code reduce(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *in = &k->in[0];
    bool reduced[TFD_RANK_MAX];
    struct tfd_shape shape;
    struct plan p;
    int64_t n;

    TFD_TRY(tfd_reduce_axes(k, reduced, &shape, st));
    p = make_plan(&in->shape, reduced);
    if (in->buffer && p.folded_count == 0) {
        tfd_kctx_output_alias(k, 0, 0, &shape);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, in->dtype, &shape, st));
    n = tfd_shape_elements(&shape);
    if (n == 0)
        return TFD_OK;
    if (in->buffer)
        return run_reduction<F, T>(k, &p, MEAN, st);
    fill_zero<F><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        out_at<T>(k, 0), n, MEAN ? 0 : 1); /* the mean of nothing is none */
    return launched(k, st);
}

#define ROW(op, dtype, T, f, mean)                                      \
    row(op, dtype, reduce<T, f, mean>, HOST_ARG(1), tfd_reduce_prepare, \
        sizeof(struct tfd_reduce_state)),
#define SUMS(name, T)                      \
    ROW("Sum", TFD_##name, T, plus, false) \
    ROW("Mean", TFD_##name, T, plus, true) \
    ROW("Prod", TFD_##name, T, times, false)
#define FLOATS(name, T)                      \
    SUMS(name, T)                            \
    ROW("Max", TFD_##name, T, larger, false) \
    ROW("Min", TFD_##name, T, smaller, false)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS) CUDA_COMPLEX_DTYPES(SUMS)
        ROW("Sum", TFD_INT64, int64_t, plus, false) ROW("Prod", TFD_INT64,
                                                        int64_t, times, false)
            ROW("Max", TFD_INT64, int64_t, larger, false)
                ROW("Min", TFD_INT64, int64_t, smaller, false)
                    ROW("All", TFD_DTYPE_INVALID, tfd_bool, both, false)
                        ROW("Any", TFD_DTYPE_INVALID, tfd_bool, either, false)};

} /* namespace */

CUDA_FAMILY_OF(reduce);
