/* task_session_limits.c - see task_session_limits.h. */
#include "daemon/worker/service/task_session_limits.h"

#include "common/base/log.h"
#include "config/limits.h"
#include "daemon/worker/service/task_session_use.h"

#include <string.h>

void tfd_worker_each_master(struct tfd_worker_service *w,
                            void (*fn)(void *ctx, int peer), void *ctx)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    if (!w->options.service || !w->options.peers)
        return;
    while (tfd_map_next(&w->sessions, &at, &e)) {
        const struct tfd_task_session *s = (struct tfd_task_session *)e->value;
        int peer = tfd_peers_find_in(w->options.peers, s->peers,
                                     tfd_str_of(s->master_task));

        if (peer >= 0 &&
            tfd_links_open(tfd_service_links(w->options.service), s->link))
            fn(ctx, peer);
    }
}

static bool is_of(const struct tfd_task_session *s, const char *peer)
{
    return !peer || strcmp(s->peer, peer) == 0;
}

static struct tfd_task_session *find_oldest(const struct tfd_worker_service *w,
                                            const char *peer, bool with_cluster)
{
    struct tfd_task_session *oldest = NULL;
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&w->sessions, &at, &e)) {
        struct tfd_task_session *s = (struct tfd_task_session *)e->value;

        if (is_of(s, peer) && (!with_cluster || s->peers.cluster > 0) &&
            (!oldest || s->used_us < oldest->used_us) &&
            tfd_worker_session_is_left(w, s))
            oldest = s;
    }
    return oldest;
}

/* Several at once, so that the next ones find room, too. */
static bool evict(struct tfd_worker_service *w, const char *peer,
                  bool with_cluster, const char *why)
{
    struct tfd_task_session *s;
    int evicted = 0;

    while (evicted < TFD_SESSIONS_EVICTED_MAX &&
           (s = find_oldest(w, peer, with_cluster))) {
        evicted++;
        w->abandoned++;
        tfd_worker_delete_session(w, tfd_str_of(s->handle), TFD_SESSION_BROKEN);
    }
    if (evicted > 0)
        tfd_log(TFD_LOG_WARN, "worker_sessions_evicted",
                "count=%d peer=\"%s\" why=\"%s\"", evicted, peer ? peer : "any",
                why);
    return evicted > 0;
}

bool tfd_worker_evict_clusters(struct tfd_worker_service *w)
{
    return evict(w, NULL, true, "too many clusters of sessions");
}

static int count_of(const struct tfd_worker_service *w, const char *peer)
{
    const struct tfd_map_entry *e;
    size_t at = 0;
    int count = 0;

    while (tfd_map_next(&w->sessions, &at, &e))
        count += is_of((const struct tfd_task_session *)e->value, peer);
    return count;
}

enum tfd_code tfd_worker_admit_session(struct tfd_worker_service *w,
                                       const struct tfd_worker_session *s,
                                       struct tfd_status *st)
{
    int of_peer = s->peer ? count_of(w, s->peer) : 0;

    if (of_peer >= TFD_WORKER_SESSIONS_PER_PEER_MAX &&
        !evict(w, s->peer, false, "too many sessions of one peer"))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d sessions of peer %s are open on %s, at most %d of "
                        "one peer may be",
                        of_peer, s->peer, w->local.task,
                        TFD_WORKER_SESSIONS_PER_PEER_MAX);
    if (w->sessions.count >= TFD_WORKER_SESSIONS_MAX &&
        !evict(w, NULL, false, "too many sessions"))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%zu sessions are open on %s, at most %d may be",
                        w->sessions.count, w->local.task,
                        TFD_WORKER_SESSIONS_MAX);
    return TFD_OK;
}
