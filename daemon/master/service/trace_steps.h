/*
 * trace_steps.h - tfd.Peer/TraceSteps: an operator has the next steps of this
 * master's clients traced (daemon/master/record/step_watch.h), one at a time.
 *
 * The call is answered when as many steps have ended, the time to wait is over,
 * the session that was named has closed, or the server drains; with fewer steps
 * than asked for, the answer says why.  A caller who goes away ends it.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_TRACE_STEPS_H
#define TFD_DAEMON_MASTER_TRACE_STEPS_H

#include "daemon/master/session/master.h"
#include "rpc/core/service.h"

struct tfd_trace_steps {
    struct tfd_master *master;
    struct tfd_call *call; /* NULL: nobody traces */
    struct tfd_timer timer;
    uint64_t since_us;
};

/* x lives as long as the service. */
void tfd_trace_steps_bind(struct tfd_trace_steps *x, struct tfd_master *m,
                          struct tfd_service *service);
void tfd_trace_steps_deinit(struct tfd_trace_steps *x);

#endif
