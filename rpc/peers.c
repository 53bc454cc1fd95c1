/*
 * peers.c - an array of tasks; names are looked up when a graph is registered
 * or a session created, never in a step.
 */
#include "rpc/peers.h"

#include "config/device_name.h"

#include <stdlib.h>
#include <string.h>

#define DIAL_TIMEOUT_US 5000000u

struct peer {
    struct tfd_peers *all;
    struct tfd_device_name name;
    char task[TFD_DEVICE_NAME_TEXT_SIZE];
    const char *address; /* the cluster's */
    struct tfd_channel *channel;
};

struct tfd_peers {
    struct tfd_loop *loop;
    const struct tfd_peer_info *self;
    struct tfd_heartbeat_options heartbeat;
    struct peer *peers;
    int count;
    int own;
    bool stopped;
    void (*follow)(void *ctx, int i, bool up, const struct tfd_status *why);
    void *follow_ctx;
};

static void add_job(struct tfd_peers *p, const struct tfd_cluster *c,
                    const struct tfd_cluster_job *job)
{
    for (size_t i = 0; i < job->task_count; i++) {
        struct peer *peer = &p->peers[p->count];

        peer->all = p;
        peer->name =
            tfd_device_name_of(job->name, job->tasks[i].index, "CPU", 0);
        tfd_device_name_task(&peer->name, peer->task);
        peer->address = job->tasks[i].address;
        if (tfd_cluster_same_job(job->name, c->job_name) &&
            job->tasks[i].index == c->task_index)
            p->own = p->count;
        p->count++;
    }
}

/* An evaluator stands outside: nobody calls it, but it calls others. */
static bool included(const struct tfd_cluster *c,
                     const struct tfd_cluster_job *job)
{
    return !job->outside || tfd_cluster_same_job(job->name, c->job_name);
}

enum tfd_code tfd_peers_new(struct tfd_loop *l,
                            const struct tfd_cluster *cluster,
                            const struct tfd_peer_info *self,
                            struct tfd_peers **out, struct tfd_status *st)
{
    struct tfd_peers *p = calloc(1, sizeof(*p));

    if (p)
        p->peers = calloc(cluster->task_count + 1, sizeof(*p->peers));
    if (!p || !p->peers) {
        free(p);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for %zu peers",
                        cluster->task_count);
    }
    p->loop = l;
    p->self = self;
    p->own = -1;
    for (size_t i = 0; i < cluster->job_count; i++)
        if (included(cluster, &cluster->jobs[i]))
            add_job(p, cluster, &cluster->jobs[i]);
    *out = p;
    return TFD_OK;
}

void tfd_peers_stop(struct tfd_peers *p)
{
    p->stopped = true;
    for (int i = 0; i < p->count; i++)
        if (p->peers[i].channel)
            tfd_channel_stop(p->peers[i].channel);
}

void tfd_peers_follow(struct tfd_peers *p,
                      void (*fn)(void *ctx, int i, bool up,
                                 const struct tfd_status *why),
                      void *ctx)
{
    p->follow = fn;
    p->follow_ctx = ctx;
}

void tfd_peers_free(struct tfd_peers *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->peers[i].channel)
            tfd_channel_free(p->peers[i].channel);
    free(p->peers);
    free(p);
}

void tfd_peers_watch(struct tfd_peers *p, const struct tfd_heartbeat_options *o)
{
    p->heartbeat = *o;
}

int tfd_peers_count(const struct tfd_peers *p)
{
    return p->count;
}

const char *tfd_peers_task(const struct tfd_peers *p, int i)
{
    return p->peers[i].task;
}

const char *tfd_peers_address(const struct tfd_peers *p, int i)
{
    return p->peers[i].address;
}

int tfd_peers_find(const struct tfd_peers *p, struct tfd_str name)
{
    struct tfd_device_name wanted;

    if (tfd_device_name_parse(name, &wanted, NULL) != TFD_OK)
        return -1;
    for (int i = 0; i < p->count; i++)
        if (tfd_device_name_same_task(&p->peers[i].name, &wanted))
            return i;
    return -1;
}

int tfd_peers_self(const struct tfd_peers *p)
{
    return p->own;
}

static void changed(void *ctx, struct tfd_channel *ch, bool up,
                    const struct tfd_status *why)
{
    struct peer *peer = ctx;
    struct tfd_peers *p = peer->all;

    (void)ch;
    if (p->follow)
        p->follow(p->follow_ctx, (int)(peer - p->peers), up, why);
}

static void make_channel(struct tfd_peers *p, struct peer *peer)
{
    struct tfd_channel_options o = {
        .address = peer->address,
        .task = peer->task,
        .self = p->self,
        .heartbeat = p->heartbeat,
        .dial_timeout_us = DIAL_TIMEOUT_US,
        .changed = changed,
        .ctx = peer,
    };

    if (tfd_channel_new(p->loop, &o, &peer->channel, NULL) != TFD_OK)
        return;
    if (p->stopped)
        tfd_channel_stop(peer->channel);
}

struct tfd_channel *tfd_peers_channel(struct tfd_peers *p, int i)
{
    if (i == p->own)
        return NULL;
    if (!p->peers[i].channel)
        make_channel(p, &p->peers[i]);
    return p->peers[i].channel;
}
