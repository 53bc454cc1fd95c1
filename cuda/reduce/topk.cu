/*
 * topk.cu - TopK, TopKV2, InTopKV2 of kernels/reduce/topk.c.
 *
 * Values become keys, unsigned numbers that are smaller the better the value.
 * A block for each row finds the k-th key, byte after byte from the highest by
 * counting how often each occurs, and gathers what is below it and the first of
 * those that are equal; then rows of k are sorted.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/scan.cuh"
#include "cuda/lib/sort.cuh"

extern "C" {
#include "kernels/reduce/topk.h"
}

namespace
{

/* ---- Keys ---------------------------------------------------------------- */

template <typename T> struct key_of {
    using type =
        typename std::conditional<(sizeof(T) > 4), uint64_t, uint32_t>::type;
    /* Integers: the sign's bit is turned where there is one. */
    __device__ static type from(T x)
    {
        type lowest =
            T(-1) < T(0) ? (type)1 << (8 * sizeof(type) - 1) : (type)0;

        return (type) ~((type)x ^ lowest);
    }
};

/* Floating point numbers order as their bits do, the negative ones backwards;
 * -0 is 0. */
template <> struct key_of<float> {
    using type = uint32_t;
    __device__ static type from(float x)
    {
        uint32_t bits = __float_as_uint(x == 0 ? 0.0f : x);

        return bits >> 31 ? bits : ~(bits | UINT32_C(1) << 31);
    }
};
template <> struct key_of<double> {
    using type = uint64_t;
    __device__ static type from(double x)
    {
        uint64_t bits = (uint64_t)__double_as_longlong(x == 0 ? 0.0 : x);

        return bits >> 63 ? bits : ~(bits | UINT64_C(1) << 63);
    }
};
template <> struct key_of<__half> {
    using type = uint32_t;
    __device__ static type from(__half x)
    {
        return key_of<float>::from(widen(x));
    }
};
template <> struct key_of<__nv_bfloat16> {
    using type = uint32_t;
    __device__ static type from(__nv_bfloat16 x)
    {
        return key_of<float>::from(widen(x));
    }
};

/* ---- Selection ----------------------------------------------------------- */

struct top {
    int64_t rows, columns, k;
    int64_t length; /* of a row of entries */
};

/* The byte that the wanted one of the counted has; *wanted becomes its place
 * among those with that byte.  All threads, each with a count. */
__device__ inline void find_byte(int64_t count, int64_t *wanted, unsigned *byte)
{
    int64_t place = *wanted, total;
    int64_t before = scan_block(count, plus(), INT64_C(0), &total);

    static_assert(THREADS == 256, "a thread for each byte");
    if (before < place && place <= before + count) {
        *wanted = place - before;
        *byte = threadIdx.x;
    }
    __syncthreads();
}

/* The k-th key of a row from 1, and its place among equal ones from 1. */
template <typename T>
__device__ inline typename key_of<T>::type kth_key(const T *x, int64_t columns,
                                                   int64_t k, int64_t *place)
{
    using K = typename key_of<T>::type;
    __shared__ unsigned count[THREADS];
    __shared__ int64_t wanted;
    __shared__ unsigned byte;
    K found = 0;

    if (threadIdx.x == 0)
        wanted = k;
    for (int shift = 8 * (int)sizeof(K) - 8; shift >= 0; shift -= 8) {
        count[threadIdx.x] = 0;
        __syncthreads();
        for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
            K key = key_of<T>::from(x[i]);

            /* In two steps: by all bits at once is undefined. */
            if ((key ^ found) >> shift >> 8 == 0)
                atomicAdd(&count[key >> shift & 255], 1u);
        }
        __syncthreads();
        find_byte(count[threadIdx.x], &wanted, &byte);
        found |= (K)byte << shift;
    }
    *place = wanted;
    __syncthreads();
    return found;
}

/* Entries of the k best of each row, in any order, and fillers behind. */
template <typename T>
__global__ void select_best(const T *all, struct sort_entry *out, struct top t)
{
    using K = typename key_of<T>::type;

    for (int64_t row = blockIdx.x; row < t.rows; row += gridDim.x) {
        const T *x = all + row * t.columns;
        struct sort_entry *to = out + row * t.length;
        int64_t place, below = 0, equal = 0, total;
        K kth = kth_key(x, t.columns, t.k, &place);

        /* Both counts in one number: a row has less than 2^32 columns. */
        for (int64_t at = 0; at < t.columns && below + equal < t.k;
             at += THREADS) {
            int64_t i = at + threadIdx.x, own = 0, before;
            K key = 0;

            if (i < t.columns) {
                key = key_of<T>::from(x[i]);
                own = key < kth ? INT64_C(1) << 32 : key == kth;
            }
            before = scan_block(own, plus(), INT64_C(0), &total);
            if (own >> 32)
                to[below + (before >> 32)] = {key, (uint64_t)i};
            else if (own && equal + (before & UINT32_MAX) < place)
                to[t.k - place + equal + (before & UINT32_MAX)] = {key,
                                                                   (uint64_t)i};
            below += total >> 32;
            equal += total & UINT32_MAX;
            equal = equal < place ? equal : place;
        }
        for (int64_t i = t.k + threadIdx.x; i < t.length; i += THREADS)
            to[i] = {UINT64_MAX, UINT64_MAX};
    }
}

