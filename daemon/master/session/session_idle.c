/*
 * session_idle.c - see session_idle.h.
 */
#include "daemon/master/session/session_idle.h"

#include "common/base/container.h"
#include "common/base/log.h"
#include "rpc/core/links.h"

#include <stddef.h>

/* A limit is passed by a quarter of itself at most. */
#define LOOKS_PER_LIMIT 4
#define LOOK_MIN_US 100000u
#define LOOK_MAX_US 60000000u

static void ignore(void *ctx, const struct tfd_status *st)
{
    (void)ctx;
    (void)st;
}

static bool is_abandoned(const struct tfd_session *s, uint64_t now)
{
    return tfd_session_is_left(s) &&
           now - s->used_us >= s->master->o.session_idle_us;
}

static struct tfd_session *find_abandoned(struct tfd_master *m, uint64_t now)
{
    for (struct tfd_session *s = m->sessions; s; s = s->next)
        if (is_abandoned(s, now))
            return s;
    return NULL;
}

static void start_idle_timer(struct tfd_master *m)
{
    uint64_t delay = m->o.session_idle_us / LOOKS_PER_LIMIT;

    if (delay < LOOK_MIN_US)
        delay = LOOK_MIN_US;
    if (delay > LOOK_MAX_US)
        delay = LOOK_MAX_US;
    /* Without memory for a timer sessions stay: nothing worse. */
    (void)!tfd_timer_start(&m->idle_timer, delay, NULL);
}

/* Closing one may end others, so each time the first. */
static void look_for_idle(struct tfd_timer *t)
{
    struct tfd_master *m = TFD_CONTAINER_OF(t, struct tfd_master, idle_timer);
    uint64_t now = tfd_loop_now_us(m->o.loop);
    struct tfd_session *s;

    while ((s = find_abandoned(m, now))) {
        tfd_log(TFD_LOG_INFO, "session_abandoned", "session=%s idle_s=%llu",
                s->handle, (unsigned long long)((now - s->used_us) / 1000000));
        m->abandoned++;
        s->closed_by = "its client had left";
        s->broken = true;
        tfd_session_close(s, ignore, NULL);
    }
    start_idle_timer(m);
}

void tfd_master_watch_idle(struct tfd_master *m)
{
    tfd_timer_init(&m->idle_timer, m->o.loop, look_for_idle);
    if (m->o.session_idle_us > 0 && m->o.links)
        start_idle_timer(m);
}

void tfd_master_stop_watching(struct tfd_master *m)
{
    tfd_timer_stop(&m->idle_timer);
}
