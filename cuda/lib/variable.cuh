/*
 * variable.cuh - makes a variable's value ready to be changed in place on a
 * GPU.
 *
 * A value that others can still see is copied first, on the stream
 * (kernels/state/variable.h says why).  Kernels that are being captured cannot
 * do that and are refused: the copy would be done once and then repeated by
 * every launch, and the variable would get memory of the capture.
 *
 * Threads: the variable's lock is held.
 */
#ifndef TFD_CUDA_VARIABLE_CUH
#define TFD_CUDA_VARIABLE_CUH

#include "cuda/lib/launch.cuh"

extern "C" {
#include "kernels/state/variable.h"
}

/* Makes v's value writable by what is enqueued next.  The lock is held. */
static inline enum tfd_code writable(struct tfd_kctx *k, struct tfd_variable *v,
                                     struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct tfd_tensor copy = TFD_TENSOR_INIT;
    enum tfd_code rc;

    if (!v->initialized)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Attempting to use uninitialized variables: %s",
                        v->name);
    if (!v->value.buffer || tfd_buffer_sole(v->value.buffer))
        return TFD_OK;
    if (is_captured(k))
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "%s: the value of %s is seen by others, so that its "
                        "copy cannot be captured",
                        k->kernel->op, v->name);
    TFD_TRY(tfd_tensor_new_in(&copy, k->memory, v->value.dtype, &v->value.shape,
                              st));
    rc = tfd_cuda_device_check(
        d,
        (int)cudaMemcpyAsync(copy.buffer->data, v->value.buffer->data,
                             tfd_tensor_size(&copy), cudaMemcpyDeviceToDevice,
                             stream_of(k)),
        "copy of a variable", st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(&copy);
        return rc;
    }
    tfd_tensor_unref(&v->value);
    v->value = copy;
    return TFD_OK;
}

#endif
