/*
 * driver_runtime.cu - the table of driver.h, filled with CUDA's runtime, which is
 * linked statically and finds the driver when it is first asked.
 */
extern "C" {
#include "cuda/device/cuda.h"
#include "cuda/device/dynamic_library.h"
}

#include <limits.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <stdio.h>
#include <string.h>

static int device_count(int *count)
{
    *count = 0;
    return (int)cudaGetDeviceCount(count);
}

static int properties(int device, struct tfd_cuda_properties *out)
{
    struct cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, device);

    if (error != cudaSuccess)
        return (int)error;
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "%.127s", p.name);
    out->major = p.major;
    out->minor = p.minor;
    out->processors = p.multiProcessorCount;
    return (int)cudaDeviceGetPCIBusId(out->bus, sizeof(out->bus), device);
}

static int use(int device)
{
    return (int)cudaSetDevice(device);
}

static int memory_info(size_t *free_size, size_t *total)
{
    return (int)cudaMemGetInfo(free_size, total);
}

/* An error that is reported is no longer the last one: what asks for that later
 * shall find its own. */
static int report(cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    return (int)error;
}

static int peer_access(int device, int peer)
{
    int can = 0;
    cudaError_t error = cudaDeviceCanAccessPeer(&can, device, peer);

    if (error == cudaSuccess && !can)
        error = cudaErrorPeerAccessUnsupported;
    if (error == cudaSuccess)
        error = cudaSetDevice(device);
    if (error == cudaSuccess)
        error = cudaDeviceEnablePeerAccess(peer, 0);
    (void)report(error);
    return error == cudaErrorPeerAccessAlreadyEnabled ? 0 : (int)error;
}

static int allocate(void **at, size_t size)
{
    return report(cudaMalloc(at, size));
}

static int release(void *at)
{
    return report(cudaFree(at));
}

static_assert(sizeof(cudaIpcMemHandle_t) == TFD_CUDA_HANDLE_SIZE, "handles");

static int share(void *at, struct tfd_cuda_handle *out)
{
    cudaIpcMemHandle_t h;
    cudaError_t error = cudaIpcGetMemHandle(&h, at);

    if (error == cudaSuccess)
        memcpy(out->bytes, &h, sizeof(h));
    return report(error);
}

/* Only the driver knows how large it is, and the driver is not linked. */
static cudaError_t size_of(void *at, size_t *size)
{
    CUresult(CUDAAPI * range)(CUdeviceptr *, size_t *, CUdeviceptr);
    cudaDriverEntryPointQueryResult found;
    void *entry = nullptr;
    CUdeviceptr base;
    cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuMemGetAddressRange", &entry, 12000, cudaEnableDefault, &found);

    if (error != cudaSuccess)
        return error;
    if (!entry || found != cudaDriverEntryPointSuccess)
        return cudaErrorNotSupported;
    memcpy(&range, &entry, sizeof(range));
    return range(&base, size, (CUdeviceptr)at) == CUDA_SUCCESS
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

static int map(const struct tfd_cuda_handle *handle, void **at, size_t *size)
{
    cudaIpcMemHandle_t h;
    cudaError_t error;

    memcpy(&h, handle->bytes, sizeof(h));
    error = cudaIpcOpenMemHandle(at, h, cudaIpcMemLazyEnablePeerAccess);
    if (error != cudaSuccess)
        return report(error);
    error = size_of(*at, size);
    if (error != cudaSuccess)
        (void)cudaIpcCloseMemHandle(*at);
    return report(error);
}

static int unmap(void *at)
{
    return report(cudaIpcCloseMemHandle(at));
}

/* Portable: of every device's use. */
static int host_allocate(void **at, size_t size)
{
    return report(cudaHostAlloc(at, size, cudaHostAllocPortable));
}

static int host_release(void *at)
{
    return report(cudaFreeHost(at));
}

/* Non-blocking: the legacy stream, which nobody uses, orders nothing. */
static int stream_make(void **stream)
{
    return report(cudaStreamCreateWithFlags((cudaStream_t *)stream,
                                            cudaStreamNonBlocking));
}

static int stream_release(void *stream)
{
    return report(cudaStreamDestroy((cudaStream_t)stream));
}

static int stream_wait(void *stream, void *event)
{
    return report(
        cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0));
}

