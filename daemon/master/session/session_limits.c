/*
 * session_limits.c - see session_limits.h.
 *
 * A session that closes is no longer counted, though the workers that it waits
 * for may take TFD_CLOSE_MS; there are at most as many of them as of the
 * others. The table is walked: creating a session takes far longer.
 */
#include "daemon/master/session/session_limits.h"

#include "common/base/log.h"
#include "config/limits.h"
#include "daemon/master/session/session_idle.h"
#include "daemon/master/session/session_create.h"

#include <string.h>

struct crowd {
    int open, creating;
    int of_peer; /* both */
};

static bool is_of(const struct tfd_session *s, const char *peer)
{
    return !peer || strcmp(s->peer, peer) == 0;
}

static struct crowd count_sessions(const struct tfd_master *m, const char *peer)
{
    struct crowd c = {0, 0, 0};

    for (const struct tfd_session *s = m->sessions; s; s = s->next)
        if (s->state != TFD_SESSION_CLOSING) {
            c.open++;
            c.of_peer += is_of(s, peer);
        }
    for (const struct tfd_create *x = m->creating; x; x = x->next)
        if (x->session && !x->session->listed) {
            c.creating++;
            c.of_peer += is_of(x->session, peer);
        }
    return c;
}

/* ---- Making room --------------------------------------------------------- */

static void ignore(void *ctx, const struct tfd_status *st)
{
    (void)ctx;
    (void)st;
}

static struct tfd_session *find_oldest(const struct tfd_master *m,
                                       const char *peer, bool with_cluster)
{
    struct tfd_session *oldest = NULL;

    for (struct tfd_session *s = m->sessions; s; s = s->next)
        if (tfd_session_is_left(s) && is_of(s, peer) &&
            (!with_cluster || s->peers.cluster > 0) &&
            (!oldest || s->used_us < oldest->used_us))
            oldest = s;
    return oldest;
}

/* Several at once, so that the next ones find room, too. */
static int evict(struct tfd_master *m, const char *peer, bool with_cluster,
                 const char *why)
{
    struct tfd_session *s;
    int evicted = 0;

    while (evicted < TFD_SESSIONS_EVICTED_MAX &&
           (s = find_oldest(m, peer, with_cluster))) {
        evicted++;
        m->abandoned++;
        s->closed_by = "its client had left, and its place was wanted";
        s->broken = true;
        tfd_session_close(s, ignore, NULL);
    }
    if (evicted > 0)
        tfd_log(TFD_LOG_WARN, "sessions_evicted",
                "count=%d peer=\"%s\" why=\"%s\"", evicted, peer ? peer : "any",
                why);
    return evicted;
}

bool tfd_master_evict_clusters(struct tfd_master *m)
{
    return evict(m, NULL, true, "too many clusters of sessions") > 0;
}

/* ---- Limits -------------------------------------------------------------- */

enum tfd_code tfd_session_admit(const struct tfd_session *s,
                                struct tfd_status *st)
{
    struct tfd_master *m = s->master;
    struct crowd c = count_sessions(m, s->peer); /* it is one of those */

    if (c.creating > TFD_SESSIONS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d sessions are being created, at most %d may be",
                        c.creating - 1, TFD_SESSIONS_MAX);
    if (!*s->peer || c.of_peer <= TFD_SESSIONS_PER_PEER_MAX)
        return TFD_OK;
    if (evict(m, s->peer, false, "too many sessions of one peer") > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "%d sessions of peer %s are open, at most %d of one peer "
                    "may be",
                    c.of_peer - 1, s->peer, TFD_SESSIONS_PER_PEER_MAX);
}

enum tfd_code tfd_master_make_room(struct tfd_master *m, struct tfd_status *st)
{
    int open = count_sessions(m, NULL).open;

    if (open >= TFD_SESSIONS_MAX)
        open -= evict(m, NULL, false, "too many sessions");
    if (open >= TFD_SESSIONS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d sessions are open, at most %d may be", open,
                        TFD_SESSIONS_MAX);
    if (m->session_count >= 2 * TFD_SESSIONS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d sessions are being closed, at most %d may be",
                        m->session_count - open, TFD_SESSIONS_MAX);
    return TFD_OK;
}
