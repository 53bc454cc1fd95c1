/*
 * matrix_diag.cu - MatrixDiag, MatrixDiagPart, MatrixSetDiag and their V2 and
 * V3 of kernels/array/matrix_diag.c: each element of the output finds its source,
 * 16 bytes of a row at once where rows are a multiple of that.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"
#include "cuda/lib/packs.cuh"

extern "C" {
#include "kernels/array/matrix_diag.h"
}

namespace
{

__device__ inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

__device__ inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Where diagonal d begins in its row, and how long it is. */
__device__ inline int64_t begin_of(const struct tfd_matrix_diag &b, int64_t d,
                                   int64_t *length)
{
    bool left = (d >= 0 && b.upper_left) || (d <= 0 && b.lower_left);

    *length = smaller(b.rows + smaller(0, d), b.columns - larger(0, d));
    return left ? 0 : b.length - *length;
}

/* Elements of matrices: of a diagonal, or what `matrix`, which may be the
 * output, has; else padding. */
template <typename T, bool SET> struct to_matrix {
    const T *diagonals, *matrix;
    struct tfd_matrix_diag b;
    struct divisor columns, rows;
    T padding;

    template <int N> __device__ pack<T, N> make(int64_t i) const
    {
        int64_t rest = i, column = take_rest(&columns, &rest);
        int64_t line = take_rest(&rows, &rest), count = b.upper - b.lower + 1;
        bool all = is_on(column - line) && is_on(column - line + N - 1);
        pack<T, N> p = {};

        if (SET && !all)
            p = *(const pack<T, N> *)(matrix + i);
#pragma unroll
        for (int j = 0; j < N; j++) {
            int64_t d = column + j - line, length, at;

            if (is_on(d)) {
                at = begin_of(b, d, &length) + smaller(line, column + j);
                at += (rest * count + b.upper - d) * b.length;
                p.v[j] = diagonals[at];
            } else if (!SET) {
                p.v[j] = padding;
            }
        }
        return p;
    }
    __device__ bool is_on(int64_t d) const
    {
        return d >= b.lower && d <= b.upper;
    }
};

/* Elements of rows of diagonals. */
template <typename T> struct to_diagonals {
    const T *matrix;
    struct tfd_matrix_diag b;
    struct divisor lengths, counts;
    T padding;

    template <int N> __device__ pack<T, N> make(int64_t i) const
    {
        int64_t at = take_rest(&lengths, &i);
        int64_t d = b.upper - take_rest(&counts, &i), length, line;
        pack<T, N> p;

        at -= begin_of(b, d, &length);
        line = i * b.rows + larger(0, -d);
#pragma unroll
        for (int j = 0; j < N; j++)
            p.v[j] = at + j < 0 || at + j >= length
                         ? padding
                         : matrix[(line + at + j) * b.columns + at + j +
                                  larger(0, d)];
        return p;
    }
};

/* Input `arg` is the host's; without it, zero. */
template <typename T> static T padding_of(const struct tfd_kctx *k, int arg)
{
    return arg < k->in_count ? *in_at<T>(k, arg) : T{};
}

template <typename T>
static enum tfd_code run_diag(struct tfd_kctx *k,
                              const struct tfd_matrix_diag *b,
                              struct tfd_status *st)
{
    T *y = out_at<T>(k, 0);

    return run_packs(
        k,
        to_matrix<T, false>{in_at<T>(k, 0), nullptr, *b, divisor_of(b->columns),
                            divisor_of(b->rows), padding_of<T>(k, 4)},
        y, y, tfd_tensor_elements(&k->out[0]), b->columns, st);
}

static enum tfd_code diag_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_matrix_diag b;

    TFD_TRY(tfd_matrix_diag_output(k, &b, st));
    return BY_SIZE(tfd_dtype_size(k->in[0].dtype), run_diag, k, &b, st);
}

template <typename T>
static enum tfd_code run_part(struct tfd_kctx *k,
                              const struct tfd_matrix_diag *b,
                              struct tfd_status *st)
{
    T *y = out_at<T>(k, 0);

    return run_packs(k,
                     to_diagonals<T>{in_at<T>(k, 0), *b, divisor_of(b->length),
                                     divisor_of(b->upper - b->lower + 1),
                                     padding_of<T>(k, 2)},
                     y, y, tfd_tensor_elements(&k->out[0]), b->length, st);
}

static enum tfd_code part_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_matrix_diag b;

    TFD_TRY(tfd_matrix_diag_part_output(k, &b, st));
    return BY_SIZE(tfd_dtype_size(k->in[0].dtype), run_part, k, &b, st);
}

template <typename T>
static enum tfd_code run_set(struct tfd_kctx *k,
                             const struct tfd_matrix_diag *b,
                             struct tfd_status *st)
{
    const T *matrix = in_at<T>(k, 0);

    return run_packs(k,
                     to_matrix<T, true>{in_at<T>(k, 1), matrix, *b,
                                        divisor_of(b->columns),
                                        divisor_of(b->rows), T{}},
                     matrix, out_at<T>(k, 0), tfd_tensor_elements(&k->out[0]),
                     b->columns, st);
}

static enum tfd_code set_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_matrix_diag b;

    TFD_TRY(tfd_matrix_diag_set_output(k, &b, st));
    return BY_SIZE(tfd_dtype_size(k->in[0].dtype), run_set, k, &b, st);
}

#define HOST_DIAG (HOST_ARG(1) | HOST_ARG(2) | HOST_ARG(3) | HOST_ARG(4))
#define HOST_PART (HOST_ARG(1) | HOST_ARG(2))

#define ROW(op, name, compute, host, prepare) \
    row(op, TFD_##name, compute, host, prepare, sizeof(struct tfd_matrix_diag)),
#define ROWS(name)                                                            \
    ROW("MatrixDiag", name, diag_gpu, 0, tfd_matrix_diag_left)                \
    ROW("MatrixDiagV2", name, diag_gpu, HOST_DIAG, tfd_matrix_diag_left)      \
    ROW("MatrixDiagV3", name, diag_gpu, HOST_DIAG, tfd_matrix_diag_align)     \
    ROW("MatrixDiagPart", name, part_gpu, 0, tfd_matrix_diag_left)            \
    ROW("MatrixDiagPartV2", name, part_gpu, HOST_PART, tfd_matrix_diag_left)  \
    ROW("MatrixDiagPartV3", name, part_gpu, HOST_PART, tfd_matrix_diag_align) \
    ROW("MatrixSetDiag", name, set_gpu, 0, tfd_matrix_diag_left)              \
    ROW("MatrixSetDiagV2", name, set_gpu, HOST_ARG(2), tfd_matrix_diag_left)  \
    ROW("MatrixSetDiagV3", name, set_gpu, HOST_ARG(2), tfd_matrix_diag_align)

static const struct tfd_kernel kernels[] = {CUDA_ITEM_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(matrix_diag);
