/*
 * pad.cu - Pad, PadV2 of kernels/array/pad.c: one pass over the output.
 */
#include "cuda/lib/box.cuh"

extern "C" {
#include "kernels/array/pad.h"
}

namespace
{

/* The value around is the host's. */
static enum tfd_code pad_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct box b = {};
    struct tfd_pad p;
    bool done;

    TFD_TRY(tfd_pad_begin(k, &p, &done, st));
    if (done)
        return TFD_OK;
    b.rank = x->shape.rank;
    for (int d = 0; d < b.rank; d++)
        b.axis[d] = {k->out[0].shape.dim[d], 0, p.before[d], 1,
                     x->shape.dim[d]};
    return place_box(
        k, x, k->in_count > 2 ? tfd_tensor_data(&k->in[2]) : nullptr, b, st);
}

#define ROWS(name, T)                             \
    row("Pad", TFD_##name, pad_gpu, HOST_ARG(1)), \
        row("PadV2", TFD_##name, pad_gpu, HOST_ARG(1) | HOST_ARG(2)),

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROWS) ROWS(BOOL, tfd_bool) ROWS(COMPLEX64, tfd_complex64)
        ROWS(COMPLEX128, tfd_complex128) ROWS(INT8, int8_t)
            ROWS(UINT8, uint8_t)};

} /* namespace */

CUDA_FAMILY_OF(pad);
