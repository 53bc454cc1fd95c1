/*
 * driver.h - what is asked of CUDA, as a table of functions.
 *
 * Everything above it (memory, events, copies, start-up) is plain C that takes
 * the table, so it is built and tested on machines without nvcc and without a
 * card; tests/support/fake_cuda.h is the other table.  Kernels are launched by
 * cuda/<family>.cu directly.
 *
 * Functions return CUDA's error numbers, of which those below have a meaning
 * here.  Streams and events are CUDA's handles.
 *
 * Threads: any.  What concerns "the" device concerns the one that the calling
 * thread has chosen with use().
 */
#ifndef TFD_CUDA_DRIVER_H
#define TFD_CUDA_DRIVER_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tfd_cuda_error {
    TFD_CUDA_OK = 0,
    TFD_CUDA_NO_MEMORY = 2,
    TFD_CUDA_OLD_DRIVER = 35, /* also when there is no driver at all */
    TFD_CUDA_NO_DEVICE = 100,
    TFD_CUDA_NOT_READY = 600,
    TFD_CUDA_ILLEGAL_ADDRESS = 700,
};

struct tfd_cuda_properties {
    char name[128];
    char bus[32]; /* "0000:01:00.0" */
    int major, minor;
    int processors; /* streaming multiprocessors */
};

enum tfd_cuda_direction { TFD_CUDA_TO_DEVICE, TFD_CUDA_TO_HOST };

/* Memory of a device as another process of the host is told of it. */
#define TFD_CUDA_HANDLE_SIZE 64
struct tfd_cuda_handle {
    unsigned char bytes[TFD_CUDA_HANDLE_SIZE];
};

struct tfd_cuda_driver {
    /* Those that CUDA_VISIBLE_DEVICES leaves. */
    int (*device_count)(int *count);
    int (*properties)(int device, struct tfd_cuda_properties *out);
    int (*use)(int device); /* by this thread, from now on */
    int (*memory_info)(size_t *free, size_t *total);
    /* From now on a device reaches the memory of another itself, so that copies
     * do not go by the host's.  An error: it cannot, and all goes on. */
    int (*peer_access)(int device, int peer);

    int (*allocate)(void **at, size_t size);
    int (*release)(void *at);
    /* What allocate() gave, for map() in another process: by the device that is
     * used, as often as it is asked for; *size is of all of it. */
    int (*share)(void *at, struct tfd_cuda_handle *out);
    int (*map)(const struct tfd_cuda_handle *h, void **at, size_t *size);
    int (*unmap)(void *at);
    int (*host_allocate)(void **at, size_t size); /* pinned */
    int (*host_release)(void *at);

    int (*stream_make)(void **stream);
    int (*stream_release)(void *stream);
    int (*stream_wait)(void *stream, void *event); /* what comes after */

    int (*event_make)(void **event);
    int (*event_release)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event); /* NOT_READY */
    int (*event_wait)(void *event);  /* asleep, not spinning */

    int (*copy)(void *to, const void *from, size_t size,
                enum tfd_cuda_direction direction, void *stream);
    /* Within the device: `count` runs of `size` bytes, steps apart. */
    int (*copy_runs)(void *to, size_t to_step, const void *from,
                     size_t from_step, size_t size, size_t count, void *stream);
    int (*copy_peer)(void *to, int to_device, const void *from, int from_device,
                     size_t size, void *stream);

    /* What the calling thread enqueues on `stream` is kept and not run. */
    int (*capture_begin)(void *stream);
    /* *graph: what it kept, ready to be launched; NULL after an error.  The
     * stream is as before in any case. */
    int (*capture_end)(void *stream, void **graph);
    int (*graph_launch)(void *graph, void *stream);
    int (*graph_release)(void *graph); /* no launch of it is under way */

    const char *(*error_text)(int error);

    /* UNIMPLEMENTED where what kernels open is not there. */
    enum tfd_code (*libraries)(struct tfd_status *st);
    int capability_min; /* 75: 7.5, the least that kernels were compiled for */
};

#endif
