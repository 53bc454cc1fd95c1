/*
 * scatter.cu - Scatter<X>, ResourceScatter<X> of kernels/scatter.c: rows of a
 * variable changed by index (scatter.cuh).
 */
#include "cuda/scatter.cuh"
#include "cuda/variable.cuh"

namespace
{

static enum tfd_code prepare(const struct tfd_prepare *, void *state,
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

template <variable_fn *CHANGE>
static enum tfd_code scatter_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return with_variable(k, CHANGE, st);
}

/* Handles are the host's; references have no memory. */
#define REFERENCE(word, name, ...)                                        \
    row("Scatter" word, TFD_##name, scatter_gpu<__VA_ARGS__>, 0, prepare, \
        sizeof(bool)),
#define RESOURCE(word, name, ...)                                     \
    row("ResourceScatter" word, TFD_##name, scatter_gpu<__VA_ARGS__>, \
        HOST_ARG(0), prepare, sizeof(bool)),
#define BOTH(word, name, ...) \
    REFERENCE(word, name, __VA_ARGS__) RESOURCE(word, name, __VA_ARGS__)

#define FLOATS(name, T)                       \
    BOTH("Add", name, change<scatter_add, T>) \
    BOTH("Sub", name, change<scatter_sub, T>) \
    BOTH("Mul", name, change<scatter_mul, T>) \
    BOTH("Div", name, change<scatter_div, T>) \
    BOTH("Min", name, change<scatter_min, T>) \
    BOTH("Max", name, change<scatter_max, T>) \
    BOTH("Update", name, update)
/* Sums and products of integers are the same without a sign. */
#define INTEGERS(name, T)                                               \
    RESOURCE("Add", name, change<scatter_add, std::make_unsigned_t<T>>) \
    RESOURCE("Sub", name, change<scatter_sub, std::make_unsigned_t<T>>) \
    RESOURCE("Mul", name, change<scatter_mul, std::make_unsigned_t<T>>) \
    RESOURCE("Div", name, change<scatter_div, T>)                       \
    RESOURCE("Min", name, change<scatter_min, T>)                       \
    RESOURCE("Max", name, change<scatter_max, T>)                       \
    RESOURCE("Update", name, update)

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(
    FLOATS) CUDA_INT_DTYPES(INTEGERS) RESOURCE("Update", BOOL, update)};

} /* namespace */

CUDA_FAMILY_OF(scatter);
