/*
 * scatter.cuh - rows of updates folded into rows of something, as
 * kernels/scatter.h has it, with indices that lie on the device; those outside
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
 */
#ifndef TFD_CUDA_SCATTER_CUH
#define TFD_CUDA_SCATTER_CUH

#include "cuda/index.cuh"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
    const char *set = getenv("TF_DETERMINISTIC_OPS");

    return set && (strcmp(set, "1") == 0 || strcasecmp(set, "true") == 0);
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

template <size_t SIZE> struct word_of {
    using type = unsigned;
};
template <> struct word_of<8> {
    using type = unsigned long long;
};

/* The word around a small element is changed as a whole. */
template <typename F, typename T>
__device__ inline void change_element(F f, T *at, T by)
{
    using W = typename word_of<sizeof(T)>::type;
    W *word = (W *)((uintptr_t)at & ~(uintptr_t)(sizeof(W) - 1));
    size_t place = (uintptr_t)at & (sizeof(W) - 1);
    W seen = *word, old;

    do {
        W next = seen;
        T x;

        memcpy((void *)&x, (const char *)&seen + place, sizeof(T));
        x = f(x, by);
        memcpy((char *)&next + place, (const void *)&x, sizeof(T));
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
__global__ void scatter_any(F f, T *to, const T *by, struct places place,
                            int64_t inner, int64_t n, bool one)
{
    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        int64_t i = quotient(e, inner), row = place(i);

        if (row >= 0)
            change_element(f, to + row * inner + (e - i * inner),
                           by[one ? 0 : e]);
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
                s->place, s->inner / 2, n, false);
            return launched(k, st);
        }
    }
    scatter_any<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        f, (T *)s->to, (const T *)s->by, s->place, s->inner, n, s->one);
    return launched(k, st);
}

/* ---- In order ------------------------------------------------------------ */

/* A key is place * count + i, so that keys differ and their order is the
 * updates'; those outside come last. */
#define NO_KEY UINT64_MAX
#define SORTED_AT_ONCE (2 * THREADS)

template <typename K>
__global__ void make_keys(K *keys, struct places place, int64_t count,
                          int64_t n)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t row = i < count ? place(i) : -1;

        keys[i] = row < 0 ? NO_KEY : (uint64_t)(row * count + i);
    }
}

/* Element `at` and the one `step` behind it, in a run of `size` that ascends or
 * descends. */
template <typename K>
__device__ inline void order_keys(K *keys, int64_t at, int64_t step,
                                  bool ascends)
{
    K a = keys[at], b = keys[at + step];

    if ((a > b) == ascends) {
        keys[at] = b;
        keys[at + step] = a;
    }
}

/* One step of a bitonic sort. */
template <typename K>
__global__ void sort_step(K *keys, int64_t size, int64_t step, int64_t n)
{
    for (int64_t i = thread_index(); i < n / 2; i += thread_count()) {
        int64_t at = i / step * step * 2 + i % step;

        order_keys(keys, at, step, (at & size) == 0);
    }
}

/* All steps below SORTED_AT_ONCE, of the sizes from first to last. */
template <typename K>
__global__ void sort_block(K *keys, int64_t first, int64_t last)
{
    __shared__ K part[SORTED_AT_ONCE];
    int64_t base = (int64_t)blockIdx.x * SORTED_AT_ONCE;

    for (int i = threadIdx.x; i < SORTED_AT_ONCE; i += THREADS)
        part[i] = keys[base + i];
    for (int64_t size = first; size <= last; size *= 2)
        for (int step = size < SORTED_AT_ONCE ? (int)size / 2 : THREADS;
             step > 0; step /= 2) {
            int at = (int)threadIdx.x / step * step * 2 + threadIdx.x % step;

            __syncthreads();
            order_keys(part, at, step, ((base + at) & size) == 0);
        }
    __syncthreads();
    for (int i = threadIdx.x; i < SORTED_AT_ONCE; i += THREADS)
        keys[base + i] = part[i];
}

/* n is a power of two, at least SORTED_AT_ONCE. */
static inline void sort_keys(struct tfd_kctx *k, uint64_t *keys, int64_t n)
{
    unsigned blocks = (unsigned)(n / SORTED_AT_ONCE);

    sort_block<<<blocks, THREADS, 0, stream_of(k)>>>(keys, 2, SORTED_AT_ONCE);
    for (int64_t size = 2 * SORTED_AT_ONCE; size <= n; size *= 2) {
        for (int64_t step = size / 2; step >= SORTED_AT_ONCE; step /= 2)
            sort_step<<<blocks_for(k, n / 2), THREADS, 0, stream_of(k)>>>(
                keys, size, step, n);
        sort_block<<<blocks, THREADS, 0, stream_of(k)>>>(keys, size, size);
    }
}

/* A thread for each element of the first update of each place. */
template <typename F, typename T>
__global__ void scatter_ordered(F f, T *to, const T *by, const uint64_t *keys,
                                uint64_t count, int64_t inner, bool one)
{
    int64_t n = (int64_t)count * inner;

    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        uint64_t first = (uint64_t)quotient(e, inner), row, i;
        int64_t at = e - (int64_t)first * inner;
        T x;

        if (keys[first] == NO_KEY)
            continue;
        row = keys[first] / count;
        if (first > 0 && keys[first - 1] / count == row)
            continue;
        x = to[(int64_t)row * inner + at];
        for (i = first; i < count && keys[i] / count == row; i++)
            x = f(x, by[one ? 0 : (int64_t)(keys[i] % count) * inner + at]);
        to[(int64_t)row * inner + at] = x;
    }
}

template <typename F, typename T>
static enum tfd_code run_ordered(struct tfd_kctx *k, F f,
                                 const struct scatter *s, struct tfd_status *st)
{
    int64_t room = SORTED_AT_ONCE, n = s->count * s->inner;
    struct tfd_buffer *b;
    uint64_t *keys;

    while (room < s->count)
        room *= 2;
    if (s->limit > INT64_MAX / s->count)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld updates of %lld places cannot be sorted",
                        (long long)s->count, (long long)s->limit);
    b = k->memory->make(k->memory, (size_t)room * sizeof(*keys), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    keys = (uint64_t *)b->data;
    make_keys<<<blocks_for(k, room), THREADS, 0, stream_of(k)>>>(
        keys, s->place, s->count, room);
    sort_keys(k, keys, room);
    scatter_ordered<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        f, (T *)s->to, (const T *)s->by, keys, (uint64_t)s->count, s->inner,
        s->one);
    tfd_buffer_unref(b);
    return launched(k, st);
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
__global__ void forget_updates(N *last, struct places place, int64_t count)
{
    for (int64_t i = thread_index(); i < count; i += thread_count()) {
        int64_t row = place(i);

        if (row >= 0)
            last[row] = 0;
    }
}

template <typename N>
__global__ void number_updates(N *last, struct places place, int64_t count)
{
    for (int64_t i = thread_index(); i < count; i += thread_count()) {
        int64_t row = place(i);

        if (row >= 0)
            atomicMax(&last[row], (N)i + 1);
    }
}

/* Without `last` there are no two updates of one place. */
template <typename I>
__global__ void copy_updates(I *to, const I *by, struct places place,
                             const unsigned *last, int64_t items, int64_t n,
                             bool one)
{
    for (int64_t e = thread_index(); e < n; e += thread_count()) {
        int64_t i = quotient(e, items), row = place(i);

        if (row >= 0 && (!last || last[row] == (unsigned)i + 1))
            to[row * items + (e - i * items)] = by[one ? 0 : e];
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
            (I *)s->to, (const I *)s->by, s->place, last, items, n, s->one);
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
