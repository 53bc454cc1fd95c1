/*
 * gather_nd.cu - GatherNd, ResourceGatherNd of kernels/index/gather_nd.c; a tuple
 * outside gives zeros.
 */
#include "cuda/lib/index.cuh"

extern "C" {
#include "kernels/index/gather.h"
#include "kernels/state/variable.h"
}

namespace
{

static enum tfd_code gather_nd(struct tfd_kctx *k, const struct tfd_tensor *x,
                               struct tfd_status *st)
{
    struct tfd_scatter_nd nd;

    TFD_TRY(tfd_gather_nd_make(k, x, &nd, st));
    return run_copy_rows(k, tfd_tensor_data(x),
                         places_of(&k->in[1], nd.depth, &x->shape),
                         (size_t)nd.inner * tfd_dtype_size(x->dtype), st);
}

static enum tfd_code value_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return gather_nd(k, &k->in[0], st);
}

static enum tfd_code resource_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_with_value(k, gather_nd, st);
}

static enum tfd_code prepare_gather_nd(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    (void)state;
    return check_policy(p->node, st);
}

#define VALUE(name, T) row("GatherNd", TFD_##name, value_gpu, 0, prepare_gather_nd),
#define BOTH(name, T) \
    VALUE(name, T)    \
    row("ResourceGatherNd", TFD_##name, resource_gpu, HOST_ARG(0)),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(BOTH) BOTH(INT64, int64_t) BOTH(COMPLEX64, tfd_complex64)
        BOTH(COMPLEX128, tfd_complex128) VALUE(INT32, int32_t)};

} /* namespace */

CUDA_FAMILY_OF(gather_nd);
