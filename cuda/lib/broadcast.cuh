/*
 * broadcast.cuh - which elements of operands meet in a pack of the result, by
 * a plan (kernels/core/broadcast.h).
 *
 * A pack of 16 bytes is any neighbours of the result, so that it may be of
 * several rows.  An operand that is repeated nowhere has its elements at the
 * same place, and moves in packs too.  Those of others are looked up, row by
 * row: they are fewer than the result has, and mostly in a cache.
 *
 *     result    | 0 1 2 3 | 4 5 6 7 | 8 . . .      rows of 3
 *     operand   | a b c a | b c a b | c . . .      a row that is repeated
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_BROADCAST_CUH
#define TFD_CUDA_BROADCAST_CUH

#include "cuda/lib/divisor.cuh"

extern "C" {
#include "kernels/core/broadcast.h"
}

/* The last dimension is the rows'. */
struct strides {
    int rank;
    struct divisor dim[TFD_RANK_MAX + 1];
    int64_t step[TFD_BROADCAST_MAX][TFD_RANK_MAX + 1];
    bool packs[TFD_BROADCAST_MAX]; /* moves in packs, as the result does */
    bool result_packs;
};

static inline bool is_repeated(const struct tfd_broadcast *p, int operand)
{
    int64_t size = p->row_size;

    if (!p->row_step[operand])
        return true;
    for (int d = p->rank - 1; d >= 0; size *= p->dim[d--])
        if (p->step[operand][d] != size)
            return true;
    return false;
}

/* Rows are of packs of `size`, which moves an operand that is not repeated. */
static inline struct strides strides_of(const struct tfd_broadcast *p, int size)
{
    struct strides s = {};

    for (int d = 0; d < p->rank; d++)
        s.dim[d] = divisor_of(p->dim[d]);
    s.dim[p->rank] = divisor_of(p->row_size / size);
    for (int o = 0; o < p->count; o++) {
        for (int d = 0; d < p->rank; d++)
            s.step[o][d] = p->step[o][d];
        s.step[o][p->rank] = p->row_step[o] * size;
    }
    s.rank = p->rank + 1;
    return s;
}

/* For take() and give(). */
static inline struct strides strides_at(const struct tfd_broadcast *p,
                                        const void *const *in, const void *y)
{
    struct strides s = strides_of(p, 1);

    for (int o = 0; o < p->count; o++)
        s.packs[o] = !is_repeated(p, o) && is_aligned(in[o], in[o], in[o]);
    s.result_packs = is_aligned(y, y, y);
    return s;
}

/* Where an operand's row begins. */
__device__ inline int64_t row_place(const struct strides &s, int operand,
                                    int64_t row)
{
    int64_t place = 0;

    for (int d = s.rank - 2; d > 0; d--)
        place += take_rest(&s.dim[d], &row) * s.step[operand][d];
    return place + row * s.step[operand][0]; /* of one row: 0 */
}

/* Up to N, for those from element i of the result on. */
template <int N, typename A>
__device__ inline pack<A, N> take(const A *x, const struct strides &s,
                                  int operand, int64_t i, int count)
{
    int64_t step = s.step[operand][s.rank - 1], size = s.dim[s.rank - 1].by;
    int64_t row = i, first;
    pack<A, N> p = {};

    if (s.packs[operand] && count == N)
        return *(const pack<A, N> *)(x + i);
    first = -take_rest(&s.dim[s.rank - 1], &row);
#pragma unroll 1
    for (; first < count; first += size, row++) {
        const A *from = x + row_place(s, operand, row) - first * step;

#pragma unroll
        for (int j = 0; j < N; j++)
            if (j >= first && j < first + size && j < count)
                p.v[j] = from[j * step];
    }
    return p;
}

/* To element i of the result. */
template <int N, typename Y>
__device__ inline void give(Y *y, const struct strides &s, int64_t i, int count,
                            const pack<Y, N> &p)
{
    if (s.result_packs && count == N) {
        *(pack<Y, N> *)(y + i) = p;
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (j < count)
            y[i + j] = p.v[j];
}

#endif
