/*
 * scatter.cuh - rows of updates folded into rows of something, as
 * kernels/index/scatter.h has it, with indices that lie on the device; those outside
 * are left out.
 *
 *     to[place][n] = f(to[place][n], by[i][n])    for each i, n < inner
 *
 * Updates of one place meet in any order: sums of floats may differ in their
 * last bits from run to run, as TensorFlow's do.  Where order shows in whole
 * values (Update) the last wins: a first pass finds out which that is.
 *
 * With TF_DETERMINISTIC_OPS updates are sorted by place first and folded one
 * after the other: the CPU's results.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_SCATTER_CUH
#define TFD_CUDA_SCATTER_CUH

#include "cuda/lib/index.cuh"
#include "cuda/lib/sort.cuh"

extern "C" {
#include "cuda/device/kernel_settings.h"
}

#include <type_traits>

struct scatter {
    void *to;
    const void *by;
    struct places place;
    int64_t count, inner, limit;
    bool one;     /* by is one element for all */
    bool ordered; /* deterministic */
};

static inline bool is_deterministic(void)
{
    return tfd_cuda_kernel_settings()->deterministic_ops;
}

/* ---- Functions of two elements ------------------------------------------- */

/* min, max: a NaN changes nothing, as on the CPU. */
#define SCATTER_FUNCTION(name, body)                                  \
    struct name {                                                     \
        template <typename T> __device__ T operator()(T p, T q) const \
        {                                                             \
            wide<T> a = widen(p), b = widen(q);                       \
                                                                      \
            return narrow<T>(body);                                   \
        }                                                             \
    };

SCATTER_FUNCTION(scatter_add, a + b)
SCATTER_FUNCTION(scatter_sub, a - b)
SCATTER_FUNCTION(scatter_mul, a *b)
SCATTER_FUNCTION(scatter_min, b < a ? b : a)
SCATTER_FUNCTION(scatter_max, b > a ? b : a)

/* An integer divided by zero stays, where TensorFlow's is anything; the
 * smallest by -1 wraps. */
struct scatter_div {
    template <typename T> __device__ T operator()(T p, T q) const
    {
        if constexpr (std::is_integral<T>::value) {
            if (q == 0)
                return p;
            if (std::is_signed<T>::value && q == (T)-1)
                return (T)(0 - (uint64_t)p);
        }
        return narrow<T>(widen(p) / widen(q));
    }
};

struct scatter_update {
    template <typename T> __device__ T operator()(T, T q) const
    {
        return q;
    }
};

/* Two neighbours at once. */
template <typename F> struct both_of {
    F f;

    template <typename T>
    __device__ pack<T, 2> operator()(pack<T, 2> p, pack<T, 2> q) const
    {
        return {{f(p.v[0], q.v[0]), f(p.v[1], q.v[1])}};
    }
};

/* ---- One element, whoever else changes it -------------------------------- */

/* An unsigned number of the size of an element. */
template <size_t SIZE> struct bits_of;
template <> struct bits_of<1> {
    using type = uint8_t;
};
template <> struct bits_of<2> {
    using type = uint16_t;
};
template <> struct bits_of<4> {
    using type = unsigned;
};
template <> struct bits_of<8> {
    using type = unsigned long long;
};

/* A small element is changed with the word around it. */
template <typename F, typename T>
__device__ inline void change_element(F f, T *at, T by)
{
    using B = typename bits_of<sizeof(T)>::type;
    using W = typename bits_of<sizeof(T) == 8 ? 8 : 4>::type;
    constexpr uintptr_t inside = sizeof(W) - sizeof(T) ? sizeof(W) - 1 : 0;
    W *word = (W *)((uintptr_t)at & ~inside);
    int shift = (int)((uintptr_t)at & inside) * 8;
    W seen = *word, old, next;

    do {
        B bits = (B)(seen >> shift);
        T x;

        memcpy((void *)&x, &bits, sizeof(x));
        x = f(x, by);
        memcpy(&bits, (const void *)&x, sizeof(x));
        next = (seen & ~((W)(B)-1 << shift)) | (W)bits << shift;
        if (next == seen)
            return;
        old = seen;
        seen = atomicCAS(word, old, next);
    } while (seen != old);
}

