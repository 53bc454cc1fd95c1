/*
 * lrn.cu - LRN and LRNGrad of kernels/nn/lrn.c: a thread for each element, which
 * sums over its neighbours, or for 16 bytes of them, whose sums share what is
 * read; the gradient keeps the terms of its sum in memory of the device, so
 * that each is computed once.  half is computed in float.
 */
#include "cuda/lib/divisor.cuh"

extern "C" {
#include "kernels/nn/lrn.h"
}

namespace
{

/* n packs of N channels, of which a pixel has `packs`. */
struct image {
    struct tfd_lrn s;
    struct divisor packs;
    int64_t n;
};

template <int N> struct sums {
    float v[N];
};

/* What terms(i) has of pack i, summed over the channels around each of pack
 * `at`, in their order. */
template <int N, typename F>
__device__ inline struct sums<N> sum_around(const struct image *m, int64_t at,
                                            const F &terms) {
    int64_t row = at, mine = take_rest(&m->packs, &row), radius = m->s.radius;
    int64_t first = mine * N > radius ? (mine *N - radius) / N : 0;
    int64_t last = mine + (radius + N - 1) / N;
    struct sums<N> sum = {
    };

    last = last < m->packs.by ? last : m->packs.by - 1;
    for (int64_t i = first; i <= last; i++) {
        struct sums<N> t = terms(row * m->packs.by + i);

#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int c = 0; c < N; c++) {
                int64_t distance = (i - mine) * N + j - c;

                if (distance <= radius && -distance <= radius)
                    sum.v[c] += t.v[j];
            }
    }
    return sum;
}

template <int N, typename T>
struct squares {
    const pack<T, N> *x;

    __device__ struct sums<N> operator()(int64_t i) const {
        pack<T, N> p = x[i];
        struct sums<N> s;

#pragma unroll
        for (int j = 0; j < N; j++)
            s.v[j] = widen(p.v[j]) * widen(p.v[j]);
        return s;
    }
};

template <int N> struct kept {
    const pack<float, N> *term;

    __device__ struct sums<N> operator()(int64_t i) const {
        pack<float, N> p = term[i];
        struct sums<N> s;

#pragma unroll
        for (int j = 0; j < N; j++)
            s.v[j] = p.v[j];
        return s;
    }
};

template <int N, typename T>
__device__ inline struct sums<N> norms_of(const struct image *m,
                                          const pack<T, N> *x, int64_t at) {
    struct sums<N> s = sum_around<N>(m, at, squares<N, T>{x});

#pragma unroll
    for (int j = 0; j < N; j++)
        s.v[j] = m->s.bias + m->s.alpha * s.v[j];
    return s;
}

template <int N, typename T>
__global__ void normalise(struct image m, const pack<T, N> *x, pack<T, N> *y)
{
    for (int64_t i = thread_index(); i < m.n; i += thread_count()) {
        struct sums<N> norm = norms_of(&m, x, i);
        pack<T, N> p = x[i];

#pragma unroll
        for (int j = 0; j < N; j++)
            p.v[j] = narrow<T>(widen(p.v[j]) * powf(norm.v[j], -m.s.beta));
        y[i] = p;
    }
}

/* norm and dy * y / norm */
template <int N, typename T>
__global__ void find_terms(struct image m, const pack<T, N> *dy,
                           const pack<T, N> *x, const pack<T, N> *y,
                           pack<float, N> *norm, pack<float, N> *term)
{
    for (int64_t i = thread_index(); i < m.n; i += thread_count()) {
        struct sums<N> s = norms_of(&m, x, i);
        pack<T, N> p = dy[i], q = y[i];
        pack<float, N> norms, terms;

#pragma unroll
        for (int j = 0; j < N; j++) {
            norms.v[j] = s.v[j];
            terms.v[j] = widen(p.v[j]) * widen(q.v[j]) / s.v[j];
        }
        norm[i] = norms;
        term[i] = terms;
    }
}

