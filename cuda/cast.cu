/*
 * cast.cu - Cast of kernels/cast.c.
 *
 * Numbers to bool are "is not 0"; a float that no integer can hold becomes what
 * the card makes of it, as in TensorFlow.
 */
#include "cuda/launch.cuh"

namespace
{

struct cast_state {
    enum tfd_dtype to;
    bool truncates;
};

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    struct cast_state *s = (struct cast_state *)state;

    TFD_TRY(tfd_node_type(p->node, "DstT", &s->to, st));
    return tfd_node_bool(p->node, "Truncate", &s->truncates, st);
}

template <typename To> struct cast {
    template <typename T> __device__ To operator()(T x) const
    {
        return narrow<To>(widen(x));
    }
};

/* bool and uint8 are one type to C, so bool has a functor of its own. */
struct cast_bool {
    template <typename T> __device__ tfd_bool operator()(T x) const
    {
        return widen(x) != 0;
    }
};

/* The low bits are dropped instead of rounded. */
struct cut_bfloat16 {
    __device__ __nv_bfloat16 operator()(float x) const
    {
        return __float2bfloat16_rz(x);
    }
};

template <typename T, typename F, typename To>
static enum tfd_code to(struct tfd_kctx *k, F f, struct tfd_status *st)
{
    return run_one(k, f, in_at<T>(k, 0), out_at<To>(k, 0),
                   tfd_tensor_elements(&k->in[0]), st);
}

template <typename T>
static enum tfd_code cast_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct cast_state *s = (const struct cast_state *)k->state;

    if (s->to == k->in[0].dtype) {
        tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
        return TFD_OK;
    }
    if (!tfd_dtype_is_pod(s->to))
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Cast %s to %s is not supported",
                        tfd_dtype_name((int)k->in[0].dtype),
                        tfd_dtype_name((int)s->to));
    TFD_TRY(tfd_kctx_output(k, 0, s->to, &k->in[0].shape, st));
    if (s->to == TFD_BFLOAT16 && s->truncates && k->in[0].dtype == TFD_FLOAT)
        return to<float, cut_bfloat16, __nv_bfloat16>(k, cut_bfloat16(), st);
    switch (s->to) {
#define CASE(name, To) \
    case TFD_##name:   \
        return to<T, cast<To>, To>(k, cast<To>(), st);
        CUDA_FLOAT_DTYPES(CASE)
        CUDA_INT_DTYPES(CASE)
        CASE(INT32, int32_t)
    case TFD_BOOL:
        return to<T, cast_bool, tfd_bool>(k, cast_bool(), st);
    default:
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Cast %s to %s is not supported",
                        tfd_dtype_name((int)k->in[0].dtype),
                        tfd_dtype_name((int)s->to));
    }
}

#define ROW(name, T) \
    row("Cast", TFD_##name, cast_gpu<T>, 0, prepare, sizeof(struct cast_state)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(
    ROW) CUDA_INT_DTYPES(ROW) ROW(INT32, int32_t) ROW(BOOL, tfd_bool)};

} /* namespace */

CUDA_FAMILY_OF(cast);
