/*
 * server_impl.h - the parts of a server (server.h) that the other files of
 * daemon/ use, such as its master, worker, loop and configuration; and holds,
 * with which a thread of this process keeps it from stopping.
 *
 * Threads: said at the holds; all else on the loop thread.
 */
#ifndef TFD_DAEMON_SERVER_IMPL_H
#define TFD_DAEMON_SERVER_IMPL_H

#include "daemon/server.h"
#include "rpc/core/service.h"

struct tfd_master;
struct tfd_worker_service;
struct tfd_peers;
struct tfd_gpus;
struct tfd_pool;

struct tfd_gpus *tfd_server_gpus(const struct tfd_server *s);
struct tfd_loop *tfd_server_loop(const struct tfd_server *s);
struct tfd_pool *tfd_server_pool(const struct tfd_server *s);
struct tfd_master *tfd_server_master(const struct tfd_server *s);
struct tfd_worker_service *tfd_server_worker(const struct tfd_server *s);
struct tfd_service *tfd_server_service(const struct tfd_server *s);
struct tfd_peers *tfd_server_peers(const struct tfd_server *s);
const struct tfd_config *tfd_server_config(const struct tfd_server *s);
/* It begins no new sessions.  Loop thread. */
bool tfd_server_stopping(const struct tfd_server *s);
/* It stops, or has stopped, since a signal said so.  Loop thread. */
bool tfd_server_by_signal(const struct tfd_server *s);

/* A thread of this process that uses the server by tfd_local_* and must have
 * ended before the loop does.  While it holds, a stopping server lets it work
 * for drain_timeout, then closes its sessions, then waits for the release. */
struct tfd_server_hold {
    struct tfd_post post;
    struct tfd_server *server;
};
/* Both on the loop thread, or before it runs. */
void tfd_server_hold(struct tfd_server *s, struct tfd_server_hold *h);
void tfd_server_unhold(struct tfd_server_hold *h); /* it did not come to it */
/* From any thread, which makes no local call afterwards; *h lives until the
 * server is freed. */
void tfd_server_release(struct tfd_server_hold *h);

#endif
