/*
 * server_impl.h - the parts of a server as the other files of daemon/ see them.
 */
#ifndef TFD_DAEMON_SERVER_IMPL_H
#define TFD_DAEMON_SERVER_IMPL_H

#include "daemon/server.h"
#include "rpc/service.h"

struct tfd_master;
struct tfd_worker_service;
struct tfd_peers;

struct tfd_loop *tfd_server_loop(const struct tfd_server *s);
struct tfd_master *tfd_server_master(const struct tfd_server *s);
struct tfd_worker_service *tfd_server_worker(const struct tfd_server *s);
struct tfd_service *tfd_server_service(const struct tfd_server *s);
struct tfd_peers *tfd_server_peers(const struct tfd_server *s);
const struct tfd_config *tfd_server_config(const struct tfd_server *s);
uint64_t tfd_server_start_us(const struct tfd_server *s);
int tfd_server_connections(const struct tfd_server *s);

#endif
