/*
 * lost_workers.h - what a master does when the connection to another task is
 * lost: plans that are being built with it fail, so that the steps which wait
 * for them, and their clients, hear of it at once.  Calls under way fail by
 * themselves (rpc/core/channel.h).
 *
 * Steps whose part on the task had ended fail a moment later, if other parts
 * still run: they may wait for a tensor that it had not sent yet, though it had
 * said so, when it died.  Nobody else knows.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_LOST_WORKERS_H
#define TFD_DAEMON_MASTER_LOST_WORKERS_H

#include "daemon/master/session/session.h"

/* The master hears of its peers from now on. */
void tfd_master_follow(struct tfd_master *m);
/* Forgets those losses whose moment has not come. */
void tfd_master_forget_losses(struct tfd_master *m);

#endif
