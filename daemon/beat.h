/*
 * beat.h - tells systemd regularly how we are: a line of STATUS, and WATCHDOG=1
 * as long as we make progress.
 *
 * Progress is: the loop runs (else nothing is sent at all), and, where jobs
 * wait for a compute thread, the threads have used processor time since the
 * last beat, or a file operation is under way (kernels/io/file_waits.h), or a
 * thread of the process waits for a disk.  So a kernel may compute for hours,
 * and a save may wait for a slow disk, NFS or FUSE, with steps queued behind
 * it; but threads that all sleep while work waits have locked each other up,
 * and only another process can help.  Steps that wait for peers, queues or
 * clients hold no thread and are never taken for that.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_BEAT_H
#define TFD_DAEMON_BEAT_H

#include "daemon/notify.h"
#include "rpc/conn/loop.h"

struct tfd_pool;

struct tfd_beat_options {
    struct tfd_loop *loop;
    struct tfd_pool *pool;
    const struct tfd_notify *notify;
    uint64_t watchdog_us; /* 0: nobody watches; see tfd_beat_watchdog_us() */
    /* Writes the line for people. */
    void (*describe)(void *ctx, char *text, size_t size);
    void *ctx;
};

struct tfd_beat {
    struct tfd_beat_options o;
    struct tfd_timer timer;
    uint64_t cpu_us; /* of the pool at the last beat */
    bool stuck;      /* said so */
};

/* WATCHDOG_USEC, if WATCHDOG_PID (NULL: anybody) is this process; else 0. */
uint64_t tfd_beat_watchdog_us(const char *usec, const char *pid);

/* Without a listener (notify.h) nothing happens. */
void tfd_beat_start(struct tfd_beat *b, const struct tfd_beat_options *o);
void tfd_beat_stop(struct tfd_beat *b); /* started or zeroed */

#endif
