/*
 * mirror_pad.cu - MirrorPad, MirrorPadGrad of kernels/array/mirror_pad.c.
 *
 * Both make each element of the output at once.  That of MirrorPad is one of
 * the input; that of the gradient is the sum of up to three places along each
 * axis with a border: itself, and where the two borders mirror it.
 */
#include "cuda/lib/item.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/array/mirror_pad.h"
}

namespace
{

/* Elements of the middle, and around it.  Neighbours without borders are one.
 */
struct mirror_axis {
    int64_t middle, before, after;
};

struct mirror {
    int rank;
    struct mirror_axis axis[TFD_MIRROR_PAD_RANK_MAX];
    int64_t edge;
};

static bool is_bare(const struct mirror_axis *a)
{
    return a->before == 0 && a->after == 0;
}

static struct mirror mirror_of(const struct tfd_kctx *k,
                               const struct tfd_shape *middle,
                               const struct tfd_pad *p)
{
    struct mirror m = {};

    m.edge = ((const struct tfd_mirror_pad_state *)k->state)->edge;
    for (int d = 0; d < middle->rank; d++) {
        struct mirror_axis a = {middle->dim[d], p->before[d], p->after[d]};

        if (m.rank > 0 && is_bare(&a) && is_bare(&m.axis[m.rank - 1]))
            m.axis[m.rank - 1].middle *= a.middle;
        else
            m.axis[m.rank++] = a;
    }
    return m;
}

/* ---- MirrorPad ----------------------------------------------------------- */

template <typename T, typename I>
__global__ void mirror_items(const T *x, T *y, I n, struct mirror m)
{
    for (I i = (I)thread_index(); i < n; i += (I)thread_count()) {
        int64_t from = 0, stride = 1;
        I rest = i;

        for (int d = m.rank - 1; d >= 0; d--) {
            const struct mirror_axis *a = &m.axis[d];
            I size = (I)(a->before + a->middle + a->after);

            from += stride * tfd_mirror_pad_source(rest % size, a->before,
                                                   a->middle, m.edge);
            rest /= size;
            stride *= a->middle;
        }
        y[i] = x[from];
    }
}

static enum tfd_code mirror_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    size_t size = tfd_dtype_size(k->in[0].dtype);
    struct mirror_axis *last;
    struct tfd_pad p;
    struct mirror m;
    int64_t n;
    bool done;

    TFD_TRY(tfd_mirror_pad_begin(k, &p, &done, st));
    n = tfd_tensor_elements(&k->out[0]);
    if (done || n == 0)
        return TFD_OK;
    m = mirror_of(k, &k->in[0].shape, &p);
    last = &m.axis[m.rank - 1]; /* one with a border, or the output is done */
    while (is_bare(last) && last->middle % 2 == 0 && size < ITEM_MAX &&
           is_multiple(in_at<char>(k, 0), 2 * size)) {
        last->middle /= 2;
        size *= 2;
        n /= 2;
    }
    return with_item(size, [&](auto item) {
        using T = decltype(item);

        return with_index(n, [&](auto index) {
            using I = decltype(index);

            mirror_items<T, I><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
                in_at<T>(k, 0), out_at<T>(k, 0), (I)n, m);
            return launched(k, st);
        });
    });
}

/* ---- MirrorPadGrad ------------------------------------------------------- */

#define WAYS 3 /* to get from a place of the whole to one of the middle */

/* The place of the whole that stands for place `at` of the middle; -1: none. */
__device__ inline int64_t place_of(const struct mirror_axis *a, int way,
                                   int64_t at, int64_t edge)
{
    int64_t whole;

    if (way == 0)
        return a->before + at;
    if (way == 1) {
        whole = a->before + edge - 1 - at;
        return whole >= 0 && whole < a->before ? whole : -1;
    }
    whole = 2 * a->middle - 1 - edge - at;
    return whole >= a->middle && whole < a->middle + a->after
               ? a->before + whole
               : -1;
}

/* Where `way`, a digit for each axis with a border, leads from element i of the
 * middle; -1: nowhere. */
template <typename I>
__device__ inline int64_t follow(const struct mirror *m, int way, I i)
{
    int64_t from = 0, stride = 1;

    for (int d = m->rank - 1; d >= 0; d--) {
        const struct mirror_axis *a = &m->axis[d];
        int64_t at = i % (I)a->middle;

        i /= (I)a->middle;
        if (a->before + a->after > 0) {
            at = place_of(a, way % WAYS, at, m->edge);
            way /= WAYS;
            if (at < 0)
                return -1;
        }
        from += at * stride;
        stride *= a->before + a->middle + a->after;
    }
    return from;
}

/* Of packs, where the last axis has no border. */
template <int N, typename T, typename I>
__global__ void fold_mirrors(const pack<T, N> *x, pack<T, N> *y, I n, int ways,
                             const __grid_constant__ struct mirror m)
{
    for (I i = (I)thread_index(); i < n; i += (I)thread_count()) {
        wide<T> sum[N] = {};

        for (int way = 0; way < ways; way++) {
            int64_t from = follow(&m, way, i);

            if (from < 0)
                continue;
            pack<T, N> p = x[from];
#pragma unroll
            for (int j = 0; j < N; j++)
                sum[j] += widen(p.v[j]);
        }
        y[i] = narrow_all<N, T>(sum);
    }
}

template <int N, typename T>
static enum tfd_code launch_fold(struct tfd_kctx *k, const struct mirror &m,
                                 int64_t n, struct tfd_status *st)
{
    int ways = 1;

    for (int d = 0; d < m.rank; d++)
        if (!is_bare(&m.axis[d]))
            ways *= WAYS;
    return with_index(n, [&](auto index) {
        using I = decltype(index);

        fold_mirrors<N, T, I><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            in_at<pack<T, N>>(k, 0), out_at<pack<T, N>>(k, 0), (I)n, ways, m);
        return launched(k, st);
    });
}

template <typename T>
static enum tfd_code fold_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const void *x = in_at<void>(k, 0), *y;
    struct mirror_axis *last;
    struct tfd_pad p;
    struct mirror m;
    int64_t n;

    TFD_TRY(tfd_mirror_pad_grad_begin(k, &p, st));
    n = tfd_tensor_elements(&k->out[0]);
    if (n == 0)
        return TFD_OK;
    m = mirror_of(k, &k->out[0].shape, &p);
    y = out_at<void>(k, 0);
    last = m.rank > 0 ? &m.axis[m.rank - 1] : nullptr;
    if (!last || !is_bare(last) || last->middle % N || !is_aligned(x, y, y))
        return launch_fold<1, T>(k, m, n, st);
    last->middle /= N;
    return launch_fold<N, T>(k, m, n / N, st);
}

#define STATE tfd_mirror_pad_prepare, sizeof(struct tfd_mirror_pad_state)
#define ROWS(name, T)                                             \
    row("MirrorPad", TFD_##name, mirror_gpu, HOST_ARG(1), STATE), \
        row("MirrorPadGrad", TFD_##name, fold_gpu<T>, HOST_ARG(1), STATE),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(mirror_pad);
