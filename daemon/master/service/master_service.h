/*
 * master_service.h - MasterService on the table of methods: decodes requests
 * into the calls of master.h and encodes what comes back.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_MASTER_SERVICE_H
#define TFD_DAEMON_MASTER_MASTER_SERVICE_H

#include "daemon/master/session/master.h"
#include "rpc/core/service.h"

struct tfd_master_service;

/* Binds all rows of MasterService.  master and service are borrowed and outlive
 * it. */
enum tfd_code tfd_master_service_new(struct tfd_master *m,
                                     struct tfd_service *s,
                                     struct tfd_master_service **out,
                                     struct tfd_status *st) TFD_MUST_USE;
void tfd_master_service_free(struct tfd_master_service *s);

#endif
