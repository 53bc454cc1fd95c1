/*
 * xent.cu - the cross entropies of kernels/nn/xent.c, by softmax_rows.cuh.
 */
#include "cuda/nn/softmax_rows.cuh"

namespace
{

/* loss[rows], backprop[rows, n]; not over the logits, which are read again. */
static enum tfd_code make_outputs(struct tfd_kctx *k,
                                  const struct tfd_shape *matrix,
                                  struct tfd_status *st)
{
    const struct tfd_shape vector = {1, {matrix->dim[0]}};

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &vector, st));
    return tfd_kctx_output(k, 1, k->in[0].dtype, matrix, st);
}

static enum tfd_code no_classes(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(k->out[0].buffer->data, 0,
                             tfd_tensor_size(&k->out[0]), stream_of(k)),
        k->kernel->op, st);
}

/* ---- Labels that are distributions --------------------------------------- */

template <typename T> struct to_dense {
    static constexpr bool ADDS = true;
    T *loss;

    __device__ int64_t chosen(int64_t) const
    {
        return 0;
    }
    __device__ wide<T> result(const element<T> &x, const struct total<T> &total,
                              wide<T> *part) const
    {
        *part += x.label * (total.log - x.v);
        return x.e * total.scale - x.label;
    }
    __device__ void end(int64_t r, wide<T> sum) const
    {
        loss[r] = narrow<T>(sum);
    }
};

static struct steps steps_of(const struct tfd_shape *s)
{
    struct steps steps;

    tfd_xent_steps(s, &steps.row, &steps.column);
    return steps;
}

template <typename T>
static enum tfd_code dense_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape m;

    TFD_TRY(tfd_xent_dense_shape(k, &m, st));
    TFD_TRY(make_outputs(k, &m, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (!k->out[1].buffer)
        return no_classes(k, st);
    return run_rows(k, to_dense<T>{out_at<T>(k, 0)},
                    matrix<T>{m.dim[0], m.dim[1], in_at<T>(k, 0),
                              steps_of(&k->in[0].shape), in_at<T>(k, 1),
                              steps_of(&k->in[1].shape), out_at<T>(k, 1)},
                    st);
}

/* ---- Labels that are classes --------------------------------------------- */

/* A label that is no class gives NaN, since nobody waits for an answer: as
 * TensorFlow's GPU kernel. */
template <typename T> struct to_sparse {
    static constexpr bool ADDS = false;
    const void *labels;
    bool long_labels; /* int64, else int32 */
    T *loss;
    int64_t n;

    /* -1: no class */
    __device__ int64_t chosen(int64_t r) const
    {
        int64_t label = long_labels ? ((const int64_t *)labels)[r]
                                    : ((const int32_t *)labels)[r];

        return label >= 0 && label < n ? label : -1;
    }
    __device__ wide<T> result(const element<T> &x, const struct total<T> &total,
                              wide<T> *) const
    {
        bool is_label = x.column == x.chosen;

        if (is_label)
            loss[x.row] = narrow<T>(total.log - x.v);
        return x.chosen < 0 ? (wide<T>)NAN
                            : x.e * total.scale - (is_label ? 1 : 0);
    }
    __device__ void end(int64_t r, wide<T>) const
    {
        if (chosen(r) < 0)
            loss[r] = narrow<T>((wide<T>)NAN);
    }
};

template <typename T>
static enum tfd_code sparse_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape m = k->in[0].shape;

    TFD_TRY(tfd_xent_check_sparse(k, st));
    TFD_TRY(make_outputs(k, &m, st));
    if (!k->out[1].buffer)
        return TFD_OK;
    return run_rows(k,
                    to_sparse<T>{tfd_tensor_data(&k->in[1]),
                                 k->in[1].dtype != TFD_INT32, out_at<T>(k, 0),
                                 m.dim[1]},
                    matrix_of(&m, in_at<T>(k, 0), out_at<T>(k, 1)), st);
}

#define ROWS(name, T)                                               \
    row("SoftmaxCrossEntropyWithLogits", TFD_##name, dense_gpu<T>), \
        row("SparseSoftmaxCrossEntropyWithLogits", TFD_##name, sparse_gpu<T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(xent);
