/*
 * peers.c - an array of tasks; names are looked up when a graph is registered
 * or a session created, never in a step.
 *
 * A row is one task of one cluster.  Rows of one address share a line, which
 * has the channel.  A cluster's rows stand side by side; those of a cluster
 * that was freed are NULL until another one takes their places.
 */
#define _GNU_SOURCE 1 /* strdup */

#include "rpc/core/peers.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "common/base/map.h"
#include "config/device_name.h"
#include "config/limits.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DIAL_TIMEOUT_US 5000000u

/* How long the connections of a cluster outlive its last session: the next one
 * of the same client need not dial, and what was sent last is on its way. */
#define CLUSTER_KEPT_US 2000000u

struct peer {
    struct tfd_device_name name;
    char task[TFD_DEVICE_NAME_TEXT_SIZE];
    char *address;
    bool own;                    /* we are it */
    struct tfd_traffic *traffic; /* NULL: of no channel yet */
    int number;
    struct line *line; /* NULL: nobody asked for a channel yet */
    struct peer *next; /* of the line */
};

/* One address, by whatever names. */
struct line {
    struct tfd_peers *all;
    struct peer *peers;
    struct tfd_channel *channel;
    uint64_t lost_us; /* when its connection was lost; 0: it is not */
    char task[TFD_DEVICE_NAME_TEXT_SIZE]; /* of the first, for errors */
    char address[];
};

/* One that sessions have brought. */
struct cluster {
    struct tfd_peers_range range; /* its .cluster is 0: a free place */
    int refs;
    uint64_t idle_us; /* without any since */
};

struct tfd_peers {
    struct tfd_loop *loop;
    const struct tfd_peer_info *self;
    struct tfd_heartbeat_options heartbeat;
    struct peer **peers;
    int count; /* of the cluster we were started with */
    int rows;  /* of all, free ones between them included */
    int own;
    struct tfd_map lines; /* address -> struct line * */
    struct cluster clusters[TFD_CLUSTERS_MAX];
    struct tfd_timer sweep; /* of idle clusters */
    bool stopped;
    struct tfd_peers_follower *followers;
};

/* ---- Rows ---------------------------------------------------------------- */

static void free_line(struct line *l)
{
    tfd_map_remove(&l->all->lines, tfd_str_of(l->address));
    tfd_channel_free(l->channel);
    free(l);
}

static void leave_line(struct peer *peer)
{
    struct line *l = peer->line;
    struct peer **at = &l->peers;

    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    if (!l->peers)
        free_line(l);
}

static void free_peer(struct peer *peer)
{
    if (peer && peer->line)
        leave_line(peer);
    if (peer) {
        tfd_traffic_unref(peer->traffic);
        free(peer->address);
    }
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

static void drop_rows(struct tfd_peers *p, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        free_peer(p->peers[i]);
        p->peers[i] = NULL;
    }
    while (p->rows > 0 && !p->peers[p->rows - 1])
        p->rows--;
}

/* Where `count` free rows are; those at the end are without number. */
static int find_room(const struct tfd_peers *p, int count)
{
    int first = 0;

    for (int i = 0; i < p->rows && i - first < count; i++)
        if (p->peers[i])
            first = i + 1;
    return first;
}

static int count_tasks(const struct tfd_cluster *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->job_count; i++)
        if (included(c, &c->jobs[i]))
            count += c->jobs[i].task_count;
    return (int)count;
}

/* Rows up to this number, free ones. */
static bool grow_peers(struct tfd_peers *p, int rows)
{
    struct peer **grown;

    if (rows <= p->rows)
        return true;
    grown = realloc(p->peers, ((size_t)rows + 1) * sizeof(struct peer *));
    if (!grown)
        return false;
    p->peers = grown;
    for (int i = p->rows; i < rows; i++)
        grown[i] = NULL;
    p->rows = rows;
    return true;
}

static bool fill_peers(struct tfd_peers *p, const struct tfd_cluster *c,
                       struct tfd_peers_range *out)
{
    int at = out->first;

    for (size_t i = 0; i < c->job_count; i++)
        for (size_t k = 0;
             included(c, &c->jobs[i]) && k < c->jobs[i].task_count; k++) {
            struct peer *peer = new_peer(c, &c->jobs[i], &c->jobs[i].tasks[k]);

            if (!peer)
                return false;
            peer->number = at;
            if (peer->own)
                out->own = at;
            p->peers[at++] = peer;
        }
    return true;
}

static enum tfd_code add_rows(struct tfd_peers *p, const struct tfd_cluster *c,
                              struct tfd_peers_range *out,
                              struct tfd_status *st)
{
    int count = count_tasks(c);

