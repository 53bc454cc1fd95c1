/*
 * tasks.h - the cluster as one context sees it at one time (its view): the
 * devices that functions of this task may use, and the tasks that they are on.
 *
 * The tasks' EagerServices are workers as worker_api.h has them (peer.h); the
 * first is this task's own worker.
 *
 * Ownership: counted, by its context, by what is registered with its peers and
 * by calls to them, so that all of it outlives a view that another replaces.
 *
 * Threads: loop thread; devices may be read on any.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_TASKS_H
#define TFD_DAEMON_EAGER_PARTS_TASKS_H

#include "daemon/eager/eager_impl.h"
#include "daemon/rewrite/devices.h"
#include "rpc/core/peers.h"

struct tfd_eager_tasks {
    int refs;
    struct tfd_eager *eager;
    uint64_t context; /* number */
    struct tfd_peers_range peers;
    struct tfd_device_set devices; /* .worker: a number below */
    struct tfd_worker **workers;   /* made when first needed */
    int worker_count;
};

struct tfd_eager_tasks_request {
    uint64_t context;
    struct tfd_str cluster_def;
    const char *task; /* this one */
    const struct tfd_device_attributes *own;
    int own_count;
    /* A message that has DeviceAttributes in fields of this number. */
    struct tfd_str message;
    uint32_t tag;
};

/* INVALID_ARGUMENT for what is no cluster, or no device; INTERNAL, as
 * TensorFlow says it, for a cluster that this task is not in. */
enum tfd_code tfd_eager_tasks_new(struct tfd_eager *e,
                                  const struct tfd_eager_tasks_request *q,
                                  struct tfd_eager_tasks **out,
                                  struct tfd_status *st) TFD_MUST_USE;
struct tfd_eager_tasks *tfd_eager_tasks_ref(struct tfd_eager_tasks *c);
void tfd_eager_tasks_unref(struct tfd_eager_tasks *c); /* NULL is allowed */

/* The number of a device by any of its names; -1 when there is none. */
int tfd_eager_tasks_find(const struct tfd_eager_tasks *c,
                         struct tfd_str device);
/* INVALID_ARGUMENT when its task has no address. */
enum tfd_code tfd_eager_tasks_worker(struct tfd_eager_tasks *c, int worker,
                                     struct tfd_worker **out,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
