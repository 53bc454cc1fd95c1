/*
 * health.h - the standard health service, grpc.health.v1, as load balancers and
 * Kubernetes probes ask it.
 *
 * Check answers SERVING, or NOT_SERVING while the server drains, for the empty
 * name (the whole server) and the names of the services; NOT_FOUND for others.
 * Watch sends the status at once and at every change, for as long as the client
 * listens: SERVICE_UNKNOWN for other names, as the standard says.  On native
 * frames, which have no streams, Watch is UNIMPLEMENTED.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_HEALTH_H
#define TFD_RPC_HEALTH_H

#include "rpc/core/service.h"

struct tfd_watcher;

struct tfd_health {
    struct tfd_service *service;
    struct tfd_watcher *watchers; /* until their connections end */
};

/* h lives as long as the service. */
void tfd_health_bind(struct tfd_health *h, struct tfd_service *s);

#endif
