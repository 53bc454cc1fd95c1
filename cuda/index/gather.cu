/*
 * gather.cu - GatherV2, ResourceGather of kernels/index/gather.c; an index outside
 * gives zeros.
 */
#include "cuda/lib/index.cuh"

extern "C" {
#include "kernels/index/gather.h"
#include "kernels/state/variable.h"
}

namespace
{

/* Rows of the output are [plane][index], of the input [plane][dim]; `outer`
 * planes have the indices of one batch. */
struct plane_rows {
    struct indices index;
    struct divisor outer, count;
    int64_t planes, dim;

    __device__ int64_t operator()(int64_t row) const
    {
        int64_t plane = planes == 1 ? 0 : divide(&count, row);
        int64_t at = row - plane * count.by;

        if (plane)
            at += divide(&outer, plane) * count.by;
        at = index[at];
        return (uint64_t)at < (uint64_t)dim ? plane * dim + at : -1;
    }
};

static enum tfd_code gather(struct tfd_kctx *k, const struct tfd_tensor *x,
                            const struct tfd_gather *g, struct tfd_status *st)
{
    struct plane_rows rows = {indices_of(&k->in[1]), divisor_of(g->outer),
                              divisor_of(g->count), g->batch * g->outer,
                              g->dim};

    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &g->out, st));
    return run_copy_rows(k, tfd_tensor_data(x), rows,
                         (size_t)g->inner * tfd_dtype_size(x->dtype), st);
}

static enum tfd_code gather_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_gather g = {};

    TFD_TRY(tfd_gather_make(k, &g, st));
    return gather(k, &k->in[0], &g, st);
}

static enum tfd_code gather_rows(struct tfd_kctx *k,
                                 const struct tfd_tensor *value,
                                 struct tfd_status *st)
{
    struct tfd_gather g = {};

    TFD_TRY(tfd_gather_make_rows(k, &value->shape, &g, st));
    return gather(k, value, &g, st);
}

/* The value may be let go at once: what gets its memory next is enqueued
 * behind. */
static enum tfd_code resource_gather_gpu(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    return tfd_kctx_with_value(k, gather_rows, st);
}

#define VALUE(name, T)                                                       \
    row("GatherV2", TFD_##name, gather_gpu, HOST_ARG(2), tfd_gather_prepare, \
        sizeof(struct tfd_gather_state)),
#define VARIABLE(name, T)                                               \
    row("ResourceGather", TFD_##name, resource_gather_gpu, HOST_ARG(0), \
        tfd_gather_prepare, sizeof(struct tfd_gather_state)),
#define BOTH(name, T) VALUE(name, T) VARIABLE(name, T)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(BOTH) CUDA_INT_DTYPES(BOTH) BOTH(BOOL, tfd_bool)
        BOTH(COMPLEX64, tfd_complex64) BOTH(COMPLEX128, tfd_complex128)
            VALUE(INT32, int32_t)};

} /* namespace */

CUDA_FAMILY_OF(gather);