/* What the card adds by itself. */
#define SCATTER_ATOMIC(T, as)                                       \
    __device__ inline void change_element(scatter_add, T *at, T by) \
    {                                                               \
        atomicAdd((as *)at, (as)by);                                \
    }                                                               \
    __device__ inline void change_element(scatter_sub, T *at, T by) \
    {                                                               \
        atomicAdd((as *)at, (as)(0 - (as)by));                      \
    }

SCATTER_ATOMIC(float, float)
SCATTER_ATOMIC(double, double)
SCATTER_ATOMIC(uint32_t, unsigned)
SCATTER_ATOMIC(uint64_t, unsigned long long)

/* ---- In any order -------------------------------------------------------- */

template <typename F, typename T>
__global__ void scatter_any(F f, T *to, const T *by,
                            const __grid_constant__ struct places place,
                            struct divisor inner, int64_t n, bool one)
{
    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        int64_t i = e, at = take_rest(&inner, &i), row = place(i);

        if (row >= 0)
            change_element(f, to + row * inner.by + at, by[one ? 0 : e]);
    }
}

template <typename F, typename T>
static enum tfd_code run_any(struct tfd_kctx *k, F f, const struct scatter *s,
                             struct tfd_status *st)
{
    uintptr_t addresses = (uintptr_t)s->to | (uintptr_t)s->by;
    int64_t n = s->count * s->inner;

    if constexpr (sizeof(T) == 2) {
        if (s->inner % 2 == 0 && !s->one && addresses % 4 == 0) {
            n /= 2;
            scatter_any<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                both_of<F>(), (pack<T, 2> *)s->to, (const pack<T, 2> *)s->by,
                s->place, divisor_of(s->inner / 2), n, false);
            return launched(k, st);
        }
    }
    scatter_any<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        f, (T *)s->to, (const T *)s->by, s->place, divisor_of(s->inner), n,
        s->one);
    return launched(k, st);
}

/* ---- In order ------------------------------------------------------------ */

/* Entries are of a place and of an update, in whose order they come; those
 * outside are last. */
#define NO_PLACE UINT64_MAX

template <typename E>
__global__ void make_entries(E *entry,
                             const __grid_constant__ struct places place,
                             int64_t count, int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t row = i < count ? place(i) : -1;

        entry[i] = {row < 0 ? NO_PLACE : (uint64_t)row, (uint64_t)i};
    }
}

/* A thread for each pack of the first update of each place.  N > 1: without
 * `one`. */
template <int N, typename F, typename T>
__global__ void scatter_ordered(F f, pack<T, N> *to, const pack<T, N> *by,
                                const struct sort_entry *entry, int64_t count,
                                struct divisor packs, bool one)
{
    int64_t n = count * packs.by;

    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        int64_t i = e, at = take_rest(&packs, &i);
        uint64_t row = entry[i].key;
        pack<T, N> x, *y = to + (int64_t)row * packs.by + at;

        if (row == NO_PLACE || (i > 0 && entry[i - 1].key == row))
            continue;
        x = *y;
        for (; i < count && entry[i].key == row; i++) {
            pack<T, N> p =
                by[one ? 0 : (int64_t)entry[i].index * packs.by + at];

#pragma unroll
            for (int j = 0; j < N; j++)
                x.v[j] = f(x.v[j], p.v[j]);
        }
        *y = x;
    }
}

template <int N, typename T, typename F>
static void launch_ordered(struct tfd_kctx *k, F f, const struct scatter *s,
                           const struct sort_entry *entry)
{
    int64_t packs = s->inner / N;

    scatter_ordered<N>
        <<<blocks_for(k, s->count * packs), THREADS, 0, stream_of(k)>>>(
            f, (pack<T, N> *)s->to, (const pack<T, N> *)s->by, entry, s->count,
            divisor_of(packs), s->one);
}

