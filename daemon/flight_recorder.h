/*
 * flight_recorder.h - the last steps of this task's master, written to the file
 * of --flight_recorder as daemon/master/record/step_ring.h has them:
 *
 *     a step has timed out, SIGUSR1, a GPU is lost    by a thread of its own
 *     SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT        by their handler, which
 *                                                     then ends the process
 *
 * A file is written beside the one that is meant and takes its place when it is
 * whole, so a full disk leaves the last one; what exists and is no regular file
 * is written to.  Reasons that come within a second share a file.  The log
 * tells of each (flight_recorder: path, steps, why), and why one could not be
 * written.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_FLIGHT_RECORDER_H
#define TFD_DAEMON_FLIGHT_RECORDER_H

#include "rpc/conn/loop.h"

struct tfd_flight_recorder;
struct tfd_master;

struct tfd_flight_recorder_options {
    struct tfd_loop *loop;
    const struct tfd_master *master; /* borrowed, and what follows */
    const char *task;
    const char *path; /* NULL: nothing is written */
    bool crashes;     /* write when the process crashes, too */
};

enum tfd_code
tfd_flight_recorder_new(const struct tfd_flight_recorder_options *o,
                        struct tfd_flight_recorder **out,
                        struct tfd_status *st) TFD_MUST_USE;
/* Waits for what is being written.  Before its master is freed. */
void tfd_flight_recorder_free(struct tfd_flight_recorder *f);

/* why is a literal.  Returns at once. */
void tfd_flight_recorder_write(struct tfd_flight_recorder *f, const char *why);

#endif
