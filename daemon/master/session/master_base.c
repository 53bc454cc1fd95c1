/*
 * master_base.c - small functions that all files of the master call: the worker
 * behind a task's number, the number of a new step, and the log of options that
 * are not honoured.
 */
#include "common/base/log.h"
#include "daemon/master/remote/remote_worker.h"
#include "daemon/master/session/session.h"

#include <stdlib.h>
#include <string.h>

/* Clusters of sessions bring more peers. */
static bool make_peer_room(struct tfd_master *m, int peer)
{
    int room = 2 * peer + 1;
    struct tfd_worker **grown;

    if (peer < m->worker_room)
        return true;
    grown = realloc(m->workers, (size_t)room * sizeof(struct tfd_worker *));
    if (!grown)
        return false;
    memset(grown + m->worker_room, 0,
           (size_t)(room - m->worker_room) * sizeof(struct tfd_worker *));
    m->workers = grown;
    m->worker_room = room;
    return true;
}

struct tfd_worker *tfd_master_worker(struct tfd_master *m, int peer)
{
    if (!make_peer_room(m, peer))
        return NULL;
    if (!m->workers[peer]) {
        struct tfd_channel *ch = tfd_peers_channel(m->o.peers, peer);

        if (ch)
            m->workers[peer] = tfd_remote_worker_new(
                m->o.loop, ch, tfd_peers_task(m->o.peers, peer));
    }
    return m->workers[peer];
}

/* splitmix64: steps only need ids that differ from those of other masters. */
int64_t tfd_master_step_id(struct tfd_master *m)
{
    uint64_t z = m->step_seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (int64_t)((z & ((UINT64_C(1) << 56) - 1)) | UINT64_C(1) << 56);
}

void tfd_master_name_option(struct tfd_master *m, const char *name)
{
    for (int i = 0; i < m->named_count; i++)
        if (strcmp(m->named[i], name) == 0)
            return;
    if (m->named_count == TFD_OPTIONS_NAMED_MAX)
        return;
    m->named[m->named_count++] = name;
    tfd_log(TFD_LOG_INFO, "option_not_honoured", "field=\"%s\"", name);
}
