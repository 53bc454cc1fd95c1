/*
 * peers.c - an array of tasks; names are looked up when a graph is registered
 * or a session created, never in a step.
 */
#define _GNU_SOURCE 1 /* strdup */

#include "rpc/peers.h"

#include "config/device_name.h"

#include <stdlib.h>
#include <string.h>

#define DIAL_TIMEOUT_US 5000000u

struct peer {
    struct tfd_peers *all;
    struct tfd_device_name name;
    char task[TFD_DEVICE_NAME_TEXT_SIZE];
    char *address;
    bool own;                    /* we are it */
    struct tfd_channel *channel; /* perhaps another peer's */
    bool borrowed;
};

struct tfd_peers {
    struct tfd_loop *loop;
    const struct tfd_peer_info *self;
    struct tfd_heartbeat_options heartbeat;
    struct peer **peers;
    int count; /* of the cluster we were started with */
    int rows;  /* of all */
    int own;
    struct tfd_peers_range *ranges; /* of other clusters */
    int range_count;
    bool stopped;
    void (*follow)(void *ctx, int i, bool up, const struct tfd_status *why);
    void *follow_ctx;
};

/* ---- Rows ---------------------------------------------------------------- */

static void free_peer(struct peer *peer)
{
    if (peer)
        free(peer->address);
    free(peer);
}

static struct peer *new_peer(const struct tfd_cluster *c,
                             const struct tfd_cluster_job *job,
                             const struct tfd_cluster_task *task)
{
    struct peer *peer = calloc(1, sizeof(*peer));

    if (peer)
        peer->address = strdup(task->address);
    if (!peer || !peer->address) {
        free_peer(peer);
        return NULL;
    }
    peer->name = tfd_device_name_of(job->name, task->index, "CPU", 0);
    tfd_device_name_task(&peer->name, peer->task);
    peer->own = tfd_cluster_same_job(job->name, c->job_name) &&
                task->index == c->task_index;
    return peer;
}

/* An evaluator stands outside: nobody calls it, but it calls others. */
static bool included(const struct tfd_cluster *c,
                     const struct tfd_cluster_job *job)
{
    return !job->outside || tfd_cluster_same_job(job->name, c->job_name);
}

static void drop_rows(struct tfd_peers *p, int kept)
{
    while (p->rows > kept)
        free_peer(p->peers[--p->rows]);
}

static enum tfd_code add_rows(struct tfd_peers *p, const struct tfd_cluster *c,
                              struct tfd_peers_range *out,
                              struct tfd_status *st)
{
    size_t room = (size_t)p->rows + c->task_count + 1;
    struct peer **grown = realloc(p->peers, room * sizeof(struct peer *));
    bool failed = !grown;

    if (grown)
        p->peers = grown;
    *out = (struct tfd_peers_range){p->rows, 0, -1};
    for (size_t i = 0; !failed && i < c->job_count; i++)
        for (size_t k = 0;
             included(c, &c->jobs[i]) && !failed && k < c->jobs[i].task_count;
             k++) {
            struct peer *peer = new_peer(c, &c->jobs[i], &c->jobs[i].tasks[k]);

            failed = !peer;
            if (failed)
                break;
            if (peer->own)
                out->own = p->rows;
            p->peers[p->rows++] = peer;
            out->count++;
        }
    if (!failed)
        return TFD_OK;
    drop_rows(p, out->first);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for %zu peers",
                    c->task_count);
}

/* ---- The table ----------------------------------------------------------- */

enum tfd_code tfd_peers_new(struct tfd_loop *l,
                            const struct tfd_cluster *cluster,
                            const struct tfd_peer_info *self,
                            struct tfd_peers **out, struct tfd_status *st)
{
    struct tfd_peers *p = calloc(1, sizeof(*p));
    struct tfd_peers_range range;

    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for %zu peers",
                        cluster->task_count);
    p->loop = l;
    p->self = self;
    if (add_rows(p, cluster, &range, st) != TFD_OK) {
        tfd_peers_free(p);
        return TFD_RESOURCE_EXHAUSTED;
    }
    p->count = range.count;
    p->own = range.own;
    *out = p;
    return TFD_OK;
}

void tfd_peers_stop(struct tfd_peers *p)
{
    p->stopped = true;
    for (int i = 0; i < p->rows; i++)
        if (p->peers[i]->channel && !p->peers[i]->borrowed)
            tfd_channel_stop(p->peers[i]->channel);
}

void tfd_peers_follow(struct tfd_peers *p,
                      void (*fn)(void *ctx, int i, bool up,
                                 const struct tfd_status *why),
                      void *ctx)
{
    p->follow = fn;
    p->follow_ctx = ctx;
}

