/*
 * lost_peers.c - see lost_peers.h.
 *
 * A task that stops in good order has sent its tensors before it closes, but by
 * a connection of its own: that the other one is gone may be known here before
 * they are read.  So steps fail a moment later, and at once when the task is
 * back, because it is another one then.
 */
#include "daemon/worker/service/lost_peers.h"

#include "common/base/container.h"
#include "daemon/worker/exchange/transfer.h"
#include "daemon/worker/service/graphs.h"

#include <stddef.h>
#include <stdlib.h>

/* What was sent before the end is read within this time. */
#define GRACE_US 200000u

struct tfd_lost_peer {
    struct tfd_lost_peer *next;
    struct tfd_worker_service *worker;
    struct tfd_timer timer;
    struct tfd_status why;
    int peer;
};

/* Takes it out of the worker's list. */
static void forget_peer(struct tfd_lost_peer *l)
{
    struct tfd_lost_peer **at = &l->worker->lost_peers;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    tfd_timer_stop(&l->timer);
    free(l);
}

static void fail_steps(struct tfd_lost_peer *l)
{
    struct tfd_worker_service *w = l->worker;
    struct tfd_status why = l->why;
    int peer = l->peer;

    forget_peer(l);
    tfd_graphs_fail(w, peer, &why);
}

static void time_is_up(struct tfd_timer *t)
{
    fail_steps(TFD_CONTAINER_OF(t, struct tfd_lost_peer, timer));
}

static struct tfd_lost_peer *find_lost_peers(const struct tfd_worker_service *w,
                                             int peer)
{
    struct tfd_lost_peer *l = w->lost_peers;

    while (l && l->peer != peer)
        l = l->next;
    return l;
}

static void fail_later(struct tfd_worker_service *w, int peer,
                       const struct tfd_status *why)
{
    struct tfd_lost_peer *l = calloc(1, sizeof(*l));

    if (!l) {
        tfd_graphs_fail(w, peer, why);
        return;
    }
    l->worker = w;
    l->peer = peer;
    l->why = *why;
    l->next = w->lost_peers;
    w->lost_peers = l;
    tfd_timer_init(&l->timer, w->options.loop, time_is_up);
    if (tfd_timer_start(&l->timer, GRACE_US, NULL) != TFD_OK)
        fail_steps(l);
}

static struct tfd_worker_service *worker_of(struct tfd_peers_follower *f)
{
    return TFD_CONTAINER_OF(f, struct tfd_worker_service, follower);
}

static void changed(struct tfd_peers_follower *f, int peer, bool up,
                    const struct tfd_status *why)
{
    struct tfd_worker_service *w = worker_of(f);
    struct tfd_lost_peer *before = find_lost_peers(w, peer);
    struct tfd_status st = TFD_STATUS_INIT;

    if (before)
        fail_steps(before);
    if (up)
        return;
    (void)tfd_fail(&st, TFD_UNAVAILABLE, "the connection to %s was lost: %s",
                   tfd_peers_task(w->options.peers, peer), why->text);
    fail_later(w, peer, &st);
    tfd_transfer_lost(w->transfer, peer, why);
}

/* Another peer may have one of these numbers next. */
static void gone(struct tfd_peers_follower *f, struct tfd_peers_range range)
{
    struct tfd_worker_service *w = worker_of(f);
    struct tfd_lost_peer *l;

    for (int i = range.first; i < range.first + range.count; i++)
        while ((l = find_lost_peers(w, i)))
            forget_peer(l);
    tfd_transfer_gone(w->transfer, range);
}

void tfd_lost_peers_follow(struct tfd_worker_service *w)
{
    w->follower.changed = changed;
    w->follower.gone = gone;
    tfd_peers_follow(w->options.peers, &w->follower);
}

void tfd_lost_peers_free(struct tfd_worker_service *w)
{
    while (w->lost_peers)
        forget_peer(w->lost_peers);
}
