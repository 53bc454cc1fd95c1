/*
 * cuda_device.h - one GPU, or one of several virtual devices on it: its memory,
 * its streams, its events.
 *
 * Kernels are enqueued on `stream` and allocate from `pool`, which they know as
 * k->memory; kernels that are being captured (capture.h) have a stream and a
 * pool of the capture instead.  Copies of more than a few pages have streams of
 * their own, so that they overlap with kernels and wait only for what they
 * must; what they bring lies in blocks of the copy pool (copy_pool.h), which
 * takes its memory from `pool`.
 *
 * A device that fails (an illegal access, memory that cannot be corrected) is
 * lost for the whole process: everything that waits for it ends with an error,
 * later calls fail at once, and on_lost() is called, once, from some thread.
 *
 * Threads: any; init and deinit before and after all others.
 */
#ifndef TFD_CUDA_CUDA_DEVICE_H
#define TFD_CUDA_CUDA_DEVICE_H

#include "cuda/device/events.h"
#include "cuda/device/copy_pool.h"
#include "cuda/device/run_ahead.h"
#include "cuda/device/memory_pool.h"

struct tfd_cuda_copy;
struct tfd_cuda_capture;
struct tfd_cuda_device;

/* cuBLAS, cuDNN: as their files have it. */
struct tfd_cuda_library {
    void *own; /* NULL until it is opened */
    void (*release)(void *own);
    /* Before a capture, as making a handle may wait for the device, which
     * CUDA forbids then: gets one ready for captures.stream.  The device's
     * lock is held. */
    enum tfd_code (*prepare)(void *own, struct tfd_cuda_device *d,
                             struct tfd_status *st);
};

/* What capture.h keeps of a device. */
struct tfd_cuda_captures {
    void *stream; /* made with the first */
    struct tfd_cuda_capture *current;
    struct tfd_cuda_capture *stranded; /* dropped; a launch may be under way */
    size_t reserved;                   /* atomic: bytes of all that live */
    size_t made, launches;             /* atomic: so far */
};

struct tfd_cuda_device {
    struct tfd_cuda_memory_pool pool;
    const struct tfd_cuda_driver *driver;
    int ordinal; /* the driver's number */
    int number;  /* of /device:GPU:N */
    char name[16];
    struct tfd_cuda_properties properties;
    void *stream;                     /* of kernels */
    void *in;                         /* of copies from the host */
    void *out;                        /* of copies to the host */
    void *across;                     /* of copies from other devices */
    struct tfd_cuda_events events;    /* of stream and out */
    struct tfd_cuda_events arrivals;  /* of in */
    struct tfd_cuda_events crossings; /* of across */
    struct tfd_cuda_copy_pool copy_pool;
    struct tfd_cuda_run_ahead run_ahead;
    struct tfd_cuda_memory_pool
        *pinned;                  /* host memory that copies go through */
    struct tfd_lock lock;         /* of what follows */
    struct tfd_cuda_copy *copies; /* records that are free */
    struct tfd_cuda_captures captures;
    struct tfd_cuda_library blas; /* opened at the first product */
    struct tfd_cuda_library dnn;  /* convolution, batch to be normalised */
    size_t peer_bytes;            /* atomic: copied from other processes */
    int lost;                     /* atomic: the error that lost it */
    bool stopped;
    void (*on_lost)(void *ctx, const struct tfd_cuda_device *d);
    void *ctx;
};

struct tfd_cuda_device_options {
    const struct tfd_cuda_driver *driver;
    int ordinal, number;
    size_t memory_limit;
    bool grows;
    struct tfd_cuda_memory_pool *pinned; /* borrowed */
};

/* Makes the streams; memory comes with the first use. */
enum tfd_code tfd_cuda_device_init(struct tfd_cuda_device *d,
                                   const struct tfd_cuda_device_options *o,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Lets go what copies hold, once they have ended, and ends the threads.  Where
 * there are several devices all are stopped before one is deinitialised: what
 * one has copied another may hold. */
void tfd_cuda_device_stop(struct tfd_cuda_device *d);
/* Everything enqueued has ended, every buffer is back.  Stops it if need be. */
void tfd_cuda_device_deinit(struct tfd_cuda_device *d);

/* The device of a kernel's memory. */
struct tfd_cuda_device *tfd_cuda_device_of(struct tfd_memory *m);

/* The calling thread will enqueue on d.  UNAVAILABLE when d is lost. */
enum tfd_code tfd_cuda_device_use(struct tfd_cuda_device *d,
                                  struct tfd_status *st) TFD_MUST_USE;

/* OK for error 0; else INTERNAL "GPU:0: what: CUDA's text", or UNAVAILABLE
 * when this loses the device, or RESOURCE_EXHAUSTED when memory is short. */
enum tfd_code tfd_cuda_device_check(struct tfd_cuda_device *d, int error,
                                    const char *what,
                                    struct tfd_status *st) TFD_MUST_USE;

/* The pool of pinned host memory that devices share. */
void tfd_cuda_pinned_init(struct tfd_cuda_memory_pool *p,
                          const struct tfd_cuda_driver *driver, size_t limit);

#endif