template <typename F, typename T>
static enum tfd_code run_ordered(struct tfd_kctx *k, F f,
                                 const struct scatter *s, struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    int64_t length = sort_length(s->count);
    struct sort_entry *entry;
    struct tfd_buffer *b;
    enum tfd_code rc;

    b = k->memory->make(k->memory, (size_t)length * sizeof(*entry), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    entry = (struct sort_entry *)b->data;
    make_entries<<<blocks_for(k, length), THREADS, 0, stream_of(k)>>>(
        entry, s->place, s->count, length);
    rc = sort_rows(k, entry, 1, length, st);
    if (rc == TFD_OK) {
        if (!s->one && s->inner % N == 0 && is_aligned(s->to, s->by, s->to))
            launch_ordered<N, T>(k, f, s, entry);
        else
            launch_ordered<1, T>(k, f, s, entry);
        rc = launched(k, st);
    }
    tfd_buffer_unref(b);
    return rc;
}

/* Computes in T what F says; of types that have no sign in it an unsigned one
 * of the same size will do. */
template <typename F, typename T>
static enum tfd_code run_scatter(struct tfd_kctx *k, const struct scatter *s,
                                 struct tfd_status *st)
{
    if (s->count == 0 || s->inner == 0 || s->limit == 0)
        return TFD_OK;
    if (s->ordered)
        return run_ordered<F, T>(k, F(), s, st);
    return run_any<F, T>(k, F(), s, st);
}

/* ---- Update -------------------------------------------------------------- */

/* last[place]: the number of its last update, from 1; only those of places that
 * are named are ever written or read. */
template <typename N>
__global__ void forget_updates(N *last,
                               const __grid_constant__ struct places place,
                               int64_t count)
{
    for (int64_t i = thread_index(); i < count; i += thread_count()) {
        int64_t row = place(i);

        if (row >= 0)
            last[row] = 0;
    }
}

template <typename N>
__global__ void number_updates(N *last,
                               const __grid_constant__ struct places place,
                               int64_t count)
{
    for (int64_t i = thread_index(); i < count; i += thread_count()) {
        int64_t row = place(i);

        if (row >= 0)
            atomicMax(&last[row], (N)i + 1);
    }
}

/* Without `last` there are no two updates of one place. */
template <typename I>
__global__ void
copy_updates(I *to, const I *by, const __grid_constant__ struct places place,
             const unsigned *last, struct divisor items, int64_t n, bool one)
{
    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        int64_t i = e, at = take_rest(&items, &i), row = place(i);

        if (row >= 0 && (!last || last[row] == (unsigned)i + 1))
            to[row * items.by + at] = by[one ? 0 : e];
    }
}

/* Rows of updates of `size` bytes an element. */
static inline enum tfd_code copy_last(struct tfd_kctx *k,
                                      const struct scatter *s, size_t size,
                                      const unsigned *last,
                                      struct tfd_status *st)
{
    size_t row = s->one ? size : (size_t)s->inner * size;

    return with_item(item_size(row, s->to, s->by), [&](auto item) {
        using I = decltype(item);
        int64_t items = (int64_t)((size_t)s->inner * size / sizeof(I));
        int64_t n = s->count * items;

        copy_updates<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            (I *)s->to, (const I *)s->by, s->place, last, divisor_of(items), n,
            s->one);
        return launched(k, st);
    });
}

static inline enum tfd_code run_update(struct tfd_kctx *k,
                                       const struct scatter *s, size_t size,
                                       struct tfd_status *st)
{
    struct tfd_buffer *b;
    enum tfd_code rc;
    unsigned *last;

    if (s->count == 0 || s->inner == 0 || s->limit == 0)
        return TFD_OK;
    if (s->count == 1 || s->one)
        return copy_last(k, s, size, nullptr, st);
    if (s->count > UINT32_MAX - 1)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld updates in one op, the limit is %u",
                        (long long)s->count, UINT32_MAX - 1);
    b = k->memory->make(k->memory, (size_t)s->limit * sizeof(*last), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    last = (unsigned *)b->data;
    forget_updates<<<blocks_for(k, s->count), THREADS, 0, stream_of(k)>>>(
        last, s->place, s->count);
    number_updates<<<blocks_for(k, s->count), THREADS, 0, stream_of(k)>>>(
        last, s->place, s->count);
    rc = copy_last(k, s, size, last, st);
    tfd_buffer_unref(b);
    return rc;
}

#endif
