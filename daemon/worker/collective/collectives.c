/*
 * collectives.c - see collectives.h: what a worker has for collectives.
 */
#include "daemon/worker/collective/collective_calls.h"

#include "common/base/container.h"
#include "config/limits.h"

/* The chief, else worker 0, else the first task. */
static int find_leader(const struct tfd_peers *peers)
{
    static const char *const names[] = {
        "/job:chief/replica:0/task:0",
        "/job:master/replica:0/task:0",
        "/job:worker/replica:0/task:0",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int peer = tfd_peers_find(peers, tfd_str_of(names[i]));

        if (peer >= 0)
            return peer;
    }
    return 0;
}

/* A leader that was restarted knows no groups and counts steps anew: its
 * members come again. */
static void link_changed(struct tfd_peers_follower *f, int i, bool up,
                         const struct tfd_status *why)
{
    struct tfd_collectives *all =
        TFD_CONTAINER_OF(f, struct tfd_collectives, follower);

    (void)why;
    if (up || i != all->leader)
        return;
    tfd_groups_drop_all(&all->groups);
    tfd_step_sequences_forget(&all->steps);
}

static void numbers_gone(struct tfd_peers_follower *f,
                         struct tfd_peers_range range)
{
    (void)f;
    (void)range;
}

void tfd_collectives_init(struct tfd_collectives *all, struct tfd_loop *loop,
                          struct tfd_peers *peers, struct tfd_service *service,
                          struct tfd_devices *devices)
{
    *all = (struct tfd_collectives){
        .loop = loop,
        .peers = peers,
        .service = service,
        .devices = devices,
        .leader = -1,
    };
    tfd_buf_rendezvous_init(&all->bufs);
    if (peers)
        all->leader = find_leader(peers);
    if (peers && all->leader == tfd_peers_self(peers))
        all->leader = -1;
    all->steps.peers = peers;
    all->steps.leader = all->leader;
    all->steps.idle_us = TFD_COLLECTIVE_IDLE_US;
    all->groups.idle_us = all->leader < 0 ? TFD_COLLECTIVE_IDLE_US : 0;
    all->follower.changed = link_changed;
    all->follower.gone = numbers_gone;
    if (all->leader >= 0)
        tfd_peers_follow(peers, &all->follower);
    if (service)
        tfd_collectives_bind(all);
}

void tfd_collectives_stop(struct tfd_collectives *all,
                          const struct tfd_status *why)
{
    tfd_collective_calls_fail(all, why);
}

void tfd_collectives_deinit(struct tfd_collectives *all)
{
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_fail(&st, TFD_UNAVAILABLE, "the task is shutting down");
    tfd_collectives_stop(all, &st);
    tfd_groups_deinit(&all->groups);
    tfd_step_sequences_deinit(&all->steps);
    tfd_buf_rendezvous_deinit(&all->bufs);
}
