/*
 * slice.cu - Slice, StridedSlice, StridedSliceGrad of kernels/array/slice.c.
 */
#include "cuda/lib/box.cuh"

extern "C" {
#include "kernels/core/element.h"
#include "kernels/array/slice.h"
}

namespace
{

/* step: NULL where all are 1. */
static enum tfd_code take(struct tfd_kctx *k, const int64_t *begin,
                          const int64_t *step, const struct tfd_shape *size,
                          struct tfd_status *st)
{
    int64_t stride[TFD_RANK_MAX], first = 0;
    struct box b = {};

    tfd_element_strides(&k->in[0].shape, stride);
    b.rank = size->rank;
    for (int d = 0; d < b.rank; d++) {
        first += begin[d] * stride[d];
        b.axis[d].size = size->dim[d];
        b.axis[d].stride = stride[d] * (step ? step[d] : 1);
    }
    return take_box(k, &k->in[0], first, b, st);
}

static enum tfd_code slice_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t begin[TFD_RANK_MAX];
    struct tfd_shape size;

    TFD_TRY(tfd_slice_box(k, begin, &size, st));
    if (tfd_shape_equal(&size, &k->in[0].shape)) {
        tfd_kctx_output_alias(k, 0, 0, &size);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &size, st));
    return take(k, begin, nullptr, &size, st);
}

static enum tfd_code strided_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_slice_dense s;
    bool done;

    TFD_TRY(tfd_slice_begin(k, &s, &done, st));
    return done ? TFD_OK : take(k, s.begin, s.stride, &s.box, st);
}

static enum tfd_code strided_grad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_slice_dense s;
    struct box b = {};

    TFD_TRY(tfd_slice_grad_begin(k, &s, st));
    b.rank = s.box.rank;
    for (int d = 0; d < b.rank; d++)
        b.axis[d] = {k->out[0].shape.dim[d], 0, s.begin[d], s.stride[d],
                     s.box.dim[d]};
    return place_box(k, &k->in[4], nullptr, b, st);
}

#define SPEC (HOST_ARG(1) | HOST_ARG(2) | HOST_ARG(3))
#define SLICE(name, T) \
    row("Slice", TFD_##name, slice_gpu, HOST_ARG(1) | HOST_ARG(2)),
#define STRIDED(name, T)                                                  \
    row("StridedSlice", TFD_##name, strided_gpu, SPEC, tfd_slice_prepare, \
        sizeof(struct tfd_slice_masks)),                                  \
        row("StridedSliceGrad", TFD_##name, strided_grad_gpu,             \
            HOST_ARG(0) | SPEC, tfd_slice_prepare,                        \
            sizeof(struct tfd_slice_masks)),
#define OTHERS(X)               \
    X(BOOL, tfd_bool)           \
    X(COMPLEX64, tfd_complex64) \
    X(COMPLEX128, tfd_complex128)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(SLICE) OTHERS(SLICE) SLICE(INT64, int64_t)
        SLICE(INT8, int8_t) CUDA_FLOAT_DTYPES(STRIDED) OTHERS(STRIDED)
            CUDA_INT_DTYPES(STRIDED)};

} /* namespace */

CUDA_FAMILY_OF(slice);
