/*
 * box.cuh - copies a box of elements on the GPU: out of a tensor (Slice), or
 * into a tensor that has another value around it (Pad).
 *
 * Elements are 1, 2, 4, 8 or 16 bytes, whatever they mean.  Axes that are
 * contiguous become one axis, and two neighbouring elements one of twice the
 * width, up to 16 bytes, where all lengths and offsets allow that.  Coordinates
 * are of 32 bits where they suffice, since a GPU divides those several times as
 * fast.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_BOX_CUH
#define TFD_CUDA_BOX_CUH

#include "cuda/lib/item.cuh"

#include <string.h>

/* ---- Axes ---------------------------------------------------------------- */

/* Along an axis of the output of `size`, coordinate first + j * step has the
 * input's element at j * stride, 0 <= j < count.  (What is taken has no
 * borders: j is the coordinate.) */
struct axis {
    int64_t size, stride, first, step, count; /* step: 1 for less than two */
};

struct box {
    int rank;
    struct axis axis[TFD_RANK_MAX]; /* outermost first */
    size_t item;                    /* bytes of an element */
    int64_t n;                      /* elements of the output */
};

static inline bool is_plain(const struct axis *a)
{
    return a->first == 0 && a->step == 1 && a->count == a->size;
}

/* Whether b, which is within a, can be a part of it. */
static inline bool is_one(const struct axis *a, const struct axis *b)
{
    return is_plain(b) && a->step == 1 && a->stride == b->stride * b->size;
}

static inline void merge_axes(struct box *b)
{
    int n = 0;

    for (int d = 0; d < b->rank; d++) {
        struct axis a = b->axis[d];
        struct axis *before = n > 0 ? &b->axis[n - 1] : nullptr;

        if (a.size == 1 && is_plain(&a))
            continue;
        if (before && is_one(before, &a)) {
            before->size *= a.size;
            before->first *= a.size;
            before->count *= a.size;
            before->stride = a.stride;
        } else {
            b->axis[n++] = a;
        }
    }
    b->rank = n;
}

static inline bool can_widen(const struct box *b, const void *x, const void *y)
{
    const struct axis *last = &b->axis[b->rank - 1];

    if (b->item == ITEM_MAX || b->rank == 0 || last->stride != 1 ||
        last->step != 1 || (last->size | last->first | last->count) % 2 ||
        !is_multiple(x, 2 * b->item) || !is_multiple(y, 2 * b->item))
        return false;
    for (int d = 0; d < b->rank - 1; d++)
        if (b->axis[d].stride % 2)
            return false;
    return true;
}

static inline void widen_items(struct box *b, const void *x, const void *y)
{
    while (can_widen(b, x, y)) {
        struct axis *last = &b->axis[b->rank - 1];

        last->size /= 2;
        last->first /= 2;
        last->count /= 2;
        for (int d = 0; d < b->rank - 1; d++)
            b->axis[d].stride /= 2;
        b->item *= 2;
        b->n /= 2;
    }
}

/* ---- Taking -------------------------------------------------------------- */

template <typename T, typename I>
__global__ void take_items(const T *x, T *y, I n, struct box b)
{
    for (I i = (I)thread_index(); i < n; i += (I)thread_count()) {
        I rest = i, from = 0;

        for (int d = b.rank - 1; d > 0; d--) {
            I size = (I)b.axis[d].size;

            from += rest % size * (I)b.axis[d].stride;
            rest /= size;
        }
        y[i] = x[from + rest * (b.rank > 0 ? (I)b.axis[0].stride : 0)];
    }
}

/* Output 0 is the elements of x from element `first` on, which lie by the
 * strides of the axes, which have a size each. */
template <typename = void>
static enum tfd_code take_box(struct tfd_kctx *k, const struct tfd_tensor *x,
                              int64_t first, struct box b,
                              struct tfd_status *st)
{
    const char *from = (const char *)tfd_tensor_data(x);
    char *to = out_at<char>(k, 0);
    int64_t most = tfd_tensor_elements(x);

    b.item = tfd_dtype_size(x->dtype);
    b.n = tfd_tensor_elements(&k->out[0]);
    if (b.n == 0)
        return TFD_OK;
    from += first * (int64_t)b.item;
    for (int d = 0; d < b.rank; d++) {
        b.axis[d].first = 0;
        b.axis[d].step = 1;
        b.axis[d].count = b.axis[d].size;
    }
    merge_axes(&b);
    widen_items(&b, from, to);
    return with_item(b.item, [&](auto item) {
        using T = decltype(item);

        return with_index(most, [&](auto index) {
            using I = decltype(index);

            take_items<T, I><<<blocks_for(k, b.n), THREADS, 0, stream_of(k)>>>(
                (const T *)from, (T *)to, (I)b.n, b);
            return launched(k, st);
        });
    });
}

/* ---- Placing ------------------------------------------------------------- */

template <typename T, typename I>
__global__ void place_items(const T *x, T *y, T around, I n, struct box b)
{
    for (I i = (I)thread_index(); i < n; i += (I)thread_count()) {
        I rest = i, from = 0;
        bool inside = true;

        for (int d = b.rank - 1; d >= 0; d--) {
            const struct axis *a = &b.axis[d];
            I j = rest % (I)a->size - (I)a->first;

            rest /= (I)a->size;
            if (a->step != 1) {
                inside = inside && j % (I)a->step == 0;
                j /= (I)a->step;
            }
            inside = inside && j >= 0 && j < (I)a->count;
            from += j * (I)a->stride;
        }
        y[i] = inside ? x[from] : around;
    }
}

/* y is x within `value`, ITEM_MAX bytes of elements; most: elements of the
 * larger one. */
template <typename = void>
static enum tfd_code run_place(struct tfd_kctx *k, const void *x, void *y,
                               int64_t most, const void *value, struct box b,
                               struct tfd_status *st)
{
    merge_axes(&b);
    widen_items(&b, x, y);
    return with_item(b.item, [&](auto item) {
        using T = decltype(item);

        memcpy(&item, value, sizeof(item));
        return with_index(most, [&](auto index) {
            using I = decltype(index);

            place_items<T, I><<<blocks_for(k, b.n), THREADS, 0, stream_of(k)>>>(
                (const T *)x, (T *)y, item, (I)b.n, b);
            return launched(k, st);
        });
    });
}

/* Output 0 is x within `around`, bytes of one element; NULL: zeros.  The axes
 * have all but strides. */
template <typename = void>
static enum tfd_code place_box(struct tfd_kctx *k, const struct tfd_tensor *x,
                               const void *around, struct box b,
                               struct tfd_status *st)
{
    alignas(ITEM_MAX) char value[ITEM_MAX] = {0};
    size_t size = tfd_dtype_size(x->dtype);
    int64_t stride = 1;

    b.item = size;
    b.n = tfd_tensor_elements(&k->out[0]);
    if (b.n == 0)
        return TFD_OK;
    for (size_t at = 0; around && at < ITEM_MAX; at += size)
        memcpy(value + at, around, size);
    for (int d = b.rank - 1; d >= 0; d--) {
        b.axis[d].stride = stride;
        stride *= b.axis[d].count;
    }
    return run_place(k, tfd_tensor_data(x), out_at<void>(k, 0), b.n, value, b,
                     st);
}

#endif