void tfd_peers_watch(struct tfd_peers *p, const struct tfd_heartbeat_options *o)
{
    p->heartbeat = *o;
}

void tfd_peers_free(struct tfd_peers *p)
{
    for (int i = 0; i < p->rows; i++)
        if (p->peers[i]->channel && !p->peers[i]->borrowed)
            tfd_channel_free(p->peers[i]->channel);
    drop_rows(p, 0);
    free(p->peers);
    free(p->ranges);
    free(p);
}

/* ---- Other clusters ------------------------------------------------------ */

struct tfd_peers_range tfd_peers_all(const struct tfd_peers *p)
{
    return (struct tfd_peers_range){0, p->count, p->own};
}

static bool same_rows(const struct tfd_peers *p,
                      const struct tfd_peers_range *a,
                      const struct tfd_peers_range *b)
{
    if (a->count != b->count || a->own - a->first != b->own - b->first)
        return false;
    for (int i = 0; i < a->count; i++) {
        const struct peer *x = p->peers[a->first + i];
        const struct peer *y = p->peers[b->first + i];

        if (strcmp(x->task, y->task) != 0 ||
            strcmp(x->address, y->address) != 0)
            return false;
    }
    return true;
}

enum tfd_code tfd_peers_add_cluster(struct tfd_peers *p,
                                    const struct tfd_cluster *cluster,
                                    struct tfd_peers_range *out,
                                    struct tfd_status *st)
{
    struct tfd_peers_range *grown;

    TFD_TRY(add_rows(p, cluster, out, st));
    for (int i = 0; i < p->range_count; i++)
        if (same_rows(p, &p->ranges[i], out)) {
            drop_rows(p, out->first);
            *out = p->ranges[i];
            return TFD_OK;
        }
    grown =
        p->range_count < TFD_CLUSTERS_MAX
            ? realloc(p->ranges, ((size_t)p->range_count + 1) * sizeof(*grown))
            : NULL;
    if (!grown) {
        drop_rows(p, out->first);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "Sessions have brought %d clusters; %d are possible",
                        p->range_count, TFD_CLUSTERS_MAX);
    }
    p->ranges = grown;
    p->ranges[p->range_count++] = *out;
    return TFD_OK;
}

int tfd_peers_find_in(const struct tfd_peers *p, struct tfd_peers_range range,
                      struct tfd_str name)
{
    struct tfd_device_name wanted;

    if (tfd_device_name_parse(name, &wanted, NULL) != TFD_OK)
        return -1;
    for (int i = range.first; i < range.first + range.count; i++)
        if (tfd_device_name_same_task(&p->peers[i]->name, &wanted))
            return i;
    return -1;
}

/* ---- Asking -------------------------------------------------------------- */

int tfd_peers_count(const struct tfd_peers *p)
{
    return p->count;
}

const char *tfd_peers_task(const struct tfd_peers *p, int i)
{
    return p->peers[i]->task;
}

const char *tfd_peers_address(const struct tfd_peers *p, int i)
{
    return p->peers[i]->address;
}

int tfd_peers_find(const struct tfd_peers *p, struct tfd_str name)
{
    return tfd_peers_find_in(p, tfd_peers_all(p), name);
}

int tfd_peers_self(const struct tfd_peers *p)
{
    return p->own;
}

/* Of every row that has this channel. */
static void changed(void *ctx, struct tfd_channel *ch, bool up,
                    const struct tfd_status *why)
{
    struct peer *peer = ctx;
    struct tfd_peers *p = peer->all;

    for (int i = 0; p->follow && i < p->rows; i++)
        if (p->peers[i]->channel == ch)
            p->follow(p->follow_ctx, i, up, why);
}

static void borrow_channel(struct tfd_peers *p, struct peer *peer)
{
    for (int i = 0; i < p->rows && !peer->channel; i++)
        if (strcmp(p->peers[i]->address, peer->address) == 0)
            peer->channel = p->peers[i]->channel;
    peer->borrowed = peer->channel != NULL;
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

    peer->all = p;
    if (tfd_channel_new(p->loop, &o, &peer->channel, NULL) != TFD_OK)
        return;
    if (p->stopped)
        tfd_channel_stop(peer->channel);
}

struct tfd_channel *tfd_peers_made(const struct tfd_peers *p, int i)
{
    return p->peers[i]->channel;
}

struct tfd_channel *tfd_peers_channel(struct tfd_peers *p, int i)
{
    struct peer *peer = p->peers[i];

    if (peer->own)
        return NULL;
    if (!peer->channel)
        borrow_channel(p, peer);
    if (!peer->channel)
        make_channel(p, peer);
    return peer->channel;
}