    *out = (struct tfd_peers_range){find_room(p, count), count, -1, 0};
    if (grow_peers(p, out->first + count) && fill_peers(p, c, out))
        return TFD_OK;
    if (p->rows >= out->first + count)
        drop_rows(p, out->first, count);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for %d peers",
                    count);
}

static void sweep(struct tfd_timer *t);

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
    tfd_map_init(&p->lines);
    tfd_timer_init(&p->sweep, l, sweep);
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
    const struct tfd_map_entry *e;
    size_t at = 0;

    p->stopped = true;
    tfd_timer_stop(&p->sweep);
    while (tfd_map_next(&p->lines, &at, &e))
        tfd_channel_stop(((struct line *)e->value)->channel);
}

void tfd_peers_follow(struct tfd_peers *p, struct tfd_peers_follower *f)
{
    f->next = p->followers;
    p->followers = f;
}

void tfd_peers_watch(struct tfd_peers *p, const struct tfd_heartbeat_options *o)
{
    p->heartbeat = *o;
}

void tfd_peers_free(struct tfd_peers *p)
{
    tfd_timer_stop(&p->sweep);
    drop_rows(p, 0, p->rows);
    tfd_map_deinit(&p->lines);
    free(p->peers);
    free(p);
}

/* ---- Other clusters ------------------------------------------------------ */

struct tfd_peers_range tfd_peers_all(const struct tfd_peers *p)
{
    return (struct tfd_peers_range){0, p->count, p->own, 0};
}

/* -1: none of them. */
static int own_place(const struct tfd_peers_range *r)
{
    return r->own < 0 ? -1 : r->own - r->first;
}

static bool same_rows(const struct tfd_peers *p,
                      const struct tfd_peers_range *a,
                      const struct tfd_peers_range *b)
{
    if (a->count != b->count || own_place(a) != own_place(b))
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

static struct cluster *find_cluster(struct tfd_peers *p,
                                    const struct tfd_peers_range *r)
{
    for (int i = 0; i < TFD_CLUSTERS_MAX; i++)
        if (p->clusters[i].range.cluster > 0 &&
            same_rows(p, &p->clusters[i].range, r))
            return &p->clusters[i];
    return NULL;
}

static void free_cluster(struct tfd_peers *p, struct cluster *c)
{
    struct tfd_peers_range gone = c->range;

    c->range = (struct tfd_peers_range){.cluster = 0};
    for (struct tfd_peers_follower *f = p->followers; f; f = f->next)
        f->gone(f, gone);
    drop_rows(p, gone.first, gone.count);
}

/* Those without a session for so long; true: others wait for that. */
static bool free_idle(struct tfd_peers *p, uint64_t kept_us)
{
    uint64_t now = tfd_loop_now_us(p->loop);
    bool others = false;

    for (int i = 0; i < TFD_CLUSTERS_MAX; i++) {
        struct cluster *c = &p->clusters[i];

        if (c->range.cluster == 0 || c->refs > 0)
            continue;
        if (now - c->idle_us >= kept_us)
            free_cluster(p, c);
        else
            others = true;
    }
    return others;
}

/* Without memory for a timer the next cluster that is brought has to do. */
static void sweep(struct tfd_timer *t)
{
    struct tfd_peers *p = TFD_CONTAINER_OF(t, struct tfd_peers, sweep);

    if (free_idle(p, CLUSTER_KEPT_US))
        (void)!tfd_timer_start(t, CLUSTER_KEPT_US, NULL);
}

static struct cluster *free_place(struct tfd_peers *p)
{
    for (int i = 0; i < TFD_CLUSTERS_MAX; i++)
        if (p->clusters[i].range.cluster == 0)
            return &p->clusters[i];
    return NULL;
}

enum tfd_code tfd_peers_add_cluster(struct tfd_peers *p,
                                    const struct tfd_cluster *cluster,
                                    struct tfd_peers_range *out,
                                    struct tfd_status *st)
{
    struct tfd_peers_range rows;
    struct cluster *c;

    TFD_TRY(add_rows(p, cluster, &rows, st));
    c = find_cluster(p, &rows);
    if (c) {
        drop_rows(p, rows.first, rows.count);
    } else {
        if (!p->stopped && !free_place(p))
            (void)free_idle(p, 0);
        c = free_place(p);
        if (!c) {
            drop_rows(p, rows.first, rows.count);
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "Open sessions have brought %d clusters, the most "
                            "allowed",
                            TFD_CLUSTERS_MAX);
        }
        rows.cluster = (int)(c - p->clusters) + 1;
        *c = (struct cluster){.range = rows};
    }
    c->refs++;
    *out = c->range;
    return TFD_OK;
}

