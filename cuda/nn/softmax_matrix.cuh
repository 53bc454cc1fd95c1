/*
 * softmax_matrix.cuh - what softmax_rows.cuh works on: a matrix of logits, its
 * rows, and how their elements come and go.
 *
 * A row that is no multiple of 16 bytes begins anywhere within them:
 *
 *     | . . a a | a a a b | b b b b | c c c c | c . . .      rows of 5
 *       ^ head                                    ^ end
 *
 * Threads: device code, and host code without state.
 */
#ifndef TFD_CUDA_SOFTMAX_MATRIX_CUH
#define TFD_CUDA_SOFTMAX_MATRIX_CUH

#include "cuda/lib/fold.cuh"

/* How an operand moves through the matrix; 0: repeated. */
struct steps {
    int64_t row, column;
};

/* labels, where elements have them, and the result y, which has all rows one
 * behind the other. */
template <typename T> struct matrix {
    int64_t rows, n;
    const T *x;
    struct steps xs;
    const T *labels;
    struct steps ls;
    T *y;
};

/* Logits without labels, not empty. */
template <typename T>
static inline matrix<T> matrix_of(const struct tfd_shape *s, const T *x, T *y)
{
    int64_t n = s->dim[s->rank - 1];

    return {tfd_shape_elements(s) / n, n, x, {n, 1}, nullptr, {}, y};
}

/* One operand along a row; packs: those that lie on 16 bytes in y's do so in
 * it. */
template <typename T> struct line {
    const T *at;
    int64_t step;
    bool packs;
};

template <typename T> struct row_at {
    line<T> x, labels;
    T *y;
    int64_t chosen; /* its class, for those who know one */
};

/* What a result is made of: v = x - max, e = exp(v). */
template <typename T> struct element {
    int64_t row, column, chosen;
    wide<T> v, e, label;
};

/* What elements are divided by, and its logarithm. */
template <typename T> struct total {
    wide<T> scale, log;
};

template <typename T> __device__ inline total<T> total_of(wide<T> sum)
{
    return {1 / sum, log(sum)};
}

/* y begins `head` elements after a multiple of 16 bytes. */
template <typename T>
__device__ inline line<T> line_of(const T *x, struct steps s, int64_t r,
                                  int64_t head)
{
    const T *at = x + r * s.row;

    return {at, s.column, s.column == 1 && ((uintptr_t)(at - head) & 15) == 0};
}

template <typename R, typename T>
__device__ inline row_at<T> row_of(const R &to, const matrix<T> &m, int64_t r,
                                   int64_t head)
{
    return {line_of(m.x, m.xs, r, head), line_of(m.labels, m.ls, r, head),
            m.y + r * m.n, to.chosen(r)};
}

/* Elements at .. at + N of a row. */
template <int N, typename T>
__device__ inline void load(const line<T> &x, int64_t at, wide<T> *v)
{
    pack<T, N> p;

    if (N > 1 && x.packs) {
        p = *(const pack<T, N> *)(x.at + at);
    } else {
#pragma unroll
        for (int j = 0; j < N; j++)
            p.v[j] = x.at[(at + j) * x.step];
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        v[j] = widen(p.v[j]);
}

/* Their results; adds what they are of the loss. */
template <int N, typename R, typename T>
__device__ inline void put(const R &to, const row_at<T> &p, int64_t r,
                           int64_t at, const wide<T> *v, const wide<T> *e,
                           const struct total<T> &total, wide<T> *loss)
{
    wide<T> label[N] = {};
    pack<T, N> y;

    if (R::ADDS)
        load<N>(p.labels, at, label);
#pragma unroll
    for (int j = 0; j < N; j++) {
        element<T> x = {r, at + j, p.chosen, v[j], e[j], label[j]};

        y.v[j] = narrow<T>(to.result(x, total, loss));
    }
    *(pack<T, N> *)(p.y + at) = y;
}

#endif
