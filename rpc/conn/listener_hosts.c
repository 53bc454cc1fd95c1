/*
 * listener_hosts.c - see listener_hosts.h.
 */
#include "rpc/conn/listener_hosts.h"

#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Hosts without a connection ------------------------------------------ */

static void forget_host(struct tfd_listener_hosts *t,
                        struct tfd_listener_host *h)
{
    tfd_map_remove(&t->by_key, tfd_str_of(h->key));
    free(h);
}

static void unlink_host(struct tfd_listener_hosts *t,
                        struct tfd_listener_host *h)
{
    if (h->newer)
        h->newer->older = h->older;
    else
        t->newest = h->older;
    if (h->older)
        h->older->newer = h->newer;
    else
        t->oldest = h->newer;
    h->newer = h->older = NULL;
    t->remembered--;
}

static void remember(struct tfd_listener_hosts *t, struct tfd_listener_host *h)
{
    h->older = t->newest;
    if (t->newest)
        t->newest->newer = h;
    else
        t->oldest = h;
    t->newest = h;
    if (++t->remembered <= TFD_REFUSED_HOSTS_MAX)
        return;
    h = t->oldest;
    unlink_host(t, h);
    forget_host(t, h);
}

/* ---- Hosts --------------------------------------------------------------- */

static struct tfd_listener_host *host_new(struct tfd_listener_hosts *t,
                                          const struct tfd_origin *from)
{
    struct tfd_listener_host *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    memcpy(h->key, from->key, sizeof(h->key));
    if (tfd_map_put(&t->by_key, tfd_str_of(h->key), (uintptr_t)h))
        return h;
    free(h);
    return NULL;
}

struct tfd_listener_host *
tfd_listener_hosts_enter(struct tfd_listener_hosts *t,
                         const struct tfd_origin *from)
{
    struct tfd_listener_host *h;
    uintptr_t known = 0;

    if (tfd_map_get(&t->by_key, tfd_str_of(from->key), &known)) {
        h = (struct tfd_listener_host *)known;
        if (h->connections == 0)
            unlink_host(t, h);
    } else {
        h = host_new(t, from);
    }
    if (h)
        h->connections++;
    return h;
}

void tfd_listener_hosts_leave(struct tfd_listener_hosts *t,
                              struct tfd_listener_host *h)
{
    assert(h->connections > 0);
    if (--h->connections > 0)
        return;
    if (h->told_us != 0 || h->told_displaced_us != 0 || h->full_until_us != 0)
        remember(t, h);
    else
        forget_host(t, h);
}

void tfd_listener_hosts_deinit(struct tfd_listener_hosts *t)
{
    while (t->oldest) {
        struct tfd_listener_host *h = t->oldest;

        unlink_host(t, h);
        forget_host(t, h);
    }
    assert(t->by_key.count == 0);
    tfd_map_deinit(&t->by_key);
}
