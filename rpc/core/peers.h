/*
 * peers.h - the tasks of the cluster and one channel to each, shared by master
 * and worker of this process.
 *
 * A channel is made when first asked for; those to tasks of the cluster that we
 * were started with live as long as the table.
 *
 * Sessions may bring a cluster of their own (ClusterSpec propagation), in which
 * the same processes have other names: its tasks get numbers after those of the
 * cluster we were started with, which the functions without a range know alone.
 * Whoever keeps something by these numbers follows the table: it grows while
 * the process runs, and a cluster that no session has any more is freed a
 * little later, after which another one may have its numbers.  The same cluster
 * again, while it is known, has the same ones.  One address has one channel, by
 * whatever name; it is closed with the last cluster that has the address.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_PEERS_H
#define TFD_RPC_PEERS_H

#include "config/cluster.h"
#include "rpc/core/channel.h"

struct tfd_peers;

enum tfd_code tfd_peers_new(struct tfd_loop *l,
                            const struct tfd_cluster *cluster, /* borrowed */
                            const struct tfd_peer_info *self,  /* borrowed */
                            struct tfd_peers **out,
                            struct tfd_status *st) TFD_MUST_USE;
/* Stops every channel, made or yet to be made (channel.h): for shutting down,
 * before the connections are closed. */
void tfd_peers_stop(struct tfd_peers *p);
void tfd_peers_free(struct tfd_peers *p);
/* The numbers of a cluster's tasks. */
struct tfd_peers_range {
    int first, count;
    int own;     /* -1: we are none of them */
    int cluster; /* 0: the one we were started with */
};

/* Embedded; called until the peers are stopped or freed. */
struct tfd_peers_follower {
    /* The connection to peer i came up or went away.  May be NULL. */
    void (*changed)(struct tfd_peers_follower *f, int i, bool up,
                    const struct tfd_status *why);
    /* These numbers are nobody's any more; no session has them. */
    void (*gone)(struct tfd_peers_follower *f, struct tfd_peers_range range);
    struct tfd_peers_follower *next; /* the table's */
};

void tfd_peers_follow(struct tfd_peers *p, struct tfd_peers_follower *f);
/* For channels not yet made; without it there are no heartbeats. */
void tfd_peers_watch(struct tfd_peers *p,
                     const struct tfd_heartbeat_options *o);

struct tfd_peers_range tfd_peers_all(const struct tfd_peers *p);
/* cluster says which of its tasks we are.  Holds it until it is dropped.
 * RESOURCE_EXHAUSTED when sessions have too many clusters. */
enum tfd_code tfd_peers_add_cluster(struct tfd_peers *p,
                                    const struct tfd_cluster *cluster,
                                    struct tfd_peers_range *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* One holder less.  Nothing for the cluster that we were started with. */
void tfd_peers_drop_cluster(struct tfd_peers *p, struct tfd_peers_range range);
/* That sessions have brought and that are still known. */
int tfd_peers_clusters(const struct tfd_peers *p);
int tfd_peers_find_in(const struct tfd_peers *p, struct tfd_peers_range range,
                      struct tfd_str name);

int tfd_peers_count(const struct tfd_peers *p);
/* "/job:worker/replica:0/task:1" of peer i; own task included. */
const char *tfd_peers_task(const struct tfd_peers *p, int i);
/* "host:port", as the cluster gives it. */
const char *tfd_peers_address(const struct tfd_peers *p, int i);
/* By task name, or by a full device name; -1 when not in the cluster. */
int tfd_peers_find(const struct tfd_peers *p, struct tfd_str name);
int tfd_peers_self(const struct tfd_peers *p);
/* NULL for the own task or without memory. */
struct tfd_channel *tfd_peers_channel(struct tfd_peers *p, int i);
/* The same, but NULL where there is none yet. */
struct tfd_channel *tfd_peers_made(const struct tfd_peers *p, int i);
/* What goes to task i and comes from there, of the cluster that we were started
 * with; NULL for the own task, tasks of other clusters or without memory. */
struct tfd_traffic *tfd_peers_traffic(struct tfd_peers *p, int i);
/* The same, but NULL where there was none yet. */
struct tfd_traffic *tfd_peers_traffic_made(const struct tfd_peers *p, int i);

#endif
