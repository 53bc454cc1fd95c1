/*
 * conn_victim.c - which connection makes room for another, where an address or
 * all of them have as many as they may: one that nothing depends on, before one
 * whose peer only left something here; the one that has been silent for
 * longest.
 *
 * A connection that was just made has not had the time to say what it is for,
 * and one that waits to be read (conn_line.c) has said something.
 */
#define _GNU_SOURCE 1 /* libuv's header needs POSIX threads */

#include "rpc/conn/conn_impl.h"

#include "config/limits.h"
#include "rpc/conn/loop_uv.h"

static enum tfd_conn_use use_of(const struct tfd_conn *c, uint64_t now)
{
    static const uint64_t silent_ms[] = {
        [TFD_CONN_KEPT] = TFD_CONNECTION_KEPT_MS,
        [TFD_CONN_IDLE] = TFD_CONNECTION_YOUNG_MS,
    };
    enum tfd_conn_use use = TFD_CONN_BUSY;

    if (c->state == TFD_CONN_OPEN && !c->in_line && c->handler &&
        c->handler->use)
        use = c->handler->use(c->self);
    if (use != TFD_CONN_BUSY && now - c->heard_us < silent_ms[use] * 1000)
        return TFD_CONN_BUSY;
    return use;
}

static bool is_better(const struct tfd_conn *a, enum tfd_conn_use a_use,
                      const struct tfd_conn *b, enum tfd_conn_use b_use)
{
    int a_size = tfd_listener_host_size(a->host);
    int b_size = tfd_listener_host_size(b->host);

    if (a_use != b_use)
        return a_use > b_use;
    return a_size != b_size ? a_size > b_size : a->heard_us < b->heard_us;
}

struct tfd_conn *tfd_conn_victim(struct tfd_loop *loop,
                                 const struct tfd_listener *l,
                                 const struct tfd_listener_host *h)
{
    uint64_t now = tfd_loop_now_us(loop);
    enum tfd_conn_use best_use = TFD_CONN_BUSY;
    struct tfd_conn *best = NULL;

    for (struct tfd_conn *c = *tfd_loop_conns(loop); c; c = c->next) {
        enum tfd_conn_use use;

        if (c->listener != l || (h && c->host != h))
            continue;
        use = use_of(c, now);
        if (use != TFD_CONN_BUSY &&
            (!best || is_better(c, use, best, best_use))) {
            best = c;
            best_use = use;
        }
    }
    return best;
}
