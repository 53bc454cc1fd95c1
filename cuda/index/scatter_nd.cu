/*
 * scatter_nd.cu - ScatterNd, ScatterNd<X>, ResourceScatterNd<X>,
 * TensorScatter<X>, ScatterNdNonAliasingAdd of kernels/index/scatter_nd.c: updates by
 * tuples of indices (scatter.cuh).
 */
#include "cuda/lib/scatter.cuh"
#include "cuda/lib/variable.cuh"

namespace
{

static enum tfd_code prepare_scatter_nd(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    *(bool *)state = is_deterministic();
    return check_policy(p->node, st);
}

/* A complex number is two elements of T. */
template <typename F, typename T>
static enum tfd_code
scatter_into(struct tfd_kctx *k, void *to, const struct tfd_shape *shape,
             const struct tfd_tensor *indices, const struct tfd_tensor *updates,
             struct tfd_status *st)
{
    size_t size = tfd_dtype_size(updates->dtype);
    struct tfd_scatter_nd nd;
    struct scatter s;

    TFD_TRY(
        tfd_scatter_nd_check(&nd, shape, &indices->shape, &updates->shape, st));
    if (tfd_tensor_elements(indices) == 0)
        return TFD_OK;
    s = {to,
         tfd_tensor_data(updates),
         places_of(indices, nd.depth, shape),
         nd.count,
         nd.inner,
         nd.limit,
         false,
         *(const bool *)k->state};
    if constexpr (std::is_same<F, scatter_update>::value)
        return run_update(k, &s, size, st);
    s.inner *= (int64_t)(size / sizeof(T));
    return run_scatter<F, T>(k, &s, st);
}

template <typename F, typename T>
static enum tfd_code change(struct tfd_kctx *k, struct tfd_variable *v,
                            struct tfd_status *st)
{
    TFD_TRY(tfd_scatter_check_type(v, &k->in[2], st));
    TFD_TRY(writable(k, v, st));
    TFD_TRY(tfd_scatter_nd_check_output(&v->value.shape, st));
    return scatter_into<F, T>(k, tfd_tensor_data(&v->value), &v->value.shape,
                              &k->in[1], &k->in[2], st);
}

template <typename F, typename T>
static enum tfd_code variable_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_change_variable(k, change<F, T>, st);
}

/* In the input's buffer where nobody else reads it. */
template <typename F, typename T>
static enum tfd_code tensor_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    void *y;

    TFD_TRY(tfd_scatter_nd_check_output(&x->shape, st));
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    y = tfd_tensor_data(&k->out[0]);
    if (y != tfd_tensor_data(x))
        TFD_TRY(tfd_cuda_device_check(
            tfd_cuda_device_of(k->memory),
            (int)cudaMemcpyAsync(y, tfd_tensor_data(x), tfd_tensor_size(x),
                                 cudaMemcpyDeviceToDevice, stream_of(k)),
            k->kernel->op, st));
    return scatter_into<F, T>(k, y, &x->shape, &k->in[1], &k->in[2], st);
}

template <typename F, typename T>
static enum tfd_code zeros_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;
    void *y;

    TFD_TRY(tfd_scatter_nd_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[1].dtype, &shape, st));
    y = tfd_tensor_data(&k->out[0]);
    if (y)
        TFD_TRY(tfd_cuda_device_check(
            tfd_cuda_device_of(k->memory),
            (int)cudaMemsetAsync(y, 0, tfd_tensor_size(&k->out[0]),
                                 stream_of(k)),
            k->kernel->op, st));
    return scatter_into<F, T>(k, y, &shape, &k->in[0], &k->in[1], st);
}

#define ROW(op, name, compute, host) \
    row(op, TFD_##name, compute, host, prepare_scatter_nd, sizeof(bool)),
#define REF_ROW(op, name, f, T) ROW(op, name, (variable_gpu<f, T>), 0)
#define HANDLE_ROW(op, name, f, T) \
    ROW(op, name, (variable_gpu<f, T>), HOST_ARG(0))
#define TENSOR_ROW(op, name, f, T) ROW(op, name, (tensor_gpu<f, T>), 0)

/* T is what sums are computed in: without a sign, or half of a complex. */
#define SUMS(name, T)                                              \
    REF_ROW("ScatterNdAdd", name, scatter_add, T)                  \
    REF_ROW("ScatterNdSub", name, scatter_sub, T)                  \
    REF_ROW("ScatterNdUpdate", name, scatter_update, T)            \
    HANDLE_ROW("ResourceScatterNdAdd", name, scatter_add, T)       \
    HANDLE_ROW("ResourceScatterNdSub", name, scatter_sub, T)       \
    HANDLE_ROW("ResourceScatterNdUpdate", name, scatter_update, T) \
    TENSOR_ROW("TensorScatterAdd", name, scatter_add, T)           \
    TENSOR_ROW("TensorScatterSub", name, scatter_sub, T)           \
    TENSOR_ROW("TensorScatterUpdate", name, scatter_update, T)     \
    TENSOR_ROW("ScatterNdNonAliasingAdd", name, scatter_add, T)    \
    ROW("ScatterNd", name, (zeros_gpu<scatter_add, T>), HOST_ARG(2))
#define ORDER(name, T)                                       \
    REF_ROW("ScatterNdMin", name, scatter_min, T)            \
    REF_ROW("ScatterNdMax", name, scatter_max, T)            \
    HANDLE_ROW("ResourceScatterNdMin", name, scatter_min, T) \
    HANDLE_ROW("ResourceScatterNdMax", name, scatter_max, T) \
    TENSOR_ROW("TensorScatterMin", name, scatter_min, T)     \
    TENSOR_ROW("TensorScatterMax", name, scatter_max, T)
#define FLOATS(name, T) SUMS(name, T) ORDER(name, T)
#define INTEGERS(name, T) SUMS(name, std::make_unsigned_t<T>) ORDER(name, T)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS) CUDA_INT_DTYPES(INTEGERS) SUMS(COMPLEX64, float)
        SUMS(COMPLEX128, double)};

} /* namespace */

CUDA_FAMILY_OF(scatter_nd);