template <int N, typename T>
__global__ void derive(struct image m, const pack<T, N> *dy,
                       const pack<T, N> *x, const pack<float, N> *norm,
                       const pack<float, N> *term, pack<T, N> *dx)
{
    const float factor = 2 * m.s.alpha * m.s.beta;

    for (int64_t i = thread_index(); i < m.n; i += thread_count()) {
        struct sums<N> sum = sum_around<N>(&m, i, kept<N>{term});
        pack<T, N> p = dy[i], q = x[i];
        pack<float, N> norms = norm[i];

#pragma unroll
        for (int j = 0; j < N; j++)
            p.v[j] = narrow<T>(widen(p.v[j]) * powf(norms.v[j], -m.s.beta) -
                               factor * widen(q.v[j]) * sum.v[j]);
        dx[i] = p;
    }
}

/* ---- Kernels ------------------------------------------------------------- */

template <int N> static struct image image_of(const struct tfd_kctx *k)
{
    return {*(const struct tfd_lrn *)k->state,
            divisor_of(k->in[0].shape.dim[3] / N),
            tfd_tensor_elements(&k->in[0]) / N};
}

template <typename T> static bool is_packed(const struct tfd_kctx *k)
{
    return k->in[0].shape.dim[3] % pack_size<T, T>() == 0;
}

template <int N, typename T>
static enum tfd_code run_lrn(struct tfd_kctx *k, struct tfd_status *st)
{
    struct image m = image_of<N>(k);

    normalise<N, T><<<blocks_for(k, m.n), THREADS, 0, stream_of(k)>>>(
        m, in_at<pack<T, N>>(k, 0), out_at<pack<T, N>>(k, 0));
    return launched(k, st);
}

template <typename T>
static enum tfd_code lrn_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const void *x = in_at<void>(k, 0), *y;

    TFD_TRY(tfd_lrn_check(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    y = out_at<void>(k, 0);
    if (!y)
        return TFD_OK;
    if (is_packed<T>(k) && is_aligned(x, y, y))
        return run_lrn<N, T>(k, st);
    return run_lrn<1, T>(k, st);
}

template <int N, typename T>
static enum tfd_code run_grad(struct tfd_kctx *k, float *work,
                              struct tfd_status *st)
{
    const pack<T, N> *dy = in_at<pack<T, N>>(k, 0),
                     *x = in_at<pack<T, N>>(k, 1);
    pack<float, N> *norm = (pack<float, N> *)work, *term;
    struct image m = image_of<N>(k);

    term = norm + m.n;
    find_terms<N, T><<<blocks_for(k, m.n), THREADS, 0, stream_of(k)>>>(
        m, dy, x, in_at<pack<T, N>>(k, 2), norm, term);
    derive<N, T><<<blocks_for(k, m.n), THREADS, 0, stream_of(k)>>>(
        m, dy, x, norm, term, out_at<pack<T, N>>(k, 0));
    return launched(k, st);
}

template <typename T>
static enum tfd_code lrn_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    const void *dy = in_at<void>(k, 0), *x = in_at<void>(k, 1), *dx;
    size_t n = (size_t)tfd_tensor_elements(&k->in[0]);
    struct tfd_buffer *b;
    enum tfd_code code;

    TFD_TRY(tfd_lrn_check(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));
    dx = out_at<void>(k, 0);
    if (!dx)
        return TFD_OK;
    b = k->memory->make(k->memory, n * 2 * sizeof(float), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    if (is_packed<T>(k) && is_aligned(dy, x, dx) &&
        is_aligned(in_at<void>(k, 2), dx, dx))
        code = run_grad<N, T>(k, (float *)b->data, st);
    else
        code = run_grad<1, T>(k, (float *)b->data, st);
    tfd_buffer_unref(b);
    return code;
}

#define ROWS(name, T)                                                   \
    row("LRN", TFD_##name, lrn_gpu<T>, 0, tfd_lrn_prepare,              \
        sizeof(struct tfd_lrn)),                                        \
        row("LRNGrad", TFD_##name, lrn_grad_gpu<T>, 0, tfd_lrn_prepare, \
            sizeof(struct tfd_lrn)),

static const struct tfd_kernel kernels[] = {ROWS(FLOAT, float)
                                                ROWS(HALF, __half)};

} /* namespace */

CUDA_FAMILY_OF(lrn);
