/*
 * partition.h - cuts a pruned and placed graph into one GraphDef for each task,
 * with a _Send and a _Recv where an edge crosses tasks.
 *
 * Where an edge crosses tasks, a _Send is added on the producer's device and a
 * _Recv on the consumer's; all consumers of one endpoint in one task share the
 * pair.  A reference crosses as a value, read after everything else that its
 * consumer waits for.  A control edge crosses as an empty float tensor.  Names,
 * attributes and structure are those that TensorFlow workers accept
 * (protocol.md section 12); pairs between two tfds carry `_tfd_channel` besides
 * (daemon/worker_api.h).
 *
 * Loops whose body spans tasks: daemon/rewrite/while_control.h.
 *
 * Threads: one for a request.
 */
#ifndef TFD_DAEMON_REWRITE_PARTITION_H
#define TFD_DAEMON_REWRITE_PARTITION_H

#include "daemon/rewrite/devices.h"
#include "daemon/rewrite/prune.h"

struct tfd_partition_request {
    const struct tfd_graph *graph;
    const struct tfd_pruned *pruned;
    const struct tfd_signature *signature;
    bool partial; /* feeds and fetches meet the client in the rendezvous */
    const struct tfd_device_set *devices;
    const int32_t *device_of; /* by graph node */
    const bool *native;       /* by worker: speaks native, or is this process */
    int worker_count;
    /* Of names given to added nodes; TensorFlow's workers keep kernels by name
     * for a whole session, so it goes on from plan to plan. */
    int64_t *suffix;
    const bool *stop;        /* atomic: nobody wants it; NULL: never */
    struct tfd_arena *arena; /* for names, while it runs */
};

/* graph_defs has worker_count entries, initialised by the caller; those that
 * stay empty take no part. */
enum tfd_code tfd_partition(const struct tfd_partition_request *r,
                            struct tfd_bytes *graph_defs,
                            struct tfd_status *st) TFD_MUST_USE;

#endif
