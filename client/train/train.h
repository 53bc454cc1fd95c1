/*
 * train.h - the trainer of tfd/train.h as the daemon uses it for --train: on a
 * server of the same process, and with our own status in place of TF_Status.
 *
 * Threads: as in tfd/train.h.
 */
#ifndef TFD_CLIENT_TRAIN_H
#define TFD_CLIENT_TRAIN_H

#include <tfd/train.h>

#include "common/base/status.h"

struct tfd_server;

/* options->target does not count.  The server must run, and outlive the
 * trainer. */
TFD_Trainer *tfd_trainer_on_server(const TFD_TrainerOptions *options,
                                   struct tfd_server *server,
                                   struct tfd_status *st);
/* TFD_Train() with our own status. */
enum tfd_code tfd_trainer_train(TFD_Trainer *t,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
