/*
 * run_step.h - the handler of RunStep: decodes the request, lets the master
 * run the step (master.h), and encodes the fetched tensors.
 *
 * It is the call that clients make most often, so its state is pooled.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_RUN_STEP_H
#define TFD_DAEMON_MASTER_RUN_STEP_H

#include "daemon/master/session/master.h"
#include "daemon/master/session/seen_ids.h"
#include "rpc/core/service.h"

struct tfd_run_step_service;

/* Both are borrowed. */
struct tfd_run_step_service *
tfd_run_step_service_new(struct tfd_master *m, struct tfd_seen_ids *seen);
void tfd_run_step_service_free(struct tfd_run_step_service *s);
/* A tfd_handler_fn; self is the struct tfd_run_step_service. */
void tfd_run_step_handle(void *self, struct tfd_call *call);

#endif
