/*
 * sort.cuh - rows of entries in order, by Batcher's bitonic network: what is
 * compared depends on the length alone.
 *
 * A row has a power of two of entries; E::after(a, b) tells whether a belongs
 * behind b, and no two are equal or it does not matter which comes first.
 * Pieces of SORT_PIECE entries are sorted in shared memory at once; beyond,
 * each distance of the network is a launch.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_SORT_CUH
#define TFD_CUDA_SORT_CUH

#include "cuda/lib/launch.cuh"

#define SORT_PIECE 1024

/* A key and where it came from, which parts equal keys. */
struct sort_entry {
    uint64_t key, index;

    __device__ static bool after(const sort_entry &a, const sort_entry &b)
    {
        return a.key > b.key || (a.key == b.key && a.index > b.index);
    }
};

/* The smallest power of two that is not below n > 0. */
static inline int64_t sort_length(int64_t n)
{
    int64_t length = 1;

    while (length < n)
        length *= 2;
    return length;
}

/* The first of pair i of those that are `step` apart, a power of two. */
__device__ inline int64_t sort_first(int64_t i, int64_t step)
{
    return 2 * i - (i & (step - 1));
}

/* Ascending where `size` is a whole row. */
template <typename E>
__device__ inline void sort_pair(E *a, E *b, int64_t at, int64_t size,
                                 int64_t length)
{
    bool ascending = size == length || (at & size) == 0;
    E low = *a, high = *b;

    if (E::after(low, high) == ascending) {
        *a = high;
        *b = low;
    }
}

/* Sizes `from` to `to`, as far as their distances lie within a piece. */
template <typename E>
__global__ void sort_pieces(E *entry, int64_t n, int64_t length, int64_t from,
                            int64_t to)
{
    __shared__ E part[SORT_PIECE];
    int64_t begin = (int64_t)blockIdx.x * SORT_PIECE;

    for (int i = threadIdx.x; i < SORT_PIECE; i += THREADS)
        if (begin + i < n)
            part[i] = entry[begin + i];
    for (int64_t size = from; size <= to; size *= 2) {
        int64_t step = size / 2 < SORT_PIECE / 2 ? size / 2 : SORT_PIECE / 2;

        for (; step > 0; step /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < SORT_PIECE / 2; i += THREADS) {
                int a = (int)sort_first(i, step);

                if (begin + a < n)
                    sort_pair(&part[a], &part[a + step], begin + a, size,
                              length);
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SORT_PIECE; i += THREADS)
        if (begin + i < n)
            entry[begin + i] = part[i];
}

template <typename E>
__global__ void sort_apart(E *entry, int64_t pairs, int64_t length,
                           int64_t size, int64_t step)
{
    for (int64_t i = thread_index(); i < pairs; i += thread_count()) {
        int64_t a = sort_first(i, step);

        sort_pair(&entry[a], &entry[a + step], a, size, length);
    }
}

/* `rows` rows of `length` entries, a power of two. */
template <typename E>
static enum tfd_code sort_rows(struct tfd_kctx *k, E *entry, int64_t rows,
                               int64_t length, struct tfd_status *st)
{
    int64_t n = rows * length;
    unsigned pieces = (unsigned)((n + SORT_PIECE - 1) / SORT_PIECE);

    if (n == 0 || length == 1)
        return TFD_OK;
    if (n / SORT_PIECE >= INT32_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s: %lld entries to sort, too many for one launch",
                        k->kernel->op, (long long)n);
    sort_pieces<<<pieces, THREADS, 0, stream_of(k)>>>(
        entry, n, length, 2, length < SORT_PIECE ? length : SORT_PIECE);
    for (int64_t size = 2 * SORT_PIECE; size <= length; size *= 2) {
        for (int64_t step = size / 2; step >= SORT_PIECE; step /= 2)
            sort_apart<<<blocks_for(k, n / 2), THREADS, 0, stream_of(k)>>>(
                entry, n / 2, length, size, step);
        sort_pieces<<<pieces, THREADS, 0, stream_of(k)>>>(entry, n, length,
                                                          size, size);
    }
    return launched(k, st);
}

#endif
