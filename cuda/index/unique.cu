/*
 * unique.cu - Unique, UniqueWithCounts of kernels/index/unique.c, for vectors.
 *
 * Values are sorted with their places, so that equal ones are neighbours, the
 * first of them in front; the host waits for how many there are.  Then the
 * first ones are numbered in the order of the input, and each value gets the
 * number of the first that is equal.  Zeros of either sign are one value, a NaN
 * is never another's equal.
 */
#include "cuda/device/later.cuh"
#include "cuda/lib/scan.cuh"
#include "cuda/lib/sort.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

/* In the work memory. */
struct groups {
    struct sort_entry *entry; /* sorted */
    int64_t *head;            /* where each group of equals begins */
    int64_t *number; /* by place in the input: 1 for a first one; its number */
    int64_t *count;  /* for scan_count() */
    int64_t n, length;
};

static size_t size_of(int64_t n)
{
    return (size_t)(2 * sort_length(n + 1) + 2 * n + SCAN_PIECES) *
           sizeof(int64_t);
}

static struct groups groups_in(const struct later *l, int64_t n)
{
    struct groups g = {later_work<struct sort_entry>(l),
                       nullptr,
                       nullptr,
                       nullptr,
                       n,
                       sort_length(n + 1)};

    g.head = (int64_t *)(g.entry + g.length);
    g.number = g.head + n;
    g.count = g.number + n;
    return g;
}

/* ---- Finding them -------------------------------------------------------- */

template <typename T> struct make_entry {
    const T *x;
    int64_t n;

    __device__ struct sort_entry operator()(int64_t i) const
    {
        struct sort_entry e = {UINT64_MAX, UINT64_MAX};

        if (i < n) {
            T value = x[i];

            e = {0, (uint64_t)i};
            if (widen(value) != 0)
                memcpy(&e.key, &value, sizeof(value));
        }
        return e;
    }
};

template <typename T> struct is_head {
    const T *x;
    const struct sort_entry *entry;

    __device__ bool operator()(int64_t i) const
    {
        wide<T> value = widen(x[entry[i].index]);

        return i == 0 || entry[i - 1].key != entry[i].key || value != value;
    }
};

struct put_head {
    int64_t *head;

    __device__ void operator()(int64_t i, int64_t group) const
    {
        head[group] = i;
    }
};

template <typename F> __global__ void mark_firsts(F head, struct groups g)
{
    for (int64_t i = thread_index(); i < g.n; i += thread_count())
        g.number[g.entry[i].index] = head(i) ? 1 : 0;
}

template <typename T>
static enum tfd_code find_groups(struct tfd_kctx *k, const struct groups *g,
                                 int64_t *all, struct tfd_status *st)
{
    struct scan_pieces pieces = scan_pieces_of(g->n);
    is_head<T> head = {in_at<T>(k, 0), g->entry};

    TFD_TRY(run_index(k, make_entry<T>{in_at<T>(k, 0), g->n}, g->entry,
                      g->length, st));
    TFD_TRY(sort_rows(k, g->entry, 1, g->length, st));
    TFD_TRY(scan_count(k, head, pieces, g->count, all, st));
    TFD_TRY(scan_find(k, head, put_head{g->head}, pieces, g->count, st));
    mark_firsts<<<blocks_for(k, g->n), THREADS, 0, stream_of(k)>>>(head, *g);
    return launched(k, st);
}

/* ---- Writing them -------------------------------------------------------- */

struct is_first {
    const int64_t *number;

    __device__ bool operator()(int64_t i) const
    {
        return number[i] == 1;
    }
};

template <typename T> struct put_first {
    const T *x;
    int64_t *number;
    T *y;

    __device__ void operator()(int64_t i, int64_t place) const
    {
        number[i] = place;
        y[place] = x[i];
    }
};

/* The number of the group that the sorted entry i is in. */
__device__ inline int64_t group_of(const struct groups &g, int64_t all,
                                   int64_t i)
{
    int64_t low = 0, high = all - 1;

    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;

        if (g.head[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* sizes may be NULL. */
template <typename I>
__global__ void write_numbers(struct groups g, int64_t all, I *index, I *sizes)
{
    for (int64_t i = thread_index(); i < g.n; i += thread_count()) {
        int64_t group = group_of(g, all, i), head = g.head[group];
        int64_t number = g.number[g.entry[head].index];
        int64_t end = group + 1 < all ? g.head[group + 1] : g.n;

        index[g.entry[i].index] = (I)number;
        if (sizes && i == head)
            sizes[number] = (I)(end - head);
    }
}

static enum tfd_code make_outputs(struct tfd_kctx *k, int64_t all,
                                  struct tfd_status *st)
{
    struct tfd_shape shape = {1, {all}};
    enum tfd_dtype index = (enum tfd_dtype)k->node->out_types[1];

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, index, &k->in[0].shape, st));
    return k->out_count > 2 ? tfd_kctx_output(k, 2, index, &shape, st) : TFD_OK;
}

template <typename I>
static enum tfd_code number_values(struct tfd_kctx *k, const struct groups *g,
                                   int64_t all, struct tfd_status *st)
{
    write_numbers<<<blocks_for(k, g->n), THREADS, 0, stream_of(k)>>>(
        *g, all, out_at<I>(k, 1), k->out_count > 2 ? out_at<I>(k, 2) : nullptr);
    return launched(k, st);
}

template <typename T>
static enum tfd_code unique_then(struct tfd_kctx *k, struct later *l,
                                 struct tfd_status *st)
{
    int64_t all = l->number[0];
    struct groups g = groups_in(l, tfd_tensor_elements(&k->in[0]));
    struct scan_pieces pieces = scan_pieces_of(g.n);

    TFD_TRY(make_outputs(k, all, st));
    TFD_TRY(scan_count(k, is_first{g.number}, pieces, g.count, later_numbers(l),
                       st));
    TFD_TRY(scan_find(k, is_first{g.number},
                      put_first<T>{in_at<T>(k, 0), g.number, out_at<T>(k, 0)},
                      pieces, g.count, st));
    if (k->out[1].dtype == TFD_INT64)
        return number_values<int64_t>(k, &g, all, st);
    return number_values<int32_t>(k, &g, all, st);
}

template <typename T>
static enum tfd_code unique_first(struct tfd_kctx *k, struct later *l,
                                  struct tfd_status *st)
{
    struct groups g = groups_in(l, tfd_tensor_elements(&k->in[0]));
    int axis;

    TFD_TRY(tfd_unique_axis(k, &axis, st));
    if (g.n == 0)
        return make_outputs(k, 0, st);
    l->then = unique_then<T>;
    return find_groups<T>(k, &g, later_numbers(l), st);
}

template <typename T> static void unique_start(struct tfd_kctx *k)
{
    later_start(k, unique_first<T>, 1, size_of(tfd_tensor_elements(&k->in[0])));
}

#define ROW(name, T)                                  \
    later_row("Unique", TFD_##name, unique_start<T>), \
        later_row("UniqueWithCounts", TFD_##name, unique_start<T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(
    ROW) CUDA_INT_DTYPES(ROW) ROW(INT32, int32_t) ROW(BOOL, tfd_bool)};

} /* namespace */

CUDA_FAMILY_OF(unique);
