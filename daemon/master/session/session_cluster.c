/*
 * session_cluster.c - the cluster of a session: ours, or the one that its
 * ConfigProto.cluster_def brings along (ClusterSpec propagation), in which we
 * are the task whose address the client has dialled.
 */
#include "daemon/master/session/session.h"

#include "config/cluster_proto.h"
#include "daemon/master/session/session_limits.h"

#include <string.h>

/* Which of the tasks the client has dialled. */
static enum tfd_code find_self(struct tfd_cluster *c, struct tfd_str dialled,
                               struct tfd_status *st)
{
    struct tfd_str target = dialled;
    int found = 0;

    for (size_t at = 0; at + 3 <= target.size; at++)
        if (memcmp(target.data + at, "://", 3) == 0) {
            target.data += at + 3;
            target.size -= at + 3;
            break;
        }
    for (size_t i = 0; i < c->job_count; i++)
        for (size_t k = 0; k < c->jobs[i].task_count; k++) {
            if (!tfd_str_is(target, c->jobs[i].tasks[k].address))
                continue;
            found++;
            memcpy(c->job_name, c->jobs[i].name, sizeof(c->job_name));
            c->task_index = c->jobs[i].tasks[k].index;
        }
    if (found == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The master (current machine) is not included in the "
                        "provided cluster_def: no task is at " TFD_STR_FMT,
                        TFD_STR_ARG(target));
    if (found > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Found multiple matching tasks that correspond to to "
                        "the master. Master target: '" TFD_STR_FMT "'",
                        TFD_STR_ARG(dialled));
    return TFD_OK;
}

/* At the limit abandoned sessions make room, if their workers are quick. */
static enum tfd_code add_cluster(struct tfd_session *s,
                                 const struct tfd_cluster *c,
                                 struct tfd_status *st)
{
    struct tfd_peers *peers = s->master->o.peers;
    struct tfd_status own = TFD_STATUS_INIT;

    if (tfd_peers_add_cluster(peers, c, &s->peers, &own) == TFD_OK)
        return TFD_OK;
    if (!tfd_master_evict_clusters(s->master))
        return tfd_status_copy(st, &own);
    return tfd_peers_add_cluster(peers, c, &s->peers, st);
}

static enum tfd_code join_cluster(struct tfd_session *s, struct tfd_cluster *c,
                                  struct tfd_str target, struct tfd_status *st)
{
    struct tfd_device_name self;

    TFD_TRY(tfd_cluster_proto_read(s->config.cluster_def, c, st));
    TFD_TRY(find_self(c, target, st));
    self = tfd_device_name_of(c->job_name, c->task_index, "CPU", 0);
    tfd_device_name_task(&self, s->task);
    if (strcmp(s->task, s->master->o.local->task) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The ClusterSpec names the job and task index to be "
                        "the same names that were provided when the server "
                        "booted. This is currently not allowed. Job: %s, task "
                        "index: %d",
                        c->job_name, c->task_index);
    s->renamed = true;
    return add_cluster(s, c, st);
}

enum tfd_code tfd_session_choose_cluster(struct tfd_session *s,
                                         struct tfd_str target,
                                         struct tfd_status *st)
{
    struct tfd_cluster c;
    enum tfd_code rc;

    s->peers = tfd_peers_all(s->master->o.peers);
    if (!s->config.has_cluster_def || s->config.cluster_def.size == 0)
        return TFD_OK;
    tfd_cluster_init(&c);
    rc = join_cluster(s, &c, target, st);
    tfd_cluster_deinit(&c);
    return rc;
}
