/*
 * check_numerics.cu - CheckNumerics, CheckNumericsV2 of
 * kernels/check_numerics.c, which end a step on what the device has seen.
 *
 * Kernels do not wait: one word is set on the device and copied to the host,
 * and the node ends when that copy has passed.
 *
 *     memset word | kernel: what was seen | copy to pinned memory | event
 */
#include "cuda/launch.cuh"

extern "C" {
#include "kernels/outputs.h"
}

namespace
{

/* Ownership: of the queue of events until passed(). */
struct answer {
    struct tfd_cuda_closure closure; /* first */
    struct tfd_kctx *k;
    struct tfd_buffer *found; /* the word on the device */
    struct tfd_buffer *word;  /* the word on the host */
};

static void drop(struct answer *a)
{
    tfd_buffer_unref(a->found);
    tfd_buffer_unref(a->word);
    free(a);
}

static void finish(struct tfd_kctx *k, const struct tfd_status *st)
{
    if (st->code == TFD_OK)
        tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
    tfd_kctx_finish(k, st->code == TFD_OK ? nullptr : st);
}

static void passed(struct tfd_cuda_closure *closure, int error)
{
    struct answer *a = (struct answer *)closure;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k = a->k;

    if (tfd_cuda_device_check(tfd_cuda_device_of(k->memory), error,
                              k->kernel->op, &st) == TFD_OK)
        (void)!tfd_check_numerics_result(k, *(const int *)a->word->data, &st);
    drop(a);
    finish(k, &st);
}

template <typename T> __global__ void look(const T *x, int64_t n, int *found)
{
    int seen = 0;

    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        wide<T> v = widen(x[i]);

        if (v != v)
            seen |= TFD_NAN_SEEN;
        else if (v - v != 0)
            seen |= v < 0 ? TFD_MINUS_SEEN : TFD_PLUS_SEEN;
    }
    if (seen)
        atomicOr(found, seen);
}

template <typename T> static int enqueue(const struct answer *a, int64_t n)
{
    struct tfd_kctx *k = a->k;
    int *found = (int *)a->found->data;
    cudaError_t error = cudaMemsetAsync(found, 0, sizeof(*found), stream_of(k));

    if (error != cudaSuccess)
        return (int)error;
    look<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(in_at<T>(k, 0), n,
                                                         found);
    error = cudaGetLastError();
    if (error != cudaSuccess)
        return (int)error;
    return (int)cudaMemcpyAsync(a->word->data, found, sizeof(*found),
                                cudaMemcpyDeviceToHost, stream_of(k));
}

/* On success passed() follows. */
template <typename T>
static enum tfd_code ask(struct tfd_kctx *k, int64_t n, struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct answer *a = (struct answer *)calloc(1, sizeof(*a));
    enum tfd_code rc = TFD_RESOURCE_EXHAUSTED;

    if (!a)
        return tfd_fail(st, rc, "no memory for an answer of the device");
    a->k = k;
    a->closure.fn = passed;
    a->found = k->memory->make(k->memory, sizeof(int), st);
    if (a->found)
        a->word = tfd_cuda_pool_make(d->pinned, sizeof(int), st);
    if (a->word)
        rc = tfd_cuda_device_check(d, enqueue<T>(a, n), k->kernel->op, st);
    if (rc == TFD_OK)
        tfd_cuda_events_after(&d->events, k->stream, &a->closure);
    else
        drop(a);
    return rc;
}

template <typename T> static void start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    int64_t n = tfd_tensor_elements(&k->in[0]);

    if (n > 0 && ask<T>(k, n, &st) == TFD_OK)
        return;
    finish(k, &st);
}

static constexpr struct tfd_kernel waiting(const char *op, enum tfd_dtype dtype,
                                           tfd_start_fn *start)
{
    struct tfd_kernel k = row(op, dtype, nullptr, 0, tfd_check_numerics_prepare,
                              sizeof(struct tfd_check_numerics_state));

    k.start = start;
    return k;
}

#define ROWS(name, T)                               \
    waiting("CheckNumerics", TFD_##name, start<T>), \
        waiting("CheckNumericsV2", TFD_##name, start<T>),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(check_numerics);
