/*
 * early_recv.h - finds the _Recv nodes whose value arrives whatever the GPUs of
 * the receiving task do, and marks them with the attribute `_tfd_early`.
 *
 * Why: a worker runs GPU kernels that belong together as one CUDA graph
 * (daemon/worker/run/captures.h), which waits for everything that any of them
 * needs.  A value from another task might itself wait for one of these kernels,
 * and the step would never end:
 *
 *     task 0   kernel a --> Send ... Recv --> kernel b     a and b as one graph
 *     task 1                Recv --> op --> Send            would wait for
 * itself
 *
 * Only the master sees the whole graph.  A value is early when no node that it
 * comes after is on a GPU of the receiving task, and none of them waits for
 * other steps, as those of queues do.
 *
 * Threads: one for a request.
 */
#ifndef TFD_DAEMON_REWRITE_EARLY_RECV_H
#define TFD_DAEMON_REWRITE_EARLY_RECV_H

#include "daemon/rewrite/partition.h"

struct tfd_early_recv {
    uint64_t *behind; /* by part node: what it comes after, as bits of GPUs'
                         tasks; NULL: not known */
    uint64_t *bit;    /* by worker; 0: no GPU, or not known */
};

/* device_of: by graph node.  In the request's arena. */
enum tfd_code tfd_early_recv_find(const struct tfd_partition_request *r,
                                  const int32_t *device_of,
                                  struct tfd_early_recv *out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* What part node `from` makes reaches a worker that has GPUs early. */
bool tfd_early_recv_is(const struct tfd_early_recv *e, int32_t from,
                       int worker);

#endif
