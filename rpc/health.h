/*
 * health.h - the standard health service, grpc.health.v1, as load balancers and
 * Kubernetes probes ask it.
 *
 * Check answers SERVING, or NOT_SERVING while the server drains, for the empty
 * name (the whole server) and the names of the services; NOT_FOUND for others.
 * Watch would be a stream, which the table of methods does not have; it stays
 * unbound and answers UNIMPLEMENTED, which clients take for "no watching here".
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_HEALTH_H
#define TFD_RPC_HEALTH_H

#include "rpc/service.h"

void tfd_health_bind(struct tfd_service *s);

#endif
