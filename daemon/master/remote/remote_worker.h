/*
 * remote_worker.h - a worker behind a channel: worker_api.h in messages of
 * WorkerService, the same for tfd and TensorFlow peers.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_REMOTE_WORKER_H
#define TFD_DAEMON_MASTER_REMOTE_WORKER_H

#include "daemon/worker_api.h"
#include "rpc/core/channel.h"

/* The channel is borrowed and outlives the worker.  NULL without memory. */
struct tfd_worker *tfd_remote_worker_new(struct tfd_loop *l,
                                         struct tfd_channel *ch,
                                         const char *task);
/* Calls in flight are still answered, when the channel ends them. */
void tfd_remote_worker_free(struct tfd_worker *w);

#endif