static int event_make(void **event)
{
    return report(cudaEventCreateWithFlags(
        (cudaEvent_t *)event, cudaEventBlockingSync | cudaEventDisableTiming));
}

static int event_release(void *event)
{
    return report(cudaEventDestroy((cudaEvent_t)event));
}

static int event_record(void *event, void *stream)
{
    return report(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream));
}

static int event_query(void *event)
{
    return report(cudaEventQuery((cudaEvent_t)event));
}

static int event_wait(void *event)
{
    return report(cudaEventSynchronize((cudaEvent_t)event));
}

static int copy(void *to, const void *from, size_t size,
                enum tfd_cuda_direction direction, void *stream)
{
    return report(cudaMemcpyAsync(to, from, size,
                                  direction == TFD_CUDA_TO_DEVICE
                                      ? cudaMemcpyHostToDevice
                                      : cudaMemcpyDeviceToHost,
                                  (cudaStream_t)stream));
}

/* One call is for steps that are ints. */
static int copy_runs(void *to, size_t to_step, const void *from,
                     size_t from_step, size_t size, size_t count, void *stream)
{
    cudaError_t error = cudaSuccess;

    if (count == 1 || (to_step == size && from_step == size))
        return report(cudaMemcpyAsync(to, from, size * count,
                                      cudaMemcpyDeviceToDevice,
                                      (cudaStream_t)stream));
    if (to_step <= INT_MAX && from_step <= INT_MAX)
        return report(cudaMemcpy2DAsync(to, to_step, from, from_step, size,
                                        count, cudaMemcpyDeviceToDevice,
                                        (cudaStream_t)stream));
    for (size_t i = 0; i < count && error == cudaSuccess; i++)
        error = cudaMemcpyAsync((char *)to + i * to_step,
                                (const char *)from + i * from_step, size,
                                cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
    return report(error);
}

static int copy_peer(void *to, int to_device, const void *from, int from_device,
                     size_t size, void *stream)
{
    return report(cudaMemcpyPeerAsync(to, to_device, from, from_device, size,
                                      (cudaStream_t)stream));
}

/* Relaxed: what other threads do meanwhile, and calls of this one that are not
 * on the stream, such as the making of a handle of cuBLAS, are no concern of
 * the capture. */
static int capture_begin(void *stream)
{
    return report(cudaStreamBeginCapture((cudaStream_t)stream,
                                         cudaStreamCaptureModeRelaxed));
}

static int capture_end(void *stream, void **graph)
{
    cudaGraphExec_t ready = nullptr;
    cudaGraph_t kept = nullptr;
    cudaError_t error = cudaStreamEndCapture((cudaStream_t)stream, &kept);

    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&ready, kept, 0);
    if (kept)
        (void)cudaGraphDestroy(kept);
    *graph = error == cudaSuccess ? ready : nullptr;
    return report(error);
}

static int graph_launch(void *graph, void *stream)
{
    return report(
        cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream));
}

static int graph_release(void *graph)
{
    return report(cudaGraphExecDestroy((cudaGraphExec_t)graph));
}

static const char *error_text(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

static enum tfd_code libraries(struct tfd_status *st)
{
    TFD_TRY(tfd_cuda_blas_check(st));
    return tfd_cuda_dnn_check(st);
}

/* What nvcc was told to compile for, in rising order: 750,800,... */
static const int architectures[] = {__CUDA_ARCH_LIST__};

static const struct tfd_cuda_driver driver = {
    device_count, properties,     use,
    memory_info,  peer_access,    allocate,
    release,      share,          map,
    unmap,        host_allocate,  host_release,
    stream_make,  stream_release, stream_wait,
    event_make,   event_release,  event_record,
    event_query,  event_wait,     copy,
    copy_runs,    copy_peer,      capture_begin,
    capture_end,  graph_launch,   graph_release,
    error_text,   libraries,      architectures[0] / 10,
};

extern "C" const struct tfd_cuda_driver *tfd_cuda_driver(void)
{
    return &driver;
}
