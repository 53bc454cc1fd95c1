/*
 * heartbeat.c - see heartbeat.h.
 */
#include "rpc/core/heartbeat.h"

#include "common/base/container.h"

#include <stddef.h>

/* So many ticks make a timeout: silence is noticed one tick late at most. */
#define TICKS 8

/* What a slow link carries in a tick; behind less a question is soon sent. */
#define QUEUED_MIN (64u << 10)

static void tick(struct tfd_timer *t);

/* Without memory for a timer there is one limit less. */
static void start_heartbeat_timer(struct tfd_heartbeat *h)
{
    (void)!tfd_timer_start(&h->timer, h->tick_us, NULL);
}

/* A stopped process acknowledges as long as its kernel has room for it, which
 * is why only a full queue counts. */
static bool takes_bytes(struct tfd_heartbeat *h)
{
    uint64_t before = h->acknowledged, queued = h->queued;

    tfd_conn_outgoing(h->conn, &h->acknowledged, &h->queued);
    return queued > QUEUED_MIN && h->acknowledged > before;
}

static void give_up(struct tfd_heartbeat *h)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)tfd_fail(&st, TFD_UNAVAILABLE,
                   "%s has given no sign of life for %.3g s (--peer_timeout)",
                   tfd_conn_peer(h->conn), (double)h->silent_us / 1e6);
    tfd_conn_break(h->conn, &st);
}

static void tick(struct tfd_timer *t)
{
    struct tfd_heartbeat *h = TFD_CONTAINER_OF(t, struct tfd_heartbeat, timer);

    h->silent_us += h->tick_us;
    h->unasked_us += h->tick_us;
    if (takes_bytes(h) || h->heard)
        h->silent_us = h->unasked_us = 0;
    if (h->excused)
        h->silent_us = 0;
    h->heard = false;
    if (h->options.timeout_us > 0 && h->silent_us >= h->options.timeout_us) {
        give_up(h);
        return;
    }
    start_heartbeat_timer(h);
    if (h->unasked_us < h->options.interval_us)
        return;
    h->unasked_us = 0;
    h->ask(h); /* may write, which ends nothing before we return */
}

void tfd_heartbeat_start(struct tfd_heartbeat *h, struct tfd_conn *c,
                         const struct tfd_heartbeat_options *o,
                         void (*ask)(struct tfd_heartbeat *h))
{
    if (o->interval_us == 0 || h->conn)
        return;
    *h = (struct tfd_heartbeat){.ask = ask, .options = *o, .conn = c};
    h->tick_us = o->interval_us;
    if (o->timeout_us > 0 && o->timeout_us / TICKS < h->tick_us)
        h->tick_us = o->timeout_us / TICKS + 1;
    h->heard = true;
    tfd_timer_init(&h->timer, tfd_conn_loop(c), tick);
    start_heartbeat_timer(h);
}

void tfd_heartbeat_stop(struct tfd_heartbeat *h)
{
    if (h->conn)
        tfd_timer_stop(&h->timer);
    h->conn = NULL;
}
