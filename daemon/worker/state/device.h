/*
 * device.h - the devices of this task, one row each.
 *
 * CPU:0 and CPU:1 share host memory, so a tensor moves between them by its
 * reference.  A device with memory of its own has another `memory` number and
 * the hooks below; nothing else in daemon/worker knows what it is.  Its kernels
 * may have arguments in host memory all the same (host_in, host_out); the
 * compiler puts copies where an edge leads from one memory to another.
 *
 * Threads: read-only once the worker runs.
 */
#ifndef TFD_DAEMON_WORKER_DEVICE_H
#define TFD_DAEMON_WORKER_DEVICE_H

#include "common/thread/continuation.h"
#include "daemon/worker/state/containers.h"
#include "daemon/worker_api.h"

struct tfd_device;

#define TFD_MEMORY_HOST 0

/* Copies input 0 of k, in the memory of `from`, to output 0 in that of `to`;
 * NULL is the host, for one of them.  Returns at once; then tfd_kctx_finish(k),
 * from any thread.  A value that is brought to a device may be on its way then;
 * kernels that read it are behind await(). */
typedef void tfd_device_copy_fn(struct tfd_kctx *k, struct tfd_device *from,
                                struct tfd_device *to);
/* The same for a constant, when a graph is registered. */
typedef enum tfd_code tfd_device_place_fn(struct tfd_device *to,
                                          const struct tfd_tensor *value,
                                          struct tfd_tensor *out,
                                          struct tfd_status *st);
/* The calling thread is about to run a kernel of the device. */
typedef enum tfd_code tfd_device_use_fn(struct tfd_device *d,
                                        struct tfd_status *st);
/* Kernels of the device that are enqueued from now on read values. */
typedef enum tfd_code tfd_device_await_fn(struct tfd_device *d,
                                          const struct tfd_tensor *values,
                                          int count, struct tfd_status *st);

/* A step has enqueued all that it will: so many nodes.  True: it may end now;
 * else t->fn() says when, as it would be too far ahead of the device. */
typedef bool tfd_device_run_ahead_fn(struct tfd_device *d, int nodes,
                                     struct tfd_continuation *t);

/* Kernels that were enqueued once, kept to be enqueued again by one call.
 * Embedded, first, by what begin() makes. */
struct tfd_capture {
    void *stream;              /* for the kernels that are captured */
    struct tfd_memory *memory; /* for what they make: kept until drop() */
};

struct tfd_device_captures {
    /* What the calling thread enqueues on (*out)->stream is kept and not run,
     * until end().  UNAVAILABLE while another thread captures on d. */
    enum tfd_code (*begin)(struct tfd_device *d, struct tfd_capture **out,
                           struct tfd_status *st);
    /* By the thread that began; after an error only drop() is left. */
    enum tfd_code (*end)(struct tfd_capture *c, struct tfd_status *st);
    /* Enqueues all of it on the device's stream. */
    enum tfd_code (*launch)(struct tfd_capture *c, struct tfd_status *st);
    /* At any time after begin(), then also by the thread that began.  Launches
     * under way and buffers of its memory outlive it. */
    void (*drop)(struct tfd_capture *c);
};

/* A part of a device's memory, named for another process of this host. */
#define TFD_DEVICE_HANDLE_SIZE 64
struct tfd_device_handle {
    unsigned char bytes[TFD_DEVICE_HANDLE_SIZE];
};

/* Memory that other processes of this host map, so that values go from device
 * to device.  Parts stay until the device goes. */
struct tfd_device_share {
    /* What processes that can map each other's memory have in common; "": with
     * nobody. */
    const char *host;
    /* The part that an address is in, and where; NULL: none. */
    void *(*part)(struct tfd_device *d, const void *at, uint64_t *offset);
    enum tfd_code (*name)(struct tfd_device *d, void *part,
                          struct tfd_device_handle *out, struct tfd_status *st);
    /* May block for milliseconds. */
    enum tfd_code (*map)(struct tfd_device *d,
                         const struct tfd_device_handle *h, void **at,
                         size_t *size, struct tfd_status *st);
    void (*unmap)(struct tfd_device *d, void *at); /* no copy is under way */
    /* Copies from mapped memory to a buffer of d, for kernels behind await().
     * value has type, shape and a buffer that is held until it is copied. */
    enum tfd_code (*bring)(struct tfd_device *d, const void *from,
                           const struct tfd_tensor *value,
                           struct tfd_tensor *out, struct tfd_status *st);
    /* Copies a value that is not empty to the host; done() follows, and so does
     * fn() of after(), once what was enqueued has run: from any thread, also
     * before they return.  st is NULL, or what went wrong. */
    void (*fetch)(struct tfd_device *d, const struct tfd_tensor *value,
                  void (*done)(void *ctx, struct tfd_tensor *take_out,
                               const struct tfd_status *st),
                  void *ctx);
    void (*after)(struct tfd_device *d,
                  void (*fn)(void *ctx, const struct tfd_status *st),
                  void *ctx);
};

struct tfd_device {
    struct tfd_device_attributes attributes;
    enum tfd_device_kind kind;
    int id;     /* of this kind */
    int memory; /* devices of one number read each other's buffers */
    struct tfd_containers *containers; /* shared by sessions */
    /* Kernels of this device enqueue on it and end later; NULL: they have ended
     * when compute() returns. */
    void *stream;
    /* All NULL in host memory. */
    struct tfd_memory *own;
    tfd_device_copy_fn *copy; /* to and from it */
    tfd_device_place_fn *place;
    tfd_device_use_fn *use;
    tfd_device_await_fn *await;
    tfd_device_run_ahead_fn *run_ahead;
    const struct tfd_device_captures *captures; /* NULL: it has none */
    bool captures_at_once; /* at the first step, without a trial */
    const struct tfd_device_share *share; /* NULL: it cannot */
};

#define TFD_DEVICES_MAX 64

struct tfd_devices {
    struct tfd_device device[TFD_DEVICES_MAX];
    int count;
};

/* Adds count CPU devices of the task "/job:J/replica:0/task:N". */
enum tfd_code tfd_devices_add_cpu(struct tfd_devices *d, const char *task,
                                  int count,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Adds a device of another kind: `like` without name, type, incarnation and
 * containers. */
enum tfd_code tfd_devices_add(struct tfd_devices *d, const char *task,
                              const struct tfd_device *like,
                              struct tfd_status *st) TFD_MUST_USE;
void tfd_devices_deinit(struct tfd_devices *d);
/* By full name; NULL when it is not one of ours. */
struct tfd_device *tfd_devices_find(struct tfd_devices *d, struct tfd_str name);
/* By what stands behind the task, which has other names in clusters that
 * sessions bring along; as TensorFlow looks up the source of a RecvTensor. */
struct tfd_device *tfd_devices_find_local(struct tfd_devices *d,
                                          struct tfd_str name);

/* Non-zero, from the system's source of randomness. */
uint64_t tfd_device_random(void);

#endif
