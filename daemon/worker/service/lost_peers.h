/*
 * lost_peers.h - what follows when the connection to another task is lost: the
 * steps that still wait for its tensors fail.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_LOST_PEERS_H
#define TFD_DAEMON_WORKER_LOST_PEERS_H

#include "daemon/worker/service/worker_service.h"

/* The worker hears of its peers from now on. */
void tfd_lost_peers_follow(struct tfd_worker_service *w);
/* Forgets those whose time has not come. */
void tfd_lost_peers_free(struct tfd_worker_service *w);

#endif
