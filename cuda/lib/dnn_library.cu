/*
 * dnn_library.cu - see dnn_library.cuh.
 */
#include "cuda/lib/dnn_library.cuh"

#include "cuda/lib/dnn.cuh"
#include "cuda/lib/dnn_norm.cuh"

extern "C" {
#include "config/limits.h"
#include "cuda/device/dynamic_library.h"
#include "cuda/device/kernel_settings.h"
}

#include <stdlib.h>
#include <string.h>

/* ---- Errors, types ------------------------------------------------------- */

static enum tfd_code code_of(int rc)
{
    if (rc == STATUS_NO_HOST_MEMORY || rc == STATUS_NO_DEVICE_MEMORY)
        return TFD_RESOURCE_EXHAUSTED;
    return cuda_dnn_is_refusal(rc) ? TFD_UNIMPLEMENTED : TFD_INTERNAL;
}

enum tfd_code cuda_dnn_fail(const struct cuda_dnn *n, int rc,
                            struct tfd_status *st)
{
    return tfd_fail(st, code_of(rc), "cuDNN: %s", n->library.text(rc));
}

int cuda_dnn_type(int dtype)
{
    switch (dtype) {
    case TFD_DOUBLE:
        return DATA_DOUBLE;
    case TFD_HALF:
        return DATA_HALF;
    case TFD_BFLOAT16:
        return DATA_BFLOAT16;
    default:
        return DATA_FLOAT;
    }
}

namespace
{

/* ---- The library --------------------------------------------------------- */

static const struct tfd_cuda_wanted wanted = {
    "cuDNN",
    "9",
    {"libcudnn.so.9", "libcudnn.so"},
};

static enum tfd_code find_all(void *handle, struct cuda_dnn_library *l,
                              struct tfd_status *st)
{
    const struct tfd_cuda_symbol symbols[] = {
        {"cudnnGetVersion", &l->version},
        {"cudnnCreate", &l->create},
        {"cudnnDestroy", &l->destroy},
        {"cudnnSetStream", &l->set_stream},
        {"cudnnGetErrorString", &l->text},
        {"cudnnCreateTensorDescriptor", &l->make_tensor},
        {"cudnnSetTensor4dDescriptor", &l->set_tensor},
        {"cudnnDestroyTensorDescriptor", &l->drop_tensor},
        {"cudnnCreateFilterDescriptor", &l->make_filter},
        {"cudnnSetFilter4dDescriptor", &l->set_filter},
        {"cudnnDestroyFilterDescriptor", &l->drop_filter},
        {"cudnnCreateConvolutionDescriptor", &l->make_conv},
        {"cudnnSetConvolution2dDescriptor", &l->set_conv},
        {"cudnnSetConvolutionGroupCount", &l->set_groups},
        {"cudnnSetConvolutionMathType", &l->set_math},
        {"cudnnDestroyConvolutionDescriptor", &l->drop_conv},
        {"cudnnGetConvolutionForwardAlgorithm_v7", &l->choose[0]},
        {"cudnnGetConvolutionBackwardDataAlgorithm_v7", &l->choose[1]},
        {"cudnnGetConvolutionBackwardFilterAlgorithm_v7", &l->choose[2]},
        {"cudnnConvolutionForward", &l->run[0]},
        {"cudnnConvolutionBackwardData", &l->run[1]},
        {"cudnnConvolutionBackwardFilter", &l->run[2]},
    };
    /* Without these it convolves. */
    const struct tfd_cuda_symbol norms[] = {
        {"cudnnBatchNormalizationForwardTraining", &l->norm_forward},
        {"cudnnBatchNormalizationBackward", &l->norm_backward},
    };

    for (int i = 0; i < TFD_COUNT(norms); i++)
        (void)tfd_cuda_library_find(handle, &norms[i]);
    TFD_TRY(tfd_cuda_library_find_all(handle, &wanted, symbols,
                                      TFD_COUNT(symbols), st));
    if (l->version() / 10000 != 9)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "this cuDNN has version %zu; 9 is needed",
                        l->version());
    return TFD_OK;
}

static enum tfd_code open_library(struct cuda_dnn_library *l,
                                  struct tfd_status *st)
{
    void *handle;

    TFD_TRY(tfd_cuda_library_open(&wanted, &handle, st));
    return find_all(handle, l, st);
}

/* ---- What a device keeps ------------------------------------------------- */

static void release(void *own)
{
    struct cuda_dnn *n = (struct cuda_dnn *)own;

    if (n->captured)
        (void)n->library.destroy(n->captured);
    (void)n->library.destroy(n->handle);
    tfd_cuda_lru_cache_deinit(&n->plans);
    tfd_cuda_lru_cache_deinit(&n->norms);
    free(n);
}

static enum tfd_code make_handle(const struct cuda_dnn *n, void *stream,
                                 object *out, struct tfd_status *st)
{
    int rc = n->library.create(out);

    if (rc == STATUS_SUCCESS)
        rc = n->library.set_stream(*out, (cudaStream_t)stream);
    if (rc == STATUS_SUCCESS)
        return TFD_OK;
    if (*out)
        (void)n->library.destroy(*out);
    *out = nullptr;
    return cuda_dnn_fail(n, rc, st);
}

static enum tfd_code prepare_handle(void *own, struct tfd_cuda_device *d,
                             struct tfd_status *st)
{
    struct cuda_dnn *n = (struct cuda_dnn *)own;

    return n->captured ? TFD_OK
                       : make_handle(n, d->captures.stream, &n->captured, st);
}

} /* namespace */

enum tfd_code tfd_cuda_dnn_check(struct tfd_status *st)
{
    struct cuda_dnn_library l;

    return open_library(&l, st);
}

enum tfd_code cuda_dnn_open(struct tfd_cuda_device *d, struct cuda_dnn **out,
                            struct tfd_status *st)
{
    struct cuda_dnn *n = (struct cuda_dnn *)d->dnn.own;
    enum tfd_code code;

    *out = n;
    if (n)
        return TFD_OK;
    n = (struct cuda_dnn *)calloc(1, sizeof(*n));
    if (!n)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for cuDNN");
    if (open_library(&n->library, st) != TFD_OK) {
        free(n);
        return TFD_UNIMPLEMENTED;
    }
    code = make_handle(n, d->stream, &n->handle, st);
    if (code != TFD_OK) {
        free(n);
        return code;
    }
    n->deterministic = tfd_cuda_kernel_settings()->deterministic_dnn;
    n->memory_max = tfd_cuda_kernel_settings()->dnn_memory_max;
    tfd_cuda_lru_cache_init(&n->plans, sizeof(struct cuda_dnn_conv),
                       sizeof(struct cuda_dnn_plan), TFD_CUDNN_SHAPES_MAX);
    tfd_cuda_lru_cache_init(&n->norms, sizeof(struct cuda_dnn_norm),
                       sizeof(struct cuda_dnn_verdict), TFD_CUDNN_SHAPES_MAX);
    d->dnn = {n, release, prepare_handle};
    *out = n;
    return TFD_OK;
}

enum tfd_code cuda_dnn_handle(const struct tfd_kctx *k, object *out,
                              struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct cuda_dnn *n = (struct cuda_dnn *)d->dnn.own;

    if (is_captured(k))
        TFD_TRY(prepare_handle(n, d, st));
    *out = is_captured(k) ? n->captured : n->handle;
    return TFD_OK;
}
