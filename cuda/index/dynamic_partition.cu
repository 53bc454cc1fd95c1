/*
 * dynamic_partition.cu - DynamicPartition of kernels/index/dynamic_partition.c: row
 * numbers sorted by partition; where each begins tells the sizes of outputs.
 * Rows are moved by the largest items that they consist of.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"
#include "cuda/device/later.cuh"
#include "cuda/lib/row_sums.cuh"

extern "C" {
#include "kernels/core/outputs.h"
}

namespace
{

struct to_partition {
    const int32_t *partition;

    __device__ int64_t operator()(int64_t i) const
    {
        return partition[i];
    }
};

/* The number of picks of partitions below i. */
struct begin_of {
    const struct pick *pick;
    int64_t n;

    __device__ int64_t operator()(int64_t i) const
    {
        int64_t low = 0, high = n;

        while (low < high) {
            int64_t middle = low + (high - low) / 2;

            if ((int64_t)pick[middle].row() < i)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
};

template <typename T> struct from_pick {
    const T *x;
    const struct pick *pick;
    struct divisor items; /* of a row */

    __device__ T operator()(int64_t i) const
    {
        int64_t at = take_rest(&items, &i);

        return x[pick[i].place() * items.by + at];
    }
};

static enum tfd_code make_outputs(struct tfd_kctx *k, const int64_t *begin,
                                  struct tfd_status *st)
{
    int64_t *count = (int64_t *)calloc((size_t)k->out_count, sizeof(*count));
    enum tfd_code rc;

    if (!count)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d counters",
                        k->out_count);
    for (int i = 0; begin && i < k->out_count; i++)
        count[i] = begin[i + 1] - begin[i];
    rc = tfd_dynamic_partition_outputs(k, count, st);
    free(count);
    return rc;
}

template <typename T>
static enum tfd_code copy_rows(struct tfd_kctx *k, const struct pick *pick,
                               const int64_t *begin, size_t row_size,
                               struct tfd_status *st)
{
    struct divisor items = divisor_of((int64_t)(row_size / sizeof(T)));

    for (int i = 0; i < k->out_count; i++)
        TFD_TRY(run_index(
            k, from_pick<T>{in_at<T>(k, 0), pick + begin[i], items},
            out_at<T>(k, i), (begin[i + 1] - begin[i]) * items.by, st));
    return TFD_OK;
}

/* Outputs begin at multiples of it. */
static size_t item_of(const struct tfd_kctx *k, size_t row_size)
{
    size_t size = item_size(row_size, in_at<void>(k, 0), nullptr);

    for (int i = 0; i < k->out_count; i++)
        size = item_size(size, tfd_tensor_data(&k->out[i]), nullptr);
    return size;
}

static enum tfd_code partition_then(struct tfd_kctx *k, struct later *l,
                                    struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[1]);
    size_t row_size = tfd_tensor_size(&k->in[0]) / (size_t)n;

    if (l->number[k->out_count] != n)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld of %lld partitions are not in [0, %d)",
                        (long long)(n - l->number[k->out_count]), (long long)n,
                        k->out_count);
    TFD_TRY(make_outputs(k, l->number, st));
    return BY_SIZE(item_of(k, row_size), copy_rows, k,
                   later_work<struct pick>(l), l->number, row_size, st);
}

static enum tfd_code partition_first(struct tfd_kctx *k, struct later *l,
                                     struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[1]), length = sort_length(n + 1);
    struct pick *pick = later_work<struct pick>(l);

    TFD_TRY(tfd_dynamic_partition_check(k, st));
    TFD_TRY(picks_check(k, n, k->out_count, st));
    if (n == 0)
        return make_outputs(k, nullptr, st);
    l->then = partition_then;
    TFD_TRY(run_index(
        k, make_pick<to_partition>{{in_at<int32_t>(k, 1)}, n, k->out_count},
        pick, length, st));
    TFD_TRY(sort_rows(k, pick, 1, length, st));
    return run_index(k, begin_of{pick, n}, later_numbers(l), k->out_count + 1,
                     st);
}

static void partition_start(struct tfd_kctx *k)
{
    size_t length = (size_t)sort_length(tfd_tensor_elements(&k->in[1]) + 1);

    later_start(k, partition_first, k->out_count + 1,
                length * sizeof(struct pick));
}

#define ROW(name) later_row("DynamicPartition", TFD_##name, partition_start),

static const struct tfd_kernel kernels[] = {ROW(FLOAT) ROW(DOUBLE) ROW(
    HALF) ROW(BFLOAT16) ROW(INT32) ROW(INT64) ROW(COMPLEX64) ROW(COMPLEX128)};

} /* namespace */

CUDA_FAMILY_OF(dynamic_partition);
