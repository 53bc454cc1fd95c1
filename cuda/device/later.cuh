/*
 * later.cuh - kernels that can make their outputs, or report a mistake in their
 * inputs, only once the device has computed some numbers: start() enqueues what
 * computes the numbers, later_then() brings them to the host, and the rest is
 * enqueued from there.  No thread waits meanwhile but that of the device's
 * events.
 *
 *     static void start(struct tfd_kctx *k)
 *     {
 *         later_start(k, first, numbers, work_size);
 *     }
 *     first(k, l, st)   enqueues what leaves numbers in later_numbers(l), and
 *                       what it wants in later_work(l); sets l->then
 *     l->then(k, l, st) makes the outputs; l->number has the numbers
 *
 * Without l->then the kernel ends with first().
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_LATER_CUH
#define TFD_CUDA_LATER_CUH

#include "cuda/lib/launch.cuh"

#include <stdlib.h>

struct later;
typedef enum tfd_code later_fn(struct tfd_kctx *k, struct later *l,
                               struct tfd_status *st);

struct later {
    struct tfd_cuda_closure closure; /* first */
    struct tfd_kctx *k;
    later_fn *then;
    int numbers;
    struct tfd_buffer *work; /* of the device: numbers, then what is asked */
    struct tfd_buffer *host; /* pinned */
    const int64_t *number;   /* in host */
};

/* On the device. */
static inline int64_t *later_numbers(const struct later *l)
{
    return (int64_t *)l->work->data;
}

template <typename T> static inline T *later_work(const struct later *l)
{
    return (T *)(later_numbers(l) + l->numbers);
}

static inline void later_end(struct later *l, const struct tfd_status *st)
{
    struct tfd_kctx *k = l->k;

    tfd_buffer_unref(l->work);
    tfd_buffer_unref(l->host);
    free(l);
    tfd_kctx_finish(k, st->code == TFD_OK ? NULL : st);
}

static inline void later_passed(struct tfd_cuda_closure *closure, int error)
{
    struct later *l = (struct later *)closure;
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_cuda_device_check(tfd_cuda_device_of(l->k->memory), error,
                              l->k->kernel->op, &st) == TFD_OK)
        (void)!l->then(l->k, l, &st);
    later_end(l, &st);
}

static inline enum tfd_code later_make(struct later *l, size_t work_size,
                                       struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(l->k->memory);
    size_t numbers = (size_t)l->numbers * sizeof(int64_t);

    l->work = tfd_cuda_memory_pool_make(&d->pool, numbers + work_size, st);
    if (!l->work)
        return TFD_RESOURCE_EXHAUSTED;
    l->host = tfd_cuda_memory_pool_make(d->pinned, numbers, st);
    if (!l->host)
        return TFD_RESOURCE_EXHAUSTED;
    l->number = (const int64_t *)l->host->data;
    return TFD_OK;
}

static inline enum tfd_code later_begin(struct later *l, later_fn *first,
                                        size_t work_size, struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(l->k->memory);

    TFD_TRY(later_make(l, work_size, st));
    TFD_TRY(first(l->k, l, st));
    if (!l->then)
        return TFD_OK;
    return tfd_cuda_device_check(
        d,
        (int)cudaMemcpyAsync(l->host->data, l->work->data,
                             (size_t)l->numbers * sizeof(int64_t),
                             cudaMemcpyDeviceToHost, stream_of(l->k)),
        l->k->kernel->op, st);
}

static inline void later_start(struct tfd_kctx *k, later_fn *first, int numbers,
                               size_t work_size)
{
    struct later *l = (struct later *)calloc(1, sizeof(*l));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!l) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for %s",
                       k->kernel->op);
        tfd_kctx_finish(k, &st);
        return;
    }
    l->k = k;
    l->numbers = numbers;
    if (later_begin(l, first, work_size, &st) != TFD_OK || !l->then) {
        later_end(l, &st);
        return;
    }
    l->closure.fn = later_passed;
    tfd_cuda_events_after(&tfd_cuda_device_of(k->memory)->events, k->stream,
                          &l->closure);
}

/* A row of a family's table that has start(). */
static inline constexpr struct tfd_kernel
later_row(const char *op, enum tfd_dtype dtype, tfd_start_fn *start,
          uint32_t host_in = 0, tfd_prepare_fn *prepare = nullptr,
          size_t state_size = 0)
{
    struct tfd_kernel k = row(op, dtype, nullptr, host_in, prepare, state_size);

    k.start = start;
    return k;
}

#endif
