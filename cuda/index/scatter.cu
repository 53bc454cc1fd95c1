/*
 * scatter.cu - Scatter<X>, ResourceScatter<X> of kernels/index/scatter.c: rows of a
 * variable changed by index (scatter.cuh).
 */
#include "cuda/lib/scatter.cuh"
#include "cuda/lib/variable.cuh"

namespace
{

static enum tfd_code prepare_scatter(const struct tfd_prepare *, void *state,
                             struct tfd_status *)
{
    *(bool *)state = is_deterministic();
    return TFD_OK;
}

static enum tfd_code make(struct tfd_kctx *k, struct tfd_variable *v,
                          struct scatter *out, struct tfd_status *st)
{
    const struct tfd_shape *shape = &v->value.shape;
    struct tfd_scatter s;

    TFD_TRY(tfd_scatter_check_type(v, &k->in[2], st));
    TFD_TRY(writable(k, v, st));
    TFD_TRY(tfd_scatter_make(k, shape, &s, st));
    *out = {tfd_tensor_data(&v->value),
            s.by,
            places_of(&k->in[1], 1, shape),
            s.count,
            s.inner,
            s.limit,
            s.one,
            *(const bool *)k->state};
    return TFD_OK;
}

template <typename F, typename T>
static enum tfd_code change(struct tfd_kctx *k, struct tfd_variable *v,
                            struct tfd_status *st)
{
    struct scatter s = {};

    TFD_TRY(make(k, v, &s, st));
    return run_scatter<F, T>(k, &s, st);
}

static enum tfd_code update(struct tfd_kctx *k, struct tfd_variable *v,
                            struct tfd_status *st)
{
    struct scatter s = {};

    TFD_TRY(make(k, v, &s, st));
    return run_update(k, &s, tfd_dtype_size(v->dtype), st);
}

template <tfd_variable_change_fn *CHANGE>
static enum tfd_code scatter_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_change_variable(k, CHANGE, st);
}

/* References have no memory; handles are the host's. */
#define REF_ROW(op, name, ...) \
    row(op, TFD_##name, scatter_gpu<__VA_ARGS__>, 0, prepare_scatter, sizeof(bool)),
#define HANDLE_ROW(op, name, ...)                                       \
    row(op, TFD_##name, scatter_gpu<__VA_ARGS__>, HOST_ARG(0), prepare_scatter, \
        sizeof(bool)),

#define REFS(name, T)                                   \
    REF_ROW("ScatterAdd", name, change<scatter_add, T>) \
    REF_ROW("ScatterSub", name, change<scatter_sub, T>) \
    REF_ROW("ScatterMul", name, change<scatter_mul, T>) \
    REF_ROW("ScatterDiv", name, change<scatter_div, T>) \
    REF_ROW("ScatterMin", name, change<scatter_min, T>) \
    REF_ROW("ScatterMax", name, change<scatter_max, T>) \
    REF_ROW("ScatterUpdate", name, update)
/* U: T without a sign, which sums and products of integers do not ask for. */
#define HANDLES(name, T, U)                                        \
    HANDLE_ROW("ResourceScatterAdd", name, change<scatter_add, U>) \
    HANDLE_ROW("ResourceScatterSub", name, change<scatter_sub, U>) \
    HANDLE_ROW("ResourceScatterMul", name, change<scatter_mul, U>) \
    HANDLE_ROW("ResourceScatterDiv", name, change<scatter_div, T>) \
    HANDLE_ROW("ResourceScatterMin", name, change<scatter_min, T>) \
    HANDLE_ROW("ResourceScatterMax", name, change<scatter_max, T>) \
    HANDLE_ROW("ResourceScatterUpdate", name, update)
#define FLOATS(name, T) REFS(name, T) HANDLES(name, T, T)
#define INTEGERS(name, T) HANDLES(name, T, std::make_unsigned_t<T>)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(FLOATS) CUDA_INT_DTYPES(INTEGERS)
        HANDLE_ROW("ResourceScatterUpdate", BOOL, update)};

} /* namespace */

CUDA_FAMILY_OF(scatter);
