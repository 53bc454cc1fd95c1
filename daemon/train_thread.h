/*
 * train_thread.h - `--train`: the monitored training loop of
 * client/train/train.h on a thread of its own, against this server.
 *
 * Prints how it goes: one line that is rewritten on a terminal, else a line a
 * second.  At its end it stops the server.
 *
 * This is the one place of the daemon that uses the client library.
 *
 * Threads: start on the loop thread; stop from any; result from the one that
 * runs the server, after the loop has ended.
 */
#ifndef TFD_DAEMON_TRAIN_THREAD_H
#define TFD_DAEMON_TRAIN_THREAD_H

#include "config/flags.h"
#include "daemon/server.h"

struct tfd_train_thread;

/* Exit codes besides those of config/flags.h: BSD's EX_SOFTWARE, and what
 * launchers of clusters (Kubeflow, ...) take for a failure that starting again
 * may mend. */
enum { TFD_EXIT_TRAINING = 70, TFD_EXIT_PEER_LOST = 138 };

/* True when this task trains: --train is given, and it is chief or worker. */
bool tfd_train_thread_wanted(const struct tfd_config *c);

/* config and `to` are borrowed until result(). */
enum tfd_code tfd_train_thread_start(struct tfd_server *s,
                                     const struct tfd_config *config, FILE *to,
                                     struct tfd_train_thread **out,
                                     struct tfd_status *st) TFD_MUST_USE;
/* It ends after the running step and a last checkpoint. */
void tfd_train_thread_stop(struct tfd_train_thread *t);
/* Waits for its end and frees it; 0, or an exit code. */
int tfd_train_thread_result(struct tfd_train_thread *t);

#endif
