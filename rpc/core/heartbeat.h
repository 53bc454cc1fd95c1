/*
 * heartbeat.h - notices that the other end of a connection has gone silent: it
 * is stopped, or its host has vanished, and no packet will ever say so.
 *
 * The owner says when something has been heard, and how to ask for a sign of
 * life.  After `interval` without one the other end is asked, again and again;
 * after `timeout` the connection is broken with UNAVAILABLE.
 *
 * Time is counted in ticks of the timer, so that a process that was stopped
 * itself does not take its own absence for that of others.  Bytes that the
 * other end acknowledges while much is queued for it are signs of life, too:
 * our question would wait behind them.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_HEARTBEAT_H
#define TFD_RPC_HEARTBEAT_H

#include "rpc/conn/conn.h"

/* What servers and clients have unless they are told otherwise. */
#define TFD_HEARTBEAT_INTERVAL_US 2000000u
#define TFD_PEER_TIMEOUT_US 8000000u

struct tfd_heartbeat_options {
    uint64_t interval_us; /* 0: no heartbeats */
    uint64_t timeout_us;  /* 0: nobody is given up */
};

struct tfd_heartbeat {
    void (*ask)(struct tfd_heartbeat *h);
    struct tfd_heartbeat_options options;
    struct tfd_conn *conn; /* NULL: not started */
    struct tfd_timer timer;
    uint64_t tick_us, silent_us, unasked_us;
    uint64_t acknowledged; /* bytes, at the last tick ... */
    uint64_t queued;       /* ... and what was before the others then */
    bool heard;            /* since the last tick */
    bool excused; /* we do not listen, or nothing is expected: ask only */
};

/* Embedded; all zero before.  Stopped before the connection is gone. */
void tfd_heartbeat_start(struct tfd_heartbeat *h, struct tfd_conn *c,
                         const struct tfd_heartbeat_options *o,
                         void (*ask)(struct tfd_heartbeat *h));
void tfd_heartbeat_stop(struct tfd_heartbeat *h);

static inline void tfd_heartbeat_heard(struct tfd_heartbeat *h)
{
    h->heard = true;
}

#endif
