/*
 * early_recv.h - which values reach a task whatever its GPUs do.
 *
 * A worker puts kernels of a GPU together that are to run as one (captures.h of
 * the worker), which then wait for everything that any of them needs.  What
 * comes from another task might itself wait for one of them.  The master sees
 * the whole graph and can tell what does not: no node that it comes after is on
 * a GPU of the task, and none of them waits for other steps, as those of queues
 * do.  Its _Recv gets the attribute `_tfd_early`.
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