void tfd_peers_drop_cluster(struct tfd_peers *p, struct tfd_peers_range range)
{
    struct cluster *c;

    if (range.cluster == 0)
        return;
    c = &p->clusters[range.cluster - 1];
    assert(c->refs > 0);
    if (--c->refs > 0)
        return;
    c->idle_us = tfd_loop_now_us(p->loop);
    if (!p->stopped && p->sweep.slot < 0)
        (void)!tfd_timer_start(&p->sweep, CLUSTER_KEPT_US, NULL);
}

int tfd_peers_clusters(const struct tfd_peers *p)
{
    int count = 0;

    for (int i = 0; i < TFD_CLUSTERS_MAX; i++)
        count += p->clusters[i].range.cluster > 0;
    return count;
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

/* One connection, one line, whatever its tasks are called. */
static void log_change(struct line *l, bool up, const struct tfd_status *why)
{
    uint64_t now = tfd_loop_now_us(l->all->loop);

    if (!up) {
        tfd_log(TFD_LOG_WARN, "peer_lost", "task=%s address=%s why=\"%s\"",
                l->task, l->address, why->text);
        l->lost_us = now;
    } else if (l->lost_us > 0) {
        tfd_log(TFD_LOG_INFO, "peer_back", "task=%s address=%s seconds=%llu",
                l->task, l->address,
                (unsigned long long)((now - l->lost_us) / 1000000));
        l->lost_us = 0;
    }
}

/* Of every row that has this channel. */
static void changed(void *ctx, struct tfd_channel *ch, bool up,
                    const struct tfd_status *why)
{
    struct line *l = ctx;

    (void)ch;
    if (!l->all->stopped)
        log_change(l, up, why);
    for (struct peer *x = l->peers; x; x = x->next)
        for (struct tfd_peers_follower *f = l->all->followers; f; f = f->next)
            if (f->changed)
                f->changed(f, x->number, up, why);
}

struct tfd_traffic *tfd_peers_traffic(struct tfd_peers *p, int i)
{
    struct peer *peer = i >= 0 && i < p->count ? p->peers[i] : NULL;

    if (peer && !peer->own && !peer->traffic)
        peer->traffic = tfd_traffic_new();
    return peer ? peer->traffic : NULL;
}

struct tfd_traffic *tfd_peers_traffic_made(const struct tfd_peers *p, int i)
{
    return i >= 0 && i < p->count ? p->peers[i]->traffic : NULL;
}

static struct line *new_line(struct tfd_peers *p, const struct peer *peer)
{
    size_t size = strlen(peer->address) + 1;
    struct line *l = calloc(1, sizeof(*l) + size);
    struct tfd_channel_options o = {
        .self = p->self,
        .heartbeat = p->heartbeat,
        .traffic = tfd_peers_traffic(p, peer->number),
        .dial_timeout_us = DIAL_TIMEOUT_US,
        .changed = changed,
        .ctx = l,
    };

    if (!l)
        return NULL;
    l->all = p;
    memcpy(l->address, peer->address, size);
    memcpy(l->task, peer->task, sizeof(l->task));
    o.address = l->address;
    o.task = l->task;
    if (tfd_channel_new(p->loop, &o, &l->channel, NULL) != TFD_OK) {
        free(l);
        return NULL;
    }
    if (!tfd_map_put(&p->lines, tfd_str_of(l->address), (uintptr_t)l)) {
        tfd_channel_free(l->channel);
        free(l);
        return NULL;
    }
    if (p->stopped)
        tfd_channel_stop(l->channel);
    return l;
}

static void join_line(struct tfd_peers *p, struct peer *peer)
{
    struct line *l = NULL;
    uintptr_t known;

    if (tfd_map_get(&p->lines, tfd_str_of(peer->address), &known))
        l = (struct line *)known;
    else
        l = new_line(p, peer);
    if (!l)
        return;
    peer->line = l;
    peer->next = l->peers;
    l->peers = peer;
}

struct tfd_channel *tfd_peers_made(const struct tfd_peers *p, int i)
{
    return p->peers[i]->line ? p->peers[i]->line->channel : NULL;
}

struct tfd_channel *tfd_peers_channel(struct tfd_peers *p, int i)
{
    struct peer *peer = p->peers[i];

    if (peer->own)
        return NULL;
    if (!peer->line)
        join_line(p, peer);
    return tfd_peers_made(p, i);
}
