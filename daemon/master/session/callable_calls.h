/*
 * callable_calls.h - the rows MakeCallable, RunCallable and ReleaseCallable.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_CALLABLE_CALLS_H
#define TFD_DAEMON_MASTER_CALLABLE_CALLS_H

#include "daemon/master/session/master.h"
#include "daemon/master/session/seen_ids.h"
#include "rpc/core/service.h"

/* What the rows work on; lives as long as they are bound. */
struct tfd_callable_calls {
    struct tfd_master *master;
    struct tfd_seen_ids *seen;
};

void tfd_callable_calls_bind(struct tfd_callable_calls *c,
                             struct tfd_service *service);

#endif