template <typename T>
__global__ void write_best(const T *x, const struct sort_entry *from, T *values,
                           void *index, int width, struct top t,
                           struct divisor best)
{
    for (int64_t i = thread_index(); i < t.rows * t.k; i += thread_count()) {
        int64_t row = i, at = take_rest(&best, &row);
        uint64_t column = from[row * t.length + at].index;

        values[i] = x[row * t.columns + (int64_t)column];
        if (width == 2)
            ((int16_t *)index)[i] = (int16_t)column;
        else if (width == 4)
            ((int32_t *)index)[i] = (int32_t)column;
        else
            ((int64_t *)index)[i] = (int64_t)column;
    }
}

static unsigned at_most(int64_t n, unsigned most)
{
    return n < most ? (unsigned)n : most;
}

template <typename T>
static enum tfd_code run_top(struct tfd_kctx *k, struct sort_entry *entries,
                             const struct top *t, struct tfd_status *st)
{
    select_best<<<at_most(t->rows, 65535), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), entries, *t);
    TFD_TRY(sort_rows(k, entries, t->rows, t->length, st));
    write_best<<<blocks_for(k, t->rows * t->k), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), entries, out_at<T>(k, 0), out_at<void>(k, 1),
        (int)tfd_dtype_size(k->out[1].dtype), *t, divisor_of(t->k));
    return launched(k, st);
}

template <typename T>
static enum tfd_code top_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_buffer *work;
    struct top t = {};
    enum tfd_code rc;

    TFD_TRY(tfd_topk_outputs(k, &t.columns, &t.k, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (t.columns >= INT64_C(1) << 32)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s on a GPU: %lld columns, the limit is 2^32 - 1",
                        k->kernel->op, (long long)t.columns);
    t.rows = tfd_tensor_elements(&k->out[0]) / t.k;
    t.length = sort_length(t.k);
    work = k->memory->make(
        k->memory, (size_t)(t.rows * t.length) * sizeof(struct sort_entry), st);
    if (!work)
        return TFD_RESOURCE_EXHAUSTED;
    rc = run_top<T>(k, (struct sort_entry *)work->data, &t, st);
    tfd_buffer_unref(work);
    return rc;
}

/* ---- InTopKV2 ------------------------------------------------------------ */

/* More than any row has columns. */
#define NOT_FINITE (INT64_C(1) << 48)

/* k lies on the device, too.  False where it cannot be said: no such class, or
 * a number of the row that is not finite. */
template <typename I>
__global__ void look_up(const float *all, const I *targets, const I *k,
                        tfd_bool *y, int64_t rows, int64_t classes)
{
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *x = all + row * classes;
        int64_t target = (int64_t)targets[row], better = 0;
        bool known = target >= 0 && target < classes && isfinite(x[target]);

        for (int64_t i = threadIdx.x; known && i < classes; i += THREADS)
            better += isfinite(x[i]) ? x[i] > x[target] : NOT_FINITE;
        better = fold_block(better, plus(), false);
        if (threadIdx.x == 0)
            y[row] = known && better < NOT_FINITE && better < (int64_t)*k;
    }
}

template <typename I>
static enum tfd_code look_up_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;

    if (k->in[2].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "k must be scalar");
    TFD_TRY(tfd_topk_lookup_output(k, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    look_up<<<at_most(x->dim[0], 65535), THREADS, 0, stream_of(k)>>>(
        in_at<float>(k, 0), in_at<I>(k, 1), in_at<I>(k, 2),
        out_at<tfd_bool>(k, 0), x->dim[0], x->dim[1]);
    return launched(k, st);
}

#define ROW(name, T)                                             \
    row("TopKV2", TFD_##name, top_gpu<T>, HOST_ARG(1)),          \
        row("TopK", TFD_##name, top_gpu<T>, 0, tfd_topk_prepare, \
            sizeof(int64_t)),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROW) CUDA_INT_DTYPES(ROW) ROW(INT32, int32_t)
        row("InTopKV2", TFD_INT32, look_up_gpu<int32_t>),
    row("InTopKV2", TFD_INT64, look_up_gpu<int64_t>),
};

} /* namespace */

CUDA_FAMILY_OF(topk);
