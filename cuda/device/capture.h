/*
 * capture.h - kernels of a device that are enqueued once and launched, all
 * together, many times: a CUDA graph.
 *
 *     tfd_cuda_capture_begin(d, &c, st)
 *     kernels with k->stream = c->stream, k->memory = c->memory
 *     tfd_cuda_capture_end(c, st)
 *     tfd_cuda_capture_launch(c, st)   as often as wanted
 *     tfd_cuda_capture_drop(c)
 *
 * A device has a stream for captures, so what other threads enqueue on its
 * own stream meanwhile runs as always.  One capture at a time is made.
 *
 * A launch uses the addresses of the capture, so its memory is nobody else's
 * until drop(): a pool of its own, whose regions are buffers of the device's
 * pool.  What captured kernels give back is used again by those behind them
 * only.  After drop() the regions go back as soon as the last buffer is let go,
 * also while a launch is under way: launches are on the device's stream, and
 * who gets the memory next enqueues behind them (memory_pool.h).  The graph
 * itself is CUDA's memory, in no stream's order, and so is pinned memory that
 * it reads: these are kept until the stream has passed the last launch.  A
 * device that cannot say when keeps them to its end.
 *
 * Errors: as tfd_cuda_device_check().  A capture that CUDA refuses (its errors
 * 900 to 907) is no loss of the device.
 *
 * Threads: one at a time has a capture, and the one that began it ends it.  Its
 * buffers: any.  The device outlives captures and their buffers.
 */
#ifndef TFD_CUDA_CAPTURE_H
#define TFD_CUDA_CAPTURE_H

#include "cuda/device/cuda_device.h"

/* All captures of a device together have at most this part of its memory.  What
 * they hold is lost to steps that run as they come, which must go on; and a
 * step whose buffers need more has kernels so long that launching them one by
 * one costs it nothing. */
#define TFD_CUDA_CAPTURED_PART 4

struct tfd_cuda_capture {
    void *stream;
    struct tfd_memory *memory;
    /* The rest is capture.c's. */
    struct tfd_cuda_device *device;
    struct tfd_cuda_closure closure; /* of drop() */
    struct tfd_cuda_capture *next;
    struct tfd_buffer **held;
    int held_count, held_capacity;
    void *graph;
    bool ended, launched;
};

/* UNAVAILABLE while another is made, or when d is lost.  Its memory fails with
 * RESOURCE_EXHAUSTED beyond the captures' part. */
enum tfd_code tfd_cuda_capture_begin(struct tfd_cuda_device *d,
                                     struct tfd_cuda_capture **out,
                                     struct tfd_status *st) TFD_MUST_USE;
/* After an error only drop() is left. */
enum tfd_code tfd_cuda_capture_end(struct tfd_cuda_capture *c,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Enqueues it on the device's stream. */
enum tfd_code tfd_cuda_capture_launch(struct tfd_cuda_capture *c,
                                      struct tfd_status *st) TFD_MUST_USE;
/* At any time after begin(). */
void tfd_cuda_capture_drop(struct tfd_cuda_capture *c);

/* For the thread that captures on d: b lives as long as launches may read it.
 * Takes a reference. */
enum tfd_code tfd_cuda_capture_hold(struct tfd_cuda_device *d,
                                    struct tfd_buffer *b,
                                    struct tfd_status *st) TFD_MUST_USE;

/* With the device, once its streams are gone. */
void tfd_cuda_captures_deinit(struct tfd_cuda_device *d);

#endif
